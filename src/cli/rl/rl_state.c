/* Reads and writes the state of a run.
 * Needs: text server */
#include "cli/rl/rl_state.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/train/train_field.h"

#define FILE_BYTES TK_MIB
#define FORMAT     1

static bool decode(rl_state *out, const tk_json *json)
{
    uint64_t format = 0, step = 0, steps = 0;
    const tk_json *finished = tk_json_get(json, "finished");
    const char *tasks = train_field_text(json, "tasks_sha256");
    out->settings = tk_json_get(json, "settings");
    out->checkpoint = train_field_text(json, "checkpoint");
    out->weights = train_field_text(json, "weights");
    if (!train_field_count(&format, json, "tinkc_rl") || format != FORMAT ||
        tasks == NULL || strlen(tasks) + 1 != sizeof(out->tasks) ||
        out->settings == NULL || out->checkpoint == NULL || finished == NULL ||
        finished->type != TK_JSON_BOOL || !train_field_count(&step, json, "step") ||
        !train_field_count(&steps, json, "steps") || step > steps || steps > SIZE_MAX) {
        return false;
    }
    memcpy(out->tasks, tasks, sizeof(out->tasks));
    out->step = (size_t)step;
    out->steps = (size_t)steps;
    out->is_finished = finished->as.boolean;
    out->eval_first = train_field_real(json, "eval_first", NAN);
    out->seconds = train_field_real(json, "seconds", 0);
    (void)train_field_count(&out->episodes, json, "episodes");
    (void)train_field_count(&out->tokens, json, "tokens");
    return true;
}

tinkc_code rl_state_read(rl_state *out, const char *path, tk_err *err)
{
    char *text = NULL;
    size_t n = 0;
    const tk_json *json = NULL;
    tinkc_code code = tk_file_read(&text, &n, path, FILE_BYTES, err);
    if (code != TINKC_OK) {
        return code;
    }
    rl_state state = {.step = 0};
    tk_arena_init(&state.arena, 0);
    code = tk_json_parse(&json, &state.arena, text, n, NULL, NULL);
    if (code == TINKC_E_NOMEM) {
        code = tk_err_nomem(err);
    } else if (code != TINKC_OK || !decode(&state, json)) {
        code = tk_err_set(err, TINKC_E_DECODE, "%s is not the state of a run of tinkc rl",
                          path);
    }
    tk_free(text);
    if (code == TINKC_OK) {
        *out = state;
    } else {
        tk_arena_dispose(&state.arena);
    }
    return code;
}

static void put_count(tk_json_writer *w, const char *key, uint64_t value)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_u64(w, value);
}

static void encode(tk_json_writer *w, const rl_state *state)
{
    tk_json_begin_object(w);
    put_count(w, "tinkc_rl", FORMAT);
    put_count(w, "step", state->step);
    put_count(w, "steps", state->steps);
    tk_json_key(w, TK_STR("finished"));
    tk_json_put_bool(w, state->is_finished);
    train_field_put_text(w, "checkpoint", state->checkpoint);
    train_field_put_text(w, "weights", state->weights);
    train_field_put_text(w, "tasks_sha256", state->tasks);
    train_field_put_real(w, "eval_first", state->eval_first);
    put_count(w, "episodes", state->episodes);
    put_count(w, "tokens", state->tokens);
    train_field_put_real(w, "seconds", state->seconds);
    tk_json_key(w, TK_STR("settings"));
    rl_settings_put(w, state->texts);
    tk_json_end_object(w);
}

tinkc_code rl_state_write(const rl_state *state, const char *path, tk_err *err)
{
    tk_buf buf;
    tk_json_writer w;
    tk_buf_init(&buf, FILE_BYTES);
    tk_json_writer_init(&w, &buf);
    encode(&w, state);
    tinkc_code code = tk_json_finish(&w, err);
    if (code == TINKC_OK) {
        tk_buf_putc(&buf, '\n');
        code = tk_buf_status(&buf, err);
    }
    if (code == TINKC_OK) {
        code = tk_file_replace(path, buf.p, buf.n, 0666, err);
    }
    tk_buf_dispose(&buf);
    return code;
}

void rl_state_dispose(rl_state *state)
{
    tk_arena_dispose(&state->arena);
}
