/* The name decides between CSV, plain text and JSON; where it does not, the text does. How
 * JSON is laid out is always seen from the text.
 * Needs: text */
#include "cli/data/data_detect.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/limits.h"
#include "cli/data/data_csv.h"
#include "cli/data/data_shape.h"

/* ---- formats that are not read ---- */

typedef struct foreign {
    const char *magic;
    size_t n;
    const char *name, *advice; /* %s: the file */
} foreign;

#define PANDAS(read)                                                                     \
    "convert it with: python3 -c \"import pandas; pandas." read                          \
    "('%s').to_json('data.jsonl', orient='records', lines=True)\""

static const foreign foreigns[] = {
    {"PAR1", 4, "a Parquet file", PANDAS("read_parquet")},
    {"ARROW1", 6, "an Arrow file", PANDAS("read_feather")},
    {"PK\x03\x04", 4, "a zip file or a spreadsheet",
     "unpack it, or save the sheet as CSV (%s)"},
    {"\xff\xfe", 2, "UTF-16",
     "convert it with: iconv -f UTF-16 -t UTF-8 '%s' > data.txt"},
    {"\xfe\xff", 2, "UTF-16",
     "convert it with: iconv -f UTF-16 -t UTF-8 '%s' > data.txt"},
    {"SQLite format 3", 15, "an SQLite database",
     "export it with: sqlite3 -csv -header '%s' 'SELECT * FROM table' > data.csv"},
};

static tinkc_code refuse(const foreign *f, const char *path, tk_err *err)
{
    char advice[TK_ERR_MESSAGE_BYTES];
    const char *name = strcmp(path, "-") == 0 ? "FILE" : path;
    const char *mark = strstr(f->advice, "%s");
    size_t before = mark != NULL ? (size_t)(mark - f->advice) : strlen(f->advice);
    (void)snprintf(advice, sizeof(advice), "%.*s%s%s", (int)before, f->advice,
                   mark != NULL ? name : "", mark != NULL ? mark + 2 : "");
    return tk_err_set(err, TINKC_E_UNSUPPORTED, "%s is %s, which is not read; %s", path,
                      f->name, advice);
}

/* ---- names ---- */

static bool ends_in(tk_str name, const char *ending)
{
    size_t n = strlen(ending);
    return name.n > n && tk_str_is_nocase((tk_str){name.p + name.n - n, n}, ending);
}

/* Returns what the ending of the name says. Endings of packed files are ignored. */
static data_file_kind kind_of_name(const char *path)
{
    static const struct {
        const char *ending;
        data_file_kind kind;
    } kinds[] = {{".csv", DATA_CSV_FILE},    {".tsv", DATA_CSV_FILE},
                 {".txt", DATA_PLAIN_FILE},  {".text", DATA_PLAIN_FILE},
                 {".md", DATA_PLAIN_FILE},   {".json", DATA_JSON_FILE},
                 {".jsonl", DATA_JSON_FILE}, {".ndjson", DATA_JSON_FILE}};
    static const char *const packed[] = {".gz", ".zst", ".bz2", ".xz"};
    tk_str name = tk_str_of(path);
    for (size_t i = 0; i < TK_ARRAY_LEN(packed); i++) {
        if (ends_in(name, packed[i])) {
            name.n -= strlen(packed[i]);
            break;
        }
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(kinds); i++) {
        if (ends_in(name, kinds[i].ending)) {
            return kinds[i].kind;
        }
    }
    return DATA_ANY_FILE;
}

/* ---- texts ---- */

/* What the looks at a text share. */
typedef struct looking {
    tk_arena arena;
    bool is_starved; /* memory ran out: what was seen is not to be trusted */
} looking;

/* Parses a text; NULL: it is not JSON. */
static const tk_json *parse(looking *at, tk_str text)
{
    const tk_json *json = NULL;
    tinkc_code code = tk_json_parse(&json, &at->arena, text.p, text.n, NULL, NULL);
    at->is_starved = at->is_starved || code == TINKC_E_NOMEM;
    return code == TINKC_OK ? json : NULL;
}

/* Returns whether the header names columns that an example can be made from. */
static bool is_known_header(looking *at, tk_str header)
{
    data_row_cells cells;
    const char *problem = NULL;
    if (!data_csv_row(&cells, &problem, &at->arena, header, data_csv_separator(header))) {
        at->is_starved = true;
        return false;
    }
    return problem == NULL && data_shape_knows(cells.cells, cells.n);
}

/* Returns whether the items of the array are messages: then each line is a conversation,
 * and not the whole file a list of them. */
static bool has_messages(looking *at, tk_str text)
{
    data_split split;
    data_piece piece;
    const tk_json *json = NULL;
    tk_str rest = text;
    data_split_init(&split, DATA_ARRAY, 0);
    if (data_split_next(&split, &rest, &piece) && piece.problem == NULL) {
        json = parse(at, piece.text);
    }
    at->is_starved = at->is_starved || split.is_starved;
    data_split_dispose(&split);
    return tk_json_get(json, "role") != NULL || tk_json_get(json, "from") != NULL;
}

static data_layout json_layout(looking *at, tk_str text)
{
    tk_str rest = text;
    tk_str line = tk_str_trim(tk_str_cut(&rest, '\n'));
    if (line.n > 0 && line.p[0] == '[') {
        return has_messages(at, text) ? DATA_LINES : DATA_ARRAY;
    }
    return tk_str_is(line, "{") ? DATA_VALUES : DATA_LINES;
}

/* Returns whether the first line is a JSON object: text files often have JSONL in them. */
static bool is_jsonl(looking *at, tk_str text)
{
    tk_str rest = text;
    tk_str line = tk_str_trim(tk_str_cut(&rest, '\n'));
    return line.n > 0 && line.p[0] == '{' && parse(at, line) != NULL;
}

static data_file_kind kind_of_text(looking *at, tk_str text)
{
    tk_str rest = text;
    tk_str line = tk_str_trim(tk_str_cut(&rest, '\n'));
    if (line.n > 0 && (line.p[0] == '{' || line.p[0] == '[')) {
        return DATA_JSON_FILE;
    }
    return is_known_header(at, line) ? DATA_CSV_FILE : DATA_PLAIN_FILE;
}

tinkc_code data_detect(data_detected *out, const char *path, tk_str head,
                       data_file_kind kind, tk_err *err)
{
    static const char mark[] = "\xef\xbb\xbf"; /* some editors start a file with it */
    looking at = {.is_starved = false};
    for (size_t i = 0; i < TK_ARRAY_LEN(foreigns); i++) {
        const foreign *f = &foreigns[i];
        if (head.n >= f->n && memcmp(head.p, f->magic, f->n) == 0) {
            return refuse(f, path, err);
        }
    }
    *out = (data_detected){.layout = DATA_PLAIN, .separator = ','};
    out->skip = tk_str_has_prefix(head, mark) ? 3 : 0;
    tk_str text = {head.p + out->skip, head.n - out->skip};
    tk_str rest = text;
    tk_str trimmed = tk_str_trim(text);
    tk_str row = tk_str_cut(&rest, '\n');
    tk_arena_init(&at.arena, 0);
    if (kind == DATA_ANY_FILE) {
        kind = kind_of_name(path);
        kind = kind == DATA_PLAIN_FILE && is_jsonl(&at, trimmed) ? DATA_JSON_FILE : kind;
    }
    kind = kind != DATA_ANY_FILE ? kind : kind_of_text(&at, trimmed);
    if (kind == DATA_CSV_FILE) {
        out->layout = DATA_CSV;
        out->separator = data_csv_separator(row);
    } else if (kind == DATA_JSON_FILE) {
        out->layout = json_layout(&at, trimmed);
    }
    tk_arena_dispose(&at.arena);
    return at.is_starved ? tk_err_nomem(err) : TINKC_OK;
}
