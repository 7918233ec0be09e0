/* `tinkc serve`: options that the server does not start with.
 * Links: server */
#include "support/program.h"
#include "support/test.h"

static void expect(program *p, const char *memory, int code, const char *text)
{
    program_run(p, PROGRAM_ARGS("serve", "--port", "0", "--memory", memory));
    if (p->code != code || strstr(p->err.p, text) == NULL) {
        fail_msg("--memory %s: %d %s", memory, p->code, p->err.p);
    }
}

/* A size that cannot be read is a usage error; one that the model does not fit into is
 * refused at the start, with both numbers. */
static void test_serve_memory(void **state)
{
    static const char *const bad[] = {"",     "0",   "M",     "12X",         "-1",
                                      "1.5G", "1 G", "512MB", "99999999999G"};
    program p;
    program_open(&p, TINKC_PROGRAM);
    for (size_t i = 0; i < TK_ARRAY_LEN(bad); i++) {
        expect(&p, bad[i], 2, "--memory must be a size such as 512M or 8G.");
    }
    expect(&p, "1024K", 1, "of the server's 1 MiB");
    expect(&p, "1M", 1, "needs ");
    program_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_serve_memory)};
    return cmocka_run_group_tests_name("cmd_serve", tests, NULL, NULL);
}
