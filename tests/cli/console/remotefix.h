/* `tinkc console` beside the scripted peer, with one file of metrics. */
#ifndef CLI_REMOTEFIX_H
#define CLI_REMOTEFIX_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/json.h"
#include "cli/clifix.h"
#include "support/httpget.h"
#include "support/program.h"

#define API    "/tinkc/v1/console/"
#define RUN    API "runs/S%3Atrain%3A0"
#define FILE_1 "{\"step\":1,\"loss\":3.5,\"tokens\":10,\"seconds\":2}\n"

typedef struct remotefix {
    fakeapi *api;
    program p;
    int port;
    char url[96];
    tk_arena arena;
} remotefix;

static inline void remotefix_init(remotefix *f)
{
    memset(f, 0, sizeof(*f));
    tk_arena_init(&f->arena, 0);
    f->api = fakeapi_start();
    clifix_world(f->api);
    clifix_wide_world(f->api);
    fakeapi_default(f->api, "GET", CLI_API "sessions/" CLI_SESSION,
                    &fakeapi_json("{\"training_run_ids\":[\"" CLI_RUN
                                  "\",\"b\"],\"sampler_ids\":[\"c\"],"
                                  "\"display_name\":\"<script>s\"}"));
    program_open(&f->p, TINKC_PROGRAM);
    (void)snprintf(f->url, sizeof(f->url), "TINKER_BASE_URL=%s", fakeapi_url(f->api));
    program_env(&f->p, f->url);
    program_env(&f->p, "TINKER_API_KEY=" CLI_KEY);
    program_write_file(&f->p, "m.jsonl", FILE_1);
}

static inline void remotefix_begin(remotefix *f, const char *const *words)
{
    program_start(&f->p, words);
    assert_true(program_wait_text(&f->p, false, "listening on "));
    assert_true(program_wait_text(&f->p, false, "\n"));
    f->port = (int)strtol(strrchr(f->p.out.p, ':') + 1, NULL, 10);
}

#define CONSOLE "console", "m.jsonl", "--port", "0", "--set", "max_retries=0"

static inline void remotefix_finish(remotefix *f)
{
    assert_int_equal(kill(f->p.pid, SIGTERM), 0);
    program_end(&f->p);
    assert_int_equal(f->p.code, 0);
}

/* The secret never shows. */
static inline void remotefix_end(remotefix *f)
{
    remotefix_finish(f);
    assert_false(program_said(&f->p.err, CLI_KEY));
    program_close(&f->p);
    fakeapi_stop(&f->api);
    tk_arena_dispose(&f->arena);
}

static inline const tk_json *remotefix_get(remotefix *f, const char *target, int status)
{
    httpget_response response;
    const httpget_request request = {.target = target};
    const tk_json *json = NULL;
    assert_int_equal(httpget_once(f->port, &request, &response), HTTPGET_OK);
    if (response.status != status) {
        fail_msg("%s: %d %s", target, response.status, response.body.p);
    }
    assert_null(strstr(response.body.p, CLI_KEY));
    assert_int_equal(
        tk_json_parse(&json, &f->arena, response.body.p, response.body.n, NULL, NULL),
        TINKC_OK);
    httpget_response_dispose(&response);
    return json;
}

static inline int64_t remotefix_number(const tk_json *object, const char *key)
{
    int64_t value = -1;
    const tk_json *found = tk_json_get(object, key);
    assert_non_null(found);
    assert_true(tk_json_to_i64(found, &value));
    return value;
}

static inline bool remotefix_is_text(const tk_json *object, const char *key,
                                     const char *wanted)
{
    const tk_json *found = tk_json_get(object, key);
    return found != NULL && found->type == TK_JSON_STRING &&
           tk_str_is(found->as.string, wanted);
}

static inline bool remotefix_has_words(const tk_json *object, const char *key,
                                       const char *words)
{
    const tk_json *found = tk_json_get(object, key);
    assert_non_null(found);
    assert_int_equal(found->type, TK_JSON_STRING);
    return strstr(found->as.string.p, words) != NULL;
}

/* Asks until the service is in that state. */
static inline const tk_json *remotefix_get_service(remotefix *f, const char *state)
{
    int64_t end_ms = tk_clock_mono_ms(NULL) + 60000;
    for (;;) {
        const tk_json *server = remotefix_get(f, API "server", 200);
        if (remotefix_is_text(tk_json_get(server, "service"), "state", state)) {
            return server;
        }
        if (tk_clock_mono_ms(NULL) > end_ms) {
            fail_msg("the service never came to %s", state);
        }
    }
}

/* Asks until the list has so many elements. */
static inline tk_json remotefix_get_list(remotefix *f, const char *target,
                                         const char *key, size_t n)
{
    int64_t end_ms = tk_clock_mono_ms(NULL) + 60000;
    for (;;) {
        const tk_json *list = tk_json_get(remotefix_get(f, target, 200), key);
        assert_non_null(list);
        if (tk_json_len(list) == n) {
            return *list;
        }
        if (tk_clock_mono_ms(NULL) > end_ms) {
            fail_msg("%s: never %zu %s", target, n, key);
        }
    }
}

#endif
