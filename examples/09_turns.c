/* Reinforcement learning over several turns: an environment asks for a sum, and then for
 * another one with the number that the model has said. The episodes overlap: when an answer
 * is there, the next turn of its episode is asked for at once. An episode that fails is
 * dropped. docs/guide/rl.md explains it.
 *
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./09_turns [seed] */
#include <string.h>

#include "example.h"

#define STEPS    15
#define GROUPS   12 /* of a step: first questions */
#define MEMBERS  8  /* of a group: episodes that begin with the same question */
#define EPISODES (GROUPS * MEMBERS)
#define TURNS    2
#define FAULTS   200 /* one in so many steps of the environment fails */

typedef struct episode {
    int a, b; /* what the present turn asks for: their sum */
    int turn, right;
    bool is_dropped;
    uint64_t state; /* of random_below: its own, since the order of the answers varies */
    tinkc_chat *chat;
    tinkc_model_input *prompts[TURNS + 1]; /* what each turn is sampled after */
    tinkc_samples *answers[TURNS + 1];
} episode;

static tinkc_sampling *sampling;
static tinkc_tokenizer *tokenizer;
static tinkc_chat_template *tpl;
static tinkc_queue *queue;
static int dropped;

static int random_below(uint64_t *state, int n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (int)((*state >> 33) % (uint64_t)n);
}

/* Asks for the answer of the present turn; the queue gives it back with its episode. */
static tinkc_code ask(episode *e)
{
    const int32_t end = tinkc_tokenizer_end(tokenizer);
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 6;
    params.stop_tokens = &end;
    params.stop_tokens_n = 1;
    params.has_seed = true;
    params.seed = (uint64_t)random_below(&e->state, INT32_MAX);
    tinkc_future *future =
        tinkc_sampling_sample(sampling, e->prompts[e->turn], &params, NULL);
    tinkc_code code = tinkc_queue_add(queue, future, e, &err);
    tinkc_future_free(&future);
    return code;
}

static tinkc_code add_question(episode *e)
{
    char text[64];
    (void)snprintf(text, sizeof(text), "Calculate %d + %d.", e->a, e->b);
    return tinkc_chat_add(e->chat, "user", text, &err);
}

/* The environment: reads the model's answer, which is the last message, and sets the next
 * question. This is where a program calls its own simulator, which can fail, too. */
static tinkc_code judge(episode *e)
{
    const char *text = tinkc_chat_content(NULL, e->chat, tinkc_chat_count(e->chat) - 1);
    char *end = NULL;
    long said = strtol(text, &end, 10);
    e->right += end != text && *end == '\0' && said == e->a + e->b;
    e->a = said > 0 && said < 20 ? (int)said : 1;
    e->b = 1 + random_below(&e->state, 4);
    return random_below(&e->state, FAULTS) != 0 ? TINKC_OK : TINKC_E_CANCELLED;
}

/* Takes the answer of a turn and, unless it was the last one, begins the next. */
static tinkc_code advance(episode *e, tinkc_future *future)
{
    tinkc_samples **answer = &e->answers[e->turn];
    tinkc_model_input **prompt = &e->prompts[e->turn + 1];
    tinkc_code code = tinkc_future_take_samples(answer, future, &err);
    if (code == TINKC_OK) {
        code = tinkc_model_input_copy(prompt, e->prompts[e->turn], &err);
    }
    if (code == TINKC_OK) { /* its tokens to the prompt, its text to the conversation */
        code = tinkc_chat_add_sample(e->chat, *prompt, tokenizer, *answer, 0, &err);
    }
    code = code == TINKC_OK ? judge(e) : code;
    if (code != TINKC_OK || ++e->turn == TURNS) {
        return code;
    }
    code = add_question(e);
    if (code == TINKC_OK) { /* the end of the answer, the question, the next header */
        code = tinkc_chat_continue(*prompt, tpl, e->chat, tokenizer, NULL, &err);
    }
    return code == TINKC_OK ? ask(e) : code;
}

/* Plays all episodes to their ends. What fails ends its own episode only. */
static void play(episode *episodes, uint64_t *state)
{
    tinkc_future *future = NULL;
    void *tag = NULL;
    memset(episodes, 0, EPISODES * sizeof(*episodes));
    for (int i = 0; i < EPISODES; i++) {
        episode *e = &episodes[i], *first = &episodes[i - i % MEMBERS];
        e->a = e == first ? 1 + random_below(state, 5) : first->a;
        e->b = e == first ? 1 + random_below(state, 5) : first->b;
        e->state = (uint64_t)random_below(state, INT32_MAX);
        check(tinkc_chat_new(&e->chat, &err));
        check(add_question(e));
        check(tinkc_chat_prompt(&e->prompts[0], tpl, e->chat, tokenizer, NULL, &err));
        check(ask(e));
    }
    while (tinkc_queue_take(&future, &tag, queue, TINKC_FOREVER, NULL) == TINKC_OK) {
        episode *e = (episode *)tag;
        if (advance(e, future) != TINKC_OK) {
            e->is_dropped = true;
            dropped++;
            tinkc_error_free(&err); /* a program would log it */
        }
        tinkc_future_free(&future);
    }
}

/* The data of one group: every turn of an episode has the advantage of the episode, which
 * is how much better it was than the others that began with the same question. */
static size_t add_data(episode *group, tinkc_datum **data, double *share)
{
    size_t n = 0;
    double right = 0, episodes = 0;
    for (episode *e = group; e < group + MEMBERS; e++) {
        right += e->is_dropped ? 0 : e->right;
        episodes += e->is_dropped ? 0 : 1;
    }
    for (episode *e = group; e < group + MEMBERS; e++) {
        for (int k = 0; k < TURNS && !e->is_dropped; k++) {
            check(tinkc_samples_datum(&data[n++], e->answers[k], 0, e->prompts[k],
                                      e->right - right / episodes, &err));
        }
        for (int k = 0; k <= TURNS; k++) {
            tinkc_samples_free(&e->answers[k]);
            tinkc_model_input_free(&e->prompts[k]);
        }
        tinkc_chat_free(&e->chat);
    }
    *share += episodes > 0 ? right / episodes / TURNS / GROUPS : 0;
    return n;
}

int main(int argc, char **argv)
{
    static episode episodes[EPISODES];
    static tinkc_datum *data[EPISODES * TURNS];
    tinkc_service *service = NULL;
    tinkc_training *training = NULL;
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    tinkc_adam_params adam = TINKC_ADAM_PARAMS_INIT;
    tinkc_step_options options = TINKC_STEP_OPTIONS_INIT;
    double first = 0, last = 0;
    adam.learning_rate = 3e-3;
    options.adam = &adam;
    lora.has_seed = true;
    uint64_t state = lora.seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    check(tinkc_service_open(&service, NULL, &err));
    check(tinkc_service_create_training_wait(&training, service, MODEL, &lora, &err));
    check(tinkc_training_get_tokenizer(&tokenizer, training, NULL, &err));
    check(tinkc_chat_template_of(&tpl, tokenizer, NULL, &err));
    check(tinkc_queue_open(&queue, &err));
    for (int i = 0; i < STEPS; i++) {
        double share = 0;
        size_t n = 0;
        check(tinkc_training_save_and_sample_wait(&sampling, training, &err));
        play(episodes, &state);
        for (int g = 0; g < GROUPS; g++) {
            n += add_data(episodes + g * MEMBERS, data + n, &share);
        }
        check(tinkc_training_step_wait(NULL, training, data, n, "importance_sampling",
                                       &options, &err));
        while (n > 0) {
            tinkc_datum_free(&data[--n]);
        }
        tinkc_sampling_close(&sampling);
        printf("step %2d  right %.3f\n", i, share);
        first += i < 3 ? share / 3 : 0; /* of three steps */
        last += i >= STEPS - 3 ? share / 3 : 0;
    }
    printf("right: %.3f at the start, %.3f at the end; %d of %d episodes dropped\n",
           first, last, dropped, STEPS * EPISODES);
    tinkc_queue_close(&queue);
    tinkc_chat_template_free(&tpl);
    tinkc_tokenizer_free(&tokenizer);
    check(tinkc_training_unload_wait(training, &err));
    tinkc_training_close(&training);
    tinkc_service_close(&service);
    return 0;
}
