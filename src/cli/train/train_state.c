/* Reads and writes the state file. A file without the fields that --resume cannot do
 * without (format, data, step, steps, finished, checkpoint) is refused; a setting that is
 * missing or not a text counts as not given.
 * Needs: text */
#include "cli/train/train_state.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/train/train_field.h"

#define FILE_MAX_BYTES (256 * TK_KIB)
#define FORMAT         1

static const char *const names[TRAIN_SETTINGS] = {
    [TRAIN_MODEL] = "model",
    [TRAIN_LOAD] = "load",
    [TRAIN_TOKENIZER] = "tokenizer",
    [TRAIN_RANK] = "rank",
    [TRAIN_LR] = "lr",
    [TRAIN_SCHEDULE] = "schedule",
    [TRAIN_WARMUP] = "warmup",
    [TRAIN_CLIP] = "clip",
    [TRAIN_DECAY] = "weight-decay",
    [TRAIN_BATCH] = "batch",
    [TRAIN_EPOCHS] = "epochs",
    [TRAIN_STEPS] = "steps",
    [TRAIN_SEED] = "seed",
    [TRAIN_LOSS_ON] = "loss-on",
    [TRAIN_MAX_LENGTH] = "max-length",
    [TRAIN_INPUT_FORMAT] = "input-format",
    [TRAIN_BETA] = "beta",
    [TRAIN_TEACHER] = "teacher",
    [TRAIN_SAMPLES] = "samples",
    [TRAIN_MAX_TOKENS] = "max-tokens",
    [TRAIN_TEMPERATURE] = "temperature",
    [TRAIN_COEFFICIENT] = "coefficient",
};

static const char *const habits[TRAIN_HABITS] = {
    [TRAIN_EVAL] = "eval",
    [TRAIN_EVAL_EVERY] = "eval-every",
    [TRAIN_SAVE_EVERY] = "save-every",
    [TRAIN_METRICS] = "metrics",
    [TRAIN_SVG] = "svg",
    [TRAIN_SKIP_BAD] = "skip-bad",
};

const char *train_habit_name(train_habit habit)
{
    return habits[habit];
}

const char *train_setting_name(train_setting setting)
{
    return names[setting];
}

/* ---- reading ---- */

static bool count_of(size_t *out, const tk_json *json, const char *key)
{
    uint64_t number = 0;
    if (!train_field_count(&number, json, key) || number > SIZE_MAX) {
        return false;
    }
    *out = (size_t)number;
    return true;
}

/* Reads what a run can do without: older state files do not have all of it. */
static void decode_rest(train_state *out, const tk_json *json)
{
    const tk_json *list = tk_json_get(json, "habits");
    for (size_t i = 0; list != NULL && i < TRAIN_HABITS; i++) {
        out->habits[i] = train_field_text(list, habits[i]);
    }
    list = tk_json_get(json, "eval_extras_first");
    for (size_t i = 0; i < TK_MIN(tk_json_len(list), (size_t)TRAIN_EXTRAS); i++) {
        const tk_json item = tk_json_at(list, i);
        double value = NAN; /* null: not measured */
        out->eval_extras[i] = tk_json_to_double(&item, &value) ? value : NAN;
        out->eval_extras_n = i + 1;
    }
    out->anchor = train_field_text(json, "anchor");
    out->kind = train_field_text(json, "kind");
    out->kind = out->kind != NULL ? out->kind : "train";
    out->eval_first = train_field_real(json, "eval_first", NAN);
    out->loss_first = train_field_real(json, "loss_first", NAN);
    out->totals = (train_totals){.seconds = train_field_real(json, "seconds", 0)};
    (void)count_of(&out->totals.tokens, json, "tokens");
}

static tinkc_code decode(train_state *out, const tk_json *json, const char *path,
                         tk_err *err)
{
    size_t format = 0;
    const tk_json *settings = tk_json_get(json, "settings");
    const tk_json *finished = tk_json_get(json, "finished");
    const char *data = train_field_text(json, "data_sha256");
    if (!count_of(&format, json, "tinkc_train") || format != FORMAT || data == NULL ||
        strlen(data) + 1 != sizeof(out->data) || settings == NULL ||
        !count_of(&out->step, json, "step") || !count_of(&out->steps, json, "steps") ||
        out->step > out->steps || finished == NULL || finished->type != TK_JSON_BOOL) {
        return tk_err_set(err, TINKC_E_DECODE, "%s is not the state of a training run",
                          path);
    }
    memcpy(out->data, data, sizeof(out->data));
    for (size_t i = 0; i < TRAIN_SETTINGS; i++) {
        out->settings[i] = train_field_text(settings, names[i]);
    }
    out->checkpoint = train_field_text(json, "checkpoint");
    out->weights = train_field_text(json, "weights");
    out->is_finished = finished->as.boolean;
    decode_rest(out, json);
    if (out->checkpoint == NULL) {
        return tk_err_set(err, TINKC_E_DECODE, "%s names no checkpoint", path);
    }
    return TINKC_OK;
}

tinkc_code train_state_read(train_state *out, const char *path, tk_err *err)
{
    char *text = NULL;
    size_t n = 0;
    const tk_json *json = NULL;
    tinkc_code code = tk_file_read(&text, &n, path, FILE_MAX_BYTES, err);
    if (code != TINKC_OK) {
        return code;
    }
    train_state state = {.step = 0};
    tk_arena_init(&state.arena, 0);
    code = tk_json_parse(&json, &state.arena, text, n, NULL, NULL);
    if (code != TINKC_OK && code != TINKC_E_NOMEM) {
        code = tk_err_set(err, TINKC_E_DECODE, "%s is not the state of a training run",
                          path);
    } else if (code == TINKC_E_NOMEM) {
        code = tk_err_nomem(err);
    } else {
        code = decode(&state, json, path, err);
    }
    tk_free(text);
    if (code == TINKC_OK) {
        *out = state;
    } else {
        tk_arena_dispose(&state.arena);
    }
    return code;
}

void train_state_dispose(train_state *state)
{
    tk_arena_dispose(&state->arena);
}

/* ---- writing ---- */

/* Writes those that were given. */
static void put_texts(tk_json_writer *w, const char *key, const char *const *keys,
                      const char *const *texts, size_t n)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_begin_object(w);
    for (size_t i = 0; i < n; i++) {
        if (texts[i] != NULL) {
            train_field_put_text(w, keys[i], texts[i]);
        }
    }
    tk_json_end_object(w);
}

static void put_extras(tk_json_writer *w, const train_state *state)
{
    if (state->eval_extras_n == 0) {
        return;
    }
    tk_json_key(w, TK_STR("eval_extras_first"));
    tk_json_begin_array(w);
    for (size_t i = 0; i < state->eval_extras_n; i++) {
        if (isfinite(state->eval_extras[i])) {
            tk_json_put_double(w, state->eval_extras[i]);
        } else {
            tk_json_put_null(w);
        }
    }
    tk_json_end_array(w);
}

static void encode(tk_json_writer *w, const train_state *state)
{
    tk_json_begin_object(w);
    tk_json_key(w, TK_STR("tinkc_train"));
    tk_json_put_u64(w, FORMAT);
    train_field_put_text(w, "kind", state->kind != NULL ? state->kind : "train");
    tk_json_key(w, TK_STR("step"));
    tk_json_put_u64(w, state->step);
    tk_json_key(w, TK_STR("steps"));
    tk_json_put_u64(w, state->steps);
    tk_json_key(w, TK_STR("finished"));
    tk_json_put_bool(w, state->is_finished);
    train_field_put_text(w, "checkpoint", state->checkpoint);
    train_field_put_text(w, "weights", state->weights);
    if (state->anchor != NULL) {
        train_field_put_text(w, "anchor", state->anchor);
    }
    train_field_put_real(w, "eval_first", state->eval_first);
    put_extras(w, state);
    train_field_put_real(w, "loss_first", state->loss_first);
    tk_json_key(w, TK_STR("tokens"));
    tk_json_put_u64(w, state->totals.tokens);
    train_field_put_real(w, "seconds", state->totals.seconds);
    train_field_put_text(w, "data_sha256", state->data);
    put_texts(w, "settings", names, state->settings, TRAIN_SETTINGS);
    put_texts(w, "habits", habits, state->habits, TRAIN_HABITS);
    tk_json_end_object(w);
}

tinkc_code train_state_write(const train_state *state, const char *path, tk_err *err)
{
    tk_buf buf;
    tk_json_writer w;
    tk_buf_init(&buf, FILE_MAX_BYTES);
    tk_json_writer_init(&w, &buf);
    encode(&w, state);
    tinkc_code code = tk_json_finish(&w, err);
    if (code != TINKC_OK) {
        goto out;
    }
    tk_buf_putc(&buf, '\n');
    code = tk_buf_status(&buf, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = tk_file_replace(path, buf.p, buf.n, 0666, err);
out:
    tk_buf_dispose(&buf);
    return code;
}

tinkc_code train_state_discard(const char *path, tk_err *err)
{
    if (unlink(path) != 0) {
        return errno == ENOENT ? TINKC_OK
                               : tk_err_sys(err, errno, "cannot remove %s", path);
    }
    char *parent = tk_file_parent(path);
    tinkc_code code =
        parent != NULL ? tk_file_sync_directory(parent, err) : tk_err_nomem(err);
    tk_free(parent);
    return code;
}

train_setting train_state_adopt(const char **given, const train_state *state)
{
    for (size_t i = 0; i < TRAIN_SETTINGS; i++) {
        const char *old = state->settings[i];
        if (given[i] != NULL && (old == NULL || strcmp(given[i], old) != 0)) {
            return (train_setting)i;
        }
    }
    for (size_t i = 0; i < TRAIN_SETTINGS; i++) {
        given[i] = state->settings[i];
    }
    return TRAIN_SETTINGS;
}

void train_state_keep(const char **given, const train_state *state)
{
    for (size_t i = 0; i < TRAIN_HABITS; i++) {
        given[i] = given[i] != NULL ? given[i] : state->habits[i];
    }
}
