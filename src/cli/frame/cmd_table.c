/* The layout of tables. Cells are kept until all are known; then each column gets the
 * width it needs. On a terminal that is too narrow, texts wrap between words, except in
 * the first column: ids and paths are there to be copied. Where even that does not fit,
 * each row becomes a block of "Name: value" lines. Owns its texts. */
#include "cli/frame/cmd_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/frame/cmd_print.h"

#define GAP         2 /* blanks between columns */
#define LEAST       8 /* narrowest column that wraps */
#define CELL_BYTES  4096
#define MAX_BYTES   (512 * TK_MIB)
#define MAX_COLUMNS 64

struct cmd_table {
    tk_arena arena;
    const char *const *columns;
    size_t n_columns;
    tk_str title;
    tk_str *cells; /* owned array, texts in the arena */
    size_t n, room;
    bool is_lost; /* memory ran out */
    bool is_colored;
};

cmd_table *cmd_table_new(const char *const *columns, size_t n)
{
    cmd_table *table = n > 0 && n <= MAX_COLUMNS ? tk_zalloc(sizeof(*table)) : NULL;
    if (table != NULL) {
        tk_arena_init(&table->arena, MAX_BYTES);
        table->columns = columns;
        table->n_columns = n;
    }
    return table;
}

cmd_table *cmd_table_properties(void)
{
    static const char *const columns[] = {"Property", "Value"};
    return cmd_table_new(columns, 2);
}

void cmd_table_free(cmd_table **table)
{
    if (table != NULL && *table != NULL) {
        tk_arena_dispose(&(*table)->arena);
        tk_free((*table)->cells);
        tk_free(*table);
        *table = NULL;
    }
}

static bool keep(cmd_table *table, tk_str *out, const char *text)
{
    tk_buf safe;
    tk_buf_init(&safe, TK_MIB);
    cmd_out_put_safe(&safe, tk_str_of(text));
    bool ok = safe.failure == TINKC_OK &&
              tk_arena_dup(&table->arena, out, safe.p != NULL ? safe.p : "", safe.n);
    tk_buf_dispose(&safe);
    table->is_lost = table->is_lost || !ok;
    return ok;
}

void cmd_table_put(cmd_table *table, const char *text)
{
    if (table == NULL || table->is_lost) {
        return;
    }
    if (table->n == table->room) {
        size_t room = table->room > 0 ? 2 * table->room : 64;
        tk_str *cells = tk_realloc_array(table->cells, room, sizeof(*cells));
        table->is_lost = cells == NULL;
        if (cells == NULL) {
            return;
        }
        table->cells = cells;
        table->room = room;
    }
    if (keep(table, &table->cells[table->n], text != NULL ? text : "")) {
        table->n++;
    }
}

void cmd_table_printf(cmd_table *table, const char *format, ...)
{
    char text[CELL_BYTES];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    cmd_table_put(table, text);
}

void cmd_table_title(cmd_table *table, const char *format, ...)
{
    char text[CELL_BYTES];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    if (table != NULL) {
        (void)keep(table, &table->title, text);
    }
}

void cmd_table_row(cmd_table *table, const char *name, const char *value)
{
    cmd_table_put(table, name);
    cmd_table_put(table, value);
}

/* ---- widths ---- */

static void natural_widths(const cmd_table *table, size_t *widths)
{
    for (size_t c = 0; c < table->n_columns; c++) {
        widths[c] = cmd_out_columns(tk_str_of(table->columns[c]));
    }
    for (size_t i = 0; i < table->n; i++) {
        size_t *width = &widths[i % table->n_columns];
        *width = TK_MAX(*width, cmd_out_columns(table->cells[i]));
    }
}

static size_t sum(const size_t *widths, size_t n)
{
    size_t all = (n - 1) * GAP;
    for (size_t i = 0; i < n; i++) {
        all += widths[i];
    }
    return all;
}

static size_t longest_word(tk_str text)
{
    size_t most = 0;
    while (text.p != NULL) {
        size_t columns = cmd_out_columns(tk_str_cut(&text, ' '));
        most = TK_MAX(most, columns);
    }
    return most;
}

/* Gives how narrow each column can be: no word is cut. */
static void least_widths(const cmd_table *table, size_t *least)
{
    for (size_t c = 0; c < table->n_columns; c++) {
        least[c] = TK_MAX(longest_word(tk_str_of(table->columns[c])), LEAST);
    }
    for (size_t i = 0; i < table->n; i++) {
        size_t *width = &least[i % table->n_columns];
        *width = TK_MAX(*width, longest_word(table->cells[i]));
    }
}

/* Narrows the widest column that can be narrower, but never the first, until all fits.
 * Returns false when it cannot. */
static bool fit(size_t *widths, const size_t *least, size_t n, size_t width)
{
    while (sum(widths, n) > width) {
        size_t widest = 0;
        for (size_t i = 1; i < n; i++) {
            if (widths[i] > least[i] && (widest == 0 || widths[i] > widths[widest])) {
                widest = i;
            }
        }
        if (widest == 0) {
            return false;
        }
        widths[widest]--;
    }
    return true;
}

/* ---- showing ---- */

/* Returns the part of *rest that fits, cut at a blank where there is one, and moves *rest
 * past it. */
static tk_str take_line(tk_str *rest, size_t width)
{
    size_t end = 0, blank = 0, used = 0;
    for (size_t i = 0; i < rest->n;) {
        size_t n = tk_utf8_len(rest->p + i, rest->n - i);
        n = n > 0 ? n : 1;
        used += cmd_out_columns((tk_str){rest->p + i, n});
        if (used > TK_MAX(width, 1)) {
            break;
        }
        blank = rest->p[i] == ' ' && i > 0 ? i : blank;
        i += n;
        end = i;
    }
    end = end > 0 ? end : TK_MIN(rest->n, 1);
    size_t next = end;
    if (end < rest->n && rest->p[end] == ' ') {
        next = end + 1;
    } else if (end < rest->n && blank > 0) {
        end = blank;
        next = blank + 1;
    }
    tk_str line = {rest->p, end};
    *rest = (tk_str){rest->p + next, rest->n - next};
    return line;
}

static void show_blanks(size_t n)
{
    cmd_print(stdout, "%*s", (int)n, "");
}

/* `color` is the parameter of the escape sequence. */
static void show_colored(const cmd_table *table, tk_str text, const char *color)
{
    if (table->is_colored && text.n > 0 && color != NULL) {
        cmd_print(stdout, "\033[%sm" TK_STR_FMT "\033[0m", color, TK_STR_ARG(text));
    } else {
        cmd_print(stdout, TK_STR_FMT, TK_STR_ARG(text));
    }
}

static void show_row(const cmd_table *table, const tk_str *cells, const size_t *widths,
                     bool is_head)
{
    tk_str rest[MAX_COLUMNS];
    bool is_more = true;
    memcpy(rest, cells, table->n_columns * sizeof(*rest));
    while (is_more) {
        size_t owed = 0; /* blanks, written only when a text follows */
        is_more = false;
        for (size_t c = 0; c < table->n_columns; c++) {
            tk_str line = take_line(&rest[c], widths[c]);
            if (line.n > 0) {
                show_blanks(owed);
                owed = 0;
                show_colored(table, line, is_head ? "1" : c == 0 ? "96" : NULL);
            }
            owed += widths[c] - cmd_out_columns(line) + GAP;
            is_more = is_more || rest[c].n > 0;
        }
        cmd_print(stdout, "\n");
    }
}

static void show_rule(const size_t *widths, size_t n)
{
    const char *dash = cmd_out_is_utf8() ? "\xe2\x94\x80" : "-";
    for (size_t c = 0; c < n; c++) {
        show_blanks(c > 0 ? GAP : 0);
        for (size_t i = 0; i < widths[c]; i++) {
            cmd_print(stdout, "%s", dash);
        }
    }
    cmd_print(stdout, "\n");
}

/* Like take_line, but keeps a word that is too long whole: the terminal wraps it, and an
 * id can be copied from there. */
static tk_str take_words(tk_str *rest, size_t width)
{
    tk_str line = take_line(rest, width);
    if (rest->p == line.p + line.n) { /* cut inside a word, or the end */
        const char *blank = rest->n > 0 ? memchr(rest->p, ' ', rest->n) : NULL;
        size_t n = blank != NULL ? (size_t)(blank - rest->p) : rest->n;
        size_t next = n + (blank != NULL);
        line.n += n;
        *rest = (tk_str){rest->p + next, rest->n - next};
    }
    return line;
}

static void show_wrapped(const cmd_table *table, tk_str text, size_t width,
                         const char *color)
{
    do {
        show_colored(table, take_words(&text, width), color);
        cmd_print(stdout, "\n");
    } while (text.n > 0);
}

/* Shows one block per row: the value after its name when both fit, else below it. */
static void show_blocks(const cmd_table *table, size_t width)
{
    for (size_t i = 0; i < table->n; i++) {
        size_t c = i % table->n_columns;
        tk_str name = tk_str_of(table->columns[c]);
        if (c == 0 && i > 0) {
            cmd_print(stdout, "\n");
        }
        show_colored(table, name, "1");
        cmd_print(stdout, ":");
        bool fits = name.n + 2 + cmd_out_columns(table->cells[i]) <= width;
        cmd_print(stdout, fits ? " " : "\n");
        show_wrapped(table, table->cells[i], width, c == 0 ? "96" : NULL);
    }
}

static void show_lines(const cmd_table *table, const size_t *widths)
{
    tk_str head[MAX_COLUMNS];
    for (size_t c = 0; c < table->n_columns; c++) {
        head[c] = tk_str_of(table->columns[c]);
    }
    show_row(table, head, widths, true);
    show_rule(widths, table->n_columns);
    for (size_t i = 0; i + table->n_columns <= table->n; i += table->n_columns) {
        show_row(table, table->cells + i, widths, false);
    }
}

int cmd_table_print(cmd_table **table, const cmd_args *args)
{
    cmd_table *t = *table;
    if (t == NULL || t->is_lost) {
        cmd_table_free(table);
        return cmd_fail("out of memory");
    }
    size_t widths[MAX_COLUMNS], least[MAX_COLUMNS];
    size_t width = cmd_out_width(STDOUT_FILENO);
    t->is_colored = cmd_out_has_color(args);
    natural_widths(t, widths);
    least_widths(t, least);
    if (t->title.n > 0) {
        show_wrapped(t, t->title, width > 0 ? width : SIZE_MAX, "1");
    }
    if (width > 0 && t->n > 0 && !fit(widths, least, t->n_columns, width)) {
        show_blocks(t, width);
    } else if (t->n > 0) {
        show_lines(t, widths);
    }
    cmd_table_free(table);
    return CMD_OK;
}
