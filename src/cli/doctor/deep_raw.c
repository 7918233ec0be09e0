/* Requests by hand for `tinkc doctor --deep`, as JSON. */
#include "cli/doctor/deep_raw.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"

#define POLL_FLOOR_MS 50
#define TIMEOUT_MS    60000

/* Copies a member that is a text; false when there is none or it does not fit. */
static bool copy_member(char *out, size_t size, const tk_json *object, const char *key)
{
    const tk_json *value = tk_json_get(object, key);
    if (value == NULL || value->type != TK_JSON_STRING || value->as.string.n >= size) {
        return false;
    }
    (void)snprintf(out, size, "%.*s", (int)value->as.string.n, value->as.string.p);
    return true;
}

/* Sends a request once and gives the response, which the caller frees. */
static bool post(deep *d, const char *name, const char *body, const char *key,
                 tinkc_raw_response **out)
{
    char path[64];
    const tinkc_pair header = {"X-Idempotency-Key", key};
    tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
    (void)snprintf(path, sizeof(path), "/api/v1/%s", name);
    request.method = "POST";
    request.path = path;
    request.headers = &header;
    request.headers_n = key != NULL;
    request.body = body;
    request.body_n = strlen(body);
    request.timeout_ms = TIMEOUT_MS;
    request.max_retries = 0;
    request.any_status = true;
    tinkc_future *future = tinkc_raw_send(d->again, &request);
    bool ok = deep_wait(d, &future, true) &&
              tinkc_future_take_raw_response(out, future, &d->error) == TINKC_OK;
    tinkc_future_free(&future);
    return ok;
}

bool deep_raw_submit(deep *d, const char *name, const char *body, const char *key,
                     char id[DEEP_ID_BYTES], int *status)
{
    tinkc_raw_response *response = NULL;
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    tk_arena arena;
    id[0] = '\0';
    *status = 0;
    if (!post(d, name, body, key, &response)) {
        return false;
    }
    size_t n = 0;
    const char *text = tinkc_raw_response_body(&n, response);
    tk_arena_init(&arena, 0);
    *status = tinkc_raw_response_status(response);
    bool ok = *status == 200 &&
              tk_json_parse(&json, &arena, text, n, NULL, &err) == TINKC_OK &&
              copy_member(id, DEEP_ID_BYTES, json, "request_id");
    if (!ok) {
        (void)snprintf(d->why, sizeof(d->why), "%s was answered with HTTP %d: %.200s",
                       name, *status, text);
    }
    tk_arena_dispose(&arena);
    tinkc_raw_response_free(&response);
    return ok;
}

typedef enum progress { AGAIN, READY, BROKEN } progress;

static progress read_result(deep *d, const tinkc_raw_response *response,
                            char path[DEEP_TEXT_BYTES])
{
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    tk_arena arena;
    char type[32] = "";
    size_t n = 0;
    int status = tinkc_raw_response_status(response);
    const char *text = tinkc_raw_response_body(&n, response);
    progress result = BROKEN;
    tk_arena_init(&arena, 0);
    if (tk_json_parse(&json, &arena, text, n, NULL, &err) == TINKC_OK) {
        (void)copy_member(type, sizeof(type), json, "type");
        bool waits = status == 408 || strcmp(type, "try_again") == 0;
        bool is_good = status == 200 && tk_json_get(json, "error") == NULL &&
                       (path == NULL || copy_member(path, DEEP_TEXT_BYTES, json, "path"));
        result = waits ? AGAIN : is_good ? READY : BROKEN;
    }
    if (result == BROKEN) {
        (void)snprintf(d->why, sizeof(d->why), "The work ended with HTTP %d: %.200s",
                       status, text);
    }
    tk_arena_dispose(&arena);
    return result;
}

bool deep_raw_finish(deep *d, const char *id, char path[DEEP_TEXT_BYTES])
{
    char body[DEEP_ID_BYTES + 64];
    int64_t end = TK_MIN(tk_clock_mono_ms(NULL) + d->wait_ms, d->end_ms);
    progress result = AGAIN;
    (void)snprintf(body, sizeof(body),
                   "{\"request_id\":\"%s\",\"allow_metadata_only\":false}", id);
    while (result == AGAIN) {
        tinkc_raw_response *response = NULL;
        if (!post(d, "retrieve_future", body, NULL, &response)) {
            return false;
        }
        result = read_result(d, response, path);
        tinkc_raw_response_free(&response);
        if (result == AGAIN && tk_clock_mono_ms(NULL) >= end) {
            d->is_late = true;
            return false;
        }
        if (result == AGAIN) {
            (void)poll(NULL, 0, POLL_FLOOR_MS);
        }
    }
    return result == READY;
}
