/* A service on a scripted transport and a fake clock: no sockets, no thread, no waiting.
 * The test is the loop: clientfix_turn lets it do what is ready, clientfix_advance moves
 * the clock. */
#ifndef SUPPORT_CLIENTFIX_H
#define SUPPORT_CLIENTFIX_H

#include <stdio.h>

#include <tinkc/service.h>

#include "client/core/service.h"
#include "support/fakeclock.h"
#include "support/faketransport.h"
#include "support/talk.h"
#include "support/test.h"

#define CLIENTFIX_TURNS 8 /* enough for any chain of answers that tests script */

typedef struct clientfix {
    fakeclock clock;
    faketransport net;
    tinkc_service *service;
    char log[65536]; /* lines "level component: text" from info up */
    size_t log_n;
} clientfix;

static inline void clientfix_log(tinkc_log_level level, const char *component,
                                 const char *line, void *user)
{
    clientfix *f = user;
    size_t room = sizeof(f->log) - f->log_n;
    int n = snprintf(f->log + f->log_n, room, "%s %s: %s\n", tinkc_log_level_name(level),
                     component, line);
    f->log_n += TK_MIN((size_t)n, room - 1);
    talk_log(level, component, line, NULL);
}

static inline void clientfix_turn(clientfix *f)
{
    for (int i = 0; i < CLIENTFIX_TURNS; i++) {
        assert_int_equal(tinkc_service_process(f->service, NULL), TINKC_OK);
    }
}

/* Stops at each moment on the way where something is due. */
static inline void clientfix_advance(clientfix *f, int64_t ms)
{
    clientfix_turn(f);
    while (ms > 0) {
        int64_t next = tinkc_service_deadline_ms(f->service);
        int64_t step = next < 0 ? ms : TK_MIN(TK_MAX(next, 1), ms);
        fakeclock_advance_ms(&f->clock, step);
        ms -= step;
        clientfix_turn(f);
    }
}

static inline int64_t clientfix_now(const clientfix *f)
{
    return tk_clock_mono_ms(&f->clock.clock);
}

/* Options are name, value pairs ending in a NULL name, or NULL. A NULL value unsets it.
 * Without telemetry, unless they say otherwise: tests count requests. */
static inline void clientfix_open_bare(clientfix *f, const char *const *options)
{
    tinkc_config *config = NULL;
    fakeclock_init(&f->clock);
    faketransport_init(&f->net, &f->clock.clock);
    f->service = NULL;
    f->log_n = 0;
    f->log[0] = '\0';
    assert_int_equal(tinkc_config_new(&config, NULL), TINKC_OK);
    const char *const own[] = {
        "base_url", "http://127.0.0.1:1", "api_key", "tml-test",  "loop",
        "manual",   "log_level",          "info",    "telemetry", "false",
        NULL};
    for (const char *const *o = own; *o != NULL; o += 2) {
        assert_int_equal(tinkc_config_set(config, o[0], o[1], NULL), TINKC_OK);
    }
    for (; options != NULL && options[0] != NULL; options += 2) {
        assert_int_equal(tinkc_config_set(config, options[0], options[1], NULL),
                         TINKC_OK);
    }
    tinkc_config_set_log(config, clientfix_log, f);
    if (talk_is_on()) {
        assert_int_equal(tinkc_config_set(config, "wire_dump", "true", NULL), TINKC_OK);
    }
    tk_core_seams seams = {
        .clock = &f->clock.clock, .transport = &f->net.transport, .seed = 1};
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_service_open(&f->service, config, &seams, &err), TINKC_OK);
    tinkc_config_free(&config);
}

/* Configuration, dynamic configuration, session, sampling session and
 * heartbeats are answered by themselves. */
static inline void clientfix_answer_setup(clientfix *f)
{
    faketransport_default(&f->net, "client/config", (fakeanswer){.body = "{}"});
    faketransport_default(&f->net, "client/dynamic_config", (fakeanswer){.body = "{}"});
    faketransport_default(&f->net, "create_session",
                          (fakeanswer){.body = "{\"session_id\":\"S\"}"});
    faketransport_default(&f->net, "session_heartbeat", (fakeanswer){.body = "{}"});
    faketransport_default(&f->net, "sessions/S/finish", (fakeanswer){.body = "{}"});
    faketransport_default(&f->net, "telemetry",
                          (fakeanswer){.body = "{\"status\":\"accepted\"}"});
    faketransport_default(
        &f->net, "create_sampling_session",
        (fakeanswer){.body = "{\"sampling_session_id\":\"S:sample:0\"}"});
}

static inline void clientfix_open(clientfix *f, const char *const *options)
{
    clientfix_open_bare(f, options);
    clientfix_answer_setup(f);
}

static inline void clientfix_close(clientfix *f)
{
    tinkc_service_close(&f->service);
    faketransport_dispose(&f->net);
}

#endif
