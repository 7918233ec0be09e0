/* The console as a whole: its parts, its routes, and what is told to its readers. */
#include "console/con.h"

#include <stdio.h>
#include <string.h>
#include <tinkc/version.h>

#include "base/mem.h"
#include "base/utf8.h"
#include "console/con_int.h"
#include "console/con_json.h"
#include "console/con_page.h"
#include "httpd/hd_reply.h"

#define NOTE_BYTES (48 * TK_KIB) /* of one event */

/* ---- login ---- */

static hd_verdict get_session(con *console, hd_request *request)
{
    con_answer answer;
    tk_str cookies = hd_request_header(request, "Cookie");
    bool needed = con_login_is_needed(console->login);
    bool done = needed && con_login_knows(console->login, cookies);
    con_json_begin(&answer, request);
    con_json_str(&answer.w, "login",
                 !needed ? TK_STR("none")
                 : done  ? TK_STR("done")
                         : TK_STR("needed"));
    con_json_str(&answer.w, "version", TK_STR(TINKC_VERSION));
    con_json_str(&answer.w, "runs",
                 console->data.run != NULL ? TK_STR("recorded") : TK_STR("none"));
    con_json_str(&answer.w, "kind", tk_str_of(console->data.kind));
    return con_json_reply(&answer);
}

static hd_verdict set_cookie(hd_request *request, const char *header)
{
    char value[CON_LOGIN_HEADER_BYTES + 16];
    (void)snprintf(value, sizeof(value), "%s%s", header,
                   request->came_by_https ? "; Secure" : "");
    (void)hd_reply_header(request, "Cache-Control", "no-store");
    bool ok = hd_reply_header(request, "Set-Cookie", value);
    tk_mem_wipe(value, sizeof(value));
    return ok ? hd_reply_empty(request, 204) : hd_reply_busy(request);
}

static tk_str member(const tk_json *body, const char *key)
{
    const tk_json *value = tk_json_get(body, key);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string
                                                          : (tk_str){NULL, 0};
}

static hd_verdict login(con *console, hd_request *request)
{
    char header[CON_LOGIN_HEADER_BYTES];
    const tk_json *body = NULL;
    tk_err err = TK_ERR_INIT;
    if (!con_login_is_needed(console->login)) {
        return hd_reply_empty(request, 204);
    }
    if (tk_json_parse(&body, &request->arena, request->body.p, request->body.n, NULL,
                      &err) != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    tk_str key = member(body, "key");
    tk_str code = member(body, "code");
    if (key.p == NULL && code.p == NULL) {
        return hd_reply_field(request, "key", "must be a text");
    }
    tinkc_code result = key.p != NULL
                            ? con_login_by_key(header, console->login, key, &err)
                            : con_login_by_code(header, console->login, code, &err);
    if (result == TINKC_E_AUTH || result == TINKC_E_RATE_LIMIT) {
        return hd_reply_fail(request, result == TINKC_E_AUTH ? 401 : 429, "%s",
                             err.message);
    }
    return result == TINKC_OK ? set_cookie(request, header)
                              : hd_reply_error(request, &err);
}

static hd_verdict logout(con *console, hd_request *request)
{
    char header[CON_LOGIN_HEADER_BYTES];
    con_login_end(header, console->login, hd_request_header(request, "Cookie"));
    return set_cookie(request, header);
}

static hd_verdict make_code(con *console, hd_request *request)
{
    char code[CON_LOGIN_SECRET_BYTES];
    int64_t expires_ms = 0;
    con_answer answer;
    tk_err err = TK_ERR_INIT;
    if (con_login_make_code(code, &expires_ms, console->login, &err) != TINKC_OK) {
        return hd_reply_error(request, &err);
    }
    con_json_begin(&answer, request);
    con_json_str(&answer.w, "code", tk_str_of(code));
    con_json_int(&answer.w, "expires_ms", expires_ms);
    tk_mem_wipe(code, sizeof(code));
    return con_json_reply(&answer);
}

static hd_verdict get_events(con *console, hd_request *request)
{
    return con_events_get(console->events, request);
}

static hd_verdict get_page_file(con *console, hd_request *request)
{
    (void)console;
    return con_page_file_get(request);
}

/* ---- routes ---- */

typedef struct row {
    const char *method, *pattern;
    hd_verdict (*handler)(con *console, hd_request *request);
} row;

static const row rows[] = {
    {"GET", "/console/*", get_page_file},
    {"GET", CON_API "session", get_session},
    {"POST", CON_API "login", login},
    {"POST", CON_API "logout", logout},
    {"POST", CON_API "code", make_code},
    {"GET", CON_API "events", get_events},
    {"GET", CON_API "runs", con_runs_list},
    {"GET", CON_API "runs/*", con_runs_get},
    {"GET", CON_API "runs/*/series", con_series_get},
    {"GET", CON_API "samples", con_samples_list},
    {"GET", CON_API "samples/*", con_samples_get},
    {"DELETE", CON_API "samples/*", con_samples_forget},
    {"DELETE", CON_API "samples", con_samples_forget},
    {"GET", CON_API "episodes", con_episodes_list},
    {"POST", CON_API "decode", con_samples_decode},
    {"GET", CON_API "server", con_server_get},
};

hd_verdict con_handle(con *console, hd_request *request)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        if (strcmp(rows[i].pattern, request->route->pattern) == 0 &&
            strcmp(rows[i].method, request->route->method) == 0) {
            return request->is_encoded
                       ? hd_reply_fail(request, 415, "zstd is for the Tinker API only")
                       : rows[i].handler(console, request);
        }
    }
    return hd_reply_fail(request, 404, "Not Found");
}

void con_refuse(hd_request *request, int status, const tk_err *err)
{
    tk_buf buf;
    tk_json_writer w;
    tk_err ignored = TK_ERR_INIT;
    char text[TK_ERR_MESSAGE_BYTES + TK_ERR_PATH_BYTES + 4];
    if (err->code == TINKC_E_NOMEM) {
        (void)hd_reply_fixed(request, status, HD_TYPE_JSON,
                             TK_STR("{\"detail\":\"the server is out of memory\"}"));
        return;
    }
    (void)snprintf(text, sizeof(text), "%s%s%s", err->path,
                   err->path[0] != '\0' ? ": " : "", err->message);
    tk_buf_init(&buf, 16 * TK_KIB);
    tk_json_writer_init(&w, &buf);
    tk_json_begin_object(&w);
    con_json_str(&w, "detail", tk_str_of(text));
    tk_json_end_object(&w);
    (void)!tk_json_finish(&w, &ignored);
    (void)hd_reply_buf(request, status, HD_TYPE_JSON, &buf);
}

bool con_knows_cookie(con *console, tk_str cookies)
{
    return con_login_knows(console->login, cookies);
}

/* ---- changes ---- */

typedef struct note {
    tk_buf buf;
    tk_json_writer w;
} note;

static void begin_note(note *n)
{
    tk_buf_init(&n->buf, NOTE_BYTES);
    tk_json_writer_init(&n->w, &n->buf);
    tk_json_begin_object(&n->w);
}

/* Readers cannot know what has failed: they read everything again. */
static void end_note(note *n, con *console, const char *name)
{
    tk_err ignored = TK_ERR_INIT;
    tk_json_end_object(&n->w);
    bool ok = tk_json_finish(&n->w, &ignored) == TINKC_OK;
    if (ok) {
        con_events_put(console->events, name, tk_buf_str(&n->buf));
    } else {
        con_events_lose(console->events);
    }
    tk_buf_dispose(&n->buf);
}

void con_note_run(con *console, tk_str run, con_state state)
{
    note n;
    begin_note(&n);
    con_json_str(&n.w, "run", run);
    con_json_str(&n.w, "state",
                 state == CON_TRAINING ? TK_STR("training")
                 : state == CON_IDLE   ? TK_STR("idle")
                                       : TK_STR("ended"));
    end_note(&n, console, "run");
}

void con_note_step(con *console, const con_step *step)
{
    note n;
    begin_note(&n);
    con_json_str(&n.w, "run", step->run);
    con_json_int(&n.w, "step", step->step);
    con_json_int(&n.w, "time_ms", step->time_ms);
    con_json_int(&n.w, "tokens", step->tokens);
    con_json_key(&n.w, "metrics");
    tk_json_begin_object(&n.w);
    for (size_t i = 0; i < step->n_metrics; i++) {
        if (tk_utf8_is_valid(step->metrics[i].name)) {
            tk_json_key(&n.w, step->metrics[i].name);
            con_json_put_num(&n.w, step->metrics[i].value);
        }
    }
    tk_json_end_object(&n.w);
    end_note(&n, console, "step");
}

void con_note_samples(con *console, int64_t id, size_t n, tk_str run, tk_str model)
{
    note at;
    begin_note(&at);
    con_json_int(&at.w, "id", id);
    con_json_uint(&at.w, "n", n);
    con_json_str(&at.w, "run", run);
    con_json_str(&at.w, "model", model);
    end_note(&at, console, "sample");
}

void con_note_episode(con *console, tk_str id)
{
    note n;
    begin_note(&n);
    con_json_str(&n.w, "id", id);
    end_note(&n, console, "episode");
}

void con_note_server(con *console)
{
    con_events_put(console->events, "server", TK_STR("{}"));
}

/* ---- life ---- */

tinkc_code con_new(con **out, const con_config *config, tk_err *err)
{
    con *console = tk_zalloc(sizeof(*console));
    if (console == NULL) {
        return tk_err_nomem(err);
    }
    console->data = config->data;
    console->budget = config->budget;
    tinkc_code code = con_login_new(&console->login, config->api_key, NULL, err);
    if (code == TINKC_OK) {
        code = con_events_new(&console->events, config->budget, &console->data, err);
    }
    if (code != TINKC_OK) {
        con_free(console);
        return code;
    }
    *out = console;
    return TINKC_OK;
}

void con_set_port(con *console, unsigned port)
{
    con_login_set_port(console->login, port);
}

tinkc_code con_fragment(con *console, char out[CON_FRAGMENT_BYTES], tk_err *err)
{
    char secret[CON_LOGIN_SECRET_BYTES];
    int64_t expires_ms = 0;
    out[0] = '\0';
    if (!con_login_is_needed(console->login)) {
        return TINKC_OK;
    }
    tinkc_code code = con_login_make_code(secret, &expires_ms, console->login, err);
    if (code == TINKC_OK) {
        (void)snprintf(out, CON_FRAGMENT_BYTES, "#login=%s", secret);
    }
    return code;
}

void con_quiesce(con *console)
{
    if (console != NULL) {
        con_events_quiesce(console->events);
    }
}

void con_free(con *console)
{
    if (console == NULL) {
        return;
    }
    con_events_free(console->events);
    con_login_free(console->login);
    tk_free(console);
}
