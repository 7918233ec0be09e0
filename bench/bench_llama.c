/* Our side of bench_llama.py: a random model in the shape of Qwen2.5-0.5B in bf16;
 * decodes one sequence after a prompt for every line of standard input and prints the wall
 * and CPU nanoseconds of its fastest token, then those of the prompt. Without arguments it does
 * nothing: the comparison is the script's.
 *   bench_llama THREADS TOKENS
 * Links: engine */
#include "bench_model.h"

#include "engine/eng_sampler.h"

#define PROMPT 256

typedef struct cost {
    double wall, cpu;
} cost;

static double wall_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void done(void *user, const eng_sample_result *result, const tk_err *err)
{
    (void)user;
    if (result == NULL) {
        die(err->message);
    }
}

static size_t size_of(const char *text)
{
    uint64_t n = 0;
    if (!tk_str_to_u64(tk_str_of(text), &n) || n == 0 || n > 1024) {
        die("THREADS and TOKENS are numbers from 1 to 1024");
    }
    return (size_t)n;
}

static cost decode(eng_model *model, size_t tokens, cost *prefill)
{
    tk_err err = TK_ERR_INIT;
    eng_sampler *sampler = NULL;
    eng_sampler_config config = {
        .max_sequences = 1, .max_kv_bytes = (size_t)1 << 30, .prefill_chunk = PROMPT};
    int32_t prompt[PROMPT] = {7, 5, 3};
    eng_sample_request request = ENG_SAMPLE_REQUEST_INIT;
    request.prompt = prompt;
    request.n_prompt = PROMPT;
    request.num_samples = 1;
    request.max_tokens = tokens + 2;
    request.stop_mode = ENG_STOP_NONE;
    request.has_seed = true;
    eng_sample_listener listener = {NULL, done, NULL};
    uint64_t id;
    cost best = {1e300, 1e300};
    check(eng_sampler_new(&sampler, model, &config, &err), &err);
    check(eng_sampler_add(sampler, &request, &listener, &id, &err), &err);
    for (size_t i = 0; eng_sampler_busy(sampler); i++) {
        double wall = wall_ns(), cpu = bench_cpu_ns();
        check(eng_sampler_step(sampler, &err), &err);
        cost spent = {wall_ns() - wall, bench_cpu_ns() - cpu};
        if (i == 0) {
            *prefill = spent;
        } else if (i > 1) { /* after the prompt and its first token */
            best.wall = TK_MIN(best.wall, spent.wall);
            best.cpu = TK_MIN(best.cpu, spent.cpu);
        }
    }
    eng_sampler_free(sampler);
    return best;
}

int main(int argc, char **argv)
{
    tk_err err = TK_ERR_INIT;
    eng_pool *pool = NULL;
    char line[64];
    if (argc != 3) {
        return 0;
    }
    size_t tokens = size_of(argv[2]);
    check(eng_pool_new(&pool, (unsigned)size_of(argv[1]), &err), &err);
    eng_model *model = open_model(pool, LAYERS, ENG_BF16);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        cost prompt = {0, 0}, best = decode(model, tokens, &prompt);
        printf("%.0f %.0f %.0f %.0f\n", best.wall, best.cpu, prompt.wall, prompt.cpu);
        (void)fflush(stdout);
    }
    eng_model_free(model);
    eng_pool_free(pool);
    return 0;
}
