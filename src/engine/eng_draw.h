/* From a row of logits to a token: temperature, top-k, top-p, the draw, and
 * log-probabilities. A row's result depends on that row and its options only. Thread:
 * any, each with its own buffers. */
#ifndef ENGINE_ENG_DRAW_H
#define ENGINE_ENG_DRAW_H

#include "engine/eng_head.h"

typedef struct eng_draw_options {
    double temperature; /* 0 = greedy */
    double top_p;       /* >= 1 off */
    int64_t top_k;      /* <= 0 off */
    bool raw_logprobs;
} eng_draw_options;

/* Working room for one row of n logits. */
typedef struct eng_draw_room {
    eng_real *weights; /* [n] */
    uint32_t *order;   /* [n] */
} eng_draw_room;

size_t eng_draw_room_bytes(size_t n);
eng_draw_room eng_draw_room_at(void *memory, size_t n); /* 64-byte aligned memory */

/* A row made ready: several samples may be drawn from it. */
typedef struct eng_draw {
    const eng_real *logits;
    size_t n;
    eng_draw_room room;
    bool greedy;
    int32_t best;       /* of the largest logit, lowest id */
    size_t kept;        /* tokens that passed the filters, best first; 0 = all */
    double mass;        /* of what may be drawn, in units of room.weights */
    double divisor;     /* what log-probabilities are computed with: temperature or 1 */
    eng_softmax scored; /* at that divisor */
} eng_draw;

/* false: a logit is NaN or infinite. `logits` and the room must live as long as *out. */
TK_NODISCARD bool eng_draw_init(eng_draw *out, const eng_real *logits, size_t n,
                                const eng_draw_options *options, eng_draw_room room);

/* unit is uniform in [0, 1). */
int32_t eng_draw_token(const eng_draw *draw, double unit);
float eng_draw_logprob(const eng_draw *draw, int32_t token);

/* One of many draws from a row. */
typedef struct eng_draw_unit {
    double unit;
    uint32_t at;
} eng_draw_unit;

/* Draws n tokens at once: tokens[units[i].at] is what eng_draw_token gives for
 * units[i].unit. Sorts the units; the row must have no filter. One pass over the row,
 * however many are drawn. */
void eng_draw_tokens(int32_t *tokens, const eng_draw *draw, eng_draw_unit *units,
                     size_t n);

/* Whether temperature 0 is meant: also what is 0 as a float. */
bool eng_draw_is_greedy(double temperature);

/* The k likeliest tokens at temperature 1, best first, lowest id among equals; fewer when
 * n < k. Returns how many; room.weights is not used. */
size_t eng_draw_top(const eng_real *logits, size_t n, size_t k, eng_draw_room room);
static inline uint32_t eng_draw_ranked(eng_draw_room room, size_t n, size_t rank)
{
    return room.order[n - 1 - rank];
}

bool eng_draw_is_finite(const eng_real *values, size_t n);

#endif
