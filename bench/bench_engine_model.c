/* A randomly initialised model of half a billion parameters (the shape of Qwen2.5-0.5B,
 * bf16, a temporary file): the memory of a training step. Decoding is in
 * bench_engine_decode.c.
 * Links: engine */
#include "bench_model.h"

#include <sys/resource.h>

#define THREADS 2
#define GIB     1073741824.0

#define BATCH  4
#define TOKENS 512

static void bench_training(eng_model *model)
{
    static int32_t tokens[TOKENS];
    static int64_t targets[TOKENS];
    tk_err err = TK_ERR_INIT;
    for (size_t i = 0; i < TOKENS; i++) {
        tokens[i] = (int32_t)(i * 7919 % VOCABULARY);
        targets[i] = (int64_t)(i * 104729 % VOCABULARY);
    }
    eng_array input = {.name = TK_STR("target_tokens"),
                       .type = ENG_ARRAY_I64,
                       .values = targets,
                       .n_values = TOKENS};
    eng_datum data[BATCH];
    for (size_t i = 0; i < BATCH; i++) {
        data[i] = (eng_datum){tokens, TOKENS, &input, 1};
    }
    eng_train_request request = {
        .loss_fn = TK_STR("cross_entropy"), .data = data, .n_data = BATCH};
    eng_lora_config config = ENG_LORA_CONFIG_INIT;
    eng_adam adam = ENG_ADAM_INIT;
    eng_adapter *adapter = NULL;
    eng_result *result = NULL;
    double norm;
    check(eng_adapter_new(&adapter, model, &config, &err), &err);
    struct timespec start, end;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    check(eng_adapter_forward_backward(&result, adapter, &request, &err), &err);
    check(eng_adapter_optim_step(adapter, &adam, &norm, &err), &err);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    double seconds = (double)(end.tv_sec - start.tv_sec) +
                     (double)(end.tv_nsec - start.tv_nsec) * 1e-9;
    double peak = (double)usage.ru_maxrss * 1024;
    char detail[160];
    (void)snprintf(detail, sizeof(detail),
                   "peak %.2f GiB, rank 32, %d x %d tokens; %.1f s, %.0f tokens/s",
                   peak / GIB, BATCH, TOKENS, seconds, BATCH * TOKENS / seconds);
    bench_report("engine: memory of a training step, 8 GiB over peak", 8 * GIB / peak, 1,
                 detail);
    eng_result_free(result);
    eng_adapter_free(adapter);
}

int main(void)
{
    tk_err err = TK_ERR_INIT;
    eng_pool *pool = NULL;
    check(eng_pool_new(&pool, THREADS, &err), &err);
    struct timespec start, end;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    eng_model *model = open_model(pool, LAYERS, ENG_BF16);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    fprintf(stderr, "bench_engine_model: written and opened in %.1f s\n",
            (double)(end.tv_sec - start.tv_sec) +
                (double)(end.tv_nsec - start.tv_nsec) * 1e-9);
    bench_training(model);
    eng_model_free(model);
    eng_pool_free(pool);
    return 0;
}
