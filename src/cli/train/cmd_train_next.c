/* What to do after a run of a command that trains: command lines on standard error, ready to be
 * pasted into a shell (cmd_paste.h). Checkpoints have their short names, which are the newest
 * of that name.
 * Needs: text */
#include <stdio.h>

#include "base/buf.h"
#include "cli/frame/cmd_paste.h"
#include "cli/frame/cmd_print.h"
#include "cli/train/cmd_train.h"

#define LINE_MAX_BYTES (64 * TK_KIB)

static void put_files(tk_buf *line, const cmd_args *args)
{
    for (size_t i = 0; i < cmd_operands(args); i++) {
        cmd_paste_word(line, cmd_operand(args, i));
    }
}

static void show(tk_buf *line)
{
    if (line->failure == TINKC_OK) {
        cmd_print(stderr, "  " TK_STR_FMT "\n", TK_STR_ARG(tk_buf_str(line)));
    }
    tk_buf_clear(line);
}

/* Returns the name, or the path where the name would look like an option. */
static const char *name_of(const train_run *run, const char *path)
{
    return run->name[0] != '-' ? run->name : path;
}

void cmd_train_next(const train_job *job)
{
    const train_run *run = &job->run;
    tk_buf line;
    tk_buf_init(&line, LINE_MAX_BYTES);
    cmd_print(stderr, "\nNext:\n");
    if (run->state->weights != NULL) {
        cmd_paste_command(&line, CMD_PASTE_WORDS("chat"));
        cmd_paste_words(&line, CMD_PASTE_WORDS("-m", name_of(run, run->state->weights)));
        show(&line);
        cmd_paste_command(&line, CMD_PASTE_WORDS("sample"));
        cmd_paste_words(&line, CMD_PASTE_WORDS("-m", name_of(run, run->state->weights),
                                               "--chat", "Hello"));
        show(&line);
        cmd_paste_command(&line, CMD_PASTE_WORDS("checkpoint", "download"));
        cmd_paste_word(&line, name_of(run, run->state->weights));
        show(&line);
    }
    cmd_paste_command(&line, CMD_PASTE_WORDS(job->kind->name));
    cmd_paste_words(&line,
                    CMD_PASTE_WORDS("-m", job->model, "--load",
                                    name_of(run, run->state->checkpoint), "--save"));
    char name[256];
    (void)snprintf(name, sizeof(name), "%.240s-2", run->name);
    cmd_paste_word(&line, name);
    put_files(&line, job->args);
    show(&line);
    tk_buf_dispose(&line);
}

void cmd_train_continue(const train_job *job)
{
    tk_buf line;
    tk_buf_init(&line, LINE_MAX_BYTES);
    cmd_print(stderr, "Continue:\n");
    cmd_paste_command(&line, CMD_PASTE_WORDS(job->kind->name));
    cmd_paste_given(&line, "save");
    cmd_paste_given(&line, "state");
    cmd_paste_word(&line, "--resume");
    put_files(&line, job->args);
    show(&line);
    tk_buf_dispose(&line);
}
