/* What a request asks for and the server does not know is refused by name: a key at every
 * object of every route's body and of every recorded body, a parameter of the query, a
 * word of an enumeration. What stays open is listed here with the reason.
 * Links: wire */
#include "server/bodyfix.h"
#include "wire/fixtures.h"

#define KEY "unknown_to_us"

typedef struct fix {
    restfix rest;
    httpget *connection;
    size_t refused, open, passed;
} fix;

static void open_fix(fix *t)
{
    *t = (fix){0};
    srvfix_open(&t->rest.srv, (srv_options){0});
    (void)snprintf(t->rest.session, sizeof(t->rest.session), "s");
    (void)snprintf(t->rest.run, sizeof(t->rest.run), "s:train:0");
}

static void close_fix(fix *t)
{
    httpget_close(&t->connection);
    srvfix_close(&t->rest.srv);
}

/* Returns the answer's text, in the arena of answers. */
static const char *ask(fix *t, int *status, const httpget_request *request)
{
    httpget_response response;
    httpget_outcome outcome = HTTPGET_CLOSED;
    tk_str text;
    for (int i = 0; i < 2 && outcome != HTTPGET_OK; i++) {
        if (t->connection == NULL) {
            t->connection = httpget_connect(srvfix_port(&t->rest.srv));
        }
        (void)httpget_ask(t->connection, request);
        outcome = httpget_read(t->connection, &response);
        if (outcome != HTTPGET_OK) {
            httpget_response_dispose(&response);
            httpget_close(&t->connection);
        }
    }
    assert_int_equal(outcome, HTTPGET_OK);
    *status = response.status;
    const char *body = response.body.n > 0 ? (const char *)response.body.p : "";
    assert_true(tk_arena_dup(&t->rest.srv.arena, &text, body, strlen(body)));
    httpget_response_dispose(&response);
    return text.p;
}

/* ---- what is open ---- */

typedef enum reason {
    DESCRIBES, /* nothing is computed or stored by it */
    METADATA,  /* names that the user chooses */
    CURSOR,    /* what the server gave out, handed back */
    NOT_HERE   /* refused whatever the body says */
} reason;

static const struct {
    const char *route; /* the end of its path */
    const char *at;    /* the object, or "" for all of the body */
    reason why;
} open_places[] = {
    {"client/config", "", DESCRIBES},
    {"console/login", "", DESCRIBES},
    {"console/logout", "", DESCRIBES},
    {"console/code", "", DESCRIBES},
    {"console/decode", "", DESCRIBES},
    {"client/dynamic_config", "", DESCRIBES},
    {"telemetry", "", DESCRIBES},
    {"create_session", "", DESCRIBES},
    {"session_heartbeat", "", DESCRIBES},
    {"/finish", "", DESCRIBES},
    {"create_model", "user_metadata", METADATA},
    {"load_weights", "user_metadata", METADATA},
    {"save_weights", "user_metadata", METADATA},
    {"save_weights_for_sampler", "user_metadata", METADATA},
    {"sessions/search", "user_metadata", METADATA},
    {"sessions/search", "cursor", CURSOR},
    {"checkpoints/search", "user_metadata", METADATA},
    {"checkpoints/search", "cursor", CURSOR},
    {"/reward", "metadata", METADATA},
    {"create_custom_loss", "", NOT_HERE},
    {"auth/token", "", NOT_HERE},
    {"uploads/x/x", "", NOT_HERE}, /* a file, and its link is not signed */
};

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

static bool is_open(const char *path, const char *at, reason *out)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(open_places); i++) {
        size_t n = strlen(open_places[i].at);
        if (ends_with(path, open_places[i].route) &&
            (n == 0 || strcmp(at, open_places[i].at) == 0)) {
            *out = open_places[i].why;
            return true;
        }
    }
    return false;
}

/* ---- a key in one object ---- */

typedef struct inserter {
    size_t target; /* which object, counted from the outside and from the left */
    const char *value;
    size_t seen;
    char at[256]; /* the keys that lead to it, with dots; no indices */
    tk_json_writer w;
} inserter;

static void write_with(inserter *s, const tk_json *value, const char *at)
{
    char below[256];
    if (value->type == TK_JSON_OBJECT) {
        bool hit = s->seen++ == s->target;
        tk_json_begin_object(&s->w);
        for (size_t i = 0; i < value->as.object.n; i++) {
            const tk_json_member *member = &value->as.object.members[i];
            int n = snprintf(below, sizeof(below), "%s%s%s", at, at[0] != '\0' ? "." : "",
                             member->key.p);
            assert_true(n > 0 && (size_t)n < sizeof(below));
            tk_json_key(&s->w, member->key);
            write_with(s, &member->value, below);
        }
        if (hit) {
            (void)snprintf(s->at, sizeof(s->at), "%s", at);
            tk_json_key(&s->w, TK_STR(KEY));
            if (s->value != NULL) {
                tk_json_put_str(&s->w, tk_str_of(s->value));
            } else {
                tk_json_put_null(&s->w);
            }
        }
        tk_json_end_object(&s->w);
    } else if (tk_json_is_array(value)) {
        tk_json_begin_array(&s->w);
        for (size_t i = 0; i < tk_json_len(value); i++) {
            tk_json item = tk_json_at(value, i);
            write_with(s, &item, at);
        }
        tk_json_end_array(&s->w);
    } else {
        tk_json_put_value(&s->w, value);
    }
}

/* Whether its keys are names of values, none of which may be null. */
static bool is_map(const char *at)
{
    return ends_with(at, "loss_fn_inputs") || ends_with(at, "loss_fn_config") ||
           ends_with(at, "user_metadata");
}

/* Sends the body with the key in its object number `target`; returns how many it has. */
static size_t send_with(fix *t, const char *method, const char *path, const tk_json *body,
                        size_t target, const char *value)
{
    tk_buf out;
    int status = 0;
    reason why = DESCRIBES;
    tk_buf_init(&out, TK_MIB);
    inserter s = {.target = target, .value = value};
    tk_json_writer_init(&s.w, &out);
    write_with(&s, body, "");
    assert_int_equal(tk_json_finish(&s.w, NULL), TINKC_OK);
    if (target < s.seen && !(value == NULL && is_map(s.at))) {
        const httpget_request request = {
            .method = method, .target = path, .body = out.p, .body_n = out.n};
        const char *text = ask(t, &status, &request);
        bool named = status >= 400 && strstr(text, KEY) != NULL;
        bool stays_open = is_open(path, s.at, &why);
        bool refused = (status == 400 || status == 422) && named;
        bool not_here = stays_open && why == NOT_HERE && status >= 400 && status < 500;
        bool right = not_here || (stays_open || value == NULL ? !named : refused);
        if (!right) {
            fail_msg("%s %s: \"%s\": %s in {%s}: %d %s", method, path, KEY,
                     value != NULL ? value : "null", s.at, status, text);
        }
        t->refused += refused;
        t->open += stays_open;
        t->passed += value == NULL;
    }
    tk_buf_dispose(&out);
    return s.seen;
}

static void try_body(fix *t, const char *method, const char *path, const tk_json *body)
{
    size_t n = send_with(t, method, path, body, SIZE_MAX, NULL);
    for (size_t i = 0; i < n; i++) {
        (void)send_with(t, method, path, body, i, "1");
        (void)send_with(t, method, path, body, i, NULL);
    }
}

static const tk_json *parse(fix *t, const char *text)
{
    tk_err err = TK_ERR_INIT;
    const tk_json *json = NULL;
    assert_int_equal(
        tk_json_parse(&json, &t->rest.srv.arena, text, strlen(text), NULL, &err),
        TINKC_OK);
    return json;
}

/* A key without a value asks for nothing. */
static void test_srv_unknown_keys_are_refused(void **state)
{
    fix t;
    open_fix(&t);
    for (size_t i = 0; i < srv_api_routes.n; i++) {
        const hd_route *route = &srv_api_routes.p[i];
        tk_buf path, body;
        if (!bodyfix_is_taken(route)) {
            continue;
        }
        tk_buf_init(&path, TK_KIB);
        tk_buf_init(&body, 64 * TK_KIB);
        bodyfix_path(&path, route->pattern);
        bodyfix_expand(&body, &t.rest, bodyfix_of(route));
        try_body(&t, route->method, path.p, parse(&t, tk_buf_cstr(&body)));
        tk_buf_dispose(&path);
        tk_buf_dispose(&body);
    }
    print_message("%zu objects, %zu of them open\n", t.passed, t.open / 2);
    assert_true(t.refused > 50);
    close_fix(&t);
}

/* ---- recordings ---- */

static void try_recorded(fix *t, const tk_json *request)
{
    char path[512];
    int status = 0;
    const tk_json *body = tk_json_get(request, "body");
    const tk_json *query = tk_json_get(request, "query");
    const char *method = fixture_text(request, "method");
    (void)snprintf(path, sizeof(path), "%s%s%s", fixture_text(request, "path"),
                   query != NULL ? "?" : "", query != NULL ? query->as.string.p : "");
    bool has_body = body != NULL && body->type == TK_JSON_OBJECT;
    if (has_body) {
        try_body(t, method, path, body);
        return;
    }
    const httpget_request plain = {.method = method, .target = path};
    const char *text = ask(t, &status, &plain);
    if (strstr(text, "unknown") != NULL) {
        fail_msg("%s %s: %d %s", method, path, status, text);
    }
}

/* What the SDK sends is known, parameters of queries too. */
static void test_srv_recorded_requests_are_known(void **state)
{
    static const char *const versions[] = {FIXTURE_OLD, FIXTURE_NEW};
    fix t;
    open_fix(&t);
    for (size_t v = 0; v < TK_ARRAY_LEN(versions); v++) {
        tk_arena *arena = &t.rest.srv.arena;
        const tk_json *index = fixture_load(arena, versions[v], "index.json");
        const tk_json *cases = fixture_need(index, "requests");
        for (size_t i = 0; i < tk_json_len(cases); i++) {
            const tk_json *row = fixture_at(arena, cases, i);
            const tk_json *file = fixture_load(arena, versions[v], row->as.string.p);
            const tk_json *requests = fixture_need(file, "requests");
            for (size_t k = 0; k < tk_json_len(requests); k++) {
                try_recorded(&t, fixture_at(arena, requests, k));
            }
        }
    }
    print_message("%zu objects, %zu of them open\n", t.passed, t.open / 2);
    assert_true(t.refused > 100);
    close_fix(&t);
}

/* ---- parameters of queries ---- */

/* Routes that take any: they describe, or refuse whatever is asked. */
static const char *const any_query[] = {
    "client/config",
    "client/dynamic_config",
    "healthz",
    "telemetry",
    "/trace_export",
    "create_custom_loss",
    "/audit",
    "/",
    "/metrics",
    "/apikey/me",
    "uploads/*/*", /* the link is looked at first */
    /* clients add parameters of their own */
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/messages",
    "/v1/messages/count_tokens",
    "/v1/models",
    "/v1/models/*",
    "/v1/models/**",
};

static bool takes_any(const hd_route *route)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(any_query); i++) {
        if (strcmp(route->pattern, "/tinkc/v1/models") == 0) {
            return false;
        }
        bool root = strcmp(any_query[i], "/") == 0;
        if (root ? strcmp(route->pattern, "/") == 0
                 : ends_with(route->pattern, any_query[i])) {
            return true;
        }
    }
    return false;
}

static void test_srv_unknown_parameters_are_refused(void **state)
{
    fix t;
    open_fix(&t);
    for (size_t i = 0; i < srv_api_routes.n; i++) {
        const hd_route *route = &srv_api_routes.p[i];
        tk_buf path;
        int status = 0;
        tk_buf_init(&path, TK_KIB);
        bodyfix_path(&path, route->pattern);
        path.n--;
        tk_buf_puts(&path, "?" KEY "=1");
        const httpget_request request = {.method = route->method,
                                         .target = tk_buf_cstr(&path),
                                         .body = bodyfix_is_taken(route) ? "{}" : NULL};
        const char *text = ask(&t, &status, &request);
        bool named = status == 422 && strstr(text, KEY) != NULL;
        if (named == takes_any(route)) {
            fail_msg("%s %s: %d %s", route->method, route->pattern, status, text);
        }
        tk_buf_dispose(&path);
    }
    close_fix(&t);
}

/* ---- words ---- */

#define INPUT "{\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":[5,7]}]}"
#define TARGETS                                                                          \
    "{\"target_tokens\":{\"data\":[7,8],\"dtype\":\"int64\"},\"weights\":{\"data\":"     \
    "[1.0,1.0],\"dtype\":\"float32\"}}"
#define STEP(inputs, input, loss, more)                                                  \
    "{\"forward_backward_input\":{\"data\":[{\"loss_fn_inputs\":" inputs                 \
    ",\"model_input\":" input "}],\"loss_fn\":\"" loss "\"" more                         \
    "},\"model_id\":\"s:train:0\",\"seq_id\":1}"

static const struct {
    const char *method, *path, *body, *name;
} words[] = {
    {"POST", "forward_backward", STEP(TARGETS, INPUT, "huber", ""), "huber"},
    {"POST", "forward_backward", STEP(TARGETS, INPUT, "stable_reinforce", ""),
     "stable_reinforce"},
    {"POST", "forward_backward",
     STEP(TARGETS, INPUT, "ppo", ",\"loss_fn_config\":{\"clip\":1.0}"), "clip"},
    {"POST", "forward_backward",
     STEP("{\"target_tokens\":{\"data\":[7],\"dtype\":\"int8\"}}", INPUT, "ppo", ""),
     "dtype"},
    {"POST", "forward_backward",
     STEP(TARGETS, "{\"chunks\":[{\"type\":\"video\",\"data\":\"\"}]}", "ppo", ""),
     "video"},
    {"POST", "forward_backward",
     STEP(TARGETS,
          "{\"chunks\":[{\"type\":\"image\",\"format\":\"png\",\"data\":\"AAAA\"}]}",
          "ppo", ""),
     "image"},
    {"POST", "create_model",
     "{\"session_id\":\"s\",\"model_seq_id\":0,\"base_model\":\"" RESTFIX_MODEL
     "\",\"optimizer_config\":{\"type\":\"lion\"}}",
     "lion"},
    {"POST", "create_model",
     "{\"session_id\":\"s\",\"model_seq_id\":0,\"base_model\":\"b\",\"type\":\"make\"}",
     "type"},
    {"POST", "optim_step",
     "{\"model_id\":\"s:train:0\",\"seq_id\":1,\"optimizer_params\":{\"type\":\"lion\","
     "\"learning_rate\":1}}",
     "lion"},
    {"POST", "retrieve_futures",
     "{\"target\":{\"type\":\"model\",\"sampling_session_id\":\"s:sample:0\"}}", "type"},
    {"POST", "checkpoints/search", "{\"checkpoint_type\":\"merged\"}", "checkpoint_type"},
    {"POST", "checkpoints/search", "{\"owner\":{\"type\":\"all\"}}", "owner"},
    {"POST", "sessions/search", "{\"owner\":{\"type\":\"all\"}}", "owner"},
    {"POST", "sessions/search", "{\"statuses\":[{\"type\":\"asleep\"}]}", "statuses"},
    {"POST", "sessions/search",
     "{\"statuses\":[{\"type\":\"client_finished\",\"reasons\":[\"bored\"]}]}",
     "reasons"},
    {"POST", "sessions/search",
     "{\"statuses\":[{\"type\":\"active\",\"reasons\":[\"success\"]}]}", "reasons"},
    {"POST", "sessions/s/finish", "{\"reason\":{\"type\":\"bored\"}}", "reason"},
    {"GET", "training_runs?access_scope=all", NULL, "access_scope"},
    {"GET", "sessions?access_scope=all", NULL, "access_scope"},
    {"GET", "sessions/s?access_scope=all", NULL, "access_scope"},
    {"GET", "training_runs/s:train:0?access_scope=", NULL, "access_scope"},
};

static void test_srv_unknown_words_are_refused(void **state)
{
    fix t;
    open_fix(&t);
    for (size_t i = 0; i < TK_ARRAY_LEN(words); i++) {
        char path[128];
        int status = 0;
        (void)snprintf(path, sizeof(path), API "%s", words[i].path);
        const httpget_request request = {
            .method = words[i].method, .target = path, .body = words[i].body};
        const char *text = ask(&t, &status, &request);
        if ((status != 400 && status != 422) || strstr(text, words[i].name) == NULL) {
            fail_msg("%s %s: %d %s", path, words[i].body != NULL ? words[i].body : "",
                     status, text);
        }
    }
    close_fix(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_unknown_keys_are_refused),
        cmocka_unit_test(test_srv_recorded_requests_are_known),
        cmocka_unit_test(test_srv_unknown_parameters_are_refused),
        cmocka_unit_test(test_srv_unknown_words_are_refused),
    };
    return cmocka_run_group_tests_name("srv_unknown", tests, NULL, NULL);
}
