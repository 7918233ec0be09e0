/* Stateful fuzzing of the server: rounds, one seed each, until the time is over. See fz.h
 * for what a round is, and docs/internals/testing.md for how to read a finding.
 *
 *     fuzz_server [--seconds N] [--seed N] [--rounds N] [--round-ms N] [--honest N]
 *                 [--hostile N] [--agents N] [--gateway PERMILLE] [--memory-mib N] [--rss-mib N]
 *                 [--slow-ms N] [--keep]
 *     fuzz_server --routes
 *
 * One line per round; exits with 1 when there was a finding. With --routes only: exits with
 * 1 when the server has a route that the clients do not know. */
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "fz_agent.h"
#include "fz_honest.h"

#define CLIENTS_MAX  16
#define FINDINGS_MAX 8 /* of one round; then it ends */

/* How much more than its budget the server may hold: what is not counted, and what a
 * sanitizer adds to each allocation. */
#ifdef TINKC_SANITIZED
#define RSS_FACTOR 4
#else
#define RSS_FACTOR 1.2
#endif

static fz_world world;
static tk_mutex print_lock = TK_MUTEX_INIT;

void fz_find(fz_world *w, const char *format, ...)
{
    va_list args;
    size_t n = atomic_fetch_add(&w->findings, 1) + 1;
    tk_mutex_lock(&print_lock);
    if (n <= FINDINGS_MAX) {
        char text[2400];
        va_start(args, format);
        (void)vsnprintf(text, sizeof(text), format, args);
        va_end(args);
        printf("FINDING seed %llu life %u: %s\n", (unsigned long long)w->seed,
               atomic_load(&w->life), text);
        (void)fflush(stdout);
        fprintf(w->log, "FINDING %s\n", text);
    }
    tk_mutex_unlock(&print_lock);
}

/* ---- the round's directory ---- */

static void make_dir(fz_world *w)
{
    struct statvfs shm;
    char path[128];
    bool room = statvfs("/dev/shm", &shm) == 0 &&
                (uint64_t)shm.f_bavail * shm.f_frsize > 2 * TK_GIB;
    (void)snprintf(w->dir, sizeof(w->dir), "%s/tinkc-fuzz-XXXXXX",
                   room ? "/dev/shm" : "/tmp");
    if (mkdtemp(w->dir) == NULL) {
        fakeapi_die("mkdtemp: %m");
    }
    (void)snprintf(path, sizeof(path), "%s/requests.log", w->dir);
    w->log = fopen(path, "w");
    if (w->log == NULL) {
        fakeapi_die("%s: %m", path);
    }
}

static int remove_one(const char *path, const struct stat *status, int type,
                      struct FTW *unused)
{
    (void)status;
    (void)type;
    (void)unused;
    (void)remove(path);
    return 0;
}

/* ---- the watch: health, memory, and the life of the server ---- */

static void sleep_ms(int64_t ms)
{
    const struct timespec pause_for = {ms / 1000, (ms % 1000) * 1000000};
    (void)nanosleep(&pause_for, NULL);
}

/* Healthz on a connection of its own, in time. */
static void check_health(fz_client *c)
{
    fz_world *w = c->world;
    fz_answer answer;
    const httpget_request request = {.method = "GET", .target = FZ_API "healthz"};
    if (!fz_client_enter_life(c)) {
        return;
    }
    int64_t began = tk_clock_mono_ms(NULL);
    bool ok = fz_ask(c, &request, FZ_PLAIN, &answer);
    int64_t took = tk_clock_mono_ms(NULL) - began;
    bool same_life = !atomic_load(&w->is_ending) && atomic_load(&w->life) == c->life;
    if (ok && same_life && answer.status != 200) {
        fz_find(w, "healthz answers %d %s", answer.status, answer.body.p);
    }
    if (ok && same_life && took > w->options->slow_ms) {
        fz_find(w, "healthz took %lld ms", (long long)took);
    }
    if (ok && same_life && took > atomic_load(&w->slowest_ms)) {
        atomic_store(&w->slowest_ms, took);
    }
    tk_arena_dispose(&c->arena);
}

/* While the server ends and starts, requests come at it without a pause. */
static void watch_health(void *user)
{
    static const char metrics[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
                                  "Connection: close\r\nX-API-Key: " FZ_KEY "\r\n\r\n";
    fz_client *c = user;
    while (!atomic_load(&c->world->is_over)) {
        if (atomic_load(&c->world->is_ending)) {
            fz_throw(c, metrics, sizeof(metrics) - 1, true);
            sleep_ms(1);
        } else {
            check_health(c);
            sleep_ms(50);
        }
    }
}

static void check_memory(fz_world *w)
{
    size_t rss = fz_child_rss(w);
    if (rss > atomic_load(&w->peak_rss)) {
        atomic_store(&w->peak_rss, rss);
    }
    if (w->options->rss_max > 0 && rss > w->options->rss_max) {
        fz_find(w, "the server holds %zu MiB", (size_t)(rss / TK_MIB));
        fz_child_end(w, SIGKILL);
    }
}

/* Lets the clients work for ms; false when the server is gone. */
static bool watch(fz_world *w, int64_t ms)
{
    int64_t end = tk_clock_mono_ms(NULL) + ms;
    bool ok = true;
    while (ok && tk_clock_mono_ms(NULL) < end &&
           atomic_load(&w->findings) < FINDINGS_MAX) {
        sleep_ms(20);
        ok = fz_child_lives(w);
        if (ok) {
            check_memory(w);
        }
    }
    return ok && w->child != 0;
}

/* ---- a round ---- */

typedef struct crew {
    fz_honest *honest[CLIENTS_MAX];
    fz_client hostile[CLIENTS_MAX];
    fz_agent *agents[CLIENTS_MAX];
    fz_client health;
    tk_thread threads[3 * CLIENTS_MAX + 1];
    size_t n;
} crew;

static void start(crew *all, void (*run)(void *), void *user)
{
    if (tk_thread_start(&all->threads[all->n++], "fuzz", run, user, NULL) != TINKC_OK) {
        fakeapi_die("no thread");
    }
}

static void start_crew(crew *all, fz_world *w)
{
    for (int i = 0; i < w->options->honest; i++) {
        all->honest[i] = fz_honest_new(w, i);
        start(all, fz_honest_run, all->honest[i]);
    }
    for (int i = 0; i < w->options->hostile; i++) {
        fz_client_init(&all->hostile[i], w, 100 + i);
        start(all, fz_hostile_run, &all->hostile[i]);
    }
    for (int i = 0; i < w->options->agents; i++) {
        all->agents[i] = fz_agent_new(w, 300 + i);
        start(all, fz_agent_run, all->agents[i]);
    }
    fz_client_init(&all->health, w, 200);
    start(all, watch_health, &all->health);
}

static void end_crew(crew *all, fz_world *w)
{
    atomic_store(&w->is_over, true);
    for (size_t i = 0; i < all->n; i++) {
        tk_thread_join(&all->threads[i]);
    }
    for (int i = 0; i < w->options->hostile; i++) {
        fz_client_dispose(&all->hostile[i]);
    }
    fz_client_dispose(&all->health);
}

/* Traffic, with restarts at moments that the seed chooses. */
static bool drive(fz_world *w, tk_rand *rand)
{
    int64_t left = w->options->round_ms;
    bool ok = true;
    while (ok && left > 0 && atomic_load(&w->findings) < FINDINGS_MAX) {
        int64_t ms = 100 + (int64_t)tk_rand_below(rand, 2500);
        ms += tk_rand_below(rand, 4) == 0 ? 4000 : 0; /* slow builds do little in less */
        bool kills = tk_rand_below(rand, 2) == 1;
        ok = watch(w, ms);
        left -= ms;
        if (ok) {
            fprintf(w->log, "life %u: %s\n", atomic_load(&w->life),
                    kills ? "SIGKILL" : "SIGTERM");
            fz_child_end(w, kills ? SIGKILL : SIGTERM);
        }
        fz_damage(w, rand);
        ok = fz_child_start(w); /* also after it has ended by itself */
    }
    return ok;
}

static void run_round(fz_world *w, uint64_t seed)
{
    crew *all = tk_zalloc(sizeof(*all));
    tk_rand rand;
    w->seed = seed;
    tk_rand_init(&rand, seed);
    make_dir(w);
    fz_models_make(w);
    w->truth = fz_truth_new();
    atomic_store(&w->port, 0);
    atomic_store(&w->life, 0);
    atomic_store(&w->is_over, false);
    size_t before = atomic_load(&w->findings);
    bool ok = fz_child_start(w);
    if (ok) {
        start_crew(all, w);
        ok = drive(w, &rand);
        end_crew(all, w);
    }
    size_t saves = 0, turns = 0;
    atomic_store(&w->is_over, false);
    for (int i = 0; i < w->options->honest && all->honest[i] != NULL; i++) {
        if (ok && atomic_load(&w->findings) == before) {
            fz_honest_check(all->honest[i]);
        }
        saves += all->honest[i]->n_saves;
        fz_honest_free(all->honest[i]);
    }
    for (int i = 0; i < w->options->agents && all->agents[i] != NULL; i++) {
        if (ok && atomic_load(&w->findings) == before) {
            fz_agent_check(all->agents[i]);
        }
        turns += all->agents[i]->n_turns;
        fz_agent_free(all->agents[i]);
    }
    fz_child_end(w, SIGTERM);
    bool clean = atomic_load(&w->findings) == before;
    printf(
        "seed %llu: %u lives, %zu saves, %zu turns, %zu requests so far, healthz up to "
        "%lld ms, %zu MiB, %s%s\n",
        (unsigned long long)seed, atomic_load(&w->life), saves, turns,
        atomic_load(&w->requests), atomic_load(&w->slowest_ms),
        atomic_load(&w->peak_rss) / TK_MIB, clean ? "clean " : "FOUND ",
        clean && !w->options->keep ? "" : w->dir);
    (void)fflush(stdout);
    (void)fclose(w->log);
    if (clean && !w->options->keep) {
        (void)nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    }
    fz_truth_free(w->truth);
    tk_free(all);
}

/* ---- options ---- */

static int usage(void)
{
    fprintf(stderr, "usage: fuzz_server [--seconds N] [--seed N] [--rounds N] "
                    "[--round-ms N] [--honest N] [--hostile N] [--agents N] "
                    "[--gateway PERMILLE] [--memory-mib N] [--rss-mib N] [--slow-ms N] "
                    "[--keep]\n"
                    "       fuzz_server --routes\n");
    return 2;
}

typedef struct numbers {
    int64_t seconds, seed, rounds, round_ms, honest, hostile, memory_mib, rss_mib,
        slow_ms, agents, gateway;
} numbers;

static bool read_options(numbers *n, bool *keep, int argc, char **argv)
{
    const struct {
        const char *name;
        int64_t *at;
    } rows[] = {
        {"--seconds", &n->seconds},       {"--seed", &n->seed},
        {"--rounds", &n->rounds},         {"--round-ms", &n->round_ms},
        {"--honest", &n->honest},         {"--hostile", &n->hostile},
        {"--memory-mib", &n->memory_mib}, {"--rss-mib", &n->rss_mib},
        {"--slow-ms", &n->slow_ms},       {"--agents", &n->agents},
        {"--gateway", &n->gateway},
    };
    for (int i = 1; i < argc; i++) {
        bool known = strcmp(argv[i], "--keep") == 0;
        *keep = *keep || known;
        for (size_t r = 0; r < TK_ARRAY_LEN(rows) && !known; r++) {
            if (strcmp(argv[i], rows[r].name) == 0 && i + 1 < argc) {
                known =
                    tk_str_to_i64(tk_str_of(argv[++i]), rows[r].at) && *rows[r].at >= 0;
                break;
            }
        }
        if (!known) {
            return false;
        }
    }
    return n->honest <= CLIENTS_MAX && n->hostile <= CLIENTS_MAX &&
           n->agents <= CLIENTS_MAX && n->gateway <= 1000;
}

int main(int argc, char **argv)
{
    numbers n = {.seconds = 60,
                 .seed = 1,
                 .rounds = INT64_MAX,
                 .round_ms = 10000,
                 .honest = 3,
                 .hostile = 3,
                 .agents = 1,
                 .memory_mib = 512,
                 .rss_mib = 0,
                 .slow_ms = 10000};
    bool keep = false;
    int64_t memory = 0, port = 0;
    if (argc == 5 && strcmp(argv[1], "--serve") == 0 &&
        tk_str_to_i64(tk_str_of(argv[3]), &memory) &&
        tk_str_to_i64(tk_str_of(argv[4]), &port)) {
        return fz_child_serve(argv[2], (size_t)memory, (int)port);
    }
    if (argc == 2 && strcmp(argv[1], "--routes") == 0) {
        return fz_routes_check() == 0 ? 0 : 1;
    }
    if (!read_options(&n, &keep, argc, argv)) {
        return usage();
    }
    const fz_options options = {
        .program = "/proc/self/exe",
        .memory = (size_t)n.memory_mib * TK_MIB,
        .rss_max = n.rss_mib > 0
                       ? (size_t)n.rss_mib * TK_MIB
                       : (size_t)((double)n.memory_mib * RSS_FACTOR * (double)TK_MIB),
        .slow_ms = n.slow_ms,
        .honest = (int)n.honest,
        .hostile = (int)n.hostile,
        .agents = (int)n.agents,
        .gateway = (unsigned)n.gateway,
        .round_ms = n.round_ms,
        .keep = keep};
    world.options = &options;
    int64_t end = tk_clock_mono_ms(NULL) + n.seconds * 1000;
    size_t found = 0;
    int64_t rounds = 0;
    while (rounds < n.rounds && tk_clock_mono_ms(NULL) < end) {
        run_round(&world, (uint64_t)(n.seed + rounds++));
        found += atomic_exchange(&world.findings, 0);
    }
    fz_routes_report();
    printf("%lld rounds, %zu requests, %zu findings\n", (long long)rounds,
           atomic_load(&world.requests), found);
    return found == 0 ? 0 : 1;
}
