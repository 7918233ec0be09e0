/* An honest agent of the gateway: it talks in an episode of its own, keeps the ids of every
 * answer that it got, and after each restart looks for all of them in the export. A turn
 * that was answered must be there, also after kill -9. */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "fz_agent.h"

#define KEY "X-API-Key: " FZ_KEY "\r\n"

fz_agent *fz_agent_new(fz_world *world, int number)
{
    fz_agent *a = tk_zalloc(sizeof(*a));
    if (a == NULL) {
        fakeapi_die("no memory");
    }
    fz_client_init(&a->client, world, number);
    tk_buf_init(&a->messages, TK_MIB);
    return a;
}

void fz_agent_free(fz_agent *a)
{
    for (size_t i = 0; i < a->n_turns; i++) {
        tk_free(a->turns[i].ids);
    }
    fz_client_dispose(&a->client);
    tk_buf_dispose(&a->messages);
    tk_free(a);
}

/* ---- what was answered is exported ---- */

static bool has_turn(const tk_json *sequence, const fz_turn *turn)
{
    const tk_json *tokens = tk_json_get(sequence, "tokens");
    const tk_json *mask = tk_json_get(sequence, "mask");
    if (tk_json_len(tokens) < turn->n || tk_json_len(mask) < turn->n) {
        return false;
    }
    for (size_t i = 0; i < turn->n; i++) {
        tk_json token = tk_json_at(tokens, i), bit = tk_json_at(mask, i);
        int64_t id = -1, is_sampled = -1;
        bool ok = tk_json_to_i64(&token, &id) && tk_json_to_i64(&bit, &is_sampled);
        /* the prompt may hold earlier answers */
        if (!ok || id != turn->ids[i] || (i >= turn->n_prompt && is_sampled != 1)) {
            return false;
        }
    }
    return true;
}

static bool check_turns(fz_agent *a)
{
    fz_answer answer;
    char target[64];
    (void)snprintf(target, sizeof(target), "/tinkc/v1/episodes/agent-%d",
                   a->client.number);
    const httpget_request request = {.method = "GET", .target = target, .headers = KEY};
    if (a->n_turns == 0) {
        return true;
    }
    if (!fz_ask(&a->client, &request, FZ_PLAIN, &answer)) {
        return false;
    }
    if (answer.status != 200) {
        if (answer.status != 429 && answer.status != 503) {
            fz_find(a->client.world, "agent %d: its episode is %d %s", a->client.number,
                    answer.status, answer.body.p);
        }
        return true;
    }
    const tk_json *sequences = tk_json_get(answer.json, "sequences");
    for (size_t i = 0; i < a->n_turns; i++) {
        bool found = false;
        for (size_t k = 0; !found && k < tk_json_len(sequences); k++) {
            tk_json sequence = tk_json_at(sequences, k);
            found = has_turn(&sequence, &a->turns[i]);
        }
        if (!found) {
            fz_find(a->client.world,
                    "agent %d: turn %zu of %zu was answered and is not exported",
                    a->client.number, i, a->n_turns);
            return false;
        }
    }
    return true;
}

/* ---- one request ---- */

static void say(fz_agent *a)
{
    tk_buf_printf(&a->messages, "%s{\"role\":\"user\",\"content\":\"Say %d.\"}",
                  a->messages.n > 0 ? "," : "", (int)fz_below(&a->client, 100));
}

static bool copy_ids(int64_t *to, const tk_json *from)
{
    for (size_t i = 0; i < tk_json_len(from); i++) {
        tk_json id = tk_json_at(from, i);
        if (!tk_json_to_i64(&id, &to[i])) {
            return false;
        }
    }
    return true;
}

static void keep(fz_agent *a, const tk_json *prompt, const tk_json *sampled)
{
    size_t n = tk_json_len(prompt) + tk_json_len(sampled);
    fz_turn turn = {tk_array(n + 1, sizeof(int64_t)), tk_json_len(prompt), n};
    if (turn.ids == NULL || !copy_ids(turn.ids, prompt) ||
        !copy_ids(turn.ids + turn.n_prompt, sampled)) {
        fz_find(a->client.world, "agent %d: an answer without ids", a->client.number);
    }
    a->turns[a->n_turns++] = turn;
}

static void hear(fz_agent *a, const fz_answer *answer)
{
    tk_json choice = tk_json_at(tk_json_get(answer->json, "choices"), 0);
    const tk_json *message = tk_json_get(&choice, "message");
    const tk_json *content = message != NULL ? tk_json_get(message, "content") : NULL;
    tk_json_writer w;
    keep(a, tk_json_get(answer->json, "prompt_token_ids"),
         tk_json_get(&choice, "token_ids"));
    tk_buf_puts(&a->messages, ",");
    tk_json_writer_init(&w, &a->messages);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("role"));
    tk_json_put_str(&w, TK_STR("assistant"));
    tk_json_key(&w, TK_STR("content"));
    tk_json_put_str(&w, content != NULL && content->type == TK_JSON_STRING
                            ? content->as.string
                            : TK_STR(""));
    tk_json_end_object(&w);
}

static bool step(fz_agent *a)
{
    fz_answer answer;
    char target[64];
    tk_buf body;
    if (a->messages.n > 1500 || fz_chance(&a->client, 150)) {
        tk_buf_clear(&a->messages);
    }
    size_t before = a->messages.n;
    say(a);
    tk_buf_init(&body, TK_MIB);
    tk_buf_printf(&body,
                  "{\"model\":\"" FZ_MODEL "\",\"messages\":[%.*s],\"max_tokens\":%d,"
                  "\"return_token_ids\":true,\"seed\":%d}",
                  (int)a->messages.n, a->messages.p, 1 + (int)fz_below(&a->client, 6),
                  a->seed++);
    (void)snprintf(target, sizeof(target), "/e/agent-%d/v1/chat/completions",
                   a->client.number);
    const httpget_request request = {.method = "POST",
                                     .target = target,
                                     .headers = KEY,
                                     .body = body.p,
                                     .body_n = body.n};
    bool ok = fz_ask(&a->client, &request,
                     fz_chance(&a->client, 100) ? FZ_BOTH : FZ_PLAIN, &answer);
    if (ok && answer.status == 200) {
        hear(a, &answer);
    } else {
        a->messages.n = before;
    }
    tk_buf_dispose(&body);
    return ok;
}

void fz_agent_run(void *user)
{
    fz_agent *a = user;
    while (fz_client_enter_life(&a->client)) {
        bool ok = check_turns(a);
        while (ok && a->n_turns < FZ_TURNS && !atomic_load(&a->client.world->is_over)) {
            ok = step(a);
            tk_arena_dispose(&a->client.arena);
        }
        tk_arena_dispose(&a->client.arena);
        if (a->n_turns == FZ_TURNS) {
            return;
        }
    }
}

void fz_agent_check(fz_agent *a)
{
    if (fz_client_enter_life(&a->client)) {
        (void)check_turns(a);
        tk_arena_dispose(&a->client.arena);
    }
}
