/* What the server tells its recorder, and when.
 * Links: wire */
#include <unistd.h>

#include "server/record/recfix.h"
#include "server/record/srv_rec_int.h"
#include "server/run/srv_model.h"
#include "server/run/srv_note.h"
#include "server/run/srv_state.h"
#include "server/wirefix.h"

#define HELD 300 /* tries in a row, a millisecond apart */

typedef struct creation {
    int port;
    const char *body;
    int status;
    atomic_bool is_done;
} creation;

static void create(void *user)
{
    creation *c = user;
    httpget_response response;
    const httpget_request request = {
        .method = "POST", .target = API "create_model", .body = c->body};
    if (httpget_once(c->port, &request, &response) == HTTPGET_OK) {
        c->status = response.status;
        httpget_response_dispose(&response);
    }
    atomic_store(&c->is_done, true);
}

/* Looks whether a model that is not recorded can be found, until whoever enters it holds the
 * server's lock and waits for the recorder's, or has failed. */
static bool find_model(srv *server, creation *c, size_t before)
{
    bool found = false;
    for (int held = 0; held < HELD && !found && !atomic_load(&c->is_done); held++) {
        if (tk_mutex_try_lock(&server->lock)) {
            found = server->models.count > before;
            tk_mutex_unlock(&server->lock);
            held = -1;
        }
        (void)usleep(1000);
    }
    return found;
}

/* A model cannot be found, and unloaded, before its run is recorded: the record of the end
 * would come first. */
static void test_srv_note_begins_first(void **unused)
{
    fix t;
    tk_err err = TK_ERR_INIT;
    tk_thread thread;
    open_fix(&t, (srv_options){0});
    srv *server = t.f.server;
    creation c = {.port = srvfix_port(&t.f), .body = create_body(&t, 1, "{\"rank\":4}")};
    tk_mutex_lock(&server->lock);
    size_t before = server->models.count;
    tk_mutex_unlock(&server->lock);
    tk_mutex_lock(&server->record->lock);
    assert_int_equal(tk_thread_start(&thread, "create", create, &c, &err), TINKC_OK);
    bool found = find_model(server, &c, before);
    tk_mutex_unlock(&server->record->lock);
    tk_thread_join(&thread);
    assert_int_equal(c.status, 200);
    assert_false(found);
    tk_mutex_lock(&server->lock);
    assert_int_equal(server->models.count, before + 1);
    tk_mutex_unlock(&server->lock);
    close_fix(&t);
}

/* All sequences of a request, as many as a client may ask for. */
static void test_srv_note_every_sequence(void **unused)
{
    enum { N = 1024 };
    static const int32_t ids[] = {7, 8};
    static const float logprobs[] = {-1.0F, -2.0F};
    static eng_sequence sequences[N];
    static srv server;
    char name[] = "base";
    recfix it;
    srv_base base = {0};
    srv_sampler sampler = {.base = &base, .base_name = name};
    srv_sample sample = {.server = &server, .sampler = &sampler};
    const eng_sample_result result = {.sequences = sequences, .n_sequences = N};
    for (size_t i = 0; i < N; i++) {
        sequences[i] =
            (eng_sequence){.tokens = ids, .logprobs = logprobs, .n = 2, .stopped = true};
    }
    recfix_make(&it);
    recfix_open(&it, NULL);
    server.record = it.rec;
    srv_note_sample(&sample, &result);
    assert_true(srv_rec_flush(it.rec));
    con_samples all = recfix_samples(&it, &recfix_everything);
    assert_true(all.p[0].id == N && all.p[0].group == 1 && all.dropped == 0);
    recfix_close(&it);
    recfix_remove(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_note_begins_first),
        cmocka_unit_test(test_srv_note_every_sequence),
    };
    return cmocka_run_group_tests_name("srv_note", tests, NULL, NULL);
}
