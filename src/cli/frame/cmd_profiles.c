/* Reading and writing the file; its form is in client/core/profile.c. */
#include "cli/frame/cmd_profiles.h"

#include <stdio.h>
#include <string.h>

#include "base/env.h"
#include "base/file.h"
#include "base/mem.h"

#define FILE_MAX_BYTES (256 * TK_KIB)

/* As the library finds its option profiles_file. That option cannot be asked for while
 * TINKC_PROFILE names a profile that is yet to be added. */
static bool find_path(cmd_profiles *p)
{
    const char *settings = tk_env_get_nonempty(NULL, "XDG_CONFIG_HOME");
    const char *home = tk_env_get_nonempty(NULL, "HOME");
    const char *folder = settings != NULL ? settings : home;
    int n = snprintf(p->path, sizeof(p->path), "%s%s/tinkc/profiles.json",
                     folder != NULL ? folder : "", settings != NULL ? "" : "/.config");
    return folder != NULL && n > 0 && (size_t)n < sizeof(p->path);
}

static void find_all(cmd_profiles *p, const tk_json *json)
{
    const tk_json *all = tk_json_get(json, "profiles");
    const tk_json *preferred = tk_json_get(json, "default");
    p->all = all != NULL && all->type == TK_JSON_OBJECT ? all : NULL;
    if (preferred != NULL && preferred->type == TK_JSON_STRING) {
        p->preferred = preferred->as.string;
    }
}

int cmd_profiles_open(cmd_profiles *out)
{
    tk_err err = TK_ERR_INIT;
    const tk_json *json = NULL;
    *out = (cmd_profiles){.text = NULL};
    tk_arena_init(&out->arena, 4 * TK_MIB);
    if (!find_path(out)) {
        return cmd_fail("there is no home directory for the file of the profiles");
    }
    tinkc_code code = tk_file_read(&out->text, &out->n, out->path, FILE_MAX_BYTES, &err);
    if (code == TINKC_E_MISSING) {
        return CMD_OK;
    }
    if (code == TINKC_OK) {
        code = tk_json_parse(&json, &out->arena, out->text, out->n, NULL, &err);
    }
    if (code != TINKC_OK || json->type != TK_JSON_OBJECT) {
        return cmd_fail("%s is not a file of profiles: %s", out->path,
                        code != TINKC_OK ? err.message : "not an object");
    }
    find_all(out, json);
    return CMD_OK;
}

void cmd_profiles_close(cmd_profiles *profiles)
{
    if (profiles->text != NULL) {
        tk_mem_wipe(profiles->text, profiles->n);
        tk_free(profiles->text);
    }
    tk_arena_dispose(&profiles->arena);
}

const tk_json *cmd_profiles_find(const cmd_profiles *profiles, const char *name)
{
    const tk_json *one = tk_json_get(profiles->all, name);
    return one != NULL && one->type == TK_JSON_OBJECT ? one : NULL;
}

const char *cmd_profiles_text(const tk_json *profile, const char *option)
{
    const tk_json *value = tk_json_get(profile, option);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string.p : NULL;
}

static void put_file(tk_buf *out, const cmd_profiles *p, const char *name,
                     const cmd_profile_option *options, size_t n, tk_str preferred)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    if (preferred.n > 0) {
        tk_json_key(&w, TK_STR("default"));
        tk_json_put_str(&w, preferred);
    }
    tk_json_key(&w, TK_STR("profiles"));
    tk_json_begin_object(&w);
    for (size_t i = 0; p->all != NULL && i < p->all->as.object.n; i++) {
        const tk_json_member *member = &p->all->as.object.members[i];
        if (!tk_str_is(member->key, name)) {
            tk_json_key(&w, member->key);
            tk_json_put_value(&w, &member->value);
        }
    }
    if (n > 0) {
        tk_json_key(&w, tk_str_of(name));
        tk_json_begin_object(&w);
        for (size_t i = 0; i < n; i++) {
            tk_json_key(&w, options[i].name);
            tk_json_put_str(&w, tk_str_of(options[i].value));
        }
        tk_json_end_object(&w);
    }
    tk_json_end_object(&w);
    tk_json_end_object(&w);
    tk_buf_putc(out, '\n');
}

int cmd_profiles_save(const cmd_profiles *profiles, const char *name,
                      const cmd_profile_option *options, size_t n, tk_str preferred)
{
    tk_err err = TK_ERR_INIT;
    tk_buf text;
    tk_buf_init(&text, FILE_MAX_BYTES);
    put_file(&text, profiles, name, options, n, preferred);
    char *parent = tk_file_parent(profiles->path);
    tinkc_code code = parent != NULL ? tk_buf_status(&text, &err) : tk_err_nomem(&err);
    if (code == TINKC_OK) {
        code = tk_file_mkdirs(parent, 0700, &err);
    }
    if (code == TINKC_OK) {
        code = tk_file_replace(profiles->path, text.p, text.n, 0600, &err);
    }
    tk_mem_wipe(text.p, text.n);
    tk_buf_dispose(&text);
    tk_free(parent);
    return code == TINKC_OK ? CMD_OK : cmd_fail("%s", err.message);
}

int cmd_profiles_used(char *out, size_t size, const cmd_args *args)
{
    const char *named =
        cmd_text(args, "profile", tk_env_get_nonempty(NULL, "TINKC_PROFILE"));
    out[0] = '\0';
    if (named != NULL) {
        (void)snprintf(out, size, "%s", named);
        return CMD_OK;
    }
    if (cmd_has(args, "base-url") || cmd_has(args, "local") ||
        tk_env_get_nonempty(NULL, "TINKER_BASE_URL") != NULL) {
        return CMD_OK;
    }
    cmd_profiles profiles;
    int result = cmd_profiles_open(&profiles);
    if (result == CMD_OK && profiles.preferred.n > 0) {
        (void)snprintf(out, size, TK_STR_FMT, TK_STR_ARG(profiles.preferred));
    }
    cmd_profiles_close(&profiles);
    return result;
}
