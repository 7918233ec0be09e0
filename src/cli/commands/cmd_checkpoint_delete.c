/* `tinkc checkpoint delete`: by paths, or by run with filters. Asks first, deletes up to
 * 32 at a time, continues after a failure and reports failures at the end. The question
 * goes to standard error, so that standard output has only the result. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_progress.h"
#include "cli/frame/cmd_rest.h"

#define AT_ONCE   32
#define WAIT_MS   200 /* how soon Ctrl-C is noticed */
#define ITEMS_MAX 1000000

/* One checkpoint to delete. */
typedef struct item {
    const char *path;                   /* borrowed */
    const tinkc_checkpoint *checkpoint; /* borrowed; NULL: only its path is known */
    char *failure;                      /* owned; NULL: deleted or not tried */
} item;

typedef struct job {
    const cmd_args *args;
    item *items; /* owned */
    size_t n, sent, done, deleted;
} job;

/* ---- selection ---- */

typedef struct filter {
    bool by_type;
    tinkc_checkpoint_type type;
    int64_t before_us, after_us;
} filter;

static int read_date(int64_t *out, const cmd_args *args, const char *option)
{
    tinkc_error *error = NULL;
    const char *text = cmd_text(args, option, NULL);
    if (text == NULL || tinkc_time_parse(out, text, &error) == TINKC_OK) {
        return CMD_OK;
    }
    tinkc_error_free(&error);
    return cmd_bad_usage(
        args, "Invalid date: %s (expected 2024-01-01 or 2024-01-01T12:00:00Z).", text);
}

static int read_filter(filter *out, const cmd_args *args)
{
    *out = (filter){.before_us = INT64_MAX, .after_us = INT64_MIN};
    const char *type = cmd_text(args, "type", NULL);
    out->by_type = type != NULL;
    if (type != NULL) {
        bool is_training = strcmp(type, "weights") == 0 || strcmp(type, "training") == 0;
        bool is_external = strncmp(type, "external", sizeof("external") - 1) == 0;
        out->type = is_training   ? TINKC_CHECKPOINT_TRAINING
                    : is_external ? TINKC_CHECKPOINT_EXTERNAL
                                  : TINKC_CHECKPOINT_SAMPLER;
    }
    int result = read_date(&out->before_us, args, "before");
    return result == CMD_OK ? read_date(&out->after_us, args, "after") : result;
}

static bool matches(const filter *f, const tinkc_checkpoint *checkpoint)
{
    return (!f->by_type || checkpoint->type == f->type) &&
           checkpoint->time_us < f->before_us && checkpoint->time_us > f->after_us;
}

static bool make_room(job *j, size_t n)
{
    j->items = n <= ITEMS_MAX ? tk_zarray(n + 1, sizeof(*j->items)) : NULL;
    return j->items != NULL;
}

static bool take_matching(job *j, const tinkc_checkpoints *all)
{
    filter f;
    (void)read_filter(&f, j->args);
    if (!make_room(j, all->n)) {
        return false;
    }
    for (size_t i = 0; i < all->n; i++) {
        if (matches(&f, &all->items[i])) {
            j->items[j->n++] = (item){all->items[i].path, &all->items[i], NULL};
        }
    }
    return true;
}

static bool take_operands(job *j)
{
    if (!make_room(j, cmd_operands(j->args))) {
        return false;
    }
    for (; j->n < cmd_operands(j->args); j->n++) {
        j->items[j->n].path = cmd_operand(j->args, j->n);
    }
    return true;
}

/* ---- the question ---- */

static void show_items(const job *j)
{
    int64_t total = 0;
    char size[CMD_WORD_BYTES], age[CMD_WORD_BYTES];
    cmd_print(stderr, "Will delete %zu checkpoint(s):\n", j->n);
    for (size_t i = 0; i < j->n; i++) {
        const tinkc_checkpoint *c = j->items[i].checkpoint;
        cmd_print(stderr, "  - %s", j->items[i].path);
        if (c != NULL) {
            cmd_print(stderr, " (%s, created %s)", cmd_out_size(size, c->size_bytes),
                      cmd_out_time(age, c->time_us));
            total += TK_MAX(c->size_bytes, 0);
        }
        cmd_print(stderr, "\n");
    }
    cmd_print(stderr, "\n");
    if (j->n > 0 && j->items[0].checkpoint != NULL) {
        cmd_print(stderr, "Total size: %s\n", cmd_out_size(size, total));
    }
    cmd_print(stderr, "WARNING: This action is permanent and cannot be undone.\n");
}

static cmd_answer ask(const job *j)
{
    if (cmd_has(j->args, "yes")) {
        return CMD_YES;
    }
    show_items(j);
    return cmd_confirm("Are you sure you want to delete %zu checkpoint(s)?", j->n);
}

/* ---- deletion ---- */

static void note(job *j, item *one, tinkc_future *future)
{
    j->done++;
    if (tinkc_future_error(future) == NULL) {
        j->deleted++;
    } else {
        one->failure = tk_strdup(tinkc_error_message(tinkc_future_error(future)));
    }
    cmd_progress("Deleting checkpoints: %zu of %zu", j->done, j->n);
}

/* Returns when all are done or, after Ctrl-C, when none is in flight. */
static tinkc_code delete_all(job *j, tinkc_service *service, tinkc_queue *queue)
{
    while (j->done < j->sent || (j->sent < j->n && !cmd_interrupted())) {
        while (j->sent < j->n && j->sent - j->done < AT_ONCE && !cmd_interrupted()) {
            item *one = &j->items[j->sent];
            tinkc_future *future = tinkc_rest_delete_checkpoint(service, one->path);
            tinkc_code code = tinkc_queue_add(queue, future, one, NULL);
            tinkc_future_free(&future);
            if (code != TINKC_OK) {
                return code;
            }
            j->sent++;
        }
        tinkc_future *done = NULL;
        void *tag = NULL;
        tinkc_code code = tinkc_queue_take(&done, &tag, queue, WAIT_MS, NULL);
        if (code == TINKC_OK) {
            note(j, tag, done);
            tinkc_future_free(&done);
        } else if (code != TINKC_E_TIMEOUT) {
            return code;
        }
    }
    return TINKC_OK;
}

static int show_json(const job *j)
{
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_key(&json, "deleted_count");
    tk_json_put_u64(&json.w, j->deleted);
    cmd_json_key(&json, "failed");
    tk_json_begin_array(&json.w);
    for (size_t i = 0; i < j->n; i++) {
        if (j->items[i].failure != NULL) {
            tk_json_begin_object(&json.w);
            cmd_json_pair(&json, "tinker_path", j->items[i].path);
            cmd_json_pair(&json, "error", j->items[i].failure);
            tk_json_end_object(&json.w);
        }
    }
    tk_json_end_array(&json.w);
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, j->args);
}

static int show_text(const job *j)
{
    cmd_print(stdout, "Deleted %zu checkpoint(s)\n", j->deleted);
    if (j->done > j->deleted) {
        cmd_print(stdout, "Failed to delete %zu checkpoint(s):\n", j->done - j->deleted);
    }
    for (size_t i = 0; i < j->n; i++) {
        if (j->items[i].failure != NULL) {
            cmd_print(stdout, "  - %s: %s\n", j->items[i].path, j->items[i].failure);
        }
    }
    return CMD_OK;
}

static int show_result(const job *j)
{
    cmd_progress_end();
    int result = cmd_wants_json(j->args) ? show_json(j) : show_text(j);
    if (cmd_interrupted()) {
        return CMD_INTERRUPTED;
    }
    return result == CMD_OK && j->deleted < j->n ? CMD_FAILED : result;
}

static int delete_items(job *j, tinkc_service *service)
{
    tinkc_queue *queue = NULL;
    tinkc_error *error = NULL;
    cmd_answer answer = j->n > 0 ? ask(j) : CMD_YES;
    if (answer == CMD_NO_ANSWER) {
        return cmd_fail_hint("Use --yes to delete without a question.",
                             "Nothing was deleted: there was no answer");
    }
    if (answer == CMD_NO) {
        cmd_print(cmd_wants_json(j->args) ? stderr : stdout, "Deletion cancelled.\n");
        return CMD_OK;
    }
    cmd_signal_catch();
    if (tinkc_queue_open(&queue, &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    tinkc_code code = delete_all(j, service, queue);
    tinkc_queue_close(&queue);
    return code == TINKC_OK ? show_result(j) : cmd_fail("%s", tinkc_code_name(code));
}

static void end_job(job *j)
{
    for (size_t i = 0; i < j->n; i++) {
        tk_free(j->items[i].failure);
    }
    tk_free(j->items);
}

static int delete_of_run(const cmd_args *args, tinkc_service *service)
{
    const char *run_id = cmd_text(args, "run-id", NULL);
    job j = {.args = args};
    tinkc_checkpoints *all = NULL;
    tinkc_error *error = NULL;
    int result;
    if (tinkc_rest_list_checkpoints_wait(&all, service, run_id, &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    if (!take_matching(&j, all)) {
        result = cmd_fail("out of memory");
    } else {
        if (j.n == 0) {
            cmd_print(cmd_wants_json(args) ? stderr : stdout,
                      "No checkpoints found for run %s matching filters\n", run_id);
        }
        result = j.n == 0 && !cmd_wants_json(args) ? CMD_OK : delete_items(&j, service);
    }
    end_job(&j);
    tinkc_checkpoints_free(&all);
    return result;
}

static int delete_paths(const cmd_args *args, tinkc_service *service)
{
    job j = {.args = args};
    int result =
        take_operands(&j) ? delete_items(&j, service) : cmd_fail("out of memory");
    end_job(&j);
    return result;
}

static int delete_checkpoints(const cmd_args *args, tinkc_service *service)
{
    return cmd_has(args, "run-id") ? delete_of_run(args, service)
                                   : delete_paths(args, service);
}

static int check(const cmd_args *args)
{
    bool by_run = cmd_has(args, "run-id");
    filter f;
    if (!by_run && cmd_operands(args) == 0) {
        return cmd_bad_usage(args, "Must specify checkpoint paths or --run-id.");
    }
    if (by_run && cmd_operands(args) > 0) {
        return cmd_bad_usage(args, "Cannot specify both checkpoint paths and --run-id.");
    }
    if (!by_run &&
        (cmd_has(args, "type") || cmd_has(args, "before") || cmd_has(args, "after"))) {
        return cmd_bad_usage(args, "--type, --before, and --after require --run-id.");
    }
    int result = read_filter(&f, args);
    return result == CMD_OK ? cmd_rest_check_paths(args) : result;
}

static const cmd_option options[] = {
    {"run-id", 0, CMD_TEXT, "ID", "Delete the checkpoints of this training run.", false},
    {"type", 0, CMD_CHOICE,
     "weights|sampler_weights|external_weights|training|sampler|external",
     "With --run-id: only this type.", false},
    {"before", 0, CMD_TEXT, "DATE", "With --run-id: only those created before (UTC).",
     false},
    {"after", 0, CMD_TEXT, "DATE", "With --run-id: only those created after (UTC).",
     false},
    {"yes", 'y', CMD_FLAG, NULL, "Do not ask.", false},
    {0},
};

const cmd_spec cmd_checkpoint_delete = {
    .name = "checkpoint delete",
    .operands = "[CHECKPOINT]...",
    .max_operands = SIZE_MAX,
    .wants = CMD_EXACT,
    .help = "Delete checkpoints permanently.",
    .more =
        "Asks first. If a checkpoint cannot be deleted, the others still are, and the\n"
        "exit code is 1. Dates look like 2024-01-01 or 2024-01-01T08:00:00Z.",
    .examples =
        "tinkc checkpoint delete tinker://RUN/weights/0001 tinker://RUN/weights/0002\n"
        "tinkc checkpoint delete --run-id RUN --type weights --before 2024-06-01",
    .options = options,
    .check = check,
    .ask = delete_checkpoints,
};
