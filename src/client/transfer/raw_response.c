/* See raw_response.h. Immutable once made; thread: any. */
#include "client/transfer/raw_response.h"

#include "base/arena.h"
#include "base/mem.h"

struct tinkc_raw_response {
    tk_arena arena;
    int status;
    tinkc_pair *headers;
    size_t headers_n;
    tk_str body;
};

static bool copy_all(tinkc_raw_response *out, const tk_http_response *from)
{
    tk_str name, value;
    out->headers = tk_arena_array(&out->arena, from->headers_n, sizeof(*out->headers));
    if (out->headers == NULL ||
        !tk_arena_dup(&out->arena, &out->body, from->body.p, from->body.n)) {
        return false;
    }
    for (size_t i = 0; i < from->headers_n; i++) {
        const tk_http_field *field = &from->headers[i];
        if (!tk_arena_dup(&out->arena, &name, field->name.p, field->name.n) ||
            !tk_arena_dup(&out->arena, &value, field->value.p, field->value.n)) {
            return false;
        }
        out->headers[i] = (tinkc_pair){name.p, value.p};
    }
    out->headers_n = from->headers_n;
    out->status = from->status;
    return true;
}

tinkc_raw_response *tk_raw_response_copy(const tk_http_response *response, tk_err *err)
{
    tinkc_raw_response *copy = tk_zalloc(sizeof(*copy));
    if (copy != NULL) {
        tk_arena_init(&copy->arena, 0);
    }
    if (copy == NULL || !copy_all(copy, response)) {
        tk_raw_response_free(copy);
        tk_err_nomem(err);
        return NULL;
    }
    return copy;
}

void tk_raw_response_free(void *response)
{
    tinkc_raw_response *own = response;
    if (own != NULL) {
        tk_arena_dispose(&own->arena);
        tk_free(own);
    }
}

void tinkc_raw_response_free(tinkc_raw_response **response)
{
    if (response != NULL) {
        tk_raw_response_free(*response);
        *response = NULL;
    }
}

int tinkc_raw_response_status(const tinkc_raw_response *response)
{
    return response != NULL ? response->status : 0;
}

const char *tinkc_raw_response_header(const tinkc_raw_response *response,
                                      const char *name)
{
    tinkc_pair pair;
    for (size_t i = 0; tinkc_raw_response_header_at(&pair, response, i); i++) {
        if (name != NULL && tk_str_is_nocase(tk_str_of(pair.name), name)) {
            return pair.value;
        }
    }
    return NULL;
}

bool tinkc_raw_response_header_at(tinkc_pair *out, const tinkc_raw_response *response,
                                  size_t index)
{
    if (out == NULL || response == NULL || index >= response->headers_n) {
        return false;
    }
    *out = response->headers[index];
    return true;
}

const char *tinkc_raw_response_body(const tinkc_raw_response *response, size_t *n)
{
    if (n != NULL) {
        *n = response != NULL ? response->body.n : 0;
    }
    return response != NULL ? response->body.p : NULL;
}
