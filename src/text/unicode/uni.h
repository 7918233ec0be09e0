/* Unicode properties as the reference tokenizer has them (scripts/gen-unicode.py asks
 * it), and UTF-8 that is known to be valid. The table is expanded once, by tk_uni_ready,
 * which every loaded tokenizer has called. Thread: any. */
#ifndef TEXT_UNI_H
#define TEXT_UNI_H

#include "base/tk.h"

typedef enum tk_uni_class {
    TK_UNI_OTHER,
    TK_UNI_LU,
    TK_UNI_LT,
    TK_UNI_LL,
    TK_UNI_LM,
    TK_UNI_LO,
    TK_UNI_M,
    TK_UNI_N,
    TK_UNI_P,
    TK_UNI_S,
    TK_UNI_SPACE,  /* White_Space but the two below */
    TK_UNI_NEWLINE /* CR, LF */
} tk_uni_class;

/* Sets of classes. */
#define TK_UNI_SET(name) (1u << TK_UNI_##name)
#define TK_UNI_LETTERS                                                                   \
    (TK_UNI_SET(LU) | TK_UNI_SET(LT) | TK_UNI_SET(LL) | TK_UNI_SET(LM) | TK_UNI_SET(LO))
#define TK_UNI_SPACES (TK_UNI_SET(SPACE) | TK_UNI_SET(NEWLINE))
#define TK_UNI_ALL    ((1u << (TK_UNI_NEWLINE + 1)) - 1)

#define TK_UNI_CLASS_MASK 0x0fu
#define TK_UNI_HAN        0x10u /* script Han */
#define TK_UNI_WORD       0x20u /* \w, for added tokens with single_word */
#define TK_UNI_DIGIT      0x40u /* what the Digits pre-tokenizer isolates */
#define TK_UNI_ACTIVE     0x80u /* NFC may change it, or join it with what is before */

#define TK_UNI_FLAT 0x40000u /* planes that are a plain table */

extern const uint32_t tk_uni_starts[], tk_uni_inert[], tk_uni_newer[];
extern const size_t tk_uni_n_starts, tk_uni_n_inert, tk_uni_n_newer;
extern uint8_t tk_uni_flat[TK_UNI_FLAT];

void tk_uni_ready(void);

/* Searches the ranges; for characters from TK_UNI_FLAT on. */
uint8_t tk_uni_search(uint32_t c);

/* Returns whether c is in one of the ranges begin, end, begin, end, ... */
bool tk_uni_in(const uint32_t *ranges, size_t n, uint32_t c);

static inline uint8_t tk_uni_of(uint32_t c)
{
    return c < TK_UNI_FLAT ? tk_uni_flat[c] : tk_uni_search(c);
}

/* The character at p, which begins one that is whole and valid; its length is in *n. */
static inline uint32_t tk_uni_decode(const unsigned char *p, size_t *n)
{
    if (p[0] < 0x80) {
        *n = 1;
        return p[0];
    }
    if (p[0] < 0xE0) {
        *n = 2;
        return (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu);
    }
    if (p[0] < 0xF0) {
        *n = 3;
        return (p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
    }
    *n = 4;
    return (p[0] & 0x07u) << 18 | (p[1] & 0x3Fu) << 12 | (p[2] & 0x3Fu) << 6 |
           (p[3] & 0x3Fu);
}

#endif
