/* An honest client: it trains, saves, loads, samples and manages checkpoints, resends and
 * cuts its requests as a bad network would, and knows what each answer must be.
 *
 * All its models start from the same seed and take the same steps, so that the state of a
 * model is its rank and how many steps it took: a step that was applied twice or not at
 * all shows in the next result (fz_truth). It remembers its saves over the lives of the
 * server: what was answered must be there and compute the same bits. */
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "fz_honest.h"
#include "wire/zstd.h"

#define PROTO "Accept: application/x-protobuf\r\n"
#define KEY   "X-API-Key: " FZ_KEY "\r\n"

static const int ranks[FZ_RANKS] = {1, 4};

#define FIND(h, ...) fz_find((h)->client.world, __VA_ARGS__)

/* ---- work: submit and poll ---- */

fz_way fz_honest_way(fz_honest *h)
{
    return fz_chance(&h->client, 600) ? FZ_PLAIN : (fz_way)fz_below(&h->client, FZ_WAYS);
}

static void pause_ms(long ms)
{
    const struct timespec pause_for = {0, ms * 1000000};
    (void)nanosleep(&pause_for, NULL);
}

/* False: no answer; or the server is stopping. 429 is tried again. */
static bool ask_until_taken(fz_honest *h, const httpget_request *request, fz_way way,
                            fz_answer *out)
{
    do {
        if (!fz_ask(&h->client, request, way, out) || out->status == 503) {
            return false;
        }
        if (out->status == 429) {
            pause_ms(20);
        }
    } while (out->status == 429);
    return true;
}

/* Polls a future to its end. */
static bool retrieve(fz_honest *h, const char *id, bool proto, fz_answer *out)
{
    char body[FZ_ID_BYTES + 64];
    (void)snprintf(body, sizeof(body), "{\"request_id\":\"%s\"}", id);
    const httpget_request request = {.method = "POST",
                                     .target = FZ_API "retrieve_future",
                                     .headers = proto ? KEY PROTO : KEY,
                                     .body = body};
    do {
        if (!ask_until_taken(h, &request, fz_honest_way(h), out)) {
            return false;
        }
    } while (out->status == 408);
    if (out->status != 200) {
        FIND(h, "client %d: the result of %s is lost: %d %s", h->client.number, id,
             out->status, out->body.p);
        return false;
    }
    fz_answer again;
    if (fz_chance(&h->client, 250)) {
        if (!ask_until_taken(h, &request, FZ_PLAIN, &again)) {
            return false;
        }
        if (again.status != 200 || !tk_str_eq(again.body, out->body)) {
            FIND(h, "client %d: %s has two results: %.200s and %d %.200s",
                 h->client.number, id, out->body.p, again.status, again.body.p);
        }
    }
    return true;
}

/* Packs a body with zstd now and then. */
static bool submit(fz_honest *h, const char *route, const char *body, bool may_pack,
                   fz_answer *out)
{
    char target[128];
    tk_buf packed;
    tk_zstd zstd;
    tk_buf_init(&packed, TK_MIB);
    tk_zstd_init(&zstd);
    (void)snprintf(target, sizeof(target), FZ_API "%s", route);
    httpget_request request = {
        .method = "POST", .target = target, .headers = KEY, .body = body};
    const tk_bytes plain = {(const unsigned char *)body, strlen(body)};
    if (may_pack && fz_chance(&h->client, 200) &&
        tk_zstd_compress(&zstd, &packed, plain, 1, NULL) == TINKC_OK) {
        request.headers = KEY "Content-Encoding: zstd\r\n";
        request.body = packed.p;
        request.body_n = packed.n;
    } else if (fz_chance(&h->client, 50)) {
        request.chunk = 1 + (size_t)fz_below(&h->client, 64);
    }
    bool ok = ask_until_taken(h, &request, fz_honest_way(h), out);
    tk_zstd_dispose(&zstd);
    tk_buf_dispose(&packed);
    if (ok && out->status != 200) {
        FIND(h, "client %d: %s is refused: %d %s for %s", h->client.number, route,
             out->status, out->body.p, body);
        ok = false;
    }
    return ok;
}

bool fz_honest_work(fz_honest *h, const char *route, const char *body, bool proto,
                    fz_answer *out)
{
    char id[FZ_ID_BYTES];
    bool trains = strncmp(route, "forward", 7) == 0;
    if (!submit(h, route, body, trains, out)) {
        return false;
    }
    (void)snprintf(id, sizeof(id), "%s", fz_text(out, "request_id"));
    return retrieve(h, id, proto, out);
}

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

static bool create_model(fz_honest *h)
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

static bool forward(fz_honest *h)
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

static void write_step(fz_honest *h, char out[512], const char *rate)
{
    (void)snprintf(out, 512,
                   "{\"model_id\":\"%s\",\"seq_id\":%lld,\"adam_params\":{"
                   "\"learning_rate\":%s,\"beta1\":0.9,\"beta2\":0.95,\"eps\":1e-12}}",
                   h->model, (long long)h->seq, rate);
}

/* One step: both requests at once, or one after the other. */
static bool train(fz_honest *h)
{
    char data[1024], step[512], id[FZ_ID_BYTES], step_id[FZ_ID_BYTES];
    fz_answer answer;
    if (h->steps == FZ_STEPS) {
        return true;
    }
    write_data(h, data, "forward_backward_input", 1 + h->steps);
    if (!submit(h, "forward_backward", data, true, &answer)) {
        return false;
    }
    (void)snprintf(id, sizeof(id), "%s", fz_text(&answer, "request_id"));
    bool at_once = fz_chance(&h->client, 500);
    if (!at_once) {
        if (!retrieve(h, id, true, &answer)) {
            return false;
        }
        expect_fact(h, FZ_FORWARD_BACKWARD, "forward_backward", answer.body);
    }
    write_step(h, step, "0.001");
    if (!submit(h, "optim_step", step, false, &answer)) {
        return false;
    }
    h->seq++;
    (void)snprintf(step_id, sizeof(step_id), "%s", fz_text(&answer, "request_id"));
    if (!retrieve(h, step_id, false, &answer) || !is_done(h, "optim_step", &answer)) {
        return false;
    }
    expect_fact(h, FZ_OPTIM, "optim_step", answer.body);
    if (at_once) {
        if (!retrieve(h, id, true, &answer)) {
            return false;
        }
        expect_fact(h, FZ_FORWARD_BACKWARD, "forward_backward", answer.body);
    }
    h->steps++;
    return true;
}

/* Requests that must be refused and change nothing: a used number with other work, a
 * number below one that was taken, and a wrong key. */
static bool misbehave(fz_honest *h)
{
    char step[512];
    fz_answer answer;
    int want = 401;
    int64_t seq = h->seq;
    httpget_request request = {.method = "POST",
                               .target = FZ_API "optim_step",
                               .headers = "X-API-Key: tml-wrong-key\r\n",
                               .body = step};
    switch (fz_below(&h->client, 3)) {
    case 0:
        break;
    case 1: /* every number below seq was used */
        h->seq = h->seq > 1 ? h->seq - 1 : 0;
        want = h->seq > 0 ? 409 : 0;
        request.headers = KEY;
        break;
    default:
        h->seq = 1 + (int64_t)fz_below(&h->client, (uint64_t)h->seq);
        want = h->seq < seq ? 409 : 0;
        request.headers = KEY;
        break;
    }
    write_step(h, step, "0.5");
    h->seq = seq;
    if (want == 0) {
        return true;
    }
    if (!ask_until_taken(h, &request, fz_honest_way(h), &answer)) {
        return false;
    }
    if (answer.status != want) {
        FIND(h, "client %d: %d instead of %d for %s: %s", h->client.number, answer.status,
             want, step, answer.body.p);
    }
    return true;
}

static bool unload(fz_honest *h)
{
    char body[FZ_ID_BYTES + 32];
    fz_answer answer;
    (void)snprintf(body, sizeof(body), "{\"model_id\":\"%s\"}", h->model);
    h->has_model = false;
    const httpget_request request = {
        .method = "POST", .target = FZ_API "unload_model", .headers = KEY, .body = body};
    if (!ask_until_taken(h, &request, FZ_PLAIN, &answer)) {
        return false;
    }
    char id[FZ_ID_BYTES];
    (void)snprintf(id, sizeof(id), "%s", fz_text(&answer, "request_id"));
    return answer.status == 200 && retrieve(h, id, false, &answer);
}

/* ---- loading and sampling what was saved ---- */

static bool load(fz_honest *h, const fz_saved *saved)
{
    char body[512];
    fz_answer answer;
    (void)snprintf(
        body, sizeof(body),
        "{\"model_id\":\"%s\",\"seq_id\":%lld,\"path\":\"tinker://%s/weights/%s\","
        "\"optimizer\":true}",
        h->model, (long long)h->seq++, saved->run, saved->name);
    if (!fz_honest_work(h, "load_weights", body, false, &answer)) {
        return false;
    }
    if (tk_json_get(answer.json, "error") != NULL) {
        FIND(h, "client %d: an answered save does not load: %s: %s", h->client.number,
             body, answer.body.p);
        return false;
    }
    h->steps = saved->steps;
    return forward(h);
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
    if (!submit(h, "create_sampling_session", body, false, &answer)) {
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
static bool use_save(fz_honest *h, const fz_saved *saved)
{
    if (saved->is_sampler) {
        return sample(h, saved);
    }
    while (!h->has_model || h->rank != saved->rank) {
        if ((h->has_model && !unload(h)) || !create_model(h)) {
            return false;
        }
    }
    return load(h, saved);
}

/* ---- the sequence ---- */

static bool begin_session(fz_honest *h)
{
    fz_answer answer;
    h->has_model = false;
    h->model_seq = 0;
    h->sampler_seq = 0;
    if (!fz_post(&h->client, "create_session", "{\"tags\":[],\"sdk_version\":\"0.25.0\"}",
                 FZ_PLAIN, &answer) ||
        answer.status != 200) {
        return false;
    }
    (void)snprintf(h->session, sizeof(h->session), "%s", fz_text(&answer, "session_id"));
    return true;
}

static bool beat(fz_honest *h)
{
    char body[FZ_ID_BYTES + 32];
    fz_answer answer;
    (void)snprintf(body, sizeof(body), "{\"session_id\":\"%s\"}", h->session);
    if (!fz_post(&h->client, "session_heartbeat", body, fz_honest_way(h), &answer)) {
        return false;
    }
    if (answer.status != 200 && answer.status != 503) {
        FIND(h, "client %d: a heartbeat is refused: %d %s", h->client.number,
             answer.status, answer.body.p);
    }
    return true;
}

static bool step(fz_honest *h)
{
    if (!h->has_model && !create_model(h)) {
        return false;
    }
    const fz_saved *saved = fz_saves_pick(h);
    switch (fz_below(&h->client, 16)) {
    case 0:
    case 1:
    case 2:
    case 3:
        return train(h);
    case 4:
    case 5:
        return forward(h);
    case 6:
    case 7:
        return fz_saves_save(h, false);
    case 8:
        return fz_saves_save(h, true);
    case 9:
    case 10:
        return saved == NULL || use_save(h, saved);
    case 11:
        return fz_saves_change(h);
    case 12:
        return fz_saves_list(h);
    case 13:
        return misbehave(h) && forward(h);
    case 14:
        return beat(h);
    default:
        return h->steps < FZ_STEPS / 2 || unload(h);
    }
}

fz_honest *fz_honest_new(fz_world *world, int number)
{
    fz_honest *h = tk_zalloc(sizeof(*h));
    if (h == NULL) {
        fakeapi_die("no memory");
    }
    fz_client_init(&h->client, world, number);
    return h;
}

void fz_honest_free(fz_honest *h)
{
    fz_client_dispose(&h->client);
    tk_free(h);
}

void fz_honest_run(void *user)
{
    fz_honest *h = user;
    while (fz_client_enter_life(&h->client)) {
        bool ok = begin_session(h) && fz_saves_list(h);
        for (int i = 0; ok && i < 3; i++) {
            const fz_saved *saved = fz_saves_pick(h);
            ok = saved == NULL || use_save(h, saved);
        }
        while (ok && !atomic_load(&h->client.world->is_over)) {
            ok = step(h);
            tk_arena_dispose(&h->client.arena);
        }
        tk_arena_dispose(&h->client.arena);
    }
}

void fz_honest_check(fz_honest *h)
{
    if (!fz_client_enter_life(&h->client) || !begin_session(h)) {
        return;
    }
    bool ok = fz_saves_list(h);
    for (size_t i = 0; ok && i < h->n_saves; i++) {
        if (!h->saves[i].is_deleted && !h->saves[i].may_be_deleted) {
            ok = use_save(h, &h->saves[i]);
        }
        tk_arena_dispose(&h->client.arena);
    }
    if (!ok) {
        FIND(h, "client %d: the saves cannot be checked", h->client.number);
    }
}
