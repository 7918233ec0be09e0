/* Examples are decoded again from their tokens: that is what the model sees.
 * Needs: text */
#include "cli/data/data_show.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cli/frame/cmd_print.h"

#define BINS    40
#define BAR_MAX 40

/* Lengths of the examples, in tokens. A bin is twice as wide as the one before: 1 to 16,
 * 17 to 32, 33 to 64, ... */
typedef struct lengths {
    size_t bins[BINS];
    size_t first, last; /* that are not empty; first > last: none */
    size_t shortest, median, longest;
} lengths;

static size_t bin_end(size_t bin)
{
    return (size_t)16 << bin;
}

static size_t bin_begin(size_t bin)
{
    return bin > 0 ? bin_end(bin - 1) + 1 : 1;
}

static int by_size(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

static bool measure(lengths *out, const data_set *set)
{
    *out = (lengths){.first = BINS};
    uint32_t *all = tk_array(set->n, sizeof(*all));
    if (all == NULL) {
        return false;
    }
    for (size_t i = 0; i < set->n; i++) {
        size_t bin = 0;
        all[i] = set->rows[i].tokens;
        while (bin + 1 < BINS && all[i] > bin_end(bin)) {
            bin++;
        }
        out->bins[bin]++;
        out->first = TK_MIN(out->first, bin);
        out->last = TK_MAX(out->last, bin);
    }
    if (set->n > 0) {
        qsort(all, set->n, sizeof(*all), by_size);
        out->shortest = all[0];
        out->median = all[set->n / 2];
        out->longest = all[set->n - 1];
    }
    tk_free(all);
    return true;
}

/* ---- examples ---- */

/* Takes a stretch of tokens that are all trained on, or all not. */
typedef void (*stretch_fn)(void *user, tk_str text, bool is_trained);

/* Decodes a row and hands out its stretches. */
static bool each_stretch(const data_view *view, size_t row, stretch_fn take, void *user)
{
    data_tokens tokens;
    tk_err err = TK_ERR_INIT;
    bool ok = true;
    if (data_set_tokens(&tokens, view->set, row, &err) != TINKC_OK) {
        return false;
    }
    for (size_t i = 0; ok && i < tokens.n;) {
        bool is_trained = i > 0 && tokens.weights[i] > 0;
        tinkc_decode what = TINKC_DECODE_INIT;
        char *text = NULL;
        size_t n = 0;
        what.ids = tokens.ids + i;
        do {
            what.ids_n++;
            i++;
        } while (i < tokens.n && (tokens.weights[i] > 0) == is_trained);
        ok = tinkc_tokenizer_decode(&text, &n, view->tokenizer, &what, NULL) == TINKC_OK;
        if (ok) {
            take(user, (tk_str){text, n}, is_trained);
        }
        tinkc_text_free(&text);
    }
    data_tokens_dispose(&tokens);
    return ok;
}

static void put_marked(void *user, tk_str text, bool is_trained)
{
    tk_buf *to = user;
    tk_buf_puts(to, is_trained ? "{+" : "");
    tk_buf_put(to, text.p, text.n);
    tk_buf_puts(to, is_trained ? "+}" : "");
}

static const char *file_of(const data_view *view, const data_row *row)
{
    const char *path = view->files->paths[row->file];
    return strcmp(path, "-") == 0 ? "stdin" : path;
}

static bool show_row(const data_view *view, size_t index)
{
    const data_row *row = &view->set->rows[index];
    const data_file *file = &view->files->found[row->file];
    char words[DATA_READ_WORDS];
    tk_buf text;
    tk_buf_init(&text, TK_GIB);
    cmd_print(stdout, "%s:%zu: %u tokens, %.0f trained (%s)\n", file_of(view, row),
              row->line, (unsigned)row->tokens, row->weight,
              data_read_words(words, file, (data_kind)row->kind));
    bool ok = each_stretch(view, index, put_marked, &text) && text.failure == TINKC_OK;
    cmd_print_lines(stdout, tk_buf_str(&text));
    cmd_print(stdout, "\n\n");
    tk_buf_dispose(&text);
    return ok;
}

/* ---- the summary ---- */

static void show_lengths(const lengths *all)
{
    static const char bar[BAR_MAX + 1] = "########################################";
    size_t most = 1;
    for (size_t i = all->first; i <= all->last && i < BINS; i++) {
        most = TK_MAX(most, all->bins[i]);
    }
    cmd_print(stdout, "%17s  %8s\n", "tokens", "examples");
    for (size_t i = all->first; i <= all->last && i < BINS; i++) {
        size_t n = all->bins[i];
        size_t length = n > 0 ? TK_MAX(n * BAR_MAX / most, (size_t)1) : 0;
        cmd_print(stdout, "%8zu-%8zu  %8zu  %.*s\n", bin_begin(i), bin_end(i), n,
                  (int)length, bar);
    }
}

static int show_summary(const data_view *view)
{
    const data_set *set = view->set;
    lengths all;
    data_read_show(stdout, view->files);
    if (view->tokenizer == NULL) {
        return CMD_OK;
    }
    if (!measure(&all, set)) {
        return cmd_fail("out of memory");
    }
    cmd_print(stdout, "%zu examples with %zu tokens, %.0f of them trained\n", set->n,
              set->tokens, set->weight);
    if (set->n > 0) {
        cmd_print(stdout, "%zu to %zu tokens, median %zu\n", all.shortest, all.longest,
                  all.median);
        show_lengths(&all);
    }
    if (set->cut > 0) {
        cmd_print(stdout, "%zu too long, cut into several examples\n", set->cut);
    }
    if (set->too_long > 0) {
        cmd_print(stdout, "%zu too long, cannot be used\n", set->too_long);
    }
    return CMD_OK;
}

int data_show_text(const data_view *view)
{
    size_t n = view->set->n;
    for (size_t i = view->from; i < n && i - view->from < view->rows; i++) {
        if (!show_row(view, i)) {
            return cmd_fail("out of memory");
        }
    }
    return show_summary(view);
}

/* ---- JSON ---- */

static void put_count(cmd_json *json, const char *key, size_t value)
{
    cmd_json_key(json, key);
    cmd_json_count(json, (int64_t)value);
}

static void put_stretch(void *user, tk_str text, bool is_trained)
{
    cmd_json *json = user;
    tk_json_begin_object(&json->w);
    cmd_json_key(json, "text");
    tk_json_put_str(&json->w, text);
    cmd_json_key(json, "trained");
    tk_json_put_bool(&json->w, is_trained);
    tk_json_end_object(&json->w);
}

static bool put_rows(cmd_json *json, const data_view *view)
{
    bool ok = true;
    cmd_json_key(json, "rows");
    tk_json_begin_array(&json->w);
    for (size_t i = view->from; ok && i < view->set->n && i - view->from < view->rows;
         i++) {
        const data_row *row = &view->set->rows[i];
        tk_json_begin_object(&json->w);
        cmd_json_pair(json, "file", file_of(view, row));
        put_count(json, "line", row->line);
        cmd_json_pair(json, "format", data_shape_name((data_kind)row->kind));
        put_count(json, "tokens", row->tokens);
        cmd_json_key(json, "trained_tokens");
        cmd_json_real(json, row->weight);
        cmd_json_key(json, "parts");
        tk_json_begin_array(&json->w);
        ok = each_stretch(view, i, put_stretch, json);
        tk_json_end_array(&json->w);
        tk_json_end_object(&json->w);
    }
    tk_json_end_array(&json->w);
    return ok;
}

static void put_files(cmd_json *json, const data_files *files)
{
    char words[DATA_READ_WORDS];
    cmd_json_key(json, "files");
    tk_json_begin_array(&json->w);
    for (size_t i = 0; i < files->n; i++) {
        const data_file *file = &files->found[i];
        tk_json_begin_object(&json->w);
        cmd_json_pair(json, "file", file->path);
        cmd_json_key(json, "formats");
        tk_json_begin_object(&json->w);
        for (size_t k = 0; k < DATA_KINDS; k++) {
            if (file->kinds[k] > 0) {
                put_count(json, data_read_words(words, file, (data_kind)k),
                          file->kinds[k]);
            }
        }
        tk_json_end_object(&json->w);
        put_count(json, "problems", file->problems);
        tk_json_end_object(&json->w);
    }
    tk_json_end_array(&json->w);
}

static void put_lengths(cmd_json *json, const lengths *all)
{
    put_count(json, "shortest", all->shortest);
    put_count(json, "median", all->median);
    put_count(json, "longest", all->longest);
    cmd_json_key(json, "lengths");
    tk_json_begin_array(&json->w);
    for (size_t i = all->first; i <= all->last && i < BINS; i++) {
        tk_json_begin_object(&json->w);
        put_count(json, "from", bin_begin(i));
        put_count(json, "to", bin_end(i));
        put_count(json, "examples", all->bins[i]);
        tk_json_end_object(&json->w);
    }
    tk_json_end_array(&json->w);
}

int data_show_json(const data_view *view, const cmd_args *args)
{
    const data_set *set = view->set;
    cmd_json json;
    lengths all;
    bool ok = measure(&all, set);
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    put_files(&json, view->files);
    put_count(&json, "problems", set->problems);
    if (ok && view->tokenizer != NULL) {
        put_count(&json, "examples", set->n);
        put_count(&json, "tokens", set->tokens);
        cmd_json_key(&json, "trained_tokens");
        cmd_json_real(&json, set->weight);
        put_count(&json, "too_long", set->too_long);
        put_count(&json, "cut", set->cut);
        put_lengths(&json, &all);
        ok = view->rows == 0 || put_rows(&json, view);
    }
    tk_json_end_object(&json.w);
    if (!ok) {
        cmd_json_dispose(&json);
        return cmd_fail("out of memory");
    }
    return cmd_json_print(&json, args);
}
