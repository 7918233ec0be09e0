/* libtinkc against the real server through the proxy (support/proxy.h), on a real clock
 * and with every fate, hanging connections included, for as many seconds as the argument
 * says (60). Every seed must give the same bits as no proxy at all.
 * Links: server */
#include "base/clock.h"
#include "server/exactfix.h"
#include "server/srv.h"
#include "soak.h"
#include "support/proxy.h"

static tinkc_code wait_for(void *user, tinkc_future *future)
{
    (void)user;
    return tinkc_future_wait(future, TINKC_FOREVER);
}

static bool run(exactfix *out, const char *url)
{
    static const char *const options[] = {
        "timeout", "2000", "connect_timeout", "1000", "telemetry", "false", NULL};
    tinkc_service *service = soak_open(url, options);
    bool ok = exactfix_run(out, service, wait_for, NULL);
    tinkc_service_close(&service);
    return ok;
}

/* Whether the script gave the same bits as without the proxy. */
static bool run_seed(uint64_t seed, const srv *server, const exactfix *plain,
                     size_t *faults)
{
    const proxy_options options = {.to_port = (int)srv_port(server),
                                   .seed = seed,
                                   .max_ms = 300,
                                   .rate = {[PROXY_DELAY] = 50,
                                            [PROXY_DROP] = 50,
                                            [PROXY_DUPLICATE] = 50,
                                            [PROXY_REORDER] = 50,
                                            [PROXY_HALVE] = 50,
                                            [PROXY_STALL] = 50,
                                            [PROXY_HANG] = 3}};
    exactfix torn;
    proxy *net = proxy_start(&options);
    bool ok = run(&torn, proxy_url(net));
    for (int act = PROXY_PASS + 1; act < PROXY_ACTS; act++) {
        *faults += proxy_count(net, (proxy_act)act);
    }
    proxy_stop(&net);
    ok = ok && memcmp(torn.logprobs, plain->logprobs, sizeof(torn.logprobs)) == 0 &&
         memcmp(torn.tokens, plain->tokens, sizeof(torn.tokens)) == 0;
    if (!ok) {
        printf("seed %llu differs\n", (unsigned long long)seed);
    }
    return ok;
}

int main(int argc, char **argv)
{
    long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 60;
    char data[] = "/tmp/tinkc-soak-XXXXXX";
    char text[128];
    srv *server = NULL;
    tk_err err = TK_ERR_INIT;
    exactfix plain;
    size_t faults = 0, wrong = 0;
    uint64_t seed = 0;
    const srv_options options = {.data = mkdtemp(data), .threads = 1, .poll_ms = 1000};
    if (srv_start(&server, &options, &err) != TINKC_OK || !run(&plain, srv_url(server))) {
        soak_die(err.message);
    }
    int64_t end = tk_clock_mono_ms(NULL) + seconds * 1000;
    while (tk_clock_mono_ms(NULL) < end) {
        wrong += !run_seed(++seed, server, &plain, &faults);
    }
    srv_stop(&server);
    (void)snprintf(text, sizeof(text), "rm -rf %s", data);
    (void)!system(text);
    (void)snprintf(text, sizeof(text), "%llu seeds, %zu faults, %zu seeds wrong",
                   (unsigned long long)seed, faults, wrong);
    return soak_report("exact through a bad network", wrong == 0 && faults > 0, text);
}
