/* `tinkc serve`: runs the server of server/srv.h until a signal stops it. The only
 * command that uses more than the public headers and base/.
 * Needs: server */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <tinkc/pull.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/mem.h"
#include "base/str.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_key.h"
#include "cli/frame/cmd_local.h"
#include "cli/frame/cmd_open.h"
#include "cli/frame/cmd_print.h"
#include "server/srv.h"

#define PAIRS_MAX 64 /* also the most operands */

typedef struct serve {
    srv_options options;
    srv_pair models[PAIRS_MAX];
    srv_pair aliases[PAIRS_MAX];
    char *found[PAIRS_MAX]; /* owned: directories of models in the cache of the hub */
    size_t n_found;
    char *data; /* owned */
    char *key;  /* owned */
    bool is_private, opens;
} serve;

/* Reads the values NAME=VALUE of an option; false when one has another form. */
static bool read_pairs(const cmd_args *args, const char *option, srv_pair *out, size_t *n)
{
    *n = cmd_count(args, option);
    if (*n > PAIRS_MAX) {
        return false;
    }
    for (size_t i = 0; i < *n; i++) {
        const char *text = cmd_at(args, option, i);
        const char *equals = strchr(text, '=');
        if (equals == NULL || equals == text || equals[1] == '\0') {
            return false;
        }
        out[i].name = tk_strndup(text, (size_t)(equals - text));
        out[i].value = equals + 1;
        if (out[i].name == NULL) {
            return false;
        }
    }
    return true;
}

/* Finds a model in the cache of Hugging Face's programs; its name is that at the hub. */
static int read_cached(serve *s, srv_pair *pair, const char *name)
{
    char **dir = &s->found[s->n_found];
    if (tinkc_pull_find(dir, name, NULL, NULL) != TINKC_OK) {
        return cmd_fail_hint("Give a directory, or fetch a model with 'tinkc pull'.",
                             "there is no directory %s, and no model of that name in the "
                             "cache of the hub",
                             name);
    }
    s->n_found++;
    pair->name = tk_strdup(name);
    pair->value = *dir;
    return pair->name != NULL ? CMD_OK : cmd_fail("out of memory");
}

/* Reads an operand: a directory, whose last part is the name, also of "." and of a link; or
 * the name of a model at the hub. */
static int read_model(serve *s, srv_pair *pair, const char *text)
{
    char full[PATH_MAX];
    struct stat st;
    if (realpath(text, full) == NULL || stat(full, &st) != 0) {
        return read_cached(s, pair, text);
    }
    if (!S_ISDIR(st.st_mode)) {
        return cmd_fail_hint("Give the directory that holds config.json.",
                             "%s is not a directory", text);
    }
    pair->name = tk_strdup(strrchr(full, '/') + 1);
    pair->value = text;
    return pair->name != NULL ? CMD_OK : cmd_fail("out of memory");
}

/* Adds the models that are operands, after those of --model. */
static int read_models(serve *s, const cmd_args *args)
{
    srv_options *o = &s->options;
    int result = CMD_OK;
    for (size_t i = 0; result == CMD_OK && i < cmd_operands(args); i++) {
        if (o->n_models == PAIRS_MAX) {
            return cmd_bad_usage(args, "At most %d models.", PAIRS_MAX);
        }
        result = read_model(s, &s->models[o->n_models], cmd_operand(args, i));
        o->n_models += result == CMD_OK;
    }
    return result;
}

/* Reads "512M": a number of bytes, with K, M or G for 1024, 1024^2 or 1024^3 of them. */
static bool read_size(const char *text, size_t *out)
{
    static const char units[] = "KMG";
    tk_str number = tk_str_of(text);
    uint64_t value = 0;
    size_t unit = 1;
    const char *at = number.n > 0 ? strchr(units, number.p[number.n - 1]) : NULL;
    if (at != NULL) {
        unit = (size_t)1 << (10 * (at - units + 1));
        number.n--;
    }
    return tk_str_to_u64(number, &value) && value > 0 && value <= SIZE_MAX &&
           tk_size_mul(out, (size_t)value, unit);
}

static int read_options(serve *s, const cmd_args *args)
{
    srv_options *o = &s->options;
    int64_t port = cmd_int(args, "port", 8000);
    int64_t threads = cmd_int(args, "threads", 0);
    if (port < 0 || port > UINT16_MAX || threads < 0 || threads > 1024) {
        return cmd_bad_usage(args, "--port must be 0 to 65535, --threads 0 to 1024.");
    }
    if (cmd_has(args, "api-key") && cmd_has(args, "api-key-file")) {
        return cmd_bad_usage(args, "Give --api-key or --api-key-file, not both.");
    }
    if (!read_pairs(args, "model", s->models, &o->n_models) ||
        !read_pairs(args, "alias", s->aliases, &o->n_aliases)) {
        return cmd_bad_usage(args, "--model must be NAME=DIR, --alias NAME=NAME.");
    }
    const char *memory = cmd_text(args, "memory", NULL);
    if (memory != NULL && !read_size(memory, &o->memory_bytes)) {
        return cmd_bad_usage(args, "--memory must be a size such as 512M or 8G.");
    }
    const char *recording = cmd_text(args, "recording-limit", NULL);
    size_t recording_bytes = 0;
    o->recording_days = cmd_int(args, "recording-days", 0);
    if ((recording != NULL && !read_size(recording, &recording_bytes)) ||
        o->recording_days < 0 || o->recording_days > 36500) {
        return cmd_bad_usage(args, "--recording-limit must be a size such as 64M, "
                                   "--recording-days a number of days.");
    }
    o->recording_bytes = recording_bytes;
    o->host = cmd_text(args, "host", "127.0.0.1");
    o->port = (unsigned)port;
    o->models = s->models;
    o->aliases = s->aliases;
    o->threads = (unsigned)threads;
    o->kernel = cmd_text(args, "kernel", NULL);
    o->weights = cmd_text(args, "weights", NULL);
    o->api_key = cmd_text(args, "api-key", NULL);
    o->faults = cmd_text(args, "faults", NULL);
    o->no_recording = cmd_has(args, "no-recording");
    o->no_samples = cmd_has(args, "no-samples");
    o->strict = cmd_has(args, "strict");
    o->log_level = cmd_has(args, "verbose") ? TINKC_LOG_DEBUG : TINKC_LOG_INFO;
    s->is_private = cmd_has(args, "private");
    s->opens = cmd_has(args, "open");
    o->own_key =
        s->is_private && !cmd_has(args, "api-key") && !cmd_has(args, "api-key-file");
    o->data = cmd_text(args, "data", NULL);
    if (o->data == NULL) {
        s->data = cmd_local_data();
        o->data = s->data;
    }
    if (o->data == NULL) {
        return cmd_fail("HOME is not set: use --data DIR");
    }
    const char *file = cmd_text(args, "api-key-file", NULL);
    int result = file != NULL ? cmd_key_read(&s->key, file) : CMD_OK;
    o->api_key = s->key != NULL ? s->key : o->api_key;
    return result == CMD_OK ? read_models(s, args) : result;
}

static void log_line(tinkc_log_level level, const char *component, const char *line,
                     void *user)
{
    (void)user;
    cmd_print(stderr, "%s %s: %s\n", tinkc_log_level_name(level), component, line);
}

/* Blocks the signals before any thread starts, so that only sigwait takes them. A second
 * signal while the server stops ends the program at once. */
static void block_signals(sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, set, NULL);
}

/* Makes what the server frees leave the process: blocks of a megabyte are mapped alone,
 * and two heaps serve all threads. Otherwise malloc would keep, in the heap of each
 * thread, most of what a flood of requests has needed. */
static void return_memory(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 20);
    (void)mallopt(M_ARENA_MAX, 2);
#endif
}

/* Opens the console; with a key by a code that logs in once. */
static void open_page(srv *server)
{
    char fragment[SRV_FRAGMENT_BYTES], url[256 + SRV_FRAGMENT_BYTES];
    tk_err err = TK_ERR_INIT;
    if (srv_console_fragment(server, fragment, &err) == TINKC_OK) {
        (void)snprintf(url, sizeof(url), "%s/%s", srv_url(server), fragment);
        cmd_open(url);
    } else {
        cmd_print(stderr, "Warning: the console was not opened: %s\n", err.message);
    }
}

static int serve_until_signal(const serve *s)
{
    sigset_t set;
    srv *server = NULL;
    tk_err err = TK_ERR_INIT;
    int signal_number = 0;
    block_signals(&set);
    return_memory();
    if (srv_start(&server, &s->options, &err) != TINKC_OK) {
        bool is_taken = err.code == TINKC_E_STATE && !s->is_private;
        return is_taken ? cmd_fail_hint("Use that one, or give this one a directory of "
                                        "its own with --data DIR.",
                                        "%s", err.message)
                        : cmd_fail("%s", err.message);
    }
    int result = CMD_OK;
    if (s->is_private && !cmd_local_watch(s->options.data)) {
        result = cmd_fail("cannot watch the users of %s", s->options.data);
    } else {
        cmd_print(stdout, "listening on %s\n", srv_url(server));
        result = fflush(stdout) == 0 ? CMD_OK : CMD_FAILED;
        if (result == CMD_OK && s->opens) {
            open_page(server);
        }
    }
    while (result == CMD_OK && sigwait(&set, &signal_number) != 0) {
    }
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    srv_stop(&server);
    return result;
}

static void free_pairs(const srv_pair *pairs, size_t n)
{
    for (size_t i = 0; i < n && i < PAIRS_MAX; i++) {
        char *name = NULL;
        memcpy(&name, &pairs[i].name,
               sizeof(name)); /* allocated here, though srv_pair says const */
        tk_free(name);
    }
}

static int run(const cmd_args *args)
{
    serve s = {.options = {.log = log_line}};
    int result = read_options(&s, args);
    if (result == CMD_OK) {
        result = serve_until_signal(&s);
    }
    free_pairs(s.models, s.options.n_models);
    free_pairs(s.aliases, s.options.n_aliases);
    for (size_t i = 0; i < s.n_found; i++) {
        tinkc_text_free(&s.found[i]);
    }
    tk_free(s.data);
    cmd_key_free(s.key);
    return result;
}

static const cmd_option options[] = {
    {"host", 0, CMD_TEXT, "ADDRESS",
     "Address to listen on (127.0.0.1); others need a key.", false},
    {"port", 0, CMD_INT, "PORT", "Port to listen on (8000; 0: a free one).", false},
    {"data", 0, CMD_TEXT, "DIR", "Data directory (~/.local/share/tinkc).", false},
    {"model", 0, CMD_TEXT, "NAME=DIR", "Serve the model in DIR under another name.",
     true},
    {"alias", 0, CMD_TEXT, "NAME=NAME", "Serve a model under a second name.", true},
    {"threads", 0, CMD_INT, "N", "Compute threads (0: one per CPU).", false},
    {"kernel", 0, CMD_TEXT, "NAME",
     "Instructions to compute with: auto, avx512, avx2, neon, fma or generic (auto).",
     false},
    {"weights", 0, CMD_TEXT, "NAME",
     "How models are held: file, or int8 for half of bf16's memory (file).", false},
    {"memory", 0, CMD_TEXT, "SIZE",
     "Memory for models and requests, as 512M or 8G (3/4 of the machine's).", false},
    {"api-key", 0, CMD_SECRET, "KEY", "Key that clients must send (tml-...).", false},
    {"api-key-file", 0, CMD_TEXT, "FILE", "Read the key from FILE.", false},
    {"open", 0, CMD_FLAG, NULL, "Open the console in a browser.", false},
    {"no-recording", 0, CMD_FLAG, NULL, "Record nothing for the console.", false},
    {"no-samples", 0, CMD_FLAG, NULL, "Record no samples.", false},
    {"recording-limit", 0, CMD_TEXT, "SIZE", "Size of the recordings, as 64M (256M).",
     false},
    {"recording-days", 0, CMD_INT, "N", "Days that recordings are kept (30).", false},
    {"faults", 0, CMD_TEXT, "FILE", "Inject faults, for tests (docs/faults.md).", false},
    {"strict", 0, CMD_FLAG, NULL, "Refuse what the hosted service refuses.", false},
    {"private", 0, CMD_FLAG, NULL, "Stop after the last --local command.", false},
    {0},
};

const cmd_spec cmd_serve = {
    .name = "serve",
    .operands = "[DIR|NAME...]",
    .max_operands = PAIRS_MAX,
    .help = "Run a local server with the Tinker API.",
    .more =
        "Prints \"listening on URL\" when it is ready and runs until SIGTERM or Ctrl-C.\n"
        "It serves the small model that is part of this program, tinkc/pebble-llama-2m,\n"
        "the model in each DIR (Hugging Face layout) under the name of the directory, and\n"
        "each model NAME that 'tinkc pull' or Hugging Face's programs have fetched.\n"
        "-v logs every request: method, path, status, milliseconds, sizes.",
    .examples = "tinkc serve models/Qwen3-0.6B\n"
                "tinkc serve Qwen/Qwen3-0.6B",
    .options = options,
    .run = run,
};
