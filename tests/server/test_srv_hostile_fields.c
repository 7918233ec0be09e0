/* Every route with an honest body that is spoiled in one place: wrong types and
 * numbers beyond all bounds for each field, names that try paths, cut protobuf and zstd.
 * Never a 5xx, and the same server then trains, saves and samples as ever.
 * Links: wire */
#include "server/bodyfix.h"
#include "wire/pb_fwdbwd.h"
#include "wire/zstd.h"

/* ---- a server, and requests on one connection ---- */

typedef struct fix {
    restfix rest;
    httpget *connection;
    size_t n; /* requests so far */
} fix;

static void open_fix(fix *t)
{
    *t = (fix){0};
    restfix_open(&t->rest);
    restfix_save(&t->rest, 1, "save_weights", "\"path\":\"honest\"");
}

static void close_fix(fix *t)
{
    httpget_close(&t->connection);
    srvfix_close(&t->rest.srv);
}

/* The status; a 5xx that does not say "this is not served here" fails the test. A server
 * may close after an answer: then the next request has a new connection. */
static int ask(fix *t, const httpget_request *request)
{
    int port = srvfix_port(&t->rest.srv);
    httpget_response response;
    httpget_outcome outcome = HTTPGET_CLOSED;
    for (int i = 0; i < 2 && outcome != HTTPGET_OK; i++) {
        if (t->connection == NULL) {
            t->connection = httpget_connect(port);
        }
        (void)httpget_ask(t->connection, request);
        outcome = httpget_read(t->connection, &response);
        if (outcome != HTTPGET_OK) {
            httpget_response_dispose(&response);
            httpget_close(&t->connection);
        }
    }
    const char *body = request->body != NULL ? request->body : "";
    if (outcome != HTTPGET_OK) {
        fail_msg("%s %s: no answer for %.200s", request->method, request->target, body);
    }
    int status = response.status;
    if (status >= 500) {
        fail_msg("%s %s: %d %s for %.200s", request->method, request->target, status,
                 response.body.p, body);
    }
    if (status >= 400) {
        assert_true(response.has_length && response.length > 0);
    }
    httpget_response_dispose(&response);
    t->n++;
    return status;
}

static int send_body(fix *t, const hd_route *route, tk_str body, const char *headers)
{
    tk_buf path;
    tk_buf_init(&path, TK_KIB);
    bodyfix_path(&path, route->pattern);
    const httpget_request request = {.method = route->method,
                                     .target = path.p,
                                     .body = body.p,
                                     .body_n = body.n,
                                     .headers = headers};
    int status = ask(t, &request);
    tk_buf_dispose(&path);
    return status;
}

/* ---- spoiled in one place ---- */

typedef struct spoiler {
    size_t at; /* which value, counted from the outside and from the left */
    const tk_json *with;
    size_t seen;
    tk_json_writer w;
} spoiler;

static void write_spoiled(spoiler *s, const tk_json *value)
{
    if (s->seen++ == s->at) {
        tk_json_put_value(&s->w, s->with);
        return;
    }
    if (value->type == TK_JSON_OBJECT) {
        tk_json_begin_object(&s->w);
        for (size_t i = 0; i < value->as.object.n; i++) {
            tk_json_key(&s->w, value->as.object.members[i].key);
            write_spoiled(s, &value->as.object.members[i].value);
        }
        tk_json_end_object(&s->w);
    } else if (tk_json_is_array(value)) {
        tk_json_begin_array(&s->w);
        for (size_t i = 0; i < tk_json_len(value); i++) {
            tk_json item = tk_json_at(value, i);
            write_spoiled(s, &item);
        }
        tk_json_end_array(&s->w);
    } else {
        tk_json_put_value(&s->w, value);
    }
}

static const char *const wrong[] = {
    "null",
    "true",
    "-1",
    "9223372036854775807",
    "18446744073709551616",
    "1e308",
    "\"\"",
    "\"../../etc\\u0000\"",
    "[]",
    "[[[{}]]]",
    "{\"a\":{}}",
};

static const tk_json *parse(fix *t, const char *text)
{
    tk_err err = TK_ERR_INIT;
    const tk_json *json = NULL;
    assert_int_equal(
        tk_json_parse(&json, &t->rest.srv.arena, text, strlen(text), NULL, &err),
        TINKC_OK);
    return json;
}

/* How many values the body has. */
static size_t spoil(fix *t, const hd_route *route, const tk_json *body, size_t at,
                    const tk_json *with)
{
    tk_buf out;
    tk_buf_init(&out, TK_MIB);
    spoiler s = {.at = at, .with = with};
    tk_json_writer_init(&s.w, &out);
    write_spoiled(&s, body);
    assert_int_equal(tk_json_finish(&s.w, NULL), TINKC_OK);
    (void)send_body(t, route, tk_buf_str(&out), NULL);
    tk_buf_dispose(&out);
    return s.seen;
}

static void spoil_route(fix *t, const hd_route *route)
{
    tk_buf text;
    tk_buf_init(&text, 64 * TK_KIB);
    bodyfix_expand(&text, &t->rest, bodyfix_of(route));
    tk_buf_put(&text, "", 1);
    const tk_json *body = parse(t, text.p);
    for (size_t i = 0; i < TK_ARRAY_LEN(wrong); i++) {
        const tk_json *with = parse(t, wrong[i]);
        size_t n = spoil(t, route, body, SIZE_MAX, with);
        for (size_t at = 0; at < n; at++) {
            (void)spoil(t, route, body, at, with);
        }
    }
    tk_buf_dispose(&text);
}

/* A run, a step, a save and a sample in a new session. */
static void expect_service(fix *t)
{
    restfix *r = &t->rest;
    tk_buf body;
    tk_buf_init(&body, 64 * TK_KIB);
    (void)snprintf(r->session, sizeof(r->session), "%s", srvfix_session(&r->srv));
    restfix_run(r, 0);
    bodyfix_expand(&body, &t->rest,
                   "{\"forward_backward_input\":{\"data\":[" DATUM "],\"loss_fn\":"
                   "\"cross_entropy\"},\"model_id\":\"$M\",\"seq_id\":1}");
    tk_buf_put(&body, "", 1);
    (void)restfix_result(&r->srv, srvfix_post(&r->srv, API "forward_backward", body.p));
    restfix_save(r, 2, "save_weights", "\"path\":\"after\"");
    tk_buf_clear(&body);
    bodyfix_expand(&body, &t->rest,
                   "{\"num_samples\":1,\"prompt\":" CHUNKS
                   ",\"sampling_params\":{\"max_tokens\":"
                   "2},\"model_path\":\"tinker://$M/weights/after\"}");
    tk_buf_put(&body, "", 1);
    (void)restfix_result(&r->srv, srvfix_post(&r->srv, API "asample", body.p));
    tk_buf_dispose(&body);
}

/* S-013. */
static void test_srv_fields_are_spoiled(void **state)
{
    fix t;
    open_fix(&t);
    for (size_t i = 0; i < srv_api_routes.n; i++) {
        if (bodyfix_is_taken(&srv_api_routes.p[i])) {
            spoil_route(&t, &srv_api_routes.p[i]);
        }
    }
    print_message("%zu spoiled bodies\n", t.n);
    assert_true(t.n > 1000);
    expect_service(&t);
    close_fix(&t);
}

/* ---- names that try paths ---- */

static const char *const names[] = {
    "..",
    "../../x",
    "/etc/passwd",
    "a/b",
    "a\\\\b",
    "%2e%2e",
    "%2e%2e%2fx",
    "\\u0000",
    "a\\u0000",
    ".",
    "",
    "~",
    "a:b",
    "\\ud83d\\ude00",
    "a\\nb",
    "'; DROP TABLE x",
    "con ",
    "-rf",
};

static int post(fix *t, const char *path, const char *format, const char *name)
{
    tk_buf body;
    tk_buf_init(&body, 64 * TK_KIB);
    for (const char *p = format; *p != '\0'; p++) {
        if (*p == '@') {
            tk_buf_puts(&body, name);
        } else {
            const char one[3] = {p[0], p[0] == '$' ? p[1] : '\0', '\0'};
            bodyfix_expand(&body, &t->rest, one);
            p += p[0] == '$';
        }
    }
    const httpget_request request = {
        .method = "POST", .target = path, .body = body.p, .body_n = body.n};
    int status = ask(t, &request);
    tk_buf_dispose(&body);
    return status;
}

static void try_name(fix *t, const char *name, bool may_save)
{
    static const struct {
        const char *path, *body;
    } readers[] = {
        {API "weights_info", "{\"tinker_path\":\"tinker://$M/weights/@\"}"},
        {API "weights_info", "{\"tinker_path\":\"tinker://@/weights/honest\"}"},
        {API "weights_info", "{\"tinker_path\":\"@\"}"},
        {API "create_sampling_session",
         "{\"session_id\":\"$S\",\"sampling_session_seq_id\":1,\"model_path\":"
         "\"tinker://$M/weights/@\"}"},
        {API "asample", "{\"prompt\":" CHUNKS ",\"sampling_params\":{\"max_tokens\":1},"
                        "\"model_path\":\"tinker://@/sampler_weights/@\"}"},
        {API "create_model", "{\"session_id\":\"@\",\"model_seq_id\":0,\"base_model\":"
                             "\"" RESTFIX_MODEL "\"}"},
        {API "create_model",
         "{\"session_id\":\"$S\",\"model_seq_id\":3,\"base_model\":\"@\"}"},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(readers); i++) {
        int status = post(t, readers[i].path, readers[i].body, name);
        if (status < 400) {
            fail_msg("%s: %d for the name %s", readers[i].path, status, name);
        }
    }
    static const char *const saves[] = {API "save_weights",
                                        API "save_weights_for_sampler"};
    for (size_t i = 0; i < TK_ARRAY_LEN(saves); i++) {
        int status =
            post(t, saves[i], "{\"model_id\":\"$M\",\"path\":\"@\",\"seq_id\":2}", name);
        if (status < 400 && !may_save) {
            fail_msg("%s: %d for the name %s", saves[i], status, name);
        }
    }
}

/* A load is taken; what it finds is in its result. */
static void try_load(fix *t, const char *name, int seq)
{
    srvfix *f = &t->rest.srv;
    char format[256], body[128];
    (void)snprintf(format, sizeof(format),
                   "{\"model_id\":\"$M\",\"seq_id\":%d,\"optimizer\":false,"
                   "\"path\":\"tinker://$M/weights/@\"}",
                   seq);
    if (post(t, API "load_weights", format, name) != 200) {
        return;
    }
    const tk_json *json;
    (void)snprintf(body, sizeof(body), "{\"request_id\":\"%s:%d\"}", t->rest.run, seq);
    do {
        json = srvfix_post(f, API "retrieve_future", body);
    } while (f->status == 408);
    assert_int_equal(f->status, 200);
    assert_string_equal(srvfix_text(json, "category"), "user");
}

/* No file lies beside the directories of this server's run. */
static void expect_no_strays(const fix *t)
{
    char command[512];
    (void)snprintf(
        command, sizeof(command),
        "cd %s/checkpoints && test \"$(find . -mindepth 1 -maxdepth 1 ! -name .work)\""
        " = \"./%s\" && test \"$(find . -mindepth 3 -maxdepth 3 | wc -l)\" = 1",
        t->rest.srv.data, t->rest.run);
    assert_int_equal(system(command), 0);
}

/* S-013. */
static void test_srv_names_are_no_paths(void **state)
{
    fix t;
    static char longest[20001];
    open_fix(&t);
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        try_name(&t, names[i], strcmp(names[i], "-rf") == 0);
        try_load(&t, names[i], 10 + (int)i);
    }
    memset(longest, 'a', sizeof(longest) - 1);
    try_name(&t, longest, false);
    longest[256] = '\0';
    try_name(&t, longest, false);
    close_fix(&t);
}

/* ---- names in paths of URLs ---- */

/* S-013. */
static void test_srv_urls_are_no_paths(void **state)
{
    fix t;
    static char longest[9001];
    static const char *const fillers[] = {
        "..",        "%2e%2e",       "..%2f..%2f..%2fetc%2fpasswd",
        "%2e%2e%2f", "%00",          "a%00b",
        "%2Fetc%2F", "....//....//", "%c0%ae%c0%ae",
        longest,
    };
    static const char *const queries[] = {
        "?limit=99999999999999999999999&offset=-1",
        "?limit=9223372036854775807&offset=9223372036854775807",
        "?limit=-5&offset=x&access_scope=%00&project_id=..",
        "?starting_on=&ending_before=9999-99-99T99:99:99Z",
        "?starting_on=-292277022657-01-27T08:00:00Z&ending_before=2026-01-01T00:00:00Z",
        "?a&b&c&d&e&f&g&h&i&j&k&l&m&n&o&p&q&r&s&t",
        "?expires=1&signature=0",
    };
    memset(longest, 'a', sizeof(longest) - 1);
    open_fix(&t);
    for (size_t r = 0; r < srv_api_routes.n; r++) {
        const hd_route *route = &srv_api_routes.p[r];
        tk_buf path;
        tk_buf_init(&path, 64 * TK_KIB);
        for (size_t i = 0; i < TK_ARRAY_LEN(fillers) + TK_ARRAY_LEN(queries); i++) {
            bool query = i >= TK_ARRAY_LEN(fillers);
            const char *filler = query ? "x" : fillers[i];
            tk_buf_clear(&path);
            for (const char *p = route->pattern; *p != '\0'; p++) {
                tk_buf_put(&path, *p == '*' ? filler : p, *p == '*' ? strlen(filler) : 1);
            }
            tk_buf_puts(&path, query ? queries[i - TK_ARRAY_LEN(fillers)] : "");
            tk_buf_put(&path, "", 1);
            const httpget_request request = {
                .method = route->method, .target = path.p, .body = "{}"};
            int status = ask(&t, &request);
            if (!query && strchr(route->pattern, '*') != NULL && status < 400) {
                bool empty = strstr(route->pattern, "/checkpoints") != NULL;
                if (!empty) { /* an unknown run has an empty list */
                    fail_msg("%s %s: %d", route->method, path.p, status);
                }
            }
        }
        tk_buf_dispose(&path);
    }
    expect_no_strays(&t);
    expect_service(&t);
    close_fix(&t);
}

/* ---- cut protobuf and zstd ---- */

static void encode(tk_buf *out, const fix *t, int64_t seq)
{
    static const int32_t tokens[] = {5, 7, 9};
    static const int64_t targets[] = {7, 9, 11};
    static const float weights[] = {1, 1, 1};
    const tk_chunk chunk = {.kind = TK_CHUNK_TEXT, .tokens = {tokens, 3}};
    const tk_named_tensor inputs[] = {
        {TK_STR("target_tokens"), {.dtype = TK_DTYPE_I64, .data = targets, .n = 3}},
        {TK_STR("weights"), {.dtype = TK_DTYPE_F32, .data = weights, .n = 3}},
    };
    const tk_datum datum = {.model_input = {&chunk, 1}, .loss_fn_inputs = {inputs, 2}};
    const tk_fwdbwd_request request = {.data = &datum,
                                       .data_n = 1,
                                       .loss_fn = TK_STR("cross_entropy"),
                                       .model_id = tk_str_of(t->rest.run),
                                       .seq_id = seq};
    tk_err err = TK_ERR_INIT;
    assert_int_equal(tk_pb_fwdbwd_encode(out, &request, &err), TINKC_OK);
}

static int send_proto(fix *t, const char *target, tk_str body, bool packed)
{
    const httpget_request request = {.method = "POST",
                                     .target = target,
                                     .body = body.n > 0 ? body.p : "",
                                     .body_n = body.n,
                                     .headers =
                                         packed ? "Content-Encoding: zstd\r\n" : NULL,
                                     .content_type = "application/x-protobuf"};
    return ask(t, &request);
}

/* Every beginning of a message, and the message with each byte turned over. What is still
 * a message is taken or refused; the whole one then works. */
static void cut_and_turn(fix *t, const tk_buf *whole, bool packed)
{
    for (size_t n = 0; n < whole->n; n++) {
        int status = send_proto(t, API "forward_backward", (tk_str){whole->p, n}, packed);
        assert_true(status == 422 || (!packed && status < 500));
    }
    char *turned = whole->p;
    for (size_t i = 0; i < whole->n; i++) {
        turned[i] = (char)(turned[i] ^ 0x55);
        (void)send_proto(t, API "forward", tk_buf_str(whole), packed);
        turned[i] = (char)(turned[i] ^ 0x55);
    }
}

static void test_srv_protobuf_is_cut(void **state)
{
    fix t;
    tk_buf plain, packed;
    tk_zstd zstd;
    tk_err err = TK_ERR_INIT;
    open_fix(&t);
    tk_buf_init(&plain, TK_MIB);
    tk_buf_init(&packed, TK_MIB);
    tk_zstd_init(&zstd);
    encode(&plain, &t, 2);
    const tk_bytes bytes = {(const unsigned char *)plain.p, plain.n};
    assert_int_equal(tk_zstd_compress(&zstd, &packed, bytes, 0, &err), TINKC_OK);
    cut_and_turn(&t, &plain, false);
    cut_and_turn(&t, &packed, true);
    /* Beginnings that are whole messages were taken: a number that none of them has. */
    tk_buf_clear(&plain);
    encode(&plain, &t, 100000);
    assert_int_equal(send_proto(&t, API "forward_backward", tk_buf_str(&plain), false),
                     200);
    tk_zstd_dispose(&zstd);
    tk_buf_dispose(&plain);
    tk_buf_dispose(&packed);
    expect_service(&t);
    close_fix(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_fields_are_spoiled),
        cmocka_unit_test(test_srv_names_are_no_paths),
        cmocka_unit_test(test_srv_urls_are_no_paths),
        cmocka_unit_test(test_srv_protobuf_is_cut),
    };
    return cmocka_run_group_tests_name("srv_hostile_fields", tests, NULL, NULL);
}
