/* The first three bad lines are shown: one shows the mistake, three that it is one.
 * Needs: text */
#include "cli/data/data_read.h"

#include <string.h>

#include "cli/data/data_input.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_progress.h"

#define PROBLEMS_SHOWN 3
#define WARNINGS_SHOWN 3

typedef struct report {
    size_t problems, warnings;
} report;

/* ---- the option ---- */

void data_read_format(data_source *source, const char *word)
{
    static const struct {
        const char *word;
        data_file_kind kind;
    } files[] = {
        {"json", DATA_JSON_FILE}, {"csv", DATA_CSV_FILE}, {"plain", DATA_PLAIN_FILE}};
    source->kind = DATA_ANY;
    source->file_kind = DATA_ANY_FILE;
    if (word == NULL || data_shape_of_word(&source->kind, word)) {
        return;
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(files); i++) {
        if (strcmp(files[i].word, word) == 0) {
            source->file_kind = files[i].kind;
        }
    }
}

/* ---- reading ---- */

int data_read_open(data_files *files, const char *const *words, size_t n,
                   const data_source *source)
{
    tk_err err = TK_ERR_INIT;
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        code = data_files_add(files, words[i], &err);
    }
    for (size_t i = 0; code == TINKC_OK && i < files->n; i++) {
        code = data_load_probe(files->paths[i], source->file_kind, &err);
    }
    return code == TINKC_OK ? CMD_OK : cmd_fail("%s", err.message);
}

static void note(void *user, const char *path, size_t line, bool is_problem,
                 const char *text)
{
    report *told = user;
    size_t n = is_problem ? ++told->problems : ++told->warnings;
    if (n <= (is_problem ? PROBLEMS_SHOWN : WARNINGS_SHOWN)) {
        cmd_print(stderr, "%s%s:%zu: %s\n",
                  is_problem ? "" : "Warning: ", strcmp(path, "-") == 0 ? "stdin" : path,
                  line, text);
    }
}

static void show_progress(void *user, const char *path, double done, size_t records)
{
    (void)user;
    if (done >= 0) {
        cmd_progress("Reading %s: %.0f %%, %zu records", path, done * 100, records);
    } else {
        cmd_progress("Reading %s: %zu records", path, records);
    }
}

static void show_rest(const report *told)
{
    if (told->problems > PROBLEMS_SHOWN) {
        size_t n = told->problems - PROBLEMS_SHOWN;
        cmd_print(stderr, "... and %zu more line%s\n", n, n == 1 ? "" : "s");
    }
    if (told->warnings > WARNINGS_SHOWN) {
        cmd_print(stderr, "... and %zu more warnings\n", told->warnings - WARNINGS_SHOWN);
    }
}

int data_read(data_set *set, data_files *files, data_source *source,
              char digest[TK_SHA256_HEX_BYTES])
{
    tk_err err = TK_ERR_INIT;
    report told = {0, 0};
    tinkc_code code = TINKC_OK;
    source->report = note;
    source->progress = show_progress;
    source->user = &told;
    source->digest = NULL;
    if (digest != NULL) {
        code = tk_sha256_new(&source->digest, &err);
    }
    for (size_t i = 0; code == TINKC_OK && i < files->n; i++) {
        code = data_load(set, &files->found[i], source, files->paths[i], i, &err);
    }
    cmd_progress_end();
    show_rest(&told);
    if (code == TINKC_OK && digest != NULL) {
        code = tk_sha256_finish(digest, source->digest, &err);
    }
    tk_sha256_free(source->digest);
    source->digest = NULL;
    return code == TINKC_OK ? CMD_OK : cmd_fail("%s", err.message);
}

static tinkc_code digest_file(tk_sha256 *sha, const char *path, tk_err *err)
{
    data_input *input = NULL;
    tk_str piece = {NULL, 1};
    tinkc_code code = data_input_open(&input, path, sha, err);
    while (code == TINKC_OK && piece.n > 0) {
        code = data_input_read(input, &piece, err);
    }
    data_input_close(&input);
    return code;
}

int data_read_digest(char out[TK_SHA256_HEX_BYTES], bool *has, const data_files *files)
{
    tk_err err = TK_ERR_INIT;
    tk_sha256 *sha = NULL;
    *has = true;
    for (size_t i = 0; i < files->n; i++) {
        *has = *has && strcmp(files->paths[i], "-") != 0;
    }
    if (!*has) {
        return CMD_OK;
    }
    tinkc_code code = tk_sha256_new(&sha, &err);
    for (size_t i = 0; code == TINKC_OK && i < files->n; i++) {
        code = digest_file(sha, files->paths[i], &err);
    }
    if (code == TINKC_OK) {
        code = tk_sha256_finish(out, sha, &err);
    }
    tk_sha256_free(sha);
    return code == TINKC_OK ? CMD_OK : cmd_fail("%s", err.message);
}

/* ---- what was found ---- */

const char *data_read_name(const data_files *files)
{
    const char *path = files->n == 1 ? files->paths[0] : "the data";
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

size_t data_read_records(const data_files *files)
{
    size_t n = 0;
    for (size_t i = 0; i < files->n; i++) {
        for (size_t k = 0; k < DATA_KINDS; k++) {
            n += files->found[i].kinds[k];
        }
    }
    return n;
}

const char *data_read_words(char out[DATA_READ_WORDS], const data_file *file,
                            data_kind kind)
{
    static const char *const layouts[] = {[DATA_LINES] = "",
                                          [DATA_VALUES] = ", JSON",
                                          [DATA_ARRAY] = ", JSON array",
                                          [DATA_CSV] = ", CSV",
                                          [DATA_PLAIN] = ""};
    (void)snprintf(out, DATA_READ_WORDS, "%s%s", data_shape_name(kind),
                   layouts[file->layout]);
    return out;
}

static void show_file(FILE *to, const data_file *file)
{
    char words[DATA_READ_WORDS];
    const char *path = strcmp(file->path, "-") == 0 ? "standard input" : file->path;
    tk_buf line;
    tk_buf_init(&line, 4 * TK_KIB);
    for (size_t k = 0; k < DATA_KINDS; k++) {
        size_t n = file->kinds[k];
        if (n > 0) {
            tk_buf_printf(&line, "%s%zu %s%s (%s)", line.n > 0 ? ", " : "", n,
                          data_shape_noun((data_kind)k), n == 1 ? "" : "s",
                          data_read_words(words, file, (data_kind)k));
        }
    }
    if (line.n == 0) {
        tk_buf_puts(&line, "nothing to train on");
    }
    cmd_print(to, "%s: " TK_STR_FMT "\n", path, TK_STR_ARG(tk_buf_str(&line)));
    tk_buf_dispose(&line);
}

void data_read_show(FILE *to, const data_files *files)
{
    for (size_t i = 0; i < files->n; i++) {
        show_file(to, &files->found[i]);
    }
}
