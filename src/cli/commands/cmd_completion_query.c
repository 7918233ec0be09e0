/* `tinkc completion query`: what can follow the words of a command line, for the scripts of
 * shells (cmd_completion.c). Prints "words", "files", "dirs" or "nothing" and, after
 * "words", a line for each: the word, a tab, what it is. Names of models, runs, checkpoints
 * and sessions come from the server that the command line names, if that answers within
 * DEADLINE_MS. */
#include <stdio.h>
#include <string.h>
#include <tinkc/rest.h>

#include "base/str.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_int.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_service.h"

#define DEADLINE_MS 1500
#define LIST_LIMIT  100
#define VALUES_MAX  3

#define PATH_START   "tinker://"
#define PATH_START_N (sizeof(PATH_START) - 1)

static const cmd_option none[] = {{0}};

/* The words before the cursor, read. */
typedef struct query {
    const char *current;          /* the word at the cursor */
    const char *group;            /* the first word of a command that has two, or NULL */
    const cmd_spec *command;      /* NULL: it is not known yet */
    const cmd_option *option;     /* whose value the current word is, or NULL */
    bool only_operands;           /* after "--" */
    size_t operands;              /* of the command, before the current word */
    cmd_value values[VALUES_MAX]; /* options that name the server */
    size_t n_values;
    const cmd_args *args; /* of this command: the table of commands */
} query;

/* ---- answers ---- */

/* Prints a word, if it continues the current one. Texts of servers are made harmless by
 * cmd_print, which also keeps them in one line. */
static void put(const query *q, const char *word, const char *what)
{
    size_t n = strlen(q->current);
    if (word != NULL && strncmp(word, q->current, n) == 0) {
        cmd_print(stdout, "%s\t%s\n", word, what != NULL ? what : "");
    }
}

static void put_options(const query *q, const cmd_option *options)
{
    for (; options->name != NULL; options++) {
        char word[64];
        (void)snprintf(word, sizeof(word), "--%s", options->name);
        put(q, word, options->help);
    }
}

/* Prints the first words of all commands, or the second words of a group. */
static void put_commands(const query *q)
{
    size_t n_group = q->group != NULL ? strlen(q->group) : 0;
    for (const cmd_spec *const *at = q->args->commands; *at != NULL; at++) {
        const char *name = (*at)->name;
        size_t n = strcspn(name, " ");
        char word[64];
        (void)snprintf(word, sizeof(word), "%.*s", (int)n, name);
        if (q->group != NULL) {
            if (n == n_group && strncmp(q->group, name, n) == 0 && name[n] == ' ') {
                put(q, name + n + 1, (*at)->help);
            }
        } else if (name[n] == '\0') {
            put(q, word, (*at)->help);
        } else if (at == q->args->commands || strncmp(at[-1]->name, name, n + 1) != 0) {
            put(q, word, cmd_group_help(q->args->groups, name, n));
        }
    }
}

static void put_choices(const query *q, const char *words)
{
    for (tk_str rest = tk_str_of(words); rest.p != NULL;) {
        char word[64];
        tk_str one = tk_str_cut(&rest, '|');
        (void)snprintf(word, sizeof(word), TK_STR_FMT, TK_STR_ARG(one));
        put(q, word, "");
    }
}

/* ---- names from the server ---- */

/* Returns whether the future has a result in time. */
static bool is_ready(tinkc_future *future)
{
    if (tinkc_future_wait(future, DEADLINE_MS) == TINKC_OK) {
        return true;
    }
    tinkc_future_cancel(future);
    return false;
}

static void ask_models(const query *q, tinkc_service *service)
{
    tinkc_capabilities *all = NULL;
    tinkc_future *future = tinkc_service_capabilities(service);
    if (is_ready(future)) {
        (void)tinkc_future_take_capabilities(&all, future, NULL);
    }
    for (size_t i = 0; i < tinkc_capabilities_count(all); i++) {
        put(q, tinkc_capabilities_name(all, i), "model");
    }
    tinkc_capabilities_free(&all);
    tinkc_future_free(&future);
}

static void ask_runs(const query *q, tinkc_service *service)
{
    tinkc_runs *runs = NULL;
    tinkc_list_options options = TINKC_LIST_OPTIONS_INIT;
    options.limit = LIST_LIMIT;
    tinkc_future *future = tinkc_rest_list_runs(service, &options);
    if (is_ready(future)) {
        (void)tinkc_future_take_runs(&runs, future, NULL);
    }
    for (size_t i = 0; runs != NULL && i < runs->n; i++) {
        put(q, runs->items[i].id, runs->items[i].base_model);
    }
    tinkc_runs_free(&runs);
    tinkc_future_free(&future);
}

/* Returns the name of a checkpoint, without the kind before it. */
static const char *name_of(const tinkc_checkpoint *checkpoint)
{
    const char *slash = checkpoint->id != NULL ? strrchr(checkpoint->id, '/') : NULL;
    return slash != NULL ? slash + 1 : NULL;
}

/* Puts the name of the i-th, unless one before it has the same. */
static void put_name(const query *q, const tinkc_checkpoints *list, size_t i)
{
    const char *name = name_of(&list->items[i]);
    for (size_t k = 0; name != NULL && k < i; k++) {
        const char *other = name_of(&list->items[k]);
        if (other != NULL && strcmp(other, name) == 0) {
            return;
        }
    }
    if (name != NULL) {
        put(q, name, "checkpoint");
    }
}

/* Names, and paths where one has begun. */
static void ask_paths(const query *q, tinkc_service *service, bool only_sampler)
{
    size_t typed = strlen(q->current);
    bool is_path =
        typed > 0 && strncmp(q->current, PATH_START, TK_MIN(typed, PATH_START_N)) == 0;
    tinkc_checkpoints *list = NULL;
    tinkc_list_options options = TINKC_LIST_OPTIONS_INIT;
    options.limit = LIST_LIMIT;
    tinkc_future *future = tinkc_rest_list_user_checkpoints(service, &options);
    if (is_ready(future)) {
        (void)tinkc_future_take_checkpoints(&list, future, NULL);
    }
    for (size_t i = 0; list != NULL && i < list->n; i++) {
        if (!only_sampler || list->items[i].type == TINKC_CHECKPOINT_SAMPLER) {
            put_name(q, list, i);
            if (is_path) {
                put(q, list->items[i].path, list->items[i].id);
            }
        }
    }
    tinkc_checkpoints_free(&list);
    tinkc_future_free(&future);
}

static void ask_checkpoints(const query *q, tinkc_service *service)
{
    ask_paths(q, service, false);
}

static void ask_models_and_weights(const query *q, tinkc_service *service)
{
    ask_models(q, service);
    ask_paths(q, service, true);
}

static void ask_sessions(const query *q, tinkc_service *service)
{
    tinkc_sessions *list = NULL;
    tinkc_list_options options = TINKC_LIST_OPTIONS_INIT;
    options.limit = LIST_LIMIT;
    tinkc_future *future = tinkc_rest_list_sessions(service, &options);
    if (is_ready(future)) {
        (void)tinkc_future_take_sessions(&list, future, NULL);
    }
    for (size_t i = 0; list != NULL && i < list->n; i++) {
        put(q, list->ids[i], "session");
    }
    tinkc_sessions_free(&list);
    tinkc_future_free(&future);
}

typedef void ask_fn(const query *q, tinkc_service *service);

/* Asks the server that the command line names. */
static void ask(query *q, ask_fn *names)
{
    tinkc_service *service = NULL;
    const cmd_args args = {.commands = q->args->commands,
                           .groups = q->args->groups,
                           .command = q->args->command,
                           .values = q->values,
                           .n_values = q->n_values};
    cmd_print(stdout, "words\n");
    if (cmd_service_open(&service, &args, CMD_BRIEF) == CMD_OK) {
        names(q, service);
        cmd_service_end(&service, CMD_OK);
    }
}

/* ---- values and operands ---- */

/* What a placeholder of the help stands for. */
static const struct {
    const char *option; /* or NULL: any */
    const char *value;
    ask_fn *names;     /* or: */
    const char *files; /* "files", "dirs" */
} meanings[] = {
    {"model", "NAME", ask_models_and_weights, NULL},
    {"load", NULL, ask_checkpoints, NULL},
    {"run-id", NULL, ask_runs, NULL},
    {NULL, "CHECKPOINT", ask_checkpoints, NULL},
    {NULL, "RUN_ID", ask_runs, NULL},
    {NULL, "SESSION_ID", ask_sessions, NULL},
    {NULL, "FILE", NULL, "files"},
    {NULL, "PATH", NULL, "files"},
    {NULL, "DIR", NULL, "dirs"},
    {NULL, "DIR|NAME", NULL, "dirs"},
};

static bool is_meant(size_t i, const char *option, tk_str value)
{
    return (meanings[i].option == NULL ||
            (option != NULL && strcmp(meanings[i].option, option) == 0)) &&
           (meanings[i].value == NULL || tk_str_is(value, meanings[i].value));
}

static void put_value(query *q, const char *option, tk_str value)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(meanings); i++) {
        if (is_meant(i, option, value)) {
            if (meanings[i].names == ask_models_and_weights && q->current[0] != '\0' &&
                strchr("./~", q->current[0]) != NULL) {
                cmd_print(stdout, "dirs\n"); /* a model directory of this machine */
            } else if (meanings[i].names != NULL) {
                ask(q, meanings[i].names);
            } else {
                cmd_print(stdout, "%s\n", meanings[i].files);
            }
            return;
        }
    }
    cmd_print(stdout, "nothing\n");
}

static void put_option_value(query *q)
{
    if (q->option->kind == CMD_CHOICE) {
        cmd_print(stdout, "words\n");
        put_choices(q, q->option->value);
    } else {
        put_value(q, q->option->name, tk_str_of(q->option->value));
    }
}

/* Gives the name of the operand at the current word: the last one counts for all that
 * follow ("[CHECKPOINT]..."). */
static void put_operand(query *q)
{
    tk_str rest = tk_str_of(q->command->operands), name = {NULL, 0};
    for (size_t i = 0; rest.p != NULL && i <= q->operands; i++) {
        name = tk_str_cut(&rest, ' ');
    }
    while (name.n > 0 && strchr("[", name.p[0]) != NULL) {
        name = (tk_str){name.p + 1, name.n - 1};
    }
    while (name.n > 0 && strchr("].", name.p[name.n - 1]) != NULL) {
        name.n--;
    }
    put_value(q, NULL, name);
}

/* ---- the words ---- */

static const cmd_option *find_option(const query *q, const char *word)
{
    const cmd_option *own = q->command != NULL ? q->command->options : NULL;
    const cmd_option *lists[] = {own != NULL ? own : none, cmd_globals};
    for (size_t i = 0; i < TK_ARRAY_LEN(lists); i++) {
        for (const cmd_option *o = lists[i]; o->name != NULL; o++) {
            bool is_long = word[1] == '-' && strcmp(word + 2, o->name) == 0;
            bool is_short = word[1] != '-' && word[1] == o->letter && word[2] == '\0';
            if (is_long || is_short) {
                return o;
            }
        }
    }
    return NULL;
}

/* Keeps an option that says which server is meant. */
static void keep_value(query *q, const cmd_option *option, const char *text)
{
    static const char *const kept[] = {"base-url", "local", "profile"};
    for (size_t i = 0; i < TK_ARRAY_LEN(kept); i++) {
        if (strcmp(option->name, kept[i]) == 0 && q->n_values < VALUES_MAX) {
            q->values[q->n_values++] =
                (cmd_value){.option = option, .text = text, .integer = text == NULL};
        }
    }
}

static void take_operand(query *q, const char *word)
{
    if (q->command != NULL) {
        q->operands++;
    } else {
        q->command = cmd_find(q->args, q->group, word);
        if (q->command == NULL && q->group == NULL && cmd_is_group(q->args, word)) {
            q->group = word;
        }
    }
}

/* Reads the words before the current one. */
static void read_words(query *q, const cmd_args *args, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *word = cmd_operand(args, i);
        if (q->only_operands || word[0] != '-' || word[1] == '\0') {
            take_operand(q, word);
            continue;
        }
        q->only_operands = strcmp(word, "--") == 0;
        const cmd_option *option = find_option(q, word);
        if (option != NULL && option->kind == CMD_FLAG) {
            keep_value(q, option, NULL);
        } else if (option != NULL && i + 1 < n) {
            keep_value(q, option, cmd_operand(args, ++i));
        } else if (option != NULL) {
            q->option = option;
        }
    }
}

static int run(const cmd_args *args)
{
    size_t n = cmd_operands(args);
    query q = {.current = n > 0 ? cmd_operand(args, n - 1) : "", .args = args};
    read_words(&q, args, n > 0 ? n - 1 : 0);
    if (q.option != NULL) {
        put_option_value(&q);
    } else if (q.current[0] == '-' && !q.only_operands) {
        cmd_print(stdout, "words\n");
        put_options(&q, q.command != NULL && q.command->options != NULL
                            ? q.command->options
                            : none);
        put_options(&q, cmd_globals);
        put(&q, "--help", "Show the help.");
    } else if (q.command == NULL) {
        cmd_print(stdout, "words\n");
        put_commands(&q);
    } else {
        put_operand(&q);
    }
    return CMD_OK;
}

const cmd_spec cmd_completion_query = {
    .name = "completion query",
    .operands = "[WORD]...",
    .max_operands = SIZE_MAX,
    .help = "Print what can follow; the completion scripts use it.",
    .more = "The words are those after 'tinkc', the last one that at the cursor. Prints\n"
            "\"words\", \"files\", \"dirs\" or \"nothing\", then a line for each word.",
    .examples = "tinkc completion query -- checkpoint d",
    .run = run,
};
