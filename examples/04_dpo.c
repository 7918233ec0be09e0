/* Direct preference optimization: a custom loss with its gradient. The model is to prefer
 * short answers ("cold") to whole sentences ("The opposite of hot is cold.").
 * docs/guide/custom-loss.md explains it.
 *
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./04_dpo */
#include <math.h>

#include "example.h"

#define STEPS 12
#define BETA  0.1
#define TRAIN 10 /* pairs; the others are for the test */
#define PAIRS 16

static const char *const opposites[PAIRS][2] = {
    {"big", "small"},  {"up", "down"},     {"day", "night"}, {"happy", "sad"},
    {"fast", "slow"},  {"open", "closed"}, {"wet", "dry"},   {"full", "empty"},
    {"high", "low"},   {"long", "short"},  {"hot", "cold"},  {"hard", "soft"},
    {"loud", "quiet"}, {"early", "late"},  {"good", "bad"},  {"light", "dark"}};

/* Answers and what the model thought of them before training. Pair i: the preferred
 * answer is data[2 * i], the other one data[2 * i + 1]. */
typedef struct preferences {
    tinkc_datum *data[2 * PAIRS];
    double reference[2 * PAIRS];
} preferences;

static tinkc_tokenizer *tokenizer;
static tinkc_chat_template *chat_template;

static tinkc_datum *make_datum(const char *question, const char *answer)
{
    tinkc_chat *chat = NULL;
    tinkc_datum *datum = NULL;
    check(tinkc_chat_new(&chat, &err));
    check(tinkc_chat_add(chat, "user", question, &err));
    check(tinkc_chat_add(chat, "assistant", answer, &err));
    check(tinkc_chat_datum(&datum, chat_template, chat, tokenizer, NULL, &err));
    tinkc_chat_free(&chat);
    return datum;
}

static void make_pair(preferences *p, size_t i)
{
    char question[64], sentence[64];
    const char *word = opposites[i][0], *opposite = opposites[i][1];
    (void)snprintf(question, sizeof(question), "What is the opposite of %s?", word);
    (void)snprintf(sentence, sizeof(sentence), "The opposite of %s is %s.", word,
                   opposite);
    p->data[2 * i] = make_datum(question, opposite);
    p->data[2 * i + 1] = make_datum(question, sentence);
}

/* The weights of the datum are 1 for the tokens of the answer, else 0. */
static const float *mask_of(const tinkc_datum *datum)
{
    return tinkc_tensor_f32(tinkc_datum_tensor(datum, "weights"));
}

static double answer_logprob(const tinkc_datum *datum, const float *logprobs, size_t n)
{
    const float *mask = mask_of(datum);
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)(mask[i] * logprobs[i]);
    }
    return sum;
}

/* The loss: the mean of -log sigmoid(margin), where the margin says how much more than
 * before the model prefers the right answer. Its derivative by each log-probability of an
 * answer is -BETA * sigmoid(-margin) for the preferred one and the opposite for the
 * other. It runs on a thread of the library that does nothing else: it may take its time,
 * and must not touch what another thread changes meanwhile. */
static int dpo_loss(double *loss, tinkc_metrics *metrics, tinkc_custom_item *items,
                    size_t n, void *user)
{
    const preferences *p = (const preferences *)user;
    double pairs = (double)n / 2, margins = 0;
    *loss = 0;
    for (size_t i = 0; i < n; i += 2) {
        double gain[2];
        for (size_t k = 0; k < 2; k++) {
            gain[k] =
                answer_logprob(p->data[i + k], items[i + k].logprobs, items[i + k].n) -
                p->reference[i + k];
        }
        double margin = BETA * (gain[0] - gain[1]);
        double slope = BETA / (1 + exp(margin)) / pairs;
        for (size_t k = 0; k < 2; k++) {
            const float *mask = mask_of(p->data[i + k]);
            for (size_t t = 0; t < items[i + k].n; t++) {
                items[i + k].gradient[t] = (float)(k == 0 ? -slope : slope) * mask[t];
            }
        }
        *loss += log1p(exp(-margin)) / pairs;
        margins += margin / pairs;
    }
    return tinkc_metrics_put(metrics, "margin", margins, NULL) == TINKC_OK ? 0 : 1;
}

/* The log-probability of every answer under the weights as they are. */
static void measure(tinkc_training *training, const preferences *p, double out[2 * PAIRS])
{
    tinkc_fwdbwd *result = NULL;
    check(tinkc_training_forward_wait(&result, training, p->data, 2 * PAIRS,
                                      "cross_entropy", NULL, &err));
    for (size_t i = 0; i < 2 * PAIRS; i++) {
        const float *logprobs = NULL;
        size_t n = 0;
        check(tinkc_fwdbwd_f32(&logprobs, &n, result, i, "logprobs", &err));
        require(n == tinkc_tensor_count(tinkc_datum_tensor(p->data[i], "weights")),
                "a log-probability for each target");
        out[i] = answer_logprob(p->data[i], logprobs, n);
    }
    tinkc_fwdbwd_free(&result);
}

/* In how many pairs that are not trained the short answer is the likelier one. */
static int count_short(const double logprobs[2 * PAIRS])
{
    int count = 0;
    for (size_t i = TRAIN; i < PAIRS; i++) {
        count += logprobs[2 * i] > logprobs[2 * i + 1];
    }
    return count;
}

static void train(tinkc_training *training, preferences *p)
{
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    adam.learning_rate = 3e-3;
    adam.eps = 1e-8;
    for (int i = 0; i < STEPS; i++) {
        double loss = 0, margin = 0;
        tinkc_fwdbwd *result = NULL;
        check(tinkc_training_forward_backward_custom_wait(&result, training, p->data,
                                                          2 * TRAIN, dpo_loss, p, &err));
        check(tinkc_training_optim_step_wait(NULL, training, &adam, &err));
        check(tinkc_fwdbwd_loss(&loss, result, &err));
        check(tinkc_metrics_get(&margin, tinkc_fwdbwd_metrics(result), "margin", &err));
        printf("step %2d  loss %.3f  margin %.2f\n", i, loss, margin);
        tinkc_fwdbwd_free(&result);
    }
}

int main(void)
{
    static preferences p;
    double after[2 * PAIRS];
    tinkc_service *service = NULL;
    tinkc_training *training = NULL;
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.has_seed = true; /* the same numbers in every run */
    lora.seed = 1;
    check(tinkc_service_open(&service, NULL, &err));
    check(tinkc_service_create_training_wait(&training, service, MODEL, &lora, &err));
    check(tinkc_training_get_tokenizer(&tokenizer, training, NULL, &err));
    check(tinkc_chat_template_of(&chat_template, tokenizer, NULL, &err));
    for (size_t i = 0; i < PAIRS; i++) {
        make_pair(&p, i);
    }

    measure(training, &p, p.reference);
    train(training, &p);
    measure(training, &p, after);
    printf("short answers preferred: %d of %d before, %d after\n",
           count_short(p.reference), PAIRS - TRAIN, count_short(after));

    for (size_t i = 0; i < 2 * PAIRS; i++) {
        tinkc_datum_free(&p.data[i]);
    }
    tinkc_chat_template_free(&chat_template);
    tinkc_tokenizer_free(&tokenizer);
    /* Servers hold only a few models. */
    check(tinkc_training_unload_wait(training, &err));
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    return 0;
}
