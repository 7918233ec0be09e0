/* Requests during the start and the stop: whatever a handler uses is there before the
 * first request and until the last one has gone. For TSan, too.
 * Links: wire */
#include <pthread.h>
#include <stdatomic.h>

#include "server/restfix.h"

#define ROUNDS  12
#define HAMMERS 3

typedef struct hammer {
    int port;
    const char *const *targets; /* NULL ends them */
    atomic_bool *stop;
    atomic_size_t *answered;
} hammer;

/* Without Host, so that the server names itself (HTTP/1.0). Returns the status, or 0. */
static int get(int port, const char *target)
{
    char text[512];
    httpget_response response;
    httpget *connection = httpget_connect(port);
    if (connection == NULL) {
        return 0;
    }
    int n = snprintf(text, sizeof(text), "GET %s HTTP/1.0\r\n\r\n", target);
    int status = 0;
    if (httpget_send(connection, text, (size_t)n)) {
        status = httpget_read(connection, &response) == HTTPGET_OK ? response.status : 0;
        httpget_response_dispose(&response);
    }
    httpget_close(&connection);
    return status;
}

static void *run(void *user)
{
    const hammer *h = user;
    while (!atomic_load(h->stop)) {
        for (size_t i = 0; h->targets[i] != NULL; i++) {
            atomic_fetch_add(h->answered, get(h->port, h->targets[i]) != 0);
        }
    }
    return NULL;
}

static void test_srv_start_is_complete(void **state)
{
    restfix t;
    char archive[256], run_path[160];
    pthread_t threads[HAMMERS];
    atomic_bool stop = false;
    atomic_size_t answered = 0;
    restfix_open(&t);
    restfix_save(&t, 1, "save_weights_for_sampler", "\"path\":\"one\"");
    (void)snprintf(archive, sizeof(archive),
                   "/api/v1/training_runs/%s/checkpoints/sampler_weights/one/archive",
                   t.run);
    (void)snprintf(run_path, sizeof(run_path), "/api/v1/training_runs/%s", t.run);
    const char *const targets[] = {"/metrics",
                                   archive,
                                   "/api/v1/healthz",
                                   run_path,
                                   "/api/v1/sessions",
                                   "/api/v1/get_server_capabilities",
                                   "/api/v1/billing/usage/events",
                                   NULL};
    assert_int_equal(get(srvfix_port(&t.srv), archive), 302);
    hammer h = {srvfix_port(&t.srv), targets, &stop, &answered};
    for (int i = 0; i < HAMMERS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, run, &h), 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        size_t before = atomic_load(&answered);
        srvfix_restart(&t.srv, (srv_options){.port = (unsigned)h.port});
        while (atomic_load(&answered) < before + TK_ARRAY_LEN(targets)) {
            (void)sched_yield();
        }
    }
    atomic_store(&stop, true);
    for (int i = 0; i < HAMMERS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    srvfix_close(&t.srv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_start_is_complete),
    };
    return cmocka_run_group_tests_name("srv_start", tests, NULL, NULL);
}
