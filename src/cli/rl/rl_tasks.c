/* Reads tasks and checks that each is JSON, before the first step.
 * Needs: text server */
#include "cli/rl/rl_tasks.h"

#include <string.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/rl/rl_agent.h"

#define FILE_BYTES (512 * TK_MIB)

static size_t count_lines(tk_str text)
{
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++) {
        n += text.p[i] == '\n';
    }
    return n;
}

static tinkc_code check(tk_str line, const char *path, size_t number, tk_err *err)
{
    tk_arena arena;
    const tk_json *json = NULL;
    tk_err why = TK_ERR_INIT;
    if (line.n > RL_AGENT_TASK_BYTES) {
        return tk_err_set(err, TINKC_E_LIMIT, "%s, line %zu: a task has at most %d bytes",
                          path, number, RL_AGENT_TASK_BYTES);
    }
    tk_arena_init(&arena, 0);
    tinkc_code code = tk_json_parse(&json, &arena, line.p, line.n, NULL, &why);
    tk_arena_dispose(&arena);
    return code == TINKC_OK ? TINKC_OK
                            : tk_err_set(err, code, "%s, line %zu is not JSON: %s", path,
                                         number, why.message);
}

static tinkc_code split(rl_tasks *out, tk_str text, const char *path, tk_err *err)
{
    size_t number = 0;
    out->at = tk_array(count_lines(text), sizeof(*out->at));
    if (out->at == NULL) {
        return tk_err_nomem(err);
    }
    for (tk_str rest = text; rest.p != NULL;) {
        tk_str line = tk_str_trim(tk_str_cut(&rest, '\n'));
        number++;
        if (line.n == 0) {
            continue;
        }
        tinkc_code code = check(line, path, number, err);
        if (code != TINKC_OK) {
            return code;
        }
        out->at[out->n++] = line;
    }
    return out->n > 0 ? TINKC_OK
                      : tk_err_set(err, TINKC_E_INVALID, "%s has no task", path);
}

tinkc_code rl_tasks_read(rl_tasks *out, const char *path, tk_err *err)
{
    rl_tasks tasks = {.n = 0};
    size_t n = 0;
    tinkc_code code = tk_file_read(&tasks.text, &n, path, FILE_BYTES, err);
    if (code != TINKC_OK) {
        return code;
    }
    code = tk_sha256_hex(tasks.digest, tasks.text, n, err);
    if (code == TINKC_OK) {
        code = split(&tasks, (tk_str){tasks.text, n}, path, err);
    }
    if (code != TINKC_OK) {
        rl_tasks_dispose(&tasks);
        return code;
    }
    *out = tasks;
    return TINKC_OK;
}

void rl_tasks_dispose(rl_tasks *tasks)
{
    tk_free(tasks->at);
    tk_free(tasks->text);
    *tasks = (rl_tasks){.n = 0};
}
