/* A ring of seconds. */
#include "server/run/srv_busy.h"

#define SECOND_NS INT64_C(1000000000)

void srv_busy_begin(srv_busy *busy, int64_t now_ns)
{
    atomic_store(&busy->since_ns, now_ns);
}

static void add(srv_busy *busy, int64_t second, int64_t ns)
{
    size_t slot = (size_t)(second % SRV_BUSY_SLOTS);
    if (atomic_load(&busy->second[slot]) != second) {
        atomic_store(&busy->ns[slot], 0);
        atomic_store(&busy->second[slot], second);
    }
    atomic_fetch_add(&busy->ns[slot], ns);
}

void srv_busy_end(srv_busy *busy, int64_t now_ns)
{
    int64_t from = atomic_load(&busy->since_ns);
    from = TK_MAX(from, now_ns - SRV_BUSY_SECONDS * SECOND_NS);
    while (from < now_ns) { /* second by second */
        int64_t until = TK_MIN((from / SECOND_NS + 1) * SECOND_NS, now_ns);
        add(busy, from / SECOND_NS, until - from);
        from = until;
    }
    atomic_store(&busy->since_ns, 0);
}

double srv_busy_share(const srv_busy *busy, int64_t now_ns)
{
    int64_t window = SRV_BUSY_SECONDS * SECOND_NS;
    int64_t since = atomic_load(&busy->since_ns);
    int64_t sum = since > 0 ? TK_MIN(now_ns - since, window) : 0;
    for (size_t i = 0; i < SRV_BUSY_SLOTS; i++) {
        int64_t second = atomic_load(&busy->second[i]);
        if (second > now_ns / SECOND_NS - SRV_BUSY_SECONDS) {
            sum += atomic_load(&busy->ns[i]);
        }
    }
    return sum <= 0 ? 0.0 : sum >= window ? 1.0 : (double)sum / (double)window;
}
