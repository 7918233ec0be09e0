/* `tinkc weights-info`: the base model and the LoRA of a checkpoint. JSON has the keys of
 * the API. */
#include "cli/cmd_list.h"
#include "cli/frame/cmd_rest.h"

static const char *text_of(tinkc_choice choice)
{
    return choice == TINKC_CHOICE_UNSET ? "N/A"
           : choice == TINKC_CHOICE_YES ? "Yes"
                                        : "No";
}

static void put_choice(cmd_json *json, const char *key, tinkc_choice choice)
{
    cmd_json_key(json, key);
    if (choice == TINKC_CHOICE_UNSET) {
        tk_json_put_null(&json->w);
    } else {
        tk_json_put_bool(&json->w, choice == TINKC_CHOICE_YES);
    }
}

static int weights_json(const cmd_args *args, const tinkc_weights_info *info)
{
    cmd_json json;
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_pair(&json, "base_model", info->base_model);
    cmd_json_key(&json, "is_lora");
    tk_json_put_bool(&json.w, info->is_lora);
    cmd_json_key(&json, "lora_rank");
    cmd_json_count(&json, info->lora_rank);
    put_choice(&json, "train_unembed", info->train_unembed);
    put_choice(&json, "train_mlp", info->train_mlp);
    put_choice(&json, "train_attn", info->train_attn);
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, args);
}

static int weights_table(const cmd_args *args, const tinkc_weights_info *info)
{
    char word[CMD_WORD_BYTES];
    cmd_table *table = cmd_table_properties();
    cmd_table_title(table, "Weights: %s", cmd_operand(args, 0));
    cmd_table_row(table, "Base Model", info->base_model);
    cmd_table_row(table, "LoRA",
                  cmd_rest_lora(word, info->is_lora, info->lora_rank, true));
    cmd_table_row(table, "Trains Unembed", text_of(info->train_unembed));
    cmd_table_row(table, "Trains MLP", text_of(info->train_mlp));
    cmd_table_row(table, "Trains Attention", text_of(info->train_attn));
    return cmd_table_print(&table, args);
}

static int weights(const cmd_args *args, tinkc_service *service)
{
    tinkc_weights_info *info = NULL;
    tinkc_error *error = NULL;
    if (tinkc_rest_weights_info_wait(&info, service, cmd_operand(args, 0), &error) !=
        TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    int result =
        cmd_wants_json(args) ? weights_json(args, info) : weights_table(args, info);
    tinkc_weights_info_free(&info);
    return result;
}

const cmd_spec cmd_weights_info = {
    .name = "weights-info",
    .operands = "CHECKPOINT",
    .min_operands = 1,
    .max_operands = 1,
    .wants = CMD_CHECKPOINT,
    .help = "Show the base model and the LoRA of a checkpoint.",
    .check = cmd_rest_check_paths,
    .ask = weights,
};
