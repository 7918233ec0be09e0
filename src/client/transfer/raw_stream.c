/* The public face of a streamed answer, and saving one to a file. On the calling
 * thread. */
#include <tinkc/raw.h>

#include "base/file.h"
#include "base/mem.h"
#include "client/core/service.h"
#include "client/transfer/body_stream.h"
#include "client/transfer/raw.h"
#include "client/values/error.h"

#define PIECE_BYTES (64 * TK_KIB)
#define FILE_MODE   0666 /* as the umask allows */

struct tinkc_raw_stream {
    tk_body_stream *stream;
    const tinkc_raw_response *head; /* of the stream */
};

static tinkc_code open_stream(tinkc_raw_stream **out, tinkc_service *service,
                              const tinkc_raw_request *request, tk_err *err)
{
    tk_request own = {0};
    if (service == NULL || out == NULL) {
        return tk_err_set(err, service == NULL ? TINKC_E_STATE : TINKC_E_INVALID,
                          "raw: no service, or no place for the result");
    }
    tk_handle *handle = tk_service_handle(service);
    tinkc_raw_stream *stream = tk_zalloc(sizeof(*stream));
    if (stream == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_raw_read_request(&own, NULL, handle->core, request, true, err);
    if (code == TINKC_OK) {
        code = tk_body_stream_open(&stream->stream, handle, &own, err);
    }
    if (code == TINKC_OK) {
        code = tk_body_stream_head(&stream->head, stream->stream, TINKC_FOREVER, err);
    }
    tk_request_dispose(&own); /* empty when the stream took it */
    if (code != TINKC_OK) {
        tinkc_raw_stream_close(&stream);
        return code;
    }
    *out = stream;
    return TINKC_OK;
}

tinkc_code tinkc_raw_open(tinkc_raw_stream **out, tinkc_service *service,
                          const tinkc_raw_request *request, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    return open_stream(out, service, request, &err) == TINKC_OK
               ? TINKC_OK
               : tk_error_give(error, &err);
}

const tinkc_raw_response *tinkc_raw_stream_head(const tinkc_raw_stream *stream)
{
    return stream != NULL ? stream->head : NULL;
}

tinkc_code tinkc_raw_stream_read(char *out, size_t size, size_t *n,
                                 tinkc_raw_stream *stream, int64_t timeout_ms,
                                 tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    if (stream == NULL) {
        tk_err_set(&err, TINKC_E_STATE, "raw: the stream is NULL or closed");
    } else if (n == NULL || out == NULL || size == 0) {
        tk_err_set(&err, TINKC_E_INVALID, "raw: no place for the bytes");
    } else if (tk_body_stream_read(n, stream->stream, out, size, timeout_ms, &err) ==
               TINKC_OK) {
        return TINKC_OK;
    }
    return tk_error_give(error, &err);
}

void tinkc_raw_stream_close(tinkc_raw_stream **stream_ref)
{
    tinkc_raw_stream *stream = stream_ref != NULL ? *stream_ref : NULL;
    if (stream != NULL) {
        *stream_ref = NULL;
        tk_body_stream_close(&stream->stream);
        tk_free(stream);
    }
}

/* ---- to a file ---- */

static tinkc_code copy_to(tk_file_writer *writer, tinkc_raw_stream *stream,
                          uint64_t *written, tk_err *err)
{
    char *piece = tk_malloc(PIECE_BYTES);
    if (piece == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code;
    size_t n = 0;
    do {
        code = tk_body_stream_read(&n, stream->stream, piece, PIECE_BYTES, TINKC_FOREVER,
                                   err);
        if (code == TINKC_OK && n > 0) {
            code = tk_file_writer_put(writer, piece, n, err);
            *written += n;
        }
    } while (code == TINKC_OK && n > 0);
    tk_free(piece);
    return code;
}

static tinkc_code save(uint64_t *written, tinkc_service *service,
                       const tinkc_raw_request *request, const char *file, tk_err *err)
{
    tinkc_raw_stream *stream = NULL;
    tk_file_writer *writer = NULL;
    tinkc_code code = open_stream(&stream, service, request, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_file_writer_new(&writer, file, FILE_MODE, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = copy_to(writer, stream, written, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_file_writer_commit(writer, err);
    writer = NULL;
out:
    tk_file_writer_abort(writer); /* of one that was not committed */
    tinkc_raw_stream_close(&stream);
    return code;
}

tinkc_code tinkc_raw_save(uint64_t *written, tinkc_service *service,
                          const tinkc_raw_request *request, const char *file,
                          tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    uint64_t n = 0;
    if (file == NULL) {
        tk_err_set(&err, TINKC_E_INVALID, "raw: no file");
    } else if (save(&n, service, request, file, &err) == TINKC_OK) {
        if (written != NULL) {
            *written = n;
        }
        return TINKC_OK;
    }
    return tk_error_give(error, &err);
}
