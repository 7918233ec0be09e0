/* Runs of the commands that train: their metrics and checkpoints, and whether two of them are
 * the same. */
#ifndef CLI_RUNFIX_H
#define CLI_RUNFIX_H

#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "cli/modelfix.h"

#define RUNFIX_WAIT_MS 120000

static inline const tk_json *runfix_parse(modelfix *f, const char *text, size_t n)
{
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    if (tk_json_parse(&json, &f->srv.arena, text, n, NULL, &err) != TINKC_OK) {
        fail_msg("%s in: %s", err.message, text);
    }
    return json;
}

static inline double runfix_number(const tk_json *json, const char *key)
{
    double value = 0;
    const tk_json *found = tk_json_get(json, key);
    assert_non_null(found);
    assert_true(tk_json_to_double(found, &value));
    return value;
}

/* Whether a file has the text. */
static inline bool runfix_has(const modelfix *f, const char *name, const char *text)
{
    char *all = NULL;
    size_t n = 0;
    bool found = program_read_file(&f->p, name, &all, &n) && strstr(all, text) != NULL;
    tk_free(all);
    return found;
}

/* Waits until a file has the text, such as the metrics a step. */
static inline void runfix_wait(const modelfix *f, const char *name, const char *text)
{
    int64_t end = tk_clock_mono_ms(NULL) + RUNFIX_WAIT_MS;
    while (!runfix_has(f, name, text)) {
        assert_true(tk_clock_mono_ms(NULL) < end);
        (void)usleep(2000);
    }
}

/* The files of the checkpoint that a state file names, all in one. */
static inline void runfix_weights(modelfix *f, const char *state_name, tk_buf *out)
{
    char *text = NULL, *data = NULL, command[512];
    size_t n = 0;
    assert_true(program_read_file(&f->p, state_name, &text, &n));
    const tk_json *json = runfix_parse(f, text, n);
    const tk_json *finished = tk_json_get(json, "finished");
    assert_true(finished != NULL && finished->as.boolean);
    const char *name = strrchr(srvfix_text(json, "checkpoint"), '/') + 1;
    (void)snprintf(command, sizeof(command),
                   "cat $(find %s/checkpoints -path '*/weights/%s.*/*' -type f "
                   "-name '*.safetensors' | sort) >%s/all",
                   f->srv.data, name, f->p.dir);
    assert_int_equal(system(command), 0);
    assert_true(program_read_file(&f->p, "all", &data, &n));
    tk_buf_put(out, data, n);
    tk_free(text);
    tk_free(data);
}

/* The values of a key in all steps, as they are written. */
static inline void runfix_values(modelfix *f, const char *name, const char *key,
                                 tk_buf *out)
{
    char *text = NULL, wanted[64];
    size_t n = 0;
    (void)snprintf(wanted, sizeof(wanted), "\"%s\":", key);
    assert_true(program_read_file(&f->p, name, &text, &n));
    for (const char *at = text; (at = strstr(at, wanted)) != NULL; at++) {
        tk_buf_put(out, at, strcspn(at, ",}"));
        tk_buf_putc(out, '\n');
    }
    tk_free(text);
}

static inline void runfix_expect_same(tk_buf *one, tk_buf *two)
{
    assert_int_equal(one->n, two->n);
    assert_memory_equal(one->p, two->p, one->n);
    tk_buf_clear(one);
    tk_buf_clear(two);
}

/* The runs a and b of a command have the same weights, moments and values of these keys
 * (ended by NULL), bit for bit. Their metrics are in a.m and b.m. */
static inline void runfix_compare(modelfix *f, const char *command, const char *a,
                                  const char *b, const char *const *keys)
{
    char name[2][64];
    tk_buf one, two;
    tk_buf_init(&one, 64 * TK_MIB);
    tk_buf_init(&two, 64 * TK_MIB);
    (void)snprintf(name[0], sizeof(name[0]), "%s.%s.json", a, command);
    (void)snprintf(name[1], sizeof(name[1]), "%s.%s.json", b, command);
    runfix_weights(f, name[0], &one);
    runfix_weights(f, name[1], &two);
    assert_true(one.n > 10000); /* adapter and both moments */
    runfix_expect_same(&one, &two);
    for (; *keys != NULL; keys++) {
        (void)snprintf(name[0], sizeof(name[0]), "%s.m", a);
        (void)snprintf(name[1], sizeof(name[1]), "%s.m", b);
        runfix_values(f, name[0], *keys, &one);
        runfix_values(f, name[1], *keys, &two);
        assert_true(one.n > 0);
        runfix_expect_same(&one, &two);
    }
    tk_buf_dispose(&one);
    tk_buf_dispose(&two);
}

/* The model is unloaded when the command ends, however that was: servers hold only a few
 * (SkyRL refuses another one after eight). */
static inline void runfix_expect_unloaded(modelfix *f)
{
    httpget_response response;
    const httpget_request request = {.target = "/metrics"};
    assert_int_equal(httpget_once(srvfix_port(&f->srv), &request, &response), HTTPGET_OK);
    assert_non_null(strstr(response.body.p, "\ntinkc_models 0\n"));
    httpget_response_dispose(&response);
}

/* One request of this route never gets its answer, after `skip` of them: the run cannot end
 * before it is killed. */
#define RUNFIX_HANGS(route, skip)                                                        \
    "{\"rules\":[{\"route\":\"" route "\",\"action\":\"delay\",\"delay_ms\":"            \
    "3600000,\"skip\":" skip ",\"times\":1}]}"

#endif
