/* Writes the metrics file. A resumed run replaces the file by the lines that it keeps,
 * then appends.
 * Needs: text */
#include "cli/train/train_metrics.h"

#include <errno.h>
#include <math.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"

#define FILE_MAX_BYTES TK_GIB
#define KEY_BYTES      64

/* Writes the key of a number of held-out data into `out` and returns it. */
static const char *eval_name(char out[KEY_BYTES], const char *name)
{
    (void)snprintf(out, KEY_BYTES, "eval_%s", name);
    return out;
}

void train_record_put(train_record *record, const char *name, double value, bool is_shown)
{
    if (record->n_extras < TRAIN_EXTRAS) {
        record->extras[record->n_extras++] = (train_extra){name, value, is_shown};
    }
}

/* ---- resuming ---- */

/* Returns whether the line belongs to a step up to `step`, and adds its loss to the
 * curve. */
static bool keep_line(const train_metrics *metrics, tk_str line, size_t step,
                      tk_arena *arena, train_curve *curve)
{
    char eval_key[KEY_BYTES];
    const tk_json *json = NULL;
    uint64_t at = 0;
    double loss = NAN;
    if (tk_json_parse(&json, arena, line.p, line.n, NULL, NULL) != TINKC_OK) {
        return false;
    }
    const tk_json *number = tk_json_get(json, "step");
    if (number == NULL || !tk_json_to_u64(number, &at) || at > step) {
        return false;
    }
    const tk_json *train = tk_json_get(json, metrics->key);
    const tk_json *eval = tk_json_get(json, eval_name(eval_key, metrics->key));
    if (train != NULL && tk_json_to_double(train, &loss)) {
        (void)!train_curve_add(curve, (size_t)at, loss);
    } else if (eval != NULL && tk_json_to_double(eval, &loss)) {
        (void)!train_curve_add_eval(curve, (size_t)at, loss);
    }
    return true;
}

/* Removes the lines after `step` from the file. */
static tinkc_code cut_after(const train_metrics *metrics, size_t step, train_curve *curve,
                            tk_err *err)
{
    const char *path = metrics->path;
    char *text = NULL;
    size_t n = 0;
    tk_err missing = TK_ERR_INIT;
    tinkc_code code = tk_file_read(&text, &n, path, FILE_MAX_BYTES, &missing);
    if (code == TINKC_E_MISSING) {
        return TINKC_OK;
    }
    if (code != TINKC_OK) {
        return tk_err_set(err, code, "%s", missing.message);
    }
    tk_str rest = {text, n};
    tk_buf kept;
    tk_arena arena;
    tk_buf_init(&kept, FILE_MAX_BYTES);
    tk_arena_init(&arena, 0);
    while (rest.p != NULL) {
        tk_str line = tk_str_cut(&rest, '\n');
        if (rest.p != NULL && keep_line(metrics, line, step, &arena, curve)) {
            tk_buf_put(&kept, line.p, line.n);
            tk_buf_putc(&kept, '\n');
        }
        tk_arena_dispose(&arena);
    }
    code = tk_buf_status(&kept, err);
    if (code == TINKC_OK) {
        code = tk_file_replace(path, kept.n > 0 ? kept.p : "", kept.n, 0666, err);
    }
    tk_buf_dispose(&kept);
    tk_free(text);
    return code;
}

tinkc_code train_metrics_open(train_metrics *metrics, const char *path, size_t step,
                              train_curve *curve, tk_err *err)
{
    *metrics = (train_metrics){NULL, path, metrics->key != NULL ? metrics->key : "loss"};
    if (path == NULL) {
        return TINKC_OK;
    }
    tinkc_code code = step > 0 ? cut_after(metrics, step, curve, err) : TINKC_OK;
    if (code != TINKC_OK) {
        return code;
    }
    metrics->file = fopen(path, step > 0 ? "ae" : "we");
    return metrics->file != NULL ? TINKC_OK
                                 : tk_err_sys(err, errno, "cannot write %s", path);
}

/* ---- lines ---- */

static void put_number(tk_json_writer *w, const char *key, double value)
{
    tk_json_key(w, tk_str_of(key));
    if (isfinite(value)) {
        tk_json_put_double(w, value);
    } else {
        tk_json_put_null(w);
    }
}

static void put_count(tk_json_writer *w, const char *key, size_t value)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_u64(w, value);
}

/* Starts an object of one line. */
static void begin_line(tk_json_writer *w, tk_buf *buf, size_t step)
{
    tk_buf_init(buf, TK_KIB);
    tk_json_writer_init(w, buf);
    tk_json_begin_object(w);
    put_count(w, "step", step);
}

/* Ends the object and writes its line. Frees the buffer. */
static tinkc_code end_line(train_metrics *metrics, tk_json_writer *w, tk_err *err)
{
    tk_json_end_object(w);
    tinkc_code code = tk_json_finish(w, err);
    if (code != TINKC_OK) {
        goto out;
    }
    tk_buf_putc(w->out, '\n');
    code = tk_buf_status(w->out, err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (fwrite(w->out->p, 1, w->out->n, metrics->file) != w->out->n ||
        fflush(metrics->file) != 0) {
        code = tk_err_sys(err, errno, "cannot write %s", metrics->path);
    }
out:
    tk_buf_dispose(w->out);
    return code;
}

tinkc_code train_metrics_step(train_metrics *metrics, const train_record *record,
                              tk_err *err)
{
    tk_buf buf;
    tk_json_writer w;
    if (metrics->file == NULL) {
        return TINKC_OK;
    }
    begin_line(&w, &buf, record->step);
    put_number(&w, "epoch", record->epoch);
    put_number(&w, metrics->key, record->loss);
    put_number(&w, "lr", record->rate);
    put_count(&w, "tokens", record->tokens);
    put_number(&w, "seconds", record->seconds);
    for (size_t i = 0; i < record->n_extras; i++) {
        put_number(&w, record->extras[i].name, record->extras[i].value);
    }
    return end_line(metrics, &w, err);
}

tinkc_code train_metrics_eval(train_metrics *metrics, const train_record *record,
                              tk_err *err)
{
    char key[KEY_BYTES];
    tk_buf buf;
    tk_json_writer w;
    if (metrics->file == NULL) {
        return TINKC_OK;
    }
    begin_line(&w, &buf, record->step);
    put_number(&w, eval_name(key, metrics->key), record->loss);
    for (size_t i = 0; i < record->n_extras; i++) {
        put_number(&w, eval_name(key, record->extras[i].name), record->extras[i].value);
    }
    return end_line(metrics, &w, err);
}

void train_metrics_close(train_metrics *metrics)
{
    if (metrics->file != NULL) {
        (void)fclose(metrics->file);
    }
    metrics->file = NULL;
}
