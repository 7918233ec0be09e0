/* Reads GET /tinkc/v1/models. */
#include "cli/frame/cmd_details.h"

#include <tinkc/raw.h>

#define DETAILS_MS    5000
#define DETAILS_BYTES (4 * TK_MIB)

void cmd_details_read(cmd_details *out, tinkc_service *service)
{
    tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
    tinkc_raw_response *response = NULL;
    const tk_json *root = NULL;
    size_t n = 0;
    tk_arena_init(&out->arena, DETAILS_BYTES);
    out->models = NULL;
    request.path = "/tinkc/v1/models";
    request.timeout_ms = DETAILS_MS;
    request.max_retries = 0;
    if (tinkc_raw_send_wait(&response, service, &request, NULL) != TINKC_OK) {
        return;
    }
    const char *body = tinkc_raw_response_body(&n, response);
    if (body != NULL &&
        tk_json_parse(&root, &out->arena, body, n, NULL, NULL) == TINKC_OK) {
        out->models = tk_json_get(root, "models");
    }
    tinkc_raw_response_free(&response);
}

void cmd_details_dispose(cmd_details *details)
{
    tk_arena_dispose(&details->arena);
    details->models = NULL;
}

tk_json cmd_details_find(const cmd_details *details, const char *model)
{
    const tk_json *models = details->models;
    size_t n = models != NULL && model != NULL ? tk_json_len(models) : 0;
    for (size_t i = 0; i < n; i++) {
        tk_json one = tk_json_at(models, i);
        const tk_json *text = tk_json_get(&one, "model_name");
        if (text != NULL && text->type == TK_JSON_STRING &&
            tk_str_is(text->as.string, model)) {
            return one;
        }
    }
    return (tk_json){.type = TK_JSON_NULL};
}

int64_t cmd_details_parameters(const tk_json *model)
{
    const tk_json *value = tk_json_get(model, "parameters");
    int64_t n = -1;
    return value != NULL && tk_json_to_i64(value, &n) && n >= 0 ? n : -1;
}
