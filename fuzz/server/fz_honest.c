/* An honest client: it trains, saves, loads, samples and manages checkpoints, resends and
 * cuts its requests as a bad network would, and knows what each answer must be. Here:
 * submitting and polling, and the order of what it does; fz_model.c and fz_saves.c have
 * what it does. */
#include <string.h>
#include <time.h>

#include "base/mem.h"
#include "fz_honest.h"
#include "wire/zstd.h"

#define PROTO "Accept: application/x-protobuf\r\n"
#define KEY   "X-API-Key: " FZ_KEY "\r\n"

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
bool fz_honest_ask(fz_honest *h, const httpget_request *request, fz_way way,
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

bool fz_honest_retrieve(fz_honest *h, const char *id, bool proto, fz_answer *out)
{
    char body[FZ_ID_BYTES + 64];
    (void)snprintf(body, sizeof(body), "{\"request_id\":\"%s\"}", id);
    const httpget_request request = {.method = "POST",
                                     .target = FZ_API "retrieve_future",
                                     .headers = proto ? KEY PROTO : KEY,
                                     .body = body};
    do {
        bool plain = tk_rand_below(&h->client.poll_rand, 10) < 6;
        fz_way way =
            plain ? FZ_PLAIN : (fz_way)tk_rand_below(&h->client.poll_rand, FZ_WAYS);
        if (!fz_honest_ask(h, &request, way, out)) {
            return false;
        }
    } while (out->status == 408);
    if (out->status != 200) {
        FIND(h, "client %d: the result of %s is lost: %d %s", h->client.number, id,
             out->status, out->body.p);
        return false;
    }
    fz_answer again;
    if (tk_rand_below(&h->client.poll_rand, 4) == 0) {
        if (!fz_honest_ask(h, &request, FZ_PLAIN, &again)) {
            return false;
        }
        if (again.status != 200 || !tk_str_eq(again.body, out->body)) {
            FIND(h, "client %d: %s has two results: %.200s and %d %.200s",
                 h->client.number, id, out->body.p, again.status, again.body.p);
        }
    }
    return true;
}

/* Packs a training request with zstd now and then. */
bool fz_honest_submit(fz_honest *h, const char *route, const char *body, const char *idem,
                      fz_answer *out)
{
    char target[128], headers[256];
    bool trains = strncmp(route, "forward", 7) == 0;
    tk_buf packed;
    tk_zstd zstd;
    tk_buf_init(&packed, TK_MIB);
    tk_zstd_init(&zstd);
    (void)snprintf(target, sizeof(target), FZ_API "%s", route);
    (void)snprintf(headers, sizeof(headers), KEY "%s%s%s",
                   idem != NULL ? "X-Idempotency-Key: " : "", idem != NULL ? idem : "",
                   idem != NULL ? "\r\n" : "");
    httpget_request request = {
        .method = "POST", .target = target, .headers = headers, .body = body};
    const tk_bytes plain = {(const unsigned char *)body, strlen(body)};
    if (trains && fz_chance(&h->client, 200) &&
        tk_zstd_compress(&zstd, &packed, plain, 1, NULL) == TINKC_OK) {
        request.headers = KEY "Content-Encoding: zstd\r\n";
        request.body = packed.p;
        request.body_n = packed.n;
    } else if (fz_chance(&h->client, 50)) {
        request.chunk = 1 + (size_t)fz_below(&h->client, 64);
    }
    bool ok = fz_honest_ask(h, &request, fz_honest_way(h), out);
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
    if (!fz_honest_submit(h, route, body, NULL, out)) {
        return false;
    }
    (void)snprintf(id, sizeof(id), "%s", fz_text(out, "request_id"));
    return fz_honest_retrieve(h, id, proto, out);
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
    if (!h->has_model && !fz_model_create(h)) {
        return false;
    }
    const fz_saved *saved = fz_saves_pick(h);
    switch (fz_below(&h->client, 17)) {
    case 0:
    case 1:
    case 2:
    case 3:
        return fz_model_train(h);
    case 4:
    case 5:
        return fz_model_forward(h);
    case 6:
    case 7:
        return fz_saves_save(h, false);
    case 8:
        return fz_saves_save(h, true) && fz_saves_overwrite(h);
    case 9:
    case 10:
        return saved == NULL || fz_model_use(h, saved);
    case 11:
        return fz_saves_change(h);
    case 12:
        return fz_saves_list(h);
    case 13:
        return fz_model_misbehave(h);
    case 14:
        return fz_model_mislabel(h);
    case 15:
        return beat(h);
    default:
        return h->steps < FZ_STEPS / 2 || fz_model_unload(h);
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
            ok = saved == NULL || fz_model_use(h, saved);
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
        if (!h->saves[i].is_deleted && !h->saves[i].is_unsure) {
            ok = fz_model_use(h, &h->saves[i]);
        }
        tk_arena_dispose(&h->client.arena);
    }
    if (!ok) {
        FIND(h, "client %d: the saves cannot be checked", h->client.number);
    }
}
