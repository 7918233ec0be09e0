/* `tinkc launch`: starts an agent with the environment that leads it to a gateway or a
 * server, in an episode of its own; or prints that environment. */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/env.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/rand.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_local.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_resolve.h"
#include "cli/frame/cmd_service.h"

#define WORDS_MAX   64 /* of the agent's command line */
#define VARS_MAX    12
#define EPISODE_MAX 200
#define NO_KEY      "tinkc" /* clients want one; a server without a key takes any */

/* What an agent reads. In values, {u} is the URL of the episode, {k} the key, {m} the
 * model, {c} a configuration as JSON. */
typedef struct variable {
    const char *name, *value;
} variable;

typedef struct agent {
    const char *name, *program; /* program NULL: the words after "--" */
    variable vars[VARS_MAX];
    const char *words[16]; /* before those of the user */
} agent;

static const agent agents[] = {
    {"openai",
     NULL,
     {{"OPENAI_BASE_URL", "{u}/v1"}, {"OPENAI_API_KEY", "{k}"}, {"OPENAI_MODEL", "{m}"}},
     {NULL}},
    {"anthropic",
     NULL,
     {{"ANTHROPIC_BASE_URL", "{u}"},
      {"ANTHROPIC_API_KEY", "{k}"},
      {"ANTHROPIC_MODEL", "{m}"}},
     {NULL}},
    {"litellm",
     NULL,
     {{"OPENAI_BASE_URL", "{u}/v1"},
      {"OPENAI_API_BASE", "{u}/v1"},
      {"OPENAI_API_KEY", "{k}"},
      {"LITELLM_MODEL", "openai/{m}"}},
     {NULL}},
    {"opencode", "opencode", {{"OPENCODE_CONFIG_CONTENT", "{c}"}}, {NULL}},
    {"codex",
     "codex",
     {{"OPENAI_API_KEY", "{k}"}},
     {"-c", "model_provider=\"tinkc\"", "-c", "model=\"{m}\"", "-c",
      "model_providers.tinkc.name=\"tinkc\"", "-c",
      "model_providers.tinkc.base_url=\"{u}/v1\"", "-c",
      "model_providers.tinkc.env_key=\"OPENAI_API_KEY\"", "-c",
      "model_providers.tinkc.wire_api=\"responses\"", "-c",
      /* tools that only OpenAI runs */
      "model_providers.tinkc.http_headers={\"x-tinkc-ignore\"=\"web_search, namespace\"}",
      NULL}},
    {"claude",
     "claude",
     {{"ANTHROPIC_BASE_URL", "{u}"},
      {"ANTHROPIC_AUTH_TOKEN", "{k}"},
      {"ANTHROPIC_API_KEY", ""},
      {"ANTHROPIC_MODEL", "{m}"},
      {"ANTHROPIC_SMALL_FAST_MODEL", "{m}"},
      {"ANTHROPIC_DEFAULT_HAIKU_MODEL", "{m}"},
      {"ANTHROPIC_DEFAULT_SONNET_MODEL", "{m}"},
      {"ANTHROPIC_DEFAULT_OPUS_MODEL", "{m}"},
      {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"}},
     {NULL}},
};

typedef struct launch {
    const cmd_args *args;
    const agent *agent;
    tinkc_service *service;
    char *model;
    char url[256], episode[EPISODE_MAX];
    const char *key;
    tk_arena arena;
} launch;

/* ---- what is filled in ---- */

static void put_member(tk_json_writer *w, const char *key, const char *value)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_str(w, tk_str_of(value));
}

/* OpenCode reads a provider of its own. */
static void put_config(tk_buf *out, const launch *l)
{
    tk_json_writer w;
    char url[sizeof(l->url) + EPISODE_MAX + 16], name[512];
    (void)snprintf(url, sizeof(url), "%s/e/%s/v1", l->url, l->episode);
    (void)snprintf(name, sizeof(name), "tinkc/%s", l->model);
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    put_member(&w, "model", name);
    tk_json_key(&w, TK_STR("provider"));
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("tinkc"));
    tk_json_begin_object(&w);
    put_member(&w, "npm", "@ai-sdk/openai-compatible");
    put_member(&w, "name", "tinkc");
    tk_json_key(&w, TK_STR("options"));
    tk_json_begin_object(&w);
    put_member(&w, "baseURL", url);
    put_member(&w, "apiKey", l->key);
    tk_json_end_object(&w);
    tk_json_key(&w, TK_STR("models"));
    tk_json_begin_object(&w);
    tk_json_key(&w, tk_str_of(l->model));
    tk_json_begin_object(&w);
    put_member(&w, "name", l->model);
    tk_json_end_object(&w);
    tk_json_end_object(&w);
    tk_json_end_object(&w);
    tk_json_end_object(&w);
    tk_json_end_object(&w);
}

/* Appends a value with its parts filled in. */
static void expand(tk_buf *out, const launch *l, const char *value)
{
    for (const char *p = value; *p != '\0'; p++) {
        if (p[0] != '{' || p[1] == '\0' || p[2] != '}') {
            tk_buf_putc(out, *p);
            continue;
        }
        switch (p[1]) {
        case 'u':
            tk_buf_printf(out, "%s/e/%s", l->url, l->episode);
            break;
        case 'k':
            tk_buf_puts(out, l->key);
            break;
        case 'm':
            tk_buf_puts(out, l->model);
            break;
        default:
            put_config(out, l);
            break;
        }
        p += 2;
    }
}

/* "NAME=VALUE" or a word, in the arena; NULL when out of memory. */
static char *make(launch *l, const char *name, const char *value)
{
    tk_buf text;
    tk_str copy = {NULL, 0};
    tk_buf_init(&text, TK_MIB);
    if (name != NULL) {
        tk_buf_printf(&text, "%s=", name);
    }
    expand(&text, l, value);
    bool ok = text.failure == TINKC_OK &&
              tk_arena_dup(&l->arena, &copy, text.n > 0 ? text.p : "", text.n);
    tk_buf_dispose(&text);
    char *result = NULL;
    if (ok) {
        memcpy(&result, &copy.p, sizeof(result)); /* the arena's bytes are ours */
    }
    return result;
}

/* ---- the agent's command line and environment ---- */

static bool make_words(launch *l, char *words[WORDS_MAX + 1])
{
    size_t n = 0;
    if (l->agent->program != NULL) {
        words[n++] = make(l, NULL, l->agent->program);
        for (size_t i = 0; l->agent->words[i] != NULL; i++) {
            words[n++] = make(l, NULL, l->agent->words[i]);
        }
    }
    for (size_t i = 1; i < cmd_operands(l->args) && n < WORDS_MAX; i++) {
        tk_str copy = {NULL, 0};
        const char *word = cmd_operand(l->args, i);
        (void)!tk_arena_dup(&l->arena, &copy, word, strlen(word));
        memcpy(&words[n++], &copy.p, sizeof(words[0]));
    }
    words[n] = NULL;
    for (size_t i = 0; i < n; i++) {
        if (words[i] == NULL) {
            return false;
        }
    }
    return true;
}

/* Whether the agent has a value of its own for this "NAME=VALUE". */
static bool is_replaced(const agent *of, const char *pair)
{
    size_t n = strcspn(pair, "=");
    for (size_t i = 0; i < VARS_MAX && of->vars[i].name != NULL; i++) {
        if (strlen(of->vars[i].name) == n && strncmp(of->vars[i].name, pair, n) == 0) {
            return true;
        }
    }
    return false;
}

static char **make_env(launch *l)
{
    size_t n = 0, at = 0;
    while (environ[n] != NULL) {
        n++;
    }
    char **env = tk_arena_array(&l->arena, n + VARS_MAX + 2, sizeof(*env));
    for (size_t i = 0; env != NULL && i < n; i++) {
        if (!is_replaced(l->agent, environ[i])) {
            env[at++] = environ[i];
        }
    }
    for (size_t i = 0; env != NULL && i < VARS_MAX && l->agent->vars[i].name != NULL;
         i++) {
        env[at] = make(l, l->agent->vars[i].name, l->agent->vars[i].value);
        if (env[at++] == NULL) {
            return NULL;
        }
    }
    if (env != NULL) {
        env[at++] = make(l, "TINKC_EPISODE", l->episode);
        env[at] = NULL;
    }
    return env != NULL && env[at - 1] != NULL ? env : NULL;
}

/* ---- --print ---- */

/* Writes a word as a shell reads it back. */
static void put_quoted(tk_buf *out, const char *word)
{
    tk_buf_putc(out, '\'');
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            tk_buf_puts(out, "'\\''");
        } else {
            tk_buf_putc(out, *word);
        }
    }
    tk_buf_putc(out, '\'');
}

static int print(launch *l, char *const *words)
{
    tk_buf text;
    tk_buf_init(&text, TK_MIB);
    for (size_t i = 0; i < VARS_MAX && l->agent->vars[i].name != NULL; i++) {
        const char *value = make(l, NULL, l->agent->vars[i].value);
        tk_buf_printf(&text, "export %s=", l->agent->vars[i].name);
        put_quoted(&text, value != NULL ? value : "");
        tk_buf_putc(&text, '\n');
    }
    for (size_t i = 0; words[i] != NULL; i++) {
        tk_buf_puts(&text, i > 0 ? " " : "");
        put_quoted(&text, words[i]);
    }
    tk_buf_puts(&text, words[0] != NULL ? "\n" : "");
    bool ok = text.failure == TINKC_OK;
    if (ok) {
        cmd_print_lines(stdout, tk_buf_str(&text));
    }
    tk_buf_dispose(&text);
    return ok ? CMD_OK : cmd_fail("out of memory");
}

/* ---- running it ---- */

/* How to read what the agent did. */
static void tell(const launch *l)
{
    if (cmd_local_is_used()) {
        cmd_print(stderr,
                  "Episode %s is kept. With 'tinkc serve':\n"
                  "  curl http://127.0.0.1:8000/tinkc/v1/episodes/%s\n",
                  l->episode, l->episode);
        return;
    }
    cmd_print(stderr, "Episode %s:\n  curl %s%s/tinkc/v1/episodes/%s\n", l->episode,
              strcmp(l->key, NO_KEY) != 0
                  ? "-H \"Authorization: Bearer $TINKER_API_KEY\" "
                  : "",
              l->url, l->episode);
}

static int spawn(launch *l, char *const *words)
{
    char **env = make_env(l);
    pid_t pid = 0;
    int status = 0;
    if (env == NULL) {
        return cmd_fail("out of memory");
    }
    int failure = posix_spawnp(&pid, words[0], NULL, NULL, words, env);
    if (failure != 0) {
        tk_err err = TK_ERR_INIT;
        (void)tk_err_sys(&err, failure, "%s", words[0]);
        return cmd_fail_hint("Is it installed, and in PATH?", "%s", err.message);
    }
    cmd_signal_catch(); /* Ctrl-C is the agent's */
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    cmd_signal_release();
    tell(l);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- options ---- */

static const agent *find_agent(const char *name)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(agents); i++) {
        if (strcmp(agents[i].name, name) == 0) {
            return &agents[i];
        }
    }
    return NULL;
}

static int check(const cmd_args *args)
{
    const agent *found = find_agent(cmd_operand(args, 0));
    const char *episode = cmd_text(args, "episode", "a");
    if (found == NULL) {
        return cmd_bad_usage(
            args, "AGENT must be openai, anthropic, litellm, opencode, codex or claude.");
    }
    if (found->program == NULL && cmd_operands(args) < 2 && !cmd_has(args, "print")) {
        return cmd_bad_usage(args, "%s needs a command after --, or --print.",
                             found->name);
    }
    if (cmd_has(args, "print") && cmd_has(args, "local")) {
        return cmd_bad_usage(args, "--print is for a server that goes on running.");
    }
    if (cmd_has(args, "url") && !cmd_has(args, "model")) {
        return cmd_bad_usage(args, "--url needs --model.");
    }
    if (episode[0] == '\0' || strlen(episode) >= EPISODE_MAX ||
        strpbrk(episode, "/?#% \t\n") != NULL) {
        return cmd_bad_usage(args, "--episode must be a name without /, ?, #, %% and "
                                   "blanks.");
    }
    return CMD_OK;
}

static int name_episode(launch *l)
{
    unsigned char random[8];
    tk_err err = TK_ERR_INIT;
    const char *given = cmd_text(l->args, "episode", NULL);
    if (given != NULL) {
        (void)snprintf(l->episode, sizeof(l->episode), "%s", given);
        return CMD_OK;
    }
    if (tk_rand_entropy(random, sizeof(random), &err) != TINKC_OK) {
        return cmd_fail("%s", err.message);
    }
    int n = snprintf(l->episode, sizeof(l->episode), "%s-", l->agent->name);
    for (size_t i = 0; i < sizeof(random); i++) {
        (void)snprintf(l->episode + n + 2 * i, 3, "%02x", random[i]);
    }
    return CMD_OK;
}

/* Sets URL and key. The key of a profile is not known here. */
static int find_server(launch *l)
{
    const char *given = cmd_text(l->args, "url", NULL);
    tinkc_config *config = NULL;
    cmd_local local = {NULL, NULL};
    l->key = cmd_text(l->args, "api-key", tk_env_get_nonempty(NULL, "TINKER_API_KEY"));
    l->key = l->key != NULL ? l->key : NO_KEY;
    if (given != NULL) {
        (void)snprintf(l->url, sizeof(l->url), "%s", given);
    } else {
        int result = cmd_service_config(&config, l->args, CMD_BRIEF);
        if (result != CMD_OK) {
            return result;
        }
        (void)tinkc_config_get(l->url, sizeof(l->url), config, "base_url");
        tinkc_config_free(&config);
    }
    if (cmd_local_is_used() && cmd_local_start(&local, l->args) == CMD_OK &&
        local.key != NULL) {
        l->key = local.key;
    }
    for (size_t n = strlen(l->url); n > 0 && l->url[n - 1] == '/'; n--) {
        l->url[n - 1] = '\0';
    }
    return CMD_OK;
}

static int find_model(launch *l)
{
    const char *typed = cmd_text(l->args, "model", NULL);
    if (cmd_has(l->args, "url")) {
        l->model = tk_strdup(typed);
        return l->model != NULL ? CMD_OK : cmd_fail("out of memory");
    }
    int result = cmd_service_open(&l->service, l->args, CMD_BRIEF);
    return result == CMD_OK
               ? cmd_resolve(&l->model, l->service, l->args, typed, CMD_MODEL)
               : result;
}

static int start(launch *l)
{
    char *words[WORDS_MAX + 1];
    int result = name_episode(l);
    if (result == CMD_OK) {
        result = find_server(l);
    }
    if (result == CMD_OK) {
        result = find_model(l);
    }
    if (result != CMD_OK) {
        return result;
    }
    if (!make_words(l, words)) {
        return cmd_fail("out of memory");
    }
    return cmd_has(l->args, "print") ? print(l, words) : spawn(l, words);
}

static int run(const cmd_args *args)
{
    launch l = {.args = args, .agent = find_agent(cmd_operand(args, 0))};
    tk_arena_init(&l.arena, 64 * TK_MIB);
    int result = start(&l);
    cmd_service_end(&l.service, CMD_OK);
    tk_arena_dispose(&l.arena);
    tk_free(l.model);
    return result;
}

static const cmd_option options[] = {
    {"model", 'm', CMD_TEXT, "NAME",
     "Model, checkpoint (NAME, NAME@STEP, tinker://...), or DIR with --local.", false},
    {"url", 0, CMD_TEXT, "URL", "The gateway ('tinkc gateway'); default: the server.",
     false},
    {"episode", 0, CMD_TEXT, "NAME", "Name of the episode (default: a new one).", false},
    {"print", 0, CMD_FLAG, NULL, "Print the variables and the command; start nothing.",
     false},
    {0},
};

const cmd_spec cmd_launch = {
    .name = "launch",
    .operands = "AGENT [-- ARGS]",
    .min_operands = 1,
    .max_operands = 40,
    .help = "Start an agent whose tokens are kept.",
    .more =
        "AGENT is opencode, codex or claude, which are started with ARGS; or openai,\n"
        "anthropic or litellm: then ARGS are a program that uses that library. The agent\n"
        "finds the server in its environment ('tinkc serve', 'tinkc gateway' with --url, or\n"
        "a private one with --local) and has an episode of its own, whose name is shown at\n"
        "the end and is in TINKC_EPISODE. The exit code is that of the agent.",
    .examples = "tinkc launch --local openai -- python agent.py\n"
                "tinkc launch --url http://127.0.0.1:8001 -m Qwen/Qwen3-8B opencode\n"
                "tinkc launch -m Qwen/Qwen3-0.6B --print anthropic",
    .options = options,
    .check = check,
    .run = run,
};
