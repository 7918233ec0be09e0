/* Comparison of requests with recordings: see levelfix.h. Everything on the test's
 * thread; failures end the test. */
#include "support/levelfix.h"

#include <string.h>
#include <strings.h>

#include "support/fakeapi_tinker.h"
#include "support/servicefix.h"
#include "wire/fixtures.h"

#define PEER_SESSION "00000001-0000-4000-8000-000000000000"
_Static_assert(sizeof(PEER_SESSION) == sizeof(LEVEL_SESSION), "rewritten in place");

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

static void compare_json(const char *body, size_t n, const tk_json *want,
                         const char *what)
{
    const tk_json *got;
    tk_err err = TK_ERR_INIT;
    if (tk_json_parse(&got, &arena, body, n, NULL, &err) != TINKC_OK) {
        fail_msg("%s: %s", what, err.message);
    }
    fixture_assert_same(got, want, 0, what);
}

/* ---- protobuf ---- */

static uint64_t varint(const unsigned char **at, const unsigned char *end)
{
    uint64_t value = 0;
    for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
        unsigned char byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            break;
        }
    }
    return value;
}

typedef struct field {
    uint64_t number;
    const unsigned char *p;
    size_t n;
} field;

static field next_field(const unsigned char **at, const unsigned char *end)
{
    field out = {.p = *at};
    uint64_t tag = varint(at, end);
    out.number = tag >> 3;
    if ((tag & 7) == 0) {
        (void)varint(at, end);
    } else {
        assert_int_equal(tag & 7, 2);
        uint64_t n = varint(at, end);
        assert_true(n <= (uint64_t)(end - *at));
        *at += n;
    }
    out.n = (size_t)(*at - out.p);
    return out;
}

/* The fields of a message by number: we write the sequence number last. */
static tk_bytes in_order(const void *p, size_t n)
{
    const unsigned char *at = p, *end = at + n;
    field *fields = tk_arena_array(&arena, n + 1, sizeof(*fields));
    unsigned char *out = tk_arena_alloc(&arena, n + 1);
    size_t count = 0, used = 0;
    assert_true(fields != NULL && out != NULL);
    while (at < end) {
        size_t k = count++;
        field next = next_field(&at, end);
        for (; k > 0 && fields[k - 1].number > next.number; k--) {
            fields[k] = fields[k - 1];
        }
        fields[k] = next;
    }
    for (size_t i = 0; i < count; used += fields[i++].n) {
        memcpy(out + used, fields[i].p, fields[i].n);
    }
    return (tk_bytes){out, n};
}

static bool has_bytes(const fakeapi_request *got, const tk_json *want)
{
    tk_bytes bytes = fixture_bytes(&arena, want, "protobuf_base64");
    return got->body_n == bytes.n &&
           memcmp(in_order(rewritten(got->body, bytes.n), bytes.n).p, bytes.p, bytes.n) ==
               0;
}

static void compare_body(const fakeapi_request *got, const tk_json *want,
                         const char *what)
{
    const tk_json *body = tk_json_get(want, "body");
    const char *mine = rewritten(got->body, got->body_n);
    if (tk_json_get(want, "zstd_base64") != NULL) {
        assert_memory_equal(mine, "\x28\xb5\x2f\xfd", 4); /* what is in it: below */
        return;
    }
    if (tk_json_get(want, "protobuf_base64") != NULL) {
        if (!has_bytes(got, want)) {
            fail_msg("%s: another protobuf message", what);
        }
        return;
    }
    if (body->type == TK_JSON_NULL) {
        assert_int_equal(got->body_n, 0);
        return;
    }
    compare_json(mine, got->body_n, body, what);
}

static bool has_same_line(const fakeapi_request *got, const tk_json *want)
{
    return strcmp(got->method, fixture_text(want, "method")) == 0 &&
           strcmp(rewritten(got->path, strlen(got->path)), fixture_text(want, "path")) ==
               0;
}

static void compare(const fakeapi_request *got, const tk_json *want, const char *what)
{
    const tk_json *query = tk_json_get(want, "query");
    assert_string_equal(rewritten(got->query, strlen(got->query)),
                        query != NULL ? query->as.string.p : "");
    compare_headers(got, want, what);
    compare_body(got, want, what);
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
static const fakeapi_request *same_bytes(levelfix *f, const tk_json *want)
{
    for (size_t i = f->from; i < fakeapi_total(f->api); i++) {
        const fakeapi_request *got = fakeapi_request_at(f->api, i);
        if (strstr(got->path, "forward_backward") != NULL && has_bytes(got, want)) {
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
            c->any_order ? same_bytes(f, want) : next_of(f, &at, want);
        if (got == NULL) {
            fail_msg("%s: not sent, or in another order", what);
        }
        compare(got, want, what);
    }
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
    compare_all(&f, c, fixture_need(fixture_load(&arena, version, file), "requests"));
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
        if (c == NULL || (c->run == NULL || c->without != 0) != (c->why != NULL)) {
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
