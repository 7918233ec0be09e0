/* Each layout has a scanner, which looks at one byte at a time and says what the byte is:
 * between records, part of one, its last byte, or the first byte after it.
 * Needs: text */
#include "cli/data/data_split.h"

#include <string.h>

#include "base/limits.h"

#define PLAIN_BYTES (32 * TK_KIB) /* a piece of plain text ends with the next line */

typedef enum verdict {
    BETWEEN, /* not part of a record */
    INSIDE,  /* part of the record */
    LAST,    /* part of the record, and its end */
    AFTER,   /* the end of the record, and not part of it */
    BEFORE   /* the end of the record; belongs to the next one */
} verdict;

typedef verdict (*scan_fn)(data_split *split, char c);

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* ---- lines ---- */

static verdict scan_lines(data_split *split, char c)
{
    return c == '\n' ? AFTER : split->begin == 0 && is_space(c) ? BETWEEN : INSIDE;
}

/* ---- JSON values ---- */

/* Looks at a byte inside a JSON value; strings and brackets are all that matters. */
static void scan_json(data_split *split, char c)
{
    if (split->is_escaped) {
        split->is_escaped = false;
    } else if (split->in_string) {
        split->is_escaped = c == '\\';
        split->in_string = c != '"';
    } else if (c == '"') {
        split->in_string = true;
    } else if (c == '{' || c == '[') {
        split->depth++;
    } else if ((c == '}' || c == ']') && split->depth > 0) {
        split->depth--;
    }
}

static verdict scan_values(data_split *split, char c)
{
    if (split->begin == 0 && is_space(c)) {
        return BETWEEN;
    }
    scan_json(split, c);
    bool is_close = c == '}' || c == ']';
    bool is_end = !split->in_string && split->depth == 0 && (is_close || c == '\n');
    return is_end ? LAST : INSIDE;
}

enum { ARRAY_NONE = 0, ARRAY_OPEN, ARRAY_ENDED };

static verdict scan_array(data_split *split, char c)
{
    if (split->begin == 0 && is_space(c)) {
        return BETWEEN;
    }
    if (split->state == ARRAY_NONE) {
        split->state = c == '[' ? ARRAY_OPEN : ARRAY_ENDED;
        return c == '[' ? BETWEEN : INSIDE;
    }
    bool is_outside =
        split->state == ARRAY_OPEN && split->depth == 0 && !split->in_string;
    if (is_outside && (c == ',' || c == ']')) {
        split->state = c == ']' ? ARRAY_ENDED : ARRAY_OPEN;
        return AFTER;
    }
    scan_json(split, c);
    return INSIDE;
}

/* ---- CSV ---- */

enum { CELL_BEGIN = 0, CELL_PLAIN, CELL_QUOTED, CELL_QUOTE };

static verdict scan_csv(data_split *split, char c)
{
    if (split->state == CELL_QUOTED) {
        split->state = c == '"' ? CELL_QUOTE : CELL_QUOTED;
        return INSIDE;
    }
    if (c == '\n' || c == '\r') {
        split->state = CELL_BEGIN;
        return AFTER;
    }
    if (c == split->separator) {
        split->state = CELL_BEGIN;
    } else if (c == '"' && split->state != CELL_PLAIN) {
        split->state = CELL_QUOTED; /* opens the cell, or is the second of two quotes */
    } else {
        split->state = CELL_PLAIN;
    }
    return INSIDE;
}

/* ---- plain text ---- */

static verdict scan_plain(data_split *split, char c)
{
    bool is_start = ((unsigned char)c & 0xC0) != 0x80; /* of a UTF-8 character */
    if (split->bytes >= TK_DATA_PLAIN_BYTES && is_start) {
        return BEFORE;
    }
    return c == '\n' && split->bytes >= PLAIN_BYTES ? LAST : INSIDE;
}

/* ---- records ---- */

static const scan_fn scanners[] = {
    [DATA_LINES] = scan_lines, [DATA_VALUES] = scan_values, [DATA_ARRAY] = scan_array,
    [DATA_CSV] = scan_csv,     [DATA_PLAIN] = scan_plain,
};

void data_split_init(data_split *split, data_layout layout, char separator)
{
    memset(split, 0, sizeof(*split));
    split->layout = layout;
    split->separator = separator;
    split->line = 1;
    tk_buf_init(&split->record, TK_DATA_RECORD_BYTES);
}

void data_split_dispose(data_split *split)
{
    tk_buf_dispose(&split->record);
}

/* Appends bytes to the record. What is too long is discarded; the scanner still finds its
 * end. */
static void keep(data_split *split, const char *p, size_t n)
{
    if (split->is_too_long) {
        return;
    }
    if (n > TK_DATA_RECORD_BYTES - split->record.n) {
        split->is_too_long = true;
        tk_buf_dispose(&split->record);
    } else {
        tk_buf_put(&split->record, p, n);
        split->is_starved = split->is_starved || split->record.failure != TINKC_OK;
    }
}

static void count_lines(data_split *split, char c)
{
    bool is_row = split->layout == DATA_CSV; /* a carriage return alone ends a row */
    if (is_row ? c == '\r' || (c == '\n' && split->last != '\r') : c == '\n') {
        split->line++;
    }
    split->last = c;
}

/* Gives the record and starts the next one. False: there is nothing in it. */
static bool end_record(data_split *split, data_piece *out)
{
    tk_str text = tk_buf_str(&split->record);
    *out = (data_piece){.line = split->begin};
    bool is_too_long = split->is_too_long;
    out->problem = is_too_long ? "longer than 16 MiB" : NULL;
    out->text = split->layout == DATA_PLAIN || split->layout == DATA_CSV
                    ? text
                    : tk_str_trim(text);
    split->begin = 0;
    split->depth = 0;
    split->in_string = split->is_escaped = split->is_too_long = false;
    return is_too_long || split->is_starved || out->text.n > 0;
}

/* Begins a record at the first byte that is kept after the last one was given. */
static void begin(data_split *split)
{
    if (split->begin == 0) {
        split->begin = split->line;
        tk_buf_clear(&split->record);
    }
}

bool data_split_next(data_split *split, tk_str *rest, data_piece *out)
{
    scan_fn scan = scanners[split->layout];
    size_t from = 0; /* first byte that is not kept yet */
    for (size_t i = 0; i < rest->n; i++) {
        char c = rest->p[i];
        split->bytes = split->begin != 0 ? split->record.n + (i - from) : 0;
        verdict is = scan(split, c);
        if (is == BETWEEN) {
            count_lines(split, c);
            from = i + 1;
            continue;
        }
        if (is == INSIDE) {
            begin(split);
            count_lines(split, c);
            continue;
        }
        begin(split);
        keep(split, rest->p + from, i - from + (is == LAST ? 1 : 0));
        size_t taken = is == BEFORE ? i : i + 1;
        if (is != BEFORE) {
            count_lines(split, c);
        }
        if (end_record(split, out)) {
            *rest = (tk_str){rest->p + taken, rest->n - taken};
            return true;
        }
        from = taken;
    }
    if (split->begin != 0) {
        keep(split, rest->p + from, rest->n - from);
    }
    *rest = (tk_str){NULL, 0};
    return false;
}

bool data_split_end(data_split *split, data_piece *out)
{
    bool is_open = split->layout == DATA_ARRAY && split->state == ARRAY_OPEN;
    bool is_quoted = split->layout == DATA_CSV && split->state == CELL_QUOTED;
    if (split->is_ended) {
        return false;
    }
    size_t line = split->begin != 0 ? split->begin : split->line;
    split->is_ended = true;
    if (is_open || is_quoted) {
        split->begin = 0;
        *out = (data_piece){.line = line,
                            .problem = is_open ? "the file ends inside its JSON array"
                                               : "the file ends inside quotes"};
        return true;
    }
    if (split->begin == 0) {
        return false;
    }
    if (split->layout == DATA_ARRAY) {
        split->begin = 0;
        *out = (data_piece){.line = line, .problem = "text outside the JSON array"};
        return true;
    }
    return end_record(split, out);
}
