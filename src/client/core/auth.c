/* States: before the exchange a credential is the key or what the command printed;
 * after it, the server's token. Waiters queue up while one is being fetched. */
#include "client/core/auth.h"

#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "client/core/command.h"
#include "client/core/core.h"
#include "client/core/headers.h"

#define REFRESH_AHEAD_S 300 /* in the background */
#define REFRESH_NOW_S   60  /* before a request goes out */
#define UNKNOWN_LIFE_S  600 /* of a token that does not say when it ends */
#define SKEWED_LIFE_S   60  /* of one that is over when it comes: our clock is wrong */
#define LIFE_MAX_S      (INT64_C(24) * 3600)
#define REFRESH_MIN_MS  10000 /* in the background, after a token with a short life */
#define FETCH_MIN_MS    1000  /* before a request goes out */
#define RETRY_MS        60000
#define COMMAND_KEEP_MS 60000 /* how long the command's output is used */
#define LOCAL_KEY       "tml-local"

struct tk_auth {
    tk_core *core; /* owns us */
    tk_auth_kind kind;
    const char *key; /* KEY: borrowed from the configuration */
    bool is_loopback;
    bool exchanging; /* the server wants tokens */
    bool had_token;
    char *token;      /* COMMAND: its output; exchanging: the JWT. Owned, wiped */
    int64_t token_ms; /* monotonic, when it came */
    int64_t wall_ms;  /* the same on the wall clock */
    int64_t life_ms;  /* JWT: how long it is good for, from then on */
    int64_t tried_ms; /* monotonic, when the last fetch failed; or 0 */
    tk_retry_pace pace;
    tk_list waiters;
    bool fetching;
    tk_command *command;
    tk_call call;
    char *credential; /* for the running exchange; owned, wiped */
    tk_timer timer;
};

/* ---- choosing ---- */

static bool has_text(const char *text)
{
    return text != NULL && text[0] != '\0';
}

tinkc_code tk_auth_choose(tk_auth_kind *kind, const char **key,
                          const tinkc_config *config, bool is_loopback,
                          bool enforce_command, tk_err *err)
{
    const char *given = has_text(config->api_key) ? config->api_key : NULL;
    bool command = has_text(config->credential_cmd);
    bool is_jwt = given != NULL && strncmp(given, "eyJ", 3) == 0;
    bool is_key = given != NULL && strncmp(given, "tml-", 4) == 0;
    *kind = TK_AUTH_KEY;
    if (is_jwt) {
        *key = given;
        return TINKC_OK;
    }
    if (enforce_command && !command) {
        return tk_err_set(
            err, TINKC_E_CONFIG,
            "the server requires credentials from a command: set credential_cmd "
            "(TINKER_CREDENTIAL_CMD)");
    }
    if (is_key && !enforce_command) {
        *key = given;
        return TINKC_OK;
    }
    if (command) {
        *kind = TK_AUTH_COMMAND;
        *key = NULL;
        return TINKC_OK;
    }
    if (given == NULL && is_loopback) {
        *key = LOCAL_KEY;
        return TINKC_OK;
    }
    return tk_err_set(err, TINKC_E_CONFIG,
                      given == NULL
                          ? "no API key: set api_key (TINKER_API_KEY), or store one with "
                            "`tinkc auth login`; a local server (`tinkc serve`) needs "
                            "none: set base_url (TINKER_BASE_URL) to its address"
                          : "an API key must start with \"tml-\"");
}

/* ---- tokens ---- */

const tk_json *tk_auth_jwt_claims(tk_str jwt, tk_arena *arena)
{
    tk_str rest = jwt;
    (void)tk_str_cut(&rest, '.');
    tk_str middle = tk_str_cut(&rest, '.');
    const tk_json *json = NULL;
    char *bytes = tk_arena_alloc(arena, middle.n);
    bool ok = middle.n > 0 && bytes != NULL &&
              tk_base64_decode_url(bytes, middle, NULL) == TINKC_OK &&
              tk_json_parse(&json, arena, bytes, tk_base64_decoded_size(middle), NULL,
                            NULL) == TINKC_OK;
    return ok ? json : NULL;
}

/* Seconds since 1970; -1 when it is missing, not a number or before that. */
static int64_t read_claim(const tk_json *claims, const char *name)
{
    int64_t seconds = -1;
    const tk_json *claim = tk_json_get(claims, name);
    return claim != NULL && tk_json_to_i64(claim, &seconds) && seconds >= 0 ? seconds
                                                                            : -1;
}

/* The time since it was issued does not depend on our clock; a server that hands out a
 * token for the second time needs the time that is left. */
int64_t tk_auth_jwt_life_s(tk_str jwt, int64_t now_s)
{
    tk_arena arena;
    tk_arena_init(&arena, TK_MIB);
    const tk_json *claims = tk_auth_jwt_claims(jwt, &arena);
    int64_t expiry = read_claim(claims, "exp");
    int64_t issued = read_claim(claims, "iat");
    tk_arena_dispose(&arena);
    if (expiry < 0) {
        return UNKNOWN_LIFE_S;
    }
    int64_t left = expiry - TK_MAX(now_s, 0);
    int64_t whole = issued >= 0 ? expiry - issued : -1;
    int64_t life = left > 0 && whole > 0 ? TK_MIN(left, whole) : TK_MAX(left, whole);
    return life > 0 ? TK_MIN(life, LIFE_MAX_S) : SKEWED_LIFE_S;
}

static void drop(char **text)
{
    if (*text != NULL) {
        tk_mem_wipe(*text, strlen(*text));
        tk_free(*text);
        *text = NULL;
    }
}

static int64_t now_ms(const tk_auth *auth)
{
    return tk_clock_mono_ms(tk_core_clock(auth->core));
}

static int64_t now_wall_ms(const tk_auth *auth)
{
    return tk_clock_wall_us(tk_core_clock(auth->core)) / 1000;
}

/* By the clock that says more: the monotonic one stops while the machine sleeps, the
 * other one may be set back. One that was set forward costs one exchange. */
static int64_t age_ms(const tk_auth *auth)
{
    return TK_MAX(now_ms(auth) - auth->token_ms, now_wall_ms(auth) - auth->wall_ms);
}

/* How long before its end a token is replaced: the usual time, or half of a short
 * life. */
static int64_t ahead_ms(const tk_auth *auth, int64_t usual_s)
{
    return TK_MIN(usual_s * 1000, auth->life_ms / 2);
}

static bool is_usable(const tk_auth *auth)
{
    if (!auth->exchanging && auth->kind == TK_AUTH_KEY) {
        return true;
    }
    if (auth->token == NULL) {
        return false;
    }
    if (auth->tried_ms != 0 && now_ms(auth) - auth->tried_ms < FETCH_MIN_MS) {
        return true; /* a fetch has just failed: the old one is better than none */
    }
    int64_t good_ms = auth->exchanging ? auth->life_ms - ahead_ms(auth, REFRESH_NOW_S)
                                       : COMMAND_KEEP_MS;
    return age_ms(auth) < TK_MAX(good_ms, FETCH_MIN_MS);
}

static const char *current(const tk_auth *auth)
{
    return !auth->exchanging && auth->kind == TK_AUTH_KEY ? auth->key : auth->token;
}

/* ---- telling the waiters ---- */

static void tell_all(tk_auth *auth, tinkc_code code, const tk_err *err)
{
    tk_list told;
    tk_list_init(&told);
    tk_list_splice_back(&told, &auth->waiters);
    tk_list *node;
    while ((node = tk_list_pop_front(&told)) != NULL) {
        tk_auth_waiter *waiter = TK_CONTAINER_OF(node, tk_auth_waiter, node);
        waiter->ready(waiter, code == TINKC_OK ? current(auth) : NULL, code, err);
    }
}

static void fetched(tk_auth *auth)
{
    auth->fetching = false;
    tell_all(auth, TINKC_OK, NULL);
}

/* An old token is better than none; without one the waiters get the error. */
static void failed(tk_auth *auth, const tk_err *err)
{
    auth->fetching = false;
    auth->tried_ms = now_ms(auth);
    if (auth->token != NULL && err->code != TINKC_E_CANCELLED) {
        tk_log_write(tk_core_log(auth->core), TINKC_LOG_WARN, "auth",
                     "credential not refreshed, the old one is used: %s", err->message);
        tell_all(auth, TINKC_OK, NULL);
        return;
    }
    tell_all(auth, err->code, err);
}

/* The log has room for a limited number of secrets: a token that expires frees its
 * place. */
static void forget_token(tk_auth *auth)
{
    if (auth->token != NULL) {
        tk_log_remove_secret(tk_core_log(auth->core), tk_str_of(auth->token));
    }
    drop(&auth->token);
}

static bool keep_token(tk_auth *auth, tk_str text, tk_err *err)
{
    char *copy = tk_strndup(text.p, text.n);
    tinkc_code code = copy != NULL ? tk_log_add_secret(tk_core_log(auth->core), text, err)
                                   : tk_err_nomem(err);
    if (code != TINKC_OK) {
        drop(&copy);
        return false;
    }
    forget_token(auth);
    auth->token = copy;
    auth->token_ms = now_ms(auth);
    auth->wall_ms = now_wall_ms(auth);
    auth->tried_ms = 0;
    return true;
}

/* ---- the exchange ---- */

tinkc_code tk_auth_read_token(char **out, const tk_call_answer *answer, tk_err *err)
{
    tk_auth_token_response said = {0};
    tk_arena arena;
    if (answer->code != TINKC_OK) {
        *err = *answer->err;
        return answer->code;
    }
    tk_arena_init(&arena, TK_MIB);
    tinkc_code code = tk_schema_decode_text(&said, &tk_msg_auth_token_response, &arena,
                                            answer->response->body, 0, err);
    if (code == TINKC_OK && !tk_headers_is_clean(said.jwt.v)) {
        code = tk_err_set(err, TINKC_E_DECODE,
                          "the server's token has characters that "
                          "cannot be sent in a header");
    }
    if (code == TINKC_OK && said.jwt.v.n < TK_REDACT_SECRET_MIN_BYTES) {
        code = tk_err_set(err, TINKC_E_DECODE, "the server's token is too short");
    }
    char *copy = code == TINKC_OK ? tk_strndup(said.jwt.v.p, said.jwt.v.n) : NULL;
    if (code == TINKC_OK && copy == NULL) {
        code = tk_err_nomem(err);
    }
    tk_arena_dispose(&arena);
    if (code == TINKC_OK) {
        *out = copy;
    }
    return code;
}

static void plan_refresh(tk_auth *auth, bool ok)
{
    tk_loop *loop = tk_core_loop(auth->core);
    int64_t delay_ms = RETRY_MS;
    if (ok) {
        delay_ms =
            TK_MAX(auth->life_ms - ahead_ms(auth, REFRESH_AHEAD_S), REFRESH_MIN_MS);
    }
    tk_loop_timer_set(loop, &auth->timer, tk_loop_now_ms(loop) + delay_ms);
}

static void on_token(tk_call *call, const tk_call_answer *answer)
{
    tk_auth *auth = call->user;
    tk_err err = TK_ERR_INIT;
    char *token = NULL;
    if (auth->kind == TK_AUTH_COMMAND && auth->credential != NULL) {
        tk_log_remove_secret(tk_core_log(auth->core), tk_str_of(auth->credential));
    }
    drop(&auth->credential);
    bool ok = tk_auth_read_token(&token, answer, &err) == TINKC_OK &&
              keep_token(auth, tk_str_of(token), &err);
    if (ok) {
        auth->life_ms =
            tk_auth_jwt_life_s(tk_str_of(token), now_wall_ms(auth) / 1000) * 1000;
    }
    drop(&token);
    if (err.code != TINKC_E_CANCELLED) {
        plan_refresh(auth, ok);
    }
    if (ok) {
        auth->had_token = true;
        fetched(auth);
    } else {
        failed(auth, &err);
    }
}

static void exchange(tk_auth *auth, tk_str credential)
{
    auth->credential = tk_strndup(credential.p, credential.n);
    if (auth->credential == NULL) {
        tk_err err = TK_ERR_INIT;
        tk_err_nomem(&err);
        if (auth->kind == TK_AUTH_COMMAND) {
            tk_log_remove_secret(tk_core_log(auth->core), credential);
        }
        failed(auth, &err);
        return;
    }
    auth->call = (tk_call){.core = auth->core,
                           .endpoint = tk_endpoint_at(TK_EP_AUTH_TOKEN),
                           .body = "{}",
                           .body_n = 2,
                           .credential = auth->credential,
                           .no_l2 = auth->had_token, /* only the first one (§5.7) */
                           .pace = auth->had_token ? &auth->pace : NULL,
                           .done = on_token,
                           .user = auth};
    tk_call_start(&auth->call);
}

/* ---- the command ---- */

static void on_output(void *user, tk_str output, bool is_late)
{
    tk_auth *auth = user;
    tk_err err = TK_ERR_INIT;
    if (is_late) {
        tk_err_set(&err, TINKC_E_AUTH,
                   "the credential command did not end in time (credential_timeout)");
        failed(auth, &err);
    } else if (output.n == 0) {
        tk_err_set(&err, TINKC_E_AUTH, "the credential command printed nothing");
        failed(auth, &err);
    } else if (!tk_headers_is_clean(output)) {
        tk_err_set(&err, TINKC_E_AUTH,
                   "the credential command printed characters that cannot be sent in a "
                   "header, for example several lines");
        failed(auth, &err);
    } else if (auth->exchanging) {
        if (tk_log_add_secret(tk_core_log(auth->core), output, &err) == TINKC_OK) {
            exchange(auth, output);
        } else { /* what cannot be masked is not used */
            failed(auth, &err);
        }
    } else if (keep_token(auth, output, &err)) {
        fetched(auth);
    } else {
        failed(auth, &err);
    }
}

static void fetch(tk_auth *auth)
{
    tk_err err = TK_ERR_INIT;
    auth->fetching = true;
    if (auth->kind == TK_AUTH_KEY) {
        exchange(auth, tk_str_of(auth->key));
        return;
    }
    tk_command_stop(&auth->command); /* the last one has ended */
    const tinkc_config *config = tk_core_config(auth->core);
    tk_command_spec spec = {.loop = tk_core_loop(auth->core),
                            .text = config->credential_cmd,
                            .timeout_ms = config->credential_timeout_ms,
                            .done = on_output,
                            .user = auth};
    if (tk_command_start(&auth->command, &spec, &err) != TINKC_OK) {
        failed(auth, &err);
    }
}

static void fire_refresh(tk_timer *timer)
{
    tk_auth *auth = TK_CONTAINER_OF(timer, tk_auth, timer);
    if (!auth->fetching) {
        fetch(auth);
    }
}

/* ---- waiters ---- */

void tk_auth_get(tk_auth *auth, tk_auth_waiter *waiter)
{
    tk_list_init(&waiter->node);
    if (is_usable(auth)) {
        waiter->ready(waiter, current(auth), TINKC_OK, NULL);
        return;
    }
    tk_list_push_back(&auth->waiters, &waiter->node);
    if (!auth->fetching) {
        fetch(auth);
    }
}

bool tk_auth_is_exchanged(const tk_auth *auth)
{
    return auth->exchanging;
}

void tk_auth_forget(tk_auth *auth, tk_auth_waiter *waiter)
{
    (void)auth;
    if (waiter->node.next != NULL) {
        tk_list_remove(&waiter->node);
    }
}

void tk_auth_setup(tk_auth *auth, bool exchanging, bool enforce_command,
                   tk_auth_waiter *done)
{
    tk_err err = TK_ERR_INIT;
    tk_auth_kind kind;
    const char *key = NULL;
    if (tk_auth_choose(&kind, &key, tk_core_config(auth->core), auth->is_loopback,
                       exchanging && enforce_command, &err) != TINKC_OK) {
        done->ready(done, NULL, err.code, &err);
        return;
    }
    if (exchanging != auth->exchanging || kind != auth->kind) {
        forget_token(auth);
    }
    auth->kind = kind;
    auth->key = key;
    auth->exchanging = exchanging;
    tk_auth_get(auth, done);
}

tinkc_code tk_auth_new(tk_auth **out, tk_core *core, bool is_loopback, tk_err *err)
{
    tk_auth *auth = tk_zalloc(sizeof(*auth));
    if (auth == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_auth_choose(&auth->kind, &auth->key, tk_core_config(core),
                                     is_loopback, false, err);
    if (code != TINKC_OK) {
        tk_free(auth);
        return code;
    }
    auth->core = core;
    auth->is_loopback = is_loopback;
    tk_list_init(&auth->waiters);
    tk_timer_init(&auth->timer, fire_refresh);
    *out = auth;
    return TINKC_OK;
}

void tk_auth_shutdown(tk_auth *auth)
{
    tk_err err = TK_ERR_INIT;
    tk_err_set(&err, TINKC_E_CANCELLED, "the service was closed");
    tk_loop_timer_clear(tk_core_loop(auth->core), &auth->timer);
    tk_command_stop(&auth->command);
    tk_call_cancel(&auth->call);
    tell_all(auth, TINKC_E_CANCELLED, &err);
}

void tk_auth_free(tk_auth **auth_ref)
{
    tk_auth *auth = *auth_ref;
    *auth_ref = NULL;
    if (auth != NULL) {
        drop(&auth->token);
        drop(&auth->credential);
        tk_free(auth);
    }
}
