/* Requests for which the library has no function: any method and path, extra headers and
 * query, any body (also multipart/form-data that is read while it is sent). The answer is
 * given as it came: status, headers and bytes, collected or streamed.
 *
 * A request carries the service's credential and headers as every other request does. If
 * its URL belongs to another server it carries neither, and nothing is sent to the
 * service's own server. No call here creates a session. Arguments are copied, and files
 * opened, before a call returns. Thread: any; tinkc_raw_open, tinkc_raw_stream_read and
 * tinkc_raw_save block and fail with TINKC_E_STATE on the loop's thread. */
#ifndef TINKC_RAW_H
#define TINKC_RAW_H

#include <tinkc/rest.h>
#include <tinkc/service.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_raw_response tinkc_raw_response;
typedef struct tinkc_raw_stream tinkc_raw_stream;

/* Writes up to `n` bytes of a part, starting at `offset`, to `out`. Returns the number
 * of bytes written, or SIZE_MAX to abort the request. Called on the loop's thread;
 * must not block; may be called again for the same bytes. `user` must stay valid until
 * the future is done; after a cancel, until the service is closed. */
typedef size_t (*tinkc_read_fn)(char *out, size_t n, uint64_t offset, void *user);

/* One part of a form: a field or a file. Exactly one of `data`, `path` and `read` is
 * set. */
typedef struct tinkc_part {
    const char *name;         /* required */
    const char *filename;     /* NULL: last component of `path`, or a plain field */
    const char *content_type; /* NULL: application/octet-stream when there is a
                                 filename, otherwise none */
    const void *data;         /* from memory; not NULL even when data_n is 0 */
    size_t data_n;
    const char *path; /* from a regular file */
    tinkc_read_fn read;
    void *read_user;
    uint64_t read_n; /* number of bytes that `read` provides */
} tinkc_part;

typedef struct tinkc_raw_request {
    size_t size;
    const char *method; /* GET, POST, PUT, PATCH, DELETE */
    const char *path;   /* "/api/v1/..." without a query, or an absolute URL */
    const tinkc_pair *query;
    size_t query_n;
    const tinkc_pair *headers; /* replace the library's headers of the same name */
    size_t headers_n;
    const void *body;
    size_t body_n;
    const char *content_type; /* NULL: application/json */
    const tinkc_part *parts;  /* instead of a body: multipart/form-data */
    size_t parts_n;
    bool multipart;     /* send a form even without parts */
    int64_t timeout_ms; /* 0: that of the handle's context, else option timeout;
                           TINKC_FOREVER: none; for streams: the longest silence */
    int max_retries;    /* -1: option max_retries; POST and PATCH are retried too, with
                           the same idempotency key */
    bool any_status;    /* return every status as a result, not as an error */
} tinkc_raw_request;

#define TINKC_RAW_REQUEST_INIT                                                           \
    {                                                                                    \
        sizeof(tinkc_raw_request), "GET", NULL, NULL, 0, NULL, 0, NULL, 0, NULL, NULL,   \
            0, false, 0, -1, false                                                       \
    }

/* Sets *request to TINKC_RAW_REQUEST_INIT. */
TINKC_API void tinkc_raw_request_init(tinkc_raw_request *request);

/* Sends a request and collects the response, up to option max_response_bytes.
 * Redirects are not followed: with any_status they are results, otherwise errors.
 * TINKC_E_INVALID for an unknown method, a malformed path, URL, header or part, or a
 * body together with GET or with a form; TINKC_E_LIMIT for more than 32 headers;
 * TINKC_E_IO when the file of a part cannot be opened. Result:
 * tinkc_future_take_raw_response. */
TINKC_API TINKC_NODISCARD tinkc_future *tinkc_raw_send(tinkc_service *service,
                                                       const tinkc_raw_request *request);

/* Calls tinkc_raw_send and waits for its result. The caller owns *out
 * (tinkc_raw_response_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_raw_send_wait(tinkc_raw_response **out, tinkc_service *service,
                                         const tinkc_raw_request *request,
                                         tinkc_error **err);

/* Takes the answer out of a completed future. The caller owns *out
 * (tinkc_raw_response_free). TINKC_E_STATE when the future is NULL or not done, has a
 * result of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_raw_response(tinkc_raw_response **out,
                                                    tinkc_future *future,
                                                    tinkc_error **err);

/* Waits for the future, takes the answer as tinkc_future_take_raw_response does, and
 * frees the future whatever the outcome: *future is NULL afterwards. A NULL `out`
 * discards the result. */
TINKC_API tinkc_code tinkc_future_await_raw_response(tinkc_raw_response **out,
                                                     tinkc_future **future,
                                                     tinkc_error **err);

/* Frees the answer and sets *response to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_raw_response_free(tinkc_raw_response **response);

/* Returns the HTTP status; 0 for NULL. */
TINKC_API int tinkc_raw_response_status(const tinkc_raw_response *response);

/* Returns the value of the first header with that name (case is ignored), or NULL.
 * Borrowed until the response is freed. */
TINKC_API const char *tinkc_raw_response_header(const tinkc_raw_response *response,
                                                const char *name);

/* Stores header `index` in *out; headers keep the order in which they arrived. Its
 * texts are borrowed until the response is freed. Returns false and writes nothing
 * when `index` is past the end. */
TINKC_API bool tinkc_raw_response_header_at(tinkc_pair *out,
                                            const tinkc_raw_response *response,
                                            size_t index);

/* Returns the body, followed by a NUL; NULL for NULL. *n (unless NULL) is its length.
 * Borrowed until the response is freed. */
TINKC_API const char *tinkc_raw_response_body(size_t *n,
                                              const tinkc_raw_response *response);

/* ---- streamed answers ---- */

/* Sends a request and waits for the status and headers of the response. At most 256
 * KiB of the body are held at a time: a slow reader slows the server down. A status
 * that is not a success is an error (any_status is ignored). The caller owns *out
 * (tinkc_raw_stream_close), which may be used by one thread at a time. TINKC_E_STATE
 * on the loop's thread; other errors are those of tinkc_raw_send. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_raw_open(tinkc_raw_stream **out,
                                                    tinkc_service *service,
                                                    const tinkc_raw_request *request,
                                                    tinkc_error **err);

/* Returns the status and headers of the response, without a body; NULL for NULL.
 * Borrowed until the stream is closed. */
TINKC_API const tinkc_raw_response *tinkc_raw_stream_head(const tinkc_raw_stream *stream);

/* Waits for bytes and writes up to `size` of them to `out`; *n is 0 at the end of the
 * body. TINKC_E_TIMEOUT when none arrive within `timeout_ms` (TINKC_FOREVER: no
 * limit); the call may then be repeated. TINKC_E_STATE when `stream` is NULL or the
 * call would have to wait on the loop's thread; TINKC_E_INVALID when `out` or `n` is
 * NULL or `size` is 0; otherwise the error of the transfer. */
TINKC_API tinkc_code tinkc_raw_stream_read(char *out, size_t size, size_t *n,
                                           tinkc_raw_stream *stream, int64_t timeout_ms,
                                           tinkc_error **err);

/* Closes the stream, aborting the transfer if it is not finished, and sets *stream to
 * NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_raw_stream_close(tinkc_raw_stream **stream);

/* Sends a request and writes the body of the response to `file`, which either appears
 * complete or does not appear. *written (unless NULL) is its size. Blocks; not on the
 * loop's thread. Same errors as tinkc_raw_open, TINKC_E_INVALID when `file` is NULL,
 * TINKC_E_IO when the file cannot be written. */
TINKC_API tinkc_code tinkc_raw_save(uint64_t *written, tinkc_service *service,
                                    const tinkc_raw_request *request, const char *file,
                                    tinkc_error **err);

TINKC_END_DECLS

#endif
