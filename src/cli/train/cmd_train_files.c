/* The files of a run: the name of its checkpoints, and its state file.
 * Needs: text */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/frame/cmd_print.h"
#include "cli/train/cmd_train.h"
#include "cli/train/train_name.h"

/* ---- names and files ---- */

/* Returns whether a file with this ending is usually called like another one before it. */
static bool is_packed_ending(const char *ending)
{
    return strcmp(ending, ".gz") == 0 || strcmp(ending, ".zst") == 0 ||
           strcmp(ending, ".bz2") == 0 || strcmp(ending, ".xz") == 0;
}

int cmd_train_set_name(train_job *t)
{
    bool is_stdin = strcmp(cmd_operand(t->args, 0), "-") == 0;
    const char *data = is_stdin ? "stdin" : cmd_operand(t->args, 0);
    const char *slash = strrchr(data, '/');
    const char *name = cmd_text(t->args, "save", NULL);
    const char *state = cmd_text(t->args, "state", NULL);
    if (name != NULL && !train_name_is_good(name)) {
        return cmd_bad_usage(t->args,
                             "Invalid value for '--save': '%s' is not a name (letters, "
                             "digits, _, - and .).",
                             name);
    }
    (void)snprintf(t->name, sizeof(t->name), "%.200s",
                   name != NULL    ? name
                   : slash != NULL ? slash + 1
                                   : data);
    if (name == NULL) {
        char *dot = strrchr(t->name, '.');
        if (dot != NULL && is_packed_ending(dot)) {
            *dot = '\0';
            dot = strrchr(t->name, '.');
        }
        if (dot != NULL && dot != t->name) {
            *dot = '\0';
        }
        for (char *c = t->name; *c != '\0'; c++) {
            *c = train_name_is_plain(*c) && (c > t->name || *c != '.') ? *c : '-';
        }
    }
    if (state != NULL && strlen(state) >= sizeof(t->state_path)) {
        return cmd_bad_usage(t->args,
                             "Invalid value for '--state': the path is too long.");
    }
    if (state != NULL) {
        (void)snprintf(t->state_path, sizeof(t->state_path), "%s", state);
    } else {
        (void)snprintf(t->state_path, sizeof(t->state_path), "%s.%s.json", t->name,
                       t->kind->name);
    }
    return CMD_OK;
}

static bool is_directory(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

bool cmd_train_can_write(const char *path)
{
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    size_t n = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    char *parent = n > 0 ? tk_strndup(path, n) : tk_strdup(".");
    /* the dot at the end makes access fail if the parent is a file */
    char *folder = parent != NULL ? tk_file_join(parent, ".") : NULL;
    bool ok = folder != NULL && access(folder, W_OK) == 0;
    if (ok && path != NULL && is_directory(path)) {
        ok = false;
        errno = EISDIR;
    }
    if (path != NULL && !ok) {
        tk_err err = TK_ERR_INIT;
        (void)tk_err_sys(&err, errno, "cannot write %s", path);
        (void)cmd_fail("%s", err.message);
    }
    tk_free(parent);
    tk_free(folder);
    return ok || path == NULL;
}

bool cmd_train_can_append(const char *path)
{
    bool is_there = path != NULL && !is_directory(path) && access(path, W_OK) == 0;
    return is_there || cmd_train_can_write(path);
}

int cmd_train_read_state(train_job *t)
{
    tk_err err = TK_ERR_INIT;
    bool resume = cmd_has(t->args, "resume");
    bool may_ignore = cmd_has(t->args, "restart") || cmd_has(t->args, "check");
    tinkc_code code = train_state_read(&t->state, t->state_path, &err);
    if (code != TINKC_OK && code != TINKC_E_MISSING) {
        return cmd_fail("%s", err.message);
    }
    if (code == TINKC_OK && strcmp(t->state.kind, t->kind->name) != 0) {
        return cmd_fail("%s belongs to a run of tinkc %s", t->state_path, t->state.kind);
    }
    if (code == TINKC_OK && !resume && !t->state.is_finished && !may_ignore) {
        return cmd_fail_hint("Continue it with --resume, or start over with --restart.",
                             "%s belongs to a run that stopped after step %zu of %zu",
                             t->state_path, t->state.step, t->state.steps);
    }
    if (code == TINKC_OK && !resume) {
        train_state_dispose(&t->state);
        code = TINKC_E_MISSING;
    }
    if (code == TINKC_E_MISSING) {
        memset(&t->state, 0, sizeof(t->state));
        tk_arena_init(&t->state.arena, 0);
        t->state.eval_first = t->state.loss_first = NAN;
        return CMD_OK;
    }
    train_setting other = train_state_adopt(t->settings, &t->state);
    if (other != TRAIN_SETTINGS) {
        const char *was = t->state.settings[other];
        return cmd_fail_hint(
            "With --resume, options that are not given keep their values.",
            "--%s was %s when the run started", train_setting_name(other),
            was != NULL ? was : "not set");
    }
    train_state_keep(t->habits, &t->state);
    t->from_step = t->state.step;
    return CMD_OK;
}
