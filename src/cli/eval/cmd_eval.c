/* `tinkc eval`: asks a model questions whose answers are known, and says how many it gets
 * right; with --against the same of another model, and the difference.
 * Needs: text */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd_list.h"
#include "cli/data/data_read.h"
#include "cli/eval/eval_ask.h"
#include "cli/eval/eval_stat.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_table.h"

#define SHOWN 3 /* wrong answers */

typedef struct evaluation {
    const cmd_args *args;
    cmd_model model;
    data_files files;
    data_set set;
    eval_asking asking;
    const char *names[2]; /* what the user typed */
    eval_answers answers[2];
    size_t n; /* models */
} evaluation;

/* ---- reading ---- */

static int read_questions(evaluation *e)
{
    data_source source = {
        .want = DATA_PROMPTS, .tokenizer = e->model.tokenizer, .tpl = e->model.tpl};
    data_set_init(&e->set, tinkc_tokenizer_size(e->model.tokenizer));
    int result = data_read(&e->set, &e->files, &source, NULL);
    if (result != CMD_OK) {
        return result;
    }
    for (size_t i = 0; i < e->set.n; i++) {
        if (e->set.rows[i].answer.p == NULL) {
            return cmd_fail_hint(
                "Add \"answer\", or a message of the assistant at the end.",
                "line %zu of %s has no answer to compare with", e->set.rows[i].line,
                data_read_name(&e->files));
        }
    }
    if (e->set.problems > 0) {
        return cmd_fail("%zu of %zu lines of %s are not questions", e->set.problems,
                        e->set.problems + data_read_records(&e->files),
                        data_read_name(&e->files));
    }
    return e->set.n > 0 ? CMD_OK
                        : cmd_fail("%s has no question", data_read_name(&e->files));
}

static eval_match match_of(const cmd_args *args)
{
    const char *word = cmd_text(args, "match", "exact");
    return strcmp(word, "contains") == 0 ? EVAL_CONTAINS
           : strcmp(word, "number") == 0 ? EVAL_NUMBER
                                         : EVAL_EXACT;
}

/* ---- text ---- */

static void put_model(cmd_table *table, const evaluation *e, size_t at)
{
    eval_mean mean = eval_stat_mean(e->answers[at].scores, e->set.n);
    cmd_table_put(table, e->names[at]);
    cmd_table_printf(table, "%.4g of %zu", mean.mean * (double)mean.n, mean.n);
    cmd_table_printf(table, "%.1f %%", mean.mean * 100);
    if (mean.method == EVAL_NONE) {
        cmd_table_put(table, "");
    } else {
        cmd_table_printf(table, "%.1f to %.1f %%", mean.low * 100, mean.high * 100);
    }
}

static void show_difference(const evaluation *e)
{
    eval_pairs pairs =
        eval_stat_pairs(e->answers[0].scores, e->answers[1].scores, e->set.n);
    const eval_mean *d = &pairs.difference;
    cmd_print(stdout, "\n%s against %s: %+.1f points", e->names[0], e->names[1],
              d->mean * 100);
    if (d->method != EVAL_NONE) {
        cmd_print(stdout, " (%+.1f to %+.1f)", d->low * 100, d->high * 100);
    }
    cmd_print(stdout, "; better on %zu, worse on %zu, equal on %zu\n", pairs.wins,
              pairs.losses, pairs.ties);
}

/* Shows a text after a label, its further lines below its first. */
static void show_text(const char *label, tk_str text)
{
    tk_str rest = tk_str_trim(text);
    do {
        tk_str line = tk_str_cut(&rest, '\n');
        cmd_print(stdout, "  %-9s " TK_STR_FMT "\n", label, TK_STR_ARG(line));
        label = "";
    } while (rest.p != NULL);
}

static void show_wrong(const evaluation *e, size_t most)
{
    size_t wrong = 0, shown = 0;
    for (size_t i = 0; i < e->set.n; i++) {
        wrong += e->answers[0].wrong[i].p != NULL ? 1 : 0;
    }
    for (size_t i = 0; i < e->set.n && shown < most; i++) {
        const data_row *row = &e->set.rows[i];
        if (e->answers[0].wrong[i].p == NULL) {
            continue;
        }
        cmd_print(stdout, "\nWrong: %s:%zu\n", e->files.paths[row->file], row->line);
        shown++;
        show_text("expected", row->answer);
        show_text("answered", e->answers[0].wrong[i]);
    }
    if (wrong > shown && most > 0) {
        cmd_print(stdout, "\n... and %zu more (--show N)\n", wrong - shown);
    }
}

static int show_table(const evaluation *e)
{
    static const char *const columns[] = {"Model", "Right", "Score", "95 % interval"};
    cmd_table *table = cmd_table_new(columns, TK_ARRAY_LEN(columns));
    for (size_t i = 0; i < e->n; i++) {
        put_model(table, e, i);
    }
    int result = cmd_table_print(&table, e->args);
    if (e->n == 2) {
        show_difference(e);
    }
    show_wrong(e, (size_t)cmd_int(e->args, "show", SHOWN));
    return result;
}

/* ---- JSON ---- */

static void put_mean(cmd_json *json, const eval_mean *mean)
{
    cmd_json_key(json, "score");
    cmd_json_real(json, mean->mean);
    cmd_json_key(json, "low");
    cmd_json_real(json, mean->low);
    cmd_json_key(json, "high");
    cmd_json_real(json, mean->high);
    cmd_json_pair(json, "interval", eval_stat_name(mean->method));
}

static void put_models(cmd_json *json, const evaluation *e)
{
    cmd_json_key(json, "models");
    tk_json_begin_array(&json->w);
    for (size_t i = 0; i < e->n; i++) {
        eval_mean mean = eval_stat_mean(e->answers[i].scores, e->set.n);
        tk_json_begin_object(&json->w);
        cmd_json_pair(json, "model", e->names[i]);
        put_mean(json, &mean);
        tk_json_end_object(&json->w);
    }
    tk_json_end_array(&json->w);
}

static void put_difference(cmd_json *json, const evaluation *e)
{
    eval_pairs pairs =
        eval_stat_pairs(e->answers[0].scores, e->answers[1].scores, e->set.n);
    cmd_json_key(json, "difference");
    tk_json_begin_object(&json->w);
    put_mean(json, &pairs.difference);
    cmd_json_key(json, "wins");
    cmd_json_count(json, (int64_t)pairs.wins);
    cmd_json_key(json, "losses");
    cmd_json_count(json, (int64_t)pairs.losses);
    cmd_json_key(json, "ties");
    cmd_json_count(json, (int64_t)pairs.ties);
    tk_json_end_object(&json->w);
}

static void put_failures(cmd_json *json, const evaluation *e)
{
    cmd_json_key(json, "failures");
    tk_json_begin_array(&json->w);
    for (size_t i = 0; i < e->set.n; i++) {
        const data_row *row = &e->set.rows[i];
        if (e->answers[0].wrong[i].p == NULL) {
            continue;
        }
        tk_json_begin_object(&json->w);
        cmd_json_pair(json, "file", e->files.paths[row->file]);
        cmd_json_key(json, "line");
        cmd_json_count(json, (int64_t)row->line);
        cmd_json_key(json, "expected");
        tk_json_put_str(&json->w, row->answer);
        cmd_json_key(json, "answer");
        tk_json_put_str(&json->w, e->answers[0].wrong[i]);
        cmd_json_key(json, "score");
        cmd_json_real(json, e->answers[0].scores[i]);
        tk_json_end_object(&json->w);
    }
    tk_json_end_array(&json->w);
}

static int show_json(const evaluation *e)
{
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_key(&json, "questions");
    cmd_json_count(&json, (int64_t)e->set.n);
    cmd_json_key(&json, "samples");
    cmd_json_count(&json, e->asking.samples);
    cmd_json_pair(&json, "match", cmd_text(e->args, "match", "exact"));
    put_models(&json, e);
    if (e->n == 2) {
        put_difference(&json, e);
    }
    put_failures(&json, e);
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, e->args);
}

/* ---- the command ---- */

/* Takes the likeliest answer, unless there are several or a temperature is given. */
static void set_temperature(evaluation *e)
{
    bool is_greedy = !cmd_has(e->args, "temperature") && e->asking.samples == 1;
    e->model.params.temperature = is_greedy ? 0 : cmd_number(e->args, "temperature", 1);
}

static int any_model(const cmd_model *model)
{
    (void)model;
    return CMD_OK;
}

/* The tokens of the questions are those of the first model. */
static int ask_other(evaluation *e)
{
    size_t size = tinkc_tokenizer_size(e->model.tokenizer);
    int result = cmd_model_switch(&e->model, e->args, e->names[1], any_model);
    if (result != CMD_OK) {
        return result;
    }
    if (tinkc_tokenizer_size(e->model.tokenizer) != size) {
        return cmd_fail("%s and %s have different tokenizers", e->names[0], e->names[1]);
    }
    set_temperature(e);
    e->n = 2;
    return eval_ask(&e->answers[1], &e->model, &e->asking);
}

static int evaluate(evaluation *e)
{
    int result = cmd_model_open(&e->model, e->args, true);
    if (result != CMD_OK) {
        return result;
    }
    e->names[0] = cmd_text(e->args, "model", e->model.name);
    result = read_questions(e);
    if (result != CMD_OK) {
        return result;
    }
    set_temperature(e);
    e->n = 1;
    result = eval_ask(&e->answers[0], &e->model, &e->asking);
    if (result == CMD_OK && e->names[1] != NULL) {
        result = ask_other(e);
    }
    if (result != CMD_OK) {
        return result;
    }
    return cmd_wants_json(e->args) ? show_json(e) : show_table(e);
}

static int run(const cmd_args *args)
{
    evaluation e = {.args = args, .names = {NULL, cmd_text(args, "against", NULL)}};
    data_source source = {.want = DATA_PROMPTS};
    int result = CMD_OK;
    e.asking = (eval_asking){.set = &e.set,
                             .samples = cmd_int(args, "samples", 1),
                             .seed = (uint64_t)cmd_int(args, "seed", 1),
                             .match = match_of(args)};
    for (size_t i = 0; result == CMD_OK && i < cmd_count(args, "data"); i++) {
        const char *word = cmd_at(args, "data", i);
        result = data_read_open(&e.files, &word, 1, &source);
    }
    if (result == CMD_OK) {
        result = evaluate(&e);
    }
    eval_answers_dispose(&e.answers[0]);
    eval_answers_dispose(&e.answers[1]);
    data_set_dispose(&e.set);
    data_files_dispose(&e.files);
    cmd_model_close(&e.model, result);
    return result;
}

static int check(const cmd_args *args)
{
    if (cmd_count(args, "data") == 0) {
        return cmd_bad_usage(args, "Missing option '--data'.");
    }
    if (cmd_int(args, "samples", 1) < 1 || cmd_int(args, "samples", 1) > 1024) {
        return cmd_bad_usage(args, "--samples must be 1 to 1024.");
    }
    if (cmd_int(args, "show", 0) < 0 || cmd_int(args, "seed", 0) < 0) {
        return cmd_bad_usage(args, "--show and --seed must be 0 or more.");
    }
    return CMD_OK;
}

static const cmd_option options[] = {
    {"model", 'm', CMD_TEXT, "NAME",
     "Model, checkpoint (NAME, NAME@STEP, tinker://...), or DIR with --local.", false},
    {"data", 'd', CMD_TEXT, "FILE", "Questions with their answers.", true},
    {"against", 0, CMD_TEXT, "NAME", "Compare with this model or checkpoint.", false},
    {"match", 0, CMD_CHOICE, "exact|contains|number",
     "When an answer is right: the same text, the text in it, the same last number "
     "(exact).",
     false},
    {"samples", 'k', CMD_INT, "K", "Answers to each question (1).", false},
    {"temperature", 0, CMD_NUMBER, "T",
     "Randomness (0: the likeliest answer; 1 with several samples).", false},
    {"max-tokens", 0, CMD_INT, "N", "Most tokens of an answer (256).", false},
    {"seed", 0, CMD_INT, "N", "Seed of the first question; the next has the next (1).",
     false},
    {"show", 0, CMD_INT, "N", "Wrong answers to show (3).", false},
    {"tokenizer", 0, CMD_TEXT, "DIR|NAME",
     "Tokenizer: a directory, or a name at the hub (default: the model's).", false},
    {0},
};

const cmd_spec cmd_eval = {
    .name = "eval",
    .operands = "",
    .help = "Score a model on questions with known answers.",
    .more =
        "Reads every format of 'tinkc train', and records with \"question\" or \"prompt\" and\n"
        "\"answer\"; the last message of the assistant is the answer that is expected. Shows the\n"
        "share of right answers with its 95 % interval: Wilson's where every question\n"
        "scores 0 or 1, as with one answer to each, otherwise Student's t over the questions.\n"
        "--against asks another model the same questions with the same seeds and shows the\n"
        "paired difference. --format json lists every wrong answer.",
    .examples =
        "tinkc eval -m bookings --data examples/data/bookings-held-out.jsonl --local\n"
        "tinkc eval -m bookings --against tinkc/pebble-llama-2m --data held-out.jsonl",
    .options = options,
    .check = check,
    .run = run,
};
