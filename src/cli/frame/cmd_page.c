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

/* Writes a text of the answer to `out`; false when there is none that fits. */
static bool ask(char out[TEXT_BYTES], tinkc_service *service, const char *method,
                const char *path, const char *key)
{
    tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
    tinkc_raw_response *response = NULL;
    const tk_json *root = NULL, *value = NULL;
    tk_arena arena;
    size_t n = 0;
    request.method = method;
    request.path = path;
    request.timeout_ms = ASK_MS;
    request.max_retries = 0;
    if (tinkc_raw_send_wait(&response, service, &request, NULL) != TINKC_OK) {
        return false;
    }
    const char *body = tinkc_raw_response_body(&n, response);
    tk_arena_init(&arena, TK_MIB);
    if (body != NULL && tk_json_parse(&root, &arena, body, n, NULL, NULL) == TINKC_OK) {
        value = tk_json_get(root, key);
    }
    bool found =
        value != NULL && value->type == TK_JSON_STRING && value->as.string.n < TEXT_BYTES;
    if (found) {
        (void)snprintf(out, TEXT_BYTES, TK_STR_FMT, TK_STR_ARG(value->as.string));
    }
    tk_arena_dispose(&arena);
    tinkc_raw_response_free(&response);
    return found;
}

/* The address of the page, up to its fragment. */
static bool page_of(char out[PAGE_BYTES])
{
    const char *url = cmd_service_url();
    size_t n = strlen(url);
    bool is_plain = tk_str_has_prefix(tk_str_of(url), "http") &&
                    strchr(url, '@') == NULL && n + 2 < PAGE_BYTES;
    while (is_plain && n > 0 && url[n - 1] == '/') {
        n--;
    }
    (void)snprintf(out, PAGE_BYTES, "%.*s/", is_plain ? (int)n : 0, url);
    return is_plain;
}

static void open_run(tinkc_service *service, const char *page, const char *run,
                     bool needs_login)
{
    char code[TEXT_BYTES] = "", url[URL_BYTES];
    if (needs_login && !ask(code, service, "POST", CONSOLE "code", "code")) {
        cmd_print(stderr, "Warning: the console was not opened: the server gave no code "
                          "to log in with\n");
        return;
    }
    int n = snprintf(url, sizeof(url), "%s#%s%s%s/runs/%s", page,
                     needs_login ? "login=" : "", code, needs_login ? "&to=" : "", run);
    if (n > 0 && (size_t)n < sizeof(url)) {
        cmd_open(url);
    }
}

void cmd_page_show(const cmd_args *args, tinkc_service *service, const char *run)
{
    char login[TEXT_BYTES], runs[TEXT_BYTES], page[PAGE_BYTES];
    bool opens = cmd_has(args, "open");
    bool has_console = run != NULL && page_of(page) &&
                       ask(login, service, "GET", CONSOLE "session", "login");
    bool has_run = has_console && ask(runs, service, "GET", CONSOLE "session", "runs") &&
                   strcmp(runs, "recorded") == 0;
    if (!has_run) {
        if (opens) {
            cmd_print(stderr, "Warning: this server %s\n",
                      has_console ? "records no runs" : "has no console to open");
        }
        return;
    }
    bool needs_login = strcmp(login, "none") != 0;
    cmd_print(stderr, "Console: %s#/runs/%s%s\n", page, run,
              needs_login && !opens ? " (--open logs in)" : "");
    if (opens) {
        open_run(service, page, run, needs_login);
    }
}
