/* `tinkc checkpoint save`: a new LoRA on a base model, not trained, saved for sampling: a
 * beginning that others can load, and a check that saving works. */
#include <stdio.h>
#include <tinkc/rest.h>
#include <tinkc/training.h>

#include "base/clock.h"
#include "base/file.h"
#include "cli/frame/cmd_list.h"
#include "cli/frame/cmd_out.h"
#include "cli/frame/cmd_service.h"

typedef struct saved {
    const char *model;
    const char *model_id;
    char *path; /* owned by the library */
    int64_t time_us;
} saved;

static void put(tk_json_writer *w, const char *key, const char *text)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_str(w, tk_str_of(text != NULL ? text : ""));
}

static void put_saved(cmd_json *json, const saved *s)
{
    char time[CMD_WORD_BYTES] = "";
    (void)tinkc_time_format(time, sizeof(time), s->time_us);
    tk_json_begin_object(&json->w);
    put(&json->w, "base_model", s->model);
    put(&json->w, "model_id", s->model_id);
    put(&json->w, "weights_path", s->path);
    put(&json->w, "saved_at", time);
    tk_json_end_object(&json->w);
}

/* --output: the same JSON in a file. */
static int write_file(const saved *s, const char *path)
{
    cmd_json json;
    tk_err err = TK_ERR_INIT;
    cmd_json_init(&json);
    put_saved(&json, s);
    tinkc_code code = tk_json_finish(&json.w, &err);
    if (code == TINKC_OK) {
        tk_buf_putc(&json.buf, '\n');
        code = tk_buf_status(&json.buf, &err);
    }
    if (code == TINKC_OK) {
        code = tk_file_replace(path, json.buf.p, json.buf.n, 0666, &err);
    }
    cmd_json_dispose(&json);
    return code == TINKC_OK ? CMD_OK : cmd_fail("%s", err.message);
}

static int show(const saved *s, const cmd_args *args)
{
    cmd_json json;
    const char *output = cmd_text(args, "output", NULL);
    int result = output != NULL ? write_file(s, output) : CMD_OK;
    if (!cmd_wants_json(args)) {
        printf("%s\n", s->path);
        return result;
    }
    cmd_json_init(&json);
    put_saved(&json, s);
    int shown = cmd_json_print(&json, args);
    return result != CMD_OK ? result : shown;
}

static int save(tinkc_service *service, const tinkc_lora_config *lora,
                const cmd_args *args)
{
    saved s = {.model = cmd_text(args, "model", "")};
    tinkc_training *training = NULL;
    tinkc_save_options options = TINKC_SAVE_OPTIONS_INIT;
    tinkc_error *error = NULL;
    options.ttl_seconds = cmd_int(args, "ttl", -1);
    if (tinkc_service_create_training_wait(&training, service, s.model, lora, &error) !=
        TINKC_OK) {
        return cmd_fail_error(&error, "Cannot open %s", s.model);
    }
    int result = CMD_FAILED;
    s.model_id = tinkc_training_model_id(training);
    if (tinkc_training_save_weights_for_sampler_wait(&s.path, training,
                                                     cmd_text(args, "name", "initial"),
                                                     &options, &error) != TINKC_OK) {
        result = cmd_fail_error(&error, "Cannot save");
    } else {
        s.time_us = tk_clock_wall_us(NULL);
        result = show(&s, args);
    }
    tinkc_text_free(s.path);
    (void)tinkc_training_unload_wait(training, NULL);
    tinkc_training_close(&training);
    return result;
}

static int run(const cmd_args *args)
{
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    tinkc_service *service = NULL;
    tinkc_error *error = NULL;
    int64_t seed = cmd_int(args, "seed", 0);
    lora.rank = cmd_int(args, "rank", lora.rank);
    lora.has_seed = cmd_has(args, "seed");
    lora.seed = (uint64_t)seed;
    lora.train_attn = !cmd_has(args, "no-attn");
    lora.train_mlp = !cmd_has(args, "no-mlp");
    lora.train_unembed = !cmd_has(args, "no-unembed");
    if (!cmd_has(args, "model")) {
        return cmd_bad_usage(args, "Missing option '--model'.");
    }
    if (seed < 0 || (cmd_has(args, "ttl") && cmd_int(args, "ttl", 0) < 1)) {
        return cmd_bad_usage(args, "--seed is from 0 on, --ttl from 1 on.");
    }
    if (tinkc_lora_config_check(&lora, &error) != TINKC_OK) {
        int result = cmd_bad_usage(args, "%s.", tinkc_error_message(error));
        tinkc_error_free(&error);
        return result;
    }
    int result = cmd_service_open(&service, args, CMD_BRIEF);
    if (result == CMD_OK) {
        result = save(service, &lora, args);
        cmd_service_end(&service);
    }
    return result;
}

static const cmd_option options[] = {
    {"model", 'm', CMD_TEXT, "NAME", "The base model.", false},
    {"name", 'n', CMD_TEXT, "NAME", "Name of the checkpoint (initial).", false},
    {"rank", 0, CMD_INT, "N", "Rank of the LoRA (32).", false},
    {"seed", 0, CMD_INT, "N", "Of its first values (the server's choice).", false},
    {"no-attn", 0, CMD_FLAG, NULL, "Nothing on the attention.", false},
    {"no-mlp", 0, CMD_FLAG, NULL, "Nothing on the feed-forward layers.", false},
    {"no-unembed", 0, CMD_FLAG, NULL, "Nothing on the unembedding.", false},
    {"ttl", 0, CMD_INT, "SECONDS", "Let it expire (never).", false},
    {"output", 'o', CMD_TEXT, "FILE", "Write what was saved there, as JSON.", false},
    {NULL, 0, CMD_FLAG, NULL, NULL, false},
};

const cmd_spec cmd_checkpoint_save = {
    .name = "checkpoint save",
    .operands = "",
    .help = "Save a new LoRA, not trained yet, for sampling.",
    .more = "Trained weights are saved by 'tinkc train'.",
    .examples = "tinkc checkpoint save -m tinkc/pebble-llama-2m --rank 8 --name zero",
    .options = options,
    .run = run,
};
