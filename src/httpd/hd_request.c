/* The life of a request: what it owns, and what of it may move to longer work. */
#include "httpd/hd_request.h"

#include <unistd.h>

#include "base/mem.h"
#include "httpd/hd_route.h"
#include "httpd/hd_stream.h"

#define ARENA_BYTES  (TK_GIB)
#define ANSWER_BYTES (TK_MIB) /* of the arena, once what was decoded has moved */

hd_request *hd_request_new(void *app, hd_budget *budget)
{
    hd_request *request = tk_zalloc(sizeof(*request));
    if (request == NULL) {
        return NULL;
    }
    request->app = app;
    request->budget = budget;
    request->file.fd = -1;
    request->path = TK_STR("");
    tk_arena_init_quota(&request->arena, ARENA_BYTES, hd_request_quota(request));
    tk_buf_init_quota(&request->body, 1, hd_request_quota(request));
    tk_list_init(&request->queued);
    return request;
}

void hd_request_free(hd_request *request)
{
    if (request->stream != NULL) {
        hd_stream_leave(request->stream);
    }
    if (request->file.fd >= 0) {
        (void)close(request->file.fd);
    }
    if (request->free_state != NULL) {
        request->free_state(request->state);
    }
    if (request->holds_file) {
        hd_budget_give_file(request->budget);
    }
    hd_blob_release(request->answer);
    tk_buf_dispose(&request->body);
    tk_arena_dispose(&request->arena);
    tk_free(request);
}

void hd_request_resume(hd_request *request)
{
    request->resume(request);
}

hd_verdict hd_request_wait(hd_request *request)
{
    if (request->free_state != NULL) {
        request->free_state(request->state);
        request->state = NULL;
        request->free_state = NULL;
    }
    request->may_wait = true;
    return hd_request_hop(request);
}

hd_verdict hd_request_hop(hd_request *request)
{
    if (request->due_ns == 0) {
        request->due_ns = 1; /* long ago: at once */
    }
    return HD_LATER;
}

/* The path is gone with the arena: what is asked for later, which error to write, is
 * answered by the pattern of the route as well. */
static void keep_pattern(hd_request *request)
{
    request->path =
        request->route != NULL ? tk_str_of(request->route->pattern) : TK_STR("");
}

void hd_request_shrink(hd_request *request)
{
    keep_pattern(request);
    tk_buf_dispose(&request->body);
    tk_arena_dispose(&request->arena);
    request->n_query = 0;
    request->host = request->range = request->if_range = TK_STR("");
}

tk_quota *hd_request_quota(const hd_request *request)
{
    return hd_budget_quota(request->budget, HD_PART_REQUESTS);
}

tk_str hd_request_query(const hd_request *request, const char *name)
{
    for (size_t i = 0; i < request->n_query; i++) {
        if (tk_str_is(request->query[i].name, name)) {
            return request->query[i].value;
        }
    }
    return (tk_str){NULL, 0};
}

tk_str hd_request_header(const hd_request *request, const char *name)
{
    return request->header != NULL ? request->header(request, name) : (tk_str){NULL, 0};
}

bool hd_request_is_gone(const hd_request *request)
{
    return request->is_gone != NULL && request->is_gone(request);
}

/* ---- memory that outlives its request ---- */

void hd_request_init_memory(hd_memory *memory, hd_budget *budget)
{
    tk_quota *quota = hd_budget_quota(budget, HD_PART_REQUESTS);
    tk_arena_init_quota(&memory->arena, ARENA_BYTES, quota);
    tk_buf_init_quota(&memory->body, 1, quota);
}

void hd_request_free_memory(hd_memory *memory)
{
    tk_buf_dispose(&memory->body);
    tk_arena_dispose(&memory->arena);
}

void hd_request_move_memory(hd_memory *memory, hd_request *request)
{
    keep_pattern(request);
    tk_arena_dispose(&memory->arena);
    tk_buf_dispose(&memory->body);
    memory->arena = request->arena;
    memory->body = request->body;
    tk_arena_init_quota(&request->arena, ANSWER_BYTES, hd_request_quota(request));
    tk_buf_init_quota(&request->body, 1, hd_request_quota(request));
}
