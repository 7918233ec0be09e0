/* `tinkc train`: fine-tunes a model on training data (cli/data).
 * Needs: text */
#include "cli/train/cmd_train.h"

#include "cli/cmd_list.h"

static const train_kind kind = {.name = "train",
                                .title = "Training",
                                .noun = "lines",
                                .rows_each = 1,
                                .rate_scale = 1};

static int run(const cmd_args *args)
{
    return cmd_train_job(args, &kind);
}

static const cmd_option options[] = {
    CMD_TRAIN_OPTIONS("Lines"),
    {"eval", 'e', CMD_TEXT, "FILE", "Held-out data, to measure the loss on.", false},
    {"lr", 0, CMD_TEXT, "RATE|auto",
     "Learning rate (auto: 1e-3 * (1e9 / parameters)^(1/4)).", false},
    {"seed", 0, CMD_INT, "N", "Seed of the LoRA and of the order of the lines (1).",
     false},
    {"loss-on", 0, CMD_CHOICE, "assistant|last|all",
     "Part of a conversation to train on (assistant).", false},
    {"max-length", 0, CMD_INT, "N",
     "Longest line, in tokens (default: the model's context).", false},
    DATA_READ_FORMAT,
    {"svg", 0, CMD_TEXT, "FILE",
     "Draw the loss curve to FILE, and again while it trains.", false},
    {"state", 0, CMD_TEXT, "FILE", "State file for --resume (NAME.train.json).", false},
    {0},
};

const cmd_spec cmd_train = {
    .name = "train",
    .operands = "FILE...",
    .min_operands = 1,
    .max_operands = SIZE_MAX,
    .help = "Fine-tune a model on conversations or text.",
    .more =
        "FILE is JSONL, a JSON array, CSV or plain text, also packed with gzip or zstd; - is\n"
        "standard input. Records are recognised by their keys: messages (OpenAI chat),\n"
        "prompt and completion, instruction and output (Alpaca), conversations (ShareGPT),\n"
        "question and answer, or text; see docs/guide/data.md. Conversations are rendered by\n"
        "the model's chat template; a message may have a \"weight\". Every record is checked\n"
        "before the first step ('tinkc data show' shows what is trained). Ctrl-C saves a\n"
        "checkpoint and stops; --resume continues from the last checkpoint with the same\n"
        "result as an uninterrupted run.",
    .examples = "tinkc train data.jsonl --model tinkc/pebble-llama-2m --local\n"
                "tinkc train data.jsonl --resume --eval held-out.jsonl --svg loss.svg",
    .options = options,
    .check = cmd_train_check,
    .run = run,
};
