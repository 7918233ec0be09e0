/* What still waits while a model is freed does not look at it: its future ends after it, and
 * until then polls and the console ask futures why they wait.
 * Links: wire */
#include "base/mem.h"
#include "server/run/srv_job.h"
#include "server/run/srv_model.h"
#include "server/run/srv_state.h"
#include "server/wirefix.h"

typedef struct watch {
    srv *server;
    const srv_model *_Atomic model; /* the one that is waited for */
    int freed;
    int pending; /* futures of training when it was freed */
    int looking; /* of those, how many would look at the model */
} watch;

static void *on_realloc(void *user, void *ptr, size_t size)
{
    return realloc(ptr, size);
}

/* Thread: any; the one that frees a model does not hold the lock. Only the first block at this
 * address is the model: one of those that come later may be freed under the lock. */
static void on_free(void *user, void *ptr)
{
    watch *w = user;
    const srv_model *model = ptr;
    if (ptr != NULL && atomic_compare_exchange_strong(&w->model, &model, NULL)) {
        tk_mutex_lock(&w->server->lock);
        tk_list *head = &w->server->futures.pending;
        for (tk_list *at = head->next; at != head; at = at->next) {
            const srv_future *future = TK_CONTAINER_OF(at, srv_future, age);
            const srv_job *job = future->why != NULL ? future->owner : NULL;
            w->pending++;
            w->looking += job != NULL && job->model == ptr;
        }
        w->freed++;
        tk_mutex_unlock(&w->server->lock);
    }
    free(ptr);
}

static void watch_model(watch *w, fix *t)
{
    w->server = t->f.server;
    tk_mutex_lock(&w->server->lock);
    const srv_model *model = tk_map_get(&w->server->models, tk_str_of(t->model));
    tk_mutex_unlock(&w->server->lock);
    assert_non_null(model);
    atomic_store(&w->model, model);
}

static void test_srv_unload_leaves_nobody_looking(void **unused)
{
    fix t;
    watch w = {0};
    const tk_mem_hooks hooks = {on_realloc, on_free, &w};
    tk_mem_set_hooks(&hooks);
    open_fix(&t, (srv_options){0});
    watch_model(&w, &t);
    const char *id =
        submit(&t, API "unload_model", format_body(&t, "{\"model_id\":\"%s\"}", t.model));
    assert_string_equal(srvfix_text(result_of(&t, id), "model_id"), t.model);
    assert_int_equal(w.freed, 1);
    assert_int_equal(w.pending, 1);
    assert_int_equal(w.looking, 0);
    close_fix(&t);
    tk_mem_set_hooks(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_unload_leaves_nobody_looking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
