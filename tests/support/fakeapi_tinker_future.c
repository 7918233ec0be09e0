/* Idempotency, futures and the log of applied work (docs/protocol.md §4, §11 rows 6-12
 * and 16). A request is known by the hash of its scope and number and compared by the
 * hash of its payload; results are made when the work is accepted and sent when it is
 * done. */
#include <string.h>

#include "support/fakeapi_tinker_int.h"

enum { POLL_ALLOWS_METADATA = 1u << 0, POLL_TAKES_PROTO = 1u << 1 };

/* ---- memory of requests ---- */

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t n)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ p[i]) * UINT64_C(1099511628211);
    }
    return hash;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
    return hash_bytes(hash, text, strlen(text) + 1);
}

#define HASH_START UINT64_C(14695981039346656037)

static uint64_t hash_key(const char *scope, int64_t number)
{
    uint64_t hash = hash_bytes(hash_text(HASH_START, scope), &number, sizeof(number));
    return hash != 0 ? hash : 1;
}

/* The payload without formatting, and without what may differ in a repetition: the
 * sampling number of an ephemeral save (docs/protocol.md §2.3). */
static uint64_t hash_payload(tinker_call *call)
{
    uint64_t hash = hash_text(HASH_START, call->kind);
    const fakeapi_request *request = call->request;
    if (call->body == NULL) {
        return hash_bytes(hash, request->body, request->body_n);
    }
    bool is_save = strcmp(call->kind, "save_weights_for_sampler") == 0;
    tk_buf text;
    tk_buf_init(&text, TK_JSON_MAX_BYTES);
    for (size_t i = 0; i < call->body->as.object.n; i++) {
        const tk_json_member *member = &call->body->as.object.members[i];
        if (is_save && tk_str_is(member->key, "sampling_session_seq_id")) {
            continue;
        }
        tk_json_writer w;
        tk_json_writer_init(&w, &text);
        tk_json_put_str(&w, member->key);
        tk_json_writer_init(&w, &text);
        tk_json_put_value(&w, &member->value);
    }
    hash = hash_bytes(hash, text.p, text.n);
    tk_buf_dispose(&text);
    return hash;
}

static tinker_memory *slot_of(tinker *t, uint64_t key)
{
    size_t mask = t->memory_capacity - 1;
    size_t at = (size_t)key & mask;
    while (t->memory[at].key != 0 && t->memory[at].key != key) {
        at = (at + 1) & mask;
    }
    return &t->memory[at];
}

static void make_room(tinker *t)
{
    if (t->memory_n * 2 < t->memory_capacity) {
        return;
    }
    tinker_memory *old = t->memory;
    size_t old_capacity = t->memory_capacity;
    t->memory_capacity = old_capacity > 0 ? old_capacity * 2 : 256;
    t->memory = fakeapi_alloc(t->memory_capacity * sizeof(*t->memory));
    for (size_t i = 0; i < old_capacity; i++) {
        if (old[i].key != 0) {
            *slot_of(t, old[i].key) = old[i];
        }
    }
    fakeapi_release(old);
}

/* The slot of a request: filled by an earlier one, or empty. NULL: it has no number. */
static tinker_memory *recall(tinker_call *call, const char *scope, int64_t number)
{
    if (number < 0) {
        return NULL;
    }
    make_room(call->t);
    return slot_of(call->t, hash_key(scope, number));
}

static void fill_slot(tinker_call *call, const char *scope, int64_t number,
                      tinker_memory memory)
{
    tinker_memory *slot = recall(call, scope, number);
    if (slot != NULL) {
        memory.key = hash_key(scope, number);
        memory.payload = hash_payload(call);
        call->t->memory_n += slot->key == 0;
        *slot = memory;
    }
}

static void reject_reuse(tinker_call *call)
{
    call->t->conflicts++;
    tinker_reject(call, 409, "sequence number reused with another request");
}

tinker_recall tinker_remember(tinker_call *call, const char *scope, int64_t number,
                              size_t *value)
{
    tinker_memory *slot = recall(call, scope, number);
    if (slot == NULL || slot->key == 0) {
        fill_slot(call, scope, number, (tinker_memory){.value = *value, .op = SIZE_MAX});
        return TINKER_NEW;
    }
    if (slot->payload != hash_payload(call)) {
        reject_reuse(call);
        return TINKER_CONFLICT;
    }
    *value = slot->value;
    return TINKER_REPEATED;
}

/* ---- submissions ---- */

static bool answer_future(tinker_call *call, const tinker_future *future,
                          const char *scope)
{
    fakeapi_bytes *body = &call->out->body;
    fakeapi_bytes_printf(body, "{\"request_id\":\"%s\"", future->id);
    if (tinker_model_find(call->t, scope) != NULL) {
        fakeapi_bytes_puts(body, ",\"model_id\":");
        tinker_put_str(body, scope);
    }
    bool is_sample = call->kind != NULL && strcmp(call->kind, "sample") == 0;
    call->out->status = call->t->options.other_success ? 202 : 200;
    if (is_sample && !call->t->options.no_sequence_ids) {
        int64_t n = tinker_get_int(call->body, "num_samples", 1);
        fakeapi_bytes_puts(body, ",\"sample_sequence_ids\":[");
        for (int64_t i = 0; i < n; i++) {
            fakeapi_bytes_printf(body, "%s\"%s:%lld\"", i > 0 ? "," : "", future->id,
                                 (long long)i);
        }
        fakeapi_bytes_puts(body, "]");
    }
    fakeapi_bytes_puts(body, "}");
    return true;
}

static tinker_future *future_add(tinker *t, fakeapi_bytes json, fakeapi_bytes proto)
{
    fakeapi_bytes id = {0};
    fakeapi_bytes_printf(&id, "future-%zu", t->futures.n);
    (void)fakeapi_bytes_cstr(&id);
    tinker_future *future = fakeapi_alloc(sizeof(*future));
    future->id = id.p;
    future->json = json;
    future->proto = proto;
    future->has_proto = proto.n > 0;
    future->state = t->options.hold ? TINKER_PENDING : TINKER_DONE;
    t->pending_n += t->options.hold;
    return tinker_table_add(&t->futures, future);
}

static bool take_failure(tinker_call *call, fakeapi_bytes *json)
{
    for (tinker_failure **at = &call->t->failures; *at != NULL; at = &(*at)->next) {
        tinker_failure *failure = *at;
        if (!fakeapi_matches(failure->kind, call->kind)) {
            continue;
        }
        fakeapi_bytes_puts(json, "{\"error\":");
        tinker_put_str(json, failure->message);
        fakeapi_bytes_puts(json, ",\"category\":");
        tinker_put_str(json, failure->category);
        fakeapi_bytes_puts(json, "}");
        *at = failure->next;
        fakeapi_release(failure->kind);
        fakeapi_release(failure->message);
        fakeapi_release(failure->category);
        fakeapi_release(failure);
        return true;
    }
    return false;
}

bool tinker_begin(tinker_call *call, const tinker_work *work)
{
    tinker *t = call->t;
    tinker_memory *slot = recall(call, work->scope, work->number);
    if (slot != NULL && slot->key != 0) {
        if (slot->payload != hash_payload(call)) {
            reject_reuse(call);
            return true;
        }
        if (slot->op != SIZE_MAX) {
            ((fakeapi_tinker_op *)t->ops.items[slot->op])->resent++;
        }
        return answer_future(call, t->futures.items[slot->value], work->scope);
    }
    fakeapi_bytes json = {0};
    if (!take_failure(call, &json)) {
        return false;
    }
    tinker_future *future = future_add(t, json, (fakeapi_bytes){0});
    future->is_failed = true;
    fill_slot(call, work->scope, work->number,
              (tinker_memory){.value = t->futures.n - 1, .op = SIZE_MAX});
    return answer_future(call, future, work->scope);
}

bool tinker_submit(tinker_call *call, tinker_work *work)
{
    tinker *t = call->t;
    tinker_future *future = future_add(t, work->json, work->proto);
    fakeapi_tinker_op *op = fakeapi_alloc(sizeof(*op));
    *op = (fakeapi_tinker_op){.model_id = fakeapi_dup_text(work->scope),
                              .kind = call->kind,
                              .seq_id = work->number,
                              .datums = work->datums,
                              .request_id = future->id};
    tinker_table_add(&t->ops, op);
    fill_slot(call, work->scope, work->number,
              (tinker_memory){.value = t->futures.n - 1, .op = t->ops.n - 1});
    return answer_future(call, future, work->scope);
}

/* ---- polls ---- */

tinker_future *tinker_future_find(tinker *t, const char *id)
{
    static const char prefix[] = "future-";
    if (strncmp(id, prefix, sizeof(prefix) - 1) != 0) {
        return NULL;
    }
    int64_t index = -1;
    bool is_number = tk_str_to_i64(tk_str_of(id + sizeof(prefix) - 1), &index);
    bool is_known = is_number && index >= 0 && (size_t)index < t->futures.n;
    return is_known ? t->futures.items[index] : NULL;
}

static void put_try_again(const tinker *t, const tinker_future *future,
                          fakeapi_answer *out)
{
    out->status = 408;
    fakeapi_bytes_printf(
        &out->body,
        "{\"type\":\"try_again\",\"request_id\":\"%s\",\"queue_state\":", future->id);
    tinker_put_str(&out->body, t->queue_state);
    fakeapi_bytes_puts(&out->body, ",\"queue_state_reason\":");
    tinker_put_str(&out->body, t->queue_reason);
    fakeapi_bytes_puts(&out->body, "}");
}

static void put_result(const tinker *t, tinker_future *future, unsigned flags,
                       fakeapi_answer *out)
{
    if (future->state == TINKER_LOST) {
        out->status = 410;
        fakeapi_bytes_puts(&out->body, "{\"detail\":\"The result is gone\"}");
        return;
    }
    if (future->is_failed && t->options.failure_status != 0) {
        out->status = t->options.failure_status;
    }
    bool is_proto =
        future->has_proto && !t->options.json_results && (flags & POLL_TAKES_PROTO) != 0;
    const fakeapi_bytes *result = is_proto ? &future->proto : &future->json;
    size_t above = t->options.metadata_above;
    if (above > 0 && result->n > above && (flags & POLL_ALLOWS_METADATA) != 0) {
        fakeapi_bytes_printf(&out->body,
                             "{\"status\":\"complete_metadata\",\"request_id\":\"%s\","
                             "\"response_payload_size\":%zu}",
                             future->id, result->n);
        return;
    }
    out->content_type = is_proto ? "application/x-protobuf" : NULL;
    fakeapi_bytes_put(&out->body, result->p, result->n);
    future->is_fetched = true;
}

bool tinker_is_fetched(tinker *t, const char *model_id)
{
    for (size_t i = 0; i < t->ops.n; i++) {
        const fakeapi_tinker_op *op = t->ops.items[i];
        const tinker_future *future = tinker_future_find(t, op->request_id);
        if (strcmp(op->model_id, model_id) == 0 && !future->is_fetched) {
            return false;
        }
    }
    return true;
}

bool tinker_retrieve(tinker_call *call)
{
    const char *id = tinker_need_str(call, "request_id");
    if (id == NULL) {
        return true;
    }
    tinker_future *future = tinker_future_find(call->t, id);
    if (future == NULL) {
        return tinker_reject(call, 404, "Future not found");
    }
    const char *accept = fakeapi_header(call->request, "accept");
    bool takes_proto = accept != NULL && strstr(accept, "application/x-protobuf") != NULL;
    bool allows_metadata = tinker_get_bool(call->body, "allow_metadata_only", false);
    unsigned flags = (takes_proto ? (unsigned)POLL_TAKES_PROTO : 0) |
                     (allows_metadata ? (unsigned)POLL_ALLOWS_METADATA : 0);
    if (future->state != TINKER_PENDING) {
        put_result(call->t, future, flags, call->out);
        return true;
    }
    call->conn->handler_flags = flags;
    fakeapi_waiters_add(&future->polls, call->conn);
    fakeapi_conn_alarm(call->conn, call->t->options.poll_ms);
    return false;
}

/* The future that a parked connection polls. */
static tinker_future *polled_by(const fakeapi_conn *conn)
{
    return TK_CONTAINER_OF(conn->waits_in, tinker_future, polls);
}

void tinker_turn_away(tinker *t, fakeapi_conn *conn)
{
    fakeapi_answer answer = {.status = 200};
    put_try_again(t, polled_by(conn), &answer);
    fakeapi_conn_answer(conn, &answer);
}

void tinker_future_due(tinker *t, tinker_future *future)
{
    if (!future->is_due && future->polls.n > 0) {
        future->is_due = true;
        future->next_due = t->due;
        t->due = future;
    }
}

void tinker_future_done(tinker *t, tinker_future *future, tinker_state state)
{
    t->pending_n -= future->state == TINKER_PENDING;
    future->state = state;
    tinker_future_due(t, future);
}

/* A connection that gets its answer may send its next poll at once, even for the same
 * future: only those that wait now are served. */
static void serve_polls(tinker *t, tinker_future *future)
{
    for (size_t n = future->polls.n; n > 0 && future->polls.first != NULL; n--) {
        fakeapi_conn *conn = future->polls.first;
        if (future->state == TINKER_PENDING) {
            tinker_turn_away(t, conn);
        } else {
            fakeapi_answer answer = {.status = 200};
            put_result(t, future, conn->handler_flags, &answer);
            fakeapi_conn_answer(conn, &answer);
        }
    }
}

/* What becomes due while polls are served waits for the next tick. */
void tinker_futures_tick(tinker *t)
{
    tinker_future *due = t->due;
    t->due = NULL;
    while (due != NULL) {
        tinker_future *future = due;
        due = future->next_due;
        future->is_due = false;
        serve_polls(t, future);
    }
}

void tinker_futures_dispose(tinker *t)
{
    for (size_t i = 0; i < t->futures.n; i++) {
        tinker_future *future = t->futures.items[i];
        fakeapi_release(future->id);
        fakeapi_bytes_dispose(&future->json);
        fakeapi_bytes_dispose(&future->proto);
        fakeapi_release(future);
    }
    for (size_t i = 0; i < t->ops.n; i++) {
        fakeapi_tinker_op *op = t->ops.items[i];
        fakeapi_release((void *)(uintptr_t)op->model_id);
        fakeapi_release(op);
    }
    fakeapi_release(t->futures.items);
    fakeapi_release(t->ops.items);
    fakeapi_release(t->memory);
}
