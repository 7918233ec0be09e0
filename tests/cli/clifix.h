/* The program against the scripted peer: a world of one run with two checkpoints, and a
 * way to run command lines in it. Times lie far away, so that they read as dates. */
#ifndef CLI_CLIFIX_H
#define CLI_CLIFIX_H

#include <stdio.h>

#include "support/fakeapi.h"
#include "support/proc.h"
#include "support/test.h"

#define CLI_API     "/api/v1/"
#define CLI_RUN     "S:train:0"
#define CLI_RUNS    CLI_API "training_runs"
#define CLI_ONE     "tinker://" CLI_RUN "/weights/0001"
#define CLI_TWO     "tinker://" CLI_RUN "/sampler_weights/two"
#define CLI_SESSION "0b3a6c1e-7d27-4a57-9b1e-000000000001"
#define CLI_KEY     "tml-test-secret-0123456789"

#define CLI_CHECKPOINT_ONE                                                               \
    "{\"checkpoint_id\":\"weights/0001\",\"checkpoint_type\":\"training\",\"time\":"     \
    "\"2024-07-13T08:00:00Z\",\"tinker_path\":\"" CLI_ONE                                \
    "\",\"size_bytes\":1536,\"public\":true,\"expires_at\":\"2124-08-01T00:00:00Z\"}"
#define CLI_CHECKPOINT_TWO                                                               \
    "{\"checkpoint_id\":\"sampler_weights/two\",\"checkpoint_type\":\"sampler\","        \
    "\"time\":\"2024-07-14T08:00:00.250000Z\",\"tinker_path\":\"" CLI_TWO "\"}"
#define CLI_RUN_OBJECT                                                                       \
    "{\"training_run_id\":\"" CLI_RUN "\",\"base_model\":\"m/b\",\"model_owner\":"           \
    "\"me\",\"is_lora\":true,\"corrupted\":false,\"lora_rank\":8,"                           \
    "\"last_request_time\":\"2024-07-15T08:00:00Z\",\"last_checkpoint\":" CLI_CHECKPOINT_ONE \
    ",\"last_sampler_checkpoint\":null,"                                                     \
    "\"user_metadata\":{\"note\":\"h\xc3\xa9\"}}"

/* The first checkpoint as the program shows it with --format jsonl. */
#define CLI_CHECKPOINT_ONE_LINE                                                          \
    "{\"checkpoint_id\": \"weights/0001\", \"checkpoint_type\": \"training\", "          \
    "\"time\": \"2024-07-13T08:00:00Z\", \"tinker_path\": \"" CLI_ONE "\", "             \
    "\"size_bytes\": 1536, \"public\": true, \"expires_at\": \"2124-08-01T00:00:00Z\"}"

typedef struct clifix {
    fakeapi *api;
    char url[96];
    const char *env[12];
    size_t n_env;
    proc_options options;
    bool retries; /* as a user has them; otherwise none */
} clifix;

static inline void clifix_env(clifix *f, const char *pair)
{
    assert_true(f->n_env + 1 < TK_ARRAY_LEN(f->env));
    f->env[f->n_env++] = pair;
    f->env[f->n_env] = NULL;
}

static inline void clifix_world(fakeapi *api)
{
    fakeapi_default(api, "POST", CLI_API "client/*", &fakeapi_json("{}"));
    fakeapi_default(api, "GET", CLI_RUNS,
                    &fakeapi_json("{\"training_runs\":[" CLI_RUN_OBJECT
                                  "],\"cursor\":{\"offset\":0,\"limit\":20,"
                                  "\"total_count\":3}}"));
    fakeapi_default(api, "GET", CLI_RUNS "/" CLI_RUN, &fakeapi_json(CLI_RUN_OBJECT));
    fakeapi_default(api, "GET", CLI_RUNS "/" CLI_RUN "/checkpoints",
                    &fakeapi_json("{\"checkpoints\":[" CLI_CHECKPOINT_ONE
                                  "," CLI_CHECKPOINT_TWO "]}"));
    fakeapi_default(api, "GET", CLI_API "checkpoints",
                    &fakeapi_json("{\"checkpoints\":[" CLI_CHECKPOINT_ONE
                                  "," CLI_CHECKPOINT_TWO "],\"cursor\":{\"offset\":0,"
                                  "\"limit\":20,\"total_count\":2}}"));
}

/* What the other commands ask for. */
static inline void clifix_wide_world(fakeapi *api)
{
    fakeapi_default(api, "GET", CLI_API "sessions",
                    &fakeapi_json("{\"sessions\":[\"" CLI_SESSION "\"]}"));
    fakeapi_default(api, "GET", CLI_API "sessions/S",
                    &fakeapi_json("{\"training_run_ids\":[\"" CLI_RUN "\"],"
                                  "\"sampler_ids\":[\"" CLI_SESSION ":sample:0\"]}"));
    fakeapi_default(api, "GET", CLI_API "get_server_capabilities",
                    &fakeapi_json("{\"supported_models\":[{\"model_name\":"
                                  "\"somebody/a-model-with-a-long-name-70B-Instruct\","
                                  "\"max_context_length\":131072}]}"));
    fakeapi_default(api, "POST", CLI_API "weights_info",
                    &fakeapi_json("{\"base_model\":\"m\",\"is_lora\":true,"
                                  "\"lora_rank\":16,\"train_mlp\":false}"));
    fakeapi_default(api, "GET", CLI_API "samplers/x",
                    &fakeapi_json("{\"sampler_id\":\"x\",\"base_model\":\"m\","
                                  "\"model_path\":\"" CLI_TWO "\"}"));
    fakeapi_default(api, "GET", CLI_API "audit",
                    &fakeapi_json("{\"entries\":[{\"timestamp\":\"2026-07-13T08:00:00Z\","
                                  "\"event\":\"save\",\"model_id\":\"" CLI_SESSION
                                  "\",\"tinker_path\":\"" CLI_TWO
                                  "\",\"purpose\":\"h\xc3\xa9\"}]}"));
    fakeapi_default(api, "GET", CLI_API "billing/usage/events",
                    &fakeapi_json("{\"data\":[{\"bucket_start\":\"2026-07-13T00:00:00Z\","
                                  "\"bucket_end\":\"2026-07-13T01:00:00Z\","
                                  "\"session_id\":\"" CLI_SESSION "\",\"event_info\":"
                                  "{\"type\":\"training\",\"token_count\":12}}]}"));
    fakeapi_default(api, "GET", CLI_API "healthz", &fakeapi_json("{}"));
}

static inline void clifix_begin(clifix *f)
{
    *f = (clifix){.api = fakeapi_start()};
    clifix_world(f->api);
    (void)snprintf(f->url, sizeof(f->url), "TINKER_BASE_URL=%s", fakeapi_url(f->api));
    clifix_env(f, f->url);
    clifix_env(f, "TINKER_API_KEY=" CLI_KEY);
    clifix_env(f, "LC_ALL=C.UTF-8");
    clifix_env(f, "TERM=xterm");
    f->options.env = f->env;
}

static inline void clifix_end(clifix *f)
{
    fakeapi_stop(&f->api);
}

/* Runs words between blanks, without retries. The secret never shows, whatever
 * happens. */
static inline proc *clifix_start(clifix *f, const char *line)
{
    static char copy[4096];
    const char *argv[64] = {TINKC_PROGRAM, "--set", "max_retries=0"};
    size_t n = f->retries ? 1 : 3;
    char *rest = copy;
    (void)snprintf(copy, sizeof(copy), "%s", line);
    for (char *word; (word = strsep(&rest, " ")) != NULL && n + 1 < TK_ARRAY_LEN(argv);) {
        argv[n++] = word;
    }
    argv[n] = NULL;
    return proc_start(&f->options, argv);
}

/* The secret never shows, whatever happens. */
static inline proc *clifix_run(clifix *f, const char *line)
{
    proc *p = clifix_start(f, line);
    (void)proc_wait(p);
    assert_null(strstr(proc_out(p), CLI_KEY));
    assert_null(strstr(proc_err(p), CLI_KEY));
    return p;
}

/* Exactly this on standard output, nothing on standard error, exit code 0. */
static inline void clifix_expect(clifix *f, const char *line, const char *out)
{
    proc *p = clifix_run(f, line);
    if (p->status != 0 || strcmp(proc_out(p), out) != 0 || strcmp(proc_err(p), "") != 0) {
        print_error("tinkc %s\n%s", line, proc_err(p));
    }
    assert_string_equal(proc_err(p), "");
    assert_string_equal(proc_out(p), out);
    assert_int_equal(p->status, 0);
    proc_free(&p);
}

/* Nothing on standard output, `words` somewhere on standard error, this exit code. */
static inline void clifix_refused(clifix *f, const char *line, int status,
                                  const char *words)
{
    proc *p = clifix_run(f, line);
    if (p->status != status || strstr(proc_err(p), words) == NULL) {
        print_error("tinkc %s\nstatus %d\n%s", line, p->status, proc_err(p));
    }
    assert_string_equal(proc_out(p), "");
    assert_non_null(strstr(proc_err(p), words));
    assert_int_equal(p->status, status);
    proc_free(&p);
}

/* The last request that the server got. */
static inline const fakeapi_request *clifix_last(clifix *f)
{
    return fakeapi_request_at(f->api, fakeapi_total(f->api) - 1);
}

#endif
