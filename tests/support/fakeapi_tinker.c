/* Tinker mode: turning it on, finding the endpoint of a request, and what tests steer. */
#include "support/fakeapi_tinker.h"

#include <string.h>

#include "support/fakeapi_tinker_int.h"
#include "wire/msg_external.h"
#include "wire/msg_future.h"
#include "wire/msg_model.h"
#include "wire/msg_sample.h"
#include "wire/msg_session.h"
#include "wire/msg_telemetry.h"
#include "wire/msg_train.h"
#include "wire/msg_weights.h"

typedef struct endpoint_row {
    const char *method;
    const char *path; /* after "/api/v1/"; a "/" at its end takes an id */
    tinker_endpoint run;
    const tk_schema *schema; /* of the JSON body; NULL = not looked at */
} endpoint_row;

static const endpoint_row endpoints[] = {
    {"POST", "client/config", tinker_config, &tk_msg_client_config_request},
    {"POST", "client/dynamic_config", tinker_dynamic_config,
     &tk_msg_client_config_request},
    {"GET", "healthz", tinker_health, NULL},
    {"GET", "get_server_capabilities", tinker_capabilities, NULL},
    {"POST", "telemetry", tinker_telemetry, &tk_msg_telemetry_request},
    {"POST", "create_session", tinker_create_session, &tk_msg_create_session_request},
    {"POST", "session_heartbeat", tinker_heartbeat, &tk_msg_heartbeat_request},
    {"POST", "sessions/", tinker_finish_session, &tk_msg_finish_session_request},
    {"POST", "create_model", tinker_create_model, &tk_msg_create_model_request},
    {"POST", "get_info", tinker_get_info, &tk_msg_get_info_request},
    {"POST", "unload_model", tinker_unload_model, &tk_msg_unload_model_request},
    {"POST", "create_sampling_session", tinker_create_sampling_session,
     &tk_msg_create_sampling_session_request},
    {"GET", "samplers/", tinker_get_sampler, NULL},
    {"POST", "weights_info", tinker_weights_info, &tk_msg_weights_info_request},
    {"POST", "forward_backward", tinker_forward_backward,
     &tk_msg_forward_backward_request},
    {"POST", "forward", tinker_forward, &tk_msg_forward_request},
    {"POST", "optim_step", tinker_optim_step, &tk_msg_optim_step_request},
    {"POST", "save_weights", tinker_save_weights, &tk_msg_save_weights_request},
    {"POST", "save_weights_for_sampler", tinker_save_for_sampler,
     &tk_msg_save_for_sampler_request},
    {"POST", "save_weights_external", tinker_save_external,
     &tk_msg_save_external_request},
    {"POST", "load_weights", tinker_load_weights, &tk_msg_load_weights_request},
    {"POST", "asample", tinker_sample, &tk_msg_sample_request},
    {"POST", "retrieve_future", tinker_retrieve, &tk_msg_retrieve_future_request},
    {"GET", "training_runs", tinker_list_runs, NULL},
    {"GET", "training_runs/", tinker_get_run, NULL},
    {"GET", "checkpoints", tinker_list_checkpoints, NULL},
    {"GET", "sessions", tinker_list_sessions, NULL},
};

void *tinker_table_add(tinker_table *table, void *item)
{
    table->items =
        fakeapi_table_grow(table->items, table->n, &table->capacity, sizeof(void *));
    table->items[table->n++] = item;
    return item;
}

/* ---- small parts of requests and answers ---- */

void tinker_put_str(fakeapi_bytes *out, const char *text)
{
    if (text == NULL) {
        fakeapi_bytes_puts(out, "null");
        return;
    }
    fakeapi_bytes_puts(out, "\"");
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"' || *p == '\\') {
            fakeapi_bytes_printf(out, "\\%c", *p);
        } else if ((unsigned char)*p < ' ') {
            fakeapi_bytes_printf(out, "\\u%04x", (unsigned)*p);
        } else {
            fakeapi_bytes_put(out, p, 1);
        }
    }
    fakeapi_bytes_puts(out, "\"");
}

bool tinker_reject(tinker_call *call, int status, const char *detail)
{
    call->out->status = status;
    call->out->body.n = 0;
    fakeapi_bytes_puts(&call->out->body, "{\"detail\":");
    tinker_put_str(&call->out->body, detail);
    fakeapi_bytes_puts(&call->out->body, "}");
    return true;
}

bool tinker_reject_field(tinker_call *call, const char *field, const char *message)
{
    fakeapi_bytes *body = &call->out->body;
    call->out->status = 422;
    body->n = 0;
    fakeapi_bytes_puts(body, "{\"detail\":[{\"loc\":[\"body\",");
    tinker_put_str(body, field);
    fakeapi_bytes_puts(body, "],\"msg\":");
    tinker_put_str(body, message);
    fakeapi_bytes_puts(body, ",\"type\":\"value_error\"}]}");
    return true;
}

const char *tinker_get_str(const tk_json *object, const char *key)
{
    const tk_json *value = tk_json_get(object, key);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string.p : NULL;
}

int64_t tinker_get_int(const tk_json *object, const char *key, int64_t otherwise)
{
    const tk_json *value = tk_json_get(object, key);
    int64_t out = otherwise;
    return value != NULL && tk_json_to_i64(value, &out) ? out : otherwise;
}

bool tinker_get_bool(const tk_json *object, const char *key, bool otherwise)
{
    const tk_json *value = tk_json_get(object, key);
    return value != NULL && value->type == TK_JSON_BOOL ? value->as.boolean : otherwise;
}

const char *tinker_need_str(tinker_call *call, const char *key)
{
    const char *text = tinker_get_str(call->body, key);
    if (text == NULL) {
        tinker_reject_field(call, key, "a string is required");
    }
    return text;
}

/* ---- dispatch ---- */

static const endpoint_row *find_endpoint(const fakeapi_request *request,
                                         const char **tail)
{
    const char *path = strstr(request->path, "/api/v1/");
    path = path != NULL ? path + strlen("/api/v1/") : "";
    for (size_t i = 0; i < TK_ARRAY_LEN(endpoints); i++) {
        const endpoint_row *row = &endpoints[i];
        size_t n = strlen(row->path);
        bool takes_id = row->path[n - 1] == '/';
        bool fits = strncmp(path, row->path, n) == 0 && (takes_id || path[n] == '\0');
        if (fits && strcmp(request->method, row->method) == 0) {
            *tail = path + n;
            return row;
        }
    }
    return NULL;
}

static bool is_proto(const fakeapi_request *request)
{
    const char *type = fakeapi_header(request, "content-type");
    return type != NULL && strstr(type, "application/x-protobuf") != NULL;
}

/* Whether the body is what the library's schema of it says; in strict mode also that it
 * has no other keys. False after having answered. */
static bool check_body(tinker_call *call, const tk_schema *schema)
{
    tk_err err = TK_ERR_INIT;
    void *msg = tk_arena_zalloc(&call->arena, schema->size);
    unsigned flags = TK_DECODE_CLOSED;
    flags |= call->t->options.strict ? (unsigned)TK_DECODE_STRICT : 0;
    if (msg == NULL) {
        fakeapi_die("out of memory");
    }
    tinkc_code code =
        tk_schema_decode(msg, schema, &call->arena, call->body, flags, &err);
    return code == TINKC_OK || !tinker_reject_field(call, err.path, err.message);
}

/* False after having answered as a server that cannot read protobuf does. */
static bool takes_proto(tinker_call *call)
{
    const fakeapi_step *refusal = call->t->options.refuses_proto;
    if (refusal == NULL) {
        return true;
    }
    call->out->status = refusal->status;
    call->out->content_type = refusal->content_type;
    fakeapi_bytes_puts(&call->out->body, refusal->body);
    return false;
}

/* The JSON body; false after having answered. */
static bool read_body(tinker_call *call, const tk_schema *schema)
{
    const fakeapi_request *request = call->request;
    if (strcmp(request->method, "POST") != 0) {
        return true;
    }
    if (is_proto(request)) {
        return takes_proto(call);
    }
    tk_err err = TK_ERR_INIT;
    tinkc_code code = tk_json_parse(&call->body, &call->arena, request->body,
                                    request->body_n, NULL, &err);
    if (code != TINKC_OK) {
        return !tinker_reject_field(call, "", err.message);
    }
    if (call->body->type != TK_JSON_OBJECT) {
        return !tinker_reject_field(call, "", "an object is required");
    }
    return schema == NULL || check_body(call, schema);
}

static bool is_allowed(tinker_call *call)
{
    const char *key = fakeapi_header(call->request, "x-api-key");
    const char *wanted = call->t->options.api_key;
    if (wanted == NULL || (key != NULL && strcmp(key, wanted) == 0)) {
        return true;
    }
    return !tinker_reject(call, 401, "Invalid API key");
}

static bool is_lacking(const tinker *t, const fakeapi_request *request)
{
    fakeapi_bytes line = {0};
    bool found = false;
    fakeapi_bytes_printf(&line, "%s %s", request->method, request->path);
    (void)fakeapi_bytes_cstr(&line);
    for (size_t i = 0; t->options.lacks != NULL && t->options.lacks[i] != NULL; i++) {
        found |= fakeapi_matches(t->options.lacks[i], line.p);
    }
    fakeapi_bytes_dispose(&line);
    return found;
}

static bool answer(void *user, fakeapi_conn *conn, const fakeapi_request *request,
                   fakeapi_answer *out)
{
    tinker_call call = {.t = user, .conn = conn, .request = request, .out = out};
    const endpoint_row *row = find_endpoint(request, &call.tail);
    if (row == NULL || is_lacking(call.t, request)) {
        return tinker_reject(&call, 404, "Not Found");
    }
    call.kind = row->path;
    tk_arena_init(&call.arena, 0);
    bool is_answered = true;
    if (is_allowed(&call) && read_body(&call, row->schema)) {
        is_answered = row->run(&call);
    }
    tk_arena_dispose(&call.arena);
    return is_answered;
}

static void alarm_rang(void *user, fakeapi_conn *conn)
{
    tinker_turn_away(user, conn);
}

static void tick(void *user)
{
    tinker_futures_tick(user);
}

static void dispose(void *user)
{
    tinker *t = user;
    tinker_futures_dispose(t);
    tinker_sessions_dispose(t);
    while (t->failures != NULL) {
        tinker_failure *failure = t->failures;
        t->failures = failure->next;
        fakeapi_release(failure->kind);
        fakeapi_release(failure->message);
        fakeapi_release(failure->category);
        fakeapi_release(failure);
    }
    fakeapi_release((void *)(uintptr_t)t->options.config);
    fakeapi_release((void *)(uintptr_t)t->options.api_key);
    fakeapi_release(t->queue_state);
    fakeapi_release(t->queue_reason);
    fakeapi_release(t);
}

void fakeapi_tinker(fakeapi *api, const fakeapi_tinker_options *options)
{
    tinker *t = fakeapi_alloc(sizeof(*t));
    t->api = api;
    if (options != NULL) {
        t->options = *options;
    }
    const char *config = t->options.config != NULL ? t->options.config : "{}";
    t->options.config = fakeapi_dup_text(config);
    t->options.api_key = fakeapi_dup_text(t->options.api_key);
    if (t->options.poll_ms == 0) {
        t->options.poll_ms = TINKER_POLL_MS;
    }
    t->queue_state = fakeapi_dup_text("active");
    fakeapi_handler handler = {.answer = answer,
                               .alarm = alarm_rang,
                               .tick = tick,
                               .dispose = dispose,
                               .user = t};
    fakeapi_set_handler(api, &handler);
}

/* ---- what tests steer ---- */

/* The state of an api, locked; every function below ends with unlock(). */
static tinker *lock(fakeapi *api)
{
    pthread_mutex_lock(&api->lock);
    if (api->handler.answer != answer) {
        fakeapi_die("fakeapi_tinker was not called");
    }
    return api->handler.user;
}

static void unlock(tinker *t)
{
    fakeapi *api = t->api;
    bool has_due = t->due != NULL;
    pthread_mutex_unlock(&api->lock);
    if (has_due) {
        fakeapi_wake(api);
    }
}

void fakeapi_tinker_hold(fakeapi *api, bool hold)
{
    tinker *t = lock(api);
    t->options.hold = hold;
    unlock(t);
}

size_t fakeapi_tinker_pending(fakeapi *api)
{
    tinker *t = lock(api);
    size_t n = t->pending_n;
    unlock(t);
    return n;
}

size_t fakeapi_tinker_finish(fakeapi *api, size_t n)
{
    tinker *t = lock(api);
    size_t done = 0;
    for (; done < n && t->first_pending < t->futures.n; t->first_pending++) {
        tinker_future *future = t->futures.items[t->first_pending];
        if (future->state == TINKER_PENDING) {
            tinker_future_done(t, future, TINKER_DONE);
            done++;
        }
    }
    unlock(t);
    return done;
}

static bool end_one(fakeapi *api, const char *request_id, tinker_state state)
{
    tinker *t = lock(api);
    tinker_future *future = tinker_future_find(t, request_id);
    if (future != NULL) {
        tinker_future_done(t, future, state);
    }
    unlock(t);
    return future != NULL;
}

bool fakeapi_tinker_finish_one(fakeapi *api, const char *request_id)
{
    return end_one(api, request_id, TINKER_DONE);
}

bool fakeapi_tinker_lose(fakeapi *api, const char *request_id)
{
    return end_one(api, request_id, TINKER_LOST);
}

void fakeapi_tinker_fail(fakeapi *api, const char *kind, const char *message,
                         const char *category)
{
    tinker_failure *failure = fakeapi_alloc(sizeof(*failure));
    failure->kind = fakeapi_dup_text(kind);
    failure->message = fakeapi_dup_text(message);
    failure->category = fakeapi_dup_text(category);
    tinker *t = lock(api);
    tinker_failure **end = &t->failures;
    while (*end != NULL) {
        end = &(*end)->next;
    }
    *end = failure;
    unlock(t);
}

void fakeapi_tinker_queue(fakeapi *api, const char *state, const char *reason)
{
    tinker *t = lock(api);
    fakeapi_release(t->queue_state);
    fakeapi_release(t->queue_reason);
    t->queue_state = fakeapi_dup_text(state);
    t->queue_reason = fakeapi_dup_text(reason);
    unlock(t);
}

void fakeapi_tinker_turn_away(fakeapi *api)
{
    tinker *t = lock(api);
    for (size_t i = 0; i < t->futures.n; i++) {
        tinker_future_due(t, t->futures.items[i]);
    }
    unlock(t);
}

static const fakeapi_tinker_op *find_op(tinker *t, const char *model_id, size_t index,
                                        size_t *count)
{
    size_t n = 0;
    const fakeapi_tinker_op *found = NULL;
    for (size_t i = 0; i < t->ops.n; i++) {
        const fakeapi_tinker_op *op = t->ops.items[i];
        if (model_id == NULL || strcmp(op->model_id, model_id) == 0) {
            found = n++ == index ? op : found;
        }
    }
    *count = n;
    return found;
}

size_t fakeapi_tinker_ops(fakeapi *api, const char *model_id)
{
    size_t n = 0;
    tinker *t = lock(api);
    (void)find_op(t, model_id, SIZE_MAX, &n);
    unlock(t);
    return n;
}

bool fakeapi_tinker_op_at(fakeapi *api, const char *model_id, size_t index,
                          fakeapi_tinker_op *out)
{
    size_t n = 0;
    tinker *t = lock(api);
    const fakeapi_tinker_op *op = find_op(t, model_id, index, &n);
    if (op != NULL) {
        *out = *op;
    }
    unlock(t);
    return op != NULL;
}

size_t fakeapi_tinker_conflicts(fakeapi *api)
{
    tinker *t = lock(api);
    size_t n = t->conflicts;
    unlock(t);
    return n;
}
