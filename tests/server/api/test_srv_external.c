/* External weights: exports with links that need no key, and uploads of adapters that were
 * trained elsewhere. Uploaded files are hostile. */
#include <math.h>

#include "base/file.h"
#include "base/mem.h"
#include "server/restfix.h"

#define API     "/api/v1/"
#define CONFIG  "adapter_config.json"
#define WEIGHTS "adapter_model.safetensors"

/* The path and query of an absolute URL of the server. */
static const char *target_of(const char *url)
{
    const char *rest = strstr(url, "://");
    assert_non_null(rest);
    return strchr(rest + 3, '/');
}

static const tk_json *urls(restfix *t, const char *id)
{
    char path[256];
    (void)snprintf(path, sizeof(path),
                   API "training_runs/%s/checkpoints/%s/external_weights_urls", t->run,
                   id);
    return srvfix_ask(&t->srv, "GET", path, NULL);
}

static int get(restfix *t, const char *target, const char *headers, httpget_response *r)
{
    const httpget_request request = {.target = target, .headers = headers};
    assert_int_equal(httpget_once(srvfix_port(&t->srv), &request, r), HTTPGET_OK);
    return r->status;
}

static int status_of(restfix *t, const char *target)
{
    httpget_response r;
    int status = get(t, target, NULL, &r);
    httpget_response_dispose(&r);
    return status;
}

/* ---- exports ---- */

static void test_srv_external_is_exported(void **state)
{
    restfix t;
    httpget_response r;
    char target[1024], path[256], other[1200];
    restfix_open(&t);
    restfix_save(&t, 1, "save_weights_external", "\"path\":\"one\",\"ttl_seconds\":3600");
    const tk_json *json = srvfix_ask(&t.srv, "GET", API "checkpoints", NULL);
    const tk_json row = tk_json_at(tk_json_get(json, "checkpoints"), 0);
    assert_string_equal(srvfix_text(&row, "checkpoint_type"), "external");
    assert_string_equal(srvfix_text(&row, "checkpoint_id"), "external_weights/one");
    assert_int_equal(tk_json_get(&row, "expires_at")->type, TK_JSON_STRING);
    json = urls(&t, "external_weights/one");
    assert_int_equal(t.srv.status, 200);
    assert_non_null(srvfix_text(json, "expires"));
    const tk_json *list = tk_json_get(json, "urls");
    assert_int_equal(list->as.object.n, 2);
    (void)snprintf(target, sizeof(target), "%s", target_of(srvfix_text(list, CONFIG)));
    assert_int_equal(get(&t, target, NULL, &r), 200);
    assert_non_null(strstr(r.body.p, "\"r\":4"));
    size_t whole = r.body.n;
    httpget_response_dispose(&r);
    assert_int_equal(get(&t, target, "Range: bytes=2-5\r\n", &r), 206);
    assert_int_equal(r.body.n, 4);
    httpget_response_dispose(&r);
    assert_true(whole > 20);
    /* No other file, and no other time. */
    char *file = strstr(target, CONFIG);
    (void)snprintf(other, sizeof(other), "%.*stinkc.json%s", (int)(file - target), target,
                   file + strlen(CONFIG));
    assert_int_equal(status_of(&t, other), 403);
    (void)snprintf(other, sizeof(other), "%s0", target);
    assert_int_equal(status_of(&t, other), 403);
    /* It lives on without its database, and its links end with it. */
    (void)snprintf(path, sizeof(path), "rm %s/tinkc.db*", t.srv.data);
    srv_stop(&t.srv.server);
    assert_int_equal(system(path), 0);
    srvfix_start(&t.srv, (srv_options){0});
    (void)urls(&t, "external_weights/one");
    assert_int_equal(t.srv.status, 200);
    assert_int_equal(status_of(&t, target), 403); /* of the server that has ended */
    (void)snprintf(path, sizeof(path),
                   API "training_runs/%s/checkpoints/external_weights/one", t.run);
    (void)srvfix_ask(&t.srv, "DELETE", path, NULL);
    assert_int_equal(t.srv.status, 204);
    (void)urls(&t, "external_weights/one");
    assert_int_equal(t.srv.status, 404);
    srvfix_close(&t.srv);
}

static void test_srv_external_is_checked(void **state)
{
    restfix t;
    char body[256];
    restfix_open(&t);
    (void)snprintf(body, sizeof(body),
                   "{\"model_id\":\"%s\",\"seq_id\":1,\"path\":\"one\","
                   "\"age_encryption_recipients\":[\"age1x\"]}",
                   t.run);
    (void)srvfix_post(&t.srv, API "save_weights_external", body);
    assert_int_equal(t.srv.status, 422);
    restfix_save(&t, 1, "save_weights", "\"path\":\"one\"");
    (void)urls(&t, "weights/one");
    assert_int_equal(t.srv.status, 400);
    srvfix_close(&t.srv);
}

/* ---- uploads ---- */

static const tk_json *start(restfix *t, const char *model, const char *lora)
{
    char body[256];
    (void)snprintf(body, sizeof(body), "{\"base_model\":\"%s\",\"lora_config\":%s}",
                   model, lora);
    return srvfix_post(&t->srv, API "external_weights_upload_start", body);
}

static int put(restfix *t, const tk_json *started, const char *file, tk_str bytes)
{
    httpget_response r;
    const char *url = srvfix_text(tk_json_get(started, "urls"), file);
    const httpget_request request = {.method = "PUT",
                                     .target = target_of(url),
                                     .body = bytes.p,
                                     .body_n = bytes.n,
                                     .content_type = "application/octet-stream"};
    assert_int_equal(httpget_once(srvfix_port(&t->srv), &request, &r), HTTPGET_OK);
    int status = r.status;
    httpget_response_dispose(&r);
    return status;
}

static const tk_json *finish(restfix *t, const char *id)
{
    char body[256];
    (void)snprintf(body, sizeof(body), "{\"upload_id\":\"%s\"}", id);
    return srvfix_post(&t->srv, API "external_weights_upload_finish", body);
}

/* A link that is not good is refused before the body comes: only its head is sent. */
static void test_srv_uploads_check_the_link_first(void **state)
{
    restfix t;
    char target[1024], head[1400];
    httpget_response r;
    restfix_open(&t);
    const tk_json *started = start(&t, RESTFIX_MODEL, "{\"rank\":4}");
    const char *url = srvfix_text(tk_json_get(started, "urls"), WEIGHTS);
    (void)snprintf(target, sizeof(target), "%s", target_of(url));
    for (int i = 0; i < 2; i++) {
        target[strlen(target) - 1] ^= 1; /* wrong, and right again */
        httpget *connection = httpget_connect(srvfix_port(&t.srv));
        (void)snprintf(head, sizeof(head),
                       "PUT %s HTTP/1.1\r\nHost: localhost\r\n"
                       "Content-Length: 100000000\r\nExpect: 100-continue\r\n\r\n",
                       target);
        assert_true(httpget_send(connection, head, strlen(head)));
        if (i == 0) {
            assert_int_equal(httpget_read(connection, &r), HTTPGET_OK);
            assert_int_equal(r.status, 403);
            assert_int_equal(r.interim, 0); /* was not asked to go on */
            httpget_response_dispose(&r);
        } else {
            assert_int_equal(httpget_status(connection), 100);
        }
        httpget_close(&connection);
    }
    srvfix_close(&t.srv);
}

/* The files of an export, as an adapter that comes from elsewhere. */
static void take_files(restfix *t, tk_str out[2])
{
    static const char *const names[] = {CONFIG, WEIGHTS};
    restfix_save(t, 1, "save_weights_external", "\"path\":\"src\"");
    const tk_json *list = tk_json_get(urls(t, "external_weights/src"), "urls");
    for (size_t i = 0; i < 2; i++) {
        httpget_response r;
        assert_int_equal(get(t, target_of(srvfix_text(list, names[i])), NULL, &r), 200);
        assert_true(tk_arena_dup(&t->srv.arena, &out[i], r.body.p, r.body.n));
        httpget_response_dispose(&r);
    }
}

/* An upload is a checkpoint: sampled from, trained on, downloaded with the same bytes. */
static void test_srv_uploads_are_used(void **state)
{
    restfix t;
    tk_str files[2];
    char path[256], body[512], id[64];
    httpget_response r;
    restfix_open(&t);
    take_files(&t, files);
    const tk_json *started = start(&t, RESTFIX_MODEL, "{\"rank\":4}");
    assert_int_equal(t.srv.status, 200);
    (void)snprintf(id, sizeof(id), "%s", srvfix_text(started, "upload_id"));
    assert_int_equal(put(&t, started, CONFIG, files[0]), 200);
    assert_int_equal(put(&t, started, WEIGHTS, files[1]), 200);
    (void)snprintf(path, sizeof(path), "%s", srvfix_text(finish(&t, id), "tinker_path"));
    assert_int_equal(t.srv.status, 200);
    assert_non_null(strstr(path, "/external_weights/"));
    assert_string_equal(srvfix_text(finish(&t, id), "tinker_path"), path); /* again */
    (void)snprintf(
        body, sizeof(body),
        "{\"prompt\":{\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":[5]}]},"
        "\"sampling_params\":{\"max_tokens\":1},\"model_path\":\"%s\"}",
        path);
    (void)restfix_result(&t.srv, srvfix_post(&t.srv, API "asample", body));
    (void)snprintf(body, sizeof(body),
                   "{\"session_id\":\"%s\",\"model_seq_id\":7,\"path\":\"%s\","
                   "\"optimizer\":false}",
                   t.session, path);
    (void)restfix_result(&t.srv, srvfix_post(&t.srv, API "load_weights", body));
    tk_str rest = tk_str_of(path + strlen("tinker://"));
    tk_str run = tk_str_cut(&rest, '/');
    (void)snprintf(t.run, sizeof(t.run), TK_STR_FMT, TK_STR_ARG(run));
    const tk_json *list = tk_json_get(urls(&t, rest.p), "urls");
    assert_int_equal(get(&t, target_of(srvfix_text(list, WEIGHTS)), NULL, &r), 200);
    assert_int_equal(r.body.n, files[1].n);
    assert_memory_equal(r.body.p, files[1].p, files[1].n);
    httpget_response_dispose(&r);
    srvfix_close(&t.srv);
}

/* A finish that is sent again while the first one is at work gets the same answer. */
static void test_srv_uploads_are_finished_once(void **state)
{
    restfix t;
    tk_str files[2];
    char body[128], paths[4][256];
    httpget *connections[4];
    restfix_open(&t);
    take_files(&t, files);
    const tk_json *started = start(&t, RESTFIX_MODEL, "{\"rank\":4}");
    (void)snprintf(body, sizeof(body), "{\"upload_id\":\"%s\"}",
                   srvfix_text(started, "upload_id"));
    assert_int_equal(put(&t, started, CONFIG, files[0]), 200);
    assert_int_equal(put(&t, started, WEIGHTS, files[1]), 200);
    const httpget_request request = {
        .method = "POST", .target = API "external_weights_upload_finish", .body = body};
    for (size_t i = 0; i < 4; i++) {
        connections[i] = httpget_connect(srvfix_port(&t.srv));
        assert_true(httpget_ask(connections[i], &request));
    }
    for (size_t i = 0; i < 4; i++) {
        httpget_response r;
        assert_int_equal(httpget_read(connections[i], &r), HTTPGET_OK);
        if (r.status != 200) {
            fail_msg("%d %s", r.status, (const char *)r.body.p);
        }
        (void)snprintf(paths[i], sizeof(paths[i]), "%s", (const char *)r.body.p);
        assert_string_equal(paths[i], paths[0]);
        httpget_response_dispose(&r);
        httpget_close(&connections[i]);
    }
    srvfix_close(&t.srv);
}

/* The first place of a text in the header of a safetensors file, changed. */
static tk_str changed(restfix *t, tk_str file, const char *from, const char *to)
{
    tk_str copy;
    assert_int_equal(strlen(from), strlen(to));
    assert_true(tk_arena_dup(&t->srv.arena, &copy, file.p, file.n));
    char *at = memmem(copy.p, copy.n, from, strlen(from));
    assert_non_null(at);
    memcpy(at, to, strlen(to));
    return copy;
}

static void refuse(restfix *t, const char *lora, tk_str config, tk_str weights,
                   const char *why)
{
    const tk_json *started = start(t, RESTFIX_MODEL, lora);
    assert_int_equal(t->srv.status, 200);
    char id[64];
    (void)snprintf(id, sizeof(id), "%s", srvfix_text(started, "upload_id"));
    if (config.p != NULL) {
        assert_int_equal(put(t, started, CONFIG, config), 200);
    }
    if (weights.p != NULL) {
        assert_int_equal(put(t, started, WEIGHTS, weights), 200);
    }
    const tk_json *json = finish(t, id);
    if (t->srv.status != 400) {
        fail_msg("%s: %d", why, t->srv.status);
    }
    if (strstr(srvfix_text(json, "detail"), why) == NULL) {
        fail_msg("%s: %s", why, srvfix_text(json, "detail"));
    }
}

static void test_srv_uploads_are_checked(void **state)
{
    restfix t;
    tk_str files[2];
    restfix_open(&t);
    take_files(&t, files);
    const tk_str none = {NULL, 0};
    refuse(&t, "{\"rank\":4}", none, files[1], CONFIG);
    refuse(&t, "{\"rank\":4}", files[0], none, WEIGHTS);
    refuse(&t, "{\"rank\":8}", files[0], files[1], "rank");
    refuse(&t, "{\"rank\":4,\"train_mlp\":false}", files[0], files[1], "train_mlp");
    refuse(&t, "{\"rank\":4}", tk_str_of("{}"), files[1], "rank");
    refuse(&t, "{\"rank\":4}", tk_str_of("nothing"), files[1], "JSON");
    refuse(&t, "{\"rank\":4}", tk_str_of("{\"r\":4,\"lora_alpha\":32,\"use_dora\":true}"),
           files[1], "use_dora");
    refuse(&t, "{\"rank\":4}", files[0], (tk_str){files[1].p, files[1].n - 4}, WEIGHTS);
    refuse(&t, "{\"rank\":4}", files[0], tk_str_of("short"), WEIGHTS);
    refuse(&t, "{\"rank\":4}", files[0], changed(&t, files[1], "q_proj", "x_proj"),
           "x_proj");
    refuse(&t, "{\"rank\":4}", files[0], changed(&t, files[1], "[0,", "[4,"), WEIGHTS);
    tk_str nan = changed(&t, files[1], "q_proj", "q_proj");
    memset((char *)(uintptr_t)(nan.p + nan.n - 4), 0xFF, 4);
    refuse(&t, "{\"rank\":4}", files[0], nan, "NaN");
    /* Nothing of these is a checkpoint. */
    const tk_json *json = srvfix_ask(&t.srv, "GET", API "checkpoints", NULL);
    assert_int_equal(tk_json_len(tk_json_get(json, "checkpoints")), 1);
    /* A start is checked too, and only so many may be open. */
    (void)start(&t, "nothing/like-it", "{\"rank\":4}");
    assert_int_equal(t.srv.status, 400);
    (void)start(&t, RESTFIX_MODEL, "{\"rank\":0}");
    assert_int_equal(t.srv.status, 422);
    for (int i = 0; i < 32 && t.srv.status != 429; i++) {
        (void)start(&t, RESTFIX_MODEL, "{\"rank\":4}");
    }
    assert_int_equal(t.srv.status, 429);
    (void)finish(&t, "../../../../etc");
    assert_int_equal(t.srv.status, 404);
    srvfix_close(&t.srv);
}

/* ---- another alpha ---- */

/* Where the values of the tensors with `part` in their names are; calls `fn` with each.
 * The file is read as the format is described, without the engine. */
static void each_value(tk_str file, const char *part,
                       void (*fn)(float *value, void *user), void *user)
{
    tk_arena arena;
    const tk_json *header = NULL;
    uint64_t n = 0;
    tk_err err = TK_ERR_INIT;
    memcpy(&n, file.p, sizeof(n)); /* little-endian, as every machine that this runs on */
    tk_arena_init(&arena, 0);
    assert_int_equal(tk_json_parse(&header, &arena, file.p + 8, (size_t)n, NULL, &err),
                     TINKC_OK);
    for (size_t i = 0; i < header->as.object.n; i++) {
        const tk_json_member *tensor = &header->as.object.members[i];
        if (memmem(tensor->key.p, tensor->key.n, part, strlen(part)) == NULL) {
            continue;
        }
        assert_string_equal(srvfix_text(&tensor->value, "dtype"), "F32");
        const tk_json *span = tk_json_get(&tensor->value, "data_offsets");
        char *p = (char *)(uintptr_t)file.p + 8 + n;
        for (int64_t at = tk_json_at(span, 0).as.integer;
             at < tk_json_at(span, 1).as.integer; at += 4) {
            float value;
            memcpy(&value, p + at, sizeof(value));
            fn(&value, user);
            memcpy(p + at, &value, sizeof(value));
        }
    }
    tk_arena_dispose(&arena);
}

/* Numbers between -1/64 and 1/64 with few bits, so that a factor of 3/8 is exact. */
static void fill(float *value, void *user)
{
    unsigned *seed = user;
    *seed = *seed * 1103515245u + 12345u;
    *value = (float)((int)(*seed >> 16 & 1023) - 512) / 32768.0f;
}

static void shrink(float *value, void *user)
{
    *value *= 0.375f;
    *(size_t *)user += 1;
}

static void upload(restfix *t, tk_str config, tk_str weights, char path[256])
{
    char id[64];
    const tk_json *started = start(t, RESTFIX_MODEL, "{\"rank\":4}");
    (void)snprintf(id, sizeof(id), "%s", srvfix_text(started, "upload_id"));
    assert_int_equal(put(t, started, CONFIG, config), 200);
    assert_int_equal(put(t, started, WEIGHTS, weights), 200);
    (void)snprintf(path, 256, "%s", srvfix_text(finish(t, id), "tinker_path"));
    assert_int_equal(t->srv.status, 200);
}

/* Log-probabilities of a prompt. */
static void score(restfix *t, const char *path, double out[5])
{
    char body[1024];
    (void)snprintf(body, sizeof(body),
                   "{\"prompt\":{\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":"
                   "[5,6,7,8,9,10]}]},\"sampling_params\":{\"max_tokens\":1},"
                   "\"prompt_logprobs\":true,\"model_path\":\"%s\"}",
                   path);
    const tk_json *json =
        restfix_result(&t->srv, srvfix_post(&t->srv, API "asample", body));
    const tk_json *list = tk_json_get(json, "prompt_logprobs");
    for (size_t i = 0; i < 5; i++) {
        const tk_json item = tk_json_at(list, i + 1);
        assert_true(tk_json_to_double(&item, &out[i]));
    }
}

static tk_str downloaded(restfix *t, const char *path, const char *file)
{
    char target[300];
    httpget_response r;
    tk_str bytes, rest = tk_str_of(path + strlen("tinker://"));
    tk_str run = tk_str_cut(&rest, '/');
    (void)snprintf(target, sizeof(target),
                   API "training_runs/" TK_STR_FMT
                       "/checkpoints/%s/external_weights_urls",
                   TK_STR_ARG(run), rest.p);
    const tk_json *list = tk_json_get(srvfix_ask(&t->srv, "GET", target, NULL), "urls");
    assert_int_equal(get(t, target_of(srvfix_text(list, file)), NULL, &r), 200);
    assert_true(tk_arena_dup(&t->srv.arena, &bytes, r.body.p, r.body.n));
    httpget_response_dispose(&r);
    return bytes;
}

/* An adapter with another alpha computes the same after the upload: one with alpha 12 is
 * one with alpha 32 whose B is 3/8 of it, in what the server computes with it and in what
 * it gives back. */
static void test_srv_uploads_of_another_alpha(void **state)
{
    restfix t;
    tk_str files[2], scaled;
    unsigned seed = 1;
    size_t n = 0;
    char path[3][256];
    double score_of[3][5];
    restfix_open(&t);
    take_files(&t, files);
    each_value(files[1], "lora_", fill, &seed);
    assert_true(tk_arena_dup(&t.srv.arena, &scaled, files[1].p, files[1].n));
    each_value(scaled, "lora_B", shrink, &n);
    assert_true(n > 1000);
    tk_str twelve = changed(&t, files[0], "\"lora_alpha\":32", "\"lora_alpha\":12");
    upload(&t, twelve, files[1], path[0]);
    upload(&t, files[0], scaled, path[1]);
    upload(&t, files[0], files[1], path[2]);
    for (size_t i = 0; i < 3; i++) {
        score(&t, path[i], score_of[i]);
    }
    for (size_t i = 0; i < 5; i++) {
        assert_true(fabs(score_of[0][i] - score_of[1][i]) <= 0.0);
    }
    assert_true(fabs(score_of[0][4] - score_of[2][4]) > 1e-4); /* alpha matters */
    tk_str back = downloaded(&t, path[0], WEIGHTS);
    assert_int_equal(back.n, scaled.n);
    assert_memory_equal(back.p, scaled.p, scaled.n);
    tk_str config = downloaded(&t, path[0], CONFIG);
    assert_non_null(memmem(config.p, config.n, "\"lora_alpha\":32", 15));
    /* Weights that would not be numbers any more are refused. */
    refuse(&t, "{\"rank\":4}", tk_str_of("{\"r\":4,\"lora_alpha\":1e300}"), files[1],
           "lora_alpha");
    srvfix_close(&t.srv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_external_is_exported),
        cmocka_unit_test(test_srv_external_is_checked),
        cmocka_unit_test(test_srv_uploads_check_the_link_first),
        cmocka_unit_test(test_srv_uploads_are_used),
        cmocka_unit_test(test_srv_uploads_are_finished_once),
        cmocka_unit_test(test_srv_uploads_are_checked),
        cmocka_unit_test(test_srv_uploads_of_another_alpha),
    };
    return cmocka_run_group_tests_name("srv_external", tests, NULL, NULL);
}
