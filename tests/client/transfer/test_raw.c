/* Raw requests on the scripted peer: raw answers, streams, forms.
 * Links: peer */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tinkc/raw.h>

#include "base/file.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "client/call/endpoint.h"
#include "client/transfer/multipart.h"
#include "support/failmem.h"
#include "support/fakeapi.h"
#include "support/servicefix.h"

typedef struct fix {
    fakeapi *api;
    tinkc_service *service;
} fix;

static fix begin(void)
{
    fakeapi *api = fakeapi_start();
    fakeapi_default(api, "POST", "/api/v1/client/*", &fakeapi_json("{}"));
    return (fix){api, servicefix_open(api, NULL)};
}

static void end(fix *f)
{
    assert_int_equal(fakeapi_count(f->api, "POST", "/api/v1/create_session"), 0);
    tinkc_service_close(&f->service);
    fakeapi_stop(&f->api);
}

static tinkc_raw_request request_to(const char *method, const char *path)
{
    tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
    request.method = method;
    request.path = path;
    return request;
}

/* A-118, M-034, M-035: every method; query, headers and body as given; ours are
 * replaced. */
static void test_raw_methods(void **unused)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    static const tinkc_pair query[] = {{"a b", "c&d"}, {"e", ""}};
    static const tinkc_pair headers[] = {{"User-Agent", "mine"}, {"X-More", "1"}};
    static const char body[] = "a\0b";
    fix f = begin();
    for (size_t i = 0; i < TK_ARRAY_LEN(methods); i++) {
        tinkc_raw_response *response = NULL;
        tinkc_raw_request request = request_to(methods[i], "/api/v1/x/{}");
        size_t n = 0;
        fakeapi_reply(f.api, methods[i], "/api/v1/x/{}",
                      &(fakeapi_step){.status = 202,
                                      .headers = "X-Test: yes\r\n",
                                      .body = body,
                                      .body_n = 3,
                                      .content_type = "application/octet-stream"});
        request.query = query;
        request.query_n = 2;
        request.headers = headers;
        request.headers_n = 2;
        if (i > 0) {
            request.body = body;
            request.body_n = 3;
            request.content_type = "text/plain";
        }
        assert_int_equal(tinkc_raw_send_wait(&response, f.service, &request, NULL),
                         TINKC_OK);
        assert_int_equal(tinkc_raw_response_status(response), 202);
        assert_string_equal(tinkc_raw_response_header(response, "x-TEST"), "yes");
        assert_null(tinkc_raw_response_header(response, "x-other"));
        assert_memory_equal(tinkc_raw_response_body(&n, response), body, 3);
        assert_int_equal(n, 3);
        tinkc_raw_response_free(&response);
        const fakeapi_request *seen = fakeapi_nth(f.api, methods[i], "/api/v1/x/*", 0);
        assert_string_equal(seen->query, "a%20b=c%26d&e=");
        assert_string_equal(fakeapi_header(seen, "user-agent"), "mine");
        assert_int_equal(fakeapi_header_count(seen, "user-agent"), 1);
        assert_string_equal(fakeapi_header(seen, "x-more"), "1");
        assert_string_equal(fakeapi_header(seen, "x-api-key"), "tml-test-key");
        assert_string_equal(fakeapi_header(seen, "x-stainless-raw-response"), "raw");
        assert_int_equal(seen->body_n, i > 0 ? 3 : 0);
        if (i > 0) {
            assert_string_equal(fakeapi_header(seen, "content-type"), "text/plain");
        }
    }
    end(&f);
}

/* a status is an error, or the answer when the caller asks for it; the caller
 * sets the retries. */
static void test_raw_status(void **unused)
{
    fix f = begin();
    tinkc_raw_response *response = NULL;
    tinkc_error *error = NULL;
    tinkc_raw_request request = request_to("GET", "/x");
    fakeapi_default(f.api, "GET", "/x", &fakeapi_detail(500, "broken"));
    request.max_retries = 0;
    assert_int_equal(tinkc_raw_send_wait(&response, f.service, &request, &error),
                     TINKC_E_SERVER);
    assert_int_equal(tinkc_error_http_status(error), 500);
    tinkc_error_free(&error);
    request.any_status = true;
    assert_int_equal(tinkc_raw_send_wait(&response, f.service, &request, NULL), TINKC_OK);
    assert_int_equal(tinkc_raw_response_status(response), 500);
    assert_string_equal(tinkc_raw_response_body(NULL, response),
                        "{\"detail\":\"broken\"}");
    tinkc_raw_response_free(&response);
    assert_int_equal(fakeapi_count(f.api, "GET", "/x"), 2);
    end(&f);
}

/* Another server gets neither the key nor the configured headers, and our own is not
 * asked for anything. */
static void test_raw_foreign_server(void **unused)
{
    fakeapi *other = fakeapi_start();
    fakeapi *api = fakeapi_start();
    char url[128];
    fakeapi_default(api, "POST", "/api/v1/client/*", &fakeapi_json("{}"));
    fakeapi_default(other, "GET", "/x", &fakeapi_json("{}"));
    fakeapi_default(api, "GET", "/x", &fakeapi_json("{}"));
    tinkc_config *config = servicefix_config(api, NULL);
    assert_int_equal(tinkc_config_set_header(config, "X-Secret", "s", NULL), TINKC_OK);
    tinkc_service *service = NULL;
    assert_int_equal(tinkc_service_open(&service, config, NULL), TINKC_OK);
    tinkc_config_free(&config);
    fakeapi *const peers[] = {other, api};
    for (size_t i = 0; i < 2; i++) {
        tinkc_raw_response *response = NULL;
        (void)snprintf(url, sizeof(url), "%s/x?y=1", fakeapi_url(peers[i]));
        tinkc_raw_request request = request_to("GET", url);
        assert_int_equal(tinkc_raw_send_wait(&response, service, &request, NULL),
                         TINKC_OK);
        tinkc_raw_response_free(&response);
        const fakeapi_request *seen = fakeapi_nth(peers[i], "GET", "/x", 0);
        assert_string_equal(seen->query, "y=1");
        assert_int_equal(fakeapi_header_count(seen, "x-api-key"), i);
        assert_int_equal(fakeapi_header_count(seen, "x-secret"), i);
        assert_int_equal(fakeapi_header_count(seen, "x-stainless-os"), i);
        assert_int_equal(fakeapi_header_count(seen, "user-agent"), 1);
        assert_true(i > 0 || fakeapi_total(api) == 0);
    }
    tinkc_service_close(&service);
    fakeapi_stop(&api);
    fakeapi_stop(&other);
}

static void test_raw_refuses(void **unused)
{
    static const tinkc_pair bad[] = {
        {"a\r\nb", "c"}, {"a", "b\nc"}, {"", "x"}, {"a: b", "c"}};
    static const char *const paths[] = {NULL, "", "x", "/a?b", "/a#b", "/a b", "ftp://x"};
    fix f = begin();
    tinkc_raw_response *response = NULL;
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        tinkc_raw_request request = request_to("GET", "/x");
        request.headers = &bad[i];
        request.headers_n = 1;
        assert_int_equal(tinkc_raw_send_wait(&response, f.service, &request, NULL),
                         TINKC_E_INVALID);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(paths); i++) {
        tinkc_raw_request request = request_to("GET", paths[i]);
        assert_int_equal(tinkc_raw_send_wait(&response, f.service, &request, NULL),
                         TINKC_E_INVALID);
    }
    tinkc_raw_request request = request_to("BREW", "/x");
    assert_int_equal(tinkc_raw_send_wait(&response, f.service, &request, NULL),
                     TINKC_E_INVALID);
    request = request_to("GET", "/x");
    request.body = "x";
    request.body_n = 1;
    assert_int_equal(tinkc_raw_send_wait(&response, f.service, &request, NULL),
                     TINKC_E_INVALID);
    assert_int_equal(tinkc_raw_send_wait(&response, NULL, &request, NULL), TINKC_E_STATE);
    assert_int_equal(tinkc_raw_open(&(tinkc_raw_stream *){NULL}, NULL, &request, NULL),
                     TINKC_E_STATE);
    assert_null(response);
    assert_int_equal(fakeapi_total(f.api), 0);
    end(&f);
}

/* ---- streams ---- */

#define BIG ((size_t)100 * 1000 * 1000)

static char *make_big(char digest[TK_SHA256_HEX_BYTES])
{
    char *bytes = malloc(BIG);
    uint64_t state = 88172645463325252u;
    assert_non_null(bytes);
    for (size_t i = 0; i + 8 <= BIG; i += 8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(bytes + i, &state, 8);
    }
    assert_int_equal(tk_sha256_hex(digest, bytes, BIG, NULL), TINKC_OK);
    return bytes;
}

static void digest_file(char out[TK_SHA256_HEX_BYTES], const char *path)
{
    char piece[65536];
    tk_sha256 *sha = NULL;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(tk_sha256_new(&sha, NULL), TINKC_OK);
    for (size_t n; (n = fread(piece, 1, sizeof(piece), file)) > 0;) {
        assert_int_equal(tk_sha256_update(sha, piece, n, NULL), TINKC_OK);
    }
    assert_int_equal(tk_sha256_finish(out, sha, NULL), TINKC_OK);
    tk_sha256_free(sha);
    (void)fclose(file);
}

/* A-118, M-034: 100 MB with NULs arrive in the file as they were sent, through less
 * than 1 MB of ours. */
static void test_raw_save_large(void **unused)
{
    char sent[TK_SHA256_HEX_BYTES], got[TK_SHA256_HEX_BYTES];
    char folder[] = "/tmp/tinkc-raw-XXXXXX", file[64];
    uint64_t written = 0;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(file, sizeof(file), "%s/big", folder);
    char *bytes = make_big(sent);
    failmem_start();
    fix f = begin();
    fakeapi_reply(f.api, "GET", "/big", &(fakeapi_step){.body = bytes, .body_n = BIG});
    free(bytes);
    tinkc_raw_request request = request_to("GET", "/big");
    assert_int_equal(tinkc_raw_save(&written, f.service, &request, file, NULL), TINKC_OK);
    assert_int_equal(written, BIG);
    assert_string_equal(
        fakeapi_header(fakeapi_nth(f.api, "GET", "/big", 0), "x-stainless-raw-response"),
        "stream");
    assert_true(failmem_peak_bytes() < 1000000);
    end(&f);
    assert_int_equal(failmem_stop(), 0);
    digest_file(got, file);
    assert_string_equal(got, sent);
    (void)unlink(file);
    (void)rmdir(folder);
}

/* a body that is cut leaves no file; so does an error. */
static void test_raw_save_cut(void **unused)
{
    char folder[] = "/tmp/tinkc-raw-XXXXXX", file[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(file, sizeof(file), "%s/x", folder);
    fix f = begin();
    tinkc_error *error = NULL;
    tinkc_raw_request request = request_to("GET", "/x");
    request.max_retries = 0;
    fakeapi_reply(
        f.api, "GET", "/x",
        &(fakeapi_step){.body = "0123456789", .fault = FAKEAPI_CUT_BODY, .cut = 4});
    fakeapi_reply(f.api, "GET", "/x", &fakeapi_detail(404, "none"));
    assert_int_equal(tinkc_raw_save(NULL, f.service, &request, file, &error),
                     TINKC_E_CONNECTION);
    tinkc_error_free(&error);
    assert_int_equal(tinkc_raw_save(NULL, f.service, &request, file, NULL),
                     TINKC_E_NOT_FOUND);
    assert_int_equal(rmdir(folder), 0); /* it is empty */
    end(&f);
}

typedef struct inside {
    tinkc_raw_stream *stream;
    tinkc_code code;
} inside;

static void read_inside(tinkc_future *future, void *user)
{
    inside *at = user;
    char piece[4];
    size_t n = 0;
    at->code = tinkc_raw_stream_read(piece, sizeof(piece), &n, at->stream, 1, NULL);
}

/* Returns what a callback gets that waits for its own loop; the gate opens after the
 * callback is set. */
static tinkc_code read_on_the_loop(tinkc_service *service, tinkc_raw_stream *stream,
                                   fakeapi_gate *gate)
{
    inside at = {.stream = stream};
    tinkc_raw_request request = request_to("GET", "/y");
    tinkc_future *future = tinkc_raw_send(service, &request);
    assert_int_equal(tinkc_future_on_done(future, read_inside, &at, NULL), TINKC_OK);
    fakeapi_gate_open(gate);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
    tinkc_future_free(&future);
    /* the callback has run when another operation has */
    future = tinkc_raw_send(service, &request);
    assert_int_equal(tinkc_future_wait(future, TINKC_FOREVER), TINKC_OK);
    tinkc_future_free(&future);
    return at.code;
}

/* pieces arrive while the server still sends; closing in the middle ends it. */
static void test_raw_stream_pull(void **unused)
{
    static const char *const loops[] = {"thread", "manual"};
    for (size_t i = 0; i < TK_ARRAY_LEN(loops); i++) {
        const char *options[] = {"loop", loops[i], NULL};
        fakeapi *api = fakeapi_start();
        fakeapi_default(api, "POST", "/api/v1/client/*", &fakeapi_json("{}"));
        tinkc_service *service = servicefix_open(api, options);
        fakeapi_gate *gate = fakeapi_gate_new(api), *later = fakeapi_gate_new(api);
        tinkc_raw_stream *stream = NULL;
        char piece[16];
        size_t n = 0;
        fakeapi_reply(api, "GET", "/x",
                      &(fakeapi_step){.body = "abcdefgh", .drip = 4, .drip_gate = gate});
        tinkc_raw_request request = request_to("GET", "/x");
        fakeapi_gate_let(gate, 1);
        assert_int_equal(tinkc_raw_open(&stream, service, &request, NULL), TINKC_OK);
        assert_int_equal(tinkc_raw_response_status(tinkc_raw_stream_head(stream)), 200);
        assert_int_equal(
            tinkc_raw_stream_read(piece, sizeof(piece), &n, stream, TINKC_FOREVER, NULL),
            TINKC_OK);
        assert_int_equal(n, 4);
        assert_memory_equal(piece, "abcd", 4);
        assert_int_equal(tinkc_raw_stream_read(piece, sizeof(piece), &n, stream, 1, NULL),
                         TINKC_E_TIMEOUT);
        fakeapi_step held = fakeapi_json("{}");
        held.gate = later;
        fakeapi_reply(api, "GET", "/y", &held);
        fakeapi_reply(api, "GET", "/y", &held);
        assert_int_equal(read_on_the_loop(service, stream, later), TINKC_E_STATE);
        tinkc_raw_stream_close(&stream);
        assert_null(stream);
        tinkc_service_close(&service);
        assert_true(fakeapi_wait_connections(api, 0));
        fakeapi_stop(&api);
    }
}

/* Closing the service ends a reader that waits. */
static void test_raw_stream_service_closes(void **unused)
{
    fix f = begin();
    fakeapi_gate *gate = fakeapi_gate_new(f.api);
    tinkc_raw_stream *stream = NULL;
    char piece[16];
    size_t n = 0;
    fakeapi_reply(f.api, "GET", "/x",
                  &(fakeapi_step){.body = "abcdefgh", .drip = 4, .drip_gate = gate});
    fakeapi_gate_let(gate, 1);
    tinkc_raw_request request = request_to("GET", "/x");
    assert_int_equal(tinkc_raw_open(&stream, f.service, &request, NULL), TINKC_OK);
    tinkc_service_close(&f.service);
    assert_int_equal(
        tinkc_raw_stream_read(piece, sizeof(piece), &n, stream, TINKC_FOREVER, NULL),
        TINKC_OK); /* what had come */
    assert_int_equal(
        tinkc_raw_stream_read(piece, sizeof(piece), &n, stream, TINKC_FOREVER, NULL),
        TINKC_E_CANCELLED);
    tinkc_raw_stream_close(&stream);
    fakeapi_stop(&f.api);
}

/* ---- forms ---- */

static size_t read_letters(char *out, size_t n, uint64_t offset, void *user)
{
    const size_t *most = user; /* at a time */
    n = TK_MIN(n, *most);
    for (size_t i = 0; i < n; i++) {
        out[i] = (char)('a' + (offset + i) % 26);
    }
    return n;
}

/* A parser independent of the library's: gives the nth part's head and content. */
static bool parse_part(const fakeapi_request *seen, size_t nth, tk_str *head,
                       tk_str *body)
{
    const char *boundary = strstr(fakeapi_header(seen, "content-type"), "boundary=");
    char mark[128];
    assert_non_null(boundary);
    int mark_n = snprintf(mark, sizeof(mark), "--%s", boundary + strlen("boundary="));
    const char *at = seen->body, *stop = seen->body + seen->body_n;
    assert_memory_equal(at, mark, (size_t)mark_n);
    for (size_t i = 0;; i++) {
        at += mark_n;
        if (memcmp(at, "--\r\n", 4) == 0) {
            assert_ptr_equal(at + 4, stop);
            return false;
        }
        assert_memory_equal(at, "\r\n", 2);
        const char *blank = memmem(at, (size_t)(stop - at), "\r\n\r\n", 4);
        char delimiter[140];
        int delimiter_n = snprintf(delimiter, sizeof(delimiter), "\r\n%s", mark);
        const char *next =
            memmem(blank + 4, (size_t)(stop - blank - 4), delimiter, (size_t)delimiter_n);
        assert_non_null(next);
        if (i == nth) {
            *head = (tk_str){at + 2, (size_t)(blank - at - 2)};
            *body = (tk_str){blank + 4, (size_t)(next - blank - 4)};
            return true;
        }
        at = next + 2;
    }
}

/* A-119, M-036: from memory, a file and a callback; binary; names that would break a
 * header. */
static void test_raw_form(void **unused)
{
    static const char binary[] = "\0\r\n--x\377";
    char folder[] = "/tmp/tinkc-raw-XXXXXX", file[64];
    size_t most = 7;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(file, sizeof(file), "%s/in.bin", folder);
    assert_int_equal(tk_file_replace(file, binary, 8, 0600, NULL), TINKC_OK);
    tinkc_part parts[] = {
        {.name = "field", .data = "value", .data_n = 5},
        {.name = "a\"b\r\nX: y", .filename = "c\nd", .data = binary, .data_n = 8},
        {.name = "file", .path = file, .content_type = "text/x"},
        {.name = "made",
         .filename = "m",
         .read = read_letters,
         .read_user = &most,
         .read_n = 100000},
        {.name = "empty", .data = "", .data_n = 0},
    };
    fix f = begin();
    tinkc_raw_response *response = NULL;
    tinkc_raw_request request = request_to("POST", "/up");
    request.parts = parts;
    request.parts_n = TK_ARRAY_LEN(parts);
    fakeapi_reply(f.api, "POST", "/up", &fakeapi_detail(503, "again"));
    fakeapi_reply(f.api, "POST", "/up", &fakeapi_json("{}"));
    assert_int_equal(tinkc_raw_send_wait(&response, f.service, &request, NULL), TINKC_OK);
    tinkc_raw_response_free(&response);
    for (size_t i = 0; i < 2; i++) { /* the repeated one is the same */
        const fakeapi_request *seen = fakeapi_nth(f.api, "POST", "/up", i);
        tk_str head, body;
        assert_true(parse_part(seen, 0, &head, &body));
        assert_true(tk_str_is(head, "Content-Disposition: form-data; name=\"field\""));
        assert_true(tk_str_is(body, "value"));
        assert_true(parse_part(seen, 1, &head, &body));
        assert_true(tk_str_is(head, "Content-Disposition: form-data; "
                                    "name=\"a%22b%0D%0AX: y\"; filename=\"c%0Ad\"\r\n"
                                    "Content-Type: application/octet-stream"));
        assert_int_equal(body.n, 8);
        assert_memory_equal(body.p, binary, 8);
        assert_true(parse_part(seen, 2, &head, &body));
        assert_true(tk_str_is(head, "Content-Disposition: form-data; name=\"file\"; "
                                    "filename=\"in.bin\"\r\nContent-Type: text/x"));
        assert_memory_equal(body.p, binary, 8);
        assert_true(parse_part(seen, 3, &head, &body));
        assert_int_equal(body.n, 100000);
        for (size_t at = 0; at < body.n; at++) {
            assert_int_equal(body.p[at], 'a' + (int)(at % 26));
        }
        assert_true(parse_part(seen, 4, &head, &body));
        assert_int_equal(body.n, 0);
        assert_false(parse_part(seen, 5, &head, &body));
    }
    end(&f);
    (void)unlink(file);
    (void)rmdir(folder);
}

/* a form of no parts is still a form. */
static void test_raw_form_without_parts(void **unused)
{
    fix f = begin();
    tinkc_raw_response *response = NULL;
    tinkc_raw_request request = request_to("POST", "/up");
    request.multipart = true;
    fakeapi_reply(f.api, "POST", "/up", &fakeapi_json("{}"));
    assert_int_equal(tinkc_raw_send_wait(&response, f.service, &request, NULL), TINKC_OK);
    tinkc_raw_response_free(&response);
    const fakeapi_request *seen = fakeapi_nth(f.api, "POST", "/up", 0);
    tk_str head, body;
    assert_non_null(strstr(fakeapi_header(seen, "content-type"), "multipart/form-data"));
    assert_false(parse_part(seen, 0, &head, &body));
    end(&f);
}

/* every offset and every length gives the same bytes. */
static void test_raw_form_any_offset(void **unused)
{
    size_t most = 3;
    tinkc_part parts[] = {
        {.name = "a", .data = "12345", .data_n = 5},
        {.name = "b", .read = read_letters, .read_user = &most, .read_n = 11}};
    tk_multipart *form = NULL;
    assert_int_equal(tk_multipart_new(&form, parts, 2, "B", NULL), TINKC_OK);
    size_t size = (size_t)tk_multipart_size(form);
    char whole[512], piece[512];
    assert_int_equal(tk_multipart_read(form, 0, whole, sizeof(whole)), size);
    for (size_t at = 0; at < size; at++) {
        for (size_t n = 1; n <= size - at; n++) {
            assert_int_equal(tk_multipart_read(form, at, piece, n), n);
            assert_memory_equal(piece, whole + at, n);
        }
    }
    tk_multipart_free(&form);
    tinkc_part missing = {.name = "a", .path = "/nonexistent/x"};
    assert_int_equal(tk_multipart_new(&form, &missing, 1, "B", NULL), TINKC_E_IO);
    tinkc_part both = {.name = "a", .data = "x", .path = "y"};
    assert_int_equal(tk_multipart_new(&form, &both, 1, "B", NULL), TINKC_E_INVALID);
}

/* no endpoint of the service takes a form. */
static void test_raw_no_endpoint_needs_forms(void **unused)
{
    for (int i = 0; i < TK_EP_COUNT; i++) {
        const tk_endpoint *endpoint = tk_endpoint_at((tk_endpoint_id)i);
        assert_non_null(endpoint->path); /* none of the rows has a form's content type */
        assert_null(strstr(endpoint->name, "upload"));
    }
}

static bool sweep_once(void *user)
{
    fakeapi *api = fakeapi_start();
    fakeapi_default(api, "POST", "/api/v1/client/*", &fakeapi_json("{}"));
    fakeapi_default(api, "POST", "/up", &fakeapi_json("0123456789"));
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tinkc_raw_response *response = NULL;
    tinkc_raw_request request = request_to("POST", "/up");
    tinkc_part part = {.name = "a", .data = "x", .data_n = 1};
    request.parts = &part;
    request.parts_n = 1;
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", fakeapi_url(api), NULL) == TINKC_OK &&
              tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK &&
              tinkc_service_open(&service, config, NULL) == TINKC_OK &&
              tinkc_raw_send_wait(&response, service, &request, NULL) == TINKC_OK &&
              tinkc_raw_save(NULL, service, &request, user, NULL) == TINKC_OK;
    tinkc_raw_response_free(&response);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    fakeapi_stop(&api);
    return ok;
}

static void test_raw_allocation_sweep(void **unused)
{
    char folder[] = "/tmp/tinkc-raw-XXXXXX", file[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(file, sizeof(file), "%s/x", folder);
    assert_true(failmem_sweep(sweep_once, file, 3) > 30);
    (void)unlink(file);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_raw_methods),
        cmocka_unit_test(test_raw_status),
        cmocka_unit_test(test_raw_foreign_server),
        cmocka_unit_test(test_raw_refuses),
        cmocka_unit_test(test_raw_save_large),
        cmocka_unit_test(test_raw_save_cut),
        cmocka_unit_test(test_raw_stream_pull),
        cmocka_unit_test(test_raw_stream_service_closes),
        cmocka_unit_test(test_raw_form),
        cmocka_unit_test(test_raw_form_without_parts),
        cmocka_unit_test(test_raw_form_any_offset),
        cmocka_unit_test(test_raw_no_endpoint_needs_forms),
        cmocka_unit_test(test_raw_allocation_sweep),
    };
    return cmocka_run_group_tests_name("client/raw", tests, NULL, NULL);
}
