/* Reads rewards. What an agent writes is hostile: it may be anything.
 * Needs: text server */
#include "cli/rl/rl_reward.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"

tk_str rl_reward_line(tk_str output)
{
    tk_str text = tk_str_trim(output);
    size_t begin = text.n;
    while (begin > 0 && text.p[begin - 1] != '\n' && text.p[begin - 1] != '\r') {
        begin--;
    }
    return tk_str_trim((tk_str){text.p + begin, text.n - begin});
}

/* Returns whether the text is a way to write a number that is not finite. */
static bool is_not_finite(tk_str text)
{
    static const char *const words[] = {"nan", "inf", "infinity"};
    if (text.n > 0 && (text.p[0] == '-' || text.p[0] == '+')) {
        text = (tk_str){text.p + 1, text.n - 1};
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(words); i++) {
        if (tk_str_is_nocase(text, words[i])) {
            return true;
        }
    }
    return false;
}

static bool contains(tk_str text, const char *word)
{
    for (; text.n > 0; text = (tk_str){text.p + 1, text.n - 1}) {
        if (tk_str_has_prefix(text, word)) {
            return true;
        }
    }
    return false;
}

static rl_reward_kind check(double *out, double value)
{
    *out = value;
    return fabs(value) <= RL_REWARD_MAX ? RL_REWARD_OK
                                        : RL_REWARD_NOT_FINITE; /* NaN, too */
}

static void add_metric(rl_reward *out, const tk_json_member *member)
{
    double value = NAN;
    if (tk_str_is(member->key, "reward") || out->n_metrics == RL_REWARD_METRICS ||
        member->key.n == 0 || member->key.n >= RL_REWARD_NAME_BYTES ||
        member->value.type == TK_JSON_STRING ||
        !tk_json_to_double(&member->value, &value) || !isfinite(value)) {
        return;
    }
    rl_metric *metric = &out->metrics[out->n_metrics++];
    (void)snprintf(metric->name, sizeof(metric->name), TK_STR_FMT,
                   TK_STR_ARG(member->key));
    metric->value = value;
}

static rl_reward_kind read_object(rl_reward *out, tk_str line)
{
    tk_arena arena;
    const tk_json *json = NULL;
    rl_reward_kind kind = RL_REWARD_NONE;
    double value = NAN;
    tk_arena_init(&arena, 16 * TK_MIB);
    if (tk_json_parse(&json, &arena, line.p, line.n, NULL, NULL) == TINKC_OK &&
        json->type == TK_JSON_OBJECT) {
        const tk_json *reward = tk_json_get(json, "reward");
        if (reward != NULL && reward->type != TK_JSON_STRING &&
            tk_json_to_double(reward, &value)) {
            kind = check(&out->value, value);
        }
        for (size_t i = 0; kind == RL_REWARD_OK && i < json->as.object.n; i++) {
            add_metric(out, &json->as.object.members[i]);
        }
    } else if (contains(line, "NaN") || contains(line, "Infinity")) {
        kind = RL_REWARD_NOT_FINITE; /* as Python writes it, which is not JSON */
    }
    tk_arena_dispose(&arena);
    return kind;
}

rl_reward_kind rl_reward_read(rl_reward *out, tk_str output)
{
    tk_str line = rl_reward_line(output);
    double value = NAN;
    *out = (rl_reward){.value = NAN};
    if (line.n == 0) {
        return RL_REWARD_NONE;
    }
    if (line.p[0] == '{') {
        return read_object(out, line);
    }
    if (is_not_finite(line)) {
        return RL_REWARD_NOT_FINITE;
    }
    if (line.p[0] == '+') {
        line = (tk_str){line.p + 1, line.n - 1};
    }
    return tk_str_to_double(line, &value) ? check(&out->value, value) : RL_REWARD_NONE;
}
