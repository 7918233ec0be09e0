/* `tinkc env`: lets a model act in an environment of the user's for one episode. The model
 * is where OPENAI_BASE_URL says; the environment is a process that speaks JSON lines
 * (rl_env.h). `tinkc rl --env` runs this command as the agent.
 * Needs: text server */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <tinkc/raw.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/env.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_print.h"
#include "cli/rl/rl_agent.h"
#include "cli/rl/rl_env.h"
#include "cli/rl/rl_reward.h"

#define BODY_BYTES  (64 * TK_MIB) /* of a request */
#define ORIGIN_MAX  512
#define SAID_BYTES  120   /* of what is quoted in an error */
#define TIMEOUT_S   300.0 /* of one answer, by environment or model */
#define TIMEOUT_MAX 1e6

typedef struct message {
    const char *role;
    tk_str text;
} message;

typedef struct play {
    const cmd_args *args;
    tinkc_service *service;
    char origin[ORIGIN_MAX]; /* "http://127.0.0.1:8000" of OPENAI_BASE_URL */
    char *path, *header;     /* owned: "/e/NAME/v1/chat/completions", "Bearer KEY" */
    rl_env env;
    tk_arena talk;     /* owns the texts of the messages and the request */
    message *messages; /* owned */
    size_t n, room;
    const tk_json *request; /* members that the environment wants, or NULL */
    uint64_t actions, max_actions;
    double reward;
    bool is_done, is_cut;
    tk_err err;
} play;

/* ---- the conversation ---- */

static tinkc_code say(play *p, const char *role, tk_str text)
{
    tk_str copy = {NULL, 0};
    if (p->n == p->room) {
        size_t room = p->room > 0 ? 2 * p->room : 16;
        message *more = tk_realloc_array(p->messages, room, sizeof(*more));
        if (more == NULL) {
            return tk_err_nomem(&p->err);
        }
        p->messages = more;
        p->room = room;
    }
    if (!tk_arena_dup(&p->talk, &copy, text.n > 0 ? text.p : "", text.n)) {
        return tk_err_nomem(&p->err);
    }
    p->messages[p->n++] = (message){role, copy};
    return TINKC_OK;
}

static void put_text(tk_json_writer *w, const char *key, tk_str text)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_str(w, text);
}

static tinkc_code write_request(tk_buf *body, play *p)
{
    tk_json_writer w;
    const char *model = tk_env_get_nonempty(NULL, "OPENAI_MODEL");
    tk_json_writer_init(&w, body);
    tk_json_begin_object(&w);
    put_text(&w, "model", tk_str_of(model != NULL ? model : "default"));
    if (cmd_has(p->args, "max-tokens")) {
        tk_json_key(&w, TK_STR("max_tokens"));
        tk_json_put_i64(&w, cmd_int(p->args, "max-tokens", 0));
    }
    for (size_t i = 0; p->request != NULL && i < p->request->as.object.n; i++) {
        const tk_json_member *member = &p->request->as.object.members[i];
        tk_json_key(&w, member->key);
        tk_json_put_value(&w, &member->value);
    }
    tk_json_key(&w, TK_STR("messages"));
    tk_json_begin_array(&w);
    for (size_t i = 0; i < p->n; i++) {
        tk_json_begin_object(&w);
        put_text(&w, "role", tk_str_of(p->messages[i].role));
        put_text(&w, "content", p->messages[i].text);
        tk_json_end_object(&w);
    }
    tk_json_end_array(&w);
    tk_json_end_object(&w);
    return tk_json_finish(&w, &p->err);
}

/* ---- the model ---- */

static tinkc_code take(play *p, tinkc_code code, tinkc_error **error)
{
    if (code != TINKC_OK) {
        code = tk_err_set(&p->err, code, "%s", tinkc_error_message(*error));
        tinkc_error_free(error);
    }
    return code;
}

static bool is_too_long(const tk_json *answer)
{
    const tk_json *code = tk_json_get(tk_json_get(answer, "error"), "code");
    return code != NULL && code->type == TK_JSON_STRING &&
           tk_str_is(code->as.string, "context_length_exceeded");
}

/* Adds the model's message; or notes that the conversation is as long as it may be. */
static tinkc_code read_answer(play *p, int status, tk_str body)
{
    tk_arena arena;
    const tk_json *json = NULL;
    tk_arena_init(&arena, BODY_BYTES);
    tinkc_code code = tk_json_parse(&json, &arena, body.p, body.n, NULL, NULL);
    const tk_json *choices = code == TINKC_OK ? tk_json_get(json, "choices") : NULL;
    const tk_json first = tk_json_at(choices, 0);
    const tk_json *content = tk_json_get(tk_json_get(&first, "message"), "content");
    if (status == 400 && is_too_long(json)) {
        p->is_cut = true;
        code = TINKC_OK;
    } else if (status != 200 || tk_json_len(choices) == 0) {
        code =
            tk_err_set(&p->err, TINKC_E_STATUS, "the model's answer has status %d: %.*s",
                       status, (int)TK_MIN(body.n, (size_t)SAID_BYTES), body.p);
    } else {
        p->actions++;
        code = say(p, "assistant",
                   content != NULL && content->type == TK_JSON_STRING ? content->as.string
                                                                      : TK_STR(""));
    }
    tk_arena_dispose(&arena);
    return code;
}

static tinkc_code ask_model(play *p)
{
    tk_buf body;
    tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
    tinkc_raw_response *response = NULL;
    tinkc_error *error = NULL;
    const tinkc_pair headers[] = {{"Authorization", p->header}};
    tk_buf_init(&body, BODY_BYTES);
    tinkc_code code = write_request(&body, p);
    if (code == TINKC_OK) {
        request.method = "POST";
        request.path = p->path;
        request.headers = headers;
        request.headers_n = p->header != NULL ? 1 : 0;
        request.body = body.p;
        request.body_n = body.n;
        request.any_status = true;
        request.timeout_ms = p->env.timeout_ms;
        code =
            take(p, tinkc_raw_send_wait(&response, p->service, &request, &error), &error);
    }
    if (code == TINKC_OK) {
        size_t n = 0;
        const char *text = tinkc_raw_response_body(&n, response);
        code = read_answer(p, tinkc_raw_response_status(response), (tk_str){text, n});
    }
    tinkc_raw_response_free(&response);
    tk_buf_dispose(&body);
    return code;
}

/* ---- the environment ---- */

/* The first line: what `tinkc rl` tells its agents. */
static tinkc_code write_first(tk_buf *line, play *p, tk_str task)
{
    static const char *const names[][2] = {
        {"episode", "TINKC_EPISODE"}, {"split", "TINKC_SPLIT"}, {"seed", "TINKC_SEED"}};
    tk_json_writer w;
    tk_arena arena;
    const tk_json *json = NULL;
    tk_arena_init(&arena, BODY_BYTES);
    tk_json_writer_init(&w, line);
    tinkc_code code = TINKC_OK;
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("task"));
    if (tk_str_trim(task).n > 0) {
        code = tk_json_parse(&json, &arena, task.p, task.n, NULL, &p->err);
    }
    if (json != NULL) {
        tk_json_put_value(&w, json);
    } else {
        tk_json_put_null(&w);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        const char *text = tk_env_get_nonempty(NULL, names[i][1]);
        int64_t number = 0;
        if (text == NULL) {
            continue;
        }
        tk_json_key(&w, tk_str_of(names[i][0]));
        if (i == 2 && tk_str_to_i64(tk_str_of(text), &number)) {
            tk_json_put_i64(&w, number);
        } else {
            tk_json_put_str(&w, tk_str_of(text));
        }
    }
    tk_json_end_object(&w);
    code = code == TINKC_OK ? tk_json_finish(&w, &p->err) : code;
    tk_arena_dispose(&arena);
    return code;
}

/* Shows what the environment measured, and the reward of the whole episode. */
static tinkc_code show(play *p, const tk_json *last)
{
    tk_buf line;
    tk_json_writer w;
    tk_buf_init(&line, TK_MIB);
    tk_json_writer_init(&w, &line);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("reward"));
    tk_json_put_double(&w, p->reward);
    tk_json_key(&w, TK_STR("actions"));
    tk_json_put_u64(&w, p->actions);
    tk_json_key(&w, TK_STR("truncated"));
    tk_json_put_i64(&w, p->is_cut);
    for (size_t i = 0; last != NULL && i < last->as.object.n; i++) {
        const tk_json_member *member = &last->as.object.members[i];
        double value = 0;
        if (!tk_str_is(member->key, "reward") && member->value.type != TK_JSON_STRING &&
            tk_json_to_double(&member->value, &value)) {
            tk_json_key(&w, member->key);
            tk_json_put_double(&w, value);
        }
    }
    tk_json_end_object(&w);
    tinkc_code code = tk_json_finish(&w, &p->err);
    if (code == TINKC_OK) {
        cmd_print(stdout, TK_STR_FMT "\n", TK_STR_ARG(tk_buf_str(&line)));
    }
    tk_buf_dispose(&line);
    return code;
}

static tinkc_code fail_line(play *p, const char *what, tk_str line)
{
    return tk_err_set(&p->err, TINKC_E_DECODE, "the environment's line %s: %.*s", what,
                      (int)TK_MIN(line.n, (size_t)SAID_BYTES), line.p);
}

/* Takes what is for the model; texts are copied. */
static tinkc_code observe(play *p, const tk_json *json, tk_str line)
{
    const tk_json *seen = tk_json_get(json, "observation");
    const tk_json *system = tk_json_get(json, "system");
    const tk_json *request = tk_json_get(json, "request");
    tinkc_code code = TINKC_OK;
    if (seen == NULL || seen->type != TK_JSON_STRING) {
        return fail_line(p, "has no text \"observation\"", line);
    }
    if (request != NULL && request->type != TK_JSON_OBJECT) {
        return fail_line(p, "has a \"request\" that is not an object", line);
    }
    if (request != NULL) {
        tk_buf text;
        tk_json_writer w;
        tk_buf_init(&text, RL_ENV_LINE_BYTES);
        tk_json_writer_init(&w, &text);
        tk_json_put_value(&w, request);
        code = tk_json_finish(&w, &p->err);
        if (code == TINKC_OK) {
            code = tk_json_parse(&p->request, &p->talk, text.p, text.n, NULL, &p->err);
        }
        tk_buf_dispose(&text);
    }
    if (code == TINKC_OK && system != NULL && system->type == TK_JSON_STRING &&
        p->n == 0) {
        code = say(p, "system", system->as.string);
    }
    return code == TINKC_OK ? say(p, "user", seen->as.string) : code;
}

/* Reads a line: reward, whether it is the last, and what the model sees next. */
static tinkc_code read_line(play *p, tk_str line)
{
    tk_arena arena;
    const tk_json *json = NULL;
    double reward = 0;
    tk_arena_init(&arena, BODY_BYTES);
    tinkc_code code = tk_json_parse(&json, &arena, line.p, line.n, NULL, NULL);
    const tk_json *given = tk_json_get(json, "reward"), *done = tk_json_get(json, "done");
    if (code != TINKC_OK || json->type != TK_JSON_OBJECT) {
        code = fail_line(p, "is not a JSON object", line);
    } else if (given != NULL &&
               (given->type == TK_JSON_STRING || !tk_json_to_double(given, &reward))) {
        code = fail_line(p, "has a \"reward\" that is not a number", line);
    } else if (done != NULL && done->type != TK_JSON_BOOL) {
        code = fail_line(p, "has a \"done\" that is neither true nor false", line);
    } else {
        p->reward += reward;
        p->is_done = done != NULL && done->as.boolean;
        code = p->is_done ? show(p, json) : observe(p, json, line);
    }
    tk_arena_dispose(&arena);
    return code;
}

/* ---- the episode ---- */

static tinkc_code tell_action(play *p, tk_str *answer)
{
    tk_buf line;
    tk_json_writer w;
    tk_buf_init(&line, RL_ENV_LINE_BYTES);
    tk_json_writer_init(&w, &line);
    tk_json_begin_object(&w);
    put_text(&w, "action", p->messages[p->n - 1].text);
    tk_json_end_object(&w);
    tinkc_code code = tk_json_finish(&w, &p->err);
    if (code == TINKC_OK) {
        code = rl_env_ask(answer, &p->env, tk_buf_str(&line), &p->err);
    }
    tk_buf_dispose(&line);
    return code;
}

static tinkc_code play_all(play *p, tk_str task)
{
    tk_buf first;
    tk_str line;
    tk_buf_init(&first, RL_ENV_LINE_BYTES);
    tinkc_code code = write_first(&first, p, task);
    if (code == TINKC_OK) {
        code = rl_env_ask(&line, &p->env, tk_buf_str(&first), &p->err);
    }
    tk_buf_dispose(&first);
    if (code == TINKC_OK) {
        code = read_line(p, line);
    }
    while (code == TINKC_OK && !p->is_done && !p->is_cut) {
        p->is_cut = p->actions >= p->max_actions;
        code = p->is_cut ? TINKC_OK : ask_model(p);
        if (code != TINKC_OK || p->is_cut) {
            break;
        }
        code = tell_action(p, &line);
        if (code == TINKC_OK) {
            code = read_line(p, line);
        }
    }
    return code == TINKC_OK && p->is_cut ? show(p, NULL) : code;
}

/* ---- the command ---- */

/* Where the model is, from what every client of OpenAI's API reads. */
static int find_model(play *p)
{
    const char *url = tk_env_get_nonempty(NULL, "OPENAI_BASE_URL");
    const char *key = tk_env_get_nonempty(NULL, "OPENAI_API_KEY");
    const char *host = url != NULL ? strstr(url, "://") : NULL;
    tk_buf text;
    if (host == NULL) {
        return cmd_fail_hint("`tinkc rl --env` and `tinkc launch` set it.",
                             "OPENAI_BASE_URL does not say where the model is");
    }
    size_t taken = 0, n = (size_t)(host + 3 - url) + strcspn(host + 3, "/");
    if (n >= sizeof(p->origin)) {
        return cmd_fail("OPENAI_BASE_URL is too long");
    }
    memcpy(p->origin, url, n);
    tk_buf_init(&text, TK_MIB);
    tk_buf_puts(&text, url + n);
    tk_buf_puts(&text, "/chat/completions");
    tk_buf_putc(&text, '\0');
    p->path = tk_buf_take(&text, &taken);
    tk_buf_puts(&text, key != NULL ? "Bearer " : "");
    tk_buf_puts(&text, key != NULL ? key : "");
    tk_buf_putc(&text, '\0');
    p->header = key != NULL ? tk_buf_take(&text, &taken) : NULL;
    tk_buf_dispose(&text);
    return p->path != NULL && (key == NULL || p->header != NULL)
               ? CMD_OK
               : cmd_fail("out of memory");
}

static tinkc_code open_service(play *p)
{
    tinkc_config *config = NULL;
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_config_new(&config, &error);
    if (code == TINKC_OK) {
        code = tinkc_config_set(config, "base_url", p->origin, &error);
    }
    if (code == TINKC_OK) { /* a key of another form is in the header only */
        const char *key = tk_env_get_nonempty(NULL, "OPENAI_API_KEY");
        bool is_ours = key != NULL && strncmp(key, "tml-", 4) == 0;
        code = tinkc_config_set(config, "api_key", is_ours ? key : "tml-none", &error);
    }
    if (code == TINKC_OK) {
        code = tinkc_service_open(&p->service, config, &error);
    }
    tinkc_config_free(&config);
    return take(p, code, &error);
}

/* The task: --task, TINKC_TASK, or standard input. The caller frees *owned. */
static tinkc_code read_task(play *p, tk_str *out, char **owned)
{
    tk_buf text;
    const char *given = cmd_text(p->args, "task", NULL);
    given = given != NULL ? given : tk_env_get_nonempty(NULL, "TINKC_TASK");
    if (given != NULL || isatty(STDIN_FILENO)) {
        *out = tk_str_of(given != NULL ? given : "");
        return TINKC_OK;
    }
    tk_buf_init(&text, RL_AGENT_TASK_BYTES + 4096);
    for (;;) {
        char *room = tk_buf_reserve(&text, 4096);
        ssize_t n = room != NULL ? read(STDIN_FILENO, room, 4096) : 0;
        if (n <= 0) {
            break;
        }
        tk_buf_advance(&text, (size_t)n);
    }
    tinkc_code code = tk_buf_status(&text, &p->err);
    if (code == TINKC_OK) {
        size_t n = 0;
        *owned = tk_buf_take(&text, &n);
        *out = (tk_str){*owned, n};
    }
    tk_buf_dispose(&text);
    return code;
}

static tinkc_code run_episode(play *p, double seconds)
{
    tk_str task = {NULL, 0};
    char *owned = NULL;
    tinkc_code code = read_task(p, &task, &owned);
    if (code == TINKC_OK) { /* before the first thread */
        code = rl_env_open(&p->env, cmd_operand(p->args, 0), (int64_t)(seconds * 1000),
                           &p->err);
    }
    if (code == TINKC_OK) {
        code = open_service(p);
    }
    if (code == TINKC_OK) {
        code = play_all(p, task);
    }
    tinkc_service_close(&p->service);
    rl_env_close(&p->env, code == TINKC_OK);
    tk_free(owned);
    return code;
}

static int run(const cmd_args *args)
{
    const char *turns = tk_env_get_nonempty(NULL, "TINKC_MAX_TURNS");
    int64_t most = INT64_MAX;
    play p = {.args = args, .env = {.to = -1, .from = -1}, .err = TK_ERR_INIT};
    if (turns != NULL && !tk_str_to_i64(tk_str_of(turns), &most)) {
        most = INT64_MAX;
    }
    p.max_actions = (uint64_t)TK_MAX(cmd_int(args, "max-turns", most), (int64_t)0);
    tk_arena_init(&p.talk, 0);
    tk_buf_init(&p.env.lines, 1);
    int result = find_model(&p);
    if (result == CMD_OK &&
        run_episode(&p, cmd_number(args, "timeout", TIMEOUT_S)) != TINKC_OK) {
        result = cmd_fail("%s", p.err.message);
    }
    tk_arena_dispose(&p.talk);
    tk_free(p.messages);
    tk_free(p.path);
    tk_mem_wipe(p.header, p.header != NULL ? strlen(p.header) : 0);
    tk_free(p.header);
    return result;
}

static int check(const cmd_args *args)
{
    double seconds = cmd_number(args, "timeout", TIMEOUT_S);
    if (!(seconds > 0 && seconds <= TIMEOUT_MAX)) {
        return cmd_bad_usage(args, "Invalid value for '--timeout': give seconds.");
    }
    return CMD_OK;
}

static const cmd_option options[] = {
    {"task", 0, CMD_TEXT, "JSON", "The task (default: TINKC_TASK, or standard input).",
     false},
    {"max-tokens", 0, CMD_INT, "N", "Tokens of an action (default: the server's).",
     false},
    {"max-turns", 0, CMD_INT, "N", "Actions of the episode (default: TINKC_MAX_TURNS).",
     false},
    {"timeout", 0, CMD_NUMBER, "SECONDS", "Time of one answer (300).", false},
    {0},
};

const cmd_spec cmd_env = {
    .name = "env",
    .operands = "COMMAND",
    .min_operands = 1,
    .max_operands = 1,
    .help = "Let a model act in an environment for one episode.",
    .more =
        "COMMAND, run by /bin/sh, is an environment in any language. It reads a JSON line\n"
        "{\"task\": ..., \"seed\": N} and writes {\"observation\": TEXT}. Then for each action of\n"
        "the model it reads {\"action\": TEXT} and writes {\"observation\": TEXT, \"reward\": X},\n"
        "at last {\"reward\": X, \"done\": true}, with further numbers as metrics. Its first line\n"
        "may have \"system\": TEXT, and each \"request\": {\"max_tokens\": 4, \"stop\": ...}. The sum\n"
        "of the rewards is written as one line of JSON. The model is where OPENAI_BASE_URL,\n"
        "OPENAI_API_KEY and OPENAI_MODEL say: `tinkc rl --env COMMAND` sets them and trains;\n"
        "`tinkc launch openai -- tinkc env COMMAND` tries it. See docs/guide/rl.md.",
    .examples = "tinkc rl --local --tasks tasks.jsonl --env ./grid\n"
                "tinkc launch --local openai -- tinkc env --task '{\"size\": 3}' ./grid",
    .options = options,
    .check = check,
    .run = run,
};
