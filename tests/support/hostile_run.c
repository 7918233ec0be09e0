/* See hostile_run.h. The answers are made before the allocations are counted. */
#include "support/hostile_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/core/service.h"
#include "support/failmem.h"

#define SETUP_MS  60000  /* for the clients that an operation needs, answered honestly */
#define IDLE_MS   5000   /* after the operation */
#define WATCH_MS  130000 /* the same, when the background is what is answered badly */
#define STEP_MS   50     /* of time that passes by itself */
#define TURNS     6      /* a task may post a task; none of them waits longer */
#define SPINS_MAX 20000  /* turns of the loop in one moment */

typedef struct runner {
    hostile_world world;
    fakeclock clock;
    hostile_net net;
    const hostile_op *op;
    hostile_answer config; /* client/config, when the operation wants a special one */
    size_t key;            /* HOSTILE_NO_KEY: none is hostile */
    const hostile_answer *hostile;
    size_t given; /* times that it was */
    bool is_armed;
    size_t logged;
    const char *trouble; /* why it cannot go on */
} runner;

/* ---- the server ---- */

static const hostile_answer *answer(void *user, size_t key)
{
    runner *r = user;
    bool is_hostile = r->is_armed && key == r->key;
    if (is_hostile && (!r->hostile->is_once || r->given == 0)) {
        r->given++;
        return r->hostile;
    }
    return key == TK_EP_CLIENT_CONFIG && r->op->config != NULL ? &r->config
                                                               : hostile_honest(key);
}

static void init_config(runner *r)
{
    if (r->op->config != NULL) {
        r->config = *hostile_honest(TK_EP_CLIENT_CONFIG);
        r->config.body =
            (tk_buf){.p = (char *)(uintptr_t)r->op->config, .n = strlen(r->op->config)};
    }
}

/* ---- the client ---- */

static void on_log(tinkc_log_level level, const char *component, const char *line,
                   void *user)
{
    runner *r = user;
    (void)level;
    r->logged += strlen(component) + strlen(line);
}

static void must(bool ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "hostile: %s failed on honest answers\n", what);
        exit(1);
    }
}

static void open_service(runner *r, bool is_dumped)
{
    tinkc_config *config = NULL;
    tk_err err = TK_ERR_INIT;
    bool is_told = r->key == TK_EP_TELEMETRY;
    const char *const options[] = {"base_url",
                                   "http://127.0.0.1:1",
                                   "api_key",
                                   "tml-test",
                                   "sdk_version",
                                   "0.36.0",
                                   "loop",
                                   "manual",
                                   "stuck_total",
                                   "120000",
                                   "stuck_silent",
                                   "60000",
                                   "log_level",
                                   "debug",
                                   "wire_dump",
                                   is_dumped ? "true" : "false",
                                   "telemetry",
                                   is_told ? "true" : "false",
                                   "telemetry_drain",
                                   "0",
                                   "finish_session",
                                   "false", /* an operation here */
                                   NULL};
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK;
    for (size_t i = 0; ok && options[i] != NULL; i += 2) {
        ok = tinkc_config_set(config, options[i], options[i + 1], NULL) == TINKC_OK;
    }
    tinkc_config_set_log(config, on_log, r);
    tk_core_seams seams = {
        .clock = &r->clock.clock, .transport = &r->net.transport, .seed = 1};
    must(ok && tk_service_open(&r->world.service, config, &seams, &err) == TINKC_OK,
         "opening");
    tinkc_config_free(&config);
}

static int64_t now_ms(const runner *r)
{
    return tk_clock_mono_ms(&r->clock.clock);
}

static void process(runner *r, int turns)
{
    for (int i = 0; i < turns; i++) {
        if (tinkc_service_process(r->world.service, NULL) != TINKC_OK) {
            r->trouble = "the loop cannot be run";
        }
    }
}

/* Lets time pass until the future is done (NULL: until `end_ms`). False when it is not
 * done by then, or cannot become so. */
static bool drive(runner *r, tinkc_future *future, int64_t end_ms)
{
    size_t spins = 0;
    while (r->trouble == NULL && !tinkc_future_is_done(future)) {
        process(r, TURNS);
        int64_t next = tinkc_service_deadline_ms(r->world.service);
        int64_t left = end_ms - now_ms(r);
        if (left <= 0 || tinkc_future_is_done(future)) {
            break;
        }
        if (next == 0) {
            r->trouble = ++spins > SPINS_MAX ? "the loop spins" : NULL;
        } else if (next < 0 && future != NULL) {
            r->trouble = "nothing is left that could end it";
        } else {
            spins = 0;
            fakeclock_advance_ms(&r->clock, next < 0 ? left : TK_MIN(next, left));
        }
    }
    return r->trouble == NULL && tinkc_future_is_done(future);
}

void hostile_inputs(hostile_world *w)
{
    static const int32_t tokens[] = {1, 2, 3, 4};
    tinkc_model_input *input = NULL;
    must(tinkc_model_input_from_tokens(&w->prompt, tokens, 4, NULL) == TINKC_OK &&
             tinkc_model_input_from_tokens(&input, tokens, 1, NULL) == TINKC_OK &&
             tinkc_datum_new(&w->datum, &input, NULL) == TINKC_OK &&
             tinkc_datum_set_i32(w->datum, "target_tokens", tokens, 1, NULL) == TINKC_OK,
         "inputs");
}

/* The client that the operation needs. */
static void prepare(runner *r)
{
    hostile_world *w = &r->world;
    tinkc_future *future = NULL;
    hostile_inputs(w);
    if (r->op->need == HOSTILE_SAMPLING) {
        future = tinkc_service_create_sampling(w->service, "m", NULL);
        must(drive(r, future, now_ms(r) + SETUP_MS) &&
                 tinkc_future_take_sampling(&w->sampling, future, NULL) == TINKC_OK,
             "create_sampling");
    } else if (r->op->need == HOSTILE_TRAINING) {
        future = tinkc_service_create_training(w->service, "m", NULL);
        must(drive(r, future, now_ms(r) + SETUP_MS) &&
                 tinkc_future_take_training(&w->training, future, NULL) == TINKC_OK,
             "create_training");
    }
    tinkc_future_free(&future);
}

void hostile_clean_up(hostile_world *w)
{
    tinkc_sampling_close(&w->sampling);
    tinkc_training_close(&w->training);
    tinkc_model_input_free(&w->prompt);
    tinkc_datum_free(&w->datum);
    tinkc_service_close(&w->service);
}

/* ---- the operation ---- */

static tinkc_code operate(runner *r, int64_t total_ms, tinkc_error **err)
{
    tinkc_code code = TINKC_OK;
    if (r->op->call != NULL) {
        r->net.idle_step_ms = STEP_MS;
        r->net.stop_ms = now_ms(r) + total_ms;
        code = r->op->call(&r->world, err);
        r->net.idle_step_ms = 0;
        return code;
    }
    tinkc_future *future = r->op->start(&r->world);
    if (!drive(r, future, now_ms(r) + total_ms)) {
        r->trouble = r->trouble != NULL ? r->trouble : "it does not end";
        tinkc_future_cancel(future);
        process(r, 8);
    } else if (r->op->read != NULL) {
        code = r->op->read(&r->world, future, err);
    } else {
        *err = tinkc_future_take_error(future);
        code = tinkc_error_code(*err);
    }
    tinkc_future_free(&future);
    return code;
}

static bool is_background(size_t key)
{
    return key == TK_EP_HEARTBEAT || key == TK_EP_DYNAMIC_CONFIG ||
           key == TK_EP_TELEMETRY || key == TK_EP_AUTH_TOKEN ||
           key == TK_EP_CANCEL_FUTURE;
}

/* ---- the judgement ---- */

void hostile_find(hostile_verdict *out, const char *format, ...)
{
    va_list args;
    if (out->finding[0] == '\0') {
        va_start(args, format);
        (void)vsnprintf(out->finding, sizeof(out->finding), format, args);
        va_end(args);
    }
}

void hostile_judge_error(hostile_verdict *out, const tinkc_error *err)
{
    if (out->code == TINKC_OK) {
        return;
    }
    const char *text = tinkc_error_message(err);
    if (err == NULL || tinkc_error_code(err) != out->code || text == NULL ||
        text[0] == '\0') {
        hostile_find(out, "code %d without a text of its own", (int)out->code);
    }
    if (out->code >= TINKC_E_INTERNAL) {
        hostile_find(out, "code %d: %s", (int)out->code, text);
    }
    if (out->code == TINKC_E_INVALID || out->code == TINKC_E_STATE) {
        hostile_find(out, "the server's mistake is called the caller's: %s", text);
    }
}

static void judge_pace(hostile_verdict *out, const runner *r)
{
    for (size_t key = 0; key <= HOSTILE_KEYS; key++) {
        const hostile_count *count = &r->net.counts[key];
        out->most_per_s = TK_MAX(out->most_per_s, count->most_per_s);
        if (count->most_per_s > HOSTILE_PER_S) {
            hostile_find(out, "%zu requests \"%s\" in a second", count->most_per_s,
                         hostile_key_name(key));
        }
        if (is_background(key) && count->least_gap_ms < HOSTILE_GAP_MS) {
            hostile_find(out, "two requests \"%s\" within %lld ms", hostile_key_name(key),
                         (long long)count->least_gap_ms);
        }
    }
}

static void judge(hostile_verdict *out, const runner *r, int64_t total_ms, size_t leaked)
{
    out->sent = r->net.sent;
    /* What never ends is counted, not stored. */
    out->peak_bytes = TK_MAX(failmem_peak_bytes(), r->net.most_bytes);
    if (r->trouble != NULL) {
        hostile_find(out, "%s after %lld s and %zu requests", r->trouble,
                     (long long)(out->elapsed_ms / 1000), out->sent);
    }
    if (out->elapsed_ms >= total_ms) {
        hostile_find(out, "took %lld s", (long long)(out->elapsed_ms / 1000));
    }
    judge_pace(out, r);
    if (out->peak_bytes > HOSTILE_PEAK_BYTES) {
        hostile_find(out, "%zu bytes at a time", out->peak_bytes);
    }
    if (leaked != 0) {
        hostile_find(out, "%zu blocks are left", leaked);
    }
}

/* How long the documents let it take. */
static int64_t total_of(const hostile_answer *hostile)
{
    bool is_billing = hostile != NULL && hostile->status == 402;
    bool is_hint = hostile != NULL && hostile->fields_n > 0;
    return HOSTILE_TOTAL_MS + (is_billing ? HOSTILE_BILLING_MS : 0) +
           (is_hint ? HOSTILE_HINTS_MS : 0);
}

/* One run; `asked` notes what the operation asked for, or is NULL. */
static void run(hostile_verdict *out, runner *r, bool is_dumped, bool *asked)
{
    tinkc_error *err = NULL;
    hostile_count before[HOSTILE_KEYS];
    int64_t total_ms = total_of(r->hostile);
    failmem_start();
    fakeclock_init(&r->clock);
    hostile_net_init(&r->net, &r->clock);
    r->net.answer = answer;
    r->net.user = r;
    r->net.calls = &r->world.calls;
    open_service(r, is_dumped);
    prepare(r);
    memcpy(before, r->net.counts, sizeof(before));
    r->is_armed = r->hostile != NULL;
    int64_t began_ms = now_ms(r);
    out->code = operate(r, total_ms, &err);
    out->elapsed_ms = now_ms(r) - began_ms;
    hostile_judge_error(out, err);
    hostile_see_error(&r->world, err);
    (void)snprintf(out->error, sizeof(out->error), "%s",
                   err != NULL ? tinkc_error_message(err) : "");
    tinkc_error_free(&err);
    if (r->trouble == NULL) {
        bool watch =
            is_background(r->key) || r->key == TK_EP_FINISH_SESSION || asked != NULL;
        (void)drive(r, NULL, now_ms(r) + (watch ? WATCH_MS : IDLE_MS));
    }
    for (size_t key = 0; key < HOSTILE_KEYS; key++) {
        size_t sent = r->net.counts[key].sent - before[key].sent;
        hostile_see_int(&r->world, (int64_t)sent);
        if (asked != NULL) {
            asked[key] = sent > 0;
        }
    }
    hostile_clean_up(&r->world);
    judge(out, r, total_ms, failmem_stop());
}

/* A recording with a key more, put in without its table. */
static void judge_readable(hostile_verdict *out, const hostile_case *it)
{
    hostile_verdict plain;
    hostile_case recorded = *it;
    recorded.change = 0;
    hostile_run(&plain, &recorded);
    if (plain.code == TINKC_OK) {
        hostile_find(out, "a newer server cannot be read: code %d", (int)out->code);
    }
}

void hostile_run_seen(hostile_verdict *out, hostile_seen *seen, const hostile_case *it)
{
    hostile_answer hostile;
    runner r = {.op = it->op, .key = it->key, .hostile = &hostile};
    hostile_mutate(&hostile, &it->source->seed, it->change);
    *out = (hostile_verdict){.newer = hostile.newer.change};
    (void)snprintf(out->what, sizeof(out->what), "%s%s", hostile.what,
                   hostile.is_once ? ", once" : "");
    init_config(&r);
    run(out, &r, it->change % 4 == 0, NULL);
    bool is_readable = hostile.is_readable && it->change != 0;
    hostile_answer_dispose(&hostile);
    if (is_readable && out->code != TINKC_OK) {
        judge_readable(out, it);
    }
    *seen = r.world.seen;
}

void hostile_run(hostile_verdict *out, const hostile_case *it)
{
    hostile_seen seen;
    hostile_run_seen(out, &seen, it);
    if (out->newer < NEWER_CHANGES) {
        hostile_judge_newer(out, it, &seen);
    }
}

void hostile_ask(bool *asked, const hostile_op *op)
{
    hostile_verdict verdict = {0};
    runner r = {.op = op, .key = TK_EP_TELEMETRY};
    init_config(&r);
    run(&verdict, &r, false, asked);
    bool is_end = op->call != NULL && verdict.code == TINKC_E_MISSING;
    if ((verdict.code != TINKC_OK && !is_end) || verdict.finding[0] != '\0') {
        fprintf(stderr, "hostile: %s on honest answers: code %d %s\n", op->name,
                (int)verdict.code, verdict.finding);
        exit(1);
    }
}
