/* See cmd_csv.h. */
#include "cli/frame/cmd_csv.h"

#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "cli/frame/cmd.h"
#include "cli/frame/cmd_print.h"

void cmd_csv_put(tk_buf *to, const char *text, bool is_last)
{
    bool quoted = strpbrk(text, ",\"\r\n") != NULL;
    tk_buf_puts(to, quoted ? "\"" : "");
    for (; *text != '\0'; text++) {
        tk_buf_puts(to, *text == '"' ? "\"" : "");
        tk_buf_putc(to, *text);
    }
    tk_buf_puts(to, quoted ? "\"" : "");
    tk_buf_puts(to, is_last ? "\r\n" : ",");
}

int cmd_csv_write(const char *path, tk_buf *csv, size_t rows)
{
    tk_err err = TK_ERR_INIT;
    int result = CMD_OK;
    if (tk_buf_status(csv, &err) != TINKC_OK) {
        result = cmd_fail("%s", err.message);
    } else if (strcmp(path, "-") == 0) {
        cmd_print_bytes(csv->p, csv->n);
    } else if (tk_file_replace(path, csv->p, csv->n, 0666, &err) != TINKC_OK) {
        result = cmd_fail("%s", err.message);
    } else {
        cmd_print(stderr, "Wrote %zu row(s) to %s\n", rows, path);
    }
    tk_buf_dispose(csv);
    return result;
}
