/* What the recorder of `tinkc serve` (src/server/record) costs by itself, without a server: CPU
 * time of a sample; and a run of 100,000 steps: the size of its database, the memory of the
 * process while it grows, and how long the page's query of a curve takes.
 *
 *   bench_recorder DIRECTORY    only leaves the run of 100,000 steps there, for tests/browser
 *
 * Links: server */
#include "bench.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "server/record/srv_rec_read.h"

#define STEPS     100000
#define EACH      2000 /* steps between two waits for the recorder: its queue is bounded */
#define SEQUENCES 64
#define TOKENS    100
#define GROUPS    200
#define DIRECTORY "/tmp/tinkc-bench-recorder-XXXXXX"
#define RUN       TK_STR("a-long-run:train:0")
#define SIZE_BAR  40e6 /* docs/internals/console.md */

static hd_budget memory;

static void die(const char *what)
{
    fprintf(stderr, "bench_recorder: %s\n", what);
    exit(1);
}

static srv_rec *open_in(const char *data, uint64_t limit_bytes,
                        bool (*put_token)(const void *, int32_t, tk_buf *))
{
    tk_err err = TK_ERR_INIT;
    srv_rec *rec = NULL;
    const srv_rec_config config = {.data = data,
                                   .budget = &memory,
                                   .part = HD_PART_REQUESTS,
                                   .limit_bytes = limit_bytes,
                                   .put_token = put_token};
    if (srv_rec_new(&rec, &config, &err) != TINKC_OK ||
        srv_rec_start(rec, NULL, &err) != TINKC_OK) {
        die(err.message);
    }
    return rec;
}

static void check_dropped(srv_rec *rec)
{
    srv_rec_stats stats;
    srv_rec_get_stats(rec, &stats);
    if (stats.dropped > 0 || !stats.works) {
        die("not everything was recorded");
    }
}

static double rss_mib(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%*d %ld", &pages) != 1) {
        die("/proc/self/statm");
    }
    (void)fclose(file);
    return (double)pages * (double)sysconf(_SC_PAGESIZE) / (double)TK_MIB;
}

static double wall_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void make_directory(char *path)
{
    if (mkdtemp(path) == NULL) {
        die("mkdtemp");
    }
}

static void remove_all(const char *data)
{
    char command[128];
    (void)snprintf(command, sizeof(command), "rm -rf %s", data);
    if (system(command) != 0) {
        die(command);
    }
}

/* ---- a long run ---- */

/* With the two numbers of a loss, a step has nine metrics. */
static void add_step(srv_rec *rec, int64_t step)
{
    double noise = (double)(step * 2654435761 % 1000) / 1000.0;
    double loss = 4.0 * exp(-(double)step / 30000.0) + 0.2 * noise;
    const srv_rec_metric metrics[] = {{TK_STR("ppo_kl_div:mean"), loss / 2},
                                      {TK_STR("entropy:mean"), noise}};
    const srv_rec_train train = {.run = RUN,
                                 .model = TK_STR("tinkc/pebble-llama-2m"),
                                 .loss_sum = loss * 512,
                                 .weight = 512,
                                 .tokens = 512,
                                 .seconds = 0.02,
                                 .metrics = metrics,
                                 .n_metrics = TK_ARRAY_LEN(metrics)};
    const srv_rec_optim optim = {.run = RUN,
                                 .model = train.model,
                                 .step = step,
                                 .lr = 1e-4,
                                 .grad_norm = loss * 2,
                                 .seconds = 0.001};
    srv_rec_add_train(rec, &train);
    srv_rec_add_optim(rec, &optim);
    if (step % EACH == 0) {
        srv_rec_flush(rec);
    }
}

static void begin_run(srv_rec *rec)
{
    const srv_rec_begin begin = {.run = RUN,
                                 .session = TK_STR("a-long-run"),
                                 .model = TK_STR("tinkc/pebble-llama-2m"),
                                 .name = TK_STR("a long run"),
                                 .rank = 32};
    srv_rec_begin_run(rec, &begin);
}

static void fill(const char *data)
{
    srv_rec *rec = open_in(data, 0, NULL);
    begin_run(rec);
    for (int64_t step = 1; step <= STEPS; step++) {
        add_step(rec, step);
    }
    srv_rec_end_run(rec, RUN);
    srv_rec_flush(rec);
    check_dropped(rec);
    srv_rec_free(rec);
}

static double query_ms(srv_rec *rec, size_t points)
{
    tk_err err = TK_ERR_INIT;
    tk_str names[] = {TK_STR("loss")};
    con_series_list list = {0};
    const con_series_query query = {.run = RUN,
                                    .names = names,
                                    .n_names = 1,
                                    .by = CON_BY_STEP,
                                    .from = 0,
                                    .to = STEPS,
                                    .points = points};
    tk_arena arena;
    tk_arena_init(&arena, TK_GIB);
    double began = wall_ms();
    if (srv_rec_read_series(&list, rec, &arena, &query, &err) != TINKC_OK ||
        list.p[0].total != STEPS) {
        die("the series is not there");
    }
    double took = wall_ms() - began;
    tk_arena_dispose(&arena);
    return took;
}

static void measure_run(const char *data)
{
    char detail[200];
    srv_rec_stats stats;
    srv_rec *rec = open_in(data, 0, NULL);
    double early = 0.0, cpu = bench_cpu_ns();
    begin_run(rec);
    for (int64_t step = 1; step <= STEPS; step++) {
        add_step(rec, step);
        early = step == STEPS / 10 ? rss_mib() : early;
    }
    srv_rec_flush(rec);
    cpu = bench_cpu_ns() - cpu;
    double late = rss_mib();
    check_dropped(rec);
    sleep(2); /* the size is read now and then */
    add_step(rec, STEPS);
    srv_rec_flush(rec);
    srv_rec_get_stats(rec, &stats);
    double size = (double)stats.bytes;
    (void)snprintf(
        detail, sizeof(detail),
        "%.1f MB of at most %.0f for %d steps of nine metrics, %.1f us of CPU each",
        size / 1e6, SIZE_BAR / 1e6, STEPS, cpu / STEPS / 1e3);
    bench_report("recorder: database of a long run", SIZE_BAR / size, 1.0, detail);
    (void)snprintf(detail, sizeof(detail),
                   "%.1f MiB resident after %d steps, %.1f after %d", early, STEPS / 10,
                   late, STEPS);
    bench_report("recorder: memory of a long run", early / late, 0.8, detail);
    (void)query_ms(rec, 1000);
    double took = query_ms(rec, 1000);
    (void)snprintf(detail, sizeof(detail),
                   "%.1f ms for a curve of %d steps in 1,000 points", took, STEPS);
    bench_report("recorder: curve of a long run within 100 ms", 100.0 / took, 1.0,
                 detail);
    srv_rec_free(rec);
}

/* ---- samples ---- */

static bool put_token(const void *tok, int32_t id, tk_buf *out)
{
    (void)tok;
    tk_buf_put(out, id % 7 == 0 ? " the" : "ing", id % 7 == 0 ? 4 : 3);
    return true;
}

/* With a limit, the ring is full after some hundred of them. */
static void measure_samples(size_t sequences, uint64_t limit_bytes)
{
    char data[] = DIRECTORY;
    static int32_t ids[TOKENS];
    static float logprobs[TOKENS];
    srv_rec_sequence each[SEQUENCES];
    char name[80], detail[120];
    make_directory(data);
    srv_rec *rec = open_in(data, limit_bytes, put_token);
    for (int32_t i = 0; i < TOKENS; i++) {
        ids[i] = i;
        logprobs[i] = -(float)i / TOKENS;
    }
    for (size_t i = 0; i < sequences; i++) {
        each[i] = (srv_rec_sequence){ids, logprobs, TOKENS, true};
    }
    const srv_rec_sample sample = {.model = TK_STR("tinkc/pebble-llama-2m"),
                                   .path = TK_STR("tinker://a:train:0/sampler_weights/b"),
                                   .sampler = TK_STR("a:sample:0"),
                                   .tok = "",
                                   .prompt = ids,
                                   .n_prompt = TOKENS,
                                   .sequences = each,
                                   .n = sequences};
    size_t n = GROUPS * SEQUENCES / sequences;
    double cpu = bench_cpu_ns();
    for (size_t i = 0; i < n; i++) {
        srv_rec_add_sample(rec, &sample);
        if ((i + 1) % (EACH / sequences / 4 + 1) == 0) {
            srv_rec_flush(rec);
        }
    }
    srv_rec_flush(rec);
    double us = (bench_cpu_ns() - cpu) / (double)(n * sequences) / 1e3;
    check_dropped(rec);
    srv_rec_free(rec);
    remove_all(data);
    (void)snprintf(name, sizeof(name), "recorder: samples, %zu of each request%s",
                   sequences, limit_bytes > 0 ? ", full ring" : "");
    (void)snprintf(detail, sizeof(detail), "%.2f us of CPU for a sample of %d tokens", us,
                   TOKENS);
    bench_note(name, detail);
}

int main(int argc, char **argv)
{
    char data[] = DIRECTORY;
    hd_budget_init(&memory, TK_GIB, NULL);
    if (argc > 1) {
        fill(argv[1]);
        return 0;
    }
    make_directory(data);
    measure_run(data);
    remove_all(data);
    measure_samples(SEQUENCES, 0);
    measure_samples(1, 0);
    measure_samples(SEQUENCES, SRV_REC_LIMIT_MIN);
    measure_samples(1, SRV_REC_LIMIT_MIN);
    return 0;
}
