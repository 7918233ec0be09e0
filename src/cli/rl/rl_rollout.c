/* Runs episodes.
 * Needs: text server */
#include "cli/rl/rl_rollout.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/env.h"
#include "base/mem.h"
#include "base/rand.h"
#include "base/utf8.h"

#define WAIT_MS      100
#define VARIABLES    20
#define LINE_BYTES   (4 * TK_MIB)
#define AGENT_RANDOM UINT32_MAX /* the turn whose seed is the agent's own */

static const struct {
    const char *name, *text;
} kinds[RL_KINDS] = {
    [RL_KIND_OK] = {"ok", "have a reward"},
    [RL_KIND_EXIT] = {"exit", "ended with an exit code other than 0"},
    [RL_KIND_SIGNAL] = {"signal", "ended by a signal"},
    [RL_KIND_TIMEOUT] = {"timeout", "ran longer than --timeout and were ended"},
    [RL_KIND_FLOOD] = {"flood", "wrote more than --max-output and were ended"},
    [RL_KIND_LOST] = {"lost", "could not be started, or their keeper was killed"},
    [RL_KIND_REQUEST] = {"request", "asked and got no answer"},
    [RL_KIND_NO_REWARD] = {"no_reward",
                           "wrote no reward: the last line must be a number, "
                           "or JSON with \"reward\""},
    [RL_KIND_NOT_FINITE] = {"not_finite", "wrote a reward that is not finite"},
    [RL_KIND_NO_TURNS] = {"no_turns", "wrote a reward, but asked the model nothing"},
    [RL_KIND_UNREADABLE] = {"unreadable", "have turns that cannot be read back"},
};

const char *rl_kind_name(rl_kind kind)
{
    return kinds[kind].name;
}

const char *rl_kind_text(rl_kind kind)
{
    return kinds[kind].text;
}

typedef struct place { /* of one episode */
    rl_gate_episode is;
    size_t row, task, index; /* row of the tasks; task and episode in this rollout */
} place;

typedef struct work {
    const rl_rollout *r;
    const rl_ask *ask;
    rl_outcome *out;
} work;

/* ---- starting ---- */

typedef struct variables {
    tk_buf texts[VARIABLES];
    const char *at[VARIABLES]; /* from end_all on */
    size_t n;
} variables;

/* Begins the next variable; its name is written, and "=" and a value may follow. */
static tk_buf *begin(variables *v, const char *name)
{
    tk_buf *buf = &v->texts[v->n++];
    tk_buf_init(buf, RL_AGENT_ENV_BYTES - 1);
    tk_buf_puts(buf, name);
    return buf;
}

static void put(variables *v, const char *name, const char *value)
{
    tk_buf_printf(begin(v, name), "=%s", value);
}

/* The task as a variable; a large one is on standard input only. */
static void put_task(variables *v, tk_str task)
{
    static const char empty[] = "TINKC_TASK=";
    tk_buf *buf = begin(v, empty);
    tk_buf_put(buf, task.p, task.n);
    if (buf->failure == TINKC_E_LIMIT) {
        tk_buf_clear(buf);
        tk_buf_puts(buf, empty);
    }
}

/* The gateway is here: no proxy is to be asked for it. */
static void put_no_proxy(variables *v, const char *name)
{
    const char *old = tk_env_get_nonempty(NULL, name);
    tk_buf_printf(begin(v, name), "=127.0.0.1,localhost%s%s", old != NULL ? "," : "",
                  old != NULL ? old : "");
}

static void fill(variables *v, const work *w, const place *p, tk_str task)
{
    const char *url = rl_gate_url(w->r->gate), *key = rl_gate_key(w->r->gate);
    const char *name = p->is.name, *model = w->r->model;
    tk_buf_printf(begin(v, "OPENAI_BASE_URL"), "=%s/e/%s/v1", url, name);
    tk_buf_printf(begin(v, "OPENAI_API_BASE"), "=%s/e/%s/v1", url, name);
    put(v, "OPENAI_API_KEY", key);
    put(v, "OPENAI_MODEL", model);
    tk_buf_printf(begin(v, "ANTHROPIC_BASE_URL"), "=%s/e/%s", url, name);
    put(v, "ANTHROPIC_API_KEY", key);
    put(v, "ANTHROPIC_AUTH_TOKEN", key);
    put(v, "ANTHROPIC_MODEL", model);
    put(v, "TINKC_EPISODE", name);
    tk_buf_printf(begin(v, "TINKC_STEP"), "=%zu", w->ask->step);
    tk_buf_printf(begin(v, "TINKC_MAX_TURNS"), "=%zu", w->r->max_turns);
    /* what a model decides needs no key to the server */
    (void)begin(v, "TINKER_API_KEY");
    put_no_proxy(v, "no_proxy");
    put_no_proxy(v, "NO_PROXY");
    put(v, "TINKC_SPLIT", w->ask->is_eval ? "eval" : "train");
    tk_buf_printf(begin(v, "TINKC_SEED"), "=%llu",
                  (unsigned long long)tinkc_rl_seed(p->is.run, p->is.task, p->is.index,
                                                    AGENT_RANDOM));
    put_task(v, task);
}

/* Ends the texts. One that is too long has its name at least. */
static tinkc_code end_all(variables *v, tk_err *err)
{
    for (size_t i = 0; i < v->n; i++) {
        v->at[i] = tk_buf_cstr(&v->texts[i]);
        if (v->at[i] == NULL && v->texts[i].failure == TINKC_E_LIMIT) {
            tk_str text = tk_buf_str(&v->texts[i]), name = tk_str_cut(&text, '=');
            return tk_err_set(err, TINKC_E_LIMIT,
                              "the variable " TK_STR_FMT
                              " is too long for an agent: the limit is %d bytes",
                              TK_STR_ARG(name), RL_AGENT_ENV_BYTES - 1);
        }
        if (v->at[i] == NULL) {
            return tk_err_nomem(err);
        }
    }
    return TINKC_OK;
}

static tinkc_code start_process(const work *w, place *p, tk_err *err)
{
    variables v = {.n = 0};
    tk_str task = w->ask->tasks->at[p->row];
    tk_buf input;
    fill(&v, w, p, task);
    tk_buf_init(&input, task.n + 2);
    tk_buf_put(&input, task.p, task.n);
    tk_buf_putc(&input, '\n');
    tinkc_code code = end_all(&v, err);
    if (code == TINKC_OK) {
        code = tk_buf_status(&input, err);
    }
    const rl_job job = {.command = w->r->command,
                        .variables = v.at,
                        .n_variables = v.n,
                        .input = tk_buf_str(&input),
                        .timeout_ms = w->r->timeout_ms,
                        .grace_ms = w->r->grace_ms,
                        .max_output = w->r->max_output};
    if (code == TINKC_OK) {
        code = rl_agents_start(w->r->agents, &job, p, err);
    }
    for (size_t i = 0; i < v.n; i++) {
        tk_buf_dispose(&v.texts[i]);
    }
    tk_buf_dispose(&input);
    return code;
}

static tinkc_code start_agent(const work *w, place *p, tk_err *err)
{
    const rl_rollout *r = w->r;
    tinkc_code code = rl_gate_begin(r->gate, &p->is, err);
    if (code != TINKC_OK) {
        return code;
    }
    return r->asks == NULL ? start_process(w, p, err)
                           : rl_asks_start(r->asks, p->is.name, w->ask->tasks->at[p->row],
                                           r->timeout_ms, p, err);
}

static size_t count_running(const rl_rollout *r)
{
    return r->asks != NULL ? rl_asks_running(r->asks) : rl_agents_running(r->agents);
}

static bool wait_end(rl_ended *out, const rl_rollout *r, int ms)
{
    return r->asks != NULL ? rl_asks_wait(r->asks, out, ms)
                           : rl_agents_wait(r->agents, out, ms);
}

/* ---- ends ---- */

static rl_kind kind_of(const rl_ended *ended)
{
    switch (ended->end) {
    case RL_END_EXIT:
        return RL_KIND_EXIT;
    case RL_END_SIGNAL:
        return RL_KIND_SIGNAL;
    case RL_END_TIMEOUT:
        return RL_KIND_TIMEOUT;
    case RL_END_FLOOD:
        return RL_KIND_FLOOD;
    case RL_END_STOPPED:
    case RL_END_LOST:
        return RL_KIND_LOST;
    case RL_END_REQUEST:
        return RL_KIND_REQUEST;
    case RL_END_OK:
        break;
    }
    return RL_KIND_OK;
}

static rl_kind judge(rl_reward *reward, const rl_ended *ended)
{
    rl_kind kind = kind_of(ended);
    *reward = (rl_reward){.value = NAN};
    if (kind != RL_KIND_OK) {
        return kind;
    }
    rl_reward_kind found = rl_reward_read(reward, ended->out);
    return found == RL_REWARD_NONE         ? RL_KIND_NO_REWARD
           : found == RL_REWARD_NOT_FINITE ? RL_KIND_NOT_FINITE
                                           : RL_KIND_OK;
}

/* Says why an episode failed: what is known, then the last thing that it wrote. */
static void explain(char out[RL_WHY_BYTES], rl_kind kind, const rl_ended *ended,
                    const tk_err *unreadable)
{
    char head[32] = "";
    tk_str said = rl_reward_line(ended->err);
    said = said.n > 0 ? said : rl_reward_line(ended->out);
    if (kind == RL_KIND_UNREADABLE) {
        said = tk_str_of(unreadable->message);
    }
    const char *what = kind == RL_KIND_EXIT                           ? "exit code"
                       : kind == RL_KIND_SIGNAL                       ? "signal"
                       : kind == RL_KIND_REQUEST && ended->status > 0 ? "status"
                                                                      : NULL;
    if (what != NULL) {
        (void)snprintf(head, sizeof(head), "%s %d%s", what, ended->status,
                       said.n > 0 ? ": " : "");
    }
    (void)snprintf(out, RL_WHY_BYTES, "%s%.*s", head, (int)TK_MIN(said.n, (size_t)120),
                   said.n > 0 ? said.p : "");
}

/* Keeps the first of a kind. */
static void note(rl_outcome *out, rl_kind kind, const place *p, const rl_ended *ended,
                 const tk_err *unreadable)
{
    rl_trouble *t = &out->troubles[kind];
    if (t->n++ == 0) {
        (void)snprintf(t->episode, sizeof(t->episode), "%s", p->is.name);
        explain(t->why, kind, ended, unreadable);
    }
}

static void add_metrics(rl_outcome *out, const rl_reward *reward)
{
    for (size_t i = 0; i < reward->n_metrics; i++) {
        const rl_metric *m = &reward->metrics[i];
        size_t k = 0;
        while (k < out->n_metrics && strcmp(out->metrics[k].name, m->name) != 0) {
            k++;
        }
        if (k == RL_REWARD_METRICS) {
            continue;
        }
        if (k == out->n_metrics) {
            out->metrics[out->n_metrics++] = (rl_mean){.n = 0};
            (void)snprintf(out->metrics[k].name, sizeof(out->metrics[k].name), "%s",
                           m->name);
        }
        out->metrics[k].sum += m->value;
        out->metrics[k].n++;
    }
}

/* ---- for reading ---- */

static void put_text(tk_json_writer *w, const char *key, tk_str text)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_str(w, text);
}

/* What the model said in each turn, and with_tokens the sequences to train on. */
static void put_turns(tk_json_writer *w, const rl_gate_result *result, bool with_tokens,
                      tk_arena *arena)
{
    const tk_json *json = NULL;
    if (result->text == NULL || tk_json_parse(&json, arena, result->text, result->n_text,
                                              NULL, NULL) != TINKC_OK) {
        return;
    }
    const tk_json *turns = tk_json_get(json, "turns");
    tk_json_key(w, TK_STR("turns"));
    tk_json_begin_array(w);
    for (size_t i = 0; turns != NULL && i < tk_json_len(turns); i++) {
        static const char *const members[] = {
            "turn",          "parent",         "origin", "weights",
            "prompt_tokens", "sampled_tokens", "finish", "message"};
        tk_json turn = tk_json_at(turns, i);
        tk_json_begin_object(w);
        for (size_t k = 0; k < TK_ARRAY_LEN(members); k++) {
            const tk_json *value = tk_json_get(&turn, members[k]);
            if (value != NULL) {
                tk_json_key(w, tk_str_of(members[k]));
                tk_json_put_value(w, value);
            }
        }
        tk_json_end_object(w);
    }
    tk_json_end_array(w);
    const tk_json *sequences = with_tokens ? tk_json_get(json, "sequences") : NULL;
    if (sequences != NULL) {
        tk_json_key(w, TK_STR("sequences"));
        tk_json_put_value(w, sequences);
    }
}

/* What the model read and wrote, with the tokens of the template. */
static void put_texts(tk_json_writer *w, const rl_rollout *r, const rl_gate_result *from)
{
    tinkc_sequence s;
    tk_json_key(w, TK_STR("texts"));
    tk_json_begin_array(w);
    for (size_t i = 0;
         r->tokenizer != NULL && tinkc_trajectory_sequence(&s, from->trajectory, i);
         i++) {
        char *text = NULL;
        if (tinkc_tokenizer_text(&text, r->tokenizer, s.tokens, s.n, false, NULL) ==
            TINKC_OK) {
            tk_json_put_str(w, tk_str_of(text));
        }
        tinkc_text_free(&text);
    }
    tk_json_end_array(w);
}

/* One line of the rollouts. What an agent wrote may be no UTF-8: then it is left out. */
static tinkc_code keep(const work *w, const place *p, rl_kind kind, double reward,
                       const rl_ended *ended, const rl_gate_result *result, tk_err *err)
{
    tk_buf buf;
    tk_json_writer j;
    tk_arena arena;
    const tk_json *task = NULL;
    tk_str text = w->ask->tasks->at[p->row];
    tk_arena_init(&arena, 0);
    tk_buf_init(&buf, LINE_BYTES);
    tk_json_writer_init(&j, &buf);
    tk_json_begin_object(&j);
    tk_json_key(&j, TK_STR("step"));
    tk_json_put_u64(&j, w->ask->step);
    put_text(&j, "episode", tk_str_of(p->is.name));
    put_text(&j, "end", tk_str_of(rl_kind_name(kind)));
    if (isfinite(reward)) {
        tk_json_key(&j, TK_STR("reward"));
        tk_json_put_double(&j, reward);
    }
    if (tk_json_parse(&task, &arena, text.p, text.n, NULL, NULL) == TINKC_OK) {
        tk_json_key(&j, TK_STR("task"));
        tk_json_put_value(&j, task);
    }
    put_texts(&j, w->r, result);
    put_turns(&j, result, w->r->with_tokens, &arena);
    tk_str said = rl_reward_line(ended->err);
    if (said.n > 0 && tk_utf8_is_valid(said)) {
        put_text(&j, "stderr", said);
    }
    tk_json_end_object(&j);
    tk_err ignored = TK_ERR_INIT;
    tinkc_code code = TINKC_OK;
    if (tk_json_finish(&j, &ignored) == TINKC_OK) { /* a line that is too long is none */
        code = rl_lines_put(w->r->lines, tk_buf_str(&buf), err);
    }
    tk_buf_dispose(&buf);
    tk_arena_dispose(&arena);
    return code;
}

/* ---- one that has ended ---- */

static tinkc_code add(const work *w, const place *p, double reward,
                      rl_gate_result *result, tk_err *err)
{
    tinkc_error *error = NULL;
    tinkc_rl_episode episode = TINKC_RL_EPISODE_INIT;
    episode.task = w->ask->first_task + p->task;
    episode.index = p->index;
    episode.version = w->ask->version;
    episode.failed = !isfinite(reward);
    episode.reward = episode.failed ? 0 : reward;
    if (tinkc_rl_batch_add(w->ask->batch, &episode,
                           episode.failed ? NULL : &result->trajectory,
                           &error) == TINKC_OK) {
        return TINKC_OK;
    }
    tinkc_code code =
        tk_err_set(err, tinkc_error_code(error), "%s", tinkc_error_message(error));
    tinkc_error_free(&error);
    return code;
}

static tinkc_code take(const work *w, const rl_ended *ended, tk_err *err)
{
    const place *p = ended->user;
    rl_outcome *out = w->out;
    rl_gate_result result = {.text = NULL};
    rl_reward reward;
    tk_err why = TK_ERR_INIT;
    rl_kind kind = judge(&reward, ended);
    if (rl_gate_end(&result, w->r->gate, p->is.name, &why) != TINKC_OK) {
        kind = RL_KIND_UNREADABLE;
    } else if (kind == RL_KIND_OK && result.trajectory == NULL) {
        kind = RL_KIND_NO_TURNS;
    }
    double value = kind == RL_KIND_OK ? reward.value
                   : w->r->has_failed_reward && result.trajectory != NULL
                       ? w->r->failed_reward
                       : NAN;
    note(out, kind, p, ended, &why);
    out->turns += result.turns;
    out->refused += result.refused;
    out->full += result.refused > 0;
    out->strays += ended->strays;
    out->left += ended->left;
    if (isfinite(value)) {
        out->rewarded++;
        out->reward_sum += value;
        add_metrics(out, &reward);
    }
    out->episodes++;
    tinkc_code code = TINKC_OK;
    if (p->task * w->ask->group + p->index < w->r->n_kept || kind != RL_KIND_OK) {
        code = keep(w, p, kind, value, ended, &result, err);
    }
    if (code == TINKC_OK && w->ask->batch != NULL) {
        code = add(w, p, value, &result, err);
    }
    rl_gate_result_dispose(&result);
    return code;
}

/* ---- all of them ---- */

static void name_place(place *p, const rl_ask *ask, size_t at)
{
    p->task = at / ask->group;
    p->index = at % ask->group;
    p->row = ask->rows[p->task];
    p->is.run = ask->run;
    p->is.task = ask->first_task + p->task;
    p->is.index = p->index;
    (void)snprintf(p->is.name, sizeof(p->is.name), "%s%zu-t%zu-e%zu",
                   ask->is_eval ? "eval" : "s", ask->step, p->task, p->index);
}

/* Ends what runs after a failure of ours, and forgets it. */
static void give_up(const rl_rollout *r)
{
    rl_ended ended;
    rl_gate_result result;
    tk_err ignored = TK_ERR_INIT;
    rl_agents_stop(r->agents);
    if (r->asks != NULL) {
        rl_asks_stop(r->asks);
    }
    while (count_running(r) > 0) {
        if (!wait_end(&ended, r, WAIT_MS)) {
            continue;
        }
        const place *p = ended.user;
        if (rl_gate_end(&result, r->gate, p->is.name, &ignored) == TINKC_OK) {
            rl_gate_result_dispose(&result);
        }
    }
}

static tinkc_code run_all(const work *w, place *places, size_t total, tk_err *err)
{
    const rl_rollout *r = w->r;
    size_t next = 0;
    rl_ended ended;
    tinkc_code code = TINKC_OK;
    while (code == TINKC_OK && (next < total || count_running(r) > 0)) {
        if (r->is_stopped()) {
            w->out->was_stopped = true;
            return TINKC_OK;
        }
        if (next < total && count_running(r) < r->concurrency) {
            name_place(&places[next], w->ask, next);
            code = start_agent(w, &places[next], err);
            next++;
        }
        bool is_full = next == total || count_running(r) == r->concurrency;
        if (code == TINKC_OK && wait_end(&ended, r, is_full ? WAIT_MS : 0)) {
            code = take(w, &ended, err);
            if (r->on_episode != NULL) {
                r->on_episode(r->user, w->out, total);
            }
        }
    }
    return code;
}

tinkc_code rl_rollout_run(rl_outcome *out, const rl_rollout *r, const rl_ask *ask,
                          tk_err *err)
{
    size_t total = ask->n * ask->group;
    int64_t start = tk_clock_mono_ns(NULL);
    place *places = tk_zarray(total + 1, sizeof(*places));
    *out =
        (rl_outcome){.step = ask->step, .is_eval = ask->is_eval, .version = ask->version};
    const work w = {.r = r, .ask = ask, .out = out};
    if (places == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_rand_entropy(&out->lot, sizeof(out->lot), err);
    out->lot >>= 11; /* JSON's numbers hold 53 bits */
    if (code == TINKC_OK) {
        code = run_all(&w, places, total, err);
    }
    if (code != TINKC_OK || out->was_stopped) {
        give_up(r);
    }
    out->seconds = (double)(tk_clock_mono_ns(NULL) - start) / 1e9;
    tk_free(places);
    return code;
}
