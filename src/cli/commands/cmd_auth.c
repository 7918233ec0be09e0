/* `tinkc auth login`, `logout` and `status`: the credentials file that libtinkc and the
 * official program read. Other keys of the file are kept as they are; the file is written
 * whole or not at all, for its owner only. Sends nothing. */
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include <tinkc/config.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_table.h"

#define PATH_BYTES     4096
#define FILE_MAX_BYTES (256 * TK_KIB)
#define KEY_MAX_BYTES  4096
#define KEY_ID         "tinkc" /* under which `login` stores its key */

typedef struct store {
    char path[PATH_BYTES];
    char *text;
    size_t n;
    tk_arena arena;
    const tk_json *keys;   /* object, or NULL */
    const tk_json *record; /* of the default key, or NULL */
    tk_str id;             /* of the default key */
} store;

/* ---- the file ---- */

static bool find_path(store *s)
{
    tinkc_config *config = NULL;
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_get(s->path, sizeof(s->path), config, "credentials_file") <
                  sizeof(s->path) &&
              s->path[0] != '\0';
    tinkc_config_free(&config);
    return ok;
}

static void close_store(store *s)
{
    if (s->text != NULL) {
        tk_mem_wipe(s->text, s->n);
        tk_free(s->text);
    }
    tk_arena_dispose(&s->arena);
}

static void find_default(store *s, const tk_json *json)
{
    const tk_json *keys = tk_json_get(json, "keys");
    const tk_json *name = tk_json_get(json, "default");
    s->keys = keys != NULL && keys->type == TK_JSON_OBJECT ? keys : NULL;
    if (s->keys != NULL && name != NULL && name->type == TK_JSON_STRING) {
        s->id = name->as.string;
        s->record = tk_json_get(s->keys, s->id.p);
    }
}

/* A file that is not there is an empty one. */
static int open_store(store *s)
{
    tk_err err = TK_ERR_INIT;
    const tk_json *json = NULL;
    *s = (store){.text = NULL};
    tk_arena_init(&s->arena, 4 * TK_MIB);
    if (!find_path(s)) {
        return cmd_fail("there is no home directory for the credentials file");
    }
    tinkc_code code = tk_file_read(&s->text, &s->n, s->path, FILE_MAX_BYTES, &err);
    if (code == TINKC_E_MISSING) {
        return CMD_OK;
    }
    if (code == TINKC_OK) {
        code = tk_json_parse(&json, &s->arena, s->text, s->n, NULL, &err);
    }
    if (code != TINKC_OK || json->type != TK_JSON_OBJECT) {
        return cmd_fail("%s is not a credentials file: %s", s->path,
                        code != TINKC_OK ? err.message : "not an object");
    }
    find_default(s, json);
    return CMD_OK;
}

static void put_record(tk_json_writer *w, tk_str key)
{
    tk_json_begin_object(w);
    tk_json_key(w, TK_STR("type"));
    tk_json_put_str(w, TK_STR("manual"));
    tk_json_key(w, TK_STR("key"));
    tk_json_put_str(w, key);
    tk_json_key(w, TK_STR("name"));
    tk_json_put_str(w, TK_STR(KEY_ID));
    tk_json_end_object(w);
}

/* All keys but `without`, and `key` as the default unless it is NULL. */
static void put_file(tk_buf *out, const store *s, tk_str without, const char *key)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("version"));
    tk_json_put_i64(&w, 1);
    if (key != NULL) {
        tk_json_key(&w, TK_STR("default"));
        tk_json_put_str(&w, TK_STR(KEY_ID));
    }
    tk_json_key(&w, TK_STR("keys"));
    tk_json_begin_object(&w);
    for (size_t i = 0; s->keys != NULL && i < s->keys->as.object.n; i++) {
        const tk_json_member *member = &s->keys->as.object.members[i];
        if (!tk_str_eq(member->key, without)) {
            tk_json_key(&w, member->key);
            tk_json_put_value(&w, &member->value);
        }
    }
    if (key != NULL) {
        tk_json_key(&w, TK_STR(KEY_ID));
        put_record(&w, tk_str_of(key));
    }
    tk_json_end_object(&w);
    tk_json_end_object(&w);
    tk_buf_putc(out, '\n');
}

static int save(const store *s, tk_str without, const char *key)
{
    tk_err err = TK_ERR_INIT;
    tk_buf text;
    tk_buf_init(&text, 2 * FILE_MAX_BYTES);
    put_file(&text, s, without, key);
    char *parent = tk_file_parent(s->path);
    tinkc_code code = parent != NULL ? tk_buf_status(&text, &err) : tk_err_nomem(&err);
    if (code == TINKC_OK) {
        code = tk_file_mkdirs(parent, 0700, &err);
    }
    if (code == TINKC_OK) {
        code = tk_file_replace(s->path, text.p, text.n, 0600, &err);
    }
    tk_mem_wipe(text.p, text.n);
    tk_buf_dispose(&text);
    tk_free(parent);
    return code == TINKC_OK ? CMD_OK : cmd_fail("%s", err.message);
}

/* ---- login ---- */

/* One line of standard input, without echo on a terminal. */
static bool read_line(char *out, size_t size)
{
    struct termios before;
    bool is_terminal = isatty(STDIN_FILENO) == 1 && tcgetattr(STDIN_FILENO, &before) == 0;
    if (is_terminal) {
        struct termios silent = before;
        silent.c_lflag &= ~(tcflag_t)ECHO;
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
        cmd_print(stderr, "API key: ");
    }
    bool ok = fgets(out, (int)size, stdin) != NULL;
    if (is_terminal) {
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
        cmd_print(stderr, "\n");
    }
    return ok;
}

static bool is_key(tk_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] <= ' ' || text.p[i] > '~') {
            return false;
        }
    }
    return tk_str_has_prefix(text, "tml-") && text.n > 4;
}

static int login(const cmd_args *args)
{
    store s;
    char line[KEY_MAX_BYTES] = "";
    (void)args;
    int result = open_store(&s);
    if (result == CMD_OK && s.record != NULL) {
        result = cmd_fail_hint("Run 'tinkc auth logout' first.", "already logged in");
    }
    if (result == CMD_OK && !read_line(line, sizeof(line))) {
        result = cmd_fail("no key was given");
    }
    tk_str key = tk_str_trim(tk_str_of(line));
    if (result == CMD_OK && !is_key(key)) {
        result = cmd_fail("an API key starts with \"tml-\" and has no blanks");
    }
    if (result == CMD_OK) {
        line[(size_t)(key.p - line) + key.n] = '\0';
        result = save(&s, TK_STR(KEY_ID), key.p);
    }
    if (result == CMD_OK) {
        cmd_print(stdout, "Stored the key in %s.\n", s.path);
    }
    tk_mem_wipe(line, sizeof(line));
    close_store(&s);
    return result;
}

/* ---- logout and status ---- */

static int logout(const cmd_args *args)
{
    store s;
    (void)args;
    int result = open_store(&s);
    if (result == CMD_OK && s.record == NULL) {
        result = cmd_fail("no key is stored");
    }
    if (result == CMD_OK) {
        result = save(&s, s.id, NULL);
    }
    if (result == CMD_OK) {
        cmd_print(stdout, "Removed the key from %s. It is still valid at the service.\n",
                  s.path);
    }
    close_store(&s);
    return result;
}

/* "tml-...wxyz" */
static void mask(char out[16], const tk_json *record)
{
    const tk_json *key = tk_json_get(record, "key");
    tk_str text =
        key != NULL && key->type == TK_JSON_STRING ? key->as.string : (tk_str){NULL, 0};
    bool is_long = text.n >= 16; /* four of more than a few letters tell nothing */
    (void)snprintf(out, 16, "tml-...%s", is_long ? text.p + text.n - 4 : "");
}

static const char *text_of(const tk_json *record, const char *name)
{
    const tk_json *value = tk_json_get(record, name);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string.p : NULL;
}

static int show(const cmd_args *args, const store *s)
{
    char key[16] = "";
    const char *name = s->record != NULL ? text_of(s->record, "name") : NULL;
    if (s->record != NULL) {
        mask(key, s->record);
    }
    if (cmd_wants_json(args)) {
        cmd_json json;
        cmd_json_init(&json);
        tk_json_begin_object(&json.w);
        cmd_json_pair(&json, "file", s->path);
        cmd_json_pair(&json, "name", name);
        cmd_json_pair(&json, "key", s->record != NULL ? key : NULL);
        tk_json_end_object(&json.w);
        return cmd_json_print(&json, args);
    }
    cmd_table *table = cmd_table_properties();
    cmd_table_row(table, "File", s->path);
    cmd_table_row(table, "Name", name != NULL ? name : "N/A");
    cmd_table_row(table, "Key", s->record != NULL ? key : "none is stored");
    return cmd_table_print(&table, args);
}

static int status(const cmd_args *args)
{
    store s;
    int result = open_store(&s);
    if (result == CMD_OK) {
        result = show(args, &s);
    }
    close_store(&s);
    return result;
}

const cmd_spec cmd_auth_login = {
    .name = "auth login",
    .operands = "",
    .help = "Store an API key for libtinkc, tinkc and the official SDK.",
    .more =
        "The key is read from standard input, on a terminal without echo, and stored in "
        "~/.tinker/credentials.json. It is used when neither an option, nor the "
        "environment, nor a credential command gives one.",
    .examples = "tinkc auth login\ntinkc auth login < key.txt",
    .run = login,
};

const cmd_spec cmd_auth_logout = {
    .name = "auth logout",
    .operands = "",
    .help = "Remove the stored API key.",
    .run = logout,
};

const cmd_spec cmd_auth_status = {
    .name = "auth status",
    .operands = "",
    .help = "Show which API key is stored, masked.",
    .run = status,
};
