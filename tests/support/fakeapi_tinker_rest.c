/* Tinker mode: lists of runs, checkpoints and sessions (docs/protocol.md §2.5), in one page
 * whatever is asked for. A run is a model. */
#include <string.h>

#include "support/fakeapi_tinker_int.h"

#define TIME "\"2026-01-02T03:04:05Z\""

static void put_cursor(fakeapi_bytes *out, size_t n)
{
    fakeapi_bytes_printf(
        out, "\"cursor\":{\"offset\":0,\"limit\":%zu,\"total_count\":%zu}}", n, n);
}

static void put_run(fakeapi_bytes *out, const tinker_model *model)
{
    fakeapi_bytes_puts(out, "{\"training_run_id\":");
    tinker_put_str(out, model->id);
    fakeapi_bytes_puts(out, ",\"base_model\":");
    tinker_put_str(out, model->base_model);
    fakeapi_bytes_printf(out,
                         ",\"model_owner\":\"o\",\"is_lora\":true,\"lora_rank\":%lld,"
                         "\"last_request_time\":" TIME "}",
                         (long long)model->rank);
}

static void put_checkpoint(fakeapi_bytes *out, const tinker_checkpoint *checkpoint)
{
    const char *id = strstr(checkpoint->path, checkpoint->model->id);
    id += strlen(checkpoint->model->id) + 1;
    bool is_training = strncmp(id, "weights/", strlen("weights/")) == 0;
    fakeapi_bytes_puts(out, "{\"checkpoint_id\":");
    tinker_put_str(out, id);
    fakeapi_bytes_printf(out, ",\"checkpoint_type\":\"%s\",\"time\":" TIME ",",
                         is_training ? "training" : "sampler");
    fakeapi_bytes_puts(out, "\"tinker_path\":");
    tinker_put_str(out, checkpoint->path);
    fakeapi_bytes_puts(out, "}");
}

/* model NULL: of all. */
static bool put_checkpoints(tinker_call *call, const tinker_model *model)
{
    fakeapi_bytes *body = &call->out->body;
    size_t n = 0;
    fakeapi_bytes_puts(body, "{\"checkpoints\":[");
    for (size_t i = 0; i < call->t->checkpoints.n; i++) {
        const tinker_checkpoint *checkpoint = call->t->checkpoints.items[i];
        if (model == NULL || checkpoint->model == model) {
            fakeapi_bytes_puts(body, n++ > 0 ? "," : "");
            put_checkpoint(body, checkpoint);
        }
    }
    fakeapi_bytes_puts(body, "],");
    put_cursor(body, n);
    return true;
}

bool tinker_list_runs(tinker_call *call)
{
    fakeapi_bytes *body = &call->out->body;
    fakeapi_bytes_puts(body, "{\"training_runs\":[");
    for (size_t i = 0; i < call->t->models.n; i++) {
        fakeapi_bytes_puts(body, i > 0 ? "," : "");
        put_run(body, call->t->models.items[i]);
    }
    fakeapi_bytes_puts(body, "],");
    put_cursor(body, call->t->models.n);
    return true;
}

bool tinker_get_run(tinker_call *call)
{
    tk_str rest = tk_str_of(call->tail);
    tk_str id = tk_str_cut(&rest, '/');
    const tinker_model *model = NULL;
    for (size_t i = 0; i < call->t->models.n && model == NULL; i++) {
        const tinker_model *one = call->t->models.items[i];
        model = tk_str_is(id, one->id) ? one : NULL;
    }
    if (rest.p != NULL && !tk_str_is(rest, "checkpoints")) {
        return tinker_reject(call, 404, "Not Found");
    }
    if (model == NULL) {
        return tinker_reject(call, 404, "Training run not found");
    }
    if (rest.p != NULL) {
        return put_checkpoints(call, model);
    }
    put_run(&call->out->body, model);
    return true;
}

bool tinker_list_checkpoints(tinker_call *call)
{
    return put_checkpoints(call, NULL);
}

bool tinker_list_sessions(tinker_call *call)
{
    fakeapi_bytes *body = &call->out->body;
    fakeapi_bytes_puts(body, "{\"sessions\":[");
    for (size_t i = 0; i < call->t->sessions.n; i++) {
        fakeapi_bytes_puts(body, i > 0 ? "," : "");
        tinker_put_str(body, call->t->sessions.items[i]);
    }
    fakeapi_bytes_puts(body, "]}");
    return true;
}
