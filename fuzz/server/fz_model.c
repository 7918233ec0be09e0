/* The model of an honest client. All models start from the same seed and take the same
 * steps, so that the state of one is its rank and how many steps it took: a step that was
 * applied twice or not at all shows in the next result (fz_truth). Every second step is
 * sent in two parts, as clients send large batches: the second part may come first. */
#include <string.h>

#include "base/clock.h"
#include "fz_honest.h"

#define KEY          "X-API-Key: " FZ_KEY "\r\n"
#define HOLD_SAFE_MS 500 /* the server waits two seconds for the first part */

static const int ranks[FZ_RANKS] = {1, 4};

#define FIND(h, ...) fz_find((h)->client.world, __VA_ARGS__)

/* A result that is no failure. */
static bool is_done(fz_honest *h, const char *what, const fz_answer *answer)
{
    if (answer->is_json && tk_json_get(answer->json, "error") != NULL) {
        FIND(h, "client %d: %s fails: %s", h->client.number, what, answer->body.p);
        return false;
    }
    return true;
}

static void expect_fact(fz_honest *h, fz_fact fact, const char *what, tk_str bytes)
{
    fz_truth *truth = h->client.world->truth;
    if (!fz_truth_agrees(truth, fact, h->rank, h->steps, bytes)) {
        FIND(h,
             "client %d: %s of rank %d after %d steps differs from what was seen before "
             "(model %s, seq %lld)",
             h->client.number, what, ranks[h->rank], h->steps, h->model,
             (long long)h->seq);
        h->has_model = false; /* one finding is enough */
    }
}

/* ---- a model ---- */

bool fz_model_create(fz_honest *h)
{
    char body[512];
    fz_answer answer;
    h->rank = (int)fz_below(&h->client, FZ_RANKS);
    (void)snprintf(
        body, sizeof(body),
        "{\"session_id\":\"%s\",\"model_seq_id\":%lld,\"base_model\":\"" FZ_MODEL
        "\",\"lora_config\":{\"rank\":%d,\"seed\":7}}",
        h->session, (long long)h->model_seq, ranks[h->rank]);
    (void)snprintf(h->model, sizeof(h->model), "%.100s:train:%lld", h->session,
                   (long long)h->model_seq++);
    h->steps = 0;
    h->seq = 1;
    h->has_model = fz_honest_work(h, "create_model", body, false, &answer) &&
                   is_done(h, "create_model", &answer);
    return h->has_model;
}

/* The data of step k. */
static void write_data(fz_honest *h, char out[1024], const char *input, int k)
{
    (void)snprintf(
        out, 1024,
        "{\"model_id\":\"%s\",\"seq_id\":%lld,\"%s\":{\"data\":[{\"model_input\":{"
        "\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":[%d,17,9,40,12,33,8]}]},"
        "\"loss_fn_inputs\":{\"target_tokens\":{\"data\":[17,9,40,12,33,8,%d],\"dtype\":"
        "\"int64\",\"shape\":[7]},\"weights\":{\"data\":[1,1,1,1,1,1,1],\"dtype\":"
        "\"float32\",\"shape\":[7]}}}],\"loss_fn\":\"cross_entropy\"}}",
        h->model, (long long)h->seq++, input, 5 + k, 20 + k);
}

bool fz_model_forward(fz_honest *h)
{
    char body[1024];
    fz_answer answer;
    write_data(h, body, "forward_input", 0);
    if (!fz_honest_work(h, "forward", body, true, &answer) ||
        !is_done(h, "forward", &answer)) {
        return false;
    }
    expect_fact(h, FZ_FORWARD, "forward", answer.body);
    return true;
}

/* Without a number the request is recognised by its key. */
static void write_step(fz_honest *h, char out[512], const char *rate, bool numbered)
{
    char number[40] = "";
    if (numbered) {
        (void)snprintf(number, sizeof(number), "\"seq_id\":%lld,", (long long)h->seq);
    }
    (void)snprintf(out, 512,
                   "{\"model_id\":\"%s\",%s\"adam_params\":{\"learning_rate\":%s,"
                   "\"beta1\":0.9,\"beta2\":0.95,\"eps\":1e-12}}",
                   h->model, number, rate);
}

/* The parts of one step: their request ids, in the order of their numbers. */
typedef struct parts {
    char id[2][FZ_ID_BYTES];
    int n;
} parts;

static bool submit_parts(fz_honest *h, parts *p)
{
    char data[2][1024];
    fz_answer answer;
    p->n = 1 + h->steps % 2;
    for (int i = 0; i < p->n; i++) {
        write_data(h, data[i], "forward_backward_input", 1 + h->steps + 100 * i);
    }
    bool reversed = p->n == 2 && fz_chance(&h->client, 500);
    int64_t began = tk_clock_mono_ms(NULL);
    for (int i = 0; i < p->n; i++) {
        int which = reversed ? 1 - i : i;
        if (!fz_honest_submit(h, "forward_backward", data[which], NULL, &answer)) {
            return false;
        }
        (void)snprintf(p->id[which], FZ_ID_BYTES, "%s", fz_text(&answer, "request_id"));
    }
    /* The server may have given up waiting for the first part. */
    h->is_doubtful = reversed && tk_clock_mono_ms(NULL) - began > HOLD_SAFE_MS;
    return true;
}

static bool retrieve_parts(fz_honest *h, const parts *p)
{
    fz_answer answer;
    for (int i = 0; i < p->n; i++) {
        if (!fz_honest_retrieve(h, p->id[i], true, &answer)) {
            return false;
        }
        expect_fact(h, i == 0 ? FZ_FORWARD_BACKWARD : FZ_SECOND_PART, "forward_backward",
                    answer.body);
    }
    return true;
}

static bool submit_step(fz_honest *h, char id[FZ_ID_BYTES])
{
    char step[512], key[64], want[FZ_ID_BYTES];
    fz_answer answer;
    bool numbered = fz_chance(&h->client, 700);
    write_step(h, step, "0.001", numbered);
    (void)snprintf(key, sizeof(key), "c%d-%llu", h->client.number, h->client.sent);
    if (!fz_honest_submit(h, "optim_step", step, numbered ? NULL : key, &answer)) {
        return false;
    }
    (void)snprintf(want, sizeof(want), "%.140s:%lld", h->model, (long long)h->seq++);
    (void)snprintf(id, FZ_ID_BYTES, "%s", fz_text(&answer, "request_id"));
    if (strcmp(id, want) != 0) {
        FIND(h, "client %d: the request id of %s is %s, not %s", h->client.number, step,
             id, want);
    }
    return true;
}

/* One step: all requests at once, or one after the other. */
bool fz_model_train(fz_honest *h)
{
    char id[FZ_ID_BYTES];
    parts p;
    fz_answer answer;
    if (h->steps == FZ_STEPS) {
        return true;
    }
    bool at_once = fz_chance(&h->client, 500);
    if (!submit_parts(h, &p) || (!at_once && !retrieve_parts(h, &p)) ||
        !submit_step(h, id) || !fz_honest_retrieve(h, id, false, &answer) ||
        !is_done(h, "optim_step", &answer)) {
        return false;
    }
    if (h->is_doubtful) {
        return fz_model_unload(h);
    }
    expect_fact(h, FZ_OPTIM, "optim_step", answer.body);
    if (at_once && !retrieve_parts(h, &p)) {
        return false;
    }
    h->steps++;
    return true;
}

/* Requests that must be refused and change nothing: a wrong key, a number that was used
 * for other work, a number that cannot be recognised again, a key that is too long. */
bool fz_model_misbehave(fz_honest *h)
{
    char step[512], headers[512];
    fz_answer answer;
    int64_t seq = h->seq;
    int want = 400;
    int kind = (int)fz_below(&h->client, 5);
    (void)snprintf(headers, sizeof(headers), KEY);
    if (kind == 0) {
        (void)snprintf(headers, sizeof(headers), "X-API-Key: tml-wrong-key\r\n");
        want = 401;
    } else if (kind == 1) {
        h->seq = -(int64_t)fz_below(&h->client, 2);
    } else if (kind == 2) {
        (void)snprintf(headers, sizeof(headers), KEY "X-Idempotency-Key: %0300d\r\n", 7);
    } else if (seq > 1) { /* every number below it was used */
        h->seq =
            kind == 3 ? seq - 1 : 1 + (int64_t)fz_below(&h->client, (uint64_t)seq - 1);
        want = 409;
    } else {
        return true;
    }
    write_step(h, step, "0.5", true);
    h->seq = seq;
    const httpget_request request = {.method = "POST",
                                     .target = FZ_API "optim_step",
                                     .headers = headers,
                                     .body = step};
    if (!fz_honest_ask(h, &request, fz_honest_way(h), &answer)) {
        return false;
    }
    if (answer.status != want) {
        FIND(h, "client %d: %d instead of %d for %.60s %s: %s", h->client.number,
             answer.status, want, headers, step, answer.body.p);
        h->has_model = false;
    }
    return true;
}

/* An input that no loss takes fails, and adds nothing to the gradient. */
bool fz_model_mislabel(fz_honest *h)
{
    char body[1024];
    fz_answer answer;
    write_data(h, body, "forward_backward_input", 0);
    char *label = strstr(body, "\"weights\"");
    memcpy(label, "\"weight_\"", 9);
    if (!fz_honest_work(h, "forward_backward", body, false, &answer)) {
        return false;
    }
    if (tk_json_get(answer.json, "error") == NULL) {
        FIND(h, "client %d: an unknown input is taken: %s", h->client.number, body);
        h->has_model = false;
    }
    return true;
}

bool fz_model_unload(fz_honest *h)
{
    char body[FZ_ID_BYTES + 32];
    fz_answer answer;
    (void)snprintf(body, sizeof(body), "{\"model_id\":\"%s\"}", h->model);
    h->has_model = false;
    const httpget_request request = {
        .method = "POST", .target = FZ_API "unload_model", .headers = KEY, .body = body};
    if (!fz_honest_ask(h, &request, FZ_PLAIN, &answer)) {
        return false;
    }
    char id[FZ_ID_BYTES];
    (void)snprintf(id, sizeof(id), "%s", fz_text(&answer, "request_id"));
    return answer.status == 200 && fz_honest_retrieve(h, id, false, &answer);
}

/* ---- loading and sampling what was saved ---- */

static bool check_load(fz_honest *h, const char *body, const fz_saved *saved)
{
    fz_answer answer;
    if (!fz_honest_work(h, "load_weights", body, false, &answer)) {
        return false;
    }
    if (tk_json_get(answer.json, "error") != NULL) {
        FIND(h, "client %d: an answered save does not load: %s: %s", h->client.number,
             body, answer.body.p);
        h->has_model = false;
        return true;
    }
    h->has_model = true;
    h->steps = saved->steps;
    return fz_model_forward(h);
}

static bool load(fz_honest *h, const fz_saved *saved)
{
    char body[512];
    (void)snprintf(
        body, sizeof(body),
        "{\"model_id\":\"%s\",\"seq_id\":%lld,\"path\":\"tinker://%s/weights/%s\","
        "\"optimizer\":true}",
        h->model, (long long)h->seq++, saved->run, saved->name);
    return check_load(h, body, saved);
}

/* A new model that begins with the save; the old one stays where it is. */
static bool fork_model(fz_honest *h, const fz_saved *saved)
{
    char body[512];
    (void)snprintf(body, sizeof(body),
                   "{\"session_id\":\"%s\",\"model_seq_id\":%lld,\"path\":"
                   "\"tinker://%s/weights/%s\",\"optimizer\":true}",
                   h->session, (long long)h->model_seq, saved->run, saved->name);
    if (h->has_model && !fz_model_unload(h)) {
        return false;
    }
    (void)snprintf(h->model, sizeof(h->model), "%.100s:train:%lld", h->session,
                   (long long)h->model_seq++);
    h->rank = saved->rank;
    h->seq = 1;
    return check_load(h, body, saved);
}

static bool sample(fz_honest *h, const fz_saved *saved)
{
    char body[768];
    fz_answer answer;
    tk_buf text;
    tk_json_writer w;
    (void)snprintf(
        body, sizeof(body),
        "{\"session_id\":\"%s\",\"sampling_session_seq_id\":%lld,\"model_path\":"
        "\"tinker://%s/sampler_weights/%s\"}",
        h->session, (long long)h->sampler_seq, saved->run, saved->name);
    if (!fz_honest_submit(h, "create_sampling_session", body, NULL, &answer)) {
        return false;
    }
    (void)snprintf(
        body, sizeof(body),
        "{\"sampling_session_id\":\"%s:sample:%lld\",\"seq_id\":%d,\"num_samples\":"
        "1,\"prompt\":{\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":[5,17,9]}"
        "]},\"sampling_params\":{\"max_tokens\":6,\"seed\":3,\"temperature\":1.0}}",
        h->session, (long long)h->sampler_seq++, 1);
    if (!fz_honest_work(h, "asample", body, false, &answer) ||
        !is_done(h, "asample", &answer)) {
        return false;
    }
    int steps = h->steps, rank = h->rank;
    tk_buf_init(&text, TK_MIB);
    tk_json_writer_init(&w, &text);
    const tk_json *sequences = tk_json_get(answer.json, "sequences");
    if (sequences != NULL) {
        tk_json_put_value(&w, sequences);
    }
    h->steps = saved->steps;
    h->rank = saved->rank;
    expect_fact(h, FZ_SAMPLE, "a sample", tk_buf_str(&text));
    h->steps = steps;
    h->rank = rank;
    tk_buf_dispose(&text);
    return true;
}

/* Loads or samples a save; a model of its rank is needed for the first. */
bool fz_model_use(fz_honest *h, const fz_saved *saved)
{
    if (saved->is_sampler) {
        return sample(h, saved);
    }
    if (fz_chance(&h->client, 300)) {
        return fork_model(h, saved);
    }
    while (!h->has_model || h->rank != saved->rank) {
        if ((h->has_model && !fz_model_unload(h)) || !fz_model_create(h)) {
            return false;
        }
    }
    return load(h, saved);
}
