/* The walk over pages, and the three lists that use it, counted at the scripted peer
 * (A-124, A-125, A-126, M-130).
 * Links: peer */
#include <stdio.h>
#include <stdlib.h>

#include <tinkc/rest.h>

#include "base/buf.h"
#include "base/limits.h"
#include "client/rest/pager.h"
#include "support/failmem.h"
#include "support/fakeapi.h"
#include "support/servicefix.h"

/* ---- the walk on a list in memory ---- */

#define ITEMS_MAX 64

typedef struct list {
    char ids[ITEMS_MAX][24];
    size_t n;
    bool counts; /* the server says how many there are */
    size_t most; /* items that it gives at a time; 0: as asked */
    size_t fetches;
    int64_t too_many; /* items of an answer that is too large; 0: none is */
    size_t fail_at;   /* this fetch fails, from 1; 0: none */
    int64_t from;     /* of the last page */
    void (*between)(struct list *l); /* after the first fetch */
} list;

static void fill(list *l, size_t n)
{
    l->n = n;
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(l->ids[i], sizeof(l->ids[i]), "i%zu", i);
    }
}

static tinkc_code fetch(void *user, int64_t offset, int64_t limit, tk_page *out,
                        tk_err *err)
{
    list *l = user;
    l->fetches++;
    if (l->fetches == l->fail_at) {
        return tk_err_set(err, TINKC_E_SERVER, "not now");
    }
    if (l->too_many != 0 && limit >= l->too_many) {
        out->is_too_large = true;
        return tk_err_set(err, TINKC_E_LIMIT, "response too large");
    }
    if (l->fetches == 2 && l->between != NULL) {
        l->between(l);
    }
    size_t from = TK_MIN((size_t)offset, l->n);
    size_t most = l->most != 0 ? l->most : (size_t)limit;
    l->from = (int64_t)from;
    out->n = TK_MIN(TK_MIN((size_t)limit, most), l->n - from);
    out->total = l->counts ? (int64_t)l->n : -1;
    return TINKC_OK;
}

static tk_str id_at(void *user, size_t index)
{
    list *l = user;
    return tk_str_of(l->ids[(size_t)l->from + index]);
}

/* Walks to the end; what came, in order, as one text. */
static size_t walk(list *l, int64_t page, int64_t limit, char *text, size_t size)
{
    tk_pager pager;
    size_t index, n = 0, used = 0;
    tk_err err = TK_ERR_INIT;
    tk_pager_init(&pager, &(tk_pager_source){fetch, id_at, l}, page, 0, limit);
    text[0] = '\0';
    while (tk_pager_next(&index, &pager, &err) == TINKC_OK) {
        used += (size_t)snprintf(text + used, size - used, "%s ", id_at(l, index).p);
        n++;
    }
    assert_int_equal(err.code, TINKC_E_MISSING);
    tk_pager_dispose(&pager);
    return n;
}

/* empty, short and exact pages, with and without a count. */
static void test_pager_ends(void **unused)
{
    static const struct {
        size_t n;
        bool counts;
        size_t most;
        int64_t limit;
        size_t items, fetches;
    } rows[] = {
        {0, true, 0, 0, 0, 1},    {0, false, 0, 0, 0, 1},   {3, true, 0, 0, 3, 1},
        {3, false, 0, 0, 3, 1},   {10, true, 0, 0, 10, 1},  {10, false, 0, 0, 10, 2},
        {25, true, 0, 0, 25, 3},  {25, false, 0, 0, 25, 3}, {25, true, 4, 0, 25, 7},
        {25, true, 0, 10, 10, 1}, {25, true, 0, 11, 11, 2}, {25, false, 0, 3, 3, 1},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        char text[512];
        list l = {.counts = rows[i].counts, .most = rows[i].most};
        fill(&l, rows[i].n);
        assert_int_equal(walk(&l, 10, rows[i].limit, text, sizeof(text)), rows[i].items);
        assert_int_equal(l.fetches, rows[i].fetches);
    }
}

/* Items of which a page would be larger than an answer may be come on smaller pages. */
static void test_pager_large_items(void **unused)
{
    static const struct {
        int64_t page, too_many;
        size_t items, fetches; /* of which the first ones are too large */
    } rows[] = {
        {100, 20, 25, 1 + 3}, {100, 2, 25, 2 + 25}, {1000000, 2, 25, 7 + 25},
        {8, 8, 25, 1 + 25},   {7, 7, 25, 1 + 25},   {7, 8, 25, 4},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        char text[512];
        list l = {.counts = true, .too_many = rows[i].too_many};
        fill(&l, 25);
        assert_int_equal(walk(&l, rows[i].page, 0, text, sizeof(text)), rows[i].items);
        assert_int_equal(l.fetches, rows[i].fetches);
    }
    bool more = false;
    tk_pager pager;
    tk_err err = TK_ERR_INIT;
    list l = {.counts = true, .too_many = 1};
    fill(&l, 25);
    tk_pager_init(&pager, &(tk_pager_source){fetch, id_at, &l}, 100, 0, 0);
    assert_int_equal(tk_pager_peek(&more, &pager, &err), TINKC_E_LIMIT);
    assert_int_equal(l.fetches, 3);
    assert_int_equal(tk_pager_peek(&more, &pager, &err), TINKC_E_LIMIT);
    assert_int_equal(l.fetches, 4);
    tk_pager_dispose(&pager);
}

static void add_in_front(list *l)
{
    memmove(l->ids[2], l->ids[0], l->n * sizeof(l->ids[0]));
    (void)snprintf(l->ids[0], sizeof(l->ids[0]), "new0");
    (void)snprintf(l->ids[1], sizeof(l->ids[1]), "new1");
    l->n += 2;
}

static void drop_in_front(list *l)
{
    memmove(l->ids[0], l->ids[3], (l->n - 3) * sizeof(l->ids[0]));
    l->n -= 3;
}

/* what moves down is not handed out twice. */
static void test_pager_list_grows(void **unused)
{
    char text[512];
    list l = {.counts = true, .between = add_in_front};
    fill(&l, 8);
    assert_int_equal(walk(&l, 4, 0, text, sizeof(text)), 8);
    assert_string_equal(text, "i0 i1 i2 i3 i4 i5 i6 i7 ");
}

/* what moves up over the border is not lost. */
static void test_pager_list_shrinks(void **unused)
{
    char text[512];
    list l = {.counts = true, .between = drop_in_front};
    fill(&l, 9);
    assert_int_equal(walk(&l, 4, 0, text, sizeof(text)), 9);
    assert_non_null(strstr(text, "i4 "));
    assert_non_null(strstr(text, "i6 "));
    assert_int_equal(l.fetches, 4);
}

/* A failed page can be asked for again; nothing is lost or doubled. */
static void test_pager_repeats_after_failure(void **unused)
{
    tk_pager pager;
    size_t index, n = 0, failures = 0;
    list l = {.counts = true, .fail_at = 2};
    fill(&l, 9);
    tk_pager_init(&pager, &(tk_pager_source){fetch, id_at, &l}, 4, 0, 0);
    for (;;) {
        tk_err err = TK_ERR_INIT;
        if (tk_pager_next(&index, &pager, &err) == TINKC_OK) {
            n++;
        } else if (err.code == TINKC_E_SERVER) {
            failures++;
        } else {
            assert_int_equal(err.code, TINKC_E_MISSING);
            break;
        }
    }
    assert_int_equal(n, 9);
    assert_int_equal(failures, 1);
    tk_pager_dispose(&pager);
}

/* ---- the public pagers at the peer ---- */

/* Page `offset`.. of a list of `total`, as the server writes it. */
static void put_page(tk_buf *out, const char *what, int64_t offset, int64_t limit,
                     int64_t total)
{
    static const char checkpoint[] =
        "{\"checkpoint_id\":\"weights/%lld\",\"checkpoint_type\":\"training\","
        "\"time\":\"2026-01-01T00:00:00Z\",\"tinker_path\":\"tinker://r/weights/%lld\"}";
    static const char run[] =
        "{\"training_run_id\":\"r%lld\",\"base_model\":\"m\",\"model_owner\":\"o\","
        "\"is_lora\":true,\"last_request_time\":\"2026-01-01T00:00:00Z\"}";
    int64_t n = TK_MIN(limit, total - offset);
    tk_buf_printf(out, "{\"%s\":[", what);
    for (int64_t i = offset; i < offset + n; i++) {
        tk_buf_puts(out, i > offset ? "," : "");
        if (strcmp(what, "checkpoints") == 0) {
            tk_buf_printf(out, checkpoint, (long long)i, (long long)i);
        } else if (strcmp(what, "training_runs") == 0) {
            tk_buf_printf(out, run, (long long)i);
        } else {
            tk_buf_printf(out, "\"s%lld\"", (long long)i);
        }
    }
    tk_buf_puts(out, "]");
    if (strcmp(what, "sessions") != 0) {
        tk_buf_printf(out,
                      ",\"cursor\":{\"offset\":%lld,\"limit\":%lld,\"total_count\":%lld}",
                      (long long)offset, (long long)limit, (long long)total);
    }
    tk_buf_puts(out, "}");
}

static void script_pages(fakeapi *api, const char *path, const char *what, int64_t page,
                         int64_t total)
{
    for (int64_t offset = 0; offset < total; offset += page) {
        tk_buf body;
        tk_buf_init(&body, 16 * TK_MIB);
        put_page(&body, what, offset, page, total);
        fakeapi_reply(api, "GET", path,
                      &(fakeapi_step){.body = tk_buf_cstr(&body), .body_n = body.n});
        tk_buf_dispose(&body);
    }
}

static fakeapi *start_peer(void)
{
    fakeapi *api = fakeapi_start();
    fakeapi_default(api, "POST", "/api/v1/client/*", &fakeapi_json("{}"));
    return api;
}

static size_t take(tinkc_pager *pager, size_t most)
{
    size_t n = 0;
    const tinkc_checkpoint *item = NULL;
    tinkc_error *error = NULL;
    while (n < most && tinkc_pager_next_checkpoint(&item, pager, &error) == TINKC_OK) {
        char path[64];
        (void)snprintf(path, sizeof(path), "tinker://r/weights/%zu", n++);
        assert_string_equal(item->path, path);
    }
    tinkc_error_free(&error);
    return n;
}

/* A-124, M-130: 2,350 checkpoints with pages of 1000 are 3 requests; taking 100 is
 * one. */
static void test_pager_checkpoints_counted(void **unused)
{
    static const char path[] = "/api/v1/checkpoints";
    static const char *const queries[] = {"limit=1000&offset=0", "limit=1000&offset=1000",
                                          "limit=1000&offset=2000"};
    fakeapi *api = start_peer();
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_pager *pager = NULL;
    script_pages(api, path, "checkpoints", 1000, 2350);
    assert_int_equal(tinkc_pager_checkpoints(&pager, service, NULL, NULL), TINKC_OK);
    assert_int_equal(tinkc_pager_total(pager), -1);
    assert_int_equal(fakeapi_total(api), 0);
    assert_int_equal(take(pager, SIZE_MAX), 2350);
    assert_int_equal(tinkc_pager_total(pager), 2350);
    assert_int_equal(fakeapi_count(api, "GET", path), 3);
    for (size_t i = 0; i < TK_ARRAY_LEN(queries); i++) {
        assert_string_equal(fakeapi_nth(api, "GET", path, i)->query, queries[i]);
    }
    tinkc_pager_close(&pager);

    script_pages(api, path, "checkpoints", 1000, 1000);
    tinkc_pager_options options = TINKC_PAGER_OPTIONS_INIT;
    options.page = 1000;
    assert_int_equal(tinkc_pager_checkpoints(&pager, service, &options, NULL), TINKC_OK);
    assert_int_equal(take(pager, 100), 100);
    assert_int_equal(fakeapi_count(api, "GET", path), 4);
    tinkc_pager_close(&pager);

    script_pages(api, path, "checkpoints", 100, 100);
    options.limit = 100; /* known beforehand: the page is not larger */
    assert_int_equal(tinkc_pager_checkpoints(&pager, service, &options, NULL), TINKC_OK);
    assert_int_equal(take(pager, SIZE_MAX), 100);
    assert_int_equal(fakeapi_count(api, "GET", path), 5);
    assert_string_equal(fakeapi_nth(api, "GET", path, 4)->query, "limit=100&offset=0");
    tinkc_pager_close(&pager);
    assert_int_equal(fakeapi_count(api, "POST", "/api/v1/create_session"), 0);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* An answer of the setup that is too large is not taken for a page that is too large:
 * the setup is not repeated for smaller pages. */
static void test_pager_large_setup(void **unused)
{
    static const char path[] = "/api/v1/client/dynamic_config";
    tk_buf body;
    fakeapi *api = fakeapi_start();
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_pager *pager = NULL;
    const tinkc_run *run = NULL;
    tk_buf_init(&body, 2 * TK_ANSWER_SMALL_BYTES);
    while (body.n <= TK_ANSWER_SMALL_BYTES) {
        tk_buf_puts(&body, "        ");
    }
    fakeapi_default(api, "POST", path,
                    &(fakeapi_step){.body = tk_buf_cstr(&body), .body_n = body.n});
    fakeapi_default(api, "POST", "/api/v1/client/config", &fakeapi_json("{}"));
    assert_int_equal(tinkc_pager_runs(&pager, service, NULL, NULL), TINKC_OK);
    assert_int_equal(tinkc_pager_next_run(&run, pager, NULL), TINKC_E_LIMIT);
    assert_int_equal(fakeapi_count(api, "POST", path), 1);
    tinkc_pager_close(&pager);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
    tk_buf_dispose(&body);
}

/* M-130: the same walk over runs, with a limit and filters. */
static void test_pager_runs(void **unused)
{
    static const char path[] = "/api/v1/training_runs";
    fakeapi *api = start_peer();
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_pager *pager = NULL;
    const tinkc_run *run = NULL;
    bool more = false;
    script_pages(api, path, "training_runs", 100, 250);
    tinkc_pager_options options = TINKC_PAGER_OPTIONS_INIT;
    options.limit = 150;
    options.scope = TINKC_SCOPE_ACCESSIBLE;
    options.project_id = "p 1";
    assert_int_equal(tinkc_pager_runs(&pager, service, &options, NULL), TINKC_OK);
    size_t n = 0;
    while (tinkc_pager_has_next(&more, pager, NULL) == TINKC_OK && more) {
        assert_int_equal(tinkc_pager_next_run(&run, pager, NULL), TINKC_OK);
        n++;
    }
    assert_int_equal(n, 150);
    assert_string_equal(run->id, "r149");
    assert_int_equal(tinkc_pager_next_run(&run, pager, NULL), TINKC_E_MISSING);
    assert_int_equal(fakeapi_count(api, "GET", path), 2);
    assert_string_equal(fakeapi_nth(api, "GET", path, 1)->query,
                        "limit=50&offset=100&access_scope=accessible&project_id=p%201");
    assert_int_equal(tinkc_pager_next_session(&(const char *){NULL}, pager, NULL),
                     TINKC_E_STATE);
    tinkc_pager_close(&pager);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

/* M-130: sessions come without a cursor: a short page is the last. */
static void test_pager_sessions(void **unused)
{
    static const char path[] = "/api/v1/sessions";
    fakeapi *api = start_peer();
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_pager *pager = NULL;
    const char *id = NULL;
    script_pages(api, path, "sessions", 100, 120);
    assert_int_equal(tinkc_pager_sessions(&pager, service, NULL, NULL), TINKC_OK);
    size_t n = 0;
    while (tinkc_pager_next_session(&id, pager, NULL) == TINKC_OK) {
        n++;
    }
    assert_int_equal(n, 120);
    assert_int_equal(fakeapi_count(api, "GET", path), 2);
    assert_int_equal(tinkc_pager_total(pager), -1);
    tinkc_pager_close(&pager);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

static void test_pager_refuses(void **unused)
{
    fakeapi *api = start_peer();
    tinkc_service *service = servicefix_open(api, NULL);
    tinkc_pager *pager = NULL;
    tinkc_error *error = NULL;
    tinkc_pager_options options = TINKC_PAGER_OPTIONS_INIT;
    options.limit = -1;
    assert_int_equal(tinkc_pager_runs(&pager, service, &options, &error),
                     TINKC_E_INVALID);
    assert_non_null(error);
    tinkc_error_free(&error);
    assert_int_equal(tinkc_pager_runs(&pager, NULL, NULL, NULL), TINKC_E_STATE);
    assert_int_equal(tinkc_pager_next_run(&(const tinkc_run *){NULL}, NULL, NULL),
                     TINKC_E_STATE);
    assert_int_equal(tinkc_pager_total(NULL), -1);
    fakeapi_default(api, "GET", "/api/v1/sessions", &fakeapi_detail(403, "not yours"));
    assert_int_equal(tinkc_pager_sessions(&pager, service, NULL, NULL), TINKC_OK);
    assert_int_equal(tinkc_pager_next_session(&(const char *){NULL}, pager, &error),
                     TINKC_E_PERMISSION);
    assert_int_equal(tinkc_error_http_status(error), 403);
    tinkc_error_free(&error);
    tinkc_pager_close(&pager);
    tinkc_pager_close(&pager);
    tinkc_service_close(&service);
    fakeapi_stop(&api);
}

static bool sweep_once(void *user)
{
    const char *const *pages = user;
    fakeapi *api = start_peer();
    for (size_t i = 0; i < 2; i++) {
        fakeapi_reply(api, "GET", "/api/v1/training_runs",
                      &(fakeapi_step){.body = pages[i]});
    }
    tinkc_config *config = NULL;
    tinkc_service *service = NULL;
    tinkc_pager *pager = NULL;
    const tinkc_run *run = NULL;
    size_t n = 0;
    tinkc_pager_options options = TINKC_PAGER_OPTIONS_INIT;
    options.page = 3;
    bool ok = tinkc_config_new(&config, NULL) == TINKC_OK &&
              tinkc_config_set(config, "base_url", fakeapi_url(api), NULL) == TINKC_OK &&
              tinkc_config_set(config, "loop", "manual", NULL) == TINKC_OK &&
              tinkc_service_open(&service, config, NULL) == TINKC_OK &&
              tinkc_pager_runs(&pager, service, &options, NULL) == TINKC_OK;
    while (ok && tinkc_pager_next_run(&run, pager, NULL) == TINKC_OK) {
        n++;
    }
    tinkc_pager_close(&pager);
    tinkc_service_close(&service);
    tinkc_config_free(&config);
    fakeapi_stop(&api);
    return ok && n == 5;
}

static void test_pager_allocation_sweep(void **unused)
{
    tk_buf bodies[2];
    const char *pages[2];
    for (int i = 0; i < 2; i++) {
        tk_buf_init(&bodies[i], TK_MIB);
        put_page(&bodies[i], "training_runs", (int64_t)i * 3, 3, 5);
        pages[i] = strdup(tk_buf_cstr(&bodies[i]));
        tk_buf_dispose(&bodies[i]);
    }
    assert_true(failmem_sweep(sweep_once, pages, 3) > 30);
    free((void *)(uintptr_t)pages[0]);
    free((void *)(uintptr_t)pages[1]);
}

/* A server whose list never ends and never says anything new, by a total that goes up and
 * down or by one that is huge: an error after ten pages, not a loop. */
typedef struct liar {
    size_t fetches;
    int64_t totals[2];
} liar;

static tinkc_code fetch_lies(void *user, int64_t offset, int64_t limit, tk_page *out,
                             tk_err *err)
{
    liar *l = user;
    assert_true(l->fetches < 1000);
    *out = (tk_page){1, l->totals[l->fetches++ % 2], false};
    return TINKC_OK;
}

static tk_str same_id(void *user, size_t index)
{
    return TK_STR("x");
}

static void test_pager_repeats(void **unused)
{
    static const int64_t totals[][2] = {{10, 9}, {INT64_MAX, INT64_MAX}, {9, 10}};
    for (size_t i = 0; i < TK_ARRAY_LEN(totals); i++) {
        liar l = {.totals = {totals[i][0], totals[i][1]}};
        tk_pager pager;
        size_t index;
        tk_err err = TK_ERR_INIT;
        tk_pager_init(&pager, &(tk_pager_source){fetch_lies, same_id, &l}, 1, 0, 0);
        assert_int_equal(tk_pager_next(&index, &pager, &err), TINKC_OK);
        assert_int_equal(tk_pager_next(&index, &pager, &err), TINKC_E_DECODE);
        assert_in_range(l.fetches, 10, 11);
        tk_pager_dispose(&pager);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pager_ends),
        cmocka_unit_test(test_pager_large_items),
        cmocka_unit_test(test_pager_list_grows),
        cmocka_unit_test(test_pager_list_shrinks),
        cmocka_unit_test(test_pager_repeats_after_failure),
        cmocka_unit_test(test_pager_checkpoints_counted),
        cmocka_unit_test(test_pager_large_setup),
        cmocka_unit_test(test_pager_runs),
        cmocka_unit_test(test_pager_sessions),
        cmocka_unit_test(test_pager_refuses),
        cmocka_unit_test(test_pager_allocation_sweep),
        cmocka_unit_test(test_pager_repeats),
    };
    return cmocka_run_group_tests_name("client/pager", tests, NULL, NULL);
}
