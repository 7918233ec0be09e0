/* What must hold when a newer server answers: see hostile_run.h and support/newer.h. */
#include <string.h>

#include "support/hostile_run.h"

/* What the recorded answer gives; kept for the next case, which is mostly of the same. */
typedef struct baseline {
    hostile_case it;
    hostile_verdict verdict;
    hostile_seen seen;
} baseline;

static const baseline *recorded(const hostile_case *it)
{
    static baseline last;
    if (last.it.op != it->op || last.it.key != it->key || last.it.source != it->source) {
        last.it = *it;
        last.it.change = 0;
        hostile_run_seen(&last.verdict, &last.seen, &last.it);
    }
    return &last;
}

static size_t count_differences(const hostile_seen *a, const hostile_seen *b)
{
    size_t common = TK_MIN(a->n, b->n);
    size_t n = TK_MAX(a->n, b->n) - common;
    for (size_t i = 0; i < common; i++) {
        n += a->values[i] != b->values[i];
    }
    return n;
}

/* How many values may be others: an unknown word has its number and its text, a tensor of
 * an unknown type no values, an unknown kind none of the members of its object. A failure
 * of an unknown category is tried again, and an error about a place in a message names
 * another place. */
static size_t most_differences(newer_change change, const hostile_seed *seed,
                               tinkc_code code)
{
    bool is_proto = seed->form == HOSTILE_PROTOBUF;
    switch (change) {
    case NEWER_WORD:
        return is_proto ? 6 : seed->schema == &tk_msg_request_failed ? 8 : 3;
    case NEWER_KIND:
        return 6;
    case NEWER_KEY:
        return is_proto && code == TINKC_E_DECODE ? 1 : 0;
    case NEWER_LABEL:
    case NEWER_CHANGES:
        break;
    }
    return 0;
}

/* What the answer to a poll is decides its label: an unknown one is not a result. */
static bool decides(const hostile_case *it, newer_change change)
{
    return change == NEWER_LABEL && it->key >= TK_EP_COUNT &&
           it->source->seed.status == 200;
}

static void judge_refusal(hostile_verdict *out, const baseline *plain)
{
    bool is_named = strstr(out->error, NEWER_WORD_TEXT) != NULL;
    bool was_failed = plain->verdict.code != TINKC_OK && out->code == plain->verdict.code;
    if (!was_failed && (out->code != TINKC_E_DECODE || !is_named)) {
        hostile_find(out, "an unknown type is not refused by its name: code %d, \"%s\"",
                     (int)out->code, out->error);
    }
}

/* What the client cannot do without: the word that says that a batch was accepted (it is
 * sent again), and the numbers that a custom loss is computed from. */
static bool is_needed(const hostile_case *it, const hostile_verdict *out)
{
    bool is_tensor =
        it->source->seed.form == HOSTILE_PROTOBUF && out->newer == NEWER_WORD;
    return (it->key == TK_EP_TELEMETRY && out->newer == NEWER_LABEL) ||
           (is_tensor && strcmp(it->op->name, "custom_loss") == 0 &&
            out->code == TINKC_E_DECODE);
}

void hostile_judge_newer(hostile_verdict *out, const hostile_case *it,
                         const hostile_seen *seen)
{
    const baseline *plain = recorded(it);
    if (decides(it, out->newer)) {
        judge_refusal(out, plain);
        return;
    }
    if (is_needed(it, out)) {
        return;
    }
    if (out->code != plain->verdict.code) {
        hostile_find(out, "a newer server cannot be read: code %d, not %d: %s",
                     (int)out->code, (int)plain->verdict.code, out->error);
    }
    size_t n = count_differences(seen, &plain->seen);
    if (n > most_differences(out->newer, &it->source->seed, plain->verdict.code)) {
        hostile_find(out, "%zu values are others than without the change", n);
    }
}
