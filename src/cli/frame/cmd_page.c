/* Asks the server's console for its session, which needs no key. */
#include "cli/frame/cmd_page.h"

#include <stdio.h>
#include <string.h>
#include <tinkc/raw.h>

#include "base/arena.h"
#include "base/json.h"
#include "base/str.h"
#include "cli/frame/cmd_open.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_service.h"

#define CONSOLE    "/tinkc/v1/console/"
#define ASK_MS     5000
#define URL_BYTES  512 /* what a browser is started with */
#define PAGE_BYTES 256
#define TEXT_BYTES 128

/* A text of the answer; "" when there is none that fits. */
static void take_text(char out[TEXT_BYTES], const tk_json *root, const char *key)
{
    const tk_json *value = tk_json_get(root, key);
    bool found =
        value != NULL && value->type == TK_JSON_STRING && value->as.string.n < TEXT_BYTES;
    (void)snprintf(out, TEXT_BYTES, "%.*s", found ? (int)value->as.string.n : 0,
                   found ? value->as.string.p : "");
}

/* Writes n texts of one answer to out. */
static void ask(char out[][TEXT_BYTES], const char *const *keys, size_t n,
                tinkc_service *service, const char *method, const char *path)
{
    tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
    tinkc_raw_response *response = NULL;
    const tk_json *root = NULL;
    const char *body = NULL;
    tk_arena arena;
    size_t bytes = 0;
    request.method = method;
    request.path = path;
    request.timeout_ms = ASK_MS;
    request.max_retries = 0;
    tk_arena_init(&arena, TK_MIB);
    if (tinkc_raw_send_wait(&response, service, &request, NULL) == TINKC_OK) {
        body = tinkc_raw_response_body(&bytes, response);
    }
    if (body == NULL ||
        tk_json_parse(&root, &arena, body, bytes, NULL, NULL) != TINKC_OK) {
        root = NULL;
    }
    for (size_t i = 0; i < n; i++) {
        take_text(out[i], root, keys[i]);
    }
    tk_arena_dispose(&arena);
    tinkc_raw_response_free(&response);
}

static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '-' || c == '_';
}

void cmd_page_encode(tk_buf *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (is_plain(*text) || *text == '.' || *text == ':') {
            tk_buf_putc(out, *text);
        } else {
            tk_buf_printf(out, "%%%02X", (unsigned)(unsigned char)*text);
        }
    }
}

/* A code goes into the address as it is. */
static bool is_code(const char *text)
{
    size_t n = 0;
    while (is_plain(text[n])) {
        n++;
    }
    return n > 0 && text[n] == '\0';
}

/* The address of the page, up to its fragment. */
static bool page_of(char out[PAGE_BYTES])
{
    const char *url = cmd_service_url();
    size_t n = strlen(url);
    bool is_shown = tk_str_has_prefix(tk_str_of(url), "http") &&
                    strchr(url, '@') == NULL && n + 2 < PAGE_BYTES;
    while (is_shown && n > 0 && url[n - 1] == '/') {
        n--;
    }
    (void)snprintf(out, PAGE_BYTES, "%.*s/", is_shown ? (int)n : 0, url);
    return is_shown;
}

/* `run` is encoded. */
static void open_run(tinkc_service *service, const char *page, const char *run,
                     bool needs_login)
{
    static const char *const keys[] = {"code"};
    char code[1][TEXT_BYTES] = {""}, url[URL_BYTES];
    if (needs_login) {
        ask(code, keys, 1, service, "POST", CONSOLE "code");
    }
    if (needs_login && !is_code(code[0])) {
        cmd_print(stderr, "Warning: the console was not opened: the server gave no code "
                          "to log in with\n");
        return;
    }
    int n =
        snprintf(url, sizeof(url), "%s#%s%s%s/runs/%s", page, needs_login ? "login=" : "",
                 code[0], needs_login ? "&to=" : "", run);
    if (n > 0 && (size_t)n < sizeof(url)) {
        cmd_open(url);
    }
}

static void show(const cmd_args *args, tinkc_service *service, const char *page,
                 const char *run)
{
    static const char *const keys[] = {"login", "runs"};
    char session[2][TEXT_BYTES] = {"", ""};
    bool opens = cmd_has(args, "open");
    if (page[0] != '\0') {
        ask(session, keys, 2, service, "GET", CONSOLE "session");
    }
    if (session[0][0] == '\0' || strcmp(session[1], "recorded") != 0) {
        if (opens) {
            cmd_print(stderr, "Warning: this server %s\n",
                      session[0][0] != '\0' ? "records no runs"
                                            : "has no console to open");
        }
        return;
    }
    bool needs_login = strcmp(session[0], "none") != 0;
    cmd_print(stderr, "Console: %s#/runs/%s%s\n", page, run,
              needs_login && !opens ? " (--open logs in)" : "");
    if (opens) {
        open_run(service, page, run, needs_login);
    }
}

void cmd_page_show(const cmd_args *args, tinkc_service *service, const char *run)
{
    char page[PAGE_BYTES] = "";
    tk_buf encoded;
    tk_buf_init(&encoded, URL_BYTES);
    if (run == NULL || !page_of(page)) {
        page[0] = '\0';
    } else {
        cmd_page_encode(&encoded, run);
    }
    const char *text = tk_buf_cstr(&encoded);
    show(args, service, text != NULL ? page : "", text != NULL ? text : "");
    tk_buf_dispose(&encoded);
}
