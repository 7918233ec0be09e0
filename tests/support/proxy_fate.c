/* What happens to an exchange: a pure function of seed and numbers. */
#include "base/rand.h"
#include "support/proxy.h"

#define MAX_MS 20

static const char *const names[PROXY_ACTS] = {"pass",    "delay", "drop",  "duplicate",
                                              "reorder", "halve", "stall", "hang"};

const char *proxy_act_name(proxy_act act)
{
    return names[act];
}

/* Spreads the three numbers over 64 bits, so that neighbours share nothing. */
static uint64_t mix(uint64_t seed, uint64_t connection, uint64_t exchange)
{
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + connection;
    x = (x ^ (x >> 31)) * UINT64_C(0xbf58476d1ce4e5b9) + exchange;
    return (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
}

proxy_fate proxy_decide(const proxy_options *options, uint64_t connection,
                        uint64_t exchange)
{
    tk_rand rand;
    tk_rand_init(&rand, mix(options->seed, connection, exchange));
    proxy_fate fate = {.act = PROXY_PASS};
    uint64_t draw = tk_rand_below(&rand, 1000);
    for (int act = PROXY_PASS + 1; act < PROXY_ACTS; act++) {
        if (draw < options->rate[act]) {
            fate.act = (proxy_act)act;
            break;
        }
        draw -= options->rate[act];
    }
    unsigned max_ms = options->max_ms > 0 ? options->max_ms : MAX_MS;
    /* all are drawn in every case: changed rates leave the rest of a decision alone */
    fate.of_response = tk_rand_below(&rand, 2) == 1;
    fate.with_reset = tk_rand_below(&rand, 2) == 1;
    fate.permille = (unsigned)tk_rand_below(&rand, 1000);
    fate.ms = 1 + (unsigned)tk_rand_below(&rand, max_ms);
    if (fate.act == PROXY_DUPLICATE || fate.act == PROXY_REORDER) {
        fate.of_response = false;
    }
    return fate;
}
