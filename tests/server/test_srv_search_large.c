/* Searches among sessions with much metadata: each answer and each read is bounded. Not
 * built under TSan, where they would take a minute. */
#include <sqlite3.h>

#include "server/srvfix.h"

#define API "/api/v1/"

/* Adds sessions with 1 MiB of metadata each, straight to the database. They are of today:
 * old ones would be removed while the test runs. */
static void add_large(srvfix *f, int n)
{
    char path[96], text[512];
    sqlite3 *db = NULL;
    (void)snprintf(path, sizeof(path), "%s/tinkc.db", f->data);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    (void)sqlite3_busy_timeout(db, 60000);
    (void)snprintf(text, sizeof(text),
                   "WITH RECURSIVE c(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM c"
                   " WHERE i < %d) INSERT INTO sessions SELECT printf('large%%04d', i),"
                   " strftime('%%s', 'now') * 1000000 + i, '[]',"
                   " '{\"colour\":\"red\",\"x\":\"' || hex(zeroblob(524288)) || '\"}',"
                   " NULL, NULL, NULL FROM c",
                   n);
    assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* Searches from the start to the end; returns the number of requests, and in *found that
 * of the sessions. */
static int search_all(srvfix *f, const char *more, size_t *found)
{
    char body[512], cursor[256] = "null";
    int n = 0;
    *found = 0;
    do {
        (void)snprintf(body, sizeof(body), "{\"limit\":200,\"cursor\":%s%s}", cursor,
                       more);
        const tk_json *json = srvfix_post(f, API "sessions/search", body);
        assert_int_equal(f->status, 200);
        *found += tk_json_len(tk_json_get(json, "sessions"));
        const tk_json *next = tk_json_get(json, "next_cursor");
        cursor[0] = '\0';
        if (next != NULL) {
            (void)snprintf(cursor, sizeof(cursor),
                           "{\"last_created_at\":\"%s\",\"last_session_id\":\"%s\"}",
                           srvfix_text(next, "last_created_at"),
                           srvfix_text(next, "last_session_id"));
        }
        tk_arena_dispose(&f->arena);
        n++;
    } while (cursor[0] != '\0');
    return n;
}

/* A search answers with a part and a cursor when metadata is long, whether it finds much
 * or nothing. */
static void test_srv_searches_are_bounded(void **state)
{
    srvfix f;
    size_t found = 0;
    srvfix_open(&f, (srv_options){0});
    add_large(&f, 70);
    assert_in_range(search_all(&f, "", &found), 14, 19); /* 4 MiB in each answer */
    assert_int_equal(found, 70);
    assert_int_equal(search_all(&f, ",\"user_metadata\":{\"colour\":\"blue\"}", &found),
                     2); /* 64 MiB are read for each */
    assert_int_equal(found, 0);
    (void)search_all(&f, ",\"user_metadata\":{\"colour\":\"red\"}", &found);
    assert_int_equal(found, 70);
    (void)search_all(&f, ",\"user_metadata\":{\"x\":\"red\"}", &found);
    assert_int_equal(found, 0); /* of another key */
    srvfix_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_searches_are_bounded),
    };
    return cmocka_run_group_tests_name("srv_search_large", tests, NULL, NULL);
}
