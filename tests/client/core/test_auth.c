/* Credentials: which provider, the exchange for a token and its refreshes on a fake
 * clock, the credential command (docs/protocol.md §1.3; A-107). */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/buf.h"
#include "client/core/auth.h"
#include "support/clientfix.h"
#include "support/textfix.h"

#define TOKEN   "auth/token"
#define HEALTH  "healthz"
#define OUTLIVE "outlive" /* argument of this program as a command */

/* ---- choosing ---- */

/* M-004: the five rows of docs/protocol.md §1.3, and the local server's own. */
static void test_auth_choose(void **unused)
{
    static const struct {
        const char *key, *command;
        bool loopback, enforce;
        tinkc_code code;
        const char *chosen; /* NULL: the command */
    } rows[] = {
        {"eyJx", NULL, false, false, TINKC_OK, "eyJx"},
        {"eyJx", "cmd", false, true, TINKC_OK, "eyJx"},
        {"tml-k", "cmd", false, true, TINKC_OK, NULL},
        {"tml-k", NULL, false, true, TINKC_E_CONFIG, NULL},
        {"tml-k", "cmd", false, false, TINKC_OK, "tml-k"},
        {NULL, "cmd", false, false, TINKC_OK, NULL},
        {"sk-k", "cmd", false, false, TINKC_OK, NULL},
        {NULL, NULL, false, false, TINKC_E_CONFIG, NULL},
        {"sk-k", NULL, false, false, TINKC_E_CONFIG, NULL},
        {"", "", false, false, TINKC_E_CONFIG, NULL},
        {NULL, NULL, true, false, TINKC_OK, "tml-local"},
        {"sk-k", NULL, true, false, TINKC_E_CONFIG, NULL},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        char key[16], command[16];
        tinkc_config config = {0};
        (void)snprintf(key, sizeof(key), "%s", rows[i].key != NULL ? rows[i].key : "");
        (void)snprintf(command, sizeof(command), "%s",
                       rows[i].command != NULL ? rows[i].command : "");
        config.api_key = rows[i].key != NULL ? key : NULL;
        config.credential_cmd = rows[i].command != NULL ? command : NULL;
        tk_auth_kind kind = TK_AUTH_KEY;
        const char *chosen = NULL;
        tk_err err = TK_ERR_INIT;
        assert_int_equal(tk_auth_choose(&kind, &chosen, &config, rows[i].loopback,
                                        rows[i].enforce, &err),
                         rows[i].code);
        if (rows[i].code != TINKC_OK) {
            assert_true(err.message[0] != '\0');
            continue;
        }
        assert_int_equal(kind, rows[i].chosen != NULL ? TK_AUTH_KEY : TK_AUTH_COMMAND);
        if (rows[i].chosen != NULL) {
            assert_string_equal(chosen, rows[i].chosen);
        }
    }
}

/* ---- tokens ---- */

#define EPOCH_S INT64_C(1767225600) /* the fake clock starts here */

/* {"jwt": "<header>.<claims>.sig"} that expires the given number of seconds after the
 * start. */
static const char *token_body(char *out, size_t size, const char *name, int64_t life_s)
{
    char claims[96];
    tk_buf text;
    tk_buf_init(&text, 4096);
    int n = snprintf(claims, sizeof(claims), "{\"sub\":\"%s\",\"exp\":%lld}", name,
                     (long long)(EPOCH_S + life_s));
    textfix_put_base64_url(&text, claims, (size_t)n);
    tk_str encoded = tk_buf_str(&text);
    (void)snprintf(out, size, "{\"jwt\":\"%s." TK_STR_FMT ".sig\"}", name,
                   TK_STR_ARG(encoded));
    tk_buf_dispose(&text);
    return out;
}

static int64_t life_of(const char *claims, int64_t now_s)
{
    tk_buf text;
    tk_buf_init(&text, 4096);
    tk_buf_puts(&text, "a.");
    textfix_put_base64_url(&text, claims, strlen(claims));
    tk_buf_puts(&text, ".c");
    int64_t life = tk_auth_jwt_life_s(tk_buf_str(&text), now_s);
    tk_buf_dispose(&text);
    return life;
}

/* However wrong the token or our clock is: a life between a second and a day. */
static void test_auth_life(void **unused)
{
    static const struct {
        const char *claims;
        int64_t now_s, life_s;
    } rows[] = {
        {"{\"exp\":1100}", 1000, 100},
        {"{\"exp\":1100}", 1099, 1},
        {"{\"exp\":1100}", 1100, 60},
        {"{\"exp\":1100}", 5000, 60},
        {"{\"exp\":1100}", -7, 1100},
        {"{\"exp\":0}", 1000, 60},
        {"{\"exp\":9223372036854775807}", 1000, 86400},
        {"{\"exp\":9223372036854775807}", INT64_MIN, 86400},
        {"{\"exp\":9223372036854775807,\"iat\":0}", 1000, 86400},
        {"{\"exp\":-9223372036854775808}", 1000, 600},
        {"{\"exp\":-1}", 1000, 600},
        {"{\"exp\":1e300}", 1000, 600},
        {"{\"exp\":\"x\"}", 1000, 600},
        {"{\"iat\":1000}", 1000, 600},
        {"{}", 1000, 600},
        {"[]", 1000, 600},
        {"", 1000, 600},
        /* our clock is ten minutes ahead, or behind, or in 1970 */
        {"{\"exp\":1300,\"iat\":1000}", 1600, 300},
        {"{\"exp\":1300,\"iat\":1000}", 400, 300},
        {"{\"exp\":1767225900,\"iat\":1767225600}", 0, 300},
        /* handed out a second time */
        {"{\"exp\":1300,\"iat\":1000}", 1290, 10},
        {"{\"exp\":1000,\"iat\":1300}", 500, 500},
        {"{\"exp\":1000,\"iat\":1300}", 2000, 60},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_int_equal(life_of(rows[i].claims, rows[i].now_s), rows[i].life_s);
    }
    static const char *const bad[] = {"", "x", "a.b", "a..c", "a.!!.c", "a.eyJ9.c"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        assert_int_equal(tk_auth_jwt_life_s(tk_str_of(bad[i]), 1000), 600);
    }
}

typedef struct exchange {
    clientfix f;
    char body[256];
} exchange;

static void open_exchange(exchange *x, const char *name, int64_t life_s)
{
    clientfix_open(&x->f, NULL);
    faketransport_default(&x->f.net, "client/config",
                          (fakeanswer){.body = "{\"pjwt_auth_enabled\":true}"});
    faketransport_default(&x->f.net, HEALTH, (fakeanswer){.body = "{}"});
    (void)token_body(x->body, sizeof(x->body), name, life_s);
    faketransport_default(&x->f.net, TOKEN, (fakeanswer){.body = x->body});
}

static tinkc_code health(exchange *x)
{
    tinkc_future *future = tinkc_service_health(x->f.service);
    clientfix_turn(&x->f);
    tinkc_code code = tinkc_future_wait(future, 0);
    tinkc_future_free(&future);
    return code;
}

/* Whether the nth request to the path was sent with a credential that begins so. */
static bool sent_with(exchange *x, const char *path, size_t nth, const char *start)
{
    char value[256];
    const fakeseen *seen = faketransport_nth(&x->f.net, path, nth);
    return seen != NULL && faketransport_header(seen, "x-api-key", value, 256) &&
           strncmp(value, start, strlen(start)) == 0;
}

/* M-006: the key is used for client/config and the exchange, the token for all else. */
static void test_auth_exchange(void **unused)
{
    exchange x;
    open_exchange(&x, "one", 1000);
    assert_int_equal(health(&x), TINKC_OK);
    assert_true(sent_with(&x, "client/config", 0, "tml-test"));
    assert_true(sent_with(&x, TOKEN, 0, "tml-test"));
    assert_true(sent_with(&x, "client/dynamic_config", 0, "one."));
    assert_true(sent_with(&x, HEALTH, 0, "one."));
    assert_string_equal(faketransport_nth(&x.f.net, TOKEN, 0)->body, "{}");
    assert_null(strstr(x.f.log, "tml-test"));
    clientfix_close(&x.f);
}

/* Work waits for the first exchange: its redirect is followed at once. A refresh is work of
 * the background, whose requests are a second apart. */
static void test_auth_follows_first_redirect(void **unused)
{
    exchange x;
    const fakeanswer away = {
        .status = 307, .headers = {"location", "http://127.0.0.1:1/api/v1/elsewhere"}};
    open_exchange(&x, "one", 1000);
    faketransport_default(&x.f.net, "elsewhere", (fakeanswer){.body = x.body});
    faketransport_default(&x.f.net, TOKEN, away);
    assert_int_equal(health(&x), TINKC_OK); /* the fake clock does not move */
    assert_int_equal(faketransport_count(&x.f.net, TOKEN), 1);
    assert_int_equal(faketransport_count(&x.f.net, "elsewhere"), 1);
    for (int s = 0; s < 700 && faketransport_count(&x.f.net, TOKEN) == 1; s++) {
        clientfix_advance(&x.f, 1000);
    }
    assert_int_equal(faketransport_count(&x.f.net, TOKEN), 2);
    assert_int_equal(faketransport_count(&x.f.net, "elsewhere"), 1);
    clientfix_advance(&x.f, 1000);
    assert_int_equal(faketransport_count(&x.f.net, "elsewhere"), 2);
    clientfix_close(&x.f);
}

/* M-006: in the background, five minutes before it ends. */
static void test_auth_refresh_ahead(void **unused)
{
    exchange x;
    open_exchange(&x, "one", 1000);
    assert_int_equal(health(&x), TINKC_OK);
    char second[256];
    faketransport_default(
        &x.f.net, TOKEN,
        (fakeanswer){.body = token_body(second, sizeof(second), "two", 5000)});
    clientfix_advance(&x.f, 699999);
    assert_int_equal(faketransport_count(&x.f.net, TOKEN), 1);
    clientfix_advance(&x.f, 1);
    assert_int_equal(faketransport_count(&x.f.net, TOKEN), 2);
    assert_true(sent_with(&x, TOKEN, 1, "tml-test"));
    assert_int_equal(health(&x), TINKC_OK);
    assert_true(sent_with(&x, HEALTH, 1, "two."));
    clientfix_close(&x.f);
}

/* A token with little life left, an expired one, one without end, and a wrong clock: the
 * background asks at most every ten seconds, and requests go out. */
static void test_auth_short_lives(void **unused)
{
    static const int64_t lives[] = {INT64_MIN / 4, -100, 0, 1, 59, 60, 61, 299, 300, 301};
    for (size_t i = 0; i < TK_ARRAY_LEN(lives); i++) {
        exchange x;
        open_exchange(&x, "one", lives[i]);
        assert_int_equal(health(&x), TINKC_OK);
        clientfix_advance(&x.f, 60000);
        assert_in_range(faketransport_count(&x.f.net, TOKEN), 1, 7);
        assert_int_equal(health(&x), TINKC_OK);
        assert_true(sent_with(&x, HEALTH, 1, "one."));
        clientfix_close(&x.f);
    }
}

/* The largest number does not overflow: it is refreshed after a day. */
static void test_auth_endless_life(void **unused)
{
    exchange x;
    open_exchange(&x, "one", INT64_MAX - EPOCH_S);
    assert_int_equal(health(&x), TINKC_OK);
    clientfix_advance(&x.f, 86100000 - 1);
    assert_int_equal(faketransport_count(&x.f.net, TOKEN), 1);
    clientfix_advance(&x.f, 1);
    assert_int_equal(faketransport_count(&x.f.net, TOKEN), 2);
    clientfix_close(&x.f);
}

/* Requests that need a fresh token, as fast as they come, ask once in a second, whether
 * the server gives an expired one or none. */
static void test_auth_on_demand_pace(void **unused)
{
    exchange x;
    open_exchange(&x, "one", 1000);
    /* {"exp":1002,"iat":1000}: two seconds, whatever the time is */
    faketransport_default(
        &x.f.net, TOKEN,
        (fakeanswer){.body = "{\"jwt\":\"one.eyJleHAiOjEwMDIsImlhdCI6MTAwMH0.sig\"}"});
    assert_int_equal(health(&x), TINKC_OK);
    for (int failing = 0; failing < 2; failing++) {
        size_t before = faketransport_count(&x.f.net, TOKEN);
        for (int i = 0; i < 100; i++) {
            clientfix_advance(&x.f, 100);
            assert_int_equal(health(&x), TINKC_OK);
        }
        assert_in_range(faketransport_count(&x.f.net, TOKEN) - before, 1, 11);
        faketransport_default(&x.f.net, TOKEN, (fakeanswer){.status = 403, .body = "{}"});
    }
    clientfix_close(&x.f);
}

/* A clock that is set back changes nothing. One that is set forward beyond the end of the
 * token (or a machine that slept) costs one exchange, and requests go on. */
static void test_auth_clock_jumps(void **unused)
{
    static const struct {
        int64_t wall_s;
        bool is_forward;
    } rows[] = {{0, false},
                {EPOCH_S - 86400, false},
                {EPOCH_S + 939, false},
                {EPOCH_S + 940, true},
                {INT64_C(2147483648), true},
                {INT64_C(4102444800), true}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        exchange x;
        open_exchange(&x, "one", 1000);
        assert_int_equal(health(&x), TINKC_OK);
        fakeclock_set_wall_us(&x.f.clock, rows[i].wall_s * 1000000);
        for (int j = 0; j < 10; j++) {
            assert_int_equal(health(&x), TINKC_OK);
        }
        assert_int_equal(faketransport_count(&x.f.net, TOKEN),
                         rows[i].is_forward ? 2 : 1);
        clientfix_advance(&x.f, 700000);
        assert_in_range(faketransport_count(&x.f.net, TOKEN), 2, 30);
        assert_int_equal(health(&x), TINKC_OK);
        clientfix_close(&x.f);
    }
}

/* What would end the header line is not sent. */
static void test_auth_token_with_line_ends(void **unused)
{
    exchange x;
    open_exchange(&x, "one", 1000);
    faketransport_default(&x.f.net, TOKEN,
                          (fakeanswer){.body = "{\"jwt\":\"a\\r\\nX-Evil: 1\"}"});
    assert_int_equal(health(&x), TINKC_E_DECODE);
    faketransport_default(&x.f.net, TOKEN,
                          (fakeanswer){.body = "{\"jwt\":\"a\\u0000b\"}"});
    assert_int_equal(health(&x), TINKC_E_DECODE);
    assert_int_equal(faketransport_count(&x.f.net, HEALTH), 0);
    clientfix_close(&x.f);
}

/* What is too short to be masked in the log is the server's mistake. */
static void test_auth_token_too_short(void **unused)
{
    static const char *const bodies[] = {"{\"jwt\":\"\"}", "{\"jwt\":\"abc\"}"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bodies); i++) {
        exchange x;
        open_exchange(&x, "one", 1000);
        faketransport_default(&x.f.net, TOKEN, (fakeanswer){.body = bodies[i]});
        assert_int_equal(health(&x), TINKC_E_DECODE);
        clientfix_close(&x.f);
    }
}

/* A failed refresh keeps the old token, says so, and tries again after a minute. */
static void test_auth_refresh_fails(void **unused)
{
    exchange x;
    open_exchange(&x, "one", 1000);
    assert_int_equal(health(&x), TINKC_OK);
    faketransport_default(&x.f.net, TOKEN, (fakeanswer){.status = 403, .body = "{}"});
    clientfix_advance(&x.f, 700000);
    assert_int_equal(faketransport_count(&x.f.net, TOKEN), 2);
    assert_non_null(strstr(x.f.log, "warn auth: credential not refreshed"));
    assert_int_equal(health(&x), TINKC_OK);
    assert_true(sent_with(&x, HEALTH, 1, "one."));
    clientfix_advance(&x.f, 59999);
    assert_int_equal(faketransport_count(&x.f.net, TOKEN), 2);
    clientfix_advance(&x.f, 1);
    assert_int_equal(faketransport_count(&x.f.net, TOKEN), 3);
    clientfix_close(&x.f);
}

/* M-006: with a minute left each request asks first, and all of them only once; when
 * that fails the old one goes out. */
static void test_auth_refresh_on_demand(void **unused)
{
    exchange x;
    open_exchange(&x, "one", 1000);
    assert_int_equal(health(&x), TINKC_OK);
    faketransport_default(&x.f.net, TOKEN, (fakeanswer){.status = 403, .body = "{}"});
    clientfix_advance(&x.f, 941500);
    size_t before = faketransport_count(&x.f.net, TOKEN);
    faketransport_default(&x.f.net, TOKEN, (fakeanswer){.status = -1});
    tinkc_future *futures[5];
    for (size_t i = 0; i < TK_ARRAY_LEN(futures); i++) {
        futures[i] = tinkc_service_health(x.f.service);
    }
    clientfix_turn(&x.f);
    assert_int_equal(faketransport_count(&x.f.net, TOKEN), before + 1);
    assert_int_equal(faketransport_count(&x.f.net, HEALTH), 1);
    char second[256];
    (void)token_body(second, sizeof(second), "two", 5000);
    assert_true(faketransport_answer(&x.f.net, TOKEN, (fakeanswer){.body = second}));
    clientfix_turn(&x.f);
    for (size_t i = 0; i < TK_ARRAY_LEN(futures); i++) {
        assert_int_equal(tinkc_future_wait(futures[i], 0), TINKC_OK);
        assert_true(sent_with(&x, HEALTH, i + 1, "two."));
        tinkc_future_free(&futures[i]);
    }
    clientfix_close(&x.f);
}

static void test_auth_on_demand_fails(void **unused)
{
    exchange x;
    open_exchange(&x, "one", 1000);
    assert_int_equal(health(&x), TINKC_OK);
    faketransport_default(&x.f.net, TOKEN, (fakeanswer){.status = 403, .body = "{}"});
    clientfix_advance(&x.f, 2000000); /* long expired */
    assert_int_equal(health(&x), TINKC_OK);
    assert_true(sent_with(&x, HEALTH, 1, "one."));
    clientfix_close(&x.f);
}

/* A token that does not say when it ends counts for ten minutes: one exchange serves many
 * requests, and it is refreshed ahead of that. */
static void test_auth_token_without_expiry(void **unused)
{
    exchange x;
    open_exchange(&x, "one", 1000);
    faketransport_default(&x.f.net, TOKEN, (fakeanswer){.body = "{\"jwt\":\"opaque\"}"});
    for (int i = 0; i < 5; i++) {
        assert_int_equal(health(&x), TINKC_OK);
        clientfix_advance(&x.f, 50000);
    }
    assert_int_equal(faketransport_count(&x.f.net, TOKEN), 1);
    clientfix_advance(&x.f, 100000);
    assert_int_equal(faketransport_count(&x.f.net, TOKEN), 2);
    clientfix_close(&x.f);
}

/* The first exchange decides whether the service comes up. */
static void test_auth_first_exchange_fails(void **unused)
{
    exchange x;
    open_exchange(&x, "one", 1000);
    faketransport_default(&x.f.net, TOKEN, (fakeanswer){.status = 401, .body = "{}"});
    assert_int_equal(health(&x), TINKC_E_AUTH);
    faketransport_default(&x.f.net, TOKEN, (fakeanswer){.body = "{\"jwt\":7}"});
    assert_int_equal(health(&x), TINKC_E_DECODE);
    faketransport_default(&x.f.net, TOKEN, (fakeanswer){.body = x.body});
    assert_int_equal(health(&x), TINKC_OK);
    clientfix_close(&x.f);
}

/* ---- the command ---- */

static tinkc_code health_with_command(clientfix *f, const char *command,
                                      const char *flags)
{
    const char *options[] = {"credential_cmd", command, "api_key", NULL, NULL};
    clientfix_open(f, options);
    faketransport_default(&f->net, "client/config", (fakeanswer){.body = flags});
    faketransport_default(&f->net, HEALTH, (fakeanswer){.body = "{}"});
    return tinkc_service_health_wait(f->service, NULL);
}

/* M-005: what the command prints, without white space around it, is the credential. */
static void test_auth_command(void **unused)
{
    clientfix f;
    char value[64];
    assert_int_equal(
        health_with_command(&f, "echo; echo ' tml-out '; echo >&2 x; exit 3", "{}"),
        TINKC_OK);
    assert_true(faketransport_header(faketransport_nth(&f.net, HEALTH, 0), "x-api-key",
                                     value, sizeof(value)));
    assert_string_equal(value, "tml-out");
    clientfix_close(&f);
}

/* Several lines would be several headers. */
static void test_auth_command_with_line_ends(void **unused)
{
    static const char *const commands[] = {"printf 'tml-a\\r\\nX-Evil: 1'",
                                           "printf 'tml-a\\nb'", "printf 'tml-\\001'"};
    for (size_t i = 0; i < TK_ARRAY_LEN(commands); i++) {
        clientfix f;
        assert_int_equal(health_with_command(&f, commands[i], "{}"), TINKC_E_AUTH);
        assert_int_equal(f.net.seen_n, 0);
        clientfix_close(&f);
    }
}

/* M-005: killed when its time is over, with what it started, also when a process left
 * its group and holds the output open. The clock is the test's, so nothing here takes
 * a minute. */
static void test_auth_command_deadline(void **unused)
{
    static const char *const commands[] = {"sleep 100", "echo tml-x; exec >&-; sleep 100",
                                           "setsid sleep 5 & sleep 100", "yes"};
    for (size_t i = 0; i < TK_ARRAY_LEN(commands); i++) {
        clientfix f;
        char command[96]; /* what a failing test leaves behind holds no output open */
        (void)snprintf(command, sizeof(command), "exec 2>/dev/null; %s", commands[i]);
        const char *options[] = {"credential_cmd", command, "api_key", NULL, NULL};
        clientfix_open(&f, options);
        tinkc_future *future = tinkc_service_health(f.service);
        clientfix_advance(&f, 59999);
        assert_false(tinkc_future_is_done(future));
        clientfix_advance(&f, 1);
        assert_int_equal(tinkc_future_wait(future, 60000), TINKC_E_AUTH);
        assert_non_null(
            strstr(tinkc_error_message(tinkc_future_error(future)), "in time"));
        tinkc_future_free(&future);
        clientfix_close(&f);
    }
}

/* Started as a command by the test below: leaves the group that is killed, so that the
 * kill does not reach it, as it does not reach sudo. Its parent's end ends it. */
static int outlive_kill(const char *mark)
{
    bool ok = setpgid(0, getpgid(getppid())) == 0 &&
              prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && unlink(mark) == 0;
    return ok ? (int)sleep(600) : 1;
}

/* Starts a request, and waits until its command cannot be killed. */
static tinkc_future *ask_until_gone(clientfix *f, const char *mark)
{
    int fd = open(mark, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    tinkc_future *future = tinkc_service_health(f->service);
    clientfix_turn(f);
    for (int i = 0; i < 60000 && access(mark, F_OK) == 0; i++) {
        (void)poll(NULL, 0, 1);
    }
    assert_int_not_equal(access(mark, F_OK), 0);
    return future;
}

/* A command that cannot be killed is not waited for, neither when its time is over nor
 * when the service is closed. */
static void test_auth_command_outlives_kill(void **unused)
{
    char mark[] = "/tmp/tinkc-auth-XXXXXX", self[512] = "", command[600];
    int fd = mkstemp(mark);
    assert_true(fd >= 0);
    close(fd);
    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    (void)snprintf(command, sizeof(command), "exec '%s' " OUTLIVE " %s 2>/dev/null", self,
                   mark);
    const char *options[] = {"credential_cmd", command, "api_key", NULL, NULL};
    clientfix f;
    clientfix_open(&f, options);
    tinkc_future *future = ask_until_gone(&f, mark);
    clientfix_advance(&f, 60000);
    assert_int_equal(tinkc_future_wait(future, 60000), TINKC_E_AUTH);
    tinkc_future_free(&future);
    future = ask_until_gone(&f, mark);
    clientfix_close(&f);
    tinkc_future_free(&future);
}

/* M-005: a credential that is longer than the log can mask is refused with both
 * numbers. */
static void test_auth_command_too_long(void **unused)
{
    clientfix f;
    assert_int_equal(health_with_command(&f, "printf %04096d 0", "{}"), TINKC_OK);
    clientfix_close(&f);
    tinkc_error *error = NULL;
    assert_int_equal(health_with_command(&f, "printf %04097d 0", "{}"), TINKC_E_LIMIT);
    assert_int_equal(tinkc_service_health_wait(f.service, &error), TINKC_E_LIMIT);
    assert_non_null(strstr(tinkc_error_message(error), "4097"));
    assert_non_null(strstr(tinkc_error_message(error), "4096"));
    assert_int_equal(f.net.seen_n, 0);
    tinkc_error_free(&error);
    clientfix_close(&f);
}

static void test_auth_command_is_silent(void **unused)
{
    static const char *const commands[] = {"true", "echo", "exit 1", "/nonexistent"};
    for (size_t i = 0; i < TK_ARRAY_LEN(commands); i++) {
        clientfix f;
        assert_int_equal(health_with_command(&f, commands[i], "{}"), TINKC_E_AUTH);
        assert_int_equal(f.net.seen_n, 0);
        clientfix_close(&f);
    }
}

static size_t lines_of(const char *path)
{
    size_t n = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    for (int c = fgetc(file); c != EOF; c = fgetc(file)) {
        n += c == '\n';
    }
    (void)fclose(file);
    return n;
}

/* docs/deviations.md: before there is a credential a command that fails ends the request
 * at once, and is run once, not eleven times; the next request runs it again. */
static void test_auth_command_fails_once(void **unused)
{
    char path[] = "/tmp/tinkc-auth-XXXXXX", command[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    (void)snprintf(command, sizeof(command), "echo run >>%s; exit 1", path);
    clientfix f;
    assert_int_equal(health_with_command(&f, command, "{}"), TINKC_E_AUTH);
    assert_int_equal(lines_of(path), 1);
    assert_int_equal(tinkc_service_health_wait(f.service, NULL), TINKC_E_AUTH);
    assert_int_equal(lines_of(path), 2);
    clientfix_close(&f);
    assert_int_equal(unlink(path), 0);
}

/* docs/deviations.md: later the last credential goes out, with a warning. Its output
 * counts for a minute. */
static void test_auth_command_fails_later(void **unused)
{
    char path[] = "/tmp/tinkc-auth-XXXXXX", command[128], value[64];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    (void)snprintf(command, sizeof(command), "rm %s && echo tml-first", path);
    clientfix f;
    assert_int_equal(health_with_command(&f, command, "{}"), TINKC_OK);
    fakeclock_advance_ms(&f.clock, 59999);
    assert_int_equal(tinkc_service_health_wait(f.service, NULL), TINKC_OK);
    assert_null(strstr(f.log, "credential not refreshed"));
    fakeclock_advance_ms(&f.clock, 1);
    assert_int_equal(tinkc_service_health_wait(f.service, NULL), TINKC_OK);
    assert_non_null(strstr(f.log, "warn auth: credential not refreshed"));
    assert_true(faketransport_header(faketransport_nth(&f.net, HEALTH, 2), "x-api-key",
                                     value, sizeof(value)));
    assert_string_equal(value, "tml-first");
    clientfix_close(&f);
}

/* M-005: a command that prints the same credential again: it stays a secret of the
 * log. */
static void test_auth_command_repeats(void **unused)
{
    clientfix f;
    assert_int_equal(health_with_command(&f, "echo shy-credential", "{}"), TINKC_OK);
    for (int i = 0; i < 2; i++) {
        fakeclock_advance_ms(&f.clock, 60000);
        assert_int_equal(tinkc_service_health_wait(f.service, NULL), TINKC_OK);
    }
    tk_log_write(tk_core_log(tk_service_core(f.service)), TINKC_LOG_WARN, "test",
                 "refused: shy-credential");
    assert_non_null(strstr(f.log, "warn test: refused: ***"));
    assert_null(strstr(f.log, "shy-"));
    clientfix_close(&f);
}

/* How many secrets more the service's log could mask. */
static size_t room_for_secrets(clientfix *f)
{
    tk_log *log = tk_core_log(tk_service_core(f->service));
    tk_err err = TK_ERR_INIT;
    char filler[32];
    size_t n = 0;
    do {
        (void)snprintf(filler, sizeof(filler), "filler-%zu", n);
    } while (tk_log_add_secret(log, tk_str_of(filler), &err) == TINKC_OK && ++n < 1000);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(filler, sizeof(filler), "filler-%zu", i);
        tk_log_remove_secret(log, tk_str_of(filler));
    }
    return n;
}

/* The log can mask a limited number of secrets; a token that is replaced gives its place
 * to the new one, however often. */
static void test_auth_refreshes_stay_masked(void **unused)
{
    exchange x;
    char name[32], body[256];
    open_exchange(&x, "token-0", 1000);
    assert_int_equal(health(&x), TINKC_OK);
    size_t room = room_for_secrets(&x.f);
    for (int i = 1; i <= 2 * TK_REDACT_SECRETS_MAX; i++) {
        (void)snprintf(name, sizeof(name), "token-%d", i);
        (void)token_body(body, sizeof(body), name, 1000 + 700 * i);
        faketransport_default(&x.f.net, TOKEN, (fakeanswer){.body = body});
        clientfix_advance(&x.f, 700000);
        assert_int_equal(faketransport_count(&x.f.net, TOKEN), i + 1);
    }
    assert_int_equal(room_for_secrets(&x.f), room);
    assert_int_equal(health(&x), TINKC_OK);
    assert_true(sent_with(&x, HEALTH, 1, name));
    body[strlen(body) - 2] = '\0';
    x.f.log_n = 0; /* it may be full of what the wire dumped */
    tk_log_write(tk_core_log(tk_service_core(x.f.service)), TINKC_LOG_WARN, "test",
                 "refused: %s", body + 8);
    assert_non_null(strstr(x.f.log, "warn test: refused: ***\n"));
    clientfix_close(&x.f);
}

/* What the command printed gives its place to the token that is got for it. */
static void test_auth_exchange_gives_places_back(void **unused)
{
    exchange x;
    static const char *const options[] = {"credential_cmd", "echo shy-credential",
                                          "api_key", NULL, NULL};
    clientfix_open(&x.f, options);
    faketransport_default(&x.f.net, "client/config",
                          (fakeanswer){.body = "{\"pjwt_auth_enabled\":true}"});
    faketransport_default(&x.f.net, HEALTH, (fakeanswer){.body = "{}"});
    faketransport_default(
        &x.f.net, TOKEN,
        (fakeanswer){.body = token_body(x.body, sizeof(x.body), "one", 1000)});
    assert_int_equal(tinkc_service_health_wait(x.f.service, NULL), TINKC_OK);
    assert_true(sent_with(&x, TOKEN, 0, "shy-credential"));
    assert_true(sent_with(&x, HEALTH, 0, "one."));
    assert_int_equal(room_for_secrets(&x.f), TK_REDACT_SECRETS_MAX - 1);
    clientfix_close(&x.f);
}

/* A credential that the log cannot mask is not sent for a token either. */
static void test_auth_exchange_too_long(void **unused)
{
    char path[] = "/tmp/tinkc-auth-XXXXXX", command[128];
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    (void)snprintf(command, sizeof(command),
                   "rm %s 2>&- && echo tml-first || printf %%04097d 0", path);
    clientfix f;
    const char *options[] = {"credential_cmd", command, "api_key", NULL, NULL};
    clientfix_open(&f, options);
    faketransport_default(&f.net, "client/config",
                          (fakeanswer){.body = "{\"pjwt_auth_enabled\":true}"});
    faketransport_default(&f.net, TOKEN, (fakeanswer){.status = 403, .body = "{}"});
    assert_int_equal(tinkc_service_health_wait(f.service, NULL), TINKC_E_LIMIT);
    assert_int_equal(faketransport_count(&f.net, "client/config"), 1);
    assert_int_equal(faketransport_count(&f.net, TOKEN), 0);
    clientfix_close(&f);
}

/* A slow one is killed, with what it started, when the service closes; otherwise this
 * test would take ten minutes. */
static void test_auth_command_killed(void **unused)
{
    static const char *const options[] = {"credential_cmd", "sleep 600 | cat; sleep 600",
                                          "api_key", NULL, NULL};
    clientfix f;
    clientfix_open(&f, options);
    tinkc_future *future = tinkc_service_health(f.service);
    clientfix_turn(&f);
    assert_false(tinkc_future_is_done(future));
    clientfix_close(&f);
    assert_int_equal(tinkc_future_wait(future, 0), TINKC_E_CANCELLED);
    tinkc_future_free(&future);
}

/* M-015: the server may insist on the command. */
static void test_auth_command_enforced(void **unused)
{
    static const char flags[] =
        "{\"pjwt_auth_enabled\":true,\"credential_default_source\":\"credential_cmd\"}";
    exchange x;
    open_exchange(&x, "one", 1000);
    faketransport_default(&x.f.net, "client/config", (fakeanswer){.body = flags});
    assert_int_equal(health(&x), TINKC_E_CONFIG);
    clientfix_close(&x.f);
    static const char *const options[] = {"credential_cmd", "echo tml-cmd", NULL};
    clientfix_open(&x.f, options);
    faketransport_default(&x.f.net, "client/config", (fakeanswer){.body = flags});
    faketransport_default(&x.f.net, HEALTH, (fakeanswer){.body = "{}"});
    faketransport_default(&x.f.net, TOKEN, (fakeanswer){.body = x.body});
    assert_int_equal(tinkc_service_health_wait(x.f.service, NULL), TINKC_OK);
    assert_true(sent_with(&x, "client/config", 0, "tml-test"));
    assert_true(sent_with(&x, TOKEN, 0, "tml-cmd"));
    assert_true(sent_with(&x, HEALTH, 0, "one."));
    clientfix_close(&x.f);
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], OUTLIVE) == 0) {
        return outlive_kill(argv[2]);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_auth_choose),
        cmocka_unit_test(test_auth_life),
        cmocka_unit_test(test_auth_short_lives),
        cmocka_unit_test(test_auth_endless_life),
        cmocka_unit_test(test_auth_on_demand_pace),
        cmocka_unit_test(test_auth_clock_jumps),
        cmocka_unit_test(test_auth_token_with_line_ends),
        cmocka_unit_test(test_auth_token_too_short),
        cmocka_unit_test(test_auth_command_with_line_ends),
        cmocka_unit_test(test_auth_command_deadline),
        cmocka_unit_test(test_auth_command_outlives_kill),
        cmocka_unit_test(test_auth_exchange),
        cmocka_unit_test(test_auth_follows_first_redirect),
        cmocka_unit_test(test_auth_refresh_ahead),
        cmocka_unit_test(test_auth_refresh_fails),
        cmocka_unit_test(test_auth_refresh_on_demand),
        cmocka_unit_test(test_auth_on_demand_fails),
        cmocka_unit_test(test_auth_token_without_expiry),
        cmocka_unit_test(test_auth_first_exchange_fails),
        cmocka_unit_test(test_auth_command),
        cmocka_unit_test(test_auth_command_too_long),
        cmocka_unit_test(test_auth_command_is_silent),
        cmocka_unit_test(test_auth_command_fails_once),
        cmocka_unit_test(test_auth_command_fails_later),
        cmocka_unit_test(test_auth_command_repeats),
        cmocka_unit_test(test_auth_refreshes_stay_masked),
        cmocka_unit_test(test_auth_exchange_gives_places_back),
        cmocka_unit_test(test_auth_exchange_too_long),
        cmocka_unit_test(test_auth_command_killed),
        cmocka_unit_test(test_auth_command_enforced),
    };
    return cmocka_run_group_tests_name("auth", tests, NULL, NULL);
}
