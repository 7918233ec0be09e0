/* The automaton of stop strings; see eng_stops.h. Nodes are numbered breadth first over
 * the sorted strings, so the children of a node lie side by side in the order of their
 * bytes. */
#include "engine/eng_stops.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct eng_stops_node {
    uint16_t first; /* of its children */
    uint16_t count;
    uint16_t fail; /* the longest proper suffix that is a node, too */
    uint8_t byte;  /* that leads here */
    bool stop;     /* a string ends here */
};

_Static_assert(TK_STOPS_BYTES < UINT16_MAX, "a node's number has 16 bits");

/* While the nodes are made: the sorted strings that begin as the node does. */
typedef struct range {
    uint16_t begin, end;
    uint16_t depth;
} range;

typedef struct builder {
    tk_str *strings; /* sorted */
    eng_stops_node *nodes;
    range *ranges;
    size_t n; /* nodes so far */
} builder;

tinkc_code eng_stops_check(const tk_str *strings, size_t n, tk_err *err)
{
    size_t bytes = 0;
    if (n > TK_STOPS_MAX) {
        return tk_err_set(err, TINKC_E_INVALID,
                          "%zu stop strings; at most %d are possible", n, TK_STOPS_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        if (strings[i].n == 0) {
            return tk_err_set(err, TINKC_E_INVALID, "stop string %zu is empty", i);
        }
        if (strings[i].n > TK_STOPS_BYTES - bytes) {
            return tk_err_set(err, TINKC_E_INVALID,
                              "stop strings must have at most %zu bytes together",
                              TK_STOPS_BYTES);
        }
        bytes += strings[i].n;
    }
    return TINKC_OK;
}

static int by_bytes(const void *a, const void *b)
{
    return tk_str_cmp(*(const tk_str *)a, *(const tk_str *)b);
}

/* Returns the child that `byte` leads to, or 0: the root is never a child. */
static uint16_t child(const eng_stops_node *nodes, uint16_t node, uint8_t byte)
{
    size_t low = nodes[node].first, high = low + nodes[node].count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (nodes[middle].byte == byte) {
            return (uint16_t)middle;
        }
        if (nodes[middle].byte < byte) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return 0;
}

static uint16_t next_node(const eng_stops_node *nodes, uint16_t node, uint8_t byte)
{
    uint16_t to = child(nodes, node, byte);
    while (to == 0 && node != 0) {
        node = nodes[node].fail;
        to = child(nodes, node, byte);
    }
    return to;
}

static uint8_t byte_at(const builder *b, size_t string, size_t depth)
{
    return (uint8_t)b->strings[string].p[depth];
}

/* Nothing follows a node where a string ends: the text is over there. */
static void add_children(builder *b, uint16_t node)
{
    range r = b->ranges[node];
    b->nodes[node].first = (uint16_t)b->n;
    for (size_t i = r.begin; i < r.end && !b->nodes[node].stop;) {
        uint8_t byte = byte_at(b, i, r.depth);
        size_t end = i + 1;
        while (end < r.end && byte_at(b, end, r.depth) == byte) {
            end++;
        }
        uint16_t fail = node != 0 ? next_node(b->nodes, b->nodes[node].fail, byte) : 0;
        size_t depth = (size_t)r.depth + 1;
        b->ranges[b->n] = (range){(uint16_t)i, (uint16_t)end, (uint16_t)depth};
        b->nodes[b->n] = (eng_stops_node){
            .fail = fail,
            .byte = byte,
            .stop = b->strings[i].n == depth || b->nodes[fail].stop,
        };
        b->n++;
        b->nodes[node].count++;
        i = end;
    }
}

bool eng_stops_init(eng_stops *out, const tk_str *strings, size_t n)
{
    size_t most = 1;
    *out = (eng_stops){NULL};
    if (n == 0) {
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        most += strings[i].n;
    }
    builder b = {.strings = tk_memdup(strings, n * sizeof(*strings)),
                 .nodes = tk_zarray(most, sizeof(*b.nodes)),
                 .ranges = tk_array(most, sizeof(*b.ranges)),
                 .n = 1};
    bool ok = b.strings != NULL && b.nodes != NULL && b.ranges != NULL;
    if (ok) {
        qsort(b.strings, n, sizeof(*b.strings), by_bytes);
        b.ranges[0] = (range){0, (uint16_t)n, 0};
        for (size_t i = 0; i < b.n; i++) {
            add_children(&b, (uint16_t)i);
        }
        *out = (eng_stops){b.nodes};
    } else {
        tk_free(b.nodes);
    }
    tk_free(b.strings);
    tk_free(b.ranges);
    return ok;
}

void eng_stops_dispose(eng_stops *stops)
{
    tk_free(stops->nodes);
    *stops = (eng_stops){NULL};
}

bool eng_stops_find(const eng_stops *stops, eng_stops_state *state, tk_str bytes)
{
    uint16_t at = *state;
    bool found = false;
    for (size_t i = 0; i < bytes.n && !found; i++) {
        at = next_node(stops->nodes, at, (uint8_t)bytes.p[i]);
        found = stops->nodes[at].stop;
    }
    *state = at;
    return found;
}
