/* Closing returns within 200 ms, whatever hangs: a send that the peer does not read, a
 * poll that is not answered, a name look-up (getaddrinfo is ours here, and sleeps). */
#include <dlfcn.h>
#include <netdb.h>

#include "soak.h"

#define BAR_MS 200.0
#define HUNG   "hung.invalid"

typedef int (*getaddrinfo_fn)(const char *, const char *, const struct addrinfo *,
                              struct addrinfo **);

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **out)
{
    if (node != NULL && strcmp(node, HUNG) == 0) {
        (void)sleep(30);
        return EAI_AGAIN;
    }
    getaddrinfo_fn real = NULL;
    void *symbol = dlsym(RTLD_NEXT, "getaddrinfo");
    memcpy(&real, &symbol, sizeof(real));
    return real != NULL ? real(node, service, hints, out) : EAI_FAIL;
}

static int close_timed(const char *name, tinkc_service **service)
{
    char detail[64];
    double start = soak_now_s();
    tinkc_service_close(service);
    double ms = (soak_now_s() - start) * 1e3;
    (void)snprintf(detail, sizeof(detail), "%.1f ms (bar %.0f)", ms, BAR_MS);
    return soak_report(name, ms < BAR_MS, detail);
}

static void wait_for_stage(tinkc_future *future, tinkc_stage stage)
{
    tinkc_wait wait = TINKC_WAIT_INIT;
    double end = soak_now_s() + 30;
    do {
        (void)usleep(10000);
        (void)tinkc_future_status(&wait, future, NULL);
    } while (wait.stage != stage && soak_now_s() < end);
    (void)usleep(300000); /* into the middle of it */
}

static int close_during_send(soak_peer *peer)
{
    tinkc_service *service = soak_open(peer->url, NULL);
    tinkc_sampling *sampling = soak_sampling(service);
    tinkc_model_input *prompt = soak_prompt(8 * 1024 * 1024);
    (void)kill(peer->pid, SIGSTOP);
    tinkc_future *future = tinkc_sampling_sample(sampling, prompt, NULL, NULL);
    wait_for_stage(future, TINKC_STAGE_WIRE);
    int failed = close_timed("close_during_send", &service);
    failed |= tinkc_future_wait(future, 0) != TINKC_E_CANCELLED;
    (void)kill(peer->pid, SIGCONT);
    tinkc_future_free(&future);
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    return failed;
}

static int close_during_poll(soak_peer *peer)
{
    tinkc_service *service = soak_open(peer->url, NULL);
    tinkc_sampling *sampling = soak_sampling(service);
    tinkc_model_input *prompt = soak_prompt(16);
    tinkc_future *future = tinkc_sampling_sample(sampling, prompt, NULL, NULL);
    wait_for_stage(future, TINKC_STAGE_RUNNING);
    int failed = close_timed("close_during_poll", &service);
    failed |= tinkc_future_wait(future, 0) != TINKC_E_CANCELLED;
    tinkc_future_free(&future);
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    return failed;
}

static int close_during_lookup(void)
{
    tinkc_service *service = soak_open("http://" HUNG ":1", NULL);
    tinkc_future *future = tinkc_service_health(service);
    (void)usleep(500000);
    int failed = tinkc_future_is_done(future); /* or the look-up did not hang */
    failed |= close_timed("close_during_name_lookup", &service);
    failed |= tinkc_future_wait(future, 0) != TINKC_E_CANCELLED;
    tinkc_future_free(&future);
    return failed;
}

int main(void)
{
    soak_peer peer;
    soak_start(&peer, true);
    int failed = close_during_send(&peer);
    failed |= close_during_poll(&peer);
    failed |= close_during_lookup();
    soak_stop(&peer);
    (void)fflush(stdout);
    _exit(failed); /* the look-up still sleeps on a thread of libcurl's */
}
