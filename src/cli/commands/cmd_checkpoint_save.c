/* `tinkc checkpoint save`: saves a new, untrained LoRA for sampling, as a starting point
 * for others or to check that saving works. */
#include <stdio.h>
#include <tinkc/rest.h>
#include <tinkc/training.h>

#include "base/clock.h"
#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_resolve.h"
#include "cli/frame/cmd_served.h"

typedef struct saved {
    const char *model;
    const char *model_id;
    char *path; /* owned by the library */
    int64_t time_us;
} saved;

static void put_saved(cmd_json *json, const saved *s)
{
    cmd_json_init(json);
    tk_json_begin_object(&json->w);
    cmd_json_pair(json, "base_model", s->model);
    cmd_json_pair(json, "model_id", s->model_id);
    cmd_json_pair(json, "weights_path", s->path);
    cmd_json_key(json, "saved_at");
    cmd_json_time(json, s->time_us);
    tk_json_end_object(&json->w);
}

static int show(const saved *s, const cmd_args *args)
{
    cmd_json json;
    int result = CMD_OK;
    const char *output = cmd_text(args, "output", NULL);
    if (output != NULL) {
        put_saved(&json, s);
        result = cmd_json_save(&json, output);
    }
    if (!cmd_wants_json(args)) {
        cmd_print(stdout, "%s\n", s->path);
        return result;
    }
    put_saved(&json, s);
    int shown = cmd_json_print(&json, args);
    return result != CMD_OK ? result : shown;
}

static tinkc_lora_config lora_of(const cmd_args *args)
{
    tinkc_lora_config lora = TINKC_LORA_CONFIG_INIT;
    lora.rank = cmd_int(args, "rank", lora.rank);
    lora.has_seed = cmd_has(args, "seed");
    lora.seed = (uint64_t)cmd_int(args, "seed", 0);
    lora.train_attn = !cmd_has(args, "no-attn");
    lora.train_mlp = !cmd_has(args, "no-mlp");
    lora.train_unembed = !cmd_has(args, "no-unembed");
    return lora;
}

static int save_on(const cmd_args *args, tinkc_service *service, const char *model)
{
    const tinkc_lora_config lora = lora_of(args);
    saved s = {.model = model};
    tinkc_training *training = NULL;
    tinkc_save_options options = TINKC_SAVE_OPTIONS_INIT;
    tinkc_error *error = NULL;
    options.ttl_seconds = cmd_int(args, "ttl", -1);
    if (tinkc_service_create_training_wait(&training, service, s.model, &lora, &error) !=
        TINKC_OK) {
        return cmd_served_fail(service, s.model, CMD_BASE, &error);
    }
    int result = CMD_FAILED;
    s.model_id = tinkc_training_model_id(training);
    if (tinkc_training_save_weights_for_sampler_wait(&s.path, training,
                                                     cmd_text(args, "name", "initial"),
                                                     &options, &error) != TINKC_OK) {
        result = cmd_fail_error(&error, "Cannot save the checkpoint");
    } else {
        s.time_us = tk_clock_wall_us(NULL);
        result = show(&s, args);
    }
    tinkc_text_free(&s.path);
    (void)tinkc_training_unload_wait(training, NULL);
    tinkc_training_close(&training);
    return result;
}

static int save(const cmd_args *args, tinkc_service *service)
{
    char *model = NULL;
    int result =
        cmd_resolve(&model, service, args, cmd_text(args, "model", NULL), CMD_BASE);
    result = result == CMD_OK ? save_on(args, service, model) : result;
    tk_free(model);
    return result;
}

static int check(const cmd_args *args)
{
    const tinkc_lora_config lora = lora_of(args);
    tinkc_error *error = NULL;
    if (cmd_int(args, "seed", 0) < 0 || cmd_int(args, "ttl", 1) < 1) {
        return cmd_bad_usage(args, "--seed must be 0 or more, --ttl 1 or more.");
    }
    return tinkc_lora_config_check(&lora, &error) == TINKC_OK
               ? CMD_OK
               : cmd_bad_value(args, &error);
}

static const cmd_option options[] = {
    {"model", 'm', CMD_TEXT, "NAME", "Base model (default: the only one).", false},
    {"name", 'n', CMD_TEXT, "NAME", "Name of the checkpoint (initial).", false},
    {"rank", 0, CMD_INT, "N", "Rank of the LoRA (32).", false},
    {"seed", 0, CMD_INT, "N",
     "Seed of its initial values (default: chosen by the server).", false},
    {"no-attn", 0, CMD_FLAG, NULL, "Do not train the attention.", false},
    {"no-mlp", 0, CMD_FLAG, NULL, "Do not train the feed-forward layers.", false},
    {"no-unembed", 0, CMD_FLAG, NULL, "Do not train the unembedding.", false},
    {"ttl", 0, CMD_INT, "SECONDS", "Expire after this many seconds (never).", false},
    {"output", 'o', CMD_TEXT, "FILE", "Write the result to FILE as JSON.", false},
    {0},
};

const cmd_spec cmd_checkpoint_save = {
    .name = "checkpoint save",
    .operands = "",
    .help = "Save a new, untrained LoRA for sampling.",
    .more = "'tinkc train' saves trained weights itself.",
    .examples = "tinkc checkpoint save -m tinkc/pebble-llama-2m --rank 8 --name zero",
    .options = options,
    .check = check,
    .ask = save,
};
