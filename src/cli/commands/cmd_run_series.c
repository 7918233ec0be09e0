/* Reads metrics of files and of servers. */
#include "cli/commands/cmd_run_series.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <tinkc/raw.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/frame/cmd_page.h"

#define FILE_MAX_BYTES   TK_GIB
#define LINE_MAX_BYTES   (4 * TK_MIB)
#define ANSWER_MAX_BYTES (64 * TK_MIB)
#define POINTS           "1000"

/* ---- files ---- */

bool cmd_series_file(char **out, const char *typed)
{
    struct stat st;
    *out = NULL;
    if (stat(typed, &st) != 0) {
        return true;
    }
    *out = S_ISDIR(st.st_mode) ? tk_file_join(typed, "metrics.jsonl") : tk_strdup(typed);
    return *out != NULL;
}

/* Remembers the name of a metric that is there. */
static void note_key(cmd_series *series, tk_str key)
{
    size_t n = strlen(series->keys);
    char name[64];
    (void)snprintf(name, sizeof(name), TK_STR_FMT, TK_STR_ARG(key));
    const char *found = strstr(series->keys, name);
    size_t length = strlen(name);
    while (found != NULL && ((found != series->keys && found[-1] != ' ') ||
                             (found[length] != ',' && found[length] != '\0'))) {
        found = strstr(found + 1, name);
    }
    if (found == NULL && n + length + 3 < sizeof(series->keys)) {
        (void)snprintf(series->keys + n, sizeof(series->keys) - n, "%s%s",
                       n > 0 ? ", " : "", name);
    }
}

typedef struct totals {
    double tokens, seconds; /* of the steps so far */
} totals;

static double number_of(const tk_json *object, const char *key, double fallback)
{
    const tk_json *value = tk_json_get(object, key);
    double number = fallback;
    return value != NULL && tk_json_to_double(value, &number) ? number : fallback;
}

/* Adds what a line says. Returns false when memory ran out. */
static bool add_line(cmd_series *series, totals *sum, const tk_json *object)
{
    double value = 0, step = number_of(object, "step", -1);
    if (step < 0 || object->type != TK_JSON_OBJECT) {
        return true;
    }
    for (size_t i = 0; i < object->as.object.n; i++) {
        const tk_json_member *member = &object->as.object.members[i];
        if (tk_json_to_double(&member->value, &value) &&
            !tk_str_is(member->key, "step")) {
            note_key(series, member->key);
        }
    }
    sum->tokens += number_of(object, "tokens", 0);
    sum->seconds += number_of(object, "seconds", 0);
    const tk_json *found = tk_json_get(object, series->metric);
    if (found == NULL || !tk_json_to_double(found, &value)) {
        return true;
    }
    double x = series->by == CMD_BY_STEP     ? step
               : series->by == CMD_BY_TOKENS ? sum->tokens
                                             : sum->seconds;
    return cmd_plot_add(&series->line, x, value);
}

int cmd_series_read(cmd_series *series, const char *path)
{
    tk_err err = TK_ERR_INIT;
    char *text = NULL;
    size_t n = 0;
    if (tk_file_read(&text, &n, path, FILE_MAX_BYTES, &err) != TINKC_OK) {
        return cmd_fail("%s", err.message);
    }
    const tk_json_limits limits = {.max_bytes = LINE_MAX_BYTES};
    bool ok = true;
    totals sum = {0, 0};
    tk_str rest = {text, n};
    while (ok && rest.p != NULL) {
        tk_arena arena;
        const tk_json *object = NULL;
        tk_str line = tk_str_cut(&rest, '\n');
        tk_arena_init(&arena, 0);
        if (line.n > 0 &&
            tk_json_parse(&object, &arena, line.p, line.n, &limits, NULL) == TINKC_OK) {
            ok = add_line(series, &sum, object);
        }
        tk_arena_dispose(&arena);
    }
    tk_free(text);
    return ok ? CMD_OK : cmd_fail("out of memory");
}

/* ---- servers ---- */

static const char *const fields[] = {
    [CMD_BY_STEP] = "step", [CMD_BY_TOKENS] = "tokens", [CMD_BY_TIME] = "time_ms"};

/* Adds the values of one series of an answer. Returns false when memory ran out. */
static bool add_series(cmd_series *series, const tk_json *one)
{
    const tk_json *xs = tk_json_get(one, fields[series->by]);
    const tk_json *ys = tk_json_get(one, "mean");
    size_t n = xs != NULL && ys != NULL ? TK_MIN(tk_json_len(xs), tk_json_len(ys)) : 0;
    double first = 0;
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        tk_json a = tk_json_at(xs, i), b = tk_json_at(ys, i);
        double x = 0, y = 0;
        if (!tk_json_to_double(&a, &x) || !tk_json_to_double(&b, &y)) {
            continue;
        }
        first = i == 0 ? x : first;
        ok = cmd_plot_add(&series->line,
                          series->by == CMD_BY_TIME ? (x - first) / 1000 : x, y);
    }
    return ok;
}

static int read_answer(cmd_series *series, const char *body, size_t n)
{
    const tk_json_limits limits = {.max_bytes = ANSWER_MAX_BYTES};
    const tk_json *root = NULL;
    tk_err err = TK_ERR_INIT;
    tk_arena arena;
    bool ok = true, is_known = true;
    tk_arena_init(&arena, 0);
    if (tk_json_parse(&root, &arena, body, n, &limits, &err) == TINKC_OK) {
        const tk_json *all = tk_json_get(root, "series");
        is_known = all != NULL && tk_json_is_array(all);
        for (size_t i = 0; ok && all != NULL && i < tk_json_len(all); i++) {
            tk_json one = tk_json_at(all, i);
            ok = add_series(series, &one);
        }
    }
    tk_arena_dispose(&arena);
    if (err.code != TINKC_OK) {
        return cmd_fail("Malformed response: %s", err.message);
    }
    if (!is_known) {
        return cmd_fail("Unexpected response: it has no series");
    }
    return ok ? CMD_OK : cmd_fail("out of memory");
}

int cmd_series_ask(cmd_series *series, tinkc_service *service, const char *run)
{
    static const char *const bys[] = {
        [CMD_BY_STEP] = "step", [CMD_BY_TOKENS] = "tokens", [CMD_BY_TIME] = "time"};
    const tinkc_pair query[] = {
        {"metric", series->metric}, {"by", bys[series->by]}, {"points", POINTS}};
    tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
    tinkc_raw_response *response = NULL;
    tinkc_error *error = NULL;
    tk_buf path;
    size_t n = 0;
    tk_buf_init(&path, 4 * TK_KIB);
    tk_buf_puts(&path, "/tinkc/v1/console/runs/");
    cmd_page_encode(&path, run);
    tk_buf_puts(&path, "/series");
    request.path = tk_buf_cstr(&path);
    request.query = query;
    request.query_n = TK_ARRAY_LEN(query);
    int result;
    if (request.path == NULL) {
        result = cmd_fail("the name of the run is too long");
    } else if (tinkc_raw_send_wait(&response, service, &request, &error) != TINKC_OK) {
        result = cmd_fail_error(&error, "Cannot read the metrics of %s", run);
    } else {
        const char *body = tinkc_raw_response_body(&n, response);
        result = read_answer(series, body, n);
    }
    tinkc_raw_response_free(&response);
    tk_buf_dispose(&path);
    return result;
}
