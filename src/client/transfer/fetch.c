/* Reads one stream after the other and decides after each failure whether to ask for
 * the rest. */
#include "client/transfer/fetch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/base64.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "client/transfer/body_stream.h"
#include "http/retry.h"
#include "wire/wire_error.h"

#define URL_MAX_BYTES  (64 * TK_KIB)
#define TICK_MS        200
#define DELAY_MAX_MS   10000
#define RELOCATE_MAX   3 /* URLs in a row that gave no byte */
#define ETAG_BYTES     256
#define USEFUL_BYTES   1024 /* a request that brings less is not followed at once */
#define SHA_HEX_DIGITS 64

struct tk_fetch {
    tk_fetch_options options;
    tk_buf url;
    int64_t expires_us;
    tk_body_stream *stream; /* NULL: none open */
    uint64_t received;      /* handed out */
    uint64_t skip;          /* bytes of this answer that were handed out before */
    int64_t total;          /* -1: not known */
    bool resumable;         /* bytes are counted as the server counts them */
    bool ended, changed;
    bool lost; /* its URL could not be found out */
    int failures, relocations, connections;
    tk_retry_pace pace; /* of all requests, those for its URL included */
    uint64_t brought;   /* bytes of the current request that were new */
    int64_t due_ms;     /* monotonic: the deadline of the handle's context, for all tries
                     * together; TK_FOREVER: none */
    char etag[ETAG_BYTES];            /* strong, or "" */
    char sha256[TK_SHA256_HEX_BYTES]; /* expected, or "" */
    tk_sha256 *sha;
};

/* ---- what the server says about the file ---- */

static tinkc_code changed(tk_fetch *fetch, tk_err *err)
{
    fetch->changed = true;
    return tk_err_set(err, TINKC_E_CONNECTION,
                      "the file at the server changed during the download");
}

static void put_hex(char out[TK_SHA256_HEX_BYTES], const unsigned char *bytes)
{
    for (size_t i = 0; i < SHA_HEX_DIGITS / 2; i++) {
        (void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    }
}

/* "sha-256=<base64>", also as a structured field (":<base64>:"), or the bare base64. */
static void read_digest(tk_fetch *fetch, const char *value, const char *label)
{
    unsigned char bytes[48];
    const char *at = value;
    if (value == NULL || fetch->sha256[0] != '\0') {
        return;
    }
    if (label != NULL) {
        size_t n = strlen(label);
        while (*at != '\0' && strncasecmp(at, label, n) != 0) {
            at++;
        }
        at += *at != '\0' ? n : 0;
    }
    at += *at == ':' ? 1 : 0;
    tk_str text = {at, strcspn(at, ":,; ")};
    if (text.n == 44 && tk_base64_decode(bytes, text, NULL) == TINKC_OK) {
        put_hex(fetch->sha256, bytes);
    }
}

static void read_digests(tk_fetch *fetch, const tinkc_raw_response *head)
{
    read_digest(fetch, tinkc_raw_response_header(head, "repr-digest"), "sha-256=");
    read_digest(fetch, tinkc_raw_response_header(head, "digest"), "sha-256=");
    read_digest(fetch, tinkc_raw_response_header(head, "x-amz-checksum-sha256"), NULL);
}

static bool read_number(const char *text, int64_t *out)
{
    return text != NULL && tk_str_to_i64(tk_str_of(text), out) && *out >= 0;
}

/* "bytes 5-9/10"; the total may be "*". */
static bool read_range(const char *text, int64_t *from, int64_t *total)
{
    tk_str rest = tk_str_of(text);
    if (!tk_str_has_prefix(rest, "bytes ")) {
        return false;
    }
    rest.p += 6;
    rest.n -= 6;
    tk_str first = tk_str_cut(&rest, '-');
    (void)tk_str_cut(&rest, '/');
    *total = -1;
    return tk_str_to_i64(first, from) && *from >= 0 &&
           (tk_str_is(rest, "*") || tk_str_to_i64(rest, total));
}

/* Is this still the file that we began with? Remembers what the server says the first
 * time. */
static tinkc_code compare(tk_fetch *fetch, const char *etag, int64_t total, tk_err *err)
{
    bool strong = etag != NULL && etag[0] == '"' && strlen(etag) < ETAG_BYTES;
    if (fetch->received > 0 &&
        ((strong && fetch->etag[0] != '\0' && strcmp(etag, fetch->etag) != 0) ||
         (total >= 0 && fetch->total >= 0 && total != fetch->total))) {
        return changed(fetch, err);
    }
    if (strong) {
        (void)snprintf(fetch->etag, sizeof(fetch->etag), "%s", etag);
    }
    fetch->total = total >= 0 || fetch->received == 0 ? total : fetch->total;
    return TINKC_OK;
}

static tinkc_code read_head(tk_fetch *fetch, const tinkc_raw_response *head, tk_err *err)
{
    int64_t from = 0, total = -1;
    const char *encoding = tinkc_raw_response_header(head, "content-encoding");
    fetch->resumable = encoding == NULL || strcasecmp(encoding, "identity") == 0;
    if (tinkc_raw_response_status(head) == 206) {
        if (!read_range(tinkc_raw_response_header(head, "content-range"), &from,
                        &total) ||
            (uint64_t)from > fetch->received) {
            return tk_err_set(err, TINKC_E_DECODE,
                              "the server sent another range than it was asked for");
        }
    } else if (fetch->resumable &&
               !read_number(tinkc_raw_response_header(head, "content-length"), &total)) {
        total = -1;
    }
    fetch->skip = fetch->received - (uint64_t)from;
    if (fetch->received == 0 && fetch->options.sha256 == NULL && fetch->resumable) {
        fetch->sha256[0] = '\0';
        read_digests(fetch, head);
    }
    return compare(fetch, tinkc_raw_response_header(head, "etag"), total, err);
}

/* ---- one request ---- */

static int64_t now_ms(const tk_handle *handle)
{
    return tk_clock_mono_ms(tk_core_clock(handle->core));
}

static tinkc_code tick(tk_fetch *fetch, tk_err *err)
{
    if (fetch->options.tick != NULL && !fetch->options.tick(fetch->options.user)) {
        return tk_err_set(err, TINKC_E_CANCELLED, "stopped by the callback");
    }
    if (fetch->due_ms != TK_FOREVER && now_ms(fetch->options.handle) >= fetch->due_ms) {
        return tk_err_set(err, TINKC_E_TIMEOUT,
                          "the transfer was not done before its deadline");
    }
    return TINKC_OK;
}

/* A wait in slices, between which the caller may give up. */
static tinkc_code wait_ms(tk_fetch *fetch, int64_t left, tk_err *err)
{
    tinkc_code code = tick(fetch, err);
    while (code == TINKC_OK && left > 0) {
        tk_body_stream_pause(fetch->options.handle, TK_MIN(left, (int64_t)TICK_MS));
        left -= TICK_MS;
        code = tick(fetch, err);
    }
    return code;
}

/* A server that sends a byte per request, or a new URL each time, is not hurried. */
static tinkc_code keep_pace(tk_fetch *fetch, tk_err *err)
{
    int64_t now = now_ms(fetch->options.handle);
    int64_t left = tk_retry_pace_left_ms(&fetch->pace, now);
    tinkc_code code = left > 0 ? wait_ms(fetch, left, err) : TINKC_OK;
    tk_retry_pace_note(&fetch->pace, TK_RETRY_EVERY_MS, now + left);
    return code;
}

static tinkc_code locate(tk_fetch *fetch, tk_err *err)
{
    int64_t now = tk_clock_wall_us(tk_core_clock(fetch->options.handle->core));
    if (fetch->url.n > 0 && (now < fetch->expires_us || !fetch->options.can_relocate)) {
        return TINKC_OK;
    }
    tk_buf_clear(&fetch->url);
    tinkc_code code =
        fetch->options.locate(fetch->options.user, &fetch->url, &fetch->expires_us, err);
    if (fetch->options.can_relocate) {
        tk_retry_pace_note(&fetch->pace, TK_RETRY_EVERY_MS,
                           now_ms(fetch->options.handle));
    }
    if (code == TINKC_OK && tk_buf_cstr(&fetch->url) == NULL) {
        code = tk_buf_status(&fetch->url, err);
    }
    if (code == TINKC_OK && fetch->expires_us <= now) {
        fetch->expires_us = INT64_MAX; /* its clock is not ours: the answer will tell */
    }
    return code;
}

static tinkc_code send_request(tk_fetch *fetch, tk_err *err)
{
    char range[64];
    tk_handle *handle = fetch->options.handle;
    tinkc_pair headers[5] = {{"Accept", "*/*"}, {"Accept-Encoding", "identity"}};
    tk_request_spec spec = {.path = tk_buf_cstr(&fetch->url),
                            .peer = fetch->options.from_service ? TK_REQUEST_OURS
                                                                : TK_REQUEST_ANONYMOUS,
                            .is_streamed = true,
                            .headers = headers,
                            .headers_n = 2};
    if (fetch->received > 0 && fetch->resumable) {
        (void)snprintf(range, sizeof(range), "bytes=%" PRIu64 "-", fetch->received);
        headers[spec.headers_n++] = (tinkc_pair){"Range", range};
    }
    if (spec.headers_n == 3 && fetch->etag[0] != '\0') {
        headers[spec.headers_n++] = (tinkc_pair){"If-Range", fetch->etag};
    }
    if (fetch->options.authorization != NULL) {
        headers[spec.headers_n++] =
            (tinkc_pair){"Authorization", fetch->options.authorization};
    }
    tk_request own = {0};
    tinkc_code code = tk_request_init(&own, &spec, tk_core_base_url(handle->core), err);
    if (code == TINKC_OK) {
        code = tk_body_stream_open(&fetch->stream, handle, &own, err);
    }
    tk_request_dispose(&own);
    fetch->brought = 0;
    fetch->connections++;
    return code;
}

static tinkc_code open_stream(tk_fetch *fetch, tk_err *err)
{
    const tinkc_raw_response *head = NULL;
    tinkc_code code = keep_pace(fetch, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = locate(fetch, err);
    fetch->lost = code != TINKC_OK;
    if (code == TINKC_OK) {
        code = send_request(fetch, err);
    }
    while (code == TINKC_OK && head == NULL) {
        tk_err wait = TK_ERR_INIT;
        code = tk_body_stream_head(&head, fetch->stream, TICK_MS, &wait);
        if (code == TINKC_E_TIMEOUT && wait.http_status == 0 &&
            !tk_body_stream_is_over(fetch->stream)) {
            code = tick(fetch, err);
        } else if (code != TINKC_OK) {
            *err = wait;
        }
    }
    return code == TINKC_OK ? read_head(fetch, head, err) : code;
}

/* ---- after a failure ---- */

/* What a storage answers when a signed URL is no longer good. */
static bool is_expiry(const tk_err *err)
{
    switch (err->http_status) {
    case 400:
    case 401:
    case 403:
    case 404:
    case 410:
        return true;
    default:
        return false;
    }
}

static bool is_transient(const tk_err *err)
{
    tk_fault fault = {.code = err->code, .status = err->http_status};
    return tk_wire_error_rule(&fault)->retry == TK_RETRY_SAME;
}

int64_t tk_fetch_delay_ms(int64_t retry_ms, int failures, int64_t hint_ms)
{
    int doublings = TK_MIN(failures - 1, 10);
    int64_t delay = TK_MIN(retry_ms << doublings, (int64_t)DELAY_MAX_MS);
    return TK_MAX(delay, tk_retry_after(delay, hint_ms));
}

static tinkc_code wait_before_retry(tk_fetch *fetch, const tk_err *why, tk_err *err)
{
    int64_t left =
        tk_fetch_delay_ms(fetch->options.retry_ms, fetch->failures, why->retry_after_ms);
    return wait_ms(fetch, left, err);
}

/* TINKC_OK: another try; else what it failed with. */
static tinkc_code recover(tk_fetch *fetch, const tk_err *why, tk_err *err)
{
    tk_body_stream_close(&fetch->stream);
    if (fetch->changed || fetch->lost || why->code == TINKC_E_CANCELLED) {
        *err = *why;
        return why->code;
    }
    if (is_expiry(why) && fetch->options.can_relocate &&
        fetch->relocations < RELOCATE_MAX) {
        fetch->relocations++;
        tk_buf_clear(&fetch->url);
        return tick(fetch, err);
    }
    if (is_transient(why) && fetch->failures < fetch->options.max_failures) {
        fetch->failures++;
        return wait_before_retry(fetch, why, err);
    }
    *err = *why;
    return why->code;
}

/* ---- reading ---- */

static tinkc_code finish(tk_fetch *fetch, tk_err *err)
{
    char got[TK_SHA256_HEX_BYTES];
    fetch->ended = true;
    tk_body_stream_close(&fetch->stream);
    if (fetch->sha256[0] == '\0') {
        return TINKC_OK;
    }
    tinkc_code code = tk_sha256_finish(got, fetch->sha, err);
    if (code == TINKC_OK && strcasecmp(got, fetch->sha256) != 0) {
        code = tk_err_set(err, TINKC_E_DECODE,
                          "the checksum is %.16s..., it should be %.16s...", got,
                          fetch->sha256);
    }
    return code;
}

/* Bytes that came; those that had been handed out before are dropped. */
static tinkc_code keep(size_t *n, tk_fetch *fetch, char *p, size_t got, tk_err *err)
{
    size_t old = (size_t)TK_MIN(fetch->skip, (uint64_t)got);
    fetch->skip -= old;
    memmove(p, p + old, got - old);
    *n = got - old;
    if (*n == 0) {
        return TINKC_OK;
    }
    fetch->received += *n;
    fetch->brought += *n;
    if (fetch->brought >= USEFUL_BYTES) {
        fetch->pace = (tk_retry_pace){0}; /* the next request goes out at once */
    }
    fetch->failures = 0;
    fetch->relocations = 0;
    if (fetch->total >= 0 && fetch->received > (uint64_t)fetch->total) {
        return tk_err_set(err, TINKC_E_DECODE, "more bytes arrived than were announced");
    }
    return tk_sha256_update(fetch->sha, p, *n, err);
}

/* One step: *n > 0 or fetch->ended when there is something to say. */
static tinkc_code step(size_t *n, tk_fetch *fetch, char *p, size_t size, tk_err *err)
{
    size_t got = 0;
    if (fetch->stream == NULL) {
        return open_stream(fetch, err);
    }
    tinkc_code code = tk_body_stream_read(&got, fetch->stream, p, size, TICK_MS, err);
    if (code == TINKC_E_TIMEOUT && !tk_body_stream_is_over(fetch->stream)) {
        tk_err_clear(err);
        return tick(fetch, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    if (got > 0) {
        return keep(n, fetch, p, got, err);
    }
    if (fetch->skip > 0 ||
        (fetch->total >= 0 && fetch->received < (uint64_t)fetch->total)) {
        return tk_err_set(err, TINKC_E_CONNECTION, "the transfer ended too early");
    }
    return finish(fetch, err);
}

tinkc_code tk_fetch_feed(tk_fetch *fetch, const char *p, size_t n, tk_err *err)
{
    fetch->received += n;
    return tk_sha256_update(fetch->sha, p, n, err);
}

tinkc_code tk_fetch_read(size_t *n, tk_fetch *fetch, char *p, size_t size, tk_err *err)
{
    *n = 0;
    while (!fetch->ended && *n == 0) {
        tk_err why = TK_ERR_INIT;
        tinkc_code code = step(n, fetch, p, size, &why);
        if (code == TINKC_OK) {
            continue;
        }
        if (fetch->ended || *n > 0) {
            *err = why; /* a retry would not help */
            return code;
        }
        code = recover(fetch, &why, err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    return *n > 0 ? tick(fetch, err) : TINKC_OK;
}

/* ---- life ---- */

static bool is_digest(const char *text)
{
    return strlen(text) == SHA_HEX_DIGITS &&
           strspn(text, "0123456789abcdefABCDEF") == SHA_HEX_DIGITS;
}

tinkc_code tk_fetch_new(tk_fetch **out, const tk_fetch_options *options, tk_err *err)
{
    if (options->sha256 != NULL && !is_digest(options->sha256)) {
        return tk_err_set(err, TINKC_E_INVALID, "sha256 is not 64 hex digits");
    }
    tk_fetch *fetch = tk_zalloc(sizeof(*fetch));
    if (fetch == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_sha256_new(&fetch->sha, err);
    if (code != TINKC_OK) {
        tk_free(fetch);
        return code;
    }
    fetch->options = *options;
    fetch->total = -1;
    fetch->resumable = true;
    const tinkc_context *context = tk_context_public(options->handle->context);
    fetch->due_ms = context != NULL && context->deadline_ms > 0
                        ? tk_clock_after(now_ms(options->handle), context->deadline_ms)
                        : TK_FOREVER;
    tk_buf_init(&fetch->url, URL_MAX_BYTES);
    if (options->sha256 != NULL) {
        (void)snprintf(fetch->sha256, sizeof(fetch->sha256), "%s", options->sha256);
    }
    *out = fetch;
    return TINKC_OK;
}

void tk_fetch_free(tk_fetch **fetch_ref)
{
    tk_fetch *fetch = *fetch_ref;
    *fetch_ref = NULL;
    if (fetch != NULL) {
        tk_body_stream_close(&fetch->stream);
        tk_sha256_free(fetch->sha);
        tk_buf_dispose(&fetch->url);
        tk_free(fetch);
    }
}

uint64_t tk_fetch_received(const tk_fetch *fetch)
{
    return fetch->received;
}

int64_t tk_fetch_total(const tk_fetch *fetch)
{
    return fetch->total;
}

int tk_fetch_connections(const tk_fetch *fetch)
{
    return fetch->connections;
}

bool tk_fetch_has_changed(const tk_fetch *fetch)
{
    return fetch->changed;
}
