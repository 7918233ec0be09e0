/* The proxy of tests/support as a program: a bad network between any client and any
 * server on this machine, by seed. docs/guide/proxy.md shows how to use it. Prints its
 * URL, then runs until SIGINT or SIGTERM; prints how often it did what. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "support/proxy.h"

static int usage(void)
{
    fprintf(
        stderr,
        "usage: proxy --to PORT [--port PORT] [--seed N] [--max-ms N] [--only TEXT]\n"
        "             [--log] [--ACT N]...\n"
        "ACT N: of 1,000 exchanges N have this fate: delay, drop, duplicate, reorder,\n"
        "       halve, stall, hang\n");
    return 2;
}

static void print_line(const char *line, void *user)
{
    (void)user;
    printf("%s\n", line);
    (void)fflush(stdout);
}

static bool read_number(const char *text, int64_t max, int64_t *out)
{
    return text != NULL && tk_str_to_i64(tk_str_of(text), out) && *out >= 0 &&
           *out <= max;
}

/* An option with a value; false: unknown, or not a number in its range. */
static bool read_pair(proxy_options *options, const char *name, const char *value)
{
    int64_t n = 0;
    if (strcmp(name, "--only") == 0) {
        options->only = value;
        return value != NULL;
    }
    if (strcmp(name, "--seed") == 0 && read_number(value, INT64_MAX, &n)) {
        options->seed = (uint64_t)n;
    } else if (strcmp(name, "--to") == 0 && read_number(value, 65535, &n)) {
        options->to_port = (int)n;
    } else if (strcmp(name, "--port") == 0 && read_number(value, 65535, &n)) {
        options->port = (int)n;
    } else if (strcmp(name, "--max-ms") == 0 && read_number(value, 86400000, &n)) {
        options->max_ms = (unsigned)n;
    } else {
        int act = PROXY_PASS + 1;
        while (act < PROXY_ACTS &&
               (strncmp(name, "--", 2) != 0 ||
                strcmp(name + 2, proxy_act_name((proxy_act)act)) != 0)) {
            act++;
        }
        if (act == PROXY_ACTS || !read_number(value, 1000, &n)) {
            return false;
        }
        options->rate[act] = (unsigned)n;
    }
    return true;
}

static bool read_options(proxy_options *options, int argc, char **argv)
{
    unsigned sum = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--log") == 0) {
            options->log = print_line;
        } else if (!read_pair(options, argv[i], argv[i + 1])) {
            return false;
        } else {
            i++;
        }
    }
    for (int act = 0; act < PROXY_ACTS; act++) {
        sum += options->rate[act];
    }
    return options->to_port > 0 && sum <= 1000;
}

int main(int argc, char **argv)
{
    proxy_options options = {.seed = 1};
    sigset_t ends;
    int got = 0;
    if (!read_options(&options, argc, argv)) {
        return usage();
    }
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &ends, NULL);
    proxy *net = proxy_start(&options);
    print_line(proxy_url(net), NULL);
    (void)sigwait(&ends, &got);
    for (int act = 0; act < PROXY_ACTS; act++) {
        printf("%s %zu\n", proxy_act_name((proxy_act)act),
               proxy_count(net, (proxy_act)act));
    }
    proxy_stop(&net);
    return 0;
}
