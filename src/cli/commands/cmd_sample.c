/* `tinkc sample`: reads a prompt (cmd_prompt.h), samples, and shows the result
 * (cmd_sample_out.c).
 * Needs: text */
#include "cli/commands/cmd_sample.h"

#include "base/tk.h"
#include "cli/cmd_list.h"
#include "cli/commands/cmd_prompt.h"

#define SAMPLES_MAX 10000

static int sample(cmd_model *model, const tinkc_model_input *input, const cmd_args *args)
{
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    tinkc_samples *samples = NULL;
    tinkc_error *error = NULL;
    int64_t topk = cmd_int(args, "topk-prompt-logprobs", 0);
    options.num_samples = cmd_int(args, "n", 1);
    options.topk_prompt_logprobs = topk;
    options.prompt_logprobs_last_n = cmd_int(args, "prompt-logprobs-last-n", 0);
    options.topk_sample_logprobs = cmd_int(args, "topk-sample-logprobs", 0);
    options.prompt_alt_tokens_k = cmd_int(args, "prompt-alt-tokens", 0);
    if (cmd_has(args, "prompt-logprobs") || topk > 0 ||
        options.prompt_logprobs_last_n > 0) {
        options.prompt_logprobs = TINKC_CHOICE_YES;
    }
    if (tinkc_sampling_sample_wait(&samples, model->sampling, input, &model->params,
                                   &options, &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    int result = cmd_sample_show(model, samples, args);
    tinkc_samples_free(&samples);
    return result;
}

/* What a stream cannot show. */
static const char *const scores[] = {"logprobs",
                                     "prompt-logprobs",
                                     "prompt-logprobs-last-n",
                                     "topk-prompt-logprobs",
                                     "topk-sample-logprobs",
                                     "prompt-alt-tokens"};

static int check(const cmd_args *args)
{
    int64_t n = cmd_int(args, "n", 1);
    bool streams = cmd_has(args, "stream"), scored = false;
    if (n < 1 || n > SAMPLES_MAX) {
        return cmd_bad_usage(args, "-n must be 1 to %d.", SAMPLES_MAX);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(scores); i++) {
        scored = scored || cmd_has(args, scores[i]);
        if (i >= 2 && cmd_int(args, scores[i], 0) < 0) { /* those with a number */
            return cmd_bad_usage(args, "--%s must be 0 or more.", scores[i]);
        }
    }
    if (streams && (n > 1 || scored)) {
        return cmd_bad_usage(args,
                             "--stream shows one sample, without log-probabilities.");
    }
    if (streams && cmd_format_of(args) == CMD_JSON) {
        return cmd_bad_usage(args, "--stream needs --format jsonl for JSON.");
    }
    return CMD_OK;
}

static int run(const cmd_args *args)
{
    cmd_prompt prompt;
    cmd_model model = {.end = -1};
    tinkc_model_input *input = NULL;
    int result = cmd_prompt_read(&prompt, args);
    if (result != CMD_OK) {
        goto out;
    }
    result = cmd_model_open(&model, args, prompt.kind != CMD_PROMPT_TOKENS);
    if (result != CMD_OK) {
        goto out;
    }
    result = cmd_prompt_encode(&input, &prompt, &model);
    if (result != CMD_OK) {
        goto out;
    }
    result = cmd_has(args, "stream") ? cmd_sample_stream(&model, input, args)
                                     : sample(&model, input, args);
out:
    tinkc_model_input_free(&input);
    cmd_prompt_dispose(&prompt);
    cmd_model_close(&model, result);
    return result;
}

static const cmd_option options[] = {
    CMD_MODEL_OPTIONS,
    {"n", 'n', CMD_INT, "N", "Number of samples (1).", false},
    {"file", 'i', CMD_TEXT, "FILE",
     "Read the prompt from FILE: text, or JSON messages or tokens.", false},
    {"text", 0, CMD_FLAG, NULL, "Take the input as text even if it looks like JSON.",
     false},
    {"tokens", 'k', CMD_TEXT, "IDS", "Prompt as token ids, such as \"5 17 9\".", false},
    {"messages", 0, CMD_TEXT, "FILE", "Read a conversation from FILE, as JSON.", false},
    {"chat", 'c', CMD_FLAG, NULL, "Send the prompt as a user's message.", false},
    {"system", 0, CMD_TEXT, "TEXT", "Like --chat, with this system message first.",
     false},
    {"stream", 's', CMD_FLAG, NULL, "Show each token as it is sampled.", false},
    {"logprobs", 'l', CMD_FLAG, NULL, "Show tokens with their log-probabilities.", false},
    {"prompt-logprobs", 0, CMD_FLAG, NULL, "Add those of the prompt (JSON).", false},
    {"prompt-logprobs-last-n", 0, CMD_INT, "N",
     "Add those of the last N tokens of the prompt only (JSON).", false},
    {"topk-prompt-logprobs", 0, CMD_INT, "K",
     "Add the K likeliest tokens at each position.", false},
    {"topk-sample-logprobs", 0, CMD_INT, "K",
     "Show the K likeliest tokens at each sampled position.", false},
    {"prompt-alt-tokens", 0, CMD_INT, "K",
     "Add K tokens drawn at each position of the prompt (JSON).", false},
    {0},
};

const cmd_spec cmd_sample = {
    .name = "sample",
    .operands = "[PROMPT]",
    .max_operands = 1,
    .help = "Continue a prompt with a model.",
    .more =
        "Without PROMPT, --file, --tokens and --messages the prompt is read from standard\n"
        "input.",
    .examples =
        "tinkc sample --local -m tinkc/pebble-llama-2m \"Once upon a time\"\n"
        "tinkc sample -m tinker://RUN/sampler_weights/NAME --chat \"What is 2 + 3?\"\n"
        "tinkc sample -m NAME -n 8 --temperature 0.7 --format jsonl <prompt.txt",
    .options = options,
    .check = check,
    .run = run,
};
