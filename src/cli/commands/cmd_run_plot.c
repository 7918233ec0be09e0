/* `tinkc run plot`: curves of one or more runs over each other, in the terminal and as SVG.
 * A run is a metrics file of this machine or a run of the server; a service is opened only
 * for the latter. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/cmd_list.h"
#include "cli/commands/cmd_run_series.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_lookup.h"
#include "cli/frame/cmd_picture.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_service.h"

#define RUNS_MAX   16
#define NAME_BYTES 80

typedef struct plotter {
    const cmd_args *args;
    tinkc_service *service; /* NULL: not opened */
    const char *metric;     /* NULL: not chosen yet */
    cmd_series_by by;
    cmd_plot_line lines[2 * RUNS_MAX]; /* owned */
    char names[2 * RUNS_MAX][NAME_BYTES];
    size_t n;
} plotter;

/* ---- names ---- */

static bool ends_with(tk_str text, const char *ending)
{
    size_t n = strlen(ending);
    return text.n >= n && memcmp(text.p + text.n - n, ending, n) == 0;
}

/* Writes how a run is called in the legend: a file's name without ending, or that of its
 * folder when every run's file is called alike. */
static void name_of(char out[NAME_BYTES], const char *typed, bool is_file)
{
    tk_str name = tk_str_of(typed);
    while (is_file && name.n > 1 && name.p[name.n - 1] == '/') {
        name.n--;
    }
    if (is_file && ends_with(name, "/metrics.jsonl")) {
        name.n -= strlen("/metrics.jsonl");
    }
    for (size_t i = name.n; is_file && i > 0; i--) {
        if (name.p[i - 1] == '/') {
            name = (tk_str){name.p + i, name.n - i};
            break;
        }
    }
    if (is_file && ends_with(name, ".jsonl")) {
        name.n -= strlen(".jsonl");
    }
    (void)snprintf(out, NAME_BYTES, TK_STR_FMT, TK_STR_ARG(name));
}

/* ---- reading ---- */

static int open_service(plotter *p)
{
    return p->service != NULL ? CMD_OK
                              : cmd_service_open(&p->service, p->args, CMD_BRIEF);
}

/* Reads one metric of one run into *out. */
static int read_metric(plotter *p, cmd_series *out, const char *typed, const char *path)
{
    char *run = NULL;
    if (path != NULL) {
        return cmd_series_read(out, path);
    }
    int result = open_service(p);
    if (result == CMD_OK) {
        result = cmd_lookup_run(&run, p->service, typed);
    }
    if (result == CMD_OK) {
        result = cmd_series_ask(out, p->service, run);
    }
    tk_free(run);
    return result;
}

/* Adds a line for a metric when the run has it. */
static int add_metric(plotter *p, const char *typed, const char *path, const char *metric,
                      cmd_series *read)
{
    *read = (cmd_series){.metric = metric, .by = p->by};
    int result = read_metric(p, read, typed, path);
    if (result != CMD_OK || read->line.n == 0) {
        cmd_plot_dispose(&read->line);
        return result;
    }
    bool is_eval = strncmp(metric, "eval", 4) == 0;
    char name[NAME_BYTES];
    name_of(name, typed, path != NULL);
    if (cmd_operands(p->args) == 1) {
        (void)snprintf(p->names[p->n], NAME_BYTES, "%s", is_eval ? "held-out" : metric);
    } else if (is_eval) {
        (void)snprintf(p->names[p->n], NAME_BYTES, "%.60s, held-out", name);
    } else {
        (void)snprintf(p->names[p->n], NAME_BYTES, "%s", name);
    }
    p->lines[p->n] = read->line;
    p->lines[p->n].name = p->names[p->n];
    p->lines[p->n].is_dotted = is_eval;
    p->n++;
    return CMD_OK;
}

/* Adds the lines of one run: those of --metric, or the loss and that of held-out data, or the
 * reward. */
static int add_run(plotter *p, const char *typed)
{
    static const char *const usual[] = {"loss", "reward/mean", "reward"};
    const char *asked = cmd_text(p->args, "metric", NULL);
    char *path = NULL;
    cmd_series read = {0};
    if (!cmd_series_file(&path, typed)) {
        return cmd_fail("out of memory");
    }
    if (path == NULL &&
        (strchr(typed, '/') != NULL || ends_with(tk_str_of(typed), ".jsonl"))) {
        return cmd_fail("there is no file %s", typed);
    }
    size_t before = p->n;
    int result = CMD_OK;
    for (size_t i = 0; result == CMD_OK && p->n == before && i < TK_ARRAY_LEN(usual);
         i++) {
        const char *metric = asked != NULL       ? asked
                             : p->metric != NULL ? p->metric
                                                 : usual[i];
        result = add_metric(p, typed, path, metric, &read);
        p->metric = result == CMD_OK && p->n > before ? metric : p->metric;
        if (asked != NULL || p->metric != NULL) {
            break;
        }
    }
    if (result == CMD_OK && p->n == before) {
        result =
            read.keys[0] != '\0'
                ? cmd_fail("%s has no metric %s; it has %s", typed,
                           asked != NULL ? asked : "loss", read.keys)
                : cmd_fail("%s has no metric %s", typed, asked != NULL ? asked : "loss");
    }
    if (result == CMD_OK && asked == NULL && strcmp(p->metric, "loss") == 0) {
        result = add_metric(p, typed, path, "eval_loss", &read);
    }
    tk_free(path);
    return result;
}

/* ---- showing ---- */

static int show_json(const plotter *p)
{
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_pair(&json, "metric", p->metric);
    cmd_json_pair(&json, "by", cmd_text(p->args, "by", "step"));
    cmd_json_key(&json, "series");
    tk_json_begin_array(&json.w);
    for (size_t i = 0; i < p->n; i++) {
        tk_json_begin_object(&json.w);
        cmd_json_pair(&json, "name", p->lines[i].name);
        cmd_json_key(&json, "points");
        tk_json_begin_array(&json.w);
        for (size_t k = 0; k < p->lines[i].n; k++) {
            tk_json_begin_array(&json.w);
            tk_json_put_double(&json.w, p->lines[i].points[k].x);
            tk_json_put_double(&json.w, p->lines[i].points[k].y);
            tk_json_end_array(&json.w);
        }
        tk_json_end_array(&json.w);
        tk_json_end_object(&json.w);
    }
    tk_json_end_array(&json.w);
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, p->args);
}

static int show(const plotter *p)
{
    static const char *const units[] = {
        [CMD_BY_STEP] = "step", [CMD_BY_TOKENS] = "tokens", [CMD_BY_TIME] = "seconds"};
    const char *metric = p->metric;
    const cmd_plot plot = {.title = metric,
                           .x_name = units[p->by],
                           .y_name = strcmp(metric, "loss") == 0 ? "loss (nats per token)"
                                                                 : metric,
                           .lines = p->lines,
                           .n = p->n};
    const cmd_picture picture = {.path = cmd_text(p->args, "svg", NULL)};
    int result = cmd_picture_write(&picture, &plot);
    if (cmd_wants_json(p->args)) {
        int shown = show_json(p);
        return result != CMD_OK ? result : shown;
    }
    tk_buf text;
    tk_buf_init(&text, TK_MIB);
    size_t columns = cmd_out_width(STDOUT_FILENO);
    cmd_plot_text(&plot, columns > 0 ? columns : 80, &text);
    cmd_print(stdout, "%s\n", plot.y_name);
    cmd_print_lines(stdout, tk_buf_str(&text));
    tk_buf_dispose(&text);
    return result;
}

static cmd_series_by by_of(const cmd_args *args)
{
    const char *by = cmd_text(args, "by", "step");
    return strcmp(by, "tokens") == 0 ? CMD_BY_TOKENS
           : strcmp(by, "time") == 0 ? CMD_BY_TIME
                                     : CMD_BY_STEP;
}

static int run_plot(const cmd_args *args)
{
    plotter *p = tk_zalloc(sizeof(*p));
    if (p == NULL) {
        return cmd_fail("out of memory");
    }
    p->args = args;
    p->by = by_of(args);
    p->metric = cmd_text(args, "metric", NULL);
    int result = CMD_OK;
    for (size_t i = 0; result == CMD_OK && i < cmd_operands(args); i++) {
        result = add_run(p, cmd_operand(args, i));
    }
    if (result == CMD_OK) {
        result = show(p);
    }
    for (size_t i = 0; i < p->n; i++) {
        cmd_plot_dispose(&p->lines[i]);
    }
    if (p->service != NULL) {
        cmd_service_end(&p->service, result);
    }
    tk_free(p);
    return result;
}

static const cmd_option options[] = {
    {"metric", 0, CMD_TEXT, "NAME",
     "What to draw (default: loss and eval_loss, or reward/mean).", false},
    {"by", 0, CMD_CHOICE, "step|tokens|time", "What goes to the right (step).", false},
    {"svg", 0, CMD_TEXT, "FILE", "Draw to FILE, too.", false},
    {0},
};

const cmd_spec cmd_run_plot = {
    .name = "run plot",
    .operands = "RUN...",
    .min_operands = 1,
    .max_operands = RUNS_MAX,
    .help = "Draw the curves of runs over each other.",
    .more =
        "RUN is a metrics file (tinkc train --metrics FILE, tinkc rl), a directory with\n"
        "metrics.jsonl in it, or the id of a run of a tinkc server, or its start.",
    .examples = "tinkc run plot first.jsonl second.jsonl --svg loss.svg\n"
                "tinkc run plot 0f0c1a2b --metric grad_norm --by time",
    .options = options,
    .run = run_plot,
};
