/* Filters and draws; see eng_draw.h. Candidates are ranked by a heap that is only taken
 * apart as far as the filters need: the popped ones lie, best first, from the end of
 * `order` backwards. */
#include "engine/eng_draw.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ALIGN ((size_t)64)

size_t eng_draw_room_bytes(size_t n)
{
    return ENG_ROUND_UP(n * sizeof(eng_real), ALIGN) + n * sizeof(uint32_t);
}

eng_draw_room eng_draw_room_at(void *memory, size_t n)
{
    char *order = (char *)memory + ENG_ROUND_UP(n * sizeof(eng_real), ALIGN);
    return (eng_draw_room){memory, (uint32_t *)(void *)order};
}

bool eng_draw_is_greedy(double temperature)
{
    return temperature < (double)FLT_MIN;
}

bool eng_draw_is_finite(const eng_real *values, size_t n)
{
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        finite &= values[i] - values[i] == 0; /* without a branch: the loop is vectors */
    }
    return finite;
}

/* ---- ranking ---- */

typedef struct heap {
    const eng_real *key;
    uint32_t *order; /* largest key first, lowest index among equals */
    size_t n;
} heap;

static bool above(const heap *h, uint32_t a, uint32_t b)
{
    return h->key[a] > h->key[b] || (!(h->key[a] < h->key[b]) && a < b);
}

static void sink(const heap *h, size_t at)
{
    uint32_t moved = h->order[at];
    for (size_t child; (child = 2 * at + 1) < h->n; at = child) {
        if (child + 1 < h->n && above(h, h->order[child + 1], h->order[child])) {
            child++;
        }
        if (!above(h, h->order[child], moved)) {
            break;
        }
        h->order[at] = h->order[child];
    }
    h->order[at] = moved;
}

static void heap_init(heap *h)
{
    for (size_t i = 0; i < h->n; i++) {
        h->order[i] = (uint32_t)i;
    }
    for (size_t i = h->n / 2; i > 0; i--) {
        sink(h, i - 1);
    }
}

static uint32_t pop(heap *h)
{
    uint32_t best = h->order[0];
    h->n--;
    h->order[0] = h->order[h->n];
    h->order[h->n] = best;
    sink(h, 0);
    return best;
}

size_t eng_draw_top(const eng_real *logits, size_t n, size_t k, eng_draw_room room)
{
    heap h = {logits, room.order, n};
    size_t count = TK_MIN(k, n);
    heap_init(&h);
    for (size_t i = 0; i < count; i++) {
        (void)pop(&h);
    }
    return count;
}

/* ---- filters ---- */

/* The best `keep` candidates, or as many as top-p leaves of them. Without top-k the total
 * is known before anything is ranked, so ranking ends with the last one that is kept. */
static void filter(eng_draw *d, const eng_draw_options *o, double total)
{
    heap h = {d->logits, d->room.order, d->n};
    bool cut_k = o->top_k > 0 && (uint64_t)o->top_k < d->n, cut_p = o->top_p < 1;
    size_t most = cut_k ? (size_t)o->top_k : d->n, n = d->n;
    heap_init(&h);
    if (cut_k) {
        total = 0;
        for (size_t i = 0; i < most; i++) {
            total += (double)d->room.weights[pop(&h)];
        }
    }
    d->kept = cut_k && !cut_p ? most : 0;
    d->mass = cut_k && !cut_p ? total : 0;
    for (size_t i = 0; cut_p && i < most; i++) {
        if (i > 0 && d->mass >= o->top_p * total) {
            break;
        }
        uint32_t token = cut_k ? d->room.order[n - 1 - i] : pop(&h);
        d->mass += (double)d->room.weights[token];
        d->kept++;
    }
}

static int32_t argmax(const eng_real *x, size_t n)
{
    eng_real max = eng_kern_get()->max(x, n);
    size_t i = 0;
    while (x[i] < max) {
        i++;
    }
    return (int32_t)i;
}

/* weights = exp((logit - max) / t), and what belongs to them. At t = 1 the bits are those
 * of eng_head_softmax on the logits themselves. */
static eng_softmax weigh(const eng_draw *d, double t)
{
    eng_real *w = d->room.weights;
    memcpy(w, d->logits, d->n * sizeof(*w));
    if (t < 1 || t > 1) {
        eng_real max = d->logits[d->best], divisor = (eng_real)t;
        for (size_t i = 0; i < d->n; i++) {
            w[i] = (w[i] - max) / divisor;
        }
    }
    eng_softmax s = eng_head_softmax(w, d->n);
    s.max = (double)d->logits[d->best];
    return s;
}

bool eng_draw_init(eng_draw *out, const eng_real *logits, size_t n,
                   const eng_draw_options *options, eng_draw_room room)
{
    if (!eng_draw_is_finite(logits, n)) {
        return false;
    }
    *out = (eng_draw){.logits = logits, .n = n, .room = room, .divisor = 1};
    out->greedy = eng_draw_is_greedy(options->temperature);
    out->best = argmax(logits, n);
    if (out->greedy || options->raw_logprobs) {
        out->scored = weigh(out, 1);
    }
    if (out->greedy) {
        return true;
    }
    eng_softmax s = weigh(out, options->temperature);
    if (!options->raw_logprobs) {
        out->scored = s;
        out->divisor = options->temperature;
    }
    out->mass = s.sum;
    if (options->top_p < 1 || (options->top_k > 0 && (uint64_t)options->top_k < n)) {
        filter(out, options, s.sum);
    }
    return true;
}

/* The first token at which the running mass passes unit * mass; rounding may leave the
 * end unreached: then the last one that has any. */
int32_t eng_draw_token(const eng_draw *d, double unit)
{
    if (d->greedy) {
        return d->best;
    }
    size_t n = d->kept > 0 ? d->kept : d->n;
    double wanted = unit * d->mass, sum = 0;
    uint32_t last = (uint32_t)d->best;
    for (size_t i = 0; i < n; i++) {
        uint32_t token = d->kept > 0 ? eng_draw_ranked(d->room, d->n, i) : (uint32_t)i;
        double weight = (double)d->room.weights[token];
        if (weight > 0) {
            sum += weight;
            last = token;
            if (sum > wanted) {
                break;
            }
        }
    }
    return (int32_t)last;
}

static int by_unit(const void *a, const void *b)
{
    double x = ((const eng_draw_unit *)a)->unit, y = ((const eng_draw_unit *)b)->unit;
    return (x > y) - (x < y);
}

void eng_draw_tokens(int32_t *tokens, const eng_draw *d, eng_draw_unit *units, size_t n)
{
    double sum = 0;
    uint32_t last = (uint32_t)d->best;
    size_t token = d->greedy ? d->n : 0, done = 0;
    qsort(units, n, sizeof(*units), by_unit);
    for (; token < d->n && done < n; token++) {
        double weight = (double)d->room.weights[token];
        if (weight > 0) {
            sum += weight;
            last = (uint32_t)token;
            for (; done < n && sum > units[done].unit * d->mass; done++) {
                tokens[units[done].at] = (int32_t)last;
            }
        }
    }
    for (; done < n; done++) {
        tokens[units[done].at] = (int32_t)last;
    }
}

float eng_draw_logprob(const eng_draw *d, int32_t token)
{
    double gap = (double)d->logits[token] - d->scored.max;
    return (float)(gap / d->divisor - d->scored.log_sum);
}
