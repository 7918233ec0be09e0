/* `tinkc console`: the page of the console for runs that train elsewhere, from the files
 * that `tinkc train` and `tinkc rl` write and from the lists of the service, when one is
 * configured. It listens on the loopback only, and changes nothing.
 * Needs: server */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <tinkc/config.h>

#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/console/shown.h"
#include "cli/frame/cmd_key.h"
#include "cli/frame/cmd_open.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_service.h"
#include "console/con_page.h"
#include "httpd/hd_http.h"
#include "httpd/hd_listen.h"
#include "httpd/hd_reply.h"

#define DEFAULT_PORT  8002
#define ASK_S         20 /* for a request to the service, without --timeout */
#define PATHS_MAX     1000
#define EPISODE_BYTES (64 * TK_MIB)
#define COOKIE_MARK   "X-Tinkc-Console"
#define URL_BYTES     512
#define WHY_BYTES     512

typedef struct program {
    const cmd_args *args;
    const char *paths[PATHS_MAX];
    size_t n_paths;
    char *key; /* or NULL */
    hd_budget memory;
    tinkc_service *service; /* NULL: none is asked, and `why` says why not */
    char url[URL_BYTES], why[WHY_BYTES];
    board *board;
    remote *remote;
    shown shown;
    con *console;
    hd_work *work;
    hd_http *http;
} program;

/* ---- HTTP ---- */

static hd_verdict handle(hd_request *request)
{
    const program *p = request->app;
    return con_handle(p->console, request);
}

static hd_verdict index_page(hd_request *request)
{
    return con_page_is_wanted(request)
               ? con_page_index(request)
               : hd_reply_fixed(request, 200, HD_TYPE_JSON,
                                TK_STR("{\"name\":\"tinkc\",\"kind\":\"console\"}"));
}

static hd_verdict episode(hd_request *request)
{
    const program *p = request->app;
    tk_err err = TK_ERR_INIT;
    tk_buf out;
    tk_buf_init(&out, EPISODE_BYTES);
    if (board_episode_json(p->board, &out, request->params[0], &err) != TINKC_OK) {
        tk_buf_dispose(&out);
        return hd_reply_error(request, &err);
    }
    return hd_reply_buf(request, 200, HD_TYPE_JSON, &out);
}

static bool knows_cookie(void *app, tk_str cookies)
{
    const program *p = app;
    return con_knows_cookie(p->console, cookies);
}

static const hd_route rows[] = {
    CON_ROUTES(handle),
    {"GET", "/", index_page, HD_ROUTE_OPEN | HD_ROUTE_PROMPT, 0, HD_ROUTE_ANY},
    {"GET", "/tinkc/v1/episodes/*", episode, 0, 0, NULL},
};
static const hd_routes routes = {rows, TK_ARRAY_LEN(rows)};

static tinkc_code make_console(program *p, tk_err *err)
{
    tinkc_code code = board_new(&p->board, p->paths, p->n_paths, err);
    if (code == TINKC_OK) {
        /* its range was checked with the configuration */
        double seconds =
            p->service != NULL ? cmd_number(p->args, "timeout", ASK_S) : ASK_S;
        const remote_config config = {.service = p->service,
                                      .url = p->url,
                                      .why = p->why,
                                      .ask_ms = (int64_t)(seconds * 1000)};
        code = remote_new(&p->remote, &config, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    p->shown = (shown){p->board, p->remote};
    const con_config config = {
        .data = shown_data(&p->shown), .budget = &p->memory, .api_key = p->key};
    return con_new(&p->console, &config, err);
}

static tinkc_code start(program *p, tk_err *err)
{
    hd_http_config http = {.host = "127.0.0.1",
                           .port = (unsigned)cmd_int(p->args, "port", DEFAULT_PORT),
                           .api_key = p->key,
                           .routes = &routes,
                           .budget = &p->memory,
                           .app = p,
                           .refuse = con_refuse,
                           .knows_cookie = knows_cookie,
                           .cookie_mark = COOKIE_MARK};
    hd_budget_init(&p->memory, 0, NULL);
    p->memory.max_files = hd_listen_max_files();
    tinkc_code code = make_console(p, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = hd_work_new(&p->work, &hd_route_dispatch, err);
    if (code != TINKC_OK) {
        return code;
    }
    http.work = p->work;
    code = hd_http_new(&p->http, &http, err);
    if (code != TINKC_OK) {
        return code;
    }
    con_set_port(p->console, hd_http_port(p->http));
    code = board_start(p->board, p->console, err);
    if (code == TINKC_OK) {
        code = remote_start(p->remote, p->console, err);
    }
    return code == TINKC_OK ? hd_http_start(p->http, err) : code;
}

static void stop(program *p)
{
    if (p->http != NULL) {
        hd_http_quiesce(p->http);
    }
    con_quiesce(p->console);
    hd_http_stop(p->http);
    hd_work_free(p->work);
    hd_http_free(p->http);
    board_stop(p->board);
    remote_stop(p->remote);
    con_free(p->console);
    board_free(p->board);
    remote_free(p->remote);
}

/* ---- the service ---- */

/* The address as it is shown, without what may be a password. */
static void keep_url(program *p, const tinkc_config *config)
{
    if (tinkc_config_get(p->url, sizeof(p->url), config, "base_url") >= sizeof(p->url) ||
        strchr(p->url, '@') != NULL) {
        (void)snprintf(p->url, sizeof(p->url), "the service");
    }
}

/* What the command line names must be right. Anything else that is wrong with the service is
 * shown on the page, as the reason why there are only files. */
static bool is_named(const cmd_args *args)
{
    return cmd_has(args, "base-url") || cmd_has(args, "api-key") ||
           cmd_has(args, "profile") || cmd_has(args, "local");
}

/* Makes the configuration; *out stays NULL when there is none, and p->why says why. */
static int configure(program *p, tinkc_config **out)
{
    if (cmd_has(p->args, "no-service")) {
        (void)snprintf(p->why, sizeof(p->why),
                       "tinkc console was started with "
                       "--no-service");
        return CMD_OK;
    }
    bool is_needed = is_named(p->args) || cmd_has(p->args, "set");
    if (!is_needed) {
        cmd_fail_keep(p->why, sizeof(p->why));
    }
    int result = cmd_service_config(out, p->args, CMD_BRIEF);
    cmd_fail_keep(NULL, 0);
    if (result == CMD_FAILED && !is_needed) {
        cmd_print(stderr, "Warning: no service is asked: %s\n", p->why);
        return CMD_OK;
    }
    return result;
}

/* Opens the service; sends nothing. Without a key that it needs the page shows files only. */
static int open_service(program *p, const tinkc_config *config)
{
    tinkc_error *error = NULL;
    if (config == NULL) {
        return CMD_OK;
    }
    keep_url(p, config);
    tinkc_code code = tinkc_service_open(&p->service, config, &error);
    if (code == TINKC_OK) {
        cmd_service_begin(p->service, p->args);
        return CMD_OK;
    }
    if (code != TINKC_E_CONFIG || is_named(p->args)) {
        return cmd_fail_error(&error, NULL);
    }
    (void)snprintf(p->why, sizeof(p->why), "%s", tinkc_error_message(error));
    tinkc_error_free(&error);
    return CMD_OK;
}

/* ---- the run ---- */

static int announce(const program *p)
{
    char fragment[CON_FRAGMENT_BYTES], url[64 + CON_FRAGMENT_BYTES];
    tk_err err = TK_ERR_INIT;
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%u", hd_http_port(p->http));
    cmd_print(stdout, "listening on %s\n", url);
    if (fflush(stdout) != 0) {
        return CMD_FAILED;
    }
    if (cmd_has(p->args, "open")) {
        if (con_fragment(p->console, fragment, &err) != TINKC_OK) {
            return cmd_fail("%s", err.message);
        }
        size_t n = strlen(url);
        (void)snprintf(url + n, sizeof(url) - n, "/%s", fragment);
        cmd_open(url);
    }
    return CMD_OK;
}

static int serve(program *p)
{
    sigset_t set;
    tk_err err = TK_ERR_INIT;
    int number = 0;
    tinkc_config *config = NULL;
    int result = configure(p, &config); /* a private server may take a while */
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* before any thread starts */
    if (result == CMD_OK) {
        result = open_service(p, config);
    }
    tinkc_config_free(&config);
    if (result == CMD_OK) {
        result = start(p, &err) == TINKC_OK ? announce(p) : cmd_fail("%s", err.message);
    }
    while (result == CMD_OK && sigwait(&set, &number) != 0) {
    }
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    stop(p);
    cmd_service_end(p->service != NULL ? &p->service : NULL, result);
    return result;
}

static int run(const cmd_args *args)
{
    program p = {.args = args, .n_paths = cmd_operands(args)};
    const char *file = cmd_text(args, "api-key-file", NULL);
    for (size_t i = 0; i < p.n_paths; i++) {
        p.paths[i] = cmd_operand(args, i);
    }
    if (p.n_paths == 0) {
        p.paths[p.n_paths++] = ".";
    }
    int result = file != NULL ? cmd_key_read(&p.key, file) : CMD_OK;
    if (result == CMD_OK) {
        result = serve(&p);
    }
    cmd_key_free(p.key);
    return result;
}

static int check(const cmd_args *args)
{
    int64_t port = cmd_int(args, "port", DEFAULT_PORT);
    return port >= 0 && port <= UINT16_MAX
               ? CMD_OK
               : cmd_bad_usage(args, "--port must be 0 to 65535.");
}

static const cmd_option options[] = {
    {"port", 0, CMD_INT, "PORT", "Port to listen on (8002; 0: a free one).", false},
    {"open", 0, CMD_FLAG, NULL, "Open the page in a browser.", false},
    {"api-key-file", 0, CMD_TEXT, "FILE",
     "Read the key that the page asks for from FILE.", false},
    {"no-service", 0, CMD_FLAG, NULL, "Show files only; ask no service.", false},
    {0},
};

const cmd_spec cmd_console = {
    .name = "console",
    .operands = "[PATH...]",
    .max_operands = PATHS_MAX,
    .help = "Show runs that train elsewhere in a browser.",
    .more =
        "PATH is a metrics file (tinkc train --metrics), a directory of tinkc rl, or a\n"
        "directory with such in it; without one, the current directory. The page\n"
        "follows the files while they grow. It can be opened on this machine only.\n"
        "When a service is configured (TINKER_API_KEY, --base-url, --profile), its runs,\n"
        "checkpoints and sessions are listed, too; it is asked while somebody looks, every\n"
        "30 seconds at most. Other users of this machine can read these lists: prevent that\n"
        "with --api-key-file or --no-service. 'tinkc serve' shows its own runs at its own\n"
        "address.",
    .examples = "tinkc console --open\n"
                "tinkc console --no-service runs/\n"
                "tinkc console runs/ metrics.jsonl --port 0",
    .options = options,
    .check = check,
    .run = run,
};
