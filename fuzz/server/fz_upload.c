/* An adapter that the server exported goes back to it as an upload, whole, cut, or with one
 * byte changed; the links are followed as they come. */
#include <string.h>

#include "fz.h"

#define KEY     "X-API-Key: " FZ_KEY "\r\n"
#define CONFIG  "adapter_config.json"
#define WEIGHTS "adapter_model.safetensors"

/* The path of a link among the "urls" of an answer, or NULL. */
static const char *link_of(const tk_json *urls, const char *name)
{
    const tk_json *url = tk_json_get(urls, name);
    bool is_text = url != NULL && url->type == TK_JSON_STRING;
    return is_text ? strstr(url->as.string.p, "/tinkc/v1/") : NULL;
}

/* Reads one file of the export; an empty text when there is none. */
static bool take(fz_client *c, const tk_json *urls, const char *name, tk_str *out)
{
    fz_answer answer;
    const httpget_request request = {.method = "GET", .target = link_of(urls, name)};
    *out = (tk_str){"", 0};
    if (request.target == NULL) {
        return true;
    }
    if (!fz_ask(c, &request, FZ_PLAIN, &answer)) {
        return false;
    }
    if (answer.status == 200) {
        *out = answer.body;
    }
    return true;
}

/* Puts a file, mostly as it is. */
static bool put(fz_client *c, const tk_json *urls, const char *name, tk_str file)
{
    fz_answer answer;
    tk_str copy = file;
    const httpget_request request = {.method = "PUT",
                                     .target = link_of(urls, name),
                                     .body = file.p,
                                     .body_n = file.n,
                                     .content_type = "application/octet-stream"};
    if (request.target == NULL || file.n == 0) {
        return true;
    }
    httpget_request spoiled = request;
    if (fz_chance(c, 200) && tk_arena_dup(&c->arena, &copy, file.p, file.n)) {
        ((char *)(uintptr_t)copy.p)[fz_below(c, copy.n)] = (char)fz_below(c, 256);
        spoiled.body = copy.p;
        spoiled.body_n = fz_chance(c, 500) ? copy.n : 1 + (size_t)fz_below(c, copy.n);
    }
    return fz_ask(c, &spoiled, fz_chance(c, 900) ? FZ_PLAIN : FZ_HALF, &answer);
}

bool fz_upload(fz_client *c, const fz_ids *ids)
{
    char target[2 * FZ_ID_BYTES], body[256];
    fz_answer answer;
    tk_str config, weights;
    (void)snprintf(target, sizeof(target),
                   FZ_API "training_runs/%s/checkpoints/external_weights/e/"
                          "external_weights_urls",
                   ids->model);
    const httpget_request ask = {.method = "GET", .target = target, .headers = KEY};
    if (!fz_ask(c, &ask, FZ_PLAIN, &answer)) {
        return false;
    }
    const tk_json *urls = tk_json_get(answer.json, "urls");
    if (!take(c, urls, CONFIG, &config) || !take(c, urls, WEIGHTS, &weights) ||
        !fz_post(c, "external_weights_upload_start",
                 "{\"base_model\":\"" FZ_MODEL "\",\"lora_config\":{\"rank\":2}}",
                 FZ_PLAIN, &answer)) {
        return false;
    }
    (void)snprintf(body, sizeof(body), "{\"upload_id\":\"%.100s\"}",
                   fz_text(&answer, "upload_id"));
    urls = tk_json_get(answer.json, "urls");
    return put(c, urls, CONFIG, config) && put(c, urls, WEIGHTS, weights) &&
           fz_post(c, "external_weights_upload_finish", body,
                   fz_chance(c, 500) ? FZ_PLAIN : FZ_TWICE, &answer);
}
