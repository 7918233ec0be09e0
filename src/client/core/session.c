/* How a service becomes ready (docs/protocol.md §10): client/config, credential,
 * dynamic configuration, session; and what keeps it: heartbeats and the refresh of the
 * dynamic configuration. One step at a time, for all waiters together. */
#include <string.h>

#include "base/mem.h"
#include "client/core/core_int.h"
#include "wire/wire_error.h"

#define BODY_MAX_BYTES TK_MIB
#define BEAT_WARN_MS   120000
#define REFRESH_MIN_S  10
#define CONSOLE_URL    "https://tinker.thinkingmachines.ai"
#define SECONDS_MAX    (INT64_C(366) * 24 * 3600) /* what a server may ask us to wait */

static void advance(tk_core *core);

/* ---- waiters ---- */

static bool is_served(const tk_core *core, const tk_ready *ready)
{
    return core->phase >= (ready->need_session ? TK_PHASE_SESSION : TK_PHASE_BASIC);
}

/* Ends the wait of the callers that needed no more than this phase; on an error, of
 * all. */
static void tell(tk_core *core, tinkc_code code, const tk_err *err)
{
    tk_list told;
    tk_list_init(&told);
    for (tk_list *at = core->waiting.next, *next; at != &core->waiting; at = next) {
        next = at->next;
        if (code != TINKC_OK || is_served(core, TK_CONTAINER_OF(at, tk_ready, node))) {
            tk_list_remove(at);
            tk_list_push_back(&told, at);
        }
    }
    tk_list *node;
    while ((node = tk_list_pop_front(&told)) != NULL) {
        tk_ready *ready = TK_CONTAINER_OF(node, tk_ready, node);
        ready->done(ready, code, err);
    }
}

static void give_up(tk_core *core, const tk_err *err)
{
    core->advancing = false;
    tell(core, err->code, err);
}

static void reached(tk_core *core, tk_phase phase)
{
    core->phase = phase;
    core->advancing = false;
    tell(core, TINKC_OK, NULL);
    advance(core);
}

/* ---- calls ---- */

/* A later refresh of the dynamic configuration is tried once (docs/protocol.md §5.7). */
static void start_call(tk_core *core, tk_call *call, tk_buf *body, tk_endpoint_id id,
                       void (*done)(tk_call *call, const tk_call_answer *answer))
{
    *call = (tk_call){.core = core,
                      .endpoint = tk_endpoint_at(id),
                      .body = body->p,
                      .body_n = body->n,
                      .no_l2 = call == &core->refresh_call,
                      .pace = call == &core->beat_call ? &core->beat_pace : NULL,
                      .done = done,
                      .user = core};
    tk_call_start(call);
}

static tinkc_code decode(void *out, const tk_schema *schema, tk_arena *arena,
                         const tk_call_answer *answer, tk_err *err)
{
    if (answer->code != TINKC_OK) {
        *err = *answer->err;
        return answer->code;
    }
    return tk_schema_decode_text(out, schema, arena, answer->response->body, 0, err);
}

/* ---- heartbeats ---- */

/* Another session would not have the models and samplers of this one: none is made. */
static void end_session(tk_core *core)
{
    tk_loop_timer_clear(core->loop, &core->beat_timer);
    tk_log_write(core->log, TINKC_LOG_WARN, "session", "%s", core->over.message);
}

static bool has_ended(tk_core *core, const tk_call_answer *answer)
{
    int64_t most = core->config->heartbeat_failures;
    if (answer->outcome.status == 410) {
        tk_err_set(&core->over, TINKC_E_GONE, "session %s has ended: %s",
                   tk_core_session_id(core), answer->err->message);
        return true;
    }
    if (most > 0 && ++core->beat_failures >= most) {
        tk_err_set(
            &core->over, TINKC_E_GONE,
            "session %s is lost: %lld heartbeats in a row failed, the last with: %s",
            tk_core_session_id(core), (long long)most, answer->err->message);
        return true;
    }
    return false;
}

static void on_beat(tk_call *call, const tk_call_answer *answer)
{
    tk_core *core = call->user;
    int64_t now = tk_loop_now_ms(core->loop);
    if (answer->code == TINKC_OK) {
        core->beat_ok_ms = now;
        core->beat_failures = 0;
    } else if (answer->code == TINKC_E_CANCELLED) {
        return;
    } else if (has_ended(core, answer)) {
        end_session(core);
    } else if (now - core->beat_ok_ms > BEAT_WARN_MS) {
        tk_log_write(core->log, TINKC_LOG_WARN, "session",
                     "no heartbeat has been answered for %lld s: %s",
                     (long long)((now - core->beat_ok_ms) / 1000), answer->err->message);
    }
}

static void plan_beat(tk_core *core)
{
    if (core->config->heartbeat_ms >= 0) {
        tk_loop_timer_set(core->loop, &core->beat_timer,
                          tk_loop_now_ms(core->loop) + core->config->heartbeat_ms);
    }
}

static void fire_beat(tk_timer *timer)
{
    tk_core *core = TK_CONTAINER_OF(timer, tk_core, beat_timer);
    plan_beat(core);
    if (!tk_call_is_running(&core->beat_call)) {
        start_call(core, &core->beat_call, &core->beat_body, TK_EP_HEARTBEAT, on_beat);
    }
}

/* ---- dynamic configuration ---- */

static void plan_refresh(tk_core *core)
{
    int64_t seconds =
        TK_MIN(TK_MAX(core->dynamic.refresh_interval_sec.v, REFRESH_MIN_S), SECONDS_MAX);
    int64_t delay_ms = seconds * 1000;
    tk_loop_timer_set(core->loop, &core->refresh_timer,
                      tk_loop_now_ms(core->loop) + delay_ms);
}

/* Keeps what it had when the answer cannot be used. */
static tinkc_code read_dynamic(tk_core *core, const tk_call_answer *answer, tk_err *err)
{
    tk_arena arena;
    tk_dynamic_config said = {0};
    tk_arena_init(&arena, TK_MIB);
    tinkc_code code = decode(&said, &tk_msg_dynamic_config, &arena, answer, err);
    if (code == TINKC_OK) {
        core->dynamic = said;
        tk_cancel_enable(&core->cancels, said.sample_cancel_enabled.v &&
                                             tk_config_sdk_at_least(core->config, 36));
    }
    tk_arena_dispose(&arena);
    return code;
}

static void on_refresh(tk_call *call, const tk_call_answer *answer)
{
    tk_core *core = call->user;
    if (answer->code != TINKC_E_CANCELLED) {
        (void)read_dynamic(core, answer, &(tk_err)TK_ERR_INIT);
        plan_refresh(core);
    }
}

static void fire_refresh(tk_timer *timer)
{
    tk_core *core = TK_CONTAINER_OF(timer, tk_core, refresh_timer);
    start_call(core, &core->refresh_call, &core->config_body, TK_EP_DYNAMIC_CONFIG,
               on_refresh);
}

/* ---- session ---- */

static void log_messages(tk_core *core, const tk_create_session_response *said)
{
    const struct {
        const tk_f_str *text;
        tinkc_log_level level;
    } rows[] = {{&said->info_message, TINKC_LOG_INFO},
                {&said->warning_message, TINKC_LOG_WARN},
                {&said->error_message, TINKC_LOG_ERROR}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        if (rows[i].text->is == TK_SET && rows[i].text->v.n > 0) {
            tk_log_write(core->log, rows[i].level, "session", TK_STR_FMT,
                         TK_STR_ARG(rows[i].text->v));
        }
    }
}

static tinkc_code keep_session(tk_core *core, tk_str id, tk_err *err)
{
    tk_heartbeat_request beat = {.session_id = {TK_SET, id}};
    char *copy = tk_strndup(id.p, id.n);
    if (copy == NULL) {
        return tk_err_nomem(err);
    }
    tk_buf_clear(&core->beat_body);
    tinkc_code code =
        tk_schema_encode(&core->beat_body, &tk_msg_heartbeat_request, &beat, err);
    if (code != TINKC_OK) {
        tk_free(copy);
        return code;
    }
    atomic_store(&core->session_id, copy);
    return TINKC_OK;
}

/* The console shows the sessions of the hosted service only. */
static void log_session(tk_core *core)
{
    const char *id = tk_core_session_id(core);
    if (tk_str_is(tk_str_of(core->base_url), TK_CONFIG_DEFAULT_URL)) {
        tk_log_write(core->log, TINKC_LOG_INFO, "session",
                     "session %s: " CONSOLE_URL "/sessions/%s", id, id);
    } else {
        tk_log_write(core->log, TINKC_LOG_INFO, "session", "session %s", id);
    }
}

static void on_session(tk_call *call, const tk_call_answer *answer)
{
    tk_core *core = call->user;
    tk_err err = TK_ERR_INIT;
    tk_arena arena;
    tk_create_session_response said = {0};
    tk_arena_init(&arena, TK_MIB);
    tinkc_code code =
        decode(&said, &tk_msg_create_session_response, &arena, answer, &err);
    if (code == TINKC_OK) {
        log_messages(core, &said);
        code = keep_session(core, said.session_id.v, &err);
    }
    tk_arena_dispose(&arena);
    if (code != TINKC_OK) {
        give_up(core, &err);
        return;
    }
    log_session(core);
    tk_telemetry_begin(core->telemetry, tk_core_session_id(core));
    core->beat_ok_ms = tk_loop_now_ms(core->loop);
    plan_beat(core);
    plan_refresh(core);
    reached(core, TK_PHASE_SESSION);
}

/* {"key": "text", "other": null} as a raw value. */
static const tk_json *metadata_json(const tk_pairs *pairs, tk_arena *arena)
{
    tk_json_member *members = tk_arena_array(arena, pairs->n, sizeof(*members));
    tk_json *object = tk_arena_zalloc(arena, sizeof(*object));
    if (members == NULL || object == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < pairs->n; i++) {
        const char *value = pairs->items[i].value;
        members[i].key = tk_str_of(pairs->items[i].name);
        members[i].value =
            (tk_json){.type = value != NULL ? TK_JSON_STRING : TK_JSON_NULL};
        if (value != NULL) {
            members[i].value.as.string = tk_str_of(value);
        }
    }
    object->type = TK_JSON_OBJECT;
    object->as.object.members = members;
    object->as.object.n = pairs->n;
    return object;
}

static bool fill_session(tk_create_session_request *request, const tinkc_config *config,
                         tk_arena *arena)
{
    tk_str *tags = tk_arena_array(arena, config->tags.n, sizeof(*tags));
    const tk_json *metadata = metadata_json(&config->metadata, arena);
    if (tags == NULL || metadata == NULL) {
        return false;
    }
    for (size_t i = 0; i < config->tags.n; i++) {
        tags[i] = tk_str_of(config->tags.items[i].name);
    }
    request->tags = (tk_strs){tags, config->tags.n};
    request->user_metadata.is = TK_SET;
    request->user_metadata.v = metadata;
    request->sdk_version.is = TK_SET;
    request->sdk_version.v = tk_str_of(config->sdk_version);
    request->project_id = tk_f_str_of(config->project_id);
    request->display_name = tk_f_str_of(config->display_name);
    return true;
}

static tinkc_code encode_session(tk_core *core, tk_err *err)
{
    tk_create_session_request request = {0};
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    tk_buf_clear(&core->setup_body);
    tinkc_code code =
        fill_session(&request, core->config, &arena)
            ? tk_schema_encode(&core->setup_body, &tk_msg_create_session_request,
                               &request, err)
            : tk_err_nomem(err);
    tk_arena_dispose(&arena);
    return code;
}

static void create_session(tk_core *core)
{
    tk_err err = TK_ERR_INIT;
    if (encode_session(core, &err) != TINKC_OK) {
        give_up(core, &err);
        return;
    }
    start_call(core, &core->setup_call, &core->setup_body, TK_EP_CREATE_SESSION,
               on_session);
}

/* ---- configuration and credential ---- */

static void on_dynamic(tk_call *call, const tk_call_answer *answer)
{
    tk_core *core = call->user;
    tk_err err = TK_ERR_INIT;
    bool is_absent = tk_wire_error_is_absent(answer->outcome.status);
    tk_manners_learn(&core->manners, core->log, TK_MANNER_ANY_ORDER, is_absent);
    if (!is_absent && read_dynamic(core, answer, &err) != TINKC_OK) {
        give_up(core, &err);
        return;
    }
    reached(core, TK_PHASE_BASIC);
}

static void on_credential(tk_auth_waiter *waiter, const char *credential, tinkc_code code,
                          const tk_err *err)
{
    tk_core *core = TK_CONTAINER_OF(waiter, tk_core, setup_auth);
    (void)credential;
    if (code != TINKC_OK) {
        give_up(core, err);
        return;
    }
    start_call(core, &core->setup_call, &core->config_body, TK_EP_DYNAMIC_CONFIG,
               on_dynamic);
}

static void apply_flags(tk_core *core)
{
    const tk_client_config *flags = &core->flags;
    int64_t pause_s =
        TK_MIN(flags->billing_exception_max_pause_duration_sec.v, SECONDS_MAX);
    core->billing.max_pause_ms = pause_s * 1000;
    tk_budget_init(&core->response_budget,
                   flags->inflight_response_bytes_semaphore_size.v);
    tk_budget_init(&core->fwdbwd_budget, flags->fwdbwd_dispatch_bytes_semaphore_size.v);
}

/* A server without the route has the defaults. */
static tinkc_code read_config(tk_core *core, const tk_call_answer *answer, tk_err *err)
{
    bool is_absent = answer->code != TINKC_OK && tk_wire_error_is_of_route(answer->err);
    tk_arena_dispose(&core->flags_arena);
    tk_schema_init(&core->flags, &tk_msg_client_config);
    if (is_absent) {
        tk_manners_learn(&core->manners, core->log, TK_MANNER_NO_CONFIG, true);
        return TINKC_OK;
    }
    tinkc_code code =
        decode(&core->flags, &tk_msg_client_config, &core->flags_arena, answer, err);
    if (code != TINKC_OK) {
        tk_schema_init(&core->flags, &tk_msg_client_config);
    }
    return code;
}

static void on_config(tk_call *call, const tk_call_answer *answer)
{
    tk_core *core = call->user;
    tk_err err = TK_ERR_INIT;
    if (read_config(core, answer, &err) != TINKC_OK) {
        give_up(core, &err);
        return;
    }
    apply_flags(core);
    core->setup_auth.ready = on_credential;
    tk_auth_setup(core->auth, core->flags.pjwt_auth_enabled.v,
                  tk_str_is(core->flags.credential_default_source.v, "credential_cmd"),
                  &core->setup_auth);
}

static void fetch_config(tk_core *core)
{
    tk_err err = TK_ERR_INIT;
    tk_client_config_request request = {
        .sdk_version = {TK_SET, tk_str_of(core->config->sdk_version)}};
    tk_buf_clear(&core->config_body);
    if (tk_schema_encode(&core->config_body, &tk_msg_client_config_request, &request,
                         &err) != TINKC_OK) {
        give_up(core, &err);
        return;
    }
    start_call(core, &core->setup_call, &core->config_body, TK_EP_CLIENT_CONFIG,
               on_config);
}

/* ---- the machine ---- */

static bool session_is_wanted(const tk_core *core)
{
    for (tk_list *at = core->waiting.next; at != &core->waiting; at = at->next) {
        if (TK_CONTAINER_OF(at, tk_ready, node)->need_session) {
            return true;
        }
    }
    return false;
}

static void advance(tk_core *core)
{
    if (core->advancing || tk_list_is_empty(&core->waiting)) {
        return;
    }
    if (core->phase == TK_PHASE_NONE) {
        core->advancing = true;
        fetch_config(core);
    } else if (core->phase == TK_PHASE_BASIC && session_is_wanted(core)) {
        core->advancing = true;
        create_session(core);
    }
}

void tk_core_when_ready(tk_core *core, tk_ready *ready)
{
    tk_list_init(&ready->node);
    if (ready->need_session && core->over.code != TINKC_OK) {
        ready->done(ready, core->over.code, &core->over);
        return;
    }
    if (is_served(core, ready)) {
        ready->done(ready, TINKC_OK, NULL);
        return;
    }
    tk_list_push_back(&core->waiting, &ready->node);
    advance(core);
}

void tk_core_forget_ready(tk_core *core, tk_ready *ready)
{
    (void)core;
    if (ready->node.next != NULL) {
        tk_list_remove(&ready->node);
    }
}

void tk_session_init(tk_core *core)
{
    tk_buf_init(&core->config_body, BODY_MAX_BYTES);
    tk_buf_init(&core->setup_body, BODY_MAX_BYTES);
    tk_buf_init(&core->beat_body, BODY_MAX_BYTES);
    tk_timer_init(&core->beat_timer, fire_beat);
    tk_timer_init(&core->refresh_timer, fire_refresh);
    tk_schema_init(&core->dynamic, &tk_msg_dynamic_config);
}

void tk_core_rest(tk_core *core)
{
    tk_loop_timer_clear(core->loop, &core->beat_timer);
    tk_loop_timer_clear(core->loop, &core->refresh_timer);
    tk_call_cancel(&core->beat_call);
    tk_call_cancel(&core->refresh_call);
}

void tk_session_shutdown(tk_core *core)
{
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, TINKC_E_CANCELLED, "the service was closed");
    tk_core_rest(core);
    tk_call_cancel(&core->setup_call);
    give_up(core, &err);
    tk_buf_dispose(&core->config_body);
    tk_buf_dispose(&core->setup_body);
    tk_buf_dispose(&core->beat_body);
}
