/* A piece of bytes on its way: data_input, data_split, then one record at a time through
 * JSON or CSV, data_shape, data_encode and the checks into data_set.
 * Needs: text */
#include "cli/data/data_load.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "cli/data/data_csv.h"
#include "cli/data/data_input.h"
#include "cli/data/data_plain.h"
#include "cli/data/data_prefer.h"
#include "cli/data/data_prompt.h"
#include "cli/data/data_roles.h"

typedef struct loading {
    const data_source *source;
    data_set *set;
    data_file *file;
    data_encoder encoder;
    data_split split;
    tk_arena arena;        /* of one record */
    tk_arena header_arena; /* of the file */
    data_row_cells header; /* of CSV; n = 0: not read yet */
    data_plain plain;
    size_t records;
    data_row about; /* of the record */
    bool is_bad;    /* the record */
    bool is_lines;  /* a plain text whose lines are prompts */
    tk_err *err;
} loading;

/* ---- problems ---- */

static void refuse(loading *l, const char *format, ...) TK_PRINTF(2, 3);

static void refuse(loading *l, const char *format, ...)
{
    char text[DATA_PROBLEM_BYTES];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    l->is_bad = true;
    l->source->report(l->source->user, l->file->path, l->about.line, true, text);
}

static void warn(void *user, const char *text)
{
    const loading *l = user;
    l->source->report(l->source->user, l->file->path, l->about.line, false, text);
}

/* Refuses what is not text, as JSON does by itself. */
static bool check_text(loading *l, tk_str text)
{
    size_t valid = tk_utf8_valid_prefix(text.p, text.n);
    if (valid < text.n) {
        refuse(l, "not UTF-8 (byte 0x%02x); convert the file with iconv",
               (unsigned char)text.p[valid]);
    } else if (memchr(text.p, '\0', text.n) != NULL) {
        refuse(l, "not text: it has a NUL byte");
    }
    return !l->is_bad;
}

/* ---- tokens ---- */

/* Checks each token and its weight, wherever they come from. */
static bool check_each(loading *l, const data_tokens *tokens)
{
    size_t vocabulary = tinkc_tokenizer_size(l->source->tokenizer);
    for (size_t i = 0; i < tokens->n && !l->is_bad; i++) {
        if (!isfinite(tokens->weights[i])) {
            refuse(l, "token %zu has a weight that is not a number", i);
        } else if (tokens->ids[i] < 0 || (size_t)tokens->ids[i] >= vocabulary) {
            refuse(l, "token %zu is not in the vocabulary", i);
        }
    }
    return !l->is_bad;
}

/* Checks the tokens of an example. */
static void check_tokens(loading *l, const data_tokens *tokens)
{
    size_t most = l->source->max_tokens;
    double weight = 0;
    if (!check_each(l, tokens)) {
        return;
    }
    for (size_t i = 1; i < tokens->n; i++) { /* the first is not predicted */
        weight += (double)tokens->weights[i];
    }
    if (tokens->n < 2) {
        refuse(l, "too short: %zu token%s, but training needs two", tokens->n,
               tokens->n == 1 ? "" : "s");
    } else if (most > 0 && tokens->n - 1 > most && l->about.kind != DATA_TEXT) {
        refuse(l, "too long: %zu tokens, but at most %zu can be trained on",
               tokens->n - 1, most);
        l->set->too_long++;
    } else if (weight <= 0) {
        refuse(l, "nothing to train on: no token has a weight");
    }
}

/* Adds the row of an example; a text that is too long becomes several rows, each of which
 * begins with the last token of the one before. */
static tinkc_code add_rows(loading *l, const data_tokens *tokens)
{
    size_t most = l->source->max_tokens > 0 ? l->source->max_tokens : tokens->n;
    tinkc_code code = TINKC_OK;
    check_tokens(l, tokens);
    if (l->is_bad) {
        return TINKC_OK;
    }
    for (size_t at = 0; code == TINKC_OK && at + 1 < tokens->n; at += most) {
        const data_tokens part = {tokens->ids + at, tokens->weights + at,
                                  TK_MIN(most + 1, tokens->n - at)};
        code = data_set_add(l->set, &l->about, &part, l->err);
    }
    l->set->cut += tokens->n - 1 > most ? 1 : 0;
    return code;
}

/* ---- records ---- */

/* Reads a prompt that was shaped and adds its row. */
static tinkc_code add_prompt(loading *l, const data_example *example, tk_str answer)
{
    char problem[DATA_PROBLEM_BYTES] = "";
    data_tokens tokens = {NULL, NULL, 0};
    size_t most = l->source->max_tokens;
    l->about.kind = DATA_PROMPT;
    l->about.answer = answer;
    if (l->source->tokenizer == NULL) {
        return TINKC_OK;
    }
    tinkc_code code = data_encode_prompt(&tokens, problem, &l->encoder, example, l->err);
    if (code != TINKC_OK) {
        return code;
    }
    if (problem[0] != '\0') {
        refuse(l, "%s", problem);
    } else if (tokens.n == 0) {
        refuse(l, "the prompt is empty");
    } else if (most > 0 && tokens.n >= most) {
        refuse(l, "too long: %zu tokens, but the model takes %zu", tokens.n, most);
        l->set->too_long++;
    } else if (check_each(l, &tokens)) {
        code = data_set_add(l->set, &l->about, &tokens, l->err);
    }
    data_tokens_dispose(&tokens);
    return code;
}

static tinkc_code read_prompt(loading *l, const tk_json *record)
{
    char problem[DATA_PROBLEM_BYTES];
    data_example example;
    tk_str answer;
    if (data_prompt_read(&example, &answer, problem, record, &l->arena) != TINKC_OK) {
        return tk_err_nomem(l->err);
    }
    if (problem[0] != '\0') {
        refuse(l, "%s", problem);
        return TINKC_OK;
    }
    return add_prompt(l, &example, answer);
}

/* Reads a line of plain text as a prompt. */
static tinkc_code read_line(loading *l, tk_str line)
{
    data_example example;
    if (!check_text(l, line)) {
        return TINKC_OK;
    }
    if (data_prompt_line(&example, line, l->source->tpl != NULL, &l->arena) != TINKC_OK) {
        return tk_err_nomem(l->err);
    }
    return add_prompt(l, &example, (tk_str){NULL, 0});
}

/* Encodes one answer of a preference and checks it. */
static tinkc_code encode_answer(loading *l, data_tokens *out, const tk_json *record)
{
    char problem[DATA_PROBLEM_BYTES];
    data_example example;
    tinkc_code code = data_shape_read(&example, problem, record, DATA_ANY, &l->arena);
    if (code != TINKC_OK) {
        return tk_err_nomem(l->err);
    }
    if (problem[0] == '\0' && example.messages != NULL) {
        data_roles_check(problem, &example, TINKC_LOSS_ON_ASSISTANT);
    }
    if (problem[0] == '\0' && l->source->tokenizer != NULL) {
        code = data_encode(out, problem, &l->encoder, &example, l->err);
    }
    if (code == TINKC_OK && problem[0] != '\0') {
        refuse(l, "%s", problem);
    } else if (code == TINKC_OK && l->source->tokenizer != NULL) {
        check_tokens(l, out);
    }
    return code;
}

/* Adds the two rows of a preference, or none. */
static tinkc_code read_preference(loading *l, const tk_json *record)
{
    char problem[DATA_PROBLEM_BYTES];
    data_tokens tokens[2] = {{NULL, NULL, 0}, {NULL, NULL, 0}};
    tk_json answers[2];
    tinkc_code code = data_prefer_read(answers, problem, record, &l->arena);
    l->about.kind = DATA_PREFERENCE;
    if (code != TINKC_OK) {
        return tk_err_nomem(l->err);
    }
    if (problem[0] != '\0') {
        refuse(l, "%s", problem);
        return TINKC_OK;
    }
    for (size_t i = 0; i < 2 && code == TINKC_OK && !l->is_bad; i++) {
        code = encode_answer(l, &tokens[i], &answers[i]);
    }
    for (size_t i = 0; i < 2 && code == TINKC_OK && !l->is_bad && tokens[0].n > 0; i++) {
        code = data_set_add(l->set, &l->about, &tokens[i], l->err);
    }
    data_tokens_dispose(&tokens[0]);
    data_tokens_dispose(&tokens[1]);
    return code;
}

static tinkc_code read_example(loading *l, const tk_json *record)
{
    char problem[DATA_PROBLEM_BYTES];
    data_example example;
    data_tokens tokens = {NULL, NULL, 0};
    tinkc_code code =
        data_shape_read(&example, problem, record, l->source->kind, &l->arena);
    if (code != TINKC_OK) {
        return tk_err_nomem(l->err);
    }
    l->about.kind = (uint8_t)example.kind;
    if (problem[0] == '\0' && example.messages != NULL) {
        data_roles_check(problem, &example, l->source->loss_on);
    }
    if (problem[0] == '\0' && l->source->tokenizer != NULL) {
        code = data_encode(&tokens, problem, &l->encoder, &example, l->err);
        if (code != TINKC_OK) {
            return code;
        }
    }
    if (problem[0] != '\0') {
        refuse(l, "%s", problem);
    } else if (l->source->tokenizer != NULL) {
        code = add_rows(l, &tokens);
    }
    data_tokens_dispose(&tokens);
    return code;
}

static tinkc_code read_value(loading *l, const tk_json *record)
{
    switch (l->source->want) {
    case DATA_PREFERENCES:
        return read_preference(l, record);
    case DATA_PROMPTS:
        return read_prompt(l, record);
    case DATA_EXAMPLES:
        break;
    }
    return read_example(l, record);
}

/* Returns the first of the words that Python's json module writes for such numbers but
 * which are not JSON, for a clearer message; or NULL. */
static const char *not_a_number(tk_str text)
{
    static const char *const words[] = {": NaN", ": Infinity", ": -Infinity"};
    for (size_t w = 0; w < TK_ARRAY_LEN(words); w++) {
        if (memmem(text.p, text.n, words[w], strlen(words[w])) != NULL) {
            return words[w] + 2;
        }
    }
    return NULL;
}

static tinkc_code read_json(loading *l, tk_str text)
{
    tk_err err = TK_ERR_INIT;
    const tk_json *json = NULL;
    tinkc_code code = tk_json_parse(&json, &l->arena, text.p, text.n, NULL, &err);
    if (code == TINKC_E_NOMEM) {
        return tk_err_nomem(l->err);
    }
    if (code != TINKC_OK) {
        const char *word = not_a_number(text);
        const char *reason =
            strncmp(err.message, "JSON: ", 6) == 0 ? err.message + 6 : err.message;
        refuse(l, "not JSON: %s%s", word != NULL ? word : reason,
               word != NULL ? " is not a JSON number" : "");
        return TINKC_OK;
    }
    return read_value(l, json);
}

/* ---- CSV ---- */

/* Takes the first row: the names of the columns, in lower case. */
static tinkc_code take_header(loading *l, tk_str row)
{
    const char *problem = NULL;
    if (!data_csv_row(&l->header, &problem, &l->header_arena, row, l->split.separator)) {
        return tk_err_nomem(l->err);
    }
    if (problem != NULL || !check_text(l, row)) {
        return tk_err_set(l->err, TINKC_E_UNSUPPORTED, "%s is not CSV: %s", l->file->path,
                          problem != NULL ? problem : "its first row is not text");
    }
    for (size_t i = 0; i < l->header.n; i++) {
        tk_str *cell = &l->header.cells[i];
        *cell = tk_str_trim(*cell);
        char *name = tk_arena_alloc(&l->header_arena, cell->n + 1);
        if (name == NULL) {
            return tk_err_nomem(l->err);
        }
        for (size_t k = 0; k < cell->n; k++) {
            char c = cell->p[k];
            name[k] = (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
        }
        name[cell->n] = '\0';
        cell->p = name;
    }
    if (l->source->want == DATA_EXAMPLES &&
        !data_shape_knows(l->header.cells, l->header.n)) {
        return tk_err_set(l->err, TINKC_E_UNSUPPORTED,
                          "%s: its columns (" TK_STR_FMT
                          ") are in no known format: name them, for example, "
                          "question,answer or prompt,completion",
                          l->file->path, (int)TK_MIN(row.n, (size_t)80), row.p);
    }
    return TINKC_OK;
}

static tinkc_code read_row(loading *l, tk_str row)
{
    data_row_cells cells;
    const char *problem = NULL;
    if (!check_text(l, row)) {
        return TINKC_OK;
    }
    if (!data_csv_row(&cells, &problem, &l->arena, row, l->split.separator)) {
        return tk_err_nomem(l->err);
    }
    if (problem != NULL) {
        refuse(l, "not CSV: %s", problem);
        return TINKC_OK;
    }
    if (cells.n != l->header.n) {
        refuse(l, "has %zu cells, but the header has %zu", cells.n, l->header.n);
        return TINKC_OK;
    }
    tk_json record = {.type = TK_JSON_OBJECT};
    tk_json_member *members = tk_arena_array(&l->arena, cells.n, sizeof(*members));
    if (members == NULL) {
        return tk_err_nomem(l->err);
    }
    for (size_t i = 0; i < cells.n; i++) {
        members[i].key = l->header.cells[i];
        members[i].value = (tk_json){.type = TK_JSON_STRING};
        members[i].value.as.string = cells.cells[i];
    }
    record.as.object.members = members;
    record.as.object.n = cells.n;
    return read_value(l, &record);
}

/* ---- plain text ---- */

static tinkc_code read_plain(loading *l, tk_str text)
{
    char problem[DATA_PROBLEM_BYTES] = "";
    data_tokens tokens;
    l->about.kind = DATA_TEXT;
    if (!check_text(l, text) || l->source->tokenizer == NULL) {
        return TINKC_OK;
    }
    tinkc_code code = data_encode_piece(&tokens, problem, &l->encoder, text,
                                        l->plain.line == 0, l->err);
    if (code != TINKC_OK) {
        return code;
    }
    if (problem[0] != '\0') {
        refuse(l, "%s", problem);
    } else if (check_each(l, &tokens)) {
        code = data_plain_add(&l->plain, l->set, &l->about, &tokens, l->err);
    }
    data_tokens_dispose(&tokens);
    return code;
}

/* ---- files ---- */

static tinkc_code read_record(loading *l, const data_piece *piece)
{
    tinkc_code code = TINKC_OK;
    l->about.line = piece->line;
    l->is_bad = false;
    l->about.answer = (tk_str){NULL, 0};
    if (l->split.is_starved) {
        return tk_err_nomem(l->err);
    }
    if (piece->problem != NULL) {
        refuse(l, "%s", piece->problem);
    } else if (l->is_lines) {
        code = read_line(l, piece->text);
    } else if (l->split.layout == DATA_PLAIN) {
        code = read_plain(l, piece->text);
    } else if (l->split.layout != DATA_CSV) {
        code = read_json(l, piece->text);
    } else if (l->header.n == 0) {
        return take_header(l, piece->text);
    } else {
        code = read_row(l, piece->text);
    }
    if (code == TINKC_OK) {
        size_t *count = &l->file->kinds[l->about.kind];
        bool is_counted = !l->is_bad && (l->split.layout != DATA_PLAIN || *count == 0);
        *count += is_counted ? 1 : 0;
        l->records++;
        l->set->problems += l->is_bad ? 1 : 0;
        l->file->problems += l->is_bad ? 1 : 0;
    }
    tk_arena_dispose(&l->arena);
    return code;
}

static tinkc_code read_pieces(loading *l, data_input *input, tk_str piece)
{
    const data_source *source = l->source;
    data_piece record;
    tinkc_code code = TINKC_OK;
    while (code == TINKC_OK && piece.n > 0) {
        while (code == TINKC_OK && data_split_next(&l->split, &piece, &record)) {
            code = read_record(l, &record);
        }
        if (source->progress != NULL) {
            source->progress(source->user, l->file->path, data_input_done(input),
                             l->records);
        }
        if (code == TINKC_OK) {
            code = data_input_read(input, &piece, l->err);
        }
    }
    if (code == TINKC_OK && data_split_end(&l->split, &record)) {
        code = read_record(l, &record);
    }
    if (code == TINKC_OK && source->tokenizer != NULL) {
        code =
            data_plain_end(&l->plain, l->set, data_encode_end(source->tokenizer), l->err);
    }
    return code == TINKC_OK && l->split.is_starved ? tk_err_nomem(l->err) : code;
}

tinkc_code data_load(data_set *set, data_file *out, const data_source *source,
                     const char *path, size_t index, tk_err *err)
{
    data_input *input = NULL;
    data_detected found;
    tk_str head = {NULL, 0};
    loading l = {.source = source, .set = set, .file = out, .err = err};
    l.encoder = (data_encoder){source->tokenizer, source->tpl, source->loss_on, warn, &l};
    l.about.file = (uint32_t)index;
    *out = (data_file){.path = path};
    tinkc_code code = data_input_open(&input, path, source->digest, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = data_input_read(input, &head, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = data_detect(&found, path, head, source->file_kind, err);
    if (code != TINKC_OK) {
        goto out;
    }
    if (found.layout == DATA_PLAIN && source->want == DATA_PREFERENCES) {
        code = tk_err_set(err, TINKC_E_UNSUPPORTED,
                          "%s is plain text, which has no preferences", path);
        goto out;
    }
    l.is_lines = found.layout == DATA_PLAIN && source->want == DATA_PROMPTS;
    found.layout = l.is_lines ? DATA_LINES : found.layout;
    out->layout = found.layout;
    tk_arena_init(&l.arena, 0);
    tk_arena_init(&l.header_arena, 0);
    data_plain_init(&l.plain, source->max_tokens);
    data_split_init(&l.split, found.layout, found.separator);
    code = read_pieces(&l, input, (tk_str){head.p + found.skip, head.n - found.skip});
    data_split_dispose(&l.split);
    data_plain_dispose(&l.plain);
    tk_arena_dispose(&l.arena);
    tk_arena_dispose(&l.header_arena);
out:
    data_input_close(&input);
    return code;
}

tinkc_code data_load_probe(const char *path, data_file_kind kind, tk_err *err)
{
    data_input *input = NULL;
    data_detected found;
    tk_str head = {NULL, 0};
    if (strcmp(path, "-") == 0) {
        return TINKC_OK;
    }
    tinkc_code code = data_input_open(&input, path, NULL, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = data_input_read(input, &head, err);
    if (code == TINKC_OK) {
        code = data_detect(&found, path, head, kind, err);
    }
    data_input_close(&input);
    return code;
}
