/* The blobs of a group of samples, also when they are damaged. */
#include "server/record/srv_rec_group.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static void put(srv_rec_group_bufs *bufs, uint32_t number, const char *text,
                const int32_t *ids, const float *logprobs, size_t n)
{
    const srv_rec_group from = {.texts = tk_str_of(text),
                                .ids = {(const char *)ids, n * 4},
                                .logprobs = {(const char *)logprobs, n * 4}};
    const srv_rec_member member = {.n = (uint32_t)n,
                                   .stopped = number == 2,
                                   .text_n = (uint32_t)strlen(text),
                                   .mean = -0.5 * number};
    srv_rec_group_add(bufs, &from, &member, number);
}

static void test_srv_rec_group_members(void **state)
{
    static const int32_t ids[] = {1, -2, 3};
    static const float logprobs[] = {-1.0F, -2.0F, -3.0F};
    srv_rec_group_bufs bufs;
    srv_rec_member member;
    int32_t seen[3];
    srv_rec_group_init(&bufs, TK_MIB, NULL);
    put(&bufs, 0, "one", ids, logprobs, 2);
    put(&bufs, 2, "", ids, logprobs, 0);
    put(&bufs, 0x89ABCDEF, "three", ids, logprobs, 3);
    const srv_rec_group group = srv_rec_group_of(&bufs);
    assert_int_equal(srv_rec_group_count(&group), 3);
    assert_true(srv_rec_group_find(&group, 1) == SIZE_MAX);
    assert_true(srv_rec_group_find(&group, -1) == SIZE_MAX);
    assert_int_equal(srv_rec_group_find(&group, 0x89ABCDEF), 2);
    srv_rec_group_at(&member, &group, 2);
    assert_true(!member.stopped && member.mean == -0.5 * 0x89ABCDEF);
    assert_true(tk_str_is(srv_rec_group_text(&group, &member), "three"));
    assert_int_equal(srv_rec_group_ids(&group, &member).n, 12);
    memcpy(seen, srv_rec_group_ids(&group, &member).p, 12);
    assert_true(seen[0] == 1 && seen[1] == -2 && seen[2] == 3);
    assert_memory_equal(srv_rec_group_logprobs(&group, &member).p, logprobs, 12);
    srv_rec_group_at(&member, &group, 1);
    assert_true(member.stopped && member.number == 2 && member.n == 0);
    srv_rec_group_dispose(&bufs);
}

/* Whatever the bytes are, nothing outside of them is read. */
static void test_srv_rec_group_damaged(void **state)
{
    unsigned char members[3 * SRV_REC_MEMBER_BYTES + 5];
    uint32_t seed = 1;
    for (int round = 0; round < 2000; round++) {
        for (size_t i = 0; i < sizeof(members); i++) {
            seed = seed * 1664525 + 1013904223;
            members[i] = (seed >> 24) < 200 ? 0 : (unsigned char)(seed >> 20);
        }
        char *text = malloc(40), *ids = malloc(40); /* for ASan */
        assert_true(text != NULL && ids != NULL);
        memset(text, 't', 40);
        memset(ids, 1, 40);
        const srv_rec_group group = {.members = {(const char *)members, sizeof(members)},
                                     .texts = {text, 40},
                                     .ids = {ids, 40},
                                     .logprobs = {ids, 36}};
        srv_rec_group_bufs bufs;
        srv_rec_group_init(&bufs, TK_MIB, NULL);
        assert_int_equal(srv_rec_group_count(&group), 3);
        for (size_t i = 0; i < 3; i++) {
            srv_rec_member member;
            srv_rec_group_at(&member, &group, i);
            srv_rec_group_add(&bufs, &group, &member, member.number);
        }
        assert_true(bufs.texts.n <= 3 * 40 && bufs.ids.n <= 3 * 40);
        assert_int_equal(bufs.ids.n, bufs.logprobs.n);
        srv_rec_group_dispose(&bufs);
        free(text);
        free(ids);
    }
}

static void test_srv_rec_group_is_bounded(void **state)
{
    static const int32_t ids[300];
    static const float logprobs[300];
    tk_err err = TK_ERR_INIT;
    srv_rec_group_bufs bufs;
    srv_rec_group_init(&bufs, 1024, NULL);
    put(&bufs, 0, "text", ids, logprobs, 200);
    assert_int_equal(srv_rec_group_status(&bufs, &err), TINKC_OK);
    put(&bufs, 1, "text", ids, logprobs, 200);
    assert_int_equal(srv_rec_group_status(&bufs, &err), TINKC_E_LIMIT);
    srv_rec_group_clear(&bufs);
    assert_int_equal(srv_rec_group_status(&bufs, &err), TINKC_OK);
    srv_rec_group_dispose(&bufs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_srv_rec_group_members),
        cmocka_unit_test(test_srv_rec_group_damaged),
        cmocka_unit_test(test_srv_rec_group_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
