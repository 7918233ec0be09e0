/* The fields of a protobuf message, read and written without a schema, for tests that
 * change one of them. Thread: any. */
#ifndef SUPPORT_PBTREE_H
#define SUPPORT_PBTREE_H

#include "base/buf.h"

typedef struct pbtree_field {
    uint64_t number;
    unsigned wire;  /* 0 varint, 1 eight bytes, 2 length, 5 four bytes */
    uint64_t value; /* varint */
    tk_str payload; /* all but varints */
    const char *end;
} pbtree_field;

/* Reads the field at `at`; false when there is none that is whole. */
bool pbtree_read(pbtree_field *out, const char *at, const char *end);

void pbtree_put_varint(tk_buf *out, uint64_t value);
void pbtree_put_tag(tk_buf *out, uint64_t number, unsigned wire);
void pbtree_put_content(tk_buf *out, const pbtree_field *field); /* without its tag */
void pbtree_put(tk_buf *out, const pbtree_field *field);

#endif
