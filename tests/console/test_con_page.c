/* The files of the page: what is linked is what is in the folder, and its headers keep
 * everything else out. */
#include "console/con_page.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "support/test.h"

#define PAGE_BYTES_MAX (150 * 1000)

static const char *header_of(const hd_request *request, const char *name)
{
    for (size_t i = 0; i < request->n_headers; i++) {
        if (strcmp(request->headers[i].name, name) == 0) {
            return request->headers[i].value;
        }
    }
    return NULL;
}

static const char *match; /* If-None-Match of the requests */
static const char *accept_text;

static tk_str header(const hd_request *request, const char *name)
{
    (void)request;
    return tk_str_of(strcmp(name, "If-None-Match") == 0 ? match
                     : strcmp(name, "Accept") == 0      ? accept_text
                                                        : NULL);
}

static hd_budget budget;

static hd_request *ask(const char *name)
{
    hd_budget_init(&budget, TK_GIB, NULL);
    hd_request *request = hd_request_new(NULL, &budget);
    assert_non_null(request);
    request->header = header;
    request->params[0] = tk_str_of(name);
    return request;
}

static void test_con_page_has_every_file_of_the_folder(void **state)
{
    (void)state;
    size_t n = 0;
    size_t bytes = 0;
    const con_page_file *files = con_page_files(&n);
    DIR *dir = opendir(TEST_DATA_DIR "/../../src/console/page");
    assert_non_null(dir);
    size_t seen = 0;
    for (struct dirent *at = readdir(dir); at != NULL; at = readdir(dir)) {
        bool found = at->d_name[0] == '.';
        for (size_t i = 0; i < n && !found; i++) {
            found = strcmp(files[i].name, at->d_name) == 0;
            seen += found;
        }
        if (!found) {
            fail_msg("%s has no row in con_page.c", at->d_name);
        }
    }
    assert_int_equal(closedir(dir), 0);
    assert_int_equal(seen, n);
    for (size_t i = 0; i < n; i++) {
        bytes += files[i].bytes.n;
        assert_true(files[i].bytes.n > 0);
    }
    assert_true(bytes < PAGE_BYTES_MAX);
}

static void test_con_page_headers_and_etag(void **state)
{
    (void)state;
    hd_request *request = ask("main.js");
    assert_int_equal(con_page_file_get(request), HD_ANSWERED);
    assert_int_equal(request->status, 200);
    assert_string_equal(request->content_type, "text/javascript; charset=utf-8");
    const char *policy = header_of(request, "Content-Security-Policy");
    assert_string_equal(
        policy, "default-src 'none'; script-src 'self'; style-src 'self'; connect-src "
                "'self'; img-src 'self' data:; base-uri 'none'; frame-ancestors 'none'; "
                "form-action 'self'");
    assert_string_equal(header_of(request, "X-Content-Type-Options"), "nosniff");
    char etag[CON_PAGE_ETAG_BYTES];
    (void)snprintf(etag, sizeof(etag), "%s", header_of(request, "ETag"));
    hd_request_free(request);

    match = etag;
    request = ask("main.js");
    assert_int_equal(con_page_file_get(request), HD_ANSWERED);
    assert_int_equal(request->status, 304);
    assert_string_equal(header_of(request, "ETag"), etag);
    hd_request_free(request);
    match = "\"other\"";
    request = ask("main.js");
    assert_int_equal(con_page_file_get(request), HD_ANSWERED);
    assert_int_equal(request->status, 200);
    hd_request_free(request);
    match = NULL;
}

static void test_con_page_other_names_are_missing(void **state)
{
    (void)state;
    static const char *const names[] = {"", "index.html", "../main.js", "MAIN.JS", "x"};
    for (size_t i = 0; i < TK_ARRAY_LEN(names); i++) {
        hd_request *request = ask(names[i]);
        assert_int_equal(con_page_file_get(request), HD_ANSWERED);
        assert_int_equal(request->status, 404);
        hd_request_free(request);
    }
}

static void test_con_page_is_for_browsers(void **state)
{
    (void)state;
    hd_request *request = ask("");
    accept_text = "text/html,application/xhtml+xml";
    assert_true(con_page_is_wanted(request));
    accept_text = "*/*";
    assert_false(con_page_is_wanted(request));
    accept_text = NULL;
    assert_false(con_page_is_wanted(request));
    hd_request_free(request);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_con_page_has_every_file_of_the_folder),
        cmocka_unit_test(test_con_page_headers_and_etag),
        cmocka_unit_test(test_con_page_other_names_are_missing),
        cmocka_unit_test(test_con_page_is_for_browsers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
