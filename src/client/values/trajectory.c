/* <tinkc/trajectory.h>: reads what the gateway exports of an episode, makes datums of it.
 * Everything lives in one arena. Input is hostile: every array is checked against the
 * others. */
#include <math.h>
#include <string.h>

#include <tinkc/trajectory.h>

#include "base/json.h"
#include "base/mem.h"
#include "client/values/error.h"
#include "client/values/types.h"

struct tinkc_trajectory {
    tk_arena arena;
    const char *id;
    const char *metadata; /* or NULL */
    bool has_reward;
    double reward;
    tinkc_sequence *sequences;
    size_t n;
};

static tinkc_code wrong(tk_err *err, const char *what)
{
    return tk_err_set(err, TINKC_E_DECODE, "not an episode of the gateway: %s", what);
}

/* ---- arrays ---- */

static bool is_ints(const tk_json *array)
{
    return array != NULL && (array->type == TK_JSON_INTS ||
                             (array->type == TK_JSON_ARRAY && array->as.array.n == 0));
}

static tinkc_code read_tokens(tinkc_trajectory *t, tinkc_sequence *s, const tk_json *from,
                              tk_err *err)
{
    const tk_json *tokens = tk_json_get(from, "tokens");
    const tk_json *mask = tk_json_get(from, "mask");
    size_t n = tk_json_len(tokens);
    if (!is_ints(tokens) || !is_ints(mask) || tk_json_len(mask) != n) {
        return wrong(err, "tokens and mask are not arrays of the same length");
    }
    int32_t *ids = tk_arena_array(&t->arena, n + 1, sizeof(*ids));
    int32_t *sampled = tk_arena_array(&t->arena, n + 1, sizeof(*sampled));
    if (ids == NULL || sampled == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        int64_t id = tokens->as.ints.items[i], bit = mask->as.ints.items[i];
        if (id < 0 || id > INT32_MAX || bit < 0 || bit > 1) {
            return wrong(err, "a token or a mask is out of range");
        }
        ids[i] = (int32_t)id;
        sampled[i] = (int32_t)bit;
    }
    s->tokens = ids;
    s->mask = sampled;
    s->n = n;
    return TINKC_OK;
}

static tinkc_code read_logprobs(tinkc_trajectory *t, tinkc_sequence *s,
                                const tk_json *from, tk_err *err)
{
    const tk_json *array = tk_json_get(from, "logprobs");
    float *values = tk_arena_array(&t->arena, s->n + 1, sizeof(*values));
    if (!tk_json_is_array(array) || tk_json_len(array) != s->n) {
        return wrong(err, "logprobs and tokens differ in length");
    }
    if (values == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < s->n; i++) {
        tk_json item = tk_json_at(array, i);
        double value = NAN; /* of null */
        if (item.type != TK_JSON_NULL && !tk_json_to_double(&item, &value)) {
            return wrong(err, "a log-probability is not a number");
        }
        values[i] = s->mask[i] != 0 ? (float)value : 0;
    }
    s->logprobs = values;
    return TINKC_OK;
}

static tinkc_code read_turns(tinkc_trajectory *t, tinkc_sequence *s, const tk_json *from,
                             tk_err *err)
{
    const tk_json *turns = tk_json_get(from, "turns");
    const tk_json *weights = tk_json_get(from, "weights");
    size_t n = tk_json_len(turns);
    if (!is_ints(turns) || !tk_json_is_array(weights) || tk_json_len(weights) != n) {
        return wrong(err, "turns and weights are not arrays of the same length");
    }
    int64_t *numbers = tk_arena_array(&t->arena, n + 1, sizeof(*numbers));
    const char **names = tk_arena_array(&t->arena, n + 1, sizeof(const char *));
    if (numbers == NULL || names == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < n; i++) {
        tk_json name = tk_json_at(weights, i);
        if (name.type != TK_JSON_STRING) {
            return wrong(err, "the name of weights is not a text");
        }
        numbers[i] = turns->as.ints.items[i];
        names[i] = name.as.string.p; /* has a NUL, and lives in the arena */
    }
    s->turns = numbers;
    s->weights = names;
    s->n_turns = n;
    return TINKC_OK;
}

/* ---- the episode ---- */

static tinkc_code read_reward(bool *has, double *out, const tk_json *from, tk_err *err)
{
    const tk_json *reward = tk_json_get(from, "reward");
    *has = reward != NULL && reward->type != TK_JSON_NULL;
    if (*has && (!tk_json_to_double(reward, out) || !isfinite(*out))) {
        return wrong(err, "the reward is not a number");
    }
    return TINKC_OK;
}

static tinkc_code read_sequence(tinkc_trajectory *t, tinkc_sequence *s,
                                const tk_json *from, tk_err *err)
{
    uint64_t fresh = 0;
    const tk_json *place = tk_json_get(from, "fresh");
    tinkc_code code = read_tokens(t, s, from, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = read_logprobs(t, s, from, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = read_turns(t, s, from, err);
    if (code != TINKC_OK) {
        return code;
    }
    if (place != NULL && (!tk_json_to_u64(place, &fresh) || fresh > s->n)) {
        return wrong(err, "fresh is past the end");
    }
    s->fresh = (size_t)fresh;
    return read_reward(&s->has_reward, &s->reward, from, err);
}

static tinkc_code read_metadata(tinkc_trajectory *t, const tk_json *root, tk_err *err)
{
    const tk_json *metadata = tk_json_get(root, "metadata");
    if (metadata == NULL || metadata->type == TK_JSON_NULL) {
        return TINKC_OK;
    }
    tk_buf text;
    tk_str kept;
    tk_json_writer w;
    tk_buf_init(&text, TK_STRING_MAX_BYTES);
    tk_json_writer_init(&w, &text);
    tk_json_put_value(&w, metadata);
    tinkc_code code = tk_json_finish(&w, err);
    if (code == TINKC_OK && !tk_arena_dup(&t->arena, &kept, text.p, text.n)) {
        code = tk_err_nomem(err);
    }
    if (code == TINKC_OK) {
        t->metadata = kept.p;
    }
    tk_buf_dispose(&text);
    return code;
}

static tinkc_code read_episode(tinkc_trajectory *t, const tk_json *root, tk_err *err)
{
    const tk_json *id = tk_json_get(root, "id");
    const tk_json *sequences = tk_json_get(root, "sequences");
    size_t n = tk_json_len(sequences);
    if (id == NULL || id->type != TK_JSON_STRING || !tk_json_is_array(sequences)) {
        return wrong(err, "it has no id or no sequences");
    }
    t->id = id->as.string.p;
    t->sequences = tk_arena_zalloc(&t->arena, (n + 1) * sizeof(*t->sequences));
    if (t->sequences == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = read_reward(&t->has_reward, &t->reward, root, err);
    if (code == TINKC_OK) {
        code = read_metadata(t, root, err);
    }
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        tk_json item = tk_json_at(sequences, i);
        code = read_sequence(t, &t->sequences[i], &item, err);
        if (code == TINKC_E_DECODE) {
            tk_err_under_index(err, i);
            tk_err_under(err, "sequences");
        }
    }
    t->n = n;
    return code;
}

tinkc_code tinkc_trajectory_parse(tinkc_trajectory **out, const char *json, size_t n,
                                  tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    const tk_json *root = NULL;
    if (out == NULL || json == NULL) {
        return tk_error_tell(error, TINKC_E_INVALID, "out and json must not be NULL");
    }
    tinkc_trajectory *t = tk_zalloc(sizeof(*t));
    if (t == NULL) {
        (void)tk_err_nomem(&err);
        return tk_error_give(error, &err);
    }
    tk_arena_init(&t->arena, 0);
    tinkc_code code = tk_json_parse(&root, &t->arena, json, n, NULL, &err);
    if (code == TINKC_OK) {
        code = read_episode(t, root, &err);
    }
    if (code != TINKC_OK) {
        tinkc_trajectory_free(&t);
        return tk_error_give(error, &err);
    }
    *out = t;
    return TINKC_OK;
}

void tinkc_trajectory_free(tinkc_trajectory **trajectory)
{
    if (trajectory != NULL && *trajectory != NULL) {
        tk_arena_dispose(&(*trajectory)->arena);
        tk_free(*trajectory);
        *trajectory = NULL;
    }
}

/* ---- looking at it ---- */

const char *tinkc_trajectory_id(const tinkc_trajectory *trajectory)
{
    return trajectory != NULL ? trajectory->id : "";
}

bool tinkc_trajectory_reward(double *out, const tinkc_trajectory *trajectory)
{
    if (trajectory == NULL || out == NULL || !trajectory->has_reward) {
        return false;
    }
    *out = trajectory->reward;
    return true;
}

const char *tinkc_trajectory_metadata(const tinkc_trajectory *trajectory)
{
    return trajectory != NULL ? trajectory->metadata : NULL;
}

size_t tinkc_trajectory_count(const tinkc_trajectory *trajectory)
{
    return trajectory != NULL ? trajectory->n : 0;
}

bool tinkc_trajectory_sequence(tinkc_sequence *out, const tinkc_trajectory *trajectory,
                               size_t index)
{
    if (out == NULL || trajectory == NULL || index >= trajectory->n) {
        return false;
    }
    *out = trajectory->sequences[index];
    return true;
}

void tinkc_trajectory_options_init(tinkc_trajectory_options *out)
{
    static const tinkc_trajectory_options initial = TINKC_TRAJECTORY_OPTIONS_INIT;
    if (out != NULL) {
        memcpy(out, &initial, sizeof(*out));
    }
}

/* ---- datums ---- */

static tinkc_code choose_advantage(double *out, const tinkc_trajectory *t, size_t index,
                                   const tinkc_trajectory_options *options, tk_err *err)
{
    const tinkc_sequence *s = &t->sequences[index];
    if (options->advantages == NULL && !s->has_reward) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "sequence %zu has no reward, and no advantage was given",
                          index);
    }
    *out = options->advantages != NULL ? options->advantages[index] : s->reward;
    return isfinite((float)*out)
               ? TINKC_OK
               : tk_err_set(err, TINKC_E_INVALID,
                            "the advantage of sequence %zu is not finite", index);
}

/* Target i is token i + 1. *counted = how many of them count. */
static tinkc_code fill(tk_types_rl *rl, size_t *counted, const tinkc_sequence *s,
                       float advantage, size_t from, tk_err *err)
{
    rl->n = s->n - 1;
    rl->tokens = tk_memdup(s->tokens, s->n * sizeof(*s->tokens));
    rl->logprobs = tk_zarray(rl->n, sizeof(*rl->logprobs));
    rl->advantages = tk_zarray(rl->n, sizeof(*rl->advantages));
    if (rl->tokens == NULL || rl->logprobs == NULL || rl->advantages == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = TK_MAX(from, 1); i < s->n; i++) {
        if (s->mask[i] != 0) {
            if (!isfinite(s->logprobs[i])) {
                return tk_err_set(err, TINKC_E_INVALID,
                                  "the log-probability of token %zu is not known", i);
            }
            rl->logprobs[i - 1] = s->logprobs[i];
            rl->advantages[i - 1] = advantage;
            ++*counted;
        }
    }
    return TINKC_OK;
}

static tinkc_code make_datum(tinkc_datum **out, const tinkc_trajectory *t, size_t index,
                             const tinkc_trajectory_options *options, tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tk_types_rl rl = {NULL, NULL, NULL, 0};
    size_t counted = 0;
    double advantage = 0;
    const tinkc_sequence *s = &t->sequences[index];
    *out = NULL;
    if (s->n < 2) {
        return TINKC_OK;
    }
    tinkc_code code = choose_advantage(&advantage, t, index, options, &err);
    if (code == TINKC_OK) {
        code = fill(&rl, &counted, s, (float)advantage,
                    options->repeat_shared ? 0 : s->fresh, &err);
    }
    if (code != TINKC_OK) {
        (void)tk_error_give(error, &err);
    } else if (counted > 0) {
        code = tk_types_rl_datum(out, &rl, error);
    }
    tk_free(rl.tokens);
    tk_free(rl.logprobs);
    tk_free(rl.advantages);
    return code;
}

tinkc_code tinkc_trajectory_datums(tinkc_datum **out, size_t size, size_t *n,
                                   const tinkc_trajectory *trajectory,
                                   const tinkc_trajectory_options *options,
                                   tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_trajectory_options full = TINKC_TRAJECTORY_OPTIONS_INIT;
    size_t made = 0;
    if (n == NULL || trajectory == NULL || (out == NULL && size > 0)) {
        return tk_error_tell(error, TINKC_E_INVALID,
                             "out, n and trajectory must not be NULL");
    }
    tinkc_code code = tk_types_options(&full, sizeof(full), options, &err);
    if (code == TINKC_OK && size < trajectory->n) {
        code = tk_err_set(&err, TINKC_E_LIMIT,
                          "%zu sequences need room for as many datums", trajectory->n);
    }
    if (code != TINKC_OK) {
        return tk_error_give(error, &err);
    }
    for (size_t i = 0; code == TINKC_OK && i < trajectory->n; i++) {
        tinkc_datum *datum = NULL;
        code = make_datum(&datum, trajectory, i, &full, error);
        if (datum != NULL) {
            out[made++] = datum;
        }
    }
    for (size_t i = 0; code != TINKC_OK && i < made; i++) {
        tinkc_datum_free(&out[i]);
    }
    if (code == TINKC_OK) {
        *n = made;
    }
    return code;
}
