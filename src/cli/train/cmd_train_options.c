/* The options of the commands that train: the settings among them, which the weights depend on, with their defaults and ranges. Their texts come from the
 * command line or, when a run is resumed, from its state file.
 * Needs: text */
#include <string.h>

#include "base/str.h"
#include "cli/train/cmd_train.h"

int cmd_train_check(const cmd_args *args)
{
    if (cmd_int(args, "budget-tokens", 0) < 0) {
        return cmd_bad_usage(args, "--budget-tokens must be 0 or more.");
    }
    if (cmd_int(args, "save-every", 1) < 0 || cmd_int(args, "eval-every", 1) < 0) {
        return cmd_bad_usage(args, "--save-every and --eval-every must be 0 or more.");
    }
    if (cmd_int(args, "eval-every", 0) > 0 && !cmd_has(args, "eval") &&
        !cmd_has(args, "resume")) { /* then --eval may be in the state */
        return cmd_bad_usage(args, "--eval-every has no effect without --eval.");
    }
    if (cmd_has(args, "resume") && cmd_has(args, "restart")) {
        return cmd_bad_usage(args, "Give --resume or --restart, not both.");
    }
    return CMD_OK;
}

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
    {TRAIN_SAMPLES, offsetof(train_numbers, samples), 4, 1, 1024},
    {TRAIN_MAX_TOKENS, offsetof(train_numbers, max_tokens), 128, 1, 100000000},
};

static const real reals[] = {
    {TRAIN_LR, offsetof(train_numbers, rate), 0, 1e3},
    {TRAIN_CLIP, offsetof(train_numbers, clip), 0, 1e9},
    {TRAIN_DECAY, offsetof(train_numbers, decay), 0, 1e3},
    {TRAIN_BETA, offsetof(train_numbers, beta), 0.1, 1e3},
    {TRAIN_TEMPERATURE, offsetof(train_numbers, temperature), 1, 100},
    {TRAIN_COEFFICIENT, offsetof(train_numbers, coefficient), 1, 1e3},
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
