/* Comparison of requests with recordings: see levelfix.h. Everything on the test's
 * thread; failures end the test. */
#include "support/levelfix.h"

#include <string.h>
#include <strings.h>

#include "support/fakeapi_tinker.h"
#include "support/levelfix_body.h"
#include "support/servicefix.h"
#include "wire/fixtures.h"

#define PEER_SESSION "00000001-0000-4000-8000-000000000000"
_Static_assert(sizeof(PEER_SESSION) == sizeof(LEVEL_SESSION), "rewritten in place");

#define EVENTS_MAX 64

static tk_arena arena;

/* ---- the peer ---- */

#define CHECKPOINT                                                                       \
    "{\"checkpoint_id\":\"weights/0001\",\"checkpoint_type\":\"training\",\"time\":"     \
    "\"2026-01-02T03:04:05Z\",\"tinker_path\":\"tinker://" LEVEL_RUN "/weights/0001\"}"
#define RUN                                                                              \
    "{\"training_run_id\":\"" LEVEL_RUN "\",\"base_model\":\"" LEVEL_MODEL               \
    "\",\"model_owner\":\"o\",\"is_lora\":true,\"last_request_time\":"                   \
    "\"2026-01-02T03:04:05Z\"}"
#define PAGE "\"cursor\":{\"offset\":0,\"limit\":20,\"total_count\":1}"
#define TOKEN                                                                            \
    "{\"jwt\":\"eyJhbGciOiAibm9uZSJ9."                                                   \
    "eyJleHAiOiA0MTAyNDQ0ODAwLCAic3ViIjogInRpbmtlcjp1c2VyOjEifQ.signature\"}"

static const struct {
    const char *method, *path;
    fakeapi_step step;
} answers[] = {
    {"POST", "/api/v1/auth/token", {.body = TOKEN}},
    {"POST",
     "/api/v1/weights_info",
     {.body = "{\"base_model\":\"" LEVEL_MODEL "\",\"is_lora\":true,\"lora_rank\":16,"
              "\"train_unembed\":false,\"train_mlp\":null,\"train_attn\":true}"}},
    {"POST",
     "/api/v1/copy_weights",
     {.body = "{\"tinker_path\":\"tinker://" LEVEL_RUN "/weights/0001\"}"}},
    {"POST",
     "/api/v1/sessions/search",
     {.body = "{\"sessions\":[],\"next_cursor\":null}"}},
    {"POST", "/api/v1/sessions/*/finish", {.body = "{}"}},
    {"POST", "/api/v1/cancel_future", {.body = "{}"}},
    {"GET", "/api/v1/training_runs", {.body = "{\"training_runs\":[" RUN "]," PAGE "}"}},
    {"GET",
     "/api/v1/checkpoints",
     {.body = "{\"checkpoints\":[" CHECKPOINT "]," PAGE "}"}},
    {"GET", "/api/v1/sessions", {.body = "{\"sessions\":[\"" LEVEL_SESSION "\"]}"}},
    {"GET", "/api/v1/audit", {.body = "{\"entries\":[]}"}},
    {"GET", "/api/v1/billing/usage/events", {.body = "{\"data\":[],\"sessions\":{}}"}},
    {"GET", "/api/v1/billing/usage/checkpoints/current", {.body = "{\"data\":[]}"}},
    {"GET", "*/checkpoints", {.body = "{\"checkpoints\":[" CHECKPOINT "]}"}},
    {"GET",
     "*/archive",
     {.body = "{\"url\":\"https://download.invalid/a\",\"expires\":0}"}},
    {"GET", "*/external_weights_urls", {.body = "{\"urls\":{},\"expires\":0}"}},
    {"GET",
     "*/trace_export",
     {.body = "{\"status\":\"ready\",\"url\":\"https://download.invalid/t\"}"}},
    {"DELETE", "*", {.status = 204}},
    {"PUT", "*", {.body = "{}"}},
    {"POST", "*/publish", {.body = "{}"}},
    {"GET", "/api/v1/training_runs/*", {.body = RUN}},
    {"GET",
     "/api/v1/sessions/*",
     {.body = "{\"training_run_ids\":[],\"sampler_ids\":[]}"}},
    {"GET",
     "/api/v1/samplers/*",
     {.body = "{\"sampler_id\":\"s\",\"base_model\":\"" LEVEL_MODEL "\"}"}},
};

void level_open(levelfix *f, const char *const *options)
{
    const char *settings[32] = {"sdk_version",  f->version,  "api_key",
                                "tml-recorded", "telemetry", "false"};
    size_t n = 6;
    for (; options != NULL && options[0] != NULL; options += 2) {
        assert_true(n + 2 < TK_ARRAY_LEN(settings));
        settings[n++] = options[0];
        settings[n++] = options[1];
    }
    settings[n] = NULL;
    f->service = servicefix_open(f->api, settings);
}

void level_record(levelfix *f)
{
    f->from = fakeapi_total(f->api);
}

/* ---- one request against one recording ---- */

/* The ids of the peer become those of the recorder. */
static char *rewritten(const char *text, size_t n)
{
    const size_t id_n = sizeof(PEER_SESSION) - 1;
    char *copy = tk_arena_alloc(&arena, n + 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    copy[n] = '\0';
    for (size_t i = 0; i + id_n <= n; i++) {
        if (memcmp(copy + i, PEER_SESSION, id_n) == 0) {
            memcpy(copy + i, LEVEL_SESSION, id_n);
        }
    }
    return copy;
}

static bool is_one_of(tk_str name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (tk_str_is_nocase(name, names[i])) {
            return true;
        }
    }
    return false;
}

/* Headers that say which program and machine it is, and those of HTTP itself. */
static bool is_our_own(tk_str name)
{
    static const char *const names[] = {"accept-encoding",
                                        "connection",
                                        "content-length",
                                        "host",
                                        "user-agent",
                                        "x-stainless-arch",
                                        "x-stainless-async",
                                        "x-stainless-os",
                                        "x-stainless-runtime",
                                        "x-stainless-lang",
                                        "x-stainless-runtime-version"};
    return is_one_of(name, names, TK_ARRAY_LEN(names));
}

/* Headers with a value that differs by chance. */
static bool is_random(tk_str name, tk_str want)
{
    static const char *const names[] = {"x-idempotency-key",
                                        "x-tinker-create-promise-roundtrip-time"};
    return is_one_of(name, names, TK_ARRAY_LEN(names)) || tk_str_is(want, "<jwt>");
}

static const tk_json *recorded_header(const tk_json *headers, const char *name)
{
    for (size_t i = 0; i < headers->as.object.n; i++) {
        if (tk_str_is_nocase(headers->as.object.members[i].key, name)) {
            return &headers->as.object.members[i].value;
        }
    }
    return NULL;
}

static void compare_headers(const fakeapi_request *got, const tk_json *want,
                            const char *what)
{
    const tk_json *headers = fixture_need(want, "headers");
    for (size_t i = 0; i < headers->as.object.n; i++) {
        const tk_json_member *header = &headers->as.object.members[i];
        tk_str text = header->value.as.string;
        if (is_our_own(header->key)) {
            continue;
        }
        const char *mine = fakeapi_header(got, header->key.p);
        if (mine == NULL || (!is_random(header->key, text) && !tk_str_is(text, mine))) {
            fail_msg("%s: header %s: \"%s\" instead of \"%s\"", what, header->key.p,
                     mine != NULL ? mine : "(none)", text.p);
        }
    }
    for (size_t i = 0; i < got->headers_n; i++) {
        const char *name = got->headers[i].name;
        if (!is_our_own(tk_str_of(name)) && recorded_header(headers, name) == NULL) {
            fail_msg("%s: header %s is not in the recording", what, name);
        }
    }
}

static const tk_json *parsed(const char *body, size_t n, const char *what)
{
    const tk_json *out;
    tk_err err = TK_ERR_INIT;
    if (tk_json_parse(&out, &arena, body, n, NULL, &err) != TINKC_OK) {
        fail_msg("%s: %s", what, err.message);
    }
    return out;
}

static void compare_json(const level_case *c, const tk_json *got, const tk_json *want,
                         const char *what)
{
    fixture_assert_same(levelfix_body_json(&arena, got, c->apart_from),
                        levelfix_body_json(&arena, want, c->apart_from), 0, what);
}

static bool has_bytes(const level_case *c, const fakeapi_request *got,
                      const tk_json *want)
{
    tk_bytes theirs = fixture_bytes(&arena, want, "protobuf_base64");
    tk_bytes ours = levelfix_body_pb(&arena, rewritten(got->body, got->body_n),
                                     got->body_n, c->apart_from);
    theirs = levelfix_body_pb(&arena, theirs.p, theirs.n, c->apart_from);
    return ours.n == theirs.n && memcmp(ours.p, theirs.p, ours.n) == 0;
}

static void compare_body(const level_case *c, const fakeapi_request *got,
                         const tk_json *want, const char *what)
{
    const tk_json *body = tk_json_get(want, "body");
    const char *mine = rewritten(got->body, got->body_n);
    if (tk_json_get(want, "zstd_base64") != NULL) {
        assert_memory_equal(mine, "\x28\xb5\x2f\xfd", 4); /* what is in it: below */
        return;
    }
    if (tk_json_get(want, "protobuf_base64") != NULL) {
        if (!has_bytes(c, got, want)) {
            fail_msg("%s: another protobuf message", what);
        }
        return;
    }
    if (body->type == TK_JSON_NULL) {
        assert_int_equal(got->body_n, 0);
        return;
    }
    compare_json(c, parsed(mine, got->body_n, what), body, what);
}

static bool has_same_line(const fakeapi_request *got, const tk_json *want)
{
    return strcmp(got->method, fixture_text(want, "method")) == 0 &&
           strcmp(rewritten(got->path, strlen(got->path)), fixture_text(want, "path")) ==
               0;
}

static void compare(const level_case *c, const fakeapi_request *got, const tk_json *want,
                    const char *what)
{
    const tk_json *query = tk_json_get(want, "query");
    assert_string_equal(rewritten(got->query, strlen(got->query)),
                        query != NULL ? query->as.string.p : "");
    compare_headers(got, want, what);
    compare_body(c, got, want, what);
}

/* ---- a case ---- */

static bool is_recorded(const fakeapi_request *got, const tk_json *requests)
{
    for (size_t i = 0; i < tk_json_len(requests); i++) {
        if (has_same_line(got, fixture_at(&arena, requests, i))) {
            return true;
        }
    }
    return false;
}

/* The request with these bytes, whenever it came. */
static const fakeapi_request *same_bytes(levelfix *f, const level_case *c,
                                         const tk_json *want)
{
    for (size_t i = f->from; i < fakeapi_total(f->api); i++) {
        const fakeapi_request *got = fakeapi_request_at(f->api, i);
        if (strstr(got->path, "forward_backward") != NULL && has_bytes(c, got, want)) {
            return got;
        }
    }
    return NULL;
}

/* The next request, from *at on, that has the line of the recorded one. */
static const fakeapi_request *next_of(levelfix *f, size_t *at, const tk_json *want)
{
    for (; *at < fakeapi_total(f->api); (*at)++) {
        const fakeapi_request *got = fakeapi_request_at(f->api, *at);
        if (has_same_line(got, want)) {
            (*at)++;
            return got;
        }
    }
    return NULL;
}

static void compare_all(levelfix *f, const level_case *c, const tk_json *requests)
{
    size_t ours = 0, wanted = 0, at = f->from;
    for (size_t i = f->from; i < fakeapi_total(f->api); i++) {
        ours += is_recorded(fakeapi_request_at(f->api, i), requests);
    }
    for (size_t i = 0; i < tk_json_len(requests); i++) {
        wanted += (c->without >> i & 1) == 0;
    }
    if (ours != wanted) {
        fail_msg("%s at %s: %zu requests instead of %zu", c->name, f->version, ours,
                 wanted);
    }
    for (size_t i = 0; i < tk_json_len(requests); i++) {
        if ((c->without >> i & 1) != 0) {
            continue;
        }
        char what[160];
        const tk_json *want = fixture_at(&arena, requests, i);
        (void)snprintf(what, sizeof(what), "%s[%zu] at %s", c->name, i, f->version);
        const fakeapi_request *got =
            c->any_order ? same_bytes(f, c, want) : next_of(f, &at, want);
        if (got == NULL) {
            fail_msg("%s: not sent, or in another order", what);
        }
        compare(c, got, want, what);
    }
}

/* ---- telemetry ---- */

/* Our events of all requests in one list. */
static const tk_json *all_events(levelfix *f, const level_case *c, const tk_json *want)
{
    tk_json *out = tk_arena_zalloc(&arena, sizeof(*out));
    tk_json *items = tk_arena_array(&arena, EVENTS_MAX, sizeof(*items));
    assert_true(out != NULL && items != NULL);
    *out = (tk_json){.type = TK_JSON_ARRAY, .as.array.items = items};
    for (size_t i = f->from; i < fakeapi_total(f->api); i++) {
        const fakeapi_request *got = fakeapi_request_at(f->api, i);
        if (!has_same_line(got, want)) {
            continue;
        }
        compare_headers(got, want, c->name);
        const tk_json *body =
            parsed(rewritten(got->body, got->body_n), got->body_n, c->name);
        const tk_json *events = fixture_need(body, "events");
        compare_json(&(level_case){.apart_from = "events"}, body,
                     fixture_need(want, "body"), c->name);
        for (size_t k = 0; k < tk_json_len(events); k++) {
            assert_true(out->as.array.n < EVENTS_MAX);
            items[out->as.array.n++] = tk_json_at(events, k);
        }
    }
    return out;
}

static void compare_events(levelfix *f, const level_case *c, const tk_json *requests)
{
    char what[160];
    const tk_json *want = fixture_at(&arena, requests, 0);
    assert_int_equal(tk_json_len(requests), 1);
    (void)snprintf(what, sizeof(what), "%s at %s", c->name, f->version);
    compare_json(c, all_events(f, c, want),
                 fixture_need(fixture_need(want, "body"), "events"), what);
}

static void run_case(const level_case *c, const char *version, const char *file)
{
    const fakeapi_tinker_options options = {.config = c->config};
    levelfix f = {.api = fakeapi_start(),
                  .version = version,
                  .is_new = strcmp(version, LEVEL_NEW) == 0};
    for (size_t i = 0; i < TK_ARRAY_LEN(answers); i++) {
        fakeapi_default(f.api, answers[i].method, answers[i].path, &answers[i].step);
    }
    fakeapi_tinker(f.api, &options);
    c->run(&f);
    (c->events ? compare_events : compare_all)(
        &f, c, fixture_need(fixture_load(&arena, version, file), "requests"));
    tinkc_service_close(&f.service);
    fakeapi_stop(&f.api);
    tk_arena_dispose(&arena);
}

/* ---- a group ---- */

static const level_case *find(const level_case *cases, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(cases[i].name, name) == 0) {
            return &cases[i];
        }
    }
    return NULL;
}

static size_t run_version(const char *version, const char *group, const level_case *cases,
                          size_t n)
{
    size_t seen = 0;
    tk_arena list;
    tk_arena_init(&list, TK_MIB);
    const tk_json *files =
        fixture_need(fixture_load(&list, version, "index.json"), "requests");
    for (size_t i = 0; i < tk_json_len(files); i++) {
        char name[128];
        const char *file = fixture_at(&list, files, i)->as.string.p;
        (void)snprintf(name, sizeof(name), "%s", file + strlen("requests/"));
        name[strlen(name) - strlen(".json")] = '\0';
        if (strncmp(name, group, strlen(group)) != 0) {
            continue;
        }
        const level_case *c = find(cases, n, name);
        if (c == NULL || (c->run == NULL || c->without != 0 || c->apart_from != NULL) !=
                             (c->why != NULL)) {
            fail_msg("%s (%s) has neither a case nor a reason", name, version);
        }
        bool is_old = strcmp(version, LEVEL_OLD) == 0;
        if (c->run != NULL && (is_old ? c->newer : c->older) == NULL) {
            run_case(c, version, file);
        }
        seen++;
    }
    tk_arena_dispose(&list);
    return seen;
}

void level_run(const char *group, const level_case *cases, size_t n)
{
    size_t older = run_version(LEVEL_OLD, group, cases, n);
    assert_true(older > 0 && run_version(LEVEL_NEW, group, cases, n) >= older / 2);
}
