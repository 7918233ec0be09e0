/* Pre-tokenisation: the byte alphabet, and the split pattern of tools/bpe by hand. Its
 * classes are ASCII, so bytes are enough and no Unicode table is involved. */
#include "text/tok_int.h"

const char tk_tok_pattern[] = " ?[A-Za-z]+|[0-9]| ?[^ \\t\\r\\nA-Za-z0-9]+"
                              "|[ \\t\\r\\n]+(?![^ \\t\\r\\n])|[ \\t\\r\\n]+";

uint32_t tk_tok_byte_char(unsigned char byte)
{
    if (byte <= 32) {
        return 256u + byte;
    }
    if (byte >= 127 && byte <= 160) {
        return 256u + 33u + (byte - 127u);
    }
    return byte == 173 ? 256u + 33u + 34u : byte;
}

typedef enum class { LETTER, DIGIT, BLANK, OTHER } class;

static class class_of(char c)
{
    if ((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z')) {
        return LETTER;
    }
    if (c >= '0' && c <= '9') {
        return DIGIT;
    }
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' ? BLANK : OTHER;
}

static size_t run(const char *text, size_t n, class wanted)
{
    size_t i = 0;
    while (i < n && class_of(text[i]) == wanted) {
        i++;
    }
    return i;
}

size_t tk_tok_split(const char *text, size_t n)
{
    size_t start = text[0] == ' ' && n > 1 ? 1 : 0;
    class first = class_of(text[start]);
    if (first == LETTER || first == OTHER) {
        return start + run(text + start, n - start, first);
    }
    if (class_of(text[0]) == DIGIT) {
        return 1;
    }
    size_t blanks = run(text, n, BLANK);
    /* The last blank before something belongs to the next piece, unless it is alone. */
    return blanks < n && blanks > 1 ? blanks - 1 : blanks;
}
