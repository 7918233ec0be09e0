/* A terminal's screen: what a person sees after a program has written these bytes. It knows
 * what the terminal entry "xterm" uses: UTF-8, wrapping, scrolling, moving, erasing, inserting
 * and deleting; colours and modes change nothing. Rows that scroll off at the top are kept.
 * Allocates through fakeapi_mem.h. */
#ifndef SUPPORT_SCREEN_H
#define SUPPORT_SCREEN_H

#include <stddef.h>
#include <stdint.h>

#include "support/fakeapi_mem.h"

#define SCREEN_ROWS        24
#define SCREEN_COLUMNS_MAX 200

typedef struct screen {
    size_t columns;
    uint32_t cell[SCREEN_ROWS][SCREEN_COLUMNS_MAX]; /* characters; 0: empty */
    size_t row, column;                             /* of the cursor */
    size_t saved_row, saved_column;
    bool is_full;      /* the last column was written: the next character wraps */
    size_t wraps;      /* how often a line was too long */
    char sequence[64]; /* an escape sequence that has begun */
    size_t sequence_n;
    uint32_t character; /* of bytes that have begun */
    unsigned left;      /* bytes that it still lacks */
    fakeapi_bytes gone; /* rows that have left at the top, one per line */
    size_t gone_n;      /* how many */
} screen;

/* Makes an empty screen of SCREEN_ROWS rows. */
void screen_open(screen *s, size_t columns);
void screen_close(screen *s);

/* Shows what a program wrote. */
void screen_write(screen *s, const char *bytes, size_t n);

/* Writes the text of a row, without blanks at its end, into `out`; returns `out`. */
#define SCREEN_ROW_BYTES (4 * SCREEN_COLUMNS_MAX + 1)
char *screen_row(const screen *s, size_t row, char out[SCREEN_ROW_BYTES]);

/* Whether the text is like the pattern, where "*" is any text and everything else is
 * itself. */
bool screen_like(const char *text, const char *pattern);

/* The whole screen between lines of dashes, for messages. The caller disposes of it. */
fakeapi_bytes screen_text(const screen *s);

#endif
