/* Our side of bench_train.py: opens a model directory and runs one training step
 * (forward_backward with cross_entropy, then AdamW) per line of standard input; prints
 * the wall and CPU nanoseconds of each and the peak of resident memory in KiB. Without
 * arguments it does nothing: the comparison is the script's.
 *   bench_train DIRECTORY THREADS RANK DATA TOKENS
 * Links: engine */
#include "bench.h"

#include <string.h>

#include "base/mem.h"
#include "engine/eng.h"

typedef struct bench {
    eng_pool *pool;
    eng_model *model;
    eng_adapter *adapter;
    eng_datum *data;
    size_t n_data;
} bench;

static void check(tinkc_code code, const tk_err *err)
{
    if (code != TINKC_OK) {
        fprintf(stderr, "bench_train: %s\n", err->message);
        exit(1);
    }
}

static void *must(void *p)
{
    if (p == NULL) {
        fprintf(stderr, "bench_train: out of memory\n");
        exit(1);
    }
    return p;
}

static size_t size_of(const char *text)
{
    uint64_t n = 0;
    if (!tk_str_to_u64(tk_str_of(text), &n) || n == 0 || n > 65536) {
        fprintf(stderr, "bench_train: %s is not a size\n", text);
        exit(1);
    }
    return (size_t)n;
}

static void make_data(bench *b, size_t n_data, size_t n, size_t vocabulary)
{
    b->n_data = n_data;
    b->data = must(tk_array(n_data, sizeof(*b->data)));
    for (size_t d = 0; d < n_data; d++) {
        int32_t *tokens = must(tk_array(n, sizeof(*tokens)));
        int64_t *targets = must(tk_array(n, sizeof(*targets)));
        eng_array *input = must(tk_zalloc(sizeof(*input)));
        for (size_t i = 0; i < n; i++) {
            tokens[i] = (int32_t)((d * n + i) * 7919 % vocabulary);
            targets[i] = (int64_t)((d * n + i + 1) * 7919 % vocabulary);
        }
        *input = (eng_array){.name = TK_STR("target_tokens"),
                             .type = ENG_ARRAY_I64,
                             .values = targets,
                             .n_values = n};
        b->data[d] = (eng_datum){tokens, n, input, 1};
    }
}

static void step(const bench *b)
{
    tk_err err = TK_ERR_INIT;
    eng_adam adam = ENG_ADAM_INIT;
    eng_result *result = NULL;
    double norm;
    eng_train_request request = {
        .loss_fn = TK_STR("cross_entropy"), .data = b->data, .n_data = b->n_data};
    check(eng_adapter_forward_backward(&result, b->adapter, &request, &err), &err);
    eng_result_free(result);
    check(eng_adapter_optim_step(b->adapter, &adam, &norm, &err), &err);
}

static double wall_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* Of this program: ru_maxrss would be the script's that started it, if that is larger. */
static long peak_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "VmHWM:", 6) == 0) {
            kib = strtol(line + 6, NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib;
}

int main(int argc, char **argv)
{
    bench b = {NULL, NULL, NULL, NULL, 0};
    tk_err err = TK_ERR_INIT;
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    eng_model_info info;
    char line[64];
    if (argc != 6) {
        return 0;
    }
    check(eng_pool_new(&b.pool, (unsigned)size_of(argv[2]), &err), &err);
    check(eng_model_open(&b.model, b.pool, argv[1], ENG_WEIGHTS_FILE, &err), &err);
    config.rank = size_of(argv[3]);
    check(eng_adapter_new(&b.adapter, b.model, &config, &err), &err);
    eng_model_get_info(b.model, &info);
    make_data(&b, size_of(argv[4]), size_of(argv[5]), info.vocabulary);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        double wall = wall_ns(), cpu = bench_cpu_ns();
        step(&b);
        printf("%.0f %.0f %ld\n", wall_ns() - wall, bench_cpu_ns() - cpu, peak_kib());
        (void)fflush(stdout);
    }
    return 0;
}
