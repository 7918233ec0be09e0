/* Reports what a trained model can do, as Markdown: held-out loss, arithmetic, samples.
 *
 *   pebble_report MODEL_DIRECTORY HELD_OUT_TEXT
 *
 * Prompts and seeds are fixed, so the same model gives the same text on one
 * instruction-set path. scripts/pebble.sh puts this into docs/pebble.md. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "data.h"
#include "sample.h"

#define SEQ         256
#define SEQS        64
#define SAMPLE_MAX  160
#define ANSWER_MAX  8
#define TEMPERATURE 0.7
#define TEXT_MAX    (64 * TK_KIB)
#define HELD_STEP   5 /* every fifth held-out problem is tried */

typedef struct report {
    eng_pool *pool;
    eng_model *model;
    tk_tok *tok;
} report;

/* Encodes the prompt, continues it, and appends the text of the continuation. */
static tinkc_code answer(report *r, const char *prompt, const pre_sampling *how,
                         tk_buf *out, tk_err *err)
{
    tk_tok_ids ids = {NULL, 0, 0, NULL};
    tinkc_code code = tk_tok_encode(r->tok, tk_str_of(prompt), &ids, err);
    size_t given = ids.n;
    if (code == TINKC_OK) {
        code = pre_sample(r->model, &ids, how, err);
    }
    if (code == TINKC_OK) {
        tk_tok_decode(r->tok, ids.ids + given, ids.n - given, true, out);
        code = tk_buf_status(out, err);
    }
    tk_tok_ids_dispose(&ids);
    return code;
}

/* ---- loss ---- */

static tinkc_code print_loss(report *r, const char *text, tk_err *err)
{
    pre_data data;
    tinkc_code code = pre_data_load(&data, r->tok, text, SEQ, err);
    if (code != TINKC_OK) {
        return code;
    }
    double sum = 0;
    for (size_t i = 0; i < SEQS && code == TINKC_OK; i++) {
        pre_seq seq = pre_data_next(&data, SEQ);
        double loss = 0;
        code = pre_score(r->model, seq.tokens, seq.n, &loss, err);
        sum += loss;
    }
    pre_data_dispose(&data);
    if (code == TINKC_OK) {
        printf("Held-out loss: %.4f nats per token (%d tokens of text from another seed, "
               "bf16 weights as committed).\n\n",
               sum / (SEQS * SEQ), SEQS * SEQ);
    }
    return code;
}

/* ---- arithmetic ---- */

typedef struct score {
    const char *name;
    size_t right, all;
} score;

static tinkc_code try_sum(report *r, score *s, int a, int b, char sign, tk_err *err)
{
    char prompt[96], wanted[16];
    (void)snprintf(prompt, sizeof(prompt),
                   "<|endoftext|><|user|>What is %d %c %d?<|end|><|assistant|>", a, sign,
                   b);
    (void)snprintf(wanted, sizeof(wanted), "%d", sign == '+' ? a + b : a - b);
    tk_buf out;
    tk_buf_init(&out, TEXT_MAX);
    pre_sampling how = {.max_tokens = ANSWER_MAX};
    tinkc_code code = answer(r, prompt, &how, &out, err);
    if (code == TINKC_OK) {
        s->all++;
        s->right += tk_str_is(tk_buf_str(&out), wanted) ? 1 : 0;
    }
    tk_buf_dispose(&out);
    return code;
}

/* Matches tools/corpus: pairs that the training text never contains. */
static bool is_held_out(int a, int b)
{
    return (a > 9 || b > 9) && (a * 31 + b * 17) % 8 == 3;
}

static tinkc_code try_sums(report *r, score scores[4], tk_err *err)
{
    tinkc_code code = TINKC_OK;
    int seen = 0;
    for (int i = 0; i < 100 * 100 && code == TINKC_OK; i++) {
        int a = i / 100, b = i % 100;
        bool small = a < 10 && b < 10;
        if (!small && (!is_held_out(a, b) || seen++ % HELD_STEP != 0)) {
            continue;
        }
        code = try_sum(r, &scores[small ? 0 : 2], a, b, '+', err);
        if (code == TINKC_OK && a >= b) {
            code = try_sum(r, &scores[small ? 1 : 3], a, b, '-', err);
        }
    }
    return code;
}

static tinkc_code print_sums(report *r, tk_err *err)
{
    score scores[] = {{"one digit, addition", 0, 0},
                      {"one digit, subtraction", 0, 0},
                      {"two digits, addition, not in the training text", 0, 0},
                      {"two digits, subtraction, not in the training text", 0, 0}};
    tinkc_code code = try_sums(r, scores, err);
    if (code != TINKC_OK) {
        return code;
    }
    printf("| problems (greedy answers) | right | of |\n|---|---|---|\n");
    score total = {"all", 0, 0};
    for (size_t i = 0; i < TK_ARRAY_LEN(scores); i++) {
        printf("| %s | %zu | %zu |\n", scores[i].name, scores[i].right, scores[i].all);
        total.right += scores[i].right;
        total.all += scores[i].all;
    }
    printf("| %s | %zu | %zu |\n\n", total.name, total.right, total.all);
    return TINKC_OK;
}

/* ---- sample sheet ---- */

#define MARY                                                                             \
    "<|user|>Mary the cat was very shy. Yesterday, Mary lost her red kite. Ben came to " \
    "help. They found the kite under the table. Who helped Mary?<|end|><|assistant|>"

static const char *const prompts[] = {
    "Once upon a time",
    "One day, a little",
    "There was once a brave",
    "Lily was a",
    "It was a rainy day, and",
    "Tom lost his",
    "<|user|>Tell me a story.<|end|><|assistant|>",
    "<|user|>Please tell me a short story.<|end|><|assistant|>",
    "<|user|>Hello!<|end|><|assistant|>",
    "<|user|>Who are you?<|end|><|assistant|>",
    "<|system|>Give short answers.<|end|><|user|>What does a cow say?<|end|><|assistant|>",
    "<|user|>What is the opposite of hot?<|end|><|assistant|>",
    "<|user|>What colour is snow?<|end|><|assistant|>",
    "<|user|>Count from 7 to 12.<|end|><|assistant|>",
    "<|user|>Count down from 20 to 15.<|end|><|assistant|>",
    "<|user|>Spell moon backwards.<|end|><|assistant|>",
    "<|user|>What is 4 + 5?<|end|><|assistant|>",
    "<|user|>What is 38 + 27?<|end|><|assistant|>",
    MARY,
    "<|user|>Max has a green hat. What does Max have?<|end|><|assistant|>",
};

static tinkc_code print_samples(report *r, tk_err *err)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(prompts); i++) {
        char prompt[512];
        tk_buf out;
        tk_buf_init(&out, TEXT_MAX);
        (void)snprintf(prompt, sizeof(prompt), "<|endoftext|>%s", prompts[i]);
        pre_sampling how = {
            .temperature = TEMPERATURE, .seed = i + 1, .max_tokens = SAMPLE_MAX};
        tinkc_code code = answer(r, prompt, &how, &out, err);
        if (code == TINKC_OK) {
            printf("%zu. `%s`\n   → %.*s\n", i + 1, prompts[i], (int)out.n, out.p);
        }
        tk_buf_dispose(&out);
        if (code != TINKC_OK) {
            return code;
        }
    }
    return TINKC_OK;
}

static tinkc_code run(report *r, const char *directory, const char *text, tk_err *err)
{
    char *path = tk_file_join(directory, "tokenizer.json");
    tinkc_code code = path != NULL ? tk_tok_load(&r->tok, path, err) : tk_err_nomem(err);
    tk_free(path);
    if (code == TINKC_OK) {
        code = eng_pool_new(&r->pool, 1, err);
    }
    if (code == TINKC_OK) {
        code = eng_model_open(&r->model, r->pool, directory, ENG_WEIGHTS_FILE, err);
    }
    if (code == TINKC_OK) {
        code = print_loss(r, text, err);
    }
    if (code == TINKC_OK) {
        code = print_sums(r, err);
    }
    return code == TINKC_OK ? print_samples(r, err) : code;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: pebble_report MODEL_DIRECTORY HELD_OUT_TEXT\n");
        return 2;
    }
    report r = {NULL, NULL, NULL};
    tk_err err = TK_ERR_INIT;
    tinkc_code code = run(&r, argv[1], argv[2], &err);
    if (code != TINKC_OK) {
        fprintf(stderr, "pebble_report: %s\n", err.message);
    }
    eng_model_free(r.model);
    eng_pool_free(r.pool);
    tk_tok_free(r.tok);
    return code == TINKC_OK ? 0 : 1;
}
