/* Sends one request to the hub and turns its answer, or the text of its refusal, into a
 * result. Waits on the calling thread. */
#include "client/hub/hub_call.h"

#include <string.h>

#include "client/transfer/raw.h"
#include "client/values/error.h"

#define TICK_MS          200
#define ERROR_JSON_BYTES (64 * TK_KIB)

/* ---- asking ---- */

void tk_hub_wait(const tk_hub_peer *peer, tinkc_future *future)
{
    while (tinkc_future_wait(future, TICK_MS) == TINKC_E_TIMEOUT &&
           !tinkc_future_is_done(future)) {
        if (!peer->tick(peer->user)) {
            tinkc_future_cancel(future);
        }
    }
}

/* What a batch answer names counts before ours. */
static bool names(const tk_hub_call *call, const char *header)
{
    for (size_t i = 0; i < call->headers_n; i++) {
        if (tk_str_is_nocase(tk_str_of(call->headers[i].name), header)) {
            return true;
        }
    }
    return false;
}

static tinkc_code make_request(tk_request *out, const tk_hub_peer *peer,
                               const tk_hub_call *call, tk_err *err)
{
    tinkc_pair headers[TK_HUB_HEADERS_MAX + 3];
    size_t n = 0;
    for (; n < call->headers_n && n <= TK_HUB_HEADERS_MAX; n++) {
        headers[n] = call->headers[n];
    }
    if (call->with_token && peer->authorization != NULL &&
        !names(call, "authorization")) {
        headers[n++] = (tinkc_pair){"Authorization", peer->authorization};
    }
    if (call->no_type && !names(call, "content-type")) {
        headers[n++] = (tinkc_pair){"Content-Type", ""}; /* libcurl sends none then */
    }
    tk_request_spec spec = {.method = call->method,
                            .path = call->url,
                            .peer = TK_REQUEST_FOREIGN,
                            .headers = headers,
                            .headers_n = n,
                            .content_type = call->content_type,
                            .body = call->body != NULL ? call->body->p : NULL,
                            .body_n = call->body != NULL ? call->body->n : 0,
                            .file = call->file,
                            .file_from = call->file_from,
                            .file_n = call->file_n,
                            .max_retries = call->once ? 0 : peer->retries,
                            .pass_status = call->pass_status,
                            .max_response_bytes = TK_HUB_ANSWER_BYTES,
                            .is_once = call->once};
    return tk_request_init(out, &spec, tk_core_base_url(peer->handle->core), err);
}

/* ---- what it says when it refuses ---- */

const char *tk_hub_text(const tk_json *object, const char *key)
{
    const tk_json *value = tk_json_get(object, key);
    bool is_text = value != NULL && value->type == TK_JSON_STRING &&
                   memchr(value->as.string.p, '\0', value->as.string.n) == NULL;
    return is_text ? value->as.string.p : NULL;
}

/* {"error": "..."}, as the hub answers; storages answer with XML, which is not shown. */
static const char *words_of(tk_arena *arena, const tinkc_raw_response *response)
{
    const tk_json *json = NULL;
    tk_err ignored = TK_ERR_INIT;
    size_t n = 0;
    const char *said = tinkc_raw_response_header(response, "x-error-message");
    const char *body = tinkc_raw_response_body(&n, response);
    if (said != NULL) {
        return said;
    }
    if (n == 0 || n > ERROR_JSON_BYTES ||
        tk_json_parse(&json, arena, body, n, NULL, &ignored) != TINKC_OK) {
        return NULL;
    }
    said = tk_hub_text(json, "error");
    return said != NULL ? said : tk_hub_text(json, "message");
}

void tk_hub_words(char out[TK_HUB_WORDS_BYTES], const tk_hub_peer *peer,
                  const char *words)
{
    (void)tk_log_redact(tk_core_log(peer->handle->core), out, TK_HUB_WORDS_BYTES,
                        tk_str_of(words));
}

static tinkc_code refuse(tk_err *err, const tk_hub_peer *peer, const char *what,
                         const tinkc_raw_response *response)
{
    char shown[TK_HUB_WORDS_BYTES] = "";
    tk_arena arena;
    int status = tinkc_raw_response_status(response);
    tk_arena_init(&arena, TK_MIB);
    const char *words = words_of(&arena, response);
    if (words != NULL) {
        tk_hub_words(shown, peer, words);
    }
    tinkc_code code = tk_err_set(err, tk_err_code_of_status(status), "%s: HTTP %d%s%s",
                                 what, status, words != NULL ? ": " : "", shown);
    if (err != NULL && err->http_status == 0) {
        err->http_status = status;
    }
    tk_arena_dispose(&arena);
    return code;
}

static tinkc_code unreached(tk_err *err, const char *what, const tinkc_error *error)
{
    tk_err why = TK_ERR_INIT;
    tk_error_read(&why, error);
    return tk_err_set(err, why.code, "%s: %s", what, why.message);
}

tinkc_code tk_hub_bad_answer(tk_err *err, const char *what, const char *why)
{
    return tk_err_set(err, TINKC_E_DECODE, "%s: the hub's answer %s", what, why);
}

/* ---- the calls ---- */

tinkc_code tk_hub_send(tinkc_raw_response **out, const tk_hub_peer *peer,
                       const tk_hub_call *call, tk_err *err)
{
    tk_request request = {0};
    tinkc_raw_response *response = NULL;
    tinkc_error *error = NULL;
    if (!peer->tick(peer->user)) {
        return tk_err_set(err, TINKC_E_CANCELLED, "stopped by the callback");
    }
    tinkc_code code = make_request(&request, peer, call, err);
    if (code != TINKC_OK) {
        return code;
    }
    tinkc_future *future = tk_raw_send(peer->handle, &request, true);
    tk_hub_wait(peer, future);
    code = tinkc_future_take_raw_response(&response, future, &error);
    tinkc_future_free(&future);
    if (code != TINKC_OK) {
        code = unreached(err, call->what, error);
        tinkc_error_free(&error);
        return code;
    }
    int status = tinkc_raw_response_status(response);
    if ((status < 200 || status > 299) &&
        (call->pass_status == 0 || status != call->pass_status)) {
        code = refuse(err, peer, call->what, response);
        tinkc_raw_response_free(&response);
        return code;
    }
    *out = response;
    return TINKC_OK;
}

tinkc_code tk_hub_ask(const tk_json **out, int *status, tk_arena *arena,
                      const tk_hub_peer *peer, const tk_hub_call *call, tk_err *err)
{
    tinkc_raw_response *response = NULL;
    const tk_json *json = NULL;
    tk_err why = TK_ERR_INIT;
    size_t n = 0;
    tinkc_code code = tk_hub_send(&response, peer, call, err);
    if (code != TINKC_OK) {
        return code;
    }
    const char *body = tinkc_raw_response_body(&n, response);
    code = tk_json_parse(&json, arena, body, n, NULL, &why);
    if (code == TINKC_E_NOMEM) {
        code = tk_err_nomem(err);
    } else if (code != TINKC_OK || json->type != TK_JSON_OBJECT) {
        code = tk_hub_bad_answer(err, call->what, "is not a JSON object");
    } else {
        *out = json;
        if (status != NULL) {
            *status = tinkc_raw_response_status(response);
        }
    }
    tinkc_raw_response_free(&response);
    return code;
}
