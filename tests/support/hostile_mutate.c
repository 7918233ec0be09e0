/* What changes an answer as a whole, and the numbering of all changes. See
 * hostile_mutate.h. */
#include "support/hostile_mutate.h"

#include <stdio.h>
#include <string.h>

#include "base/rand.h"
#include "support/textfix.h"

#define BODY_MAX_BYTES (64 * TK_MIB)
#define CUTS           24 /* places where a body is truncated */
#define SCRAMBLES      48 /* random changes of a few bytes */
#define SELF           "/api/v1/healthz"

static const int statuses[] = {100, 199, 200, 201, 202, 204, 206, 299, 300, 301, 302,
                               303, 304, 305, 307, 308, 399, 400, 401, 402, 403, 404,
                               405, 406, 408, 409, 410, 413, 415, 418, 422, 423, 425,
                               426, 428, 429, 431, 451, 499, 500, 501, 502, 503, 504,
                               505, 507, 511, 520, 524, 529, 598, 599, 600, 666, 999};

static const char *const types[] = {NULL,
                                    "",
                                    "text/plain",
                                    "text/html; charset=utf-8",
                                    "text/event-stream",
                                    "application/json",
                                    "application/json; charset=utf-16",
                                    "APPLICATION/JSON",
                                    "application/problem+json",
                                    "application/x-protobuf",
                                    "application/x-protobuf; application/json",
                                    "application/json, application/x-protobuf",
                                    "application/octet-stream",
                                    ";;;===\"",
                                    "\xff\xfe"};

typedef struct header_row {
    int status; /* 0: as recorded */
    const char *name, *value;
} header_row;

static const header_row headers[] = {
    {429, "retry-after", "0"},
    {429, "retry-after", "-1"},
    {429, "retry-after", "nan"},
    {429, "retry-after", "1e308"},
    {429, "retry-after", "99999999999999999999"},
    {503, "retry-after", "59"},
    {503, "retry-after", "86400"},
    {503, "retry-after", "Wed, 21 Oct 2099 07:28:00 GMT"},
    {503, "retry-after", "Thu, 01 Jan 1970 00:00:00 GMT"},
    {503, "retry-after", "Xyz, 99 Abc 0000 99:99:99 GMT"},
    {503, "retry-after-ms", "0"},
    {503, "retry-after-ms", "-9223372036854775808"},
    {503, "retry-after-ms", "0.000001"},
    {503, "retry-after-ms", "1"},
    {503, "retry-after-ms", "60000"},
    {503, "retry-after-ms", "60001"},
    {408, "retry-after-ms", "1"},
    {402, "retry-after-ms", "1"},
    {410, "retry-after-ms", "1"},
    {404, "x-should-retry", "true"},
    {200, "x-should-retry", "true"},
    {500, "x-should-retry", "false"},
    {408, "x-should-retry", "false"},
    {418, "x-should-retry", "TRUE\t"},
    {0, "retry-after-ms", "1"},
    {0, "content-encoding", "gzip"},
    {0, "transfer-encoding", "chunked, chunked"},
    {0, "x-request-id", "\x1b[2J"},
    {302, "location", ""},
    {302, "location", SELF},
    {307, "location", SELF},
    {308, "location", "?"},
    {307, "location", "//"},
    {307, "location", "http://"},
    {307, "location", "http://127.0.0.1:2" SELF},
    {307, "location", "https://127.0.0.1:2" SELF},
    {303, "location", "ftp://127.0.0.1/x"},
    {303, "location", "file:///etc/passwd"},
    {307, "location", "http://user:pw@127.0.0.1:1" SELF},
    {307, "location", "http://[::1"},
    {307, "location", "http://127.0.0.1:99999/"},
    {301, "location", "../../../../../.."},
    {301, "location", "\xff\xfe\x01"},
    {200, "location", SELF},
};

typedef enum body_kind { LITERAL, BEFORE, AFTER, DOUBLE, BLANKS, NEST } body_kind;

typedef struct body_row {
    const char *what;
    body_kind kind;
    const char *text;
    size_t n;
} body_row;

static const body_row bodies[] = {
    {"empty", LITERAL, "", 0},
    {"a blank", LITERAL, " ", 0},
    {"null", LITERAL, "null", 0},
    {"true", LITERAL, "true", 0},
    {"0", LITERAL, "0", 0},
    {"a text", LITERAL, "\"x\"", 0},
    {"[]", LITERAL, "[]", 0},
    {"{}", LITERAL, "{}", 0},
    {"[{}]", LITERAL, "[{}]", 0},
    {"{\"\":{}}", LITERAL, "{\"\":{}}", 0},
    {"NaN", LITERAL, "NaN", 0},
    {"half", LITERAL, "{", 0},
    {"half a key", LITERAL, "{\"a", 0},
    {"bad UTF-8", LITERAL, "{\"\xff\":\"\xc0\xaf\"}", 0},
    {"an error object", LITERAL, "{\"error\":{\"message\":{\"a\":[]}}}", 0},
    {"an error of null", LITERAL, "{\"error\":null,\"category\":7}", 0},
    {"a detail list", LITERAL, "{\"detail\":[null,{\"loc\":7,\"msg\":[]},\"\"]}", 0},
    {"try_again", LITERAL, "{\"type\":\"try_again\"}", 0},
    {"try_again, odd", LITERAL,
     "{\"type\":\"try_again\",\"queue_state\":\"x\",\"queue_state_reason\":\"\\u001b[2J\","
     "\"retry_after_ms\":1}",
     0},
    {"try_again, long", LITERAL,
     "{\"type\":\"try_again\",\"retry_after_ms\":9223372036854775807}", 0},
    {"try_again, negative", LITERAL, "{\"type\":\"try_again\",\"retry_after_ms\":-5}", 0},
    {"metadata", LITERAL, "{\"status\":\"complete_metadata\"}", 0},
    {"metadata, huge", LITERAL,
     "{\"status\":\"complete_metadata\",\"response_payload_size\":9223372036854775807}",
     0},
    {"metadata, negative", LITERAL,
     "{\"status\":\"complete_metadata\",\"response_payload_size\":-9223372036854775808}",
     0},
    {"html", LITERAL, "<html><body>\x1b[31m502 Bad Gateway</body></html>", 0},
    {"a mark before it", BEFORE, "\xef\xbb\xbf", 0},
    {"a guard before it", BEFORE, ")]}',\n", 0},
    {"a comma after it", AFTER, ",", 0},
    {"a NUL after it", AFTER, NULL, 1},
    {"garbage after it", AFTER, "\xff\xff garbage", 0},
    {"twice", DOUBLE, NULL, 0},
    {"64 KiB of blanks before it", BLANKS, NULL, 64 * TK_KIB},
    {"900 KiB of blanks before it", BLANKS, NULL, 900 * TK_KIB},
    {"100000 arrays", NEST, "[", 100000},
    {"100000 objects", NEST, "{\"a\":", 100000},
};

typedef struct flow_row {
    const char *what;
    hostile_flow flow;
    tk_http_failure failure;
    size_t bytes;
    int64_t ms;
} flow_row;

static const flow_row flows[] = {
    {"no such host", HOSTILE_FAILED, TK_HTTP_DNS, 0, 0},
    {"refused", HOSTILE_FAILED, TK_HTTP_CONNECT, 0, 0},
    {"TLS broken off", HOSTILE_FAILED, TK_HTTP_TLS, 0, 0},
    {"not trusted", HOSTILE_FAILED, TK_HTTP_TRUST, 0, 0},
    {"reset", HOSTILE_FAILED, TK_HTTP_RESET, 0, 0},
    {"timeout", HOSTILE_FAILED, TK_HTTP_TIMEOUT, 0, 0},
    {"too large", HOSTILE_FAILED, TK_HTTP_TOO_LARGE, 0, 0},
    {"not HTTP", HOSTILE_FAILED, TK_HTTP_PROTOCOL, 0, 0},
    {"no memory", HOSTILE_FAILED, TK_HTTP_NOMEM, 0, 0},
    {"other failure", HOSTILE_FAILED, TK_HTTP_OTHER, 0, 0},
    {"never", HOSTILE_NEVER, TK_HTTP_OK, 0, 0},
    {"cut", HOSTILE_CUT, TK_HTTP_OK, 0, 0},
    {"a byte each ms", HOSTILE_DRIP, TK_HTTP_OK, 1, 1},
    {"7 bytes each 250 ms", HOSTILE_DRIP, TK_HTTP_OK, 7, 250},
    {"a byte each second", HOSTILE_DRIP, TK_HTTP_OK, 1, 1000},
    {"endless", HOSTILE_ENDLESS, TK_HTTP_OK, 0, 0},
    {"endless and slow", HOSTILE_CRAWL, TK_HTTP_OK, 0, 0},
};

/* ---- the segments of the numbering ---- */

typedef void (*segment_fn)(hostile_answer *out, const hostile_seed *seed, size_t k);

static void change_status(hostile_answer *out, const hostile_seed *seed, size_t k)
{
    (void)seed;
    out->status = statuses[k];
    (void)snprintf(out->what, sizeof(out->what), "status %d", out->status);
}

static void change_type(hostile_answer *out, const hostile_seed *seed, size_t k)
{
    (void)seed;
    out->type = types[k];
    (void)snprintf(out->what, sizeof(out->what), "content type %zu: %s", k,
                   out->type != NULL ? out->type : "none");
}

static void change_header(hostile_answer *out, const hostile_seed *seed, size_t k)
{
    const header_row *header = &headers[k];
    (void)seed;
    out->status = header->status != 0 ? header->status : out->status;
    out->fields[out->fields_n].name = header->name;
    out->fields[out->fields_n++].value = header->value;
    (void)snprintf(out->what, sizeof(out->what), "%d with %s: %.40s", out->status,
                   header->name, header->value);
}

static void put_times(tk_buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tk_buf_puts(out, text);
    }
}

static void change_body(hostile_answer *out, const hostile_seed *seed, size_t k)
{
    const body_row *body = &bodies[k];
    tk_buf *to = &out->body;
    tk_buf_clear(to);
    if (body->kind == BLANKS) {
        put_times(to, " ", body->n);
    } else if (body->kind == NEST) {
        put_times(to, body->text, body->n);
    } else if (body->kind == LITERAL || body->kind == BEFORE) {
        tk_buf_puts(to, body->text);
    }
    if (body->kind != LITERAL && body->kind != NEST) {
        tk_buf_put(to, seed->body.p, seed->body.n);
    }
    if (body->kind == DOUBLE) {
        tk_buf_put(to, seed->body.p, seed->body.n);
    } else if (body->kind == AFTER) {
        tk_buf_put(to, body->text != NULL ? body->text : "\0",
                   body->text != NULL ? strlen(body->text) : body->n);
    }
    (void)snprintf(out->what, sizeof(out->what), "body: %s", body->what);
}

static void change_flow(hostile_answer *out, const hostile_seed *seed, size_t k)
{
    (void)seed;
    out->flow = flows[k].flow;
    out->failure = flows[k].failure;
    out->drip_bytes = flows[k].bytes;
    out->drip_ms = flows[k].ms;
    (void)snprintf(out->what, sizeof(out->what), "arrival: %s", flows[k].what);
}

static void cut_body(hostile_answer *out, const hostile_seed *seed, size_t k)
{
    out->body.n = seed->body.n * k / CUTS;
    out->no_length = k % 2 == 0;
    (void)snprintf(out->what, sizeof(out->what), "the first %zu bytes", out->body.n);
}

/* One to four bytes are replaced, removed or inserted. */
static void scramble(hostile_answer *out, const hostile_seed *seed, size_t k)
{
    tk_rand rand;
    tk_rand_init(&rand, k + 1);
    (void)snprintf(out->what, sizeof(out->what), "scrambled %zu", k);
    for (uint64_t n = 1 + tk_rand_below(&rand, 4); n > 0 && out->body.n > 0; n--) {
        size_t at = (size_t)tk_rand_below(&rand, out->body.n);
        char *p = out->body.p + at;
        switch (tk_rand_below(&rand, 4)) {
        case 0:
            *p = (char)tk_rand_u64(&rand);
            break;
        case 1:
            *p = (char)(*p ^ (1 << tk_rand_below(&rand, 8)));
            break;
        case 2:
            memmove(p, p + 1, out->body.n - at - 1);
            out->body.n--;
            break;
        default:
            tk_buf_putc(&out->body, *p); /* may move the block */
            out->body.p[at] = out->body.p[tk_rand_below(&rand, seed->body.n)];
            break;
        }
    }
}

static void change_field(hostile_answer *out, const hostile_seed *seed, size_t k)
{
    if (seed->form == HOSTILE_JSON) {
        hostile_json_mutate(out, seed->json, k);
    } else {
        hostile_pb_mutate(out, seed->body, k);
    }
}

static size_t count_fields(const hostile_seed *seed)
{
    return seed->form == HOSTILE_JSON       ? hostile_json_count(seed->json)
           : seed->form == HOSTILE_PROTOBUF ? hostile_pb_count(seed->body)
                                            : 0;
}

/* Must be read like the seed, but for what was changed. */
static void make_newer(hostile_answer *out, const hostile_seed *seed, size_t k)
{
    tk_buf_clear(&out->body);
    if (seed->form == HOSTILE_JSON) {
        newer_json(&out->body, &out->newer, seed->schema, seed->json, k);
    } else {
        newer_pb_put(&out->body, &out->newer, seed->proto, seed->body, k);
    }
    (void)snprintf(out->what, sizeof(out->what), "%s", out->newer.what);
}

static size_t count_newer(const hostile_seed *seed)
{
    return seed->form == HOSTILE_JSON       ? newer_json_count(seed->schema, seed->json)
           : seed->form == HOSTILE_PROTOBUF ? newer_pb_count(seed->proto, seed->body)
                                            : 0;
}

/* ---- the numbering ---- */

static const struct {
    segment_fn change;
    size_t n;
    size_t (*count)(const hostile_seed *seed); /* NULL: n */
    bool also_once;
} segments[] = {
    {change_status, TK_ARRAY_LEN(statuses), NULL, true},
    {change_type, TK_ARRAY_LEN(types), NULL, false},
    {change_header, TK_ARRAY_LEN(headers), NULL, true},
    {change_body, TK_ARRAY_LEN(bodies), NULL, true},
    {change_flow, TK_ARRAY_LEN(flows), NULL, true},
    {cut_body, CUTS, NULL, false},
    {scramble, SCRAMBLES, NULL, false},
    {change_field, 0, count_fields, false},
    {make_newer, 0, count_newer, false}, /* the last one: hostile_mutate_newer */
};

static size_t segment_size(size_t i, const hostile_seed *seed)
{
    size_t n = segments[i].count != NULL ? segments[i].count(seed) : segments[i].n;
    return segments[i].also_once ? 2 * n : n;
}

size_t hostile_mutate_count(const hostile_seed *seed)
{
    return hostile_mutate_newer(seed) + count_newer(seed);
}

size_t hostile_mutate_newer(const hostile_seed *seed)
{
    size_t n = 1;
    for (size_t i = 0; i + 1 < TK_ARRAY_LEN(segments); i++) {
        n += segment_size(i, seed);
    }
    return n;
}

static void wrap(tk_buf *body, hostile_wrap how)
{
    tk_buf inside = *body;
    if (how == HOSTILE_BARE) {
        return;
    }
    tk_buf_init(body, BODY_MAX_BYTES);
    if (how == HOSTILE_EVENT) {
        tk_buf_puts(body, "data: ");
        tk_buf_put(body, inside.p, inside.n);
        tk_buf_puts(body,
                    "\n\ndata: {\"finish_reason\":\"stop\",\"total_tokens\":1}\n\n");
    } else {
        tk_buf_puts(body, "{\"jwt\":\"eyJhbGciOiJub25lIn0.");
        textfix_put_base64_url(body, inside.p, inside.n);
        tk_buf_puts(body, ".c2lnbg\"}");
    }
    tk_buf_dispose(&inside);
}

static void change(hostile_answer *out, const hostile_seed *seed, size_t k)
{
    if (k-- == 0) {
        out->is_readable = true;
        return;
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(segments); i++) {
        size_t size = segment_size(i, seed);
        if (k >= size) {
            k -= size;
            continue;
        }
        if (segments[i].also_once) {
            out->is_once = k >= size / 2;
            k %= size / 2;
        }
        segments[i].change(out, seed, k);
        return;
    }
}

void hostile_mutate(hostile_answer *out, const hostile_seed *seed, size_t k)
{
    *out = (hostile_answer){.status = seed->status,
                            .type = seed->type,
                            .newer = {.change = NEWER_CHANGES},
                            .what = "as recorded"};
    tk_buf_init(&out->body, BODY_MAX_BYTES);
    tk_buf_put(&out->body, seed->body.p, seed->body.n);
    change(out, seed, k);
    wrap(&out->body, seed->wrap);
}

void hostile_answer_dispose(hostile_answer *answer)
{
    tk_buf_dispose(&answer->body);
}
