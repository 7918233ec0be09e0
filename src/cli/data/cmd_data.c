/* `tinkc data check` and `tinkc data show`: training data before it is trained on. Both
 * read the files as `tinkc train` does and need no server, only a tokenizer.
 * Needs: text */
#include <stdio.h>
#include <string.h>

#include "cli/cmd_list.h"
#include "cli/data/data_show.h"
#include "cli/frame/cmd_text.h"

#define ROWS_SHOWN 3

typedef struct data_command {
    const cmd_args *args;
    data_files files;
    data_set set;
    data_source source;
    tinkc_tokenizer *tokenizer;
    tinkc_chat_template *tpl;
    size_t from, rows;
} data_command;

static int open_tokenizer(data_command *d)
{
    tinkc_error *error = NULL;
    int result = cmd_text_tokenizer(&d->tokenizer, d->args);
    if (result != CMD_OK) {
        return result;
    }
    tinkc_code code = tinkc_chat_template_of(&d->tpl, d->tokenizer, NULL, &error);
    if (code != TINKC_OK && code != TINKC_E_MISSING) {
        return cmd_fail_error(&error, "Cannot use the chat template");
    }
    tinkc_error_free(&error);
    return CMD_OK;
}

static tinkc_loss_on loss_on(const cmd_args *args)
{
    const char *word = cmd_text(args, "loss-on", "assistant");
    return strcmp(word, "last") == 0  ? TINKC_LOSS_ON_LAST
           : strcmp(word, "all") == 0 ? TINKC_LOSS_ON_ALL
                                      : TINKC_LOSS_ON_ASSISTANT;
}

/* Whether a file has an example or a bad line. */
static bool has_any(const data_command *d)
{
    for (size_t i = 0; i < d->files.n; i++) {
        for (size_t k = 0; k < DATA_KINDS; k++) {
            if (d->files.found[i].kinds[k] > 0) {
                return true;
            }
        }
    }
    return d->set.problems > 0;
}

static int read_and_show(data_command *d)
{
    d->source.tokenizer = d->tokenizer;
    d->source.tpl = d->tpl;
    d->source.max_tokens = (size_t)cmd_int(d->args, "max-length", 0);
    d->source.loss_on = loss_on(d->args);
    data_set_init(&d->set, d->tokenizer != NULL ? tinkc_tokenizer_size(d->tokenizer) : 1);
    int result = data_read(&d->set, &d->files, &d->source, NULL);
    if (result != CMD_OK) {
        return result;
    }
    const data_view view = {.set = &d->set,
                            .files = &d->files,
                            .tokenizer = d->tokenizer,
                            .from = d->from,
                            .rows = d->rows};
    result =
        cmd_wants_json(d->args) ? data_show_json(&view, d->args) : data_show_text(&view);
    if (result == CMD_OK && !has_any(d)) {
        result =
            cmd_fail("there is nothing to train on in %s", data_read_name(&d->files));
    } else if (result == CMD_OK && d->set.problems > 0) {
        result = cmd_fail_hint(
            "Fix them, or leave them out with --skip-bad when you train.",
            "%zu %s of %s cannot be used for training", d->set.problems,
            d->set.problems == 1 ? "line" : "lines", data_read_name(&d->files));
    }
    return result;
}

static int run(data_command *d)
{
    int result = CMD_OK;
    data_read_format(&d->source, cmd_text(d->args, "input-format", NULL));
    for (size_t i = 0; result == CMD_OK && i < cmd_operands(d->args); i++) {
        const char *word = cmd_operand(d->args, i);
        result = data_read_open(&d->files, &word, 1, &d->source);
    }
    bool has_tokenizer = cmd_has(d->args, "tokenizer") || cmd_has(d->args, "model");
    if (result == CMD_OK && (has_tokenizer || d->rows > 0)) {
        result = open_tokenizer(d);
    }
    if (result == CMD_OK) {
        result = read_and_show(d);
    }
    data_set_dispose(&d->set);
    data_files_dispose(&d->files);
    tinkc_chat_template_free(&d->tpl);
    tinkc_tokenizer_free(&d->tokenizer);
    return result;
}

static int run_check(const cmd_args *args)
{
    data_command d = {.args = args};
    return run(&d);
}

static int run_show(const cmd_args *args)
{
    data_command d = {.args = args,
                      .from = (size_t)cmd_int(args, "from", 1) - 1,
                      .rows = (size_t)cmd_int(args, "rows", ROWS_SHOWN)};
    return run(&d);
}

static int check(const cmd_args *args)
{
    if (cmd_int(args, "max-length", 1) < 1) {
        return cmd_bad_usage(args, "--max-length must be 1 or more.");
    }
    return CMD_OK;
}

static int check_show(const cmd_args *args)
{
    if (cmd_int(args, "from", 1) < 1 || cmd_int(args, "rows", 1) < 1) {
        return cmd_bad_usage(args, "--from and --rows must be 1 or more.");
    }
    return check(args);
}

#define OPTIONS                                                                          \
    CMD_TEXT_TOKENIZER, CMD_TEXT_MODEL, DATA_READ_FORMAT,                                \
        {"loss-on",                                                                      \
         0,                                                                              \
         CMD_CHOICE,                                                                     \
         "assistant|last|all",                                                           \
         "Part of a conversation to train on (assistant).",                              \
         false},                                                                         \
    {                                                                                    \
        "max-length", 0, CMD_INT, "N", "Longest example, in tokens (no limit).", false   \
    }

static const cmd_option check_options[] = {OPTIONS, {0}};

const cmd_spec cmd_data_check = {
    .name = "data check",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .help = "Check training data: format, bad lines, lengths.",
    .more =
        "Shows the format of each file, the first bad lines and their number. With --model\n"
        "or --tokenizer, also the number of tokens and the lengths of the examples. The\n"
        "exit code is 1 when a line cannot be used.",
    .examples = "tinkc data check orders.jsonl\n"
                "tinkc data check 'data/*.csv.gz' --model tinkc/pebble-llama-2m",
    .options = check_options,
    .check = check,
    .run = run_check,
};

static const cmd_option show_options[] = {
    OPTIONS,
    {"rows", 'n', CMD_INT, "N", "Examples to show (3).", false},
    {"from", 0, CMD_INT, "N", "First example to show (1).", false},
    {0},
};

const cmd_spec cmd_data_show = {
    .name = "data show",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .help = "Show training data as the model would see it.",
    .more =
        "Shows the text of the first examples, with what is trained on between {+ and "
        "+},\n"
        "then what 'tinkc data check' shows.",
    .examples = "tinkc data show orders.jsonl --model tinkc/pebble-llama-2m",
    .options = show_options,
    .check = check_show,
    .run = run_show,
};
