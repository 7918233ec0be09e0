/* The options of `tinkc train`: the table for the parser, and the settings among them,
 * which the weights depend on, with their defaults and ranges. Their texts come from the
 * command line or, when a run is resumed, from its state file.
 * Needs: text */
#include <string.h>

#include "base/str.h"
#include "cli/data/data_read.h"
#include "cli/train/cmd_train.h"

const cmd_option cmd_train_options[] = {
    {"model", 'm', CMD_TEXT, "NAME",
     "Base model, or DIR with --local (default: the only one).", false},
    {"save", 's', CMD_TEXT, "NAME", "Name of the checkpoints (default: the data file's).",
     false},
    {"resume", 'r', CMD_FLAG, NULL, "Continue the last run where it stopped.", false},
    {"restart", 0, CMD_FLAG, NULL, "Discard an unfinished run and start over.", false},
    {"eval", 'e', CMD_TEXT, "FILE", "Held-out data, to measure the loss on.", false},
    {"epochs", 0, CMD_INT, "N", "Passes over the data (3).", false},
    {"steps", 'n', CMD_INT, "N", "Number of steps, instead of --epochs.", false},
    {"batch", 'b', CMD_INT, "N", "Lines per step (16).", false},
    {"lr", 0, CMD_TEXT, "RATE|auto",
     "Learning rate (auto: 1e-3 * (1e9 / parameters)^(1/4)).", false},
    {"schedule", 0, CMD_CHOICE, "constant|linear|cosine",
     "How the learning rate falls (linear).", false},
    {"warmup", 0, CMD_INT, "N", "Steps during which the learning rate rises (0).", false},
    {"rank", 0, CMD_INT, "N", "Rank of the LoRA (32).", false},
    {"seed", 0, CMD_INT, "N", "Seed of the LoRA and of the order of the lines (1).",
     false},
    {"clip", 0, CMD_NUMBER, "NORM", "Clip gradients to this norm (0: off).", false},
    {"weight-decay", 0, CMD_NUMBER, "X", "Weight decay of AdamW (0).", false},
    {"loss-on", 0, CMD_CHOICE, "assistant|last|all",
     "Part of a conversation to train on (assistant).", false},
    {"max-length", 0, CMD_INT, "N",
     "Longest line, in tokens (default: the model's context).", false},
    DATA_READ_FORMAT,
    {"tokenizer", 0, CMD_TEXT, "DIR|NAME",
     "Tokenizer: a directory, or a name at the hub (default: the model's).", false},
    {"load", 0, CMD_TEXT, "NAME",
     "Start from these weights (or tinker://RUN/weights/NAME).", false},
    {"save-every", 0, CMD_INT, "N", "Steps between checkpoints (50; 0: only at the end).",
     false},
    {"eval-every", 0, CMD_INT, "N",
     "Steps between evaluations (0: only at the start and the end).", false},
    {"budget-tokens", 0, CMD_INT, "N", "Save and stop before more tokens are used.",
     false},
    {"metrics", 0, CMD_TEXT, "FILE", "Write the metrics of each step to FILE, as JSONL.",
     false},
    {"svg", 0, CMD_TEXT, "FILE",
     "Draw the loss curve to FILE, and again while it trains.", false},
    {"state", 0, CMD_TEXT, "FILE", "State file for --resume (NAME.train.json).", false},
    {"skip-bad", 0, CMD_FLAG, NULL, "Leave out lines that cannot be used.", false},
    {"check", 0, CMD_FLAG, NULL, "Check the data and stop.", false},
    {0},
};

void cmd_train_given(const char **out, const cmd_args *args)
{
    for (size_t i = 0; i < TRAIN_SETTINGS; i++) {
        out[i] = cmd_text(args, train_setting_name((train_setting)i), NULL);
    }
    if (out[TRAIN_LR] != NULL && strcmp(out[TRAIN_LR], TRAIN_LR_AUTO) == 0) {
        out[TRAIN_LR] = NULL;
    }
}

void cmd_train_habits(const char **out, const cmd_args *args)
{
    for (size_t i = 0; i < TRAIN_HABITS; i++) {
        out[i] = cmd_text(args, train_habit_name((train_habit)i), NULL);
    }
    out[TRAIN_SKIP_BAD] = cmd_has(args, "skip-bad") ? "yes" : NULL;
}

typedef struct whole {
    train_setting setting;
    size_t at; /* in train_numbers */
    int64_t fallback, low, high;
} whole;

typedef struct real {
    train_setting setting;
    size_t at;
    double fallback, high; /* 0 to high */
} real;

static const whole wholes[] = {
    {TRAIN_RANK, offsetof(train_numbers, rank), 32, 1, 1024},
    {TRAIN_WARMUP, offsetof(train_numbers, warmup), 0, 0, 100000000},
    {TRAIN_BATCH, offsetof(train_numbers, batch), 16, 1, 65536},
    {TRAIN_EPOCHS, offsetof(train_numbers, epochs), 3, 1, 1000000},
    {TRAIN_STEPS, offsetof(train_numbers, steps), 0, 1, 100000000},
    {TRAIN_MAX_LENGTH, offsetof(train_numbers, max_length), 0, 0, 100000000},
};

static const real reals[] = {
    {TRAIN_LR, offsetof(train_numbers, rate), 0, 1e3},
    {TRAIN_CLIP, offsetof(train_numbers, clip), 0, 1e9},
    {TRAIN_DECAY, offsetof(train_numbers, decay), 0, 1e3},
};

static int refuse(const cmd_args *args, train_setting setting, const char *text)
{
    return cmd_bad_usage(args, "Invalid value for '--%s': '%s'.",
                         train_setting_name(setting), text);
}

static bool parse_whole(train_numbers *out, const whole *w, const char *text)
{
    int64_t value = w->fallback;
    if (text != NULL &&
        (!tk_str_to_i64(tk_str_of(text), &value) || value < w->low || value > w->high)) {
        return false;
    }
    memcpy((char *)out + w->at, &value, sizeof(value));
    return true;
}

static bool parse_real(train_numbers *out, const real *r, const char *text)
{
    double value = r->fallback;
    if (text != NULL &&
        (!tk_str_to_double(tk_str_of(text), &value) || value < 0 || value > r->high)) {
        return false;
    }
    memcpy((char *)out + r->at, &value, sizeof(value));
    return true;
}

/* Returns the position of `text` among words separated by bars, or -1. */
static int place(const char *words, const char *text)
{
    tk_str rest = tk_str_of(words);
    for (int i = 0; rest.p != NULL; i++) {
        if (tk_str_is(tk_str_cut(&rest, '|'), text)) {
            return i;
        }
    }
    return -1;
}

int cmd_train_parse(train_numbers *out, const char *const *settings, const cmd_args *args)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(wholes); i++) {
        const char *text = settings[wholes[i].setting];
        if (!parse_whole(out, &wholes[i], text)) {
            return refuse(args, wholes[i].setting, text);
        }
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(reals); i++) {
        const char *text = settings[reals[i].setting];
        if (!parse_real(out, &reals[i], text)) {
            return refuse(args, reals[i].setting, text);
        }
    }
    const char *seed = settings[TRAIN_SEED] != NULL ? settings[TRAIN_SEED] : "1";
    const char *schedule = settings[TRAIN_SCHEDULE];
    const char *loss_on = settings[TRAIN_LOSS_ON];
    int schedule_at =
        place("constant|linear|cosine", schedule != NULL ? schedule : "linear");
    int loss_at = place("assistant|last|all", loss_on != NULL ? loss_on : "assistant");
    if (!tk_str_to_u64(tk_str_of(seed), &out->seed) || out->seed > INT64_MAX) {
        return refuse(args, TRAIN_SEED, seed);
    }
    if (schedule_at < 0) {
        return refuse(args, TRAIN_SCHEDULE, schedule);
    }
    if (loss_at < 0) {
        return refuse(args, TRAIN_LOSS_ON, loss_on);
    }
    out->schedule = (train_schedule)schedule_at;
    out->loss_on = (tinkc_loss_on)loss_at;
    return CMD_OK;
}
