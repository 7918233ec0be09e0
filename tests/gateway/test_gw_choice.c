/* One answer from ids to what is shown: however the tokens are cut, with every allocation
 * failing once. */
#include "gateway/frontfix.h"
#include "gateway/gw_choice.h"
#include "support/failmem.h"

typedef struct world {
    gw_model *model;
    ca_request request;
    tk_tok_ids ids;
    tk_buf shown; /* what events reported, in order */
} world;

static void on_event(void *user, const ca_event *event)
{
    world *w = user;
    if (event->kind == CA_EVENT_CALL) {
        tk_buf_printf(&w->shown, "[%s %s]", event->call->name, event->call->arguments);
    } else {
        tk_buf_printf(&w->shown,
                      event->kind == CA_EVENT_REASONING ? "(" TK_STR_FMT ")" : TK_STR_FMT,
                      TK_STR_ARG(event->text));
    }
}

static void on_text(void *user, tk_str text)
{
    world *w = user;
    tk_buf_put(&w->shown, text.p, text.n);
}

static void open_world(world *w, ca_dialect dialect, const char *body, const char *says)
{
    ca_fault fault;
    memset(w, 0, sizeof(*w));
    w->model = frontfix_make_model();
    tk_buf_init(&w->shown, TK_MIB);
    assert_true(ca_request_parse(&w->request, dialect, tk_str_of(body), NULL, &fault));
    assert_int_equal(tk_tok_encode(w->model->tok, tk_str_of(says), &w->ids, NULL),
                     TINKC_OK);
}

static void close_world(world *w)
{
    ca_request_dispose(&w->request);
    tk_tok_ids_dispose(&w->ids);
    tk_buf_dispose(&w->shown);
    gw_model_release(w->model);
}

static tinkc_code go(gw_choice *c, world *w, tk_err *err)
{
    const gw_choice_config config = {.model = w->model,
                                     .request = &w->request,
                                     .on_event = on_event,
                                     .on_text = on_text,
                                     .user = w};
    tinkc_code code = gw_choice_init(c, &config, err);
    for (size_t i = 0; code == TINKC_OK && i < w->ids.n; i++) {
        code = gw_choice_push(c, w->ids.ids[i], -1.0F, err);
    }
    return code == TINKC_OK ? gw_choice_finish(c, true, err) : code;
}

#define CHAT     "{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]"
#define TOOLS    ",\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]"
#define COMPLETE "{\"model\":\"m\",\"prompt\":\"a\""

static void test_shown(void **state)
{
    static const struct {
        ca_dialect dialect;
        const char *body, *says, *shown;
        ca_finish finish;
    } rows[] = {
        {CA_CHAT, CHAT "}", "hello there<|end|>", "hello there", CA_FINISH_STOP},
        {CA_CHAT, CHAT TOOLS "}",
         "so <tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call><|end|>",
         "so[f {}]", CA_FINISH_CALLS},
        {CA_CHAT, CHAT ",\"stop\":[\"re\"]}", "hello there", "hello the",
         CA_FINISH_STOP_STRING},
        {CA_CHAT, CHAT ",\"stop\":[\"rex\"]}", "hello there", "hello there",
         CA_FINISH_STOP},
        {CA_COMPLETIONS, COMPLETE ",\"stop\":[\"<|end|>\"]}", "hello<|end|>more", "hello",
         CA_FINISH_STOP_STRING},
        {CA_COMPLETIONS, COMPLETE ",\"stop\":[\"o<|en\"]}", "hello<|end|>more", "hell",
         CA_FINISH_STOP_STRING},
        {CA_COMPLETIONS, COMPLETE "}", " \xe2\x82\xac 5<|user|>x", " \xe2\x82\xac 5x",
         CA_FINISH_STOP},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        world w;
        gw_choice c;
        open_world(&w, rows[i].dialect, rows[i].body, rows[i].says);
        assert_int_equal(go(&c, &w, NULL), TINKC_OK);
        if (strncmp(w.shown.n > 0 ? w.shown.p : "", rows[i].shown, w.shown.n) != 0 ||
            w.shown.n != strlen(rows[i].shown)) {
            fail_msg("row %zu: %.*s", i, (int)w.shown.n, w.shown.p);
        }
        assert_int_equal(gw_choice_reason(&c), rows[i].finish);
        assert_int_equal(c.n, w.ids.n); /* whatever is shown of them */
        assert_memory_equal(c.ids, w.ids.ids, c.n * sizeof(*c.ids));
        gw_choice_dispose(&c);
        close_world(&w);
    }
}

static bool scenario(void *user)
{
    world *w = user;
    gw_choice c = {.n = 0};
    tk_err err = TK_ERR_INIT;
    tinkc_code code = go(&c, w, &err);
    gw_choice_dispose(&c);
    bool ok = code == TINKC_OK && w->shown.failure == TINKC_OK;
    tk_buf_dispose(&w->shown);
    return ok;
}

static void test_without_memory(void **state)
{
    world w;
    open_world(&w, CA_CHAT, CHAT TOOLS ",\"stop\":[\"zz\"]}",
               "so <tool_call>{\"name\": \"f\", \"arguments\": {\"a\": [1]}}</tool_call>"
               "<|end|>");
    failmem_sweep(scenario, &w, 1);
    close_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shown),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests_name("gw_choice", tests, NULL, NULL);
}
