/* See push_int.h: large files, by the batch API of git LFS and the hub's own way of
 * sending one in parts. Bytes go from the disk to the socket. The storage gets the
 * headers that the batch answer names and never the token; the URLs are the hub's word,
 * but an https hub cannot lead to plain http. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "client/hub/push_int.h"
#include "http/url.h"

#define BATCH_FILES 100
#define PARTS_MAX   100000
#define USUAL_HUB   "https://huggingface.co/"

static const char ask_what[] = "asking the hub where large files go";

/* ---- URLs and headers of an action ---- */

/* Of a mirror the hub's own URLs are the mirror's. */
static const char *put_href(tk_buf *url, const tk_push *push, const char *href,
                            tk_err *err)
{
    size_t usual = sizeof(USUAL_HUB) - 1;
    bool is_http = href != NULL && strncmp(href, "http://", 7) == 0;
    bool is_https = href != NULL && strncmp(href, "https://", 8) == 0;
    if ((!is_http && !is_https) ||
        (is_http && strncmp(push->hub_url, "https://", 8) == 0)) {
        (void)tk_hub_bad_answer(err, ask_what, "has no usable URL");
        return NULL;
    }
    tk_buf_clear(url);
    if (strncmp(href, USUAL_HUB, usual) == 0) {
        tk_buf_printf(url, "%s/", push->hub_url);
        href += usual;
    }
    tk_buf_puts(url, href);
    const char *text = tk_buf_cstr(url);
    if (text == NULL) {
        (void)tk_buf_status(url, err);
    }
    return text;
}

static bool has_nul(tk_str text)
{
    return memchr(text.p, '\0', text.n) != NULL;
}

static bool is_digits(tk_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9') {
            return false;
        }
    }
    return text.n > 0;
}

/* We choose the framing of a request, and the numbered parts are not headers. */
static bool is_header(const tk_json_member *member)
{
    static const char *const ours[] = {"chunk_size",     "host",
                                       "content-length", "transfer-encoding",
                                       "connection",     "expect"};
    for (size_t i = 0; i < TK_ARRAY_LEN(ours); i++) {
        if (tk_str_is_nocase(member->key, ours[i])) {
            return false;
        }
    }
    return member->value.type == TK_JSON_STRING && !is_digits(member->key);
}

static tinkc_code read_headers(tinkc_pair out[TK_HUB_HEADERS_MAX], size_t *n,
                               const tk_json *header, tk_err *err)
{
    *n = 0;
    if (header == NULL || header->type == TK_JSON_NULL) {
        return TINKC_OK;
    }
    if (header->type != TK_JSON_OBJECT) {
        return tk_hub_bad_answer(err, ask_what, "has headers that are no object");
    }
    for (size_t i = 0; i < header->as.object.n; i++) {
        const tk_json_member *member = &header->as.object.members[i];
        if (!is_header(member)) {
            continue;
        }
        if (has_nul(member->key) || has_nul(member->value.as.string)) {
            return tk_hub_bad_answer(err, ask_what, "has a header with a NUL");
        }
        if (*n == TK_HUB_HEADERS_MAX) {
            return tk_hub_bad_answer(err, ask_what, "has too many headers");
        }
        out[(*n)++] = (tinkc_pair){member->key.p, member->value.as.string.p};
    }
    return TINKC_OK;
}

/* ---- sending ---- */

typedef struct sending {
    tk_push *push;
    tk_push_file *file;
    const tk_json *upload, *verify; /* actions; verify may be NULL */
    tk_buf url;
    char what[160];
} sending;

static void note(sending *s, uint64_t n)
{
    s->push->progress.done += n;
    s->push->uploaded += n;
}

static tinkc_code send_whole(sending *s, tk_err *err)
{
    tinkc_pair headers[TK_HUB_HEADERS_MAX];
    tinkc_raw_response *response = NULL;
    tk_hub_call call = {.what = s->what,
                        .method = TK_HTTP_PUT,
                        .headers = headers,
                        .no_type = true,
                        .file = s->file->path,
                        .file_n = s->file->size};
    tinkc_code code =
        read_headers(headers, &call.headers_n, tk_json_get(s->upload, "header"), err);
    if (code != TINKC_OK) {
        return code;
    }
    call.url = put_href(&s->url, s->push, tk_hub_text(s->upload, "href"), err);
    code =
        call.url != NULL ? tk_hub_send(&response, &s->push->peer, &call, err) : err->code;
    tinkc_raw_response_free(&response);
    if (code == TINKC_OK) {
        note(s, s->file->size);
    }
    return code;
}

/* What was sent, to a URL that the hub named; `header` may be NULL. */
static tinkc_code report(sending *s, const char *href, const tk_json *header,
                         bool with_token, tk_buf *body, tk_err *err)
{
    tinkc_pair all[TK_HUB_HEADERS_MAX + 1];
    tinkc_raw_response *response = NULL;
    size_t n = 0;
    tinkc_code code = read_headers(all, &n, header, err);
    if (code != TINKC_OK) {
        return code;
    }
    all[n++] = (tinkc_pair){"Accept", TK_HUB_LFS_TYPE};
    tk_hub_call call = {.what = s->what,
                        .method = TK_HTTP_POST,
                        .url = put_href(&s->url, s->push, href, err),
                        .headers = all,
                        .headers_n = n,
                        .content_type = TK_HUB_LFS_TYPE,
                        .body = body};
    if (call.url == NULL) {
        return err->code;
    }
    call.with_token = with_token && tk_url_same_origin(tk_str_of(call.url),
                                                       tk_str_of(s->push->hub_url));
    code = tk_buf_status(body, err);
    if (code == TINKC_OK) {
        code = tk_hub_send(&response, &s->push->peer, &call, err);
    }
    tinkc_raw_response_free(&response);
    return code;
}

static tinkc_code verify(sending *s, tk_err *err)
{
    tk_buf body;
    tk_buf_init(&body, TK_HUB_BODY_BYTES);
    tk_buf_printf(&body, "{\"oid\":\"%s\",\"size\":%" PRIu64 "}", s->file->sha256,
                  s->file->size);
    tinkc_code code = report(s, tk_hub_text(s->verify, "href"),
                             tk_json_get(s->verify, "header"), true, &body, err);
    tk_buf_dispose(&body);
    return code;
}

/* ---- in parts ---- */

/* A number, or a text of digits. False when it is there and is neither. */
static bool read_chunk(uint64_t *out, const tk_json *header)
{
    const tk_json *said = tk_json_get(header, "chunk_size");
    *out = 0;
    if (said == NULL) {
        return true;
    }
    return (said->type == TK_JSON_STRING ? tk_str_to_u64(said->as.string, out)
                                         : tk_json_to_u64(said, out)) &&
           *out > 0;
}

/* URLs by the number of their part: each of 1 to n once. */
static tinkc_code read_parts(const char ***out, size_t n, const tk_json *header,
                             tk_err *err)
{
    const char **urls = tk_zarray(n, sizeof(*urls));
    size_t found = 0;
    if (urls == NULL) {
        return tk_err_nomem(err);
    }
    for (size_t i = 0; i < header->as.object.n; i++) {
        const tk_json_member *member = &header->as.object.members[i];
        uint64_t number = 0;
        if (!is_digits(member->key)) {
            continue;
        }
        bool ok = tk_str_to_u64(member->key, &number) && number >= 1 && number <= n &&
                  urls[number - 1] == NULL && member->value.type == TK_JSON_STRING &&
                  !has_nul(member->value.as.string);
        if (!ok) {
            tk_free(urls);
            return tk_hub_bad_answer(err, ask_what, "has parts that do not fit the file");
        }
        urls[number - 1] = member->value.as.string.p;
        found++;
    }
    if (found != n) {
        tk_free(urls);
        return tk_hub_bad_answer(err, ask_what, "has parts that do not fit the file");
    }
    *out = urls;
    return TINKC_OK;
}

/* One part; its ETag, as it came, goes into the report. */
static tinkc_code send_part(sending *s, tk_json_writer *w, const char *href,
                            uint64_t from, uint64_t n, tk_err *err)
{
    tinkc_raw_response *response = NULL;
    tk_hub_call call = {.what = s->what,
                        .method = TK_HTTP_PUT,
                        .url = put_href(&s->url, s->push, href, err),
                        .no_type = true,
                        .file = s->file->path,
                        .file_from = from,
                        .file_n = n};
    tinkc_code code =
        call.url != NULL ? tk_hub_send(&response, &s->push->peer, &call, err) : err->code;
    if (code != TINKC_OK) {
        return code;
    }
    const char *etag = tinkc_raw_response_header(response, "etag");
    if (etag == NULL || etag[0] == '\0') {
        code = tk_err_set(err, TINKC_E_DECODE, "%s: the storage gave no ETag", s->what);
    } else {
        tk_json_put_str(w, tk_str_of(etag));
        note(s, n);
    }
    tinkc_raw_response_free(&response);
    return code;
}

static tinkc_code send_all(sending *s, tk_json_writer *w, const char *const *urls,
                           uint64_t chunk, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    uint64_t from = 0, number = 1;
    tk_json_begin_object(w);
    tk_json_key(w, TK_STR("oid"));
    tk_json_put_str(w, tk_str_of(s->file->sha256));
    tk_json_key(w, TK_STR("parts"));
    tk_json_begin_array(w);
    for (; code == TINKC_OK && from < s->file->size; from += chunk, number++) {
        tk_json_begin_object(w);
        tk_json_key(w, TK_STR("partNumber"));
        tk_json_put_u64(w, number);
        tk_json_key(w, TK_STR("etag"));
        code = send_part(s, w, urls[number - 1], from,
                         TK_MIN(chunk, s->file->size - from), err);
        tk_json_end_object(w);
    }
    tk_json_end_array(w);
    tk_json_end_object(w);
    return code;
}

static tinkc_code send_in_parts(sending *s, uint64_t chunk, tk_err *err)
{
    const tk_json *header = tk_json_get(s->upload, "header");
    uint64_t n = s->file->size / chunk + (s->file->size % chunk != 0 ? 1 : 0);
    const char **urls = NULL;
    tk_json_writer w;
    tk_buf body;
    if (n > PARTS_MAX) {
        return tk_hub_bad_answer(err, ask_what, "has parts that do not fit the file");
    }
    tinkc_code code = read_parts(&urls, (size_t)n, header, err);
    if (code != TINKC_OK) {
        return code;
    }
    tk_buf_init(&body, TK_HUB_BODY_BYTES);
    tk_json_writer_init(&w, &body);
    code = send_all(s, &w, urls, chunk, err);
    if (code == TINKC_OK) {
        code = report(s, tk_hub_text(s->upload, "href"), NULL, false, &body, err);
    }
    tk_buf_dispose(&body);
    tk_free(urls);
    return code;
}

/* ---- one file ---- */

static tinkc_code send_file(sending *s, tk_err *err)
{
    uint64_t chunk = 0;
    if (!read_chunk(&chunk, tk_json_get(s->upload, "header"))) {
        return tk_hub_bad_answer(err, ask_what, "has a chunk_size that is no size");
    }
    tinkc_code code = chunk != 0 ? send_in_parts(s, chunk, err) : send_whole(s, err);
    if (code == TINKC_OK && s->verify != NULL) {
        code = verify(s, err);
    }
    return code;
}

static const tk_json *action(const tk_json *actions, const char *name)
{
    const tk_json *found = tk_json_get(actions, name);
    return found != NULL && found->type != TK_JSON_NULL ? found : NULL;
}

static tinkc_code follow(tk_push *push, tk_push_file *file, const tk_json *said,
                         tk_err *err)
{
    const tk_json *actions = action(said, "actions");
    const tk_json *upload = action(actions, "upload");
    const tk_json *failed = action(said, "error");
    if (failed != NULL) {
        char shown[TK_HUB_WORDS_BYTES];
        const char *words = tk_hub_text(failed, "message");
        tk_hub_words(shown, &push->peer, words != NULL ? words : "no reason");
        return tk_err_set(err, TINKC_E_REQUEST, "%s: the hub refuses %.80s: %.150s",
                          ask_what, file->name, shown);
    }
    if (actions != NULL && actions->type != TK_JSON_OBJECT) {
        return tk_hub_bad_answer(err, ask_what, "has actions that are no object");
    }
    if (upload == NULL) { /* it has it */
        push->progress.done += file->size;
        file->is_stored = true;
        return TINKC_OK;
    }
    sending s = {.push = push,
                 .file = file,
                 .upload = upload,
                 .verify = action(actions, "verify")};
    (void)snprintf(s.what, sizeof(s.what), "uploading %.120s", file->name);
    tk_buf_init(&s.url, TK_HUB_URL_BYTES);
    push->progress.file = file->name;
    tinkc_code code = send_file(&s, err);
    push->progress.file = NULL;
    file->is_stored = code == TINKC_OK;
    tk_buf_dispose(&s.url);
    return code;
}

/* ---- the batch ---- */

static tinkc_code put_batch(tk_buf *body, const tk_push *push, tk_push_file *const *files,
                            size_t n, tk_err *err)
{
    tk_json_writer w;
    tk_json_writer_init(&w, body);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("operation"));
    tk_json_put_str(&w, TK_STR("upload"));
    tk_json_key(&w, TK_STR("transfers"));
    tk_json_begin_array(&w);
    tk_json_put_str(&w, TK_STR("basic"));
    tk_json_put_str(&w, TK_STR("multipart"));
    tk_json_end_array(&w);
    tk_json_key(&w, TK_STR("objects"));
    tk_json_begin_array(&w);
    for (size_t i = 0; i < n; i++) {
        tk_json_begin_object(&w);
        tk_json_key(&w, TK_STR("oid"));
        tk_json_put_str(&w, tk_str_of(files[i]->sha256));
        tk_json_key(&w, TK_STR("size"));
        tk_json_put_u64(&w, files[i]->size);
        tk_json_end_object(&w);
    }
    tk_json_end_array(&w);
    tk_json_key(&w, TK_STR("hash_algo"));
    tk_json_put_str(&w, TK_STR("sha256"));
    if (!push->options.create_pr) {
        tk_json_key(&w, TK_STR("ref"));
        tk_json_begin_object(&w);
        tk_json_key(&w, TK_STR("name"));
        tk_json_put_str(&w, tk_str_of(push->revision));
        tk_json_end_object(&w);
    }
    tk_json_end_object(&w);
    return tk_json_finish(&w, err);
}

static bool find_object(tk_json *out, const tk_json *objects, const char *oid)
{
    for (size_t i = 0; i < tk_json_len(objects); i++) {
        *out = tk_json_at(objects, i);
        const char *said = tk_hub_text(out, "oid");
        if (said != NULL && strcmp(said, oid) == 0) {
            return true;
        }
    }
    return false;
}

static tinkc_code ask_batch(const tk_json **out, tk_arena *arena, tk_push *push,
                            tk_buf *body, tk_err *err)
{
    static const tinkc_pair headers[] = {{"Accept", TK_HUB_LFS_TYPE}};
    tk_buf url;
    tk_buf_init(&url, TK_HUB_URL_BYTES);
    tk_hub_call call = {
        .what = ask_what,
        .method = TK_HTTP_POST,
        .url = tk_push_url(&url, push, "/%s.git/info/lfs/objects/batch", push->repo),
        .headers = headers,
        .headers_n = TK_ARRAY_LEN(headers),
        .content_type = TK_HUB_LFS_TYPE,
        .body = body,
        .with_token = true};
    tinkc_code code = call.url != NULL
                          ? tk_hub_ask(out, NULL, arena, &push->peer, &call, err)
                          : tk_buf_status(&url, err);
    tk_buf_dispose(&url);
    return code;
}

static tinkc_code store_some(tk_push *push, tk_push_file *const *files, size_t n,
                             tk_err *err)
{
    const tk_json *json = NULL;
    tk_arena arena;
    tk_buf body;
    tk_arena_init(&arena, 0);
    tk_buf_init(&body, TK_HUB_BODY_BYTES);
    tinkc_code code = put_batch(&body, push, files, n, err);
    if (code == TINKC_OK) {
        code = ask_batch(&json, &arena, push, &body, err);
    }
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        tk_json said;
        code = find_object(&said, tk_json_get(json, "objects"), files[i]->sha256)
                   ? follow(push, files[i], &said, err)
                   : tk_hub_bad_answer(err, ask_what, "does not speak of all files");
    }
    tk_buf_dispose(&body);
    tk_arena_dispose(&arena);
    return code;
}

/* Whether an earlier file has the same content: an object is sent once. */
static bool is_repeated(const tk_push_files *files, size_t index)
{
    for (size_t i = 0; i < index; i++) {
        const tk_push_file *other = &files->items[i];
        if (other->is_large && !other->is_left_out &&
            strcmp(other->sha256, files->items[index].sha256) == 0) {
            return true;
        }
    }
    return false;
}

tinkc_code tk_push_store(tk_push *push, tk_err *err)
{
    tk_push_file *some[BATCH_FILES];
    tk_push_files *files = &push->files;
    tinkc_code code = TINKC_OK;
    size_t n = 0;
    push->progress.total = 0;
    for (size_t i = 0; code == TINKC_OK && i < files->n; i++) {
        tk_push_file *file = &files->items[i];
        if (file->is_large && !file->is_left_out) {
            push->progress.total += (int64_t)file->size;
            code = tk_push_file_hash(file, push->peer.tick, push->peer.user, err);
        }
    }
    for (size_t i = 0; code == TINKC_OK && i < files->n; i++) {
        tk_push_file *file = &files->items[i];
        if (file->is_large && !file->is_left_out && !is_repeated(files, i)) {
            some[n++] = file;
        }
        if (n > 0 && (n == BATCH_FILES || i + 1 == files->n)) {
            code = store_some(push, some, n, err);
            n = 0;
        }
    }
    return code;
}
