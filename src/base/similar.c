/* The distance is that of optimal string alignment, over bytes, row by row. */
#include "base/similar.h"

#include <string.h>

#define LONGEST    64
#define PART_BYTES 3

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_same(char a, char b)
{
    return lower(a) == lower(b);
}

static size_t min3(size_t a, size_t b, size_t c)
{
    return TK_MIN(TK_MIN(a, b), c);
}

/* Both have at most LONGEST bytes. */
static size_t distance(tk_str a, tk_str b)
{
    size_t rows[3][LONGEST + 1]; /* this row and the two before it, in turn */
    for (size_t j = 0; j <= b.n; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= a.n; i++) {
        size_t *now = rows[i % 3], *last = rows[(i + 2) % 3], *older = rows[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t changed = is_same(a.p[i - 1], b.p[j - 1]) ? 0 : 1;
            now[j] = min3(last[j] + 1, now[j - 1] + 1, last[j - 1] + changed);
            bool is_swapped = i > 1 && j > 1 && is_same(a.p[i - 1], b.p[j - 2]) &&
                              is_same(a.p[i - 2], b.p[j - 1]);
            if (is_swapped) {
                now[j] = TK_MIN(now[j], older[j - 2] + 1);
            }
        }
    }
    return rows[a.n % 3][b.n];
}

static bool is_part(tk_str part, tk_str whole)
{
    for (size_t i = 0; part.n >= PART_BYTES && i + part.n <= whole.n; i++) {
        size_t n = 0;
        while (n < part.n && is_same(part.p[n], whole.p[i + n])) {
            n++;
        }
        if (n == part.n) {
            return true;
        }
    }
    return false;
}

void tk_similar_try(tk_similar *search, const char *word)
{
    tk_str other = tk_str_of(word);
    if (search->typed.n == 0 || search->typed.n > LONGEST || other.n > LONGEST) {
        return;
    }
    size_t n = distance(search->typed, other);
    size_t most = TK_MAX(TK_MAX(search->typed.n, other.n) / 3, 1);
    bool is_like = n <= most || is_part(search->typed, other);
    if (is_like && (search->best == NULL || n < search->distance)) {
        search->best = word;
        search->distance = n;
    }
}
