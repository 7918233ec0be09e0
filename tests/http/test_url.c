/* One normalised key per server, and joining URLs (A-096..A-098, docs/protocol.md
 * §1.1). */
#include "http/url.h"
#include "support/test.h"

static void assert_key(const char *text, const char *expected)
{
    tk_url url;
    tk_err err = TK_ERR_INIT;
    tk_buf key;
    tk_buf_init(&key, TK_KIB);
    assert_int_equal(tk_url_parse(&url, tk_str_of(text), &err), TINKC_OK);
    tk_url_key(&key, &url);
    assert_string_equal(tk_buf_cstr(&key), expected);
    tk_buf_dispose(&key);
}

/* M-023: path, slash, case and an explicit default port do not matter. */
static void test_url_key_variants(void **unused)
{
    static const char *const same[] = {
        "https://h.example",     "https://h.example/",       "https://H.Example:443",
        "HTTPS://h.example/a/b", "https://h.example:443/x/", "https://h.example:0443"};
    for (size_t i = 0; i < TK_ARRAY_LEN(same); i++) {
        assert_key(same[i], "https://h.example");
    }
    assert_key("http://[::1]:8000/x", "http://[::1]:8000");
    assert_key("http://127.0.0.1:80", "http://127.0.0.1");
}

/* A-097, M-023: only the scheme's own default port is stripped. */
static void test_url_key_ports(void **unused)
{
    assert_key("https://h:80", "https://h:80");
    assert_key("http://h:443", "http://h:443");
    assert_key("http://h:8080/", "http://h:8080");
}

static void test_url_refusals(void **unused)
{
    static const char *const bad[] = {
        "",           "h.example",    "ftp://h",        "http://",     "http:///x",
        "http://h:0", "http://h:",    "http://h:99999", "http://h:x",  "http://u:p@h",
        "http://h?q", "http://h/x#f", "http://h x",     "http://[::1", "http://[::1]x",
        "http://h\n", "http://:80",
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        tk_url url = {.port = 7};
        tk_err err = TK_ERR_INIT;
        assert_int_equal(tk_url_parse(&url, tk_str_of(bad[i]), &err), TINKC_E_CONFIG);
        assert_int_equal(url.port, 7);
        assert_true(err.message[0] != '\0');
    }
}

static void test_url_loopback(void **unused)
{
    static const struct {
        const char *text;
        bool is_loopback;
    } rows[] = {{"http://localhost:1", true}, {"http://127.0.0.1", true},
                {"http://127.9.9.9", true},   {"http://[::1]", true},
                {"http://LocalHost", true},   {"http://127.evil.example", false},
                {"http://10.0.0.1", false},   {"http://localhost.example", false}};
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_url url;
        assert_int_equal(tk_url_parse(&url, tk_str_of(rows[i].text), NULL), TINKC_OK);
        assert_int_equal(url.is_loopback, rows[i].is_loopback);
    }
}

static void test_url_join_keeps_base_path(void **unused)
{
    static const char *const bases[] = {"https://h/services/p", "https://h/services/p/"};
    for (size_t i = 0; i < TK_ARRAY_LEN(bases); i++) {
        tk_buf url;
        tk_buf_init(&url, TK_KIB);
        tk_url_join(&url, tk_str_of(bases[i]), "/api/v1/x");
        assert_string_equal(tk_buf_cstr(&url), "https://h/services/p/api/v1/x");
        tk_buf_dispose(&url);
    }
}

static void test_url_escape_and_query(void **unused)
{
    tk_buf text;
    tk_buf_init(&text, TK_KIB);
    tk_url_escape(&text, TK_STR("a b:train:0/ü?%"), "/:");
    assert_string_equal(tk_buf_cstr(&text), "a%20b:train:0/%C3%BC%3F%25");
    tk_buf_clear(&text);
    tk_url_query_add(&text, "limit", TK_STR("20"));
    tk_url_query_add(&text, "starting_on", TK_STR("2026-07-13T00:00:00Z"));
    assert_string_equal(tk_buf_cstr(&text),
                        "limit=20&starting_on=2026-07-13T00%3A00%3A00Z");
    tk_buf_dispose(&text);
}

/* M-122: what a Location header means; what is not a URL is refused. */
static void test_url_resolve(void **unused)
{
    static const struct {
        const char *base, *location, *url; /* NULL: refused */
    } rows[] = {
        {"https://h/p", "https://cdn.example/a?b=c#d", "https://cdn.example/a?b=c#d"},
        {"https://h/p", "//cdn.example/a", "https://cdn.example/a"},
        {"http://h:8000/p?q=/x", "/a/b?c", "http://h:8000/a/b?c"},
        {"https://h", "/a", "https://h/a"},
        {"https://h/p", "", NULL},
        {"https://h/p", "ftp://x/y", NULL},
        {"https://h/p", "file:///etc/passwd", NULL},
        {"https://h/p", "a/b", NULL},
        {"https://h/p", "https://u@h/", NULL},
        {"https://h/p", "/a b", NULL},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        tk_buf out;
        tk_buf_init(&out, 1024);
        tinkc_code code = tk_url_resolve(&out, tk_str_of(rows[i].base),
                                         tk_str_of(rows[i].location), NULL);
        assert_int_equal(code, rows[i].url != NULL ? TINKC_OK : TINKC_E_DECODE);
        if (rows[i].url != NULL) {
            assert_string_equal(tk_buf_cstr(&out), rows[i].url);
        }
        tk_buf_dispose(&out);
    }
}

/* Credentials stay with their server. */
static void test_url_same_origin(void **unused)
{
    static const struct {
        const char *a, *b;
        bool same;
    } rows[] = {
        {"https://h/x?y=1", "https://H:443", true},
        {"http://h/", "http://h:80/z#f", true},
        {"https://h/", "http://h/", false},
        {"https://h/", "https://h.evil.example/", false},
        {"https://h/", "https://h:8443/", false},
        {"https://h", "nonsense", false},
        {"https://h", "https://evil.example?https://h", false},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        assert_int_equal(tk_url_same_origin(tk_str_of(rows[i].a), tk_str_of(rows[i].b)),
                         rows[i].same);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url_resolve),
        cmocka_unit_test(test_url_same_origin),
        cmocka_unit_test(test_url_key_variants),
        cmocka_unit_test(test_url_key_ports),
        cmocka_unit_test(test_url_refusals),
        cmocka_unit_test(test_url_loopback),
        cmocka_unit_test(test_url_join_keeps_base_path),
        cmocka_unit_test(test_url_escape_and_query),
    };
    return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
