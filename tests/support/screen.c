/* The screen of a terminal, as far as the programs of the tests use it. */
#include "support/screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/tk.h"

#define ESCAPE 0x1b

void screen_open(screen *s, size_t columns)
{
    memset(s, 0, sizeof(*s));
    if (columns == 0 || columns > SCREEN_COLUMNS_MAX) {
        fakeapi_die("screen: %zu columns", columns);
    }
    s->columns = columns;
}

void screen_close(screen *s)
{
    fakeapi_bytes_dispose(&s->gone);
}

/* ---- reading ---- */

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; c >>= 6) {
        out[i] = (char)(0x80 | (c & 0x3f));
    }
    out[0] = (char)(leads[n] | c);
    return n;
}

char *screen_row(const screen *s, size_t row, char out[SCREEN_ROW_BYTES])
{
    size_t n = 0, end = s->columns;
    while (end > 0 && (s->cell[row][end - 1] == 0 || s->cell[row][end - 1] == ' ')) {
        end--;
    }
    for (size_t i = 0; i < end; i++) {
        n += put_utf8(out + n, s->cell[row][i] != 0 ? s->cell[row][i] : ' ');
    }
    out[n] = '\0';
    return out;
}

bool screen_like(const char *text, const char *pattern)
{
    const char *star = NULL, *from = NULL;
    while (*text != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star;
            text = ++from;
        } else {
            return false;
        }
    }
    return pattern[strspn(pattern, "*")] == '\0';
}

fakeapi_bytes screen_text(const screen *s)
{
    char row[SCREEN_ROW_BYTES];
    fakeapi_bytes out = {0};
    fakeapi_bytes_puts(&out, "--------\n");
    for (size_t i = 0; i < SCREEN_ROWS; i++) {
        fakeapi_bytes_printf(&out, "%s\n", screen_row(s, i, row));
    }
    fakeapi_bytes_printf(&out, "-------- cursor %zu, %zu\n", s->row, s->column);
    return out;
}

/* ---- writing ---- */

static void erase(screen *s, size_t row, size_t from, size_t to)
{
    for (size_t i = from; i < to && i < s->columns; i++) {
        s->cell[row][i] = 0;
    }
}

/* Moves rows from `top` on up by one; the last one is empty. */
static void scroll(screen *s, size_t top)
{
    memmove(s->cell[top], s->cell[top + 1], (SCREEN_ROWS - top - 1) * sizeof(s->cell[0]));
    erase(s, SCREEN_ROWS - 1, 0, s->columns);
}

static void down(screen *s)
{
    char row[SCREEN_ROW_BYTES];
    s->is_full = false;
    if (s->row + 1 < SCREEN_ROWS) {
        s->row++;
    } else {
        fakeapi_bytes_printf(&s->gone, "%s\n", screen_row(s, 0, row));
        s->gone_n++;
        scroll(s, 0);
    }
}

static void put(screen *s, uint32_t c)
{
    if (s->is_full) {
        s->column = 0;
        s->wraps++;
        down(s);
    }
    s->cell[s->row][s->column] = c;
    s->is_full = s->column + 1 == s->columns;
    s->column += s->is_full ? 0 : 1;
}

static void control(screen *s, unsigned char c)
{
    bool is_move = c == '\r' || c == '\b' || c == '\t';
    s->is_full = s->is_full && !is_move;
    switch (c) {
    case '\r':
        s->column = 0;
        break;
    case '\n':
        down(s);
        break;
    case '\b':
        s->column -= s->column > 0;
        break;
    case '\t':
        s->column = TK_MIN((s->column / 8 + 1) * 8, s->columns - 1);
        break;
    default:
        break; /* a bell and the like show nothing */
    }
}

/* ---- escape sequences ---- */

static void move_to(screen *s, size_t row, size_t column)
{
    s->row = TK_MIN(row, (size_t)SCREEN_ROWS - 1);
    s->column = TK_MIN(column, s->columns - 1);
    s->is_full = false;
}

static void erase_part(screen *s, size_t how)
{
    erase(s, s->row, how == 0 ? s->column : 0, how == 1 ? s->column + 1 : s->columns);
}

static void erase_screen(screen *s, size_t how)
{
    for (size_t i = 0; i < SCREEN_ROWS; i++) {
        if (how >= 2 || (how == 0 && i > s->row) || (how == 1 && i < s->row)) {
            erase(s, i, 0, s->columns);
        }
    }
    if (how < 2) {
        erase_part(s, how);
    }
}

/* Moves the rest of the row by n columns: to the left, or with is_in to the right. */
static void shift(screen *s, size_t n, bool is_in)
{
    size_t left = s->columns - s->column;
    uint32_t *at = &s->cell[s->row][s->column];
    n = TK_MIN(n, left);
    memmove(is_in ? at + n : at, is_in ? at : at + n, (left - n) * sizeof(*at));
    memset(is_in ? at : at + left - n, 0, n * sizeof(*at));
}

static void move_by(screen *s, char what, size_t n)
{
    switch (what) {
    case 'A':
        move_to(s, s->row - TK_MIN(n, s->row), s->column);
        break;
    case 'B':
        move_to(s, s->row + n, s->column);
        break;
    case 'C':
        move_to(s, s->row, s->column + n);
        break;
    default:
        move_to(s, s->row, s->column - TK_MIN(n, s->column));
        break;
    }
}

/* "ESC [ numbers letter". What is not known stops the test: the screen would be wrong. */
static void command(screen *s, char what)
{
    const char *text = s->sequence + 2;
    char *rest = NULL;
    size_t one = strtoul(text, &rest, 10);
    size_t two = *rest == ';' ? strtoul(rest + 1, NULL, 10) : 0;
    size_t times = TK_MAX(one, (size_t)1);
    switch (what) {
    case 'A':
    case 'B':
    case 'C':
    case 'D':
        move_by(s, what, times);
        break;
    case 'G':
        move_to(s, s->row, times - 1);
        break;
    case 'd':
        move_to(s, times - 1, s->column);
        break;
    case 'H':
        move_to(s, times - 1, TK_MAX(two, (size_t)1) - 1);
        break;
    case 'J':
        erase_screen(s, one);
        break;
    case 'K':
        erase_part(s, one);
        break;
    case 'P':
        shift(s, times, false);
        break;
    case '@':
        shift(s, times, true);
        break;
    case 'X':
        erase(s, s->row, s->column, s->column + times);
        break;
    case 'M':
        while (times-- > 0) {
            scroll(s, s->row);
        }
        break;
    case 'c': /* questions, which have no answer here */
    case 'n':
    case 'p':
    case 'q':
    case 'u':
    case 't':
    case 'h':
    case 'l':
    case 'm':
    case 'r':
        break; /* modes and colours */
    default:
        fakeapi_die("screen: ESC [ %s%c is not known", text, what);
    }
}

static void save(screen *s, bool is_back)
{
    if (is_back) {
        move_to(s, s->saved_row, s->saved_column);
    } else {
        s->saved_row = s->row;
        s->saved_column = s->column;
    }
}

/* Takes the next byte of an escape sequence; acts when it is complete. */
static void escape(screen *s, char c)
{
    if (s->sequence_n + 1 < sizeof(s->sequence)) { /* a long title is cut */
        s->sequence[s->sequence_n++] = c;
    }
    s->sequence[s->sequence_n] = '\0';
    char kind = s->sequence[1];
    bool is_text = kind == ']' || kind == 'P';
    bool is_begun = s->sequence_n < 2 ||
                    (kind == '[' && (s->sequence_n == 2 || c < 0x40)) ||
                    (strchr("()", kind) != NULL && s->sequence_n == 2) ||
                    (is_text && c != '\a' && c != '\\');
    if (is_begun) {
        return;
    }
    if (kind == '[') {
        command(s, c);
    } else if (kind == '7' || kind == '8') {
        save(s, kind == '8');
    } else if (kind == 'M') { /* up */
        move_by(s, 'A', 1);
    }
    s->sequence_n = 0;
}

static void put_byte(screen *s, unsigned char c)
{
    if (s->left > 0 && (c & 0xc0) == 0x80) {
        s->character = s->character << 6 | (c & 0x3f);
        if (--s->left == 0) {
            put(s, s->character);
        }
    } else if (c >= 0xc0) {
        s->left = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
        s->character = c & (0x3f >> s->left);
    } else if (c < 0x20) {
        control(s, c);
    } else if (c != 0x7f) {
        put(s, c);
    }
}

void screen_write(screen *s, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (s->sequence_n > 0 || bytes[i] == ESCAPE) {
            escape(s, bytes[i]);
        } else {
            put_byte(s, (unsigned char)bytes[i]);
        }
    }
}
