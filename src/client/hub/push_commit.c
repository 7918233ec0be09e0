/* See push_int.h: which files the hub wants inside the commit, and the commit. Its body,
 * lines of JSON with the small files in base64, is written to the private directory first
 * and sent from there: whatever the hub calls small, memory does not grow. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/mem.h"
#include "client/hub/push_int.h"
#include "http/url.h"

#define SORT_FILES     256 /* in one question, as the official program */
#define LINE_MAX_BYTES (6 * TK_PUSH_MESSAGE_MAX + TK_KIB) /* all of it escaped */
#define FILE_MODE      0600
#define MESSAGE        "Upload checkpoint using tinkc"

/* "<hub>/api/models/<repo>/<verb>/<revision>[?create_pr=1]" */
static const char *put_url(tk_buf *url, const tk_push *push, const char *verb)
{
    (void)!tk_push_url(url, push, "/api/models/%s/%s/", push->repo, verb);
    tk_url_escape(url, tk_str_of(push->revision), "");
    if (push->options.create_pr) {
        tk_buf_puts(url, "?create_pr=1");
    }
    return tk_buf_cstr(url);
}

/* ---- which are large ---- */

static tinkc_code put_question(tk_buf *body, const tk_push_file *files, size_t n,
                               tk_err *err)
{
    unsigned char sample[TK_PUSH_SAMPLE_BYTES];
    tk_json_writer w;
    tk_json_writer_init(&w, body);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("files"));
    tk_json_begin_array(&w);
    for (size_t i = 0; i < n; i++) {
        size_t sample_n = 0;
        tinkc_code code = tk_push_file_sample(sample, &sample_n, &files[i], err);
        if (code != TINKC_OK) {
            return code;
        }
        tk_json_begin_object(&w);
        tk_json_key(&w, TK_STR("path"));
        tk_json_put_str(&w, tk_str_of(files[i].name));
        tk_json_key(&w, TK_STR("sample"));
        tk_json_put_base64(&w, sample, sample_n);
        tk_json_key(&w, TK_STR("size"));
        tk_json_put_u64(&w, files[i].size);
        tk_json_end_object(&w);
    }
    tk_json_end_array(&w);
    tk_json_end_object(&w);
    return tk_json_finish(&w, err);
}

/* Whether the hub has this very content: as git names it, or by its SHA-256. */
static tinkc_code is_unchanged(bool *out, tk_push *push, tk_push_file *file,
                               const char *oid, tk_err *err)
{
    char git[TK_PUSH_GIT_BYTES];
    tinkc_code code;
    *out = false;
    if (oid == NULL) {
        return TINKC_OK;
    }
    if (file->is_large) {
        code = tk_push_file_hash(file, push->peer.tick, push->peer.user, err);
        *out = code == TINKC_OK && strcmp(oid, file->sha256) == 0;
    } else {
        code = tk_push_file_git(git, file, err);
        *out = code == TINKC_OK && strcmp(oid, git) == 0;
    }
    return code;
}

static tinkc_code read_mode(tk_push *push, tk_push_file *file, const tk_json *said,
                            tk_err *err)
{
    static const char what[] = "asking the hub about the files";
    const char *mode = tk_hub_text(said, "uploadMode");
    const tk_json *ignored = tk_json_get(said, "shouldIgnore");
    if (mode == NULL || (strcmp(mode, "regular") != 0 && strcmp(mode, "lfs") != 0)) {
        return tk_hub_bad_answer(err, what, "does not say how a file is to be sent");
    }
    if (ignored != NULL && ignored->type != TK_JSON_BOOL) {
        return tk_hub_bad_answer(err, what, "has a shouldIgnore that is no boolean");
    }
    /* storages refuse empty objects */
    file->is_large = strcmp(mode, "lfs") == 0 && file->size > 0;
    bool unchanged = false;
    tinkc_code code = is_unchanged(&unchanged, push, file, tk_hub_text(said, "oid"), err);
    file->is_left_out = unchanged || (ignored != NULL && ignored->as.boolean);
    return code;
}

/* The last one of that name counts; NULL: none. */
static bool find_said(tk_json *out, const tk_json *list, const char *name)
{
    for (size_t i = tk_json_len(list); i > 0; i--) {
        *out = tk_json_at(list, i - 1);
        const char *path = tk_hub_text(out, "path");
        if (path != NULL && strcmp(path, name) == 0) {
            return true;
        }
    }
    return false;
}

static tinkc_code sort_some(tk_push *push, tk_push_file *files, size_t n, tk_err *err)
{
    static const char what[] = "asking the hub about the files";
    tk_arena arena;
    tk_buf url, body;
    const tk_json *json = NULL;
    tk_arena_init(&arena, 0);
    tk_buf_init(&url, TK_HUB_URL_BYTES);
    tk_buf_init(&body, TK_HUB_BODY_BYTES);
    tk_hub_call call = {.what = what,
                        .method = TK_HTTP_POST,
                        .url = put_url(&url, push, "preupload"),
                        .body = &body,
                        .with_token = true};
    tinkc_code code =
        call.url != NULL ? put_question(&body, files, n, err) : tk_buf_status(&url, err);
    if (code == TINKC_OK) {
        code = tk_hub_ask(&json, NULL, &arena, &push->peer, &call, err);
    }
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        tk_json said;
        code = find_said(&said, tk_json_get(json, "files"), files[i].name)
                   ? read_mode(push, &files[i], &said, err)
                   : tk_hub_bad_answer(err, what, "does not speak of all files");
    }
    tk_buf_dispose(&url);
    tk_buf_dispose(&body);
    tk_arena_dispose(&arena);
    return code;
}

tinkc_code tk_push_sort(tk_push *push, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    for (size_t i = 0; code == TINKC_OK && i < push->files.n; i += SORT_FILES) {
        code = sort_some(push, push->files.items + i,
                         TK_MIN(push->files.n - i, (size_t)SORT_FILES), err);
    }
    return code;
}

/* ---- the body ---- */

typedef struct lines {
    tk_file_writer *writer;
    tk_buf text; /* of one line, or of a piece of one */
    tk_push *push;
} lines;

static tinkc_code flush(lines *l, tk_err *err)
{
    tinkc_code code = tk_buf_status(&l->text, err);
    if (code == TINKC_OK && l->text.n > 0) {
        code = tk_file_writer_put(l->writer, l->text.p, l->text.n, err);
    }
    tk_buf_clear(&l->text);
    return code;
}

static tinkc_code take_base64(void *user, const char *p, size_t n, tk_err *err)
{
    lines *l = user;
    if (!l->push->peer.tick(l->push->peer.user)) {
        return tk_err_set(err, TINKC_E_CANCELLED, "stopped by the callback");
    }
    tk_base64_encode(&l->text, p, n);
    return flush(l, err);
}

static tinkc_code put_text(lines *l, const char *text, tk_err *err)
{
    tk_json_writer w;
    tk_json_writer_init(&w, &l->text);
    tk_json_put_str(&w, tk_str_of(text));
    return tk_json_finish(&w, err);
}

static tinkc_code put_header(lines *l, tk_err *err)
{
    const char *message = l->push->options.commit_message;
    bool has_one = message != NULL && message[0] != '\0';
    tk_buf_puts(&l->text, "{\"key\":\"header\",\"value\":{\"summary\":");
    tinkc_code code = put_text(l, has_one ? message : MESSAGE, err);
    tk_buf_puts(&l->text, ",\"description\":\"\"}}\n");
    return code == TINKC_OK ? flush(l, err) : code;
}

static tinkc_code put_small(lines *l, const tk_push_file *file, tk_err *err)
{
    tk_buf_puts(&l->text, "{\"key\":\"file\",\"value\":{\"content\":\"");
    tinkc_code code = flush(l, err);
    if (code == TINKC_OK) {
        code = tk_push_file_read(file, take_base64, l, err);
    }
    if (code == TINKC_OK) {
        tk_buf_puts(&l->text, "\",\"path\":");
        code = put_text(l, file->name, err);
    }
    tk_buf_puts(&l->text, ",\"encoding\":\"base64\"}}\n");
    return code == TINKC_OK ? flush(l, err) : code;
}

static tinkc_code put_large(lines *l, const tk_push_file *file, tk_err *err)
{
    tk_buf_puts(&l->text, "{\"key\":\"lfsFile\",\"value\":{\"path\":");
    tinkc_code code = put_text(l, file->name, err);
    tk_buf_printf(&l->text,
                  ",\"algo\":\"sha256\",\"oid\":\"%s\",\"size\":%" PRIu64 "}}\n",
                  file->sha256, file->size);
    return code == TINKC_OK ? flush(l, err) : code;
}

static tinkc_code put_lines(lines *l, tk_err *err)
{
    const tk_push_files *files = &l->push->files;
    tinkc_code code = put_header(l, err);
    for (size_t i = 0; code == TINKC_OK && i < files->n; i++) {
        const tk_push_file *file = &files->items[i];
        if (!file->is_left_out) {
            code = file->is_large ? put_large(l, file, err) : put_small(l, file, err);
        }
    }
    return code;
}

static tinkc_code write_body(tk_push *push, const char *path, tk_err *err)
{
    lines l = {.push = push};
    tk_buf_init(&l.text, LINE_MAX_BYTES);
    tinkc_code code = tk_file_writer_new(&l.writer, path, FILE_MODE, err);
    if (code == TINKC_OK) {
        code = put_lines(&l, err);
        if (code == TINKC_OK) {
            code = tk_file_writer_publish(l.writer, err);
        } else {
            tk_file_writer_abort(l.writer);
        }
    }
    tk_buf_dispose(&l.text);
    return code;
}

/* ---- the commit ---- */

static tinkc_code keep(char **out, const tk_json *json, const char *key, tk_err *err)
{
    const char *text = tk_hub_text(json, key);
    if (text == NULL) {
        return tk_err_set(err, TINKC_E_DECODE,
                          "committing: the hub's answer has no %s; the commit may have "
                          "been made",
                          key);
    }
    *out = tk_strdup(text);
    return *out != NULL ? TINKC_OK : tk_err_nomem(err);
}

static tinkc_code send_body(tk_push *push, const char *path, tk_err *err)
{
    struct stat info;
    tk_arena arena;
    tk_buf url;
    const tk_json *json = NULL;
    if (stat(path, &info) != 0) {
        return tk_err_set(err, TINKC_E_IO, "%s: it is gone", path);
    }
    tk_arena_init(&arena, 0);
    tk_buf_init(&url, TK_HUB_URL_BYTES);
    tk_hub_call call = {.what = "committing",
                        .method = TK_HTTP_POST,
                        .url = put_url(&url, push, "commit"),
                        .content_type = "application/x-ndjson",
                        .file = path,
                        .file_n = (uint64_t)info.st_size,
                        .with_token = true,
                        .once = true};
    tinkc_code code = call.url != NULL
                          ? tk_hub_ask(&json, NULL, &arena, &push->peer, &call, err)
                          : tk_buf_status(&url, err);
    if (code == TINKC_OK) {
        code = keep(&push->commit_url, json, "commitUrl", err);
    }
    if (code == TINKC_OK && push->options.create_pr) {
        code = keep(&push->pr_url, json, "pullRequestUrl", err);
    }
    tk_buf_dispose(&url);
    tk_arena_dispose(&arena);
    return code;
}

tinkc_code tk_push_commit(tk_push *push, tk_err *err)
{
    size_t n = 0;
    for (size_t i = 0; i < push->files.n; i++) {
        n += push->files.items[i].is_left_out ? 0 : 1;
    }
    if (n == 0) {
        return TINKC_OK;
    }
    char *path = tk_file_join(push->stage.path, "commit");
    tinkc_code code = path != NULL ? write_body(push, path, err) : tk_err_nomem(err);
    if (code == TINKC_OK) {
        code = send_body(push, path, err);
    }
    tk_free(path);
    push->committed = code == TINKC_OK ? n : 0;
    return code;
}
