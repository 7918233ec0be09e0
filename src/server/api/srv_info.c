/* The counters are read from their owners, each under its own lock. */
#include "server/api/srv_info.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tinkc/version.h>

#include "base/file.h"
#include "base/mem.h"
#include "console/con_page.h"
#include "httpd/hd_http.h"
#include "httpd/hd_reply.h"
#include "server/run/srv_catalog.h"
#include "server/run/srv_engine.h"
#include "server/run/srv_state.h"

hd_verdict srv_info_root(hd_request *request)
{
    if (con_page_is_wanted(request)) {
        return con_page_index(request);
    }
    return hd_reply_fixed(request, 200, HD_TYPE_JSON,
                          TK_STR("{\"name\":\"tinkc\",\"version\":\"" TINKC_VERSION
                                 "\",\"api\":\"/api/v1\"}"));
}

/* ---- metrics ---- */

typedef struct metric {
    const char *name;
    const char *type; /* counter, gauge */
    const char *help;
    uint64_t value;
} metric;

static void put_memory(tk_buf *out, const hd_budget *memory)
{
    tk_buf_puts(out,
                "# HELP tinkc_memory_bytes Memory that is counted, by what uses it.\n"
                "# TYPE tinkc_memory_bytes gauge\n");
    for (unsigned i = 0; i < memory->n_parts; i++) {
        tk_buf_printf(out, "tinkc_memory_bytes{part=\"%s\"} %zu\n",
                      hd_budget_part_name(memory, i),
                      atomic_load(&memory->parts[i].used));
    }
}

static void put_answers(tk_buf *out, const hd_http_stats *http)
{
    tk_buf_printf(out, "# HELP tinkc_answers_total Answers, by class of their status.\n"
                       "# TYPE tinkc_answers_total counter\n");
    for (size_t i = 2; i < HD_HTTP_CLASSES; i++) {
        tk_buf_printf(out, "tinkc_answers_total{class=\"%zuxx\"} %zu\n", i,
                      http->answers[i]);
    }
}

static void put(tk_buf *out, const metric *m)
{
    tk_buf_printf(out, "# HELP tinkc_%s %s\n# TYPE tinkc_%s %s\ntinkc_%s %llu\n", m->name,
                  m->help, m->name, m->type, m->name, (unsigned long long)m->value);
}

hd_verdict srv_info_metrics(hd_request *request)
{
    if (request->is_inline) {
        return hd_request_hop(request); /* takes the lock, writes many lines */
    }
    srv *server = request->app;
    srv_engine_stats engine;
    hd_http_stats http;
    srv_engine_get_stats(server->engine, &engine);
    hd_http_get_stats(server->http, &http);
    tk_mutex_lock(&server->lock);
    size_t sessions = server->sessions.count;
    size_t models = server->models.count;
    size_t samplers = server->samplers.count;
    size_t futures = server->futures.by_id.count;
    size_t parked = server->futures.n_waiting;
    tk_mutex_unlock(&server->lock);
    const metric metrics[] = {
        {"requests_total", "counter", "HTTP requests.", http.total},
        {"requests_active", "gauge", "Requests without a complete answer.", http.active},
        {"connections", "gauge", "Open connections.", http.conns.open},
        {"connections_dropped_total", "counter",
         "Connections closed because they were too slow or too many.",
         http.conns.dropped},
        {"polls_parked", "gauge", "Polls that wait for a result.", parked},
        {"memory_limit_bytes", "gauge", "Memory that the server may use.",
         server->memory.max},
        {"memory_used_bytes", "gauge", "Memory that is counted, of all parts.",
         atomic_load(&server->memory.used)},
        {"memory_peak_bytes", "gauge", "The most that was counted since the start.",
         atomic_load(&server->memory.peak)},
        {"memory_refused_total", "counter", "Times that there was no memory to give.",
         atomic_load(&server->memory.refused)},
        {"sessions", "gauge", "Sessions that are alive.", sessions},
        {"models", "gauge", "Models loaded for training.", models},
        {"samplers", "gauge", "Sampling sessions.", samplers},
        {"futures", "gauge", "Results promised or kept.", futures},
        {"jobs_total", "counter", "Training requests that ran.", engine.jobs},
        {"samples_total", "counter", "Sample requests that ended.", engine.samples},
        {"samples_cancelled_total", "counter",
         "Sample requests that their client cancelled, of those.", engine.cancelled},
        {"samples_waiting", "gauge", "Samples that wait or run.", engine.samples_waiting},
        {"trained_tokens_total", "counter", "Tokens of forward and forward_backward.",
         engine.tokens_trained},
        {"prompt_tokens_total", "counter", "Tokens of prompts.", engine.tokens_prompt},
        {"prompt_tokens_cached_total", "counter",
         "Tokens of prompts that were not computed, of those.", engine.tokens_cached},
        {"sampled_tokens_total", "counter", "Tokens drawn.", engine.tokens_sampled},
    };
    tk_buf buf;
    tk_buf_init(&buf, 64 * TK_KIB);
    for (size_t i = 0; i < TK_ARRAY_LEN(metrics); i++) {
        put(&buf, &metrics[i]);
    }
    put_answers(&buf, &http);
    put_memory(&buf, &server->memory);
    return hd_reply_buf(request, 200, "text/plain; version=0.0.4; charset=utf-8", &buf);
}

/* ---- tokenizer files ---- */

typedef struct served {
    const char *name, *type;
} served;

/* The file is the body: it is read while it is sent, however many ask for it. */
static hd_verdict reply_file(hd_request *request, const srv_base *base,
                             const served *file)
{
    struct stat info;
    if (!hd_reply_hold_file(request)) {
        return HD_ANSWERED;
    }
    char *path = tk_file_join(base->tokenizer_dir, file->name);
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool missing = path != NULL && fd < 0 && errno == ENOENT;
    tk_free(path);
    if (fd < 0 || fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return hd_reply_fail(request, missing ? 404 : 500, "%s cannot be read",
                             file->name);
    }
    request->file = (hd_file){fd, 0, info.st_size};
    return hd_reply_fixed(request, 200, file->type, TK_STR(""));
}

hd_verdict srv_info_tokenizer(hd_request *request)
{
    srv *server = request->app;
    static const served files[] = {
        {"tokenizer.json", HD_TYPE_JSON},
        {"tokenizer_config.json", HD_TYPE_JSON},
        {"chat_template.jinja", "text/plain; charset=utf-8"},
    };
    tk_str name = request->params[0];
    tk_str file = request->params[1];
    if (request->params[2].n > 0) { /* "org/model": one piece of memory with its slash */
        name.n += 1 + request->params[1].n;
        file = request->params[2];
    }
    const srv_base *base = srv_catalog_find(server->catalog, name);
    for (size_t i = 0; base != NULL && i < TK_ARRAY_LEN(files); i++) {
        if (tk_str_is(file, files[i].name)) {
            return reply_file(request, base, &files[i]);
        }
    }
    return hd_reply_fail(request, 404, "no such model or file");
}
