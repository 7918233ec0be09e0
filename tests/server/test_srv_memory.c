/* The server's memory under attack: what each route allocates is counted, and what does
 * not fit is refused, with the reason.
 * Links: wire */
#include <sched.h>
#include <unistd.h>

#include "base/mem.h"
#include "httpd/hd_http.h"
#include "server/api/srv_api.h"
#include "server/run/srv_state.h"
#include "server/wirefix.h"
#include "support/failmem.h"
#include "wire/zstd.h"

#define MEMORY (192 * TK_MIB)

/* What a route allocates may exceed what was counted by this much: strings and records of
 * a fixed size, and the copies that malloc makes while a block grows. */
#define FACTOR 1.25
#define SLACK  (192 * TK_KIB)

typedef struct attack {
    const char *name;
    const char *method;
    const char *target;
    tk_str body;
    const char *headers;
    const char *type;
} attack;

static hd_budget *memory_of(fix *t)
{
    return &t->f.server->memory;
}

static size_t used(fix *t, unsigned part)
{
    return atomic_load(&memory_of(t)->parts[part].used);
}

/* ---- bodies ---- */

/* {"x":[[],[],...]}: the JSON that needs the most memory for a byte. */
static void put_brackets(tk_buf *out, size_t n)
{
    tk_buf_puts(out, "{\"x\":[[]");
    while (out->n + 5 < n) {
        tk_buf_puts(out, ",[]");
    }
    tk_buf_puts(out, "]}");
}

static void put_zstd(tk_buf *out, tk_str text)
{
    tk_zstd zstd;
    tk_err err = TK_ERR_INIT;
    tk_zstd_init(&zstd);
    const tk_bytes bytes = {(const unsigned char *)text.p, text.n};
    assert_int_equal(tk_zstd_compress(&zstd, out, bytes, 0, &err), TINKC_OK);
    tk_zstd_dispose(&zstd);
}

static void put_tokens(tk_buf *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        tk_buf_puts(out, i > 0 ? ",5" : "5");
    }
}

/* A sample that asks for the scores of many tokens at each place of its prompt, or of its
 * samples. */
static void put_scores(tk_buf *out, size_t prompt, int tokens, const char *more)
{
    tk_buf_printf(out,
                  "{\"base_model\":\"" MODEL "\",\"prompt\":{\"chunks\":[{\"tokens\":[");
    put_tokens(out, prompt);
    tk_buf_printf(out,
                  "],\"type\":\"encoded_text\"}]},\"sampling_params\":{\"max_tokens\":%d,"
                  "\"stop\":[]},%s",
                  tokens, more);
}

/* Named tokens at each place of its prompt. */
static void put_targets(tk_buf *out, size_t prompt, size_t columns)
{
    put_scores(out, prompt, 1, "\"target_prompt_logprobs\":{\"dtype\":\"int64\",");
    tk_buf_printf(out, "\"shape\":[%zu,%zu],\"data\":[", prompt - 1, columns);
    put_tokens(out, (prompt - 1) * columns);
    tk_buf_puts(out, "]}}");
}

/* A training request with `columns` targets for each of `rows` tokens, all but one of
 * which are not sent. */
static void put_sparse(fix *t, tk_buf *out, size_t rows, size_t columns)
{
    const char *names[] = {"target_tokens", "weights"};
    tk_buf_puts(out, "{\"forward_input\":{\"data\":[{\"loss_fn_inputs\":{");
    for (size_t i = 0; i < 2; i++) {
        char head[256];
        (void)snprintf(head, sizeof(head), "%s\"%s\":", i > 0 ? "," : "", names[i]);
        tk_buf_puts(out, head);
        tk_buf_printf(out,
                      "{\"data\":[%s],\"dtype\":\"%s\",\"shape\":[%zu,%zu],"
                      "\"sparse_crow_indices\":[0",
                      i == 0 ? "7" : "1.0", i == 0 ? "int64" : "float32", rows, columns);
        for (size_t r = 0; r < rows; r++) {
            tk_buf_puts(out, ",1");
        }
        tk_buf_puts(out, "],\"sparse_col_indices\":[0]}");
    }
    tk_buf_puts(out, "},\"model_input\":{\"chunks\":[{\"tokens\":[");
    put_tokens(out, rows);
    tk_buf_printf(out,
                  "],\"type\":\"encoded_text\"}]}}],\"loss_fn\":\"cross_entropy\"},"
                  "\"model_id\":\"%s\"}",
                  t->model);
}

/* ---- one attack ---- */

/* Sends it, and waits for the work that it began. Returns the status. */
static int run(fix *t, const attack *a)
{
    httpget_response response;
    const httpget_request request = {.method = a->method,
                                     .target = a->target,
                                     .body = a->body.p,
                                     .body_n = a->body.n,
                                     .headers = a->headers,
                                     .content_type = a->type};
    assert_int_equal(httpget_once(srvfix_port(&t->f), &request, &response), HTTPGET_OK);
    int status = response.status;
    const tk_json *json = NULL;
    tk_err err = TK_ERR_INIT;
    if (status == 200 && tk_json_parse(&json, &t->f.arena, response.body.p,
                                       response.body.n, NULL, &err) == TINKC_OK) {
        const tk_json *id = tk_json_get(json, "request_id");
        if (id != NULL) {
            (void)result_of(t, id->as.string.p);
        }
    }
    httpget_response_dispose(&response);
    return status;
}

/* Waits until the memory of the requests before is given back. */
static void settle(fix *t)
{
    hd_http_stats stats;
    do {
        (void)sched_yield();
        hd_http_get_stats(t->f.server->http, &stats);
    } while (stats.active > 0 || stats.conns.open > 0);
}

/* Prints one line of the table; false when more was allocated than counted. */
static bool measure(fix *t, const attack *a)
{
    hd_budget *memory = memory_of(t);
    settle(t);
    size_t counted = atomic_load(&memory->used);
    atomic_store(&memory->peak, counted);
    size_t allocated = failmem_begin_peak();
    int status = run(t, a);
    counted = atomic_load(&memory->peak) - counted;
    allocated = failmem_peak_bytes() - allocated;
    bool ok = (double)allocated <= FACTOR * (double)counted + (double)SLACK;
    print_message("%-6s %-52s %-9s %3d %8zu %10zu %10zu%s\n", a->method, a->target,
                  a->name, status, a->body.n, counted, allocated, ok ? "" : " <<<");
    return ok;
}

static void fill(char *out, size_t size, const char *pattern)
{
    size_t n = 0;
    for (const char *p = pattern; *p != '\0' && n + 16 < size; p++) {
        if (p[0] == '*' && p[1] == '*') {
            n += (size_t)snprintf(out + n, size - n, "weights/x");
            p++;
        } else {
            out[n++] = *p != '*' ? *p : 'x';
        }
    }
    out[n] = '\0';
}

static void start(fix *t)
{
    failmem_exempt_thread();
    failmem_start();
    open_fix(t, (srv_options){.memory_bytes = MEMORY, .poll_ms = 100});
}

static void stop(fix *t)
{
    close_fix(t);
    (void)failmem_stop();
}

/* S-019: asks every route for the most memory per byte sent, and prints what it took. */
static void test_srv_memory_of_every_route(void **state)
{
    fix t;
    tk_buf brackets, packed, scores, drawn, sampled, named, sparse;
    size_t bad = 0;
    start(&t);
    tk_buf_init(&brackets, TK_MIB);
    tk_buf_init(&packed, TK_MIB);
    tk_buf_init(&scores, TK_MIB);
    tk_buf_init(&drawn, TK_MIB);
    tk_buf_init(&sampled, TK_MIB);
    tk_buf_init(&named, TK_MIB);
    tk_buf_init(&sparse, TK_MIB);
    put_brackets(&brackets, 256 * TK_KIB);
    put_zstd(&packed, tk_buf_str(&brackets));
    put_scores(&scores, 64, 1, "\"topk_prompt_logprobs\":1000}");
    put_scores(&drawn, 64, 1, "\"prompt_alt_tokens_k\":4000}");
    put_scores(&sampled, 2, 40, "\"num_samples\":3,\"topk_sample_logprobs\":800}");
    put_targets(&named, 64, 800);
    put_sparse(&t, &sparse, 16, 4096);
    for (size_t i = 0; i < 2;
         i++) { /* the engine's working memory is there from now on */
        const attack first = {"",
                              "POST",
                              i > 0 ? API "forward" : API "asample",
                              tk_buf_str(i > 0 ? &sparse : &scores),
                              NULL,
                              NULL};
        assert_int_equal(run(&t, &first), 200);
    }
    print_message("%-6s %-52s %-9s %3s %8s %10s %10s\n", "method", "route", "attack", "",
                  "sent", "counted", "allocated");
    for (size_t i = 0; i < srv_api_routes.n; i++) {
        char target[256];
        const hd_route *route = &srv_api_routes.p[i];
        fill(target, sizeof(target), route->pattern);
        attack a = {"json", route->method, target, tk_buf_str(&brackets), NULL, NULL};
        bad += !measure(&t, &a);
        a.name = "zstd";
        a.body = tk_buf_str(&packed);
        a.headers = "Content-Encoding: zstd\r\n";
        bad += (route->flags & HD_ROUTE_HEAVY) != 0 && !measure(&t, &a);
    }
    const attack others[] = {
        {"scores", "POST", API "asample", tk_buf_str(&scores), NULL, NULL},
        {"drawn", "POST", API "asample", tk_buf_str(&drawn), NULL, NULL},
        {"sampled", "POST", API "asample", tk_buf_str(&sampled), NULL, NULL},
        {"named", "POST", API "asample", tk_buf_str(&named), NULL, NULL},
        {"sparse", "POST", API "forward", tk_buf_str(&sparse), NULL, NULL},
        {"rank", "POST", API "create_model",
         tk_str_of(create_body(&t, 1, "{\"rank\":64}")), NULL, NULL},
        {"sampler", "POST", API "save_weights_for_sampler",
         tk_str_of(format_body(
             &t, "{\"model_id\":\"%s\",\"sampling_session_seq_id\":7,\"seq_id\":99}",
             t.model)),
         NULL, NULL},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(others); i++) {
        bad += !measure(&t, &others[i]);
    }
    tk_buf_dispose(&brackets);
    tk_buf_dispose(&packed);
    tk_buf_dispose(&scores);
    tk_buf_dispose(&drawn);
    tk_buf_dispose(&sampled);
    tk_buf_dispose(&named);
    tk_buf_dispose(&sparse);
    stop(&t);
    assert_int_equal(bad, 0);
}

/* ---- what does not fit ---- */

/* S-024: a few bytes that unpack to more than there is: 429 before it is there, and everything
 * is given back. */
static void test_srv_memory_refuses_bombs(void **state)
{
    fix t;
    tk_buf bomb, frames;
    start(&t);
    const size_t frame = 8 * TK_MIB;
    char *spaces = malloc(frame);
    assert_non_null(spaces);
    memset(spaces, ' ', frame);
    tk_buf_init(&bomb, TK_MIB);
    tk_buf_init(&frames, TK_MIB);
    put_zstd(&frames, (tk_str){spaces, frame});
    for (int i = 0; i < 64; i++) {
        tk_buf_put(&bomb, frames.p, frames.n);
    }
    free(spaces);
    const attack a = {
        "bomb", "POST", API "forward", tk_buf_str(&bomb), "Content-Encoding: zstd\r\n",
        NULL};
    settle(&t);
    size_t before = used(&t, HD_PART_REQUESTS);
    size_t allocated = failmem_begin_peak();
    assert_int_equal(run(&t, &a), 429);
    assert_true(failmem_peak_bytes() - allocated < MEMORY / 2 + 2 * TK_MIB);
    settle(&t);
    assert_int_equal(used(&t, HD_PART_REQUESTS), before);
    tk_buf_dispose(&bomb);
    tk_buf_dispose(&frames);
    stop(&t);
}

/* S-019: models count with gradients and moments: the one too many is refused with
 * both numbers, and an unloaded one makes room. */
static void test_srv_memory_refuses_models(void **state)
{
    fix t;
    const tk_json *json = NULL;
    int n = 1;
    start(&t);
    for (t.f.status = 200; t.f.status == 200 && n < 64; n++) {
        json =
            srvfix_post(&t.f, API "create_model", create_body(&t, n, "{\"rank\":256}"));
        if (t.f.status == 200) {
            (void)result_of(&t, srvfix_text(json, "request_id"));
        }
    }
    assert_int_equal(t.f.status, 429);
    assert_non_null(
        strstr(srvfix_text(json, "detail"), "MiB of memory; this server has"));
    assert_in_range(n, 3, 60);
    assert_true(used(&t, SRV_PART_ADAPTERS) < MEMORY);
    json = srvfix_post(&t.f, API "create_model", create_body(&t, 99, "{\"rank\":4096}"));
    assert_int_equal(t.f.status, 400);
    (void)result_of(&t,
                    submit(&t, API "unload_model",
                           format_body(&t, "{\"model_id\":\"%s:train:1\"}", t.session)));
    json = srvfix_post(&t.f, API "create_model", create_body(&t, 100, "{\"rank\":256}"));
    assert_int_equal(t.f.status, 200);
    stop(&t);
}

/* The engine computes with more for a large rank, and gives it back with the last weights
 * of that rank: the model's, or those of a sampler that was made from it. */
static void test_srv_memory_is_not_kept_by_unloaded_models(void **state)
{
    fix t;
    start(&t);
    size_t before = used(&t, SRV_PART_WORK);
    (void)result_of(&t,
                    submit(&t, API "create_model", create_body(&t, 1, "{\"rank\":128}")));
    size_t large = used(&t, SRV_PART_WORK);
    assert_true(large > before);
    (void)result_of(&t, submit(&t, API "save_weights_for_sampler",
                               format_body(&t,
                                           "{\"model_id\":\"%s:train:1\",\"seq_id\":1,"
                                           "\"sampling_session_seq_id\":1}",
                                           t.session)));
    (void)result_of(&t,
                    submit(&t, API "unload_model",
                           format_body(&t, "{\"model_id\":\"%s:train:1\"}", t.session)));
    assert_int_equal(used(&t, SRV_PART_WORK), large);
    (void)result_of(&t,
                    submit(&t, API "create_model", create_body(&t, 2, "{\"rank\":160}")));
    assert_true(used(&t, SRV_PART_WORK) > large);
    (void)result_of(&t,
                    submit(&t, API "unload_model",
                           format_body(&t, "{\"model_id\":\"%s:train:2\"}", t.session)));
    assert_int_equal(used(&t, SRV_PART_WORK), large);
    stop(&t);
}

/* Work that was accepted waits for memory: a load and a sampler do not fail because
 * others have it at that moment. */
static void test_srv_memory_is_waited_for(void **state)
{
    fix t;
    start(&t);
    hd_budget *memory = memory_of(&t);
    (void)result_of(&t, submit(&t, API "save_weights", save_body(&t, 1, "false")));
    /* everything but the reserve for small blocks */
    size_t rest = memory->max - memory->max / 8 - atomic_load(&memory->used);
    hd_budget_add(memory, SRV_PART_JOBS, rest);
    const char *ids[] = {
        submit(&t, API "load_weights",
               format_body(&t,
                           "{\"model_id\":\"%s\",\"seq_id\":2,\"optimizer\":true,"
                           "\"path\":\"tinker://%s/weights/n\"}",
                           t.model, t.model)),
        submit(&t, API "save_weights_for_sampler",
               format_body(&t,
                           "{\"model_id\":\"%s\",\"seq_id\":3,"
                           "\"sampling_session_seq_id\":1}",
                           t.model)),
    };
    for (int i = 0; i < 2; i++) {
        const tk_json *json =
            srvfix_post(&t.f, API "retrieve_future",
                        format_body(&t, "{\"request_id\":\"%s\"}", ids[0]));
        assert_int_equal(t.f.status, 408);
        assert_string_equal(srvfix_text(json, "queue_state"), "paused_capacity");
    }
    hd_budget_give(memory, SRV_PART_JOBS, rest);
    assert_non_null(tk_json_get(result_of(&t, ids[0]), "path"));
    assert_non_null(tk_json_get(result_of(&t, ids[1]), "sampling_session_id"));
    stop(&t);
}

/* S-019: a request whose tensors would fill the memory when they are written out. */
static void test_srv_memory_refuses_sparse_tensors(void **state)
{
    fix t;
    tk_buf body;
    start(&t);
    tk_buf_init(&body, TK_MIB);
    put_sparse(&t, &body, 16, 1 << 22);
    const attack a = {"sparse", "POST", API "forward", tk_buf_str(&body), NULL, NULL};
    settle(&t);
    size_t allocated = failmem_begin_peak();
    assert_int_equal(run(&t, &a), 400);
    assert_true(failmem_peak_bytes() - allocated < TK_MIB);
    tk_buf_dispose(&body);
    stop(&t);
}

/* Trains on `n` tokens, with more inputs. */
static void put_refused(fix *t, tk_buf *out, size_t n, const char *extra)
{
    tk_buf_printf(out,
                  "{\"model_id\":\"%s:train:1\",\"seq_id\":%zu,"
                  "\"forward_backward_input\":{\"loss_fn\":\"cross_entropy\",\"data\":["
                  "{\"model_input\":{\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":[",
                  t->session, n);
    put_tokens(out, n);
    tk_buf_printf(out, "]}]},\"loss_fn_inputs\":{%s\"target_tokens\":{\"data\":[", extra);
    put_tokens(out, n);
    tk_buf_printf(out, "],\"dtype\":\"int64\",\"shape\":[%zu]}}}]}}", n);
}

/* What a request that is refused would have computed with is free again: it must not keep
 * the memory from the requests of others. */
static void test_srv_memory_is_not_kept_by_refused_requests(void **state)
{
    static const struct {
        size_t n;
        const char *extra;
    } rows[] = {{3000, ""}, {1000, "\"weight\":{\"data\":[1],\"dtype\":\"float32\"},"}};
    fix t;
    start(&t);
    (void)result_of(&t,
                    submit(&t, API "create_model", create_body(&t, 1, "{\"rank\":8}")));
    size_t before = used(&t, SRV_PART_WORK);
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_buf body;
        tk_buf_init(&body, TK_MIB);
        put_refused(&t, &body, rows[i].n, rows[i].extra);
        const char *text = tk_buf_cstr(&body);
        assert_non_null(text);
        const tk_json *json = result_of(&t, submit(&t, API "forward_backward", text));
        assert_non_null(srvfix_text(json, "error"));
        /* The engine has ended the request when it has run the next one. */
        (void)result_of(&t, submit(&t, API "create_model",
                                   create_body(&t, (int)i + 2, "{\"rank\":8}")));
        assert_int_equal(used(&t, SRV_PART_WORK), before);
        tk_buf_dispose(&body);
    }
    stop(&t);
}

/* Many targets for one token, and many tokens: the engine computes with most of the memory,
 * and gives it back. */
static void test_srv_memory_is_not_kept_by_large_requests(void **state)
{
    enum { COLUMNS = 7000 };
    fix t;
    tk_buf body, numbers;
    start(&t);
    tk_buf_init(&body, TK_MIB);
    tk_buf_init(&numbers, TK_MIB);
    put_tokens(&numbers, COLUMNS);
    tk_buf_puts(&body, "{\"forward_input\":{\"loss_fn\":\"cross_entropy\",\"data\":["
                       "{\"model_input\":{\"chunks\":[{\"type\":\"encoded_text\","
                       "\"tokens\":[5]}]},\"loss_fn_inputs\":{");
    for (int i = 0; i < 2; i++) {
        tk_buf_printf(
            &body, "%s{\"data\":[" TK_STR_FMT "],\"dtype\":\"%s\",\"shape\":[1,%d]}",
            i > 0 ? ",\"weights\":" : "\"target_tokens\":",
            TK_STR_ARG(tk_buf_str(&numbers)), i > 0 ? "float32" : "int64", COLUMNS);
    }
    tk_buf_puts(&body, "}},{\"model_input\":{\"chunks\":[{\"type\":\"encoded_text\","
                       "\"tokens\":[");
    put_tokens(&body, 1000);
    tk_buf_puts(&body, "]}]},\"loss_fn_inputs\":{\"target_tokens\":{\"data\":[");
    put_tokens(&body, 1000);
    tk_buf_printf(&body,
                  "],\"dtype\":\"int64\",\"shape\":[1000]}}}]},\"model_id\":\"%s\"}",
                  t.model);
    const char *text = tk_buf_cstr(&body);
    assert_non_null(text);
    atomic_store(&memory_of(&t)->peak, 0);
    const tk_json *json = result_of(&t, submit(&t, API "forward", text));
    assert_non_null(tk_json_get(json, "loss_fn_outputs"));
    assert_true(atomic_load(&memory_of(&t)->peak) > MEMORY / 2);
    (void)result_of(&t,
                    submit(&t, API "create_model", create_body(&t, 1, "{\"rank\":8}")));
    assert_true(used(&t, SRV_PART_WORK) <= MEMORY / 4);
    tk_buf_dispose(&body);
    tk_buf_dispose(&numbers);
    stop(&t);
}

/* S-019: while others have filled the memory, small requests are answered and large ones told
 * when to come back. */
static void test_srv_memory_serves_small_requests(void **state)
{
    fix t;
    tk_buf large;
    httpget_response response;
    start(&t);
    tk_buf_init(&large, TK_MIB);
    put_brackets(&large, 512 * TK_KIB);
    settle(&t);
    size_t rest = MEMORY - MEMORY / 8 - atomic_load(&memory_of(&t)->used);
    hd_budget_add(memory_of(&t), HD_PART_REQUESTS, rest);
    const char *id = submit(&t, API "optim_step", step_body(&t, 1, "0.1"));
    assert_non_null(tk_json_get(result_of(&t, id), "metrics"));
    (void)srvfix_post(&t.f, API "session_heartbeat",
                      format_body(&t, "{\"session_id\":\"%s\"}", t.session));
    assert_int_equal(t.f.status, 200);
    const httpget_request request = {
        .target = API "create_session", .body = large.p, .body_n = large.n};
    assert_int_equal(httpget_once(srvfix_port(&t.f), &request, &response), HTTPGET_OK);
    assert_int_equal(response.status, 429);
    assert_non_null(httpget_header(&response, "Retry-After"));
    assert_string_equal(httpget_header(&response, "Retry-After"), "1");
    assert_non_null(strstr(response.body.p, "memory is full"));
    httpget_response_dispose(&response);
    hd_budget_give(memory_of(&t), HD_PART_REQUESTS, rest);
    tk_buf_dispose(&large);
    stop(&t);
}

/* A server without room for its model does not start. */
static void test_srv_memory_refuses_to_start(void **state)
{
    srv *server = NULL;
    char data[64], dir[64], command[192];
    tk_err err = TK_ERR_INIT;
    srvfix_make_dir(data);
    srvfix_make_dir(dir);
    const srv_options options = {.data = data, .threads = 1, .memory_bytes = TK_MIB};
    assert_int_equal(srv_start(&server, &options, &err), TINKC_E_CONFIG);
    assert_non_null(strstr(err.message, "needs"));
    assert_non_null(strstr(err.message, "of the server's 1 MiB"));
    /* Weights that are too large are not even read: these are a hole in a file. */
    char weights[96];
    tk_err_clear(&err);
    (void)snprintf(weights, sizeof(weights), "%s/model.safetensors", dir);
    FILE *file = fopen(weights, "w");
    assert_non_null(file);
    assert_int_equal(ftruncate(fileno(file), 8 * (off_t)TK_GIB), 0);
    assert_int_equal(fclose(file), 0);
    const srv_pair model = {"large", dir};
    const srv_options roomy = {.data = data,
                               .threads = 1,
                               .models = &model,
                               .n_models = 1,
                               .memory_bytes = MEMORY};
    assert_int_equal(srv_start(&server, &roomy, &err), TINKC_E_CONFIG);
    assert_non_null(
        strstr(err.message, "large have 8192 MiB; the server's memory is 192"));
    (void)snprintf(command, sizeof(command), "rm -rf %s %s", data, dir);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_memory_of_every_route),
        cmocka_unit_test(test_srv_memory_refuses_bombs),
        cmocka_unit_test(test_srv_memory_refuses_models),
        cmocka_unit_test(test_srv_memory_refuses_sparse_tensors),
        cmocka_unit_test(test_srv_memory_is_not_kept_by_unloaded_models),
        cmocka_unit_test(test_srv_memory_is_waited_for),
        cmocka_unit_test(test_srv_memory_is_not_kept_by_refused_requests),
        cmocka_unit_test(test_srv_memory_is_not_kept_by_large_requests),
        cmocka_unit_test(test_srv_memory_serves_small_requests),
        cmocka_unit_test(test_srv_memory_refuses_to_start),
    };
    return cmocka_run_group_tests_name("srv_memory", tests, NULL, NULL);
}
