/* Whether a prompt ends inside reasoning. An opening marker counts when neither its closing
 * one nor the beginning of another turn follows: users write markers, too. */
#include "chatapi/ca_parser.h"

#include <string.h>

/* Where `part` is for the last time; text.n when it is not there. */
static size_t find_last(tk_str text, tk_str part)
{
    for (size_t i = text.n >= part.n ? text.n - part.n + 1 : 0; i > 0; i--) {
        if (memcmp(text.p + i - 1, part.p, part.n) == 0) {
            return i - 1;
        }
    }
    return text.n;
}

bool ca_parser_prompt_thinks(const ca_format *format, tk_str prompt)
{
    static const char *const turns[] = {"<|", "<｜", "[/INST]"};
    if (format->think_open.n == 0) {
        return false;
    }
    size_t at = find_last(prompt, format->think_open);
    if (at == prompt.n) {
        return false;
    }
    at += format->think_open.n;
    tk_str rest = {prompt.p + at, prompt.n - at};
    bool is_closed = find_last(rest, format->think_close) < rest.n;
    for (size_t i = 0; i < TK_ARRAY_LEN(turns) && !is_closed; i++) {
        is_closed =
            find_last(rest, tk_str_of(turns[i])) < rest.n; /* of an earlier turn */
    }
    return !is_closed;
}
