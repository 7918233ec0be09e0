/* Each function of con_data.h over what the server has. Locks are taken one at a time. */
#include "server/api/srv_console.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "console/con.h"
#include "httpd/hd_http.h"
#include "httpd/hd_reply.h"
#include "server/api/srv_gateway.h"
#include "server/record/srv_notices.h"
#include "server/record/srv_rec_read.h"
#include "server/run/srv_catalog.h"
#include "server/run/srv_engine.h"
#include "server/run/srv_model.h"
#include "server/run/srv_state.h"
#include "server/store/srv_store.h"
#include "wire/path.h"

#define CHECKPOINTS_MAX 1000
#define SESSIONS_MAX    200

static tinkc_code no_memory(tk_err *err)
{
    return tk_err_set(err, TINKC_E_RATE_LIMIT, "the server's memory is full; try again");
}

/* ---- runs ---- */

/* The recordings do not know which models are loaded. */
static void set_state(srv *server, con_run *run, int64_t now_ms)
{
    tk_mutex_lock(&server->lock);
    bool loaded = srv_model_find(server, run->id) != NULL;
    tk_mutex_unlock(&server->lock);
    run->state = !loaded ? CON_ENDED
                 : run->step > 0 && now_ms - run->updated_ms <= SRV_REC_IDLE_MS
                     ? CON_TRAINING
                     : CON_IDLE;
}

static tinkc_code runs(void *user, con_runs *out, tk_arena *arena,
                       const con_runs_query *query, tk_err *err)
{
    srv *server = user;
    con_runs read;
    tinkc_code code = srv_rec_read_runs(&read, server->record, arena, query, err);
    int64_t now_ms = tk_clock_wall_us(NULL) / 1000;
    con_run *list =
        code == TINKC_OK ? tk_arena_array(arena, read.n + 1, sizeof(*list)) : NULL;
    if (list == NULL) {
        return code != TINKC_OK ? code : no_memory(err);
    }
    for (size_t i = 0; i < read.n; i++) {
        list[i] = read.p[i];
        set_state(server, &list[i], now_ms);
    }
    *out = (con_runs){list, read.n, read.total};
    return TINKC_OK;
}

static bool join(tk_str *out, tk_arena *arena, const char *before, tk_str run,
                 const srv_store_checkpoint *row)
{
    tk_buf buf;
    tk_buf_init(&buf, 4 * TK_KIB);
    tk_buf_printf(&buf, "%s" TK_STR_FMT "%s%s/" TK_STR_FMT, before, TK_STR_ARG(run),
                  run.n > 0 ? "/" : "", tk_path_kind_name(row->kind),
                  TK_STR_ARG(row->name));
    bool ok = buf.failure == TINKC_OK && tk_arena_dup(arena, out, buf.p, buf.n);
    tk_buf_dispose(&buf);
    return ok;
}

static bool fill_checkpoint(con_checkpoint *out, srv *server, tk_arena *arena,
                            const srv_store_checkpoint *row)
{
    *out = (con_checkpoint){
        .is_sampler = row->kind != TK_PATH_WEIGHTS,
        .is_public = row->is_public,
        .created_ms = row->created_us / 1000,
        .expires_ms = row->expires_us > 0 ? row->expires_us / 1000 : CON_UNKNOWN,
        .size_bytes = row->size_bytes,
    };
    bool ok = join(&out->id, arena, "", TK_STR(""), row) &&
              join(&out->path, arena, "tinker://", row->run_id, row);
    out->step =
        ok ? srv_rec_read_step(server->record, row->run_id, out->id) : CON_UNKNOWN;
    return ok;
}

static tinkc_code add_checkpoints(con_run_details *out, srv *server, tk_arena *arena,
                                  tk_err *err)
{
    const srv_store_filter filter = {.run_id = out->run.id,
                                     .page = {.limit = CHECKPOINTS_MAX}};
    srv_store_checkpoints rows = {0};
    tinkc_code code =
        srv_store_list_checkpoints(&rows, server->store, arena, &filter, err);
    con_checkpoint *list =
        code == TINKC_OK ? tk_arena_array(arena, rows.n + 1, sizeof(*list)) : NULL;
    if (list == NULL) {
        return code != TINKC_OK ? code : no_memory(err);
    }
    for (size_t i = 0; i < rows.n; i++) {
        if (!fill_checkpoint(&list[i], server, arena, &rows.p[i])) {
            return no_memory(err);
        }
    }
    out->checkpoints = list;
    out->n_checkpoints = rows.n;
    return TINKC_OK;
}

static tinkc_code run(void *user, con_run_details *out, tk_arena *arena, tk_str id,
                      tk_err *err)
{
    srv *server = user;
    tinkc_code code = srv_rec_read_run(out, server->record, arena, id, err);
    if (code == TINKC_OK) {
        set_state(server, &out->run, tk_clock_wall_us(NULL) / 1000);
        out->actions = true;
        code = add_checkpoints(out, server, arena, err);
    }
    return code;
}

static tinkc_code series(void *user, con_series_list *out, tk_arena *arena,
                         const con_series_query *query, tk_err *err)
{
    const srv *server = user;
    return srv_rec_read_series(out, server->record, arena, query, err);
}

/* ---- samples ---- */

static tinkc_code samples(void *user, con_samples *out, tk_arena *arena,
                          const con_samples_query *query, tk_err *err)
{
    const srv *server = user;
    return srv_rec_read_samples(out, server->record, arena, query, err);
}

/* Finds the base model of a name or of a path; NULL when there is none. */
static const srv_base *base_of(srv *server, tk_arena *arena, tk_str model)
{
    tk_path path;
    srv_store_run row;
    tk_err ignored = TK_ERR_INIT;
    if (tk_path_scheme(model) == 0) {
        return srv_catalog_find(server->catalog, model);
    }
    return tk_path_parse(&path, model, &ignored) == TINKC_OK &&
                   srv_store_get_run(&row, server->store, arena, path.run, &ignored) ==
                       TINKC_OK
               ? srv_catalog_find(server->catalog, row.base_model)
               : NULL;
}

static tinkc_code fill_texts(tk_str *texts, tk_arena *arena, const srv_base *base,
                             const int32_t *ids, size_t n, tk_err *err)
{
    tk_buf buf;
    bool ok = true;
    tk_buf_init(&buf, SRV_TOKEN_BYTES);
    for (size_t i = 0; ok && i < n; i++) {
        tk_buf_clear(&buf);
        bool known = base->tok != NULL && srv_text_bytes(base->tok, ids[i], &buf);
        tk_str text = known && buf.n > 0 ? tk_buf_str(&buf)
                      : known            ? TK_STR("")
                                         : TK_STR("\xEF\xBF\xBD");
        ok = buf.failure == TINKC_OK && tk_arena_dup(arena, &texts[i], text.p, text.n);
    }
    tk_buf_dispose(&buf);
    return ok ? TINKC_OK : no_memory(err);
}

static tinkc_code decode(void *user, tk_str *texts, tk_arena *arena, tk_str model,
                         const int32_t *ids, size_t n, tk_err *err)
{
    const srv_base *base = base_of(user, arena, model);
    if (base == NULL || base->tok == NULL) {
        return tk_err_set(err, TINKC_E_MISSING, "there is no tokenizer for this model");
    }
    return fill_texts(texts, arena, base, ids, n, err);
}

/* A model that is not served any more has no text: then the ids are all there is. */
static tinkc_code add_texts(con_tokens *tokens, tk_arena *arena, const srv_base *base,
                            tk_err *err)
{
    tk_str *texts = tk_arena_array(arena, tokens->n + 1, sizeof(*texts));
    if (texts == NULL) {
        return no_memory(err);
    }
    tokens->text = texts;
    return fill_texts(texts, arena, base, tokens->ids, tokens->n, err);
}

static tinkc_code sample(void *user, con_sample_details *out, tk_arena *arena, int64_t id,
                         tk_err *err)
{
    srv *server = user;
    tinkc_code code = srv_rec_read_sample(out, server->record, arena, id, err);
    const srv_base *base =
        code == TINKC_OK ? srv_catalog_find(server->catalog, out->sample.model) : NULL;
    if (base == NULL || base->tok == NULL) {
        return code;
    }
    code = add_texts(&out->prompt, arena, base, err);
    return code == TINKC_OK ? add_texts(&out->output, arena, base, err) : code;
}

static tinkc_code forget(void *user, int64_t *n, int64_t id, tk_err *err)
{
    const srv *server = user;
    return srv_rec_forget(server->record, n, id, err);
}

/* ---- episodes ---- */

static tinkc_code episodes(void *user, con_episodes *out, tk_arena *arena, tk_err *err)
{
    const srv *server = user;
    return srv_gateway_list(server->gateway, out, arena) ? TINKC_OK : no_memory(err);
}

/* ---- the server ---- */

static bool add_parts(con_server *out, const srv *server, tk_arena *arena)
{
    const hd_budget *memory = &server->memory;
    con_part *parts = tk_arena_array(arena, HD_PARTS_MAX, sizeof(*parts));
    if (parts == NULL) {
        return false;
    }
    for (unsigned i = 0; i < memory->n_parts; i++) {
        parts[i] = (con_part){tk_str_of(hd_budget_part_name(memory, i)),
                              atomic_load(&memory->parts[i].used)};
    }
    out->memory.limit = memory->max;
    out->memory.used = atomic_load(&memory->used);
    out->memory.peak = atomic_load(&memory->peak);
    out->memory.parts = parts;
    out->memory.n_parts = memory->n_parts;
    return true;
}

/* Why it is pending, in a word or a sentence. Under the lock. */
static tk_str why_of(const srv_future *future)
{
    const srv_wait wait = future->why != NULL ? future->why(future->owner)
                                              : (srv_wait){TK_QUEUE_ACTIVE, NULL};
    return wait.reason != NULL                        ? tk_str_of(wait.reason)
           : wait.state == TK_QUEUE_PAUSED_CAPACITY   ? TK_STR("waits for room")
           : wait.state == TK_QUEUE_PAUSED_RATE_LIMIT ? TK_STR("waits for its turn")
                                                      : TK_STR("active");
}

static bool fill_waiting(con_waiting *out, const srv_future *future, tk_arena *arena,
                         int64_t now)
{
    tk_str model, why = why_of(future);
    int64_t seq = 0;
    const char *colon = strrchr(future->id, ':');
    size_t n = colon != NULL ? (size_t)(colon - future->id) : strlen(future->id);
    bool numbered = colon != NULL && tk_str_to_i64(tk_str_of(colon + 1), &seq);
    *out = (con_waiting){
        .kind = tk_str_of(tk_future_info_of(future->type)->header),
        .seq = numbered ? seq : CON_UNKNOWN,
        .why = why,
        .age_ms = (now - future->added_ns) / TK_NS_PER_MS,
    };
    bool ok = tk_arena_dup(arena, &model, future->id, n);
    out->model = model;
    return ok;
}

/* Under the lock. */
static bool add_queue(con_server *out, srv *server, tk_arena *arena, con_waiting *items,
                      int64_t now)
{
    bool ok = true;
    uint64_t all = 0, sampled = 0;
    const tk_list *head = &server->futures.pending;
    for (tk_list *at = head->next; ok && at != head; at = at->next) {
        const srv_future *future = TK_CONTAINER_OF(at, srv_future, age);
        all++;
        sampled += future->type == TK_FUTURE_SAMPLE;
        if (out->queue.n_items < CON_WAITING_MAX) {
            ok = fill_waiting(&items[out->queue.n_items++], future, arena, now);
        }
    }
    out->queue.jobs = all - sampled;
    out->queue.polls = server->futures.n_waiting;
    out->queue.items = items;
    return ok;
}

static int64_t length_of(const tk_list *head)
{
    int64_t n = 0;
    for (const tk_list *at = head->next; at != head; at = at->next) {
        n++;
    }
    return n;
}

/* Under the lock. */
static bool add_sessions(con_server *out, srv *server, tk_arena *arena,
                         con_session *sessions, int64_t now)
{
    size_t cursor = 0;
    void *value = NULL;
    bool ok = true;
    while (ok && out->n_sessions < SESSIONS_MAX &&
           tk_map_next(&server->sessions, &cursor, NULL, &value)) {
        const srv_session *session = value;
        con_session *to = &sessions[out->n_sessions++];
        *to = (con_session){
            .age_ms = (now - session->made_ns) / TK_NS_PER_MS,
            .silent_ms = (now - session->seen_ns) / TK_NS_PER_MS,
            .models = length_of(&session->models),
            .samplers = length_of(&session->samplers),
        };
        ok = tk_arena_dup(arena, &to->id, session->id, strlen(session->id));
    }
    out->sessions = sessions;
    return ok;
}

/* What the server's lock guards. */
static bool add_state(con_server *out, srv *server, tk_arena *arena)
{
    con_waiting *items = tk_arena_array(arena, CON_WAITING_MAX, sizeof(*items));
    con_session *sessions = tk_arena_array(arena, SESSIONS_MAX, sizeof(*sessions));
    if (items == NULL || sessions == NULL) {
        return false;
    }
    int64_t now = tk_clock_mono_ns(NULL);
    tk_mutex_lock(&server->lock);
    bool ok = add_queue(out, server, arena, items, now) &&
              add_sessions(out, server, arena, sessions, now);
    tk_mutex_unlock(&server->lock);
    for (size_t i = 0; ok && i < out->n_sessions; i++) {
        srv_store_session row = {0};
        tk_err ignored = TK_ERR_INIT;
        if (srv_store_get_session(&row, server->store, arena, sessions[i].id, &ignored) ==
            TINKC_OK) {
            sessions[i].name =
                row.display_name.n > 0 ? row.display_name : (tk_str){NULL, 0};
        }
    }
    return ok;
}

static void add_counters(con_server *out, srv *server)
{
    srv_engine_stats engine;
    hd_http_stats http;
    srv_rec_stats rec;
    srv_engine_get_stats(server->engine, &engine);
    hd_http_get_stats(server->http, &http);
    srv_rec_get_stats(server->record, &rec);
    out->engine.busy = srv_engine_busy(server->engine);
    out->engine.jobs = engine.jobs;
    out->engine.samples = engine.samples;
    out->engine.trained_tokens = engine.tokens_trained;
    out->engine.prompt_tokens = engine.tokens_prompt;
    out->engine.sampled_tokens = engine.tokens_sampled;
    out->queue.samples = engine.samples_waiting;
    out->http.requests = http.total;
    out->http.active = http.active;
    out->http.connections = http.conns.open;
    for (size_t i = 0; i < HD_HTTP_CLASSES; i++) {
        out->http.answers[i] = http.answers[i];
    }
    out->recording.samples = rec.samples;
    out->recording.dropped = rec.dropped;
    out->recording.bytes = rec.bytes;
    out->recording.limit_bytes = rec.limit_bytes;
    out->recording.keep_days = rec.keep_days;
}

static tinkc_code state(void *user, con_server *out, tk_arena *arena, tk_err *err)
{
    srv *server = user;
    *out = (con_server){.started_ms = server->started_ms, .is_full = true};
    bool ok = add_parts(out, server, arena) && add_state(out, server, arena) &&
              srv_notices_list(server->notices, &out->errors, &out->n_errors, arena);
    add_counters(out, server);
    return ok ? TINKC_OK : no_memory(err);
}

static bool is_busy(void *user)
{
    const srv *server = user;
    return srv_engine_busy(server->engine) > 0.0;
}

/* ---- HTTP ---- */

hd_verdict srv_console_handle(hd_request *request)
{
    const srv *server = request->app;
    return con_handle(server->console, request);
}

bool srv_console_knows(void *app, tk_str cookies)
{
    const srv *server = app;
    return con_knows_cookie(server->console, cookies);
}

/* ---- life ---- */

tinkc_code srv_console_new(srv *server, tk_err *err)
{
    bool records = server->record != NULL;
    const con_config config = {
        .data = {.user = server,
                 .kind = "serve",
                 .runs = records ? runs : NULL,
                 .run = records ? run : NULL,
                 .series = records ? series : NULL,
                 .samples = samples,
                 .sample = sample,
                 .forget = forget,
                 .episodes = episodes,
                 .decode = decode,
                 .server = state,
                 .is_busy = is_busy},
        .budget = &server->memory,
        .api_key = server->api_key,
    };
    tinkc_code code = con_new(&server->console, &config, err);
    return code == TINKC_OK && records
               ? srv_rec_start(server->record, server->console, err)
               : code;
}
