/* The life of a request, see srv_request.h. */
#include "server/http/srv_request.h"

#include <unistd.h>

#include "base/mem.h"
#include "server/http/srv_reply.h"
#include "server/http/srv_stream.h"
#include "server/srv_int.h"

#define ARENA_BYTES (TK_GIB)

srv_request *srv_request_new(srv *server)
{
    srv_request *request = tk_zalloc(sizeof(*request));
    if (request == NULL) {
        return NULL;
    }
    request->server = server;
    request->file.fd = -1;
    tk_arena_init(&request->arena, ARENA_BYTES);
    tk_buf_init(&request->body, 1);
    tk_list_init(&request->waiting);
    tk_list_init(&request->queued);
    return request;
}

void srv_request_free(srv_request *request)
{
    srv_uncount_body(request->server, request->counted);
    if (request->stream != NULL) {
        srv_stream_leave(request->stream);
    }
    if (request->file.fd >= 0) {
        (void)close(request->file.fd);
    }
    srv_blob_release(request->answer);
    srv_blob_release(request->poll.result);
    tk_free(request->poll.id);
    tk_buf_dispose(&request->body);
    tk_arena_dispose(&request->arena);
    tk_free(request);
}

void srv_request_resume(srv_request *request)
{
    request->resume(request);
}

void srv_request_resume_all(tk_list *requests)
{
    tk_list *node;
    while ((node = tk_list_pop_front(requests)) != NULL) {
        srv_request_resume(TK_CONTAINER_OF(node, srv_request, waiting));
    }
}

void srv_request_shrink(srv_request *request)
{
    srv_uncount_body(request->server, request->counted);
    request->counted = 0;
    tk_buf_dispose(&request->body);
    tk_buf_init(&request->body, 1);
    tk_arena_dispose(&request->arena);
    request->n_query = 0;
    request->idempotency_key = request->host = TK_STR("");
}

tk_str srv_request_query(const srv_request *request, const char *name)
{
    for (size_t i = 0; i < request->n_query; i++) {
        if (tk_str_is(request->query[i].name, name)) {
            return request->query[i].value;
        }
    }
    return (tk_str){NULL, 0};
}

bool srv_request_decode(srv_request *request, const tk_schema *schema, void *msg)
{
    tk_err err = TK_ERR_INIT;
    tk_str text = request->body.n > 0 ? tk_buf_str(&request->body) : TK_STR("{}");
    if (tk_schema_decode_text(msg, schema, &request->arena, text, 0, &err) != TINKC_OK) {
        (void)srv_reply_error(request, &err);
        return false;
    }
    return true;
}
