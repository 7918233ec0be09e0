/* The life of a request: what it owns, and what of it may move to longer work. */
#include "server/http/srv_request.h"

#include <unistd.h>

#include "base/mem.h"
#include "server/http/srv_stream.h"

#define ARENA_BYTES  (TK_GIB)
#define ANSWER_BYTES (TK_MIB) /* of the arena, once what was decoded has moved */

srv_request *srv_request_new(void *app, srv_budget *budget)
{
    srv_request *request = tk_zalloc(sizeof(*request));
    if (request == NULL) {
        return NULL;
    }
    request->app = app;
    request->budget = budget;
    request->file.fd = -1;
    tk_arena_init_quota(&request->arena, ARENA_BYTES, srv_request_quota(request));
    tk_buf_init_quota(&request->body, 1, srv_request_quota(request));
    tk_list_init(&request->queued);
    return request;
}

void srv_request_free(srv_request *request)
{
    if (request->stream != NULL) {
        srv_stream_leave(request->stream);
    }
    if (request->file.fd >= 0) {
        (void)close(request->file.fd);
    }
    if (request->free_state != NULL) {
        request->free_state(request->state);
    }
    if (request->holds_file) {
        srv_budget_give_file(request->budget);
    }
    srv_blob_release(request->answer);
    tk_buf_dispose(&request->body);
    tk_arena_dispose(&request->arena);
    tk_free(request);
}

void srv_request_resume(srv_request *request)
{
    request->resume(request);
}

srv_verdict srv_request_wait(srv_request *request)
{
    if (request->free_state != NULL) {
        request->free_state(request->state);
        request->state = NULL;
        request->free_state = NULL;
    }
    request->may_wait = true;
    if (request->due_ns == 0) {
        request->due_ns = 1; /* long ago: at once */
    }
    return SRV_LATER;
}

void srv_request_shrink(srv_request *request)
{
    tk_buf_dispose(&request->body);
    tk_arena_dispose(&request->arena);
    request->n_query = 0;
    request->idempotency_key = request->host = TK_STR("");
}

tk_quota *srv_request_quota(const srv_request *request)
{
    return srv_budget_quota(request->budget, SRV_PART_REQUESTS);
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

/* ---- memory that outlives its request ---- */

void srv_request_init_memory(srv_memory *memory, srv_budget *budget)
{
    tk_quota *quota = srv_budget_quota(budget, SRV_PART_REQUESTS);
    tk_arena_init_quota(&memory->arena, ARENA_BYTES, quota);
    tk_buf_init_quota(&memory->body, 1, quota);
}

void srv_request_free_memory(srv_memory *memory)
{
    tk_buf_dispose(&memory->body);
    tk_arena_dispose(&memory->arena);
}

void srv_request_move_memory(srv_memory *memory, srv_request *request)
{
    tk_arena_dispose(&memory->arena);
    tk_buf_dispose(&memory->body);
    memory->arena = request->arena;
    memory->body = request->body;
    tk_arena_init_quota(&request->arena, ANSWER_BYTES, srv_request_quota(request));
    tk_buf_init_quota(&request->body, 1, srv_request_quota(request));
}
