/* Prompts go in windows: the student answers all prompts of one, and each answer goes to the
 * teacher when it is there.
 * Needs: text */
#include "cli/distill/distill_roll.h"

#include <math.h>
#include <string.h>
#include <tinkc/rl.h>

#include "base/mem.h"

#define WINDOW 64 /* prompts */

/* A prompt with its answers. */
typedef struct question {
    tinkc_model_input *prompt;
    size_t prompt_n;
    tinkc_future *asked;
    tinkc_samples *samples;
} question;

typedef struct rolling {
    train_run *run;
    const distill_ask *ask;
    distill_sums sums;
    question questions[WINDOW];
    tinkc_future **scored; /* owned: [WINDOW * samples] */
    float *advantages;     /* owned: of one datum */
    size_t room;
} rolling;

/* ---- asking ---- */

static tinkc_code ask_student(rolling *r, question *q, size_t at)
{
    const distill_ask *ask = r->ask;
    size_t row = ask->rows != NULL ? ask->rows[at] : at;
    tinkc_sampling_params params = ask->params;
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    tinkc_code code = data_set_prompt(&q->prompt, ask->set, row, &r->run->err);
    if (code != TINKC_OK) {
        return code;
    }
    q->prompt_n = (size_t)ask->set->rows[row].tokens + 1;
    params.has_seed = true;
    params.seed = tinkc_rl_seed(ask->seed, ask->task + at, 0, 0);
    options.num_samples = (int64_t)ask->samples;
    q->asked = tinkc_sampling_sample(ask->student, q->prompt, &params, &options);
    return TINKC_OK;
}

/* Asks the teacher about one answer. */
static tinkc_code ask_teacher(rolling *r, tinkc_future **out, const question *q, size_t k)
{
    size_t n = 0;
    tinkc_model_input *whole = NULL;
    const int32_t *tokens = tinkc_samples_tokens(&n, q->samples, k);
    if (n == 0) {
        return TINKC_OK;
    }
    tinkc_code code = tinkc_model_input_copy(&whole, q->prompt, &r->run->error);
    if (code == TINKC_OK) {
        code = tinkc_model_input_add_tokens(whole, tokens, n, &r->run->error);
    }
    if (code == TINKC_OK) {
        *out = tinkc_sampling_compute_logprobs(r->ask->teacher, whole);
    }
    tinkc_model_input_free(&whole);
    return code;
}

static tinkc_code take_answers(rolling *r, size_t at)
{
    question *q = &r->questions[at];
    size_t samples = r->ask->samples;
    tinkc_code code = train_run_wait(r->run, q->asked);
    if (code == TINKC_OK) {
        code = tinkc_future_take_samples(&q->samples, q->asked, &r->run->error);
    }
    if (code != TINKC_OK) {
        return code;
    }
    if (tinkc_samples_count(q->samples) != samples) {
        return tk_err_set(&r->run->err, TINKC_E_DECODE,
                          "the server sent %zu answers instead of %zu",
                          tinkc_samples_count(q->samples), samples);
    }
    for (size_t k = 0; code == TINKC_OK && k < samples; k++) {
        code = ask_teacher(r, &r->scored[at * samples + k], q, k);
    }
    return code;
}

/* ---- scoring ---- */

/* Makes room for n advantages. */
static bool make_room(rolling *r, size_t n)
{
    if (n > r->room) {
        tk_free(r->advantages);
        r->advantages = tk_array(n, sizeof(*r->advantages));
        r->room = r->advantages != NULL ? n : 0;
    }
    return r->advantages != NULL;
}

/* Makes the datum of an answer: the advantages of the prompt's tokens are 0. */
static tinkc_code make_datum(rolling *r, const question *q, size_t k,
                             const float *teacher)
{
    size_t n = 0, before = q->prompt_n - 1;
    const float *student = tinkc_samples_logprobs(&n, q->samples, k);
    tinkc_datum **datum = &r->ask->data[r->sums.data];
    tinkc_error **error = &r->run->error;
    if (!make_room(r, before + n)) {
        return tk_err_nomem(&r->run->err);
    }
    memset(r->advantages, 0, before * sizeof(*r->advantages));
    tinkc_code code = tinkc_rl_distill_advantages(r->advantages + before, student,
                                                  teacher, n, r->ask->coefficient, error);
    if (code != TINKC_OK) {
        return code;
    }
    code = tinkc_samples_datum(datum, q->samples, k, q->prompt, 0, error);
    if (code != TINKC_OK) {
        return code;
    }
    r->sums.data++; /* the caller frees it now */
    r->sums.inputs += before + n;
    return tinkc_datum_set_f32(*datum, "advantages", r->advantages, before + n, error);
}

static void add_tokens(distill_sums *sums, const float *student, const float *teacher,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double s = (double)student[i], t = (double)teacher[i];
        sums->kl += s - t;
        sums->k3 += expm1(t - s) - (t - s);
        sums->entropy -= s;
        sums->cross -= t;
    }
    sums->tokens += n;
}

/* Checks what both say about an answer of n tokens. */
static tinkc_code check_answer(rolling *r, const float *student, size_t student_n,
                               const float *teacher, size_t n)
{
    if (student_n != n) {
        return tk_err_set(&r->run->err, TINKC_E_DECODE,
                          "the server sent %zu log-probabilities for an answer of %zu "
                          "tokens",
                          student_n, n);
    }
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(student[i]) || !isfinite(teacher[i])) {
            return tk_err_set(&r->run->err, TINKC_E_DECODE,
                              "the log-probability that the %s gives to token %zu of an "
                              "answer is not a number",
                              isfinite(student[i]) ? "teacher" : "student", i);
        }
    }
    return TINKC_OK;
}

static tinkc_code score(rolling *r, const question *q, size_t k, tinkc_logprobs *scored)
{
    size_t n = 0, student_n = 0, values_n = 0;
    const float *values = tinkc_logprobs_values(&values_n, scored);
    const float *student = tinkc_samples_logprobs(&student_n, q->samples, k);
    (void)tinkc_samples_tokens(&n, q->samples, k);
    if (values_n != q->prompt_n + n) {
        return tk_err_set(&r->run->err, TINKC_E_DECODE,
                          "the teacher has %zu log-probabilities for %zu tokens",
                          values_n, q->prompt_n + n);
    }
    const float *teacher = values + q->prompt_n;
    tinkc_code code = check_answer(r, student, student_n, teacher, n);
    if (code != TINKC_OK) {
        return code;
    }
    add_tokens(&r->sums, student, teacher, n);
    return r->ask->data != NULL ? make_datum(r, q, k, teacher) : TINKC_OK;
}

static tinkc_code take_score(rolling *r, const question *q, size_t k,
                             tinkc_future *future)
{
    tinkc_logprobs *scored = NULL;
    r->sums.answers++;
    r->sums.ended += tinkc_samples_stop_reason(q->samples, k) == TINKC_STOP_STOP;
    if (future == NULL) { /* no token */
        return TINKC_OK;
    }
    tinkc_code code = train_run_wait(r->run, future);
    if (code == TINKC_OK) {
        code = tinkc_future_take_logprobs(&scored, future, &r->run->error);
    }
    if (code == TINKC_OK) {
        code = score(r, q, k, scored);
    }
    tinkc_logprobs_free(&scored);
    return code;
}

/* ---- windows ---- */

static void free_window(rolling *r)
{
    for (size_t i = 0; i < WINDOW; i++) {
        tinkc_model_input_free(&r->questions[i].prompt);
        tinkc_future_free(&r->questions[i].asked);
        tinkc_samples_free(&r->questions[i].samples);
    }
    for (size_t i = 0; i < WINDOW * r->ask->samples; i++) {
        tinkc_future_free(&r->scored[i]);
    }
}

static tinkc_code roll_window(rolling *r, size_t first, size_t n)
{
    size_t samples = r->ask->samples;
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        code = ask_student(r, &r->questions[i], first + i);
    }
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        code = take_answers(r, i);
    }
    for (size_t i = 0; code == TINKC_OK && i < n * samples; i++) {
        code = take_score(r, &r->questions[i / samples], i % samples, r->scored[i]);
    }
    free_window(r);
    return code;
}

tinkc_code distill_roll(distill_sums *out, train_run *run, const distill_ask *ask)
{
    rolling r = {.run = run, .ask = ask};
    r.scored = tk_zarray(WINDOW * ask->samples, sizeof(*r.scored));
    tinkc_code code = r.scored != NULL ? TINKC_OK : tk_err_nomem(&run->err);
    for (size_t i = 0; code == TINKC_OK && i < ask->n; i += WINDOW) {
        code = roll_window(&r, i, TK_MIN(ask->n - i, (size_t)WINDOW));
    }
    for (size_t i = 0; code != TINKC_OK && i < r.sums.data; i++) {
        tinkc_datum_free(&ask->data[i]);
    }
    if (code == TINKC_OK) {
        *out = r.sums;
    }
    tk_free(r.scored);
    tk_free(r.advantages);
    return code;
}

void distill_roll_record(train_record *record, const distill_sums *sums)
{
    double tokens = (double)sums->tokens, answers = (double)sums->answers;
    record->loss = sums->kl / tokens; /* without a token: not a number */
    train_record_put(record, "length", tokens / answers, true);
    train_record_put(record, "ended", (double)sums->ended / answers, false);
    train_record_put(record, "kl_k3", sums->k3 / tokens, false);
    train_record_put(record, "entropy", sums->entropy / tokens, false);
    train_record_put(record, "cross_entropy", sums->cross / tokens, false);
}
