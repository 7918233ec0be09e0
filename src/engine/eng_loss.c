/* The losses; see eng_loss.h. A token whose advantage is 0 is skipped by the ratio
 * losses, because its reference may be a sentinel whose ratio overflows. */
#include "engine/eng_loss.h"

#include <math.h>

#include "engine/eng_math.h"

static eng_loss_value cross_entropy(const eng_loss_token *t)
{
    return (eng_loss_value){-t->weight * t->logprob, -t->weight};
}

static double ratio(const eng_loss_token *t)
{
    return eng_exp(t->logprob - t->reference);
}

static double clamp(double value, double low, double high)
{
    return value < low ? low : value > high ? high : value;
}

static bool is_zero(double value)
{
    return !(value < 0) && !(value > 0);
}

static eng_loss_value importance_sampling(const eng_loss_token *t)
{
    if (is_zero(t->advantage)) {
        return (eng_loss_value){0, 0};
    }
    double loss = -ratio(t) * t->advantage;
    return (eng_loss_value){loss, loss};
}

static eng_loss_value ppo(const eng_loss_token *t)
{
    if (is_zero(t->advantage)) {
        return (eng_loss_value){0, 0};
    }
    double r = ratio(t), plain = r * t->advantage;
    double clipped = clamp(r, t->low, t->high) * t->advantage;
    bool inside = r >= t->low && r <= t->high;
    return (eng_loss_value){-(plain < clipped ? plain : clipped),
                            inside || plain < clipped ? -plain : 0};
}

static eng_loss_value cispo(const eng_loss_token *t)
{
    if (is_zero(t->advantage)) {
        return (eng_loss_value){0, 0};
    }
    double grad = -clamp(ratio(t), t->low, t->high) * t->advantage;
    return (eng_loss_value){grad * t->logprob, grad};
}

/* No skip here: the quadratic term acts on every token, as published. */
static eng_loss_value dro(const eng_loss_token *t)
{
    double gap = t->logprob - t->reference;
    return (eng_loss_value){-(t->logprob * t->advantage - 0.5 * t->beta * gap * gap),
                            -(t->advantage - t->beta * gap)};
}

static const eng_loss table[] = {
    {.name = "cross_entropy", .weighted = true, .value = cross_entropy},
    {.name = "importance_sampling", .value = importance_sampling},
    {.name = "ppo",
     .clipped = true,
     .ratio_metrics = true,
     .low = 0.8,
     .high = 1.2,
     .value = ppo},
    {.name = "cispo", .clipped = true, .low = 0.0, .high = 4.0, .value = cispo},
    {.name = "dro", .has_beta = true, .beta = 0.05, .value = dro},
    /* GSPO-token: each token has the ratio of its sequence and the gradient of its own
     * log-probability. eng_train.c sets the reference so that the ratio comes out; the
     * service's default bounds are not published. */
    {.name = "gspo",
     .clipped = true,
     .sequence = true,
     .low = (double)NAN,
     .high = (double)NAN,
     .value = ppo},
};

const eng_loss *eng_loss_find(tk_str name)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(table); i++) {
        if (tk_str_is(name, table[i].name)) {
            return &table[i];
        }
    }
    return NULL;
}

tinkc_code eng_loss_refuse(tk_str name, tk_err *err)
{
    if (tk_str_is(name, "stable_reinforce")) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "loss_fn stable_reinforce is not here: its definition is not "
                          "published");
    }
    if (tk_str_is(name, "custom")) {
        return tk_err_set(
            err, TINKC_E_INVALID,
            "loss_fn custom is not here: this server does not run losses of "
            "its clients");
    }
    return tk_err_set(err, TINKC_E_INVALID,
                      "loss_fn " TK_STR_FMT " is not one of cross_entropy, "
                      "importance_sampling, ppo, cispo, dro, gspo",
                      TK_STR_ARG(name));
}

/* Earlier ones are known settings, each there once: at most three. */
static bool is_repeated(const eng_setting *settings, size_t at)
{
    for (size_t i = 0; i < at; i++) {
        if (tk_str_eq(settings[i].name, settings[at].name)) {
            return true;
        }
    }
    return false;
}

tinkc_code eng_loss_configure(const eng_loss *loss, const eng_setting *settings, size_t n,
                              eng_loss_token *token, tk_err *err)
{
    token->low = loss->low;
    token->high = loss->high;
    token->beta = loss->beta;
    for (size_t i = 0; i < n; i++) {
        tk_str name = settings[i].name;
        double value = settings[i].value;
        if (is_repeated(settings, i)) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "loss_fn_config." TK_STR_FMT " is there twice",
                              TK_STR_ARG(name));
        }
        if (settings[i].is_text) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "loss_fn_config: %s has no setting " TK_STR_FMT
                              " that is a text",
                              loss->name, TK_STR_ARG(name));
        }
        if (!isfinite(value)) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "loss_fn_config." TK_STR_FMT " is not a finite number",
                              TK_STR_ARG(name));
        }
        if (loss->clipped && tk_str_is(name, "clip_low_threshold")) {
            token->low = value;
        } else if (loss->clipped && tk_str_is(name, "clip_high_threshold")) {
            token->high = value;
        } else if (loss->has_beta && tk_str_is(name, "beta")) {
            token->beta = value;
        } else {
            return tk_err_set(err, TINKC_E_INVALID,
                              "loss_fn_config: %s has no setting " TK_STR_FMT, loss->name,
                              TK_STR_ARG(name));
        }
    }
    if (loss->clipped && token->low > token->high) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "loss_fn_config: clip_low_threshold is above "
                          "clip_high_threshold (both bound the ratio itself)");
    }
    return TINKC_OK;
}
