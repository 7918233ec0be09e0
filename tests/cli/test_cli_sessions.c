/* The first hour at a terminal of 80x24: the sessions of tests/data/sessions, replayed in a
 * shell with the real program. docs/internals/first-hour.md says what each one shows.
 * Links: peer client text server */
#include <dirent.h>

#include "cli/modelfix.h"
#include "cli/sessionfix.h"

#define ENV_MAX 8

typedef struct stage {
    sessionfix f;
    srvfix srv;
    bool has_server;
    unsigned columns;
    const char *env[ENV_MAX + 1];
    size_t env_n;
    char url[MODELFIX_URL_BYTES];
} stage;

static void add_env(stage *t, const char *pair)
{
    assert_true(t->env_n < ENV_MAX);
    t->env[t->env_n++] = pair;
}

static void start_server(stage *t, const char *faults)
{
    srv_options options = {.log_level = TINKC_LOG_OFF};
    if (faults != NULL) {
        program_write_file(&t->f.p, "faults.json", faults);
        options.faults = program_path(&t->f.p, "faults.json");
    }
    srvfix_open(&t->srv, options);
    t->has_server = true;
    (void)snprintf(t->url, sizeof(t->url), "TINKER_BASE_URL=%s", srv_url(t->srv.server));
    add_env(t, t->url);
}

/* "file: NAME TEXT": \n in the text is a new line. */
static void write_file(stage *t, char *value)
{
    char *text = strchr(value, ' ');
    assert_non_null(text);
    *text++ = '\0';
    char *out = text;
    for (const char *at = text; *at != '\0'; at++) {
        bool is_line = at[0] == '\\' && at[1] == 'n';
        *out++ = is_line ? '\n' : *at;
        at += is_line;
    }
    *out = '\0';
    program_write_file(&t->f.p, value, text);
}

/* What the session needs: lines NAME: VALUE up to an empty one. */
static char *read_head(stage *t, char *text)
{
    const char *faults = NULL, *server = "none";
    for (char *line; (line = strsep(&text, "\n")) != NULL && line[0] != '\0';) {
        t->f.line++;
        char *value = strstr(line, ": ");
        if (line[0] == '#') {
            continue;
        }
        assert_non_null(value);
        *value = '\0';
        value += 2;
        if (strcmp(line, "server") == 0) {
            server = value;
        } else if (strcmp(line, "faults") == 0) {
            faults = value;
        } else if (strcmp(line, "env") == 0) {
            add_env(t, value);
        } else if (strcmp(line, "columns") == 0) {
            t->columns = (unsigned)strtoul(value, NULL, 10);
        } else {
            assert_string_equal(line, "file");
            write_file(t, value);
        }
    }
    t->f.line++;
    if (strcmp(server, "real") == 0) {
        start_server(t, faults);
    }
    return text;
}

static void play(const char *name)
{
    stage t = {.columns = 80};
    char path[512], *text = NULL;
    (void)snprintf(path, sizeof(path), SESSIONFIX_DIR "%s.txt", name);
    assert_int_equal(tk_file_read(&text, NULL, path, TK_MIB, NULL), TINKC_OK);
    sessionfix_open(&t.f, name);
    char *steps = read_head(&t, text);
    sessionfix_start(&t.f, t.env, t.columns);
    sessionfix_play(&t.f, steps);
    sessionfix_close(&t.f);
    if (t.has_server) {
        srvfix_close(&t.srv);
    }
    tk_free(text);
}

#define SESSIONS(X)                                                                      \
    X(no_server, "no-server")                                                            \
    X(waits, "waits")                                                                    \
    X(train, "train")                                                                    \
    X(names, "names")                                                                    \
    X(data, "data")                                                                      \
    X(chat, "chat")                                                                      \
    X(narrow, "narrow")                                                                  \
    X(tables, "tables")                                                                  \
    X(completion, "completion")                                                          \
    X(serve, "serve")

#define DEFINE(function, name)                                                           \
    static void test_session_##function(void **state)                                    \
    {                                                                                    \
        play(name);                                                                      \
    }
SESSIONS(DEFINE)

/* Every file of the folder is played. */
static void test_session_all(void **state)
{
#define NAME(function, name) name ".txt",
    static const char *const names[] = {SESSIONS(NAME)};
    DIR *dir = opendir(SESSIONFIX_DIR);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        bool is_known = entry->d_name[0] == '.';
        for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
            is_known = is_known || strcmp(names[i], entry->d_name) == 0;
        }
        if (!is_known) {
            fail_msg("%s is not played", entry->d_name);
        }
    }
    (void)closedir(dir);
}

int main(void)
{
#define TEST(function, name) cmocka_unit_test(test_session_##function),
    const struct CMUnitTest tests[] = {SESSIONS(TEST) cmocka_unit_test(test_session_all)};
    return cmocka_run_group_tests_name("cli_sessions", tests, NULL, NULL);
}
