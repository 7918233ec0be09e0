/* The parser of options: --name VALUE, --name=VALUE, -n VALUE, -nVALUE, and `--` before
 * operands that start with a dash. The command's own table comes before the global one.
 * One word gives at most one value. Numbers and choices are checked here, so that every
 * command refuses them in the same way. Values live in cmd_args, which cmd_main owns. A
 * secret is copied and wiped in argv, which every user of the machine can read. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/similar.h"
#include "base/str.h"
#include "cli/frame/cmd_int.h"

const cmd_option cmd_globals[] = {
    {"format", 'f', CMD_CHOICE, "table|json|jsonl", "Output format (default: table).",
     false},
    {"api-key", 0, CMD_SECRET, "KEY", "API key (default: $TINKER_API_KEY).", false},
    {"base-url", 0, CMD_TEXT, "URL", "Server to use (default: $TINKER_BASE_URL).", false},
    {"profile", 0, CMD_TEXT, "NAME", "Stored server to use (default: $TINKC_PROFILE).",
     false},
    {"local", 0, CMD_FLAG, NULL, "Start and use a private server on this machine.",
     false},
    {"timeout", 0, CMD_NUMBER, "SECONDS", "Time limit for one request (60).", false},
    {"set", 0, CMD_SECRET, "NAME=VALUE", "Set an option of the library (docs/config.md).",
     true},
    {"verbose", 'v', CMD_FLAG, NULL, "Log to standard error; twice: every request.",
     true},
    {"stats", 0, CMD_FLAG, NULL, "Print metrics to standard error at the end.", false},
    {"no-color", 0, CMD_FLAG, NULL, "Do not use colour (also: NO_COLOR).", false},
    {"version", 0, CMD_FLAG, NULL, "Show the version and exit.", false},
    {0},
};

static bool refuse(const cmd_args *args, const char *format, ...) TINKC_PRINTF(2, 3);

static bool refuse(const cmd_args *args, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)cmd_vbad_usage(args->command, format, list);
    va_end(list);
    return false;
}

static const cmd_option *own_options(const cmd_args *args)
{
    static const cmd_option none[] = {{0}};
    return args->command != NULL && args->command->options != NULL
               ? args->command->options
               : none;
}

/* Returns the option with this long name or, if that is NULL, with this letter; NULL when
 * there is none. */
static const cmd_option *find(const cmd_args *args, const tk_str *name, char letter)
{
    const cmd_option *lists[] = {own_options(args), cmd_globals};
    for (size_t i = 0; i < TK_ARRAY_LEN(lists); i++) {
        for (const cmd_option *option = lists[i]; option->name != NULL; option++) {
            if (name != NULL ? tk_str_is(*name, option->name)
                             : option->letter == letter) {
                return option;
            }
        }
    }
    return NULL;
}

static const cmd_option *find_long(const cmd_args *args, tk_str name)
{
    return find(args, &name, 0);
}

static bool is_choice(const char *words, const char *text)
{
    tk_str rest = tk_str_of(words);
    while (rest.p != NULL) {
        if (tk_str_is(tk_str_cut(&rest, '|'), text)) {
            return true;
        }
    }
    return false;
}

/* Leaves "***" of a word of argv. */
static void wipe(char *word)
{
    size_t n = strlen(word);
    memset(word, '*', TK_MIN(n, 3));
    tk_mem_wipe(word + TK_MIN(n, 3), n - TK_MIN(n, 3));
}

static bool add(cmd_args *args, const cmd_option *option, char *text)
{
    cmd_value value = {
        .option = option, .text = text, .integer = option->kind == CMD_FLAG};
    if (option->kind == CMD_SECRET) {
        value.copy = tk_strdup(text);
        value.text = value.copy;
        wipe(text);
        if (value.copy == NULL) {
            return refuse(args, "Out of memory.");
        }
    }
    if (option->kind == CMD_INT && !tk_str_to_i64(tk_str_of(text), &value.integer)) {
        return refuse(args, "Invalid value for '--%s': '%s' is not a valid integer.",
                      option->name, text);
    }
    if (option->kind == CMD_NUMBER && !tk_str_to_double(tk_str_of(text), &value.number)) {
        return refuse(args, "Invalid value for '--%s': '%s' is not a valid number.",
                      option->name, text);
    }
    if (option->kind == CMD_CHOICE && !is_choice(option->value, text)) {
        return refuse(args, "Invalid value for '--%s': '%s' is not one of %s.",
                      option->name, text, option->value);
    }
    args->values[args->n_values++] = value;
    return true;
}

static bool refuse_name(const cmd_args *args, tk_str name)
{
    const cmd_option *lists[] = {own_options(args), cmd_globals};
    tk_similar search = {.typed = name};
    for (size_t i = 0; i < TK_ARRAY_LEN(lists); i++) {
        for (const cmd_option *option = lists[i]; option->name != NULL; option++) {
            tk_similar_try(&search, option->name);
        }
    }
    return search.best == NULL
               ? refuse(args, "No such option: --" TK_STR_FMT, TK_STR_ARG(name))
               : refuse(args, "No such option: --" TK_STR_FMT ". Did you mean --%s?",
                        TK_STR_ARG(name), search.best);
}

static bool long_option(cmd_args *args, int *at, int argc, char *const *argv)
{
    tk_str rest = tk_str_of(argv[*at] + 2);
    tk_str name = tk_str_cut(&rest, '=');
    if (tk_str_is(name, "help") && rest.p == NULL) {
        args->wants_help = true;
        return true;
    }
    const cmd_option *option = find_long(args, name);
    if (option == NULL) {
        return refuse_name(args, name);
    }
    if (option->kind == CMD_FLAG) {
        return rest.p == NULL
                   ? add(args, option, NULL)
                   : refuse(args, "Option '--%s' takes no value.", option->name);
    }
    if (rest.p != NULL) {
        return add(args, option, argv[*at] + (rest.p - argv[*at]));
    }
    if (*at + 1 >= argc) {
        return refuse(args, "Option '--%s' requires an argument.", option->name);
    }
    *at += 1;
    return add(args, option, argv[*at]);
}

/* Reads -v, and -vv for a flag that repeats. */
static bool short_flag(cmd_args *args, const cmd_option *option, const char *word)
{
    size_t n = strspn(word, (char[2]){option->letter, '\0'});
    if (word[n] != '\0' || (n > 1 && !option->repeats)) {
        return refuse(args, "No such option: -%s", word);
    }
    bool ok = add(args, option, NULL);
    args->values[args->n_values - 1].integer = (int64_t)n;
    return ok;
}

static bool short_option(cmd_args *args, int *at, int argc, char *const *argv)
{
    char *word = argv[*at] + 1;
    if (strcmp(word, "h") == 0) {
        args->wants_help = true;
        return true;
    }
    const cmd_option *option = find(args, NULL, word[0]);
    if (option == NULL) {
        return refuse(args, "No such option: -%s", word);
    }
    if (option->kind == CMD_FLAG) {
        return short_flag(args, option, word);
    }
    if (word[1] != '\0') {
        return add(args, option, word + 1);
    }
    if (*at + 1 >= argc) {
        return refuse(args, "Option '-%c' requires an argument.", word[0]);
    }
    *at += 1;
    return add(args, option, argv[*at]);
}

bool cmd_args_parse(cmd_args *args, int *at, int argc, char *const *argv)
{
    bool only_operands = false;
    for (; *at < argc; *at += 1) {
        const char *word = argv[*at];
        bool is_option = !only_operands && word[0] == '-' && word[1] != '\0';
        if (is_option && strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (is_option) {
            if (!(word[1] == '-' ? long_option(args, at, argc, argv)
                                 : short_option(args, at, argc, argv))) {
                return false;
            }
        } else if (args->command == NULL) {
            return true;
        } else {
            args->operands[args->n_operands++] = word;
        }
    }
    return true;
}

void cmd_args_dispose(cmd_args *args)
{
    for (size_t i = 0; i < args->n_values; i++) {
        char *copy = args->values[i].copy;
        if (copy != NULL) {
            tk_mem_wipe(copy, strlen(copy));
            tk_free(copy);
        }
    }
    for (size_t i = 0; args->meant != NULL && i < args->n_operands; i++) {
        tk_free(args->meant[i]);
    }
}

static const cmd_value *find_value(const cmd_args *args, const char *name, size_t index)
{
    const cmd_option *option = find_long(args, tk_str_of(name));
    for (size_t i = 0; i < args->n_values; i++) {
        if (args->values[i].option == option && index-- == 0) {
            return &args->values[i];
        }
    }
    return NULL;
}

size_t cmd_count(const cmd_args *args, const char *name)
{
    const cmd_option *option = find_long(args, tk_str_of(name));
    size_t n = 0;
    for (size_t i = 0; i < args->n_values; i++) {
        if (args->values[i].option == option) {
            n += option->kind == CMD_FLAG ? (size_t)args->values[i].integer : 1;
        }
    }
    return n;
}

bool cmd_has(const cmd_args *args, const char *option)
{
    return cmd_count(args, option) > 0;
}

const char *cmd_at(const cmd_args *args, const char *option, size_t index)
{
    const cmd_value *value = find_value(args, option, index);
    return value != NULL ? value->text : NULL;
}

const char *cmd_text(const cmd_args *args, const char *option, const char *fallback)
{
    size_t n = cmd_count(args, option);
    return n > 0 ? cmd_at(args, option, n - 1) : fallback;
}

int64_t cmd_int(const cmd_args *args, const char *option, int64_t fallback)
{
    size_t n = cmd_count(args, option);
    return n > 0 ? find_value(args, option, n - 1)->integer : fallback;
}

double cmd_number(const cmd_args *args, const char *option, double fallback)
{
    size_t n = cmd_count(args, option);
    return n > 0 ? find_value(args, option, n - 1)->number : fallback;
}

size_t cmd_operands(const cmd_args *args)
{
    return args->n_operands;
}

const char *cmd_typed(const cmd_args *args, size_t index)
{
    return index < args->n_operands ? args->operands[index] : NULL;
}

const char *cmd_operand(const cmd_args *args, size_t index)
{
    return index < args->n_operands && args->meant[index] != NULL
               ? args->meant[index]
               : cmd_typed(args, index);
}

cmd_format cmd_format_of(const cmd_args *args)
{
    const char *word = cmd_text(args, "format", "table");
    return strcmp(word, "json") == 0    ? CMD_JSON
           : strcmp(word, "jsonl") == 0 ? CMD_JSONL
                                        : CMD_TABLE;
}

bool cmd_wants_json(const cmd_args *args)
{
    return cmd_format_of(args) != CMD_TABLE;
}
