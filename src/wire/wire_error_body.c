/* What the body of an error says, in one line. Bodies come from servers, proxies and
 * load balancers, so every form is expected and none is trusted. */
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"
#include "wire/wire_error.h"

/* A longer body is not an error message; only its beginning is looked at, as text. */
#define JSON_BODY_BYTES (64 * TK_KIB)

/* The message under construction: one line, cut when it is full. */
typedef struct line {
    char text[TK_ERR_MESSAGE_BYTES];
    size_t n;
} line;

static void add(line *out, tk_str text)
{
    size_t n = TK_MIN(text.n, sizeof(out->text) - 1 - out->n);
    if (n > 0) {
        memcpy(out->text + out->n, text.p, n);
        out->n += n;
    }
    out->text[out->n] = '\0';
}

static const char *status_name(int status)
{
    switch (status) {
    case 400:
        return "bad request";
    case 401:
        return "not authenticated";
    case 402:
        return "payment required";
    case 403:
        return "permission denied";
    case 404:
        return "not found";
    case 408:
        return "request timeout";
    case 409:
        return "conflict";
    case 410:
        return "gone";
    case 413:
        return "body too large";
    case 422:
        return "unprocessable entity";
    case 425:
        return "too early";
    case 429:
        return "too many requests";
    case 500:
        return "internal server error";
    case 502:
        return "bad gateway";
    case 503:
        return "service unavailable";
    case 504:
        return "gateway timeout";
    default:
        return status >= 500 ? "server error" : "unexpected status";
    }
}

/* One entry of a validation error: "body.prompt.chunks.0: field required". */
static void add_issue(line *out, const tk_json *issue)
{
    const tk_json *loc = tk_json_get(issue, "loc");
    const tk_json *msg = tk_json_get(issue, "msg");
    size_t n = loc != NULL ? tk_json_len(loc) : 0;
    for (size_t i = 0; i < n; i++) {
        tk_json part = tk_json_at(loc, i);
        char number[24];
        tk_str text = part.type == TK_JSON_STRING ? part.as.string : TK_STR("?");
        if (part.type == TK_JSON_INT) {
            (void)snprintf(number, sizeof(number), "%lld", (long long)part.as.integer);
            text = tk_str_of(number);
        }
        add(out, i > 0 ? TK_STR(".") : TK_STR(""));
        add(out, text);
    }
    if (msg != NULL && msg->type == TK_JSON_STRING) {
        add(out, out->n > 0 ? TK_STR(": ") : TK_STR(""));
        add(out, msg->as.string);
    }
}

static void add_issues(line *out, const tk_json *list)
{
    size_t n = tk_json_len(list);
    tk_json first = tk_json_at(list, 0);
    if (first.type == TK_JSON_STRING) {
        add(out, first.as.string);
    } else {
        add_issue(out, &first);
    }
    if (n > 1 && out->n > 0) {
        char more[48];
        (void)snprintf(more, sizeof(more), " (and %zu more)", n - 1);
        add(out, tk_str_of(more));
    }
}

/* The text of `detail`, `error`, `message` or `error_message`, whichever says
 * something. */
static void add_json(line *out, const tk_json *body)
{
    static const char *const keys[] = {"detail", "error", "message", "error_message"};
    for (size_t i = 0; i < TK_ARRAY_LEN(keys) && out->n == 0; i++) {
        const tk_json *value = tk_json_get(body, keys[i]);
        if (value != NULL && value->type == TK_JSON_OBJECT) {
            value = tk_json_get(value, "message");
        }
        if (value == NULL) {
            continue;
        }
        if (value->type == TK_JSON_STRING) {
            add(out, tk_str_trim(value->as.string));
        } else if (tk_json_len(value) > 0) {
            add_issues(out, value);
        }
    }
    if (body->type == TK_JSON_STRING) {
        add(out, tk_str_trim(body->as.string));
    }
}

/* What lies between <title> and the next '<'; empty when there is none. */
static tk_str html_title(tk_str body)
{
    static const char tag[] = "<title>";
    size_t tag_n = sizeof(tag) - 1;
    for (size_t i = 0; i + tag_n < body.n; i++) {
        tk_str here = {body.p + i, tag_n};
        if (tk_str_is_nocase(here, tag)) {
            tk_str rest = {body.p + i + tag_n, body.n - i - tag_n};
            return tk_str_trim(tk_str_cut(&rest, '<'));
        }
    }
    return (tk_str){NULL, 0};
}

static void add_text(line *out, tk_str body)
{
    tk_str text = {body.p, TK_MIN(body.n, JSON_BODY_BYTES)};
    text = tk_str_trim(text);
    bool html = text.n > 0 && text.p[0] == '<';
    add(out, html ? html_title(text) : text);
}

static void take_id(tk_err *err, tk_str id)
{
    if (id.n > 0 && err->request_id[0] == '\0') {
        (void)snprintf(err->request_id, sizeof(err->request_id), TK_STR_FMT,
                       TK_STR_ARG(id));
    }
}

static void read_json(tk_err *err, line *out, const tk_json *body)
{
    const tk_json *category = tk_json_get(body, "category");
    const tk_json *id = tk_json_get(body, "request_id");
    if (category != NULL && category->type == TK_JSON_STRING) {
        err->category = tk_wire_error_category(category->as.string);
    }
    if (id != NULL && id->type == TK_JSON_STRING) {
        take_id(err, id->as.string);
    }
    add_json(out, body);
}

tinkc_code tk_wire_error_fill(tk_err *err, const tk_error_response *response)
{
    tinkc_code code = tk_err_code_of_status(response->status);
    if (err == NULL || err->code != TINKC_OK) {
        return code;
    }
    line out = {.n = 0};
    tk_arena arena;
    tk_arena_init(&arena, 0);
    const tk_json *body = NULL;
    take_id(err, response->request_id);
    if (response->body.n <= JSON_BODY_BYTES &&
        tk_json_parse(&body, &arena, response->body.p, response->body.n, NULL, NULL) ==
            TINKC_OK) {
        read_json(err, &out, body);
    } else {
        add_text(&out, response->body);
    }
    tk_arena_dispose(&arena);
    if (out.n == 0) {
        add(&out, tk_str_of(status_name(response->status)));
    }
    err->http_status = response->status;
    err->retry_after_ms = tk_wire_error_retry_after(
        response->retry_after_ms, response->retry_after, response->now_us);
    return tk_err_set(err, code, "HTTP %d: %s", response->status, out.text);
}
