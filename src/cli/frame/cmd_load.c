/* The file "models" in the data directory has a line "NAME<tab>DIR" for each model that
 * was loaded, the last one first. It is a hint: a line that leads nowhere is ignored. */
#include "cli/frame/cmd_load.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tinkc/pull.h>
#include <tinkc/raw.h>
#include <tinkc/rest.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/frame/cmd_local.h"
#include "cli/frame/cmd_progress.h"

#define LOAD_MS   (30 * 60 * (int64_t)1000) /* for the largest models */
#define FILE_MAX  TK_MIB
#define LINES_MAX 256

/* ---- memory ---- */

static char *file_path(void)
{
    char *data = cmd_local_data();
    char *path = data != NULL ? tk_file_join(data, "models") : NULL;
    tk_free(data);
    return path;
}

/* Returns the directory of a name, or NULL; the caller frees it with tk_free. */
static char *recall(const char *name)
{
    char *path = file_path(), *text = NULL, *dir = NULL;
    size_t n = 0;
    if (path != NULL && tk_file_read(&text, &n, path, FILE_MAX, NULL) == TINKC_OK) {
        tk_str rest = {text, n};
        while (dir == NULL && rest.p != NULL) {
            tk_str line = tk_str_cut(&rest, '\n');
            tk_str first = tk_str_cut(&line, '\t');
            if (line.n > 0 && tk_str_is(first, name)) {
                dir = tk_strndup(line.p, line.n);
            }
        }
    }
    tk_free(text);
    tk_free(path);
    return dir;
}

/* Writes the line of the model first. A name or path with a tab or a line end is not
 * remembered, and failing to write is no failure of the command. */
static void remember(const char *name, const char *dir)
{
    char *path = file_path(), *text = NULL;
    size_t n = 0;
    tk_buf all;
    if (path == NULL || strpbrk(name, "\t\n") != NULL || strpbrk(dir, "\t\n") != NULL) {
        tk_free(path);
        return;
    }
    tk_buf_init(&all, 2 * FILE_MAX);
    tk_buf_puts(&all, name);
    tk_buf_puts(&all, "\t");
    tk_buf_puts(&all, dir);
    tk_buf_puts(&all, "\n");
    if (tk_file_read(&text, &n, path, FILE_MAX, NULL) == TINKC_OK) {
        tk_str rest = {text, n};
        for (size_t i = 0; rest.p != NULL && i < LINES_MAX; i++) {
            tk_str line = tk_str_cut(&rest, '\n');
            tk_str copy = line;
            if (line.n > 0 && !tk_str_is(tk_str_cut(&copy, '\t'), name)) {
                tk_buf_put(&all, line.p, line.n);
                tk_buf_puts(&all, "\n");
            }
        }
    }
    if (tk_buf_status(&all, NULL) == TINKC_OK) {
        (void)!tk_file_replace(path, all.p, all.n, 0600, NULL);
    }
    tk_buf_dispose(&all);
    tk_free(text);
    tk_free(path);
}

/* ---- loading ---- */

static tinkc_code ask(tinkc_raw_response **out, tinkc_service *service, const char *dir,
                      const char *name, tinkc_error **error)
{
    tk_buf body;
    tk_json_writer w;
    tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
    tk_buf_init(&body, 64 * TK_KIB);
    tk_json_writer_init(&w, &body);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("directory"));
    tk_json_put_str(&w, tk_str_of(dir));
    if (name != NULL) {
        tk_json_key(&w, TK_STR("name"));
        tk_json_put_str(&w, tk_str_of(name));
    }
    tk_json_end_object(&w);
    request.method = "POST";
    request.path = "/tinkc/v1/models";
    request.body = body.p;
    request.body_n = body.n;
    request.timeout_ms = LOAD_MS;
    tinkc_code code = tk_buf_status(&body, NULL) == TINKC_OK
                          ? tinkc_raw_send_wait(out, service, &request, error)
                          : TINKC_E_NOMEM;
    tk_buf_dispose(&body);
    return code;
}

/* Returns the name in the answer; the caller frees it with tk_free. */
static char *name_of(const tinkc_raw_response *response)
{
    tk_arena arena;
    const tk_json *json = NULL;
    char *name = NULL;
    size_t n = 0;
    const char *body = tinkc_raw_response_body(&n, response);
    tk_arena_init(&arena, TK_MIB);
    if (body != NULL && tk_json_parse(&json, &arena, body, n, NULL, NULL) == TINKC_OK) {
        const tk_json *value = tk_json_get(json, "model_name");
        if (value != NULL && value->type == TK_JSON_STRING) {
            name = tk_strndup(value->as.string.p, value->as.string.n);
        }
    }
    tk_arena_dispose(&arena);
    return name;
}

static int load(char **out, tinkc_service *service, const char *dir, const char *name)
{
    tinkc_raw_response *response = NULL;
    tinkc_error *error = NULL;
    cmd_progress("Loading %s", dir);
    tinkc_code code = ask(&response, service, dir, name, &error);
    cmd_progress_end();
    if (code != TINKC_OK) {
        char what[PATH_MAX + 16];
        (void)snprintf(what, sizeof(what), "Cannot load %s", dir);
        return error != NULL ? cmd_fail_elsewhere(&error, what, NULL)
                             : cmd_fail("out of memory");
    }
    *out = name_of(response);
    tinkc_raw_response_free(&response);
    if (*out == NULL) {
        return cmd_fail("Cannot load %s: the server gave it no name", dir);
    }
    return CMD_OK;
}

int cmd_load_directory(char **name, tinkc_service *service, const char *dir)
{
    char full[PATH_MAX];
    char *config = tk_file_join(dir, "config.json");
    bool is_model = config != NULL && access(config, R_OK) == 0;
    tk_free(config);
    if (!is_model || realpath(dir, full) == NULL) {
        return cmd_fail_hint("Give a directory in Hugging Face layout.",
                             "%s is not a model: it has no config.json", dir);
    }
    int result = load(name, service, full, NULL);
    if (result == CMD_OK) {
        remember(*name, full);
    }
    return result;
}

static bool is_served(tinkc_service *service, const char *name)
{
    tinkc_capabilities *all = NULL;
    bool found = false;
    if (tinkc_service_capabilities_wait(&all, service, NULL) == TINKC_OK) {
        for (size_t i = 0; i < tinkc_capabilities_count(all) && !found; i++) {
            const char *at = tinkc_capabilities_name(all, i);
            found = at != NULL && strcmp(at, name) == 0;
        }
    }
    tinkc_capabilities_free(&all);
    return found;
}

/* Returns the directory of a model that was loaded before, or that `tinkc pull` or Hugging
 * Face's programs have fetched; NULL: none. The caller frees it with tk_free. */
static char *find_directory(const char *name)
{
    struct stat st;
    char *dir = recall(name), *found = NULL;
    if (dir != NULL && stat(dir, &st) == 0) {
        return dir;
    }
    tk_free(dir);
    if (tinkc_pull_find(&found, name, NULL, NULL) != TINKC_OK) {
        return NULL;
    }
    dir = tk_strdup(found);
    tinkc_text_free(&found);
    return dir;
}

int cmd_load_named(bool *out, tinkc_service *service, const char *name)
{
    char *served = NULL;
    int result = CMD_OK;
    *out = false;
    if (!cmd_local_is_used()) {
        return CMD_OK;
    }
    char *dir = find_directory(name);
    if (dir != NULL && !is_served(service, name)) {
        result = load(&served, service, dir, name);
        *out = result == CMD_OK;
    }
    tk_free(served);
    tk_free(dir);
    return result;
}

int cmd_load_base_of(tinkc_service *service, const char *path)
{
    tinkc_weights_info *info = NULL;
    bool served = false;
    int result = CMD_OK;
    if (!cmd_local_is_used()) {
        return CMD_OK;
    }
    if (tinkc_rest_weights_info_wait(&info, service, path, NULL) == TINKC_OK &&
        info->base_model != NULL) {
        result = cmd_load_named(&served, service, info->base_model);
    }
    tinkc_weights_info_free(&info);
    return result;
}
