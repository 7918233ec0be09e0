/* `tinkc gateway`: OpenAI's and Anthropic's APIs in front of a Tinker server.
 * Needs: text server */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_key.h"
#include "cli/frame/cmd_local.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_resolve.h"
#include "cli/frame/cmd_service.h"
#include "cli/gateway/gate.h"
#include "gateway/gw.h"
#include "httpd/hd_http.h"
#include "httpd/hd_listen.h"
#include "httpd/hd_reply.h"

#define DEFAULT_PORT 8001

typedef struct program {
    const cmd_args *args;
    const char *host;
    unsigned port;
    char *key;  /* of the clients, or NULL */
    char *data; /* directory of the episodes */
    char *model;
    tinkc_service *service;
    hd_budget memory;
    gate *gate;
    gw *gateway;
    hd_work *work;
    hd_http *http;
} program;

/* ---- HTTP ---- */

static hd_verdict handle(hd_request *request)
{
    const program *p = request->app;
    return gw_handle(p->gateway, request);
}

static hd_verdict health(hd_request *request)
{
    return hd_reply_fixed(request, 200, HD_TYPE_JSON, TK_STR("{\"status\":\"ok\"}"));
}

static void refuse(hd_request *request, int status, const tk_err *err)
{
    tk_buf body;
    if (gw_refuse(request, status, err)) {
        return;
    }
    tk_buf_init(&body, TK_KIB);
    tk_buf_printf(&body, "%s\n", err->message);
    (void)hd_reply_buf(request, status, HD_TYPE_TEXT, &body);
}

static const hd_route rows[] = {
    GW_ROUTES(handle),
    {"GET", "/health", health, HD_ROUTE_OPEN | HD_ROUTE_PROMPT, 0, HD_ROUTE_ANY},
};
static const hd_routes routes = {rows, TK_ARRAY_LEN(rows)};

static tinkc_code start(program *p, tk_err *err)
{
    const gw_config gateway = {
        .backend = gate_backend(p->gate),
        .budget = &p->memory,
        .episodes = p->data,
    };
    hd_http_config http = {
        .host = p->host,
        .port = p->port,
        .api_key = p->key,
        .routes = &routes,
        .budget = &p->memory,
        .app = p,
        .refuse = refuse,
    };
    hd_budget_init(&p->memory, 0, NULL);
    p->memory.max_files = hd_listen_max_files();
    tinkc_code code = gw_new(&p->gateway, &gateway, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = hd_work_new(&p->work, &hd_route_dispatch, err);
    if (code != TINKC_OK) {
        return code;
    }
    http.work = p->work;
    code = hd_http_new(&p->http, &http, err);
    return code == TINKC_OK ? hd_http_start(p->http, err) : code;
}

static void stop(program *p)
{
    if (p->http != NULL) {
        hd_http_quiesce(p->http);
    }
    if (p->gate != NULL) {
        gate_stop(p->gate);
    }
    hd_http_stop(p->http);
    hd_work_free(p->work);
    gw_free(p->gateway);
    hd_http_free(p->http);
    gate_free(p->gate);
}

/* ---- options ---- */

static int read_data(program *p)
{
    const char *given = cmd_text(p->args, "data", NULL);
    char *local = given == NULL ? cmd_local_data() : NULL;
    if (given == NULL && local == NULL) {
        return cmd_fail("HOME is not set: use --data DIR");
    }
    size_t n = local != NULL ? strlen(local) + sizeof("-gateway") : 0;
    p->data = local != NULL ? tk_malloc(n) : tk_strdup(given);
    if (p->data != NULL && local != NULL) {
        (void)snprintf(p->data, n, "%s-gateway", local);
    }
    tk_free(local);
    return p->data != NULL ? CMD_OK : cmd_fail("out of memory");
}

static int read_options(program *p)
{
    const char *file = cmd_text(p->args, "api-key-file", NULL);
    p->host = cmd_text(p->args, "host", "127.0.0.1");
    p->port = (unsigned)cmd_int(p->args, "port", DEFAULT_PORT);
    int result = file != NULL ? cmd_key_read(&p->key, file) : CMD_OK;
    if (result == CMD_OK && p->key == NULL && !hd_listen_is_loopback(p->host)) {
        result = cmd_fail("listening on %s, which others can reach, needs a key: use "
                          "--api-key-file FILE",
                          p->host);
    }
    return result == CMD_OK ? read_data(p) : result;
}

static int check(const cmd_args *args)
{
    ca_format ignored = {.tools = CA_TOOLS_NONE};
    int64_t port = cmd_int(args, "port", DEFAULT_PORT);
    const char *format = cmd_text(args, "tool-format", NULL);
    if (port < 0 || port > UINT16_MAX) {
        return cmd_bad_usage(args, "--port must be 0 to 65535.");
    }
    if (format != NULL && !ca_format_named(&ignored, tk_str_of(format))) {
        return cmd_bad_usage(args, "--tool-format must be one of %s.", ca_format_names());
    }
    return CMD_OK;
}

/* ---- the run ---- */

static int open_gate(program *p)
{
    ca_fault fault = {.err = TK_ERR_INIT};
    int result = cmd_service_open(&p->service, p->args, CMD_PATIENT);
    if (result == CMD_OK) {
        result = cmd_resolve(&p->model, p->service, p->args,
                             cmd_text(p->args, "model", NULL), CMD_MODEL);
    }
    if (result != CMD_OK) {
        return result;
    }
    const gate_config config = {
        .service = p->service,
        .model = p->model,
        .template_file = cmd_text(p->args, "template", NULL),
        .tool_format = cmd_text(p->args, "tool-format", NULL),
    };
    return gate_new(&p->gate, &config, &fault) ? CMD_OK
                                               : cmd_fail("%s", fault.err.message);
}

static int serve(program *p)
{
    sigset_t set;
    tk_err err = TK_ERR_INIT;
    int number = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL); /* before any thread starts */
    int result = open_gate(p);
    if (result == CMD_OK && start(p, &err) != TINKC_OK) {
        result = cmd_fail("%s", err.message);
    }
    if (result == CMD_OK) {
        bool v6 = strchr(p->host, ':') != NULL;
        cmd_print(stdout, "listening on http://%s%s%s:%u\n", v6 ? "[" : "", p->host,
                  v6 ? "]" : "", hd_http_port(p->http));
        result = fflush(stdout) == 0 ? CMD_OK : CMD_FAILED;
    }
    while (result == CMD_OK && sigwait(&set, &number) != 0) {
    }
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    stop(p);
    return result;
}

static int run(const cmd_args *args)
{
    program p = {.args = args};
    int result = read_options(&p);
    if (result == CMD_OK) {
        result = serve(&p);
        cmd_service_end(&p.service, result);
    }
    cmd_key_free(p.key);
    tk_free(p.data);
    tk_free(p.model);
    return result;
}

static const cmd_option options[] = {
    {"model", 'm', CMD_TEXT, "NAME",
     "Model, checkpoint (NAME, NAME@STEP, tinker://...), or DIR with --local.", false},
    {"host", 0, CMD_TEXT, "ADDRESS",
     "Address to listen on (127.0.0.1); others need a key.", false},
    {"port", 0, CMD_INT, "PORT", "Port to listen on (8001; 0: a free one).", false},
    {"data", 0, CMD_TEXT, "DIR",
     "Directory of the episodes (~/.local/share/tinkc-gateway).", false},
    {"api-key-file", 0, CMD_TEXT, "FILE",
     "Read the key that clients must send from FILE.", false},
    {"template", 0, CMD_TEXT, "FILE", "Chat template instead of the model's.", false},
    {"tool-format", 0, CMD_TEXT, "NAME",
     "How the model writes tool calls (default: by its template).", false},
    {0},
};

const cmd_spec cmd_gateway = {
    .name = "gateway",
    .operands = "",
    .help = "Let OpenAI and Anthropic clients use a Tinker server.",
    .more =
        "Prints \"listening on URL\" when it is ready and runs until SIGTERM or Ctrl-C.\n"
        "Clients use URL/v1 (OpenAI) or URL (Anthropic), with an episode of their own\n"
        "URL/e/NAME/v1 and URL/e/NAME. What was sampled is kept, token for token:\n"
        "GET URL/tinkc/v1/episodes/NAME. 'tinkc serve' has the same by itself.",
    .examples = "tinkc gateway -m Qwen/Qwen3-8B\n"
                "tinkc gateway --local -m tinkc/pebble-llama-2m --port 0",
    .options = options,
    .check = check,
    .run = run,
};
