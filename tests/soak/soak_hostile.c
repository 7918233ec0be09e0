/* The client against a server whose answers are generated from the recordings, one of them
 * wrong in one way: see support/hostile_run.h for what must hold. Meant for the build with
 * ASan and UBSan.
 *
 *   soak_hostile [--answers N] [--seed N] [--verbose]
 *   soak_hostile --newer [--stride N]
 *   soak_hostile --only CASE [--way N]
 *
 * --newer: all answers that a newer server could send (support/newer.h), or each N-th.
 * Prints a line per endpoint; exits with 1 on a finding, of which it prints the case.
 *
 * Links: hostile */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/hostile_live.h"

#define ANSWERS    100000
#define LIVE_EACH  10 /* one case out of so many is also sent through libcurl */
#define LAST_BYTES 512

typedef struct tally {
    size_t answers, ok, failed, findings, peak_bytes, most_per_s;
    int64_t longest_ms;
    size_t codes[TINKC_E_INTERNAL + 2];
} tally;

typedef struct soak {
    hostile_plan plan;
    tally rows[HOSTILE_KEYS];
    tally all;
    tally live; /* through libcurl */
    size_t way; /* of the next one */
    size_t newer[NEWER_CHANGES];
    bool is_verbose;
} soak;

static soak state;
static char current[LAST_BYTES]; /* the case that runs */

/* Of the sanitizers; not there in other builds. */
extern void __sanitizer_set_death_callback(void (*fn)(void)) __attribute__((weak));

static void print_current(void)
{
    static const char word[] = "\nCRASH --only ";
    ssize_t done = write(STDERR_FILENO, word, sizeof(word) - 1);
    done += write(STDERR_FILENO, current, strlen(current));
    done += write(STDERR_FILENO, "\n", 1);
    (void)done;
}

static void on_signal(int number)
{
    print_current();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void name_crashes(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(print_current);
        return;
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(numbers); i++) {
        (void)signal(numbers[i], on_signal);
    }
}

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void count(tally *row, const hostile_verdict *verdict)
{
    row->answers++;
    row->ok += verdict->code == TINKC_OK;
    row->failed += verdict->code != TINKC_OK;
    row->findings += verdict->finding[0] != '\0';
    row->peak_bytes = TK_MAX(row->peak_bytes, verdict->peak_bytes);
    row->most_per_s = TK_MAX(row->most_per_s, verdict->most_per_s);
    row->longest_ms = TK_MAX(row->longest_ms, verdict->elapsed_ms);
    row->codes[TK_MIN((size_t)verdict->code, TK_ARRAY_LEN(row->codes) - 1)]++;
}

static void show(const hostile_verdict *verdict, const char *more)
{
    if (verdict->finding[0] != '\0') {
        printf("FINDING --only '%s'%s (%s): %s\n", current, more, verdict->what,
               verdict->finding);
        (void)fflush(stdout);
    } else if (state.is_verbose) {
        printf("%s%s (%s): %s, %lld ms, %zu requests, at most %zu/s, %zu bytes\n",
               current, more, verdict->what, tinkc_code_name(verdict->code),
               (long long)verdict->elapsed_ms, verdict->sent, verdict->most_per_s,
               verdict->peak_bytes);
    }
}

static void run_live(const hostile_case *it, size_t way, const hostile_verdict *emulated)
{
    hostile_verdict verdict;
    char more[32];
    size_t n = strlen(current);
    (void)snprintf(more, sizeof(more), " --way %zu", way);
    (void)snprintf(current + n, sizeof(current) - n, "%s", more);
    bool ran = hostile_live(&verdict, it, way, emulated);
    current[n] = '\0';
    if (ran) {
        count(&state.live, &verdict);
        show(&verdict, more);
    }
}

static void run_one(void *user, const hostile_case *it)
{
    hostile_verdict verdict;
    (void)user;
    hostile_case_name(current, sizeof(current), it);
    hostile_run(&verdict, it);
    count(&state.rows[it->key], &verdict);
    count(&state.all, &verdict);
    if (verdict.newer < NEWER_CHANGES) {
        state.newer[verdict.newer]++;
    }
    show(&verdict, "");
    if (state.all.answers % LIVE_EACH == 0) {
        run_live(it, state.way++ % hostile_live_ways(), &verdict);
    }
}

/* The case alone, and through libcurl in each way or in one. */
static void run_only(const hostile_case *it, const char *way)
{
    hostile_verdict verdict;
    hostile_case_name(current, sizeof(current), it);
    hostile_run(&verdict, it);
    count(&state.rows[it->key], &verdict);
    count(&state.all, &verdict);
    show(&verdict, "");
    for (size_t i = 0; i < hostile_live_ways(); i++) {
        if (way == NULL || strtoul(way, NULL, 10) == i) {
            run_live(it, i, &verdict);
        }
    }
}

static void print_codes(const tally *row)
{
    for (size_t i = 1; i < TK_ARRAY_LEN(row->codes); i++) {
        if (row->codes[i] > 0) {
            printf(" %s %zu", tinkc_code_name((tinkc_code)i), row->codes[i]);
        }
    }
    printf("\n");
}

static void print_row(const char *name, const tally *row)
{
    printf("%-26s %7zu %7zu %7zu %9.1f %5zu %7lld  ", name, row->answers, row->ok,
           row->failed, (double)row->peak_bytes / (double)TK_MIB, row->most_per_s,
           (long long)(row->longest_ms / 1000));
    print_codes(row);
}

static void print_all(double seconds)
{
    printf("%-26s %7s %7s %7s %9s %5s %7s  %s\n", "answers to", "answers", "ok", "errors",
           "peak MiB", "req/s", "longest", "errors by code");
    for (size_t key = 0; key < HOSTILE_KEYS; key++) {
        if (state.rows[key].answers > 0) {
            print_row(hostile_key_name(key), &state.rows[key]);
        }
    }
    print_row("all", &state.all);
    print_row("through libcurl", &state.live);
    for (size_t i = 0; i < NEWER_CHANGES; i++) {
        if (state.newer[i] > 0) {
            printf("%-12s %7zu\n", newer_change_name((newer_change)i), state.newer[i]);
        }
    }
    printf("not asked for by the client:%s\n", state.plan.seeds.unused);
    size_t findings = state.all.findings + state.live.findings;
    printf("%-28s %-6s %zu answers, %zu also through libcurl, from %zu recorded, %zu "
           "findings, %.0f s\n",
           "hostile_answers", findings == 0 ? "ok" : "FAILED", state.all.answers,
           state.live.answers, state.plan.seeds.n, findings, seconds);
}

int main(int argc, char **argv)
{
    size_t answers = ANSWERS, stride = 1;
    bool is_newer = false;
    uint64_t seed = 1;
    const char *only = NULL, *way = NULL;
    for (int i = 1; i < argc; i++) {
        bool has_value = i + 1 < argc;
        if (strcmp(argv[i], "--answers") == 0 && has_value) {
            answers = strtoul(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--seed") == 0 && has_value) {
            seed = strtoull(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--newer") == 0) {
            is_newer = true;
        } else if (strcmp(argv[i], "--stride") == 0 && has_value) {
            stride = strtoul(argv[++i], NULL, 10);
        } else if (strcmp(argv[i], "--only") == 0 && has_value) {
            only = argv[++i];
        } else if (strcmp(argv[i], "--way") == 0 && has_value) {
            way = argv[++i];
        } else if (strcmp(argv[i], "--verbose") == 0) {
            state.is_verbose = true;
        } else {
            fprintf(stderr, "soak_hostile [--answers N] [--seed N] [--verbose] | "
                            "--newer [--stride N] | --only CASE [--way N]\n");
            return 2;
        }
    }
    double start = now_s();
    hostile_case it;
    name_crashes();
    hostile_plan_make(&state.plan, TEST_DATA_DIR "/wire");
    if (only != NULL && !hostile_case_parse(&it, &state.plan, only)) {
        fprintf(stderr, "soak_hostile: no such case: %s\n", only);
        return 2;
    }
    state.is_verbose |= only != NULL;
    if (only != NULL) {
        run_only(&it, way);
    } else if (is_newer) {
        hostile_plan_walk_newer(&state.plan, TK_MAX(stride, (size_t)1), run_one, NULL);
    } else {
        hostile_walk walk = {.answers = answers, .seed = seed, .fn = run_one};
        hostile_plan_walk(&state.plan, &walk);
    }
    print_all(now_s() - start);
    hostile_plan_dispose(&state.plan);
    return state.all.findings + state.live.findings == 0 ? 0 : 1;
}
