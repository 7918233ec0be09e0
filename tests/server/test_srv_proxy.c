/* libtinkc against the real server through a network that delays, drops, duplicates,
 * reorders, halves and stalls (support/proxy.h): every result is exact, every step was
 * applied once, and the save is there once. Back-offs of the client cost no time
 * (worldfix.h). tests/soak/soak_proxy.c does the same for longer, on a real clock.
 * Links: client */
#include "server/clientfix.h"
#include "server/exactfix.h"
#include "support/proxy.h"
#include "support/worldfix.h"

#ifdef TINKC_SANITIZED
#define SEEDS 4
#else
#define SEEDS 20
#endif

static void open_world(worldfix *w, const char *url)
{
    tinkc_config *config = NULL;
    static const char *const options[] = {
        "api_key",  "tml-k",        "loop",     "manual",    "proxy", "",  "heartbeat",
        "86400000", "stuck_silent", "86400000", "telemetry", "false", NULL};
    OK(tinkc_config_new(&config, &err));
    OK(tinkc_config_set(config, "base_url", url, &err));
    for (const char *const *o = options; o[0] != NULL; o += 2) {
        OK(tinkc_config_set(config, o[0], o[1], &err));
    }
    assert_true(worldfix_open(w, config));
    tinkc_config_free(&config);
}

static tinkc_code drive(void *user, tinkc_future *future)
{
    return worldfix_drive(user, future);
}

static void run(exactfix *out, const char *url)
{
    worldfix w = {.api = NULL};
    open_world(&w, url);
    assert_true(exactfix_run(out, w.service, drive, &w));
    tinkc_service_close(&w.service);
}

/* How often the path is listed. */
static size_t count_saves(srvfix *f, const char *path)
{
    const tk_json *json = srvfix_ask(f, "GET", "/api/v1/checkpoints?limit=1000", NULL);
    const tk_json *list = tk_json_get(json, "checkpoints");
    size_t n = 0;
    for (size_t i = 0; i < tk_json_len(list); i++) {
        const tk_json row = tk_json_at(list, i);
        n += strcmp(srvfix_text(&row, "tinker_path"), path) == 0;
    }
    return n;
}

/* the same bits through the proxy, for several seeds. */
static void test_srv_exact_through_proxy(void **state)
{
    srvfix f;
    exactfix plain, torn;
    size_t faults = 0;
    srvfix_open(&f, (srv_options){0});
    run(&plain, srv_url(f.server));
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const proxy_options options = {.to_port = srvfix_port(&f),
                                       .seed = seed,
                                       .max_ms = 5,
                                       .rate = {[PROXY_DELAY] = 60,
                                                [PROXY_DROP] = 60,
                                                [PROXY_DUPLICATE] = 80,
                                                [PROXY_REORDER] = 60,
                                                [PROXY_HALVE] = 60,
                                                [PROXY_STALL] = 60}};
        proxy *net = proxy_start(&options);
        run(&torn, proxy_url(net));
        for (int act = PROXY_PASS + 1; act < PROXY_ACTS; act++) {
            faults += proxy_count(net, (proxy_act)act);
        }
        proxy_stop(&net);
        assert_memory_equal(torn.logprobs, plain.logprobs, sizeof(plain.logprobs));
        assert_memory_equal(torn.tokens, plain.tokens, sizeof(plain.tokens));
        assert_int_equal(count_saves(&f, torn.path), 1);
    }
    print_message("%zu faults\n", faults);
    assert_true(faults >= 5 * SEEDS);
    srvfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_exact_through_proxy),
    };
    return cmocka_run_group_tests_name("srv_proxy", tests, NULL, NULL);
}
