/* while a service works, over TLS, through failures and after its end, its host
 * process stays as it was: nothing printed, no signal handler or mask, no limit,
 * environment, locale, folder or file mask changed.
 * Links: peer front */
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tinkc/training.h>

#include "support/fakeapi_tinker.h"
#include "support/fakefront.h"
#include "support/servicefix.h"

#define SIGNALS 65

extern char **environ;

typedef struct snapshot {
    void (*handlers[SIGNALS])(int);
    int flags[SIGNALS];
    sigset_t mask;
    struct rlimit limits[RLIM_NLIMITS];
    mode_t umask;
    char folder[512];
    char locale[128];
    size_t environment_n;
    char environment[16384];
} snapshot;

static void take(snapshot *s)
{
    memset(s, 0, sizeof(*s));
    for (int i = 1; i < SIGNALS; i++) {
        struct sigaction action;
        if (sigaction(i, NULL, &action) == 0) {
            s->handlers[i] = action.sa_handler;
            s->flags[i] = action.sa_flags;
        }
    }
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &s->mask), 0);
    for (int i = 0; i < RLIM_NLIMITS; i++) {
        assert_int_equal(getrlimit((__rlimit_resource_t)i, &s->limits[i]), 0);
    }
    s->umask = umask(077);
    (void)umask(s->umask);
    assert_non_null(getcwd(s->folder, sizeof(s->folder)));
    (void)snprintf(s->locale, sizeof(s->locale), "%s", setlocale(LC_ALL, NULL));
    for (char **at = environ; *at != NULL; at++) {
        size_t room = sizeof(s->environment) - s->environment_n;
        int n = snprintf(s->environment + s->environment_n, room, "%s\n", *at);
        s->environment_n += TK_MIN((size_t)n, room - 1);
    }
}

static void expect_same(const snapshot *before)
{
    static snapshot now;
    take(&now);
    assert_memory_equal(before, &now, sizeof(now));
}

/* Standard output and error go to files that must stay empty. */
typedef struct streams {
    int saved[2];
    char path[2][32];
} streams;

static void redirect(streams *s)
{
    (void)fflush(NULL);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(s->path[i], sizeof(s->path[i]), "/tmp/quiet-XXXXXX");
        int fd = mkstemp(s->path[i]);
        s->saved[i] = dup(i + 1);
        assert_true(fd >= 0 && s->saved[i] >= 0 && dup2(fd, i + 1) == i + 1);
        close(fd);
    }
}

static off_t restore(streams *s)
{
    off_t said = 0;
    (void)fflush(NULL);
    for (int i = 0; i < 2; i++) {
        struct stat info = {0};
        (void)fstat(i + 1, &info);
        said += info.st_size;
        (void)dup2(s->saved[i], i + 1);
        close(s->saved[i]);
        (void)unlink(s->path[i]);
    }
    return said;
}

static tinkc_code run_one(fakeapi *api, const fakefront *front, bool trusted,
                          const snapshot *before)
{
    const char *const options[] = {"base_url",
                                   fakefront_url(front),
                                   "max_retries",
                                   "0",
                                   "connect_timeout",
                                   "60000",
                                   "ca_file",
                                   trusted ? fakefront_ca_file(front) : NULL,
                                   NULL};
    tinkc_service *service = servicefix_open(api, options);
    tinkc_training *training = NULL;
    tinkc_code code =
        tinkc_service_create_training_wait(&training, service, "m", NULL, NULL);
    if (code == TINKC_OK) {
        code = tinkc_training_optim_step_wait(NULL, training, NULL, NULL);
    }
    expect_same(before);
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    return code;
}

/* A-012, M-168: a run leaves streams, signals, limits, locale and environment of the
 * process as they were. */
static void test_quiet(void **unused)
{
    static snapshot before;
    streams s;
    fakeapi *api = fakeapi_start();
    fakeapi_tinker(api, NULL);
    fakefront *front =
        fakefront_start(api, &(fakefront_options){.talk = FAKEFRONT_HTTP2});
    take(&before);
    redirect(&s);
    tinkc_code trusted = run_one(api, front, true, &before);
    tinkc_code refused = run_one(api, front, false, &before);
    fakeapi_default(api, "*", "*", &fakeapi_detail(403, "no"));
    tinkc_code forbidden = run_one(api, front, true, &before);
    off_t said = restore(&s);
    expect_same(&before);
    assert_int_equal(trusted, TINKC_OK);
    assert_int_equal(refused, TINKC_E_CONFIG);
    assert_int_equal(forbidden, TINKC_E_PERMISSION);
    assert_int_equal(said, 0);
    fakefront_stop(&front);
    fakeapi_stop(&api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_quiet)};
    return cmocka_run_group_tests_name("quiet", tests, NULL, NULL);
}
