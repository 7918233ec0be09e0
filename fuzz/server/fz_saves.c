/* The saves of an honest client: made, listed, changed, deleted, downloaded. */
#include <string.h>

#include "fz_honest.h"

#define FIND(h, ...) fz_find((h)->client.world, __VA_ARGS__)
#define KEY          "X-API-Key: " FZ_KEY "\r\n"

static const char *kind_of(const fz_saved *saved)
{
    return saved->is_sampler ? "sampler_weights" : "weights";
}

bool fz_saves_save(fz_honest *h, bool is_sampler)
{
    char body[512];
    fz_answer answer;
    if (h->n_saves == FZ_SAVES_MAX) {
        return true;
    }
    fz_saved *saved = &h->saves[h->n_saves];
    *saved = (fz_saved){.is_sampler = is_sampler, .rank = h->rank, .steps = h->steps};
    (void)snprintf(saved->run, sizeof(saved->run), "%s", h->model);
    (void)snprintf(saved->name, sizeof(saved->name), "c%d-%u", h->client.number,
                   h->names++);
    (void)snprintf(body, sizeof(body),
                   "{\"model_id\":\"%s\",\"seq_id\":%lld,\"path\":\"%s\"}", h->model,
                   (long long)h->seq++, saved->name);
    if (!fz_honest_work(h, is_sampler ? "save_weights_for_sampler" : "save_weights", body,
                        false, &answer)) {
        return false; /* it may be there or not */
    }
    if (tk_json_get(answer.json, "error") != NULL) {
        FIND(h, "client %d: a save fails: %s: %s", h->client.number, body, answer.body.p);
        return true;
    }
    h->n_saves++;
    return true;
}

bool fz_saves_overwrite(fz_honest *h)
{
    char body[512];
    fz_answer answer;
    fz_saved *saved = h->n_saves > 0 ? &h->saves[fz_below(&h->client, h->n_saves)] : NULL;
    if (saved == NULL || saved->is_sampler || saved->is_deleted || saved->is_unsure ||
        strcmp(saved->run, h->model) != 0) {
        return true;
    }
    (void)snprintf(body, sizeof(body),
                   "{\"model_id\":\"%s\",\"seq_id\":%lld,\"path\":\"%s\","
                   "\"overwrite\":true}",
                   h->model, (long long)h->seq++, saved->name);
    saved->is_unsure = true;
    if (!fz_honest_work(h, "save_weights", body, false, &answer)) {
        return false;
    }
    if (tk_json_get(answer.json, "error") != NULL) {
        FIND(h, "client %d: an overwriting save fails: %s: %s", h->client.number, body,
             answer.body.p);
        return true;
    }
    saved->is_unsure = false;
    saved->steps = h->steps;
    saved->is_public = -1;
    return true;
}

const fz_saved *fz_saves_pick(fz_honest *h)
{
    if (h->n_saves == 0) {
        return NULL;
    }
    const fz_saved *saved = &h->saves[fz_below(&h->client, h->n_saves)];
    return saved->is_deleted || saved->is_unsure ? NULL : saved;
}

/* ---- lists ---- */

static const tk_json *find(const tk_json *list, const fz_saved *saved, tk_json *row)
{
    char id[80];
    (void)snprintf(id, sizeof(id), "%s/%s", kind_of(saved), saved->name);
    for (size_t i = 0; i < tk_json_len(list); i++) {
        *row = tk_json_at(list, i);
        const tk_json *text = tk_json_get(row, "checkpoint_id");
        if (text != NULL && text->type == TK_JSON_STRING &&
            strcmp(text->as.string.p, id) == 0) {
            return row;
        }
    }
    return NULL;
}

static void compare(fz_honest *h, const fz_saved *saved, const tk_json *list)
{
    tk_json row;
    const tk_json *at = find(list, saved, &row);
    if (at != NULL && saved->is_deleted) {
        FIND(h, "client %d: %s/%s is listed after it was deleted", h->client.number,
             saved->run, saved->name);
    } else if (at == NULL && !saved->is_deleted && !saved->is_unsure) {
        FIND(h, "client %d: the answered save %s/%s/%s is lost", h->client.number,
             saved->run, kind_of(saved), saved->name);
    } else if (at != NULL && saved->is_public >= 0) {
        const tk_json *flag = tk_json_get(at, "public");
        bool is_public = flag != NULL && flag->type == TK_JSON_BOOL && flag->as.boolean;
        if (is_public != (saved->is_public == 1)) {
            FIND(h, "client %d: %s/%s: public is %d, not %d", h->client.number,
                 saved->run, saved->name, is_public, saved->is_public);
        }
    }
}

static bool list_run(fz_honest *h, size_t first)
{
    char target[FZ_ID_BYTES + 64];
    fz_answer answer;
    const char *run = h->saves[first].run;
    (void)snprintf(target, sizeof(target), FZ_API "training_runs/%s/checkpoints", run);
    const httpget_request request = {.method = "GET", .target = target, .headers = KEY};
    if (!fz_ask(&h->client, &request, FZ_PLAIN, &answer) || answer.status == 503) {
        return false;
    }
    if (answer.status != 200 && answer.status != 404) {
        FIND(h, "client %d: the list of %s: %d %s", h->client.number, run, answer.status,
             answer.body.p);
        return true;
    }
    /* 404: a run all of whose saves were deleted is lost with the database */
    const tk_json *list = tk_json_get(answer.json, "checkpoints");
    for (size_t i = first; i < h->n_saves; i++) {
        if (strcmp(h->saves[i].run, run) == 0) {
            compare(h, &h->saves[i], list);
        }
    }
    return true;
}

/* Saves of a run follow each other. */
bool fz_saves_list(fz_honest *h)
{
    for (size_t i = 0; i < h->n_saves; i++) {
        bool first = i == 0 || strcmp(h->saves[i - 1].run, h->saves[i].run) != 0;
        if (first && !list_run(h, i)) {
            return false;
        }
    }
    return true;
}

/* ---- changes ---- */

static bool change(fz_honest *h, const fz_saved *saved, const char *method,
                   const char *what, const char *body, fz_answer *out)
{
    char target[FZ_ID_BYTES + 128];
    (void)snprintf(target, sizeof(target), FZ_API "training_runs/%s/checkpoints/%s/%s%s",
                   saved->run, kind_of(saved), saved->name, what);
    const httpget_request request = {
        .method = method, .target = target, .headers = KEY, .body = body};
    return fz_ask(&h->client, &request, FZ_PLAIN, out) && out->status != 503;
}

static bool delete_one(fz_honest *h, fz_saved *saved)
{
    fz_answer answer;
    saved->is_unsure = true;
    if (!change(h, saved, "DELETE", "", NULL, &answer)) {
        return false;
    }
    saved->is_deleted = answer.status == 204;
    if (answer.status != 204) {
        FIND(h, "client %d: deleting %s/%s: %d %s", h->client.number, saved->run,
             saved->name, answer.status, answer.body.p);
    }
    return true;
}

static bool publish(fz_honest *h, fz_saved *saved)
{
    fz_answer answer;
    bool is_public = fz_chance(&h->client, 500);
    saved->is_public = -1;
    if (!change(h, saved, is_public ? "POST" : "DELETE", "/publish",
                is_public ? "{}" : NULL, &answer)) {
        return false;
    }
    saved->is_public = answer.status == 200 ? is_public : -1;
    if (answer.status != 200) {
        FIND(h, "client %d: publishing %s/%s: %d %s", h->client.number, saved->run,
             saved->name, answer.status, answer.body.p);
    }
    return true;
}

/* The archive, whole and in part: the part is the same bytes. */
static bool download(fz_honest *h, const fz_saved *saved)
{
    fz_answer link, whole, part;
    char headers[128];
    if (!change(h, saved, "GET", "/archive", NULL, &link)) {
        return false;
    }
    const char *host = strstr(link.location, "://");
    const char *path = host != NULL ? strchr(host + 3, '/') : NULL;
    if (link.status != 302 || path == NULL) {
        FIND(h, "client %d: no archive of %s/%s: %d %s", h->client.number, saved->run,
             saved->name, link.status, link.body.p);
        return true;
    }
    httpget_request request = {.method = "GET", .target = path};
    if (!fz_ask(&h->client, &request, FZ_PLAIN, &whole) || whole.status == 503) {
        return false;
    }
    if (whole.status != 200 || whole.body.n < 1024 || whole.body.n % 512 != 0) {
        FIND(h, "client %d: the archive of %s/%s: %d, %zu bytes", h->client.number,
             saved->run, saved->name, whole.status, whole.body.n);
        return true;
    }
    size_t at = (size_t)fz_below(&h->client, whole.body.n);
    size_t n = 1 + (size_t)fz_below(&h->client, whole.body.n - at);
    (void)snprintf(headers, sizeof(headers), "Range: bytes=%zu-%zu\r\n", at, at + n - 1);
    request.headers = headers;
    if (!fz_ask(&h->client, &request, FZ_PLAIN, &part) || part.status == 503) {
        return false;
    }
    if (part.status != 206 || part.body.n != n ||
        memcmp(part.body.p, whole.body.p + at, n) != 0) {
        FIND(h, "client %d: %s of the archive of %s/%s: %d, %zu bytes", h->client.number,
             headers, saved->run, saved->name, part.status, part.body.n);
    }
    return true;
}

/* A copy is a save of a run of its own; it stays when its source is deleted. */
static bool copy(fz_honest *h, const fz_saved *source)
{
    char body[512], headers[128];
    fz_answer answer;
    if (h->n_saves == FZ_SAVES_MAX) {
        return true;
    }
    (void)snprintf(headers, sizeof(headers), KEY "X-Idempotency-Key: copy-%d-%llu\r\n",
                   h->client.number, h->client.sent);
    (void)snprintf(body, sizeof(body), "{\"source_path\":\"tinker://%s/%s/%s\"}",
                   source->run, kind_of(source), source->name);
    const httpget_request request = {.method = "POST",
                                     .target = FZ_API "copy_weights",
                                     .headers = headers,
                                     .body = body};
    if (!fz_honest_ask(h, &request, fz_honest_way(h), &answer)) {
        return false;
    }
    const char *run = strstr(fz_text(&answer, "tinker_path"), "://");
    const char *end = run != NULL ? strchr(run + 3, '/') : NULL;
    if (answer.status != 200 || end == NULL) {
        FIND(h, "client %d: copying %s: %d %s", h->client.number, body, answer.status,
             answer.body.p);
        return true;
    }
    fz_saved *saved = &h->saves[h->n_saves++];
    *saved = *source;
    (void)snprintf(saved->run, sizeof(saved->run), "%.*s", (int)(end - run - 3), run + 3);
    saved->is_public = -1;
    return true;
}

/* ---- uploads ---- */

/* Something that looks like the weights of an adapter, and is none. */
static size_t write_weights(fz_client *client, char *out, size_t size)
{
    static const char header[] =
        "{\"base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight\":{\"dtype\":"
        "\"F32\",\"shape\":[4,64],\"data_offsets\":[0,1024]}}";
    size_t n = sizeof(header) - 1, end = 8 + n + 1024;
    end = end <= size ? end : size;
    memset(out, 0, end);
    out[0] = (char)(fz_chance(client, 800) ? n : fz_below(client, 256));
    memcpy(out + 8, header, n);
    for (uint64_t i = fz_below(client, 4); i > 0; i--) {
        out[fz_below(client, end)] = (char)fz_below(client, 256);
    }
    return fz_chance(client, 800) ? end : (size_t)fz_below(client, end);
}

static bool put_file(fz_honest *h, const tk_json *urls, const char *name, tk_str body)
{
    fz_answer answer;
    const tk_json *url = tk_json_get(urls, name);
    const char *host = url != NULL && url->type == TK_JSON_STRING
                           ? strstr(url->as.string.p, "://")
                           : NULL;
    const char *target = host != NULL ? strchr(host + 3, '/') : NULL;
    if (target == NULL) {
        FIND(h, "client %d: no link for %s", h->client.number, name);
        return true;
    }
    const httpget_request request = {.method = "PUT",
                                     .target = target,
                                     .body = body.p,
                                     .body_n = body.n,
                                     .content_type = "application/octet-stream"};
    return fz_ask(&h->client, &request, FZ_PLAIN, &answer);
}

/* An upload of files that are not an adapter is taken and not finished. */
static bool upload(fz_honest *h)
{
    char body[256], weights[2048], id[64];
    fz_answer answer;
    httpget_request request = {.method = "POST",
                               .target = FZ_API "external_weights_upload_start",
                               .headers = KEY,
                               .body = "{\"base_model\":\"" FZ_MODEL
                                       "\",\"lora_config\":{\"rank\":4}}"};
    if (!fz_ask(&h->client, &request, FZ_PLAIN, &answer) || answer.status == 503) {
        return false;
    }
    if (answer.status != 200) {
        return true; /* others are not finished */
    }
    const tk_json *urls = tk_json_get(answer.json, "urls");
    (void)snprintf(id, sizeof(id), "%s", fz_text(&answer, "upload_id"));
    tk_str bytes = {weights, write_weights(&h->client, weights, sizeof(weights))};
    if (!put_file(h, urls, "adapter_config.json",
                  TK_STR("{\"r\":4,\"lora_alpha\":32}")) ||
        !put_file(h, urls, "adapter_model.safetensors", bytes)) {
        return false;
    }
    (void)snprintf(body, sizeof(body), "{\"upload_id\":\"%s\"}", id);
    request.target = FZ_API "external_weights_upload_finish";
    request.body = body;
    if (!fz_ask(&h->client, &request, FZ_PLAIN, &answer)) {
        return false;
    }
    if (answer.status == 200) {
        FIND(h, "client %d: an upload of nothing is a checkpoint: %s", h->client.number,
             answer.body.p);
    }
    return true;
}

bool fz_saves_change(fz_honest *h)
{
    fz_answer answer;
    fz_saved *saved = h->n_saves > 0 ? &h->saves[fz_below(&h->client, h->n_saves)] : NULL;
    if (saved == NULL || saved->is_unsure) {
        return true;
    }
    switch (fz_below(&h->client, 7)) {
    case 0:
        return delete_one(h, saved);
    case 1:
    case 2:
        return publish(h, saved);
    case 3:
        return copy(h, saved);
    case 5:
        return upload(h);
    case 4:
        return change(h, saved, "PUT", "/ttl", "{\"ttl_seconds\":100000}", &answer);
    default:
        return download(h, saved);
    }
}
