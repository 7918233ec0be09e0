/* Cells are copied into the arena, without their quotes.
 * Needs: text */
#include "cli/data/data_csv.h"

#include <string.h>

#include "base/limits.h"

/* Takes a cell that begins with a quote. False: it does not end with one. */
static bool take_quoted(tk_str *cell, tk_str *rest, char separator, char *room)
{
    size_t n = 0, i = 1;
    for (; i < rest->n; i++) {
        if (rest->p[i] == '"' && (i + 1 == rest->n || rest->p[i + 1] != '"')) {
            break;
        }
        i += rest->p[i] == '"' ? 1 : 0; /* two quotes stand for one */
        room[n++] = rest->p[i];
    }
    if (i >= rest->n || (i + 1 < rest->n && rest->p[i + 1] != separator)) {
        return false;
    }
    *cell = (tk_str){room, n};
    bool is_last = i + 1 == rest->n;
    *rest = is_last ? (tk_str){NULL, 0} : (tk_str){rest->p + i + 2, rest->n - i - 2};
    return true;
}

bool data_csv_row(data_row_cells *out, const char **problem, tk_arena *arena, tk_str row,
                  char separator)
{
    tk_str rest = row;
    size_t most = 1;
    for (size_t i = 0; i < row.n; i++) {
        most += row.p[i] == separator ? 1 : 0;
    }
    most = TK_MIN(most, (size_t)TK_DATA_COLUMNS_MAX);
    char *room = tk_arena_alloc(arena, row.n + 1);
    out->n = 0;
    out->cells = tk_arena_array(arena, most, sizeof(*out->cells));
    *problem = NULL;
    if (room == NULL || out->cells == NULL) {
        return false;
    }
    while (rest.p != NULL && *problem == NULL) {
        tk_str cell = {NULL, 0};
        if (out->n == most) {
            *problem = "more than 1024 cells";
        } else if (rest.n > 0 && rest.p[0] == '"') {
            bool ok = take_quoted(&cell, &rest, separator, room);
            *problem = ok ? NULL : "a quoted cell does not end where its quotes do";
        } else {
            cell = tk_str_cut(&rest, separator);
            if (cell.n > 0) {
                memcpy(room, cell.p, cell.n);
            }
            cell.p = room;
        }
        if (*problem == NULL) {
            out->cells[out->n++] = cell;
            room += cell.n;
        }
    }
    return true;
}

char data_csv_separator(tk_str header)
{
    static const char all[] = {',', ';', '\t'};
    size_t best = 0, most = 0;
    for (size_t k = 0; k < sizeof(all); k++) {
        size_t n = 0;
        for (size_t i = 0; i < header.n; i++) {
            n += header.p[i] == all[k] ? 1 : 0;
        }
        if (n > most) {
            most = n;
            best = k;
        }
    }
    return all[best];
}
