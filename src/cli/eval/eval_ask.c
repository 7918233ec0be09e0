/* Keeps a number of questions in flight and takes the answers in order.
 * Needs: text */
#include "cli/eval/eval_ask.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/frame/cmd_progress.h"

#define IN_FLIGHT 32

static tinkc_future *ask_one(cmd_model *model, const eval_asking *asking, size_t at,
                             tk_err *err)
{
    tinkc_model_input *prompt = NULL;
    tinkc_sampling_params params = model->params;
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    if (data_set_prompt(&prompt, asking->set, at, err) != TINKC_OK) {
        return NULL;
    }
    params.has_seed = true;
    params.seed = asking->seed + at;
    options.num_samples = asking->samples;
    tinkc_future *future =
        tinkc_sampling_sample(model->sampling, prompt, &params, &options);
    tinkc_model_input_free(&prompt);
    return future;
}

/* Scores the answers to one question. Returns false when memory ran out. */
static bool score(eval_answers *out, const cmd_model *model, const eval_asking *asking,
                  size_t at, const tinkc_samples *samples)
{
    size_t n = tinkc_samples_count(samples), right = 0;
    for (size_t i = 0; i < n; i++) {
        size_t n_tokens = 0, length = 0;
        const int32_t *tokens = tinkc_samples_tokens(&n_tokens, samples, i);
        char *text = cmd_model_decode(model, tokens, n_tokens, &length);
        if (text == NULL) {
            return false;
        }
        bool ok = eval_match_is_right(asking->match, (tk_str){text, length},
                                      asking->set->rows[at].answer);
        right += ok ? 1 : 0;
        bool kept = ok || out->wrong[at].p != NULL ||
                    tk_arena_dup(&out->arena, &out->wrong[at], text, length);
        tinkc_text_free(&text);
        if (!kept) {
            return false;
        }
    }
    out->scores[at] = n > 0 ? (double)right / (double)n : 0;
    return true;
}

static int take_one(eval_answers *out, const cmd_model *model, const eval_asking *asking,
                    size_t at, tinkc_future **future)
{
    tinkc_samples *samples = NULL;
    tinkc_error *error = NULL;
    char head[64];
    if (tinkc_future_await_samples(&samples, future, &error) != TINKC_OK) {
        return cmd_fail_error(&error, "Line %zu was not answered",
                              asking->set->rows[at].line);
    }
    bool ok = score(out, model, asking, at, samples);
    tinkc_samples_free(&samples);
    (void)snprintf(head, sizeof(head), "%zu/%zu", at + 1, asking->set->n);
    cmd_progress_bar((double)(at + 1) / (double)asking->set->n, head, "questions");
    return ok ? CMD_OK : cmd_fail("out of memory");
}

int eval_ask(eval_answers *out, cmd_model *model, const eval_asking *asking)
{
    tinkc_future *futures[IN_FLIGHT] = {NULL};
    tk_err err = TK_ERR_INIT;
    size_t asked = 0, n = asking->set->n;
    int result = CMD_OK;
    memset(out, 0, sizeof(*out));
    tk_arena_init(&out->arena, 0);
    out->scores = tk_zarray(n + 1, sizeof(*out->scores));
    out->wrong = tk_zarray(n + 1, sizeof(*out->wrong));
    if (out->scores == NULL || out->wrong == NULL) {
        return cmd_fail("out of memory");
    }
    for (size_t i = 0; result == CMD_OK && i < n; i++) {
        for (; result == CMD_OK && asked < n && asked < i + IN_FLIGHT; asked++) {
            futures[asked % IN_FLIGHT] = ask_one(model, asking, asked, &err);
            result =
                futures[asked % IN_FLIGHT] != NULL ? CMD_OK : cmd_fail("%s", err.message);
        }
        if (result == CMD_OK) {
            result = take_one(out, model, asking, i, &futures[i % IN_FLIGHT]);
        }
    }
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        tinkc_future_free(&futures[i]);
    }
    cmd_progress_end();
    return result;
}

void eval_answers_dispose(eval_answers *answers)
{
    tk_free(answers->scores);
    tk_free(answers->wrong);
    tk_arena_dispose(&answers->arena);
    memset(answers, 0, sizeof(*answers));
}
