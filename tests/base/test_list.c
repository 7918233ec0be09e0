/* The intrusive list at its edges: empty, single, first, last, removed twice. */
#include "base/list.h"
#include "support/test.h"

typedef struct item {
    int value;
    tk_list link;
} item;

static void assert_order(tk_list *head, const char *expected)
{
    char forward[16] = "";
    char backward[16] = "";
    size_t n = strlen(expected);
    size_t i = 0;
    for (tk_list *at = head->next; at != head; at = at->next) {
        assert_true(i < n);
        forward[i++] = (char)TK_CONTAINER_OF(at, item, link)->value;
    }
    assert_int_equal(i, n);
    for (tk_list *at = head->prev; at != head; at = at->prev) {
        backward[--i] = (char)TK_CONTAINER_OF(at, item, link)->value;
    }
    assert_string_equal(forward, expected);
    assert_string_equal(backward, expected);
}

static void test_list_push_and_remove(void **unused)
{
    item a = {.value = 'a'};
    item b = {.value = 'b'};
    item c = {.value = 'c'};
    tk_list head;
    tk_list_init(&head);
    tk_list_init(&c.link);
    assert_true(tk_list_is_empty(&head));
    assert_null(tk_list_pop_front(&head));
    assert_false(tk_list_is_linked(&c.link));
    tk_list_push_back(&head, &b.link);
    tk_list_push_front(&head, &a.link);
    tk_list_push_back(&head, &c.link);
    assert_order(&head, "abc");
    assert_true(tk_list_is_linked(&c.link));
    tk_list_remove(&b.link);
    assert_order(&head, "ac");
    tk_list_remove(&b.link);
    assert_order(&head, "ac");
    tk_list_insert_before(&c.link, &b.link);
    assert_order(&head, "abc");
    assert_ptr_equal(tk_list_pop_front(&head), &a.link);
    tk_list_remove(&c.link);
    assert_order(&head, "b");
    assert_ptr_equal(tk_list_pop_front(&head), &b.link);
    assert_true(tk_list_is_empty(&head));
    assert_false(tk_list_is_linked(&b.link));
}

static void test_list_splice(void **unused)
{
    item items[4] = {{.value = 'a'}, {.value = 'b'}, {.value = 'c'}, {.value = 'd'}};
    tk_list head;
    tk_list from;
    tk_list_init(&head);
    tk_list_init(&from);
    tk_list_splice_back(&head, &from);
    assert_order(&head, "");
    tk_list_push_back(&from, &items[0].link);
    tk_list_push_back(&from, &items[1].link);
    tk_list_splice_back(&head, &from);
    assert_order(&head, "ab");
    assert_order(&from, "");
    tk_list_push_back(&from, &items[2].link);
    tk_list_push_back(&from, &items[3].link);
    tk_list_splice_back(&head, &from);
    assert_order(&head, "abcd");
    assert_order(&from, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_list_push_and_remove),
        cmocka_unit_test(test_list_splice),
    };
    return cmocka_run_group_tests_name("list", tests, NULL, NULL);
}
