/* String views; number parsing lives in json_num.c, next to the JSON number reader. */
#include "base/str.h"

#include <string.h>

tk_str tk_str_of(const char *text)
{
    tk_str view = {text, text != NULL ? strlen(text) : 0};
    return view;
}

bool tk_str_eq(tk_str a, tk_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool tk_str_is(tk_str a, const char *text)
{
    return tk_str_eq(a, tk_str_of(text));
}

static char ascii_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool tk_str_is_nocase(tk_str a, const char *text)
{
    if (a.n != strlen(text)) {
        return false;
    }
    for (size_t i = 0; i < a.n; i++) {
        if (ascii_lower(a.p[i]) != ascii_lower(text[i])) {
            return false;
        }
    }
    return true;
}

bool tk_str_has_prefix(tk_str a, const char *prefix)
{
    size_t n = strlen(prefix);
    return a.n >= n && (n == 0 || memcmp(a.p, prefix, n) == 0);
}

int tk_str_cmp(tk_str a, tk_str b)
{
    size_t n = TK_MIN(a.n, b.n);
    int order = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

tk_str tk_str_trim(tk_str a)
{
    while (a.n > 0 && is_space(a.p[0])) {
        a.p++;
        a.n--;
    }
    while (a.n > 0 && is_space(a.p[a.n - 1])) {
        a.n--;
    }
    return a;
}

tk_str tk_str_cut(tk_str *rest, char separator)
{
    tk_str head = *rest;
    const char *at = rest->n > 0 ? memchr(rest->p, separator, rest->n) : NULL;
    if (at == NULL) {
        rest->p = NULL;
        rest->n = 0;
        return head;
    }
    head.n = (size_t)(at - rest->p);
    rest->p = at + 1;
    rest->n -= head.n + 1;
    return head;
}

bool tk_str_take_digits(int *out, tk_str *rest, size_t width)
{
    if (width > 9 || rest->n < width) {
        return false;
    }
    int value = 0;
    for (size_t i = 0; i < width; i++) {
        char c = rest->p[i];
        if (c < '0' || c > '9') {
            return false;
        }
        value = value * 10 + (c - '0');
    }
    rest->p += width;
    rest->n -= width;
    *out = value;
    return true;
}
