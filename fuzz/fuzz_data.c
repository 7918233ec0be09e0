/* Training data: the first byte chooses how the rest is cut into records, the second the
 * size of its pieces. Records do not depend on the pieces; what is read as a conversation
 * can be written again; CSV cells survive being quoted.
 * Links: cli text */
#include <string.h>

#include "base/mem.h"
#include "cli/data/data_csv.h"
#include "cli/data/data_detect.h"
#include "cli/data/data_form.h"
#include "fuzz.h"

static void read_json(const tk_json *json, tk_arena *arena)
{
    char problem[DATA_PROBLEM_BYTES];
    data_example example;
    if (data_shape_read(&example, problem, json, DATA_ANY, arena) != TINKC_OK ||
        problem[0] != '\0' || example.messages == NULL) {
        return;
    }
    for (int form = 0; form < DATA_FORMS; form++) {
        const tk_json *again = NULL;
        tk_buf out;
        tk_buf_init(&out, 64 * TK_MIB);
        tinkc_code code = data_form_write(&out, &example, (data_form)form);
        if (code == TINKC_OK &&
            tk_json_parse(&again, arena, out.p, out.n, NULL, NULL) == TINKC_E_PARSE) {
            fuzz_fail("a conversation is written as something that is not JSON");
        }
        (void)data_form_missing(&example, tk_buf_str(&out));
        (void)data_form_has_parts(&example, tk_buf_str(&out));
        tk_buf_dispose(&out);
    }
}

static void put_quoted(tk_buf *out, tk_str cell)
{
    tk_buf_putc(out, '"');
    for (size_t i = 0; i < cell.n; i++) {
        tk_buf_puts(out, cell.p[i] == '"' ? "\"" : "");
        tk_buf_putc(out, cell.p[i]);
    }
    tk_buf_putc(out, '"');
}

static void read_csv(tk_str row, tk_arena *arena)
{
    data_row_cells cells, again;
    const char *problem = NULL;
    tk_buf quoted;
    if (!data_csv_row(&cells, &problem, arena, row, ',') || problem != NULL) {
        return;
    }
    tk_buf_init(&quoted, 64 * TK_MIB);
    for (size_t i = 0; i < cells.n; i++) {
        tk_buf_puts(&quoted, i > 0 ? "," : "");
        put_quoted(&quoted, cells.cells[i]);
    }
    if (!data_csv_row(&again, &problem, arena, tk_buf_str(&quoted), ',') ||
        problem != NULL || again.n != cells.n) {
        fuzz_fail("a quoted row is read differently");
    }
    for (size_t i = 0; i < cells.n; i++) {
        if (!tk_str_eq(cells.cells[i], again.cells[i])) {
            fuzz_fail("a quoted cell is read differently");
        }
    }
    tk_buf_dispose(&quoted);
}

static void take(tk_buf *out, data_layout layout, const data_piece *piece)
{
    tk_arena arena;
    const tk_json *json = NULL;
    tk_buf_printf(out, "%zu %s ", piece->line,
                  piece->problem != NULL ? piece->problem : "");
    tk_buf_put(out, piece->text.p, piece->text.n);
    tk_buf_putc(out, '\0');
    tk_arena_init(&arena, 0);
    if (piece->problem == NULL && layout == DATA_CSV) {
        read_csv(piece->text, &arena);
    } else if (piece->problem == NULL && layout != DATA_PLAIN &&
               tk_json_parse(&json, &arena, piece->text.p, piece->text.n, NULL, NULL) ==
                   TINKC_OK) {
        read_json(json, &arena);
    }
    tk_arena_dispose(&arena);
}

static void cut(tk_buf *out, data_layout layout, tk_str text, size_t step)
{
    data_split split;
    data_piece piece;
    data_split_init(&split, layout, ',');
    for (size_t at = 0; at < text.n; at += step) {
        tk_str rest = {text.p + at, TK_MIN(step, text.n - at)};
        while (data_split_next(&split, &rest, &piece)) {
            take(out, layout, &piece);
        }
    }
    if (data_split_end(&split, &piece)) {
        take(out, layout, &piece);
    }
    data_split_dispose(&split);
}

int fuzz_record(const uint8_t *data, size_t size)
{
    tk_buf whole, pieces;
    tk_err err = TK_ERR_INIT;
    data_detected found;
    if (size < 2) {
        return 0;
    }
    data_layout layout = (data_layout)(data[0] % (DATA_PLAIN + 1));
    tk_str text = {(const char *)data + 2, size - 2};
    tk_buf_init(&whole, TK_GIB);
    tk_buf_init(&pieces, TK_GIB);
    cut(&whole, layout, text, text.n);
    cut(&pieces, layout, text, (size_t)data[1] % 32 + 1);
    if (!tk_str_eq(tk_buf_str(&whole), tk_buf_str(&pieces))) {
        fuzz_fail("the records depend on the pieces");
    }
    if (data_detect(&found, "-", text, DATA_ANY_FILE, &err) == TINKC_OK &&
        found.skip > text.n) {
        fuzz_fail("more is skipped than there is");
    }
    tk_buf_dispose(&whole);
    tk_buf_dispose(&pieces);
    return 0;
}
