/* Runs and checkpoints as JSON, and the options that the commands over tinkc/rest.h
 * share. */
#include "cli/frame/cmd_rest.h"

#include <stdio.h>
#include <string.h>

#include "base/str.h"

static bool is_kind(tk_str word)
{
    return tk_str_is(word, "weights") || tk_str_is(word, "sampler_weights") ||
           tk_str_is(word, "external_weights");
}

size_t cmd_rest_scheme(const char *path)
{
    static const char *const schemes[] = {"tinker://", "twinkle://"};
    for (size_t i = 0; i < TK_ARRAY_LEN(schemes); i++) {
        if (tk_str_has_prefix(tk_str_of(path), schemes[i])) {
            return strlen(schemes[i]);
        }
    }
    return 0;
}

/* Also "tinker://RUN/NAME", as some servers name weights for sampling. */
static bool is_path(const char *path)
{
    size_t scheme = cmd_rest_scheme(path);
    if (scheme == 0) {
        return false;
    }
    tk_str rest = tk_str_of(path + scheme);
    tk_str run = tk_str_cut(&rest, '/');
    tk_str kind = tk_str_cut(&rest, '/');
    if (rest.p == NULL) {
        return run.n > 0 && kind.n > 0 && !is_kind(kind);
    }
    return run.n > 0 && is_kind(kind) && rest.n > 0 &&
           memchr(rest.p, '/', rest.n) == NULL;
}

/* A word, or a run and a name: cmd_resolve.h looks for them. */
static bool is_name(const char *text)
{
    return text[0] != '\0' && text[0] != '/' && strstr(text, "//") == NULL &&
           text[strlen(text) - 1] != '/';
}

int cmd_rest_check_paths(const cmd_args *args)
{
    for (size_t i = 0; i < cmd_operands(args); i++) {
        const char *text = cmd_typed(args, i);
        bool has_scheme =
            cmd_rest_scheme(text) > 0 || tk_str_has_prefix(tk_str_of(text), "tinker:");
        if (has_scheme ? !is_path(text) : !is_name(text)) {
            return cmd_bad_usage(args,
                                 "Invalid checkpoint path: %s (expected "
                                 "tinker://RUN/weights/NAME or "
                                 "tinker://RUN/sampler_weights/NAME).",
                                 text);
        }
    }
    return CMD_OK;
}

tinkc_scope cmd_rest_scope(const cmd_args *args)
{
    return strcmp(cmd_text(args, "access-scope", "owned"), "accessible") == 0
               ? TINKC_SCOPE_ACCESSIBLE
               : TINKC_SCOPE_OWNED;
}

tinkc_pager_options cmd_rest_page(const cmd_args *args)
{
    tinkc_pager_options options = TINKC_PAGER_OPTIONS_INIT;
    options.limit = cmd_int(args, "limit", 20);
    options.offset = cmd_int(args, "offset", 0);
    options.scope = cmd_rest_scope(args);
    options.project_id = cmd_text(args, "project", NULL);
    return options;
}

int cmd_rest_check_page(const cmd_args *args)
{
    return cmd_int(args, "limit", 0) >= 0 && cmd_int(args, "offset", 0) >= 0
               ? CMD_OK
               : cmd_bad_usage(args, "--limit and --offset must be 0 or more.");
}

const char *cmd_rest_lora(char out[CMD_WORD_BYTES], bool is_lora, int64_t rank,
                          bool in_words)
{
    if (is_lora && rank > 0) {
        (void)snprintf(out, CMD_WORD_BYTES, in_words ? "Yes (Rank %lld)" : "Rank %lld",
                       (long long)rank);
    } else {
        (void)snprintf(out, CMD_WORD_BYTES, "%s", is_lora ? "Yes" : "No");
    }
    return out;
}

const char *cmd_rest_more(char out[CMD_REST_MORE_BYTES], int64_t left)
{
    out[0] = '\0';
    if (left > 0) {
        (void)snprintf(out, CMD_REST_MORE_BYTES,
                       " (%lld more not shown, use --limit to see more)",
                       (long long)left);
    }
    return out;
}

/* ---- objects ---- */

void cmd_rest_put_checkpoint_keys(cmd_json *json, const tinkc_checkpoint *checkpoint)
{
    cmd_json_pair(json, "checkpoint_id", checkpoint->id);
    cmd_json_pair(json, "checkpoint_type", checkpoint->type_text);
    cmd_json_key(json, "time");
    cmd_json_time(json, checkpoint->time_us);
    cmd_json_pair(json, "tinker_path", checkpoint->path);
    cmd_json_key(json, "size_bytes");
    cmd_json_count(json, checkpoint->size_bytes);
    cmd_json_key(json, "public");
    tk_json_put_bool(&json->w, checkpoint->is_public);
    if (checkpoint->has_metadata) {
        cmd_json_key(json, "user_metadata");
        cmd_rest_put_metadata(json, checkpoint->metadata, checkpoint->metadata_n, true);
    }
    cmd_json_key(json, "expires_at");
    cmd_json_time(json, checkpoint->expires_us);
}

void cmd_rest_put_checkpoint(cmd_json *json, const tinkc_checkpoint *checkpoint)
{
    if (checkpoint == NULL) {
        tk_json_put_null(&json->w);
        return;
    }
    tk_json_begin_object(&json->w);
    cmd_rest_put_checkpoint_keys(json, checkpoint);
    tk_json_end_object(&json->w);
}

void cmd_rest_put_metadata(cmd_json *json, const tinkc_pair *pairs, size_t n, bool has)
{
    if (!has) {
        tk_json_put_null(&json->w);
        return;
    }
    tk_json_begin_object(&json->w);
    for (size_t i = 0; i < n; i++) {
        cmd_json_pair(json, pairs[i].name, pairs[i].value);
    }
    tk_json_end_object(&json->w);
}

void cmd_rest_put_run(cmd_json *json, const tinkc_run *run)
{
    tk_json_begin_object(&json->w);
    cmd_json_pair(json, "training_run_id", run->id);
    cmd_json_pair(json, "base_model", run->base_model);
    cmd_json_pair(json, "model_owner", run->owner);
    cmd_json_key(json, "is_lora");
    tk_json_put_bool(&json->w, run->is_lora);
    cmd_json_key(json, "corrupted");
    tk_json_put_bool(&json->w, run->is_corrupted);
    cmd_json_key(json, "lora_rank");
    cmd_json_count(json, run->lora_rank);
    cmd_json_key(json, "last_request_time");
    cmd_json_time(json, run->last_request_us);
    cmd_json_key(json, "last_checkpoint");
    cmd_rest_put_checkpoint(json, run->last_checkpoint);
    cmd_json_key(json, "last_sampler_checkpoint");
    cmd_rest_put_checkpoint(json, run->last_sampler_checkpoint);
    cmd_json_key(json, "user_metadata");
    cmd_rest_put_metadata(json, run->metadata, run->metadata_n, run->has_metadata);
    tk_json_end_object(&json->w);
}
