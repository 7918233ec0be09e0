/* `tinkc tokenize` and `tinkc detokenize`: from text to token ids and back, with the
 * tokenizer of a model.
 * Needs: text */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <tinkc/service.h>
#include <tinkc/tokenizer.h>

#include "base/json.h"
#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_text.h"

/* Reads the operands, joined by blanks, or else the file or standard input. */
static bool read_input(const cmd_args *args, tk_buf *out)
{
    if (cmd_operands(args) == 0) {
        return cmd_text_read(out, cmd_text(args, "file", NULL));
    }
    for (size_t i = 0; i < cmd_operands(args); i++) {
        tk_buf_puts(out, i > 0 ? " " : "");
        tk_buf_puts(out, cmd_operand(args, i));
    }
    return true;
}

typedef int (*text_fn)(const cmd_args *args, const tinkc_tokenizer *tokenizer,
                       tk_str text);

/* Opens the tokenizer first, so that nothing is typed in vain when that fails. */
static int run(const cmd_args *args, text_fn fn)
{
    tinkc_tokenizer *tokenizer = NULL;
    int code = cmd_text_tokenizer(&tokenizer, args);
    if (code != CMD_OK) {
        return code;
    }
    tk_buf text;
    tk_buf_init(&text, CMD_TEXT_MAX_BYTES);
    code = read_input(args, &text) ? fn(args, tokenizer, tk_buf_str(&text)) : CMD_FAILED;
    tk_buf_dispose(&text);
    tinkc_tokenizer_free(&tokenizer);
    return code;
}

/* ---- tokenize ---- */

static void show_ids(const cmd_args *args, const int32_t *ids, size_t n)
{
    bool is_json = cmd_wants_json(args);
    cmd_print(stdout, is_json ? "[" : "");
    for (size_t i = 0; i < n; i++) {
        cmd_print(stdout, "%s%" PRId32, i == 0 ? "" : is_json ? ", " : " ", ids[i]);
    }
    cmd_print(stdout, is_json ? "]\n" : "\n");
}

static void show_pieces(const tinkc_tokenizer *tokenizer, const tinkc_encoding *encoding,
                        const char *text)
{
    size_t n = 0;
    const int32_t *ids = tinkc_encoding_ids(&n, encoding);
    const size_t *offsets = tinkc_encoding_offsets(NULL, encoding);
    for (size_t i = 0; i < n; i++) {
        cmd_print(stdout, "%8" PRId32 "  %c ", ids[i],
                  tinkc_tokenizer_is_special(tokenizer, ids[i]) ? '*' : ' ');
        cmd_text_put_visible(text + offsets[2 * i], offsets[2 * i + 1] - offsets[2 * i]);
        cmd_print(stdout, "\n");
    }
}

static int tokenize(const cmd_args *args, const tinkc_tokenizer *tokenizer, tk_str input)
{
    const char *text = input.p != NULL ? input.p : "";
    tinkc_encode_options options = TINKC_ENCODE_OPTIONS_INIT;
    options.add_special_tokens = cmd_has(args, "special");
    options.plain_text = cmd_has(args, "plain");
    options.offsets = cmd_has(args, "pieces");
    tinkc_encoding *encoding = NULL;
    tinkc_error *error = NULL;
    if (tinkc_tokenizer_encode(&encoding, tokenizer, text, input.n, &options, &error) !=
        TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    size_t n_ids = 0;
    const int32_t *ids = tinkc_encoding_ids(&n_ids, encoding);
    if (cmd_has(args, "count")) {
        cmd_print(stdout, "%zu\n", n_ids);
    } else if (options.offsets) {
        show_pieces(tokenizer, encoding, text);
    } else {
        show_ids(args, ids, n_ids);
    }
    tinkc_encoding_free(&encoding);
    return CMD_OK;
}

/* ---- detokenize ---- */

static int detokenize(const cmd_args *args, const tinkc_tokenizer *tokenizer, tk_str text)
{
    size_t n = 0;
    int32_t *ids = NULL;
    tk_str bad;
    if (!cmd_text_ids(&ids, &n, &bad, text)) {
        return bad.n > 0 ? cmd_fail("'" TK_STR_FMT "' is not a token id", TK_STR_ARG(bad))
                         : cmd_fail("out of memory");
    }
    tinkc_decode what = TINKC_DECODE_INIT;
    what.ids = ids;
    what.ids_n = n;
    what.skip_special = cmd_has(args, "skip-special");
    char *out = NULL;
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_tokenizer_decode(&out, &n, tokenizer, &what, &error);
    tk_free(ids);
    if (code != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    if (cmd_wants_json(args)) {
        cmd_text_put_json(out, n);
        cmd_print(stdout, "\n");
    } else {
        cmd_print_bytes(out, n);
    }
    tinkc_text_free(&out);
    return CMD_OK;
}

static int run_tokenize(const cmd_args *args)
{
    return run(args, tokenize);
}

static int run_detokenize(const cmd_args *args)
{
    return run(args, detokenize);
}

static const cmd_option tokenize_options[] = {
    CMD_TEXT_TOKENIZER,
    CMD_TEXT_MODEL,
    {"file", 'i', CMD_TEXT, "FILE", "Read the text from FILE (default: standard input).",
     false},
    {"special", 0, CMD_FLAG, NULL,
     "Add the tokens that the tokenizer puts around a text (BOS, EOS).", false},
    {"plain", 0, CMD_FLAG, NULL, "Treat special tokens in the text as ordinary text.",
     false},
    {"pieces", 'p', CMD_FLAG, NULL, "Show one line per token, with its text.", false},
    {"count", 'c', CMD_FLAG, NULL, "Show only the number of tokens.", false},
    {0},
};

const cmd_spec cmd_tokenize = {
    .name = "tokenize",
    .operands = "[TEXT]...",
    .max_operands = SIZE_MAX,
    .help = "Turn text into token ids.",
    .more =
        "The text is the operands joined by blanks, or a file or standard input as it is.",
    .options = tokenize_options,
    .run = run_tokenize,
};

static const cmd_option detokenize_options[] = {
    CMD_TEXT_TOKENIZER,
    CMD_TEXT_MODEL,
    {"file", 'i', CMD_TEXT, "FILE", "Read the ids from FILE (default: standard input).",
     false},
    {"skip-special", 's', CMD_FLAG, NULL, "Leave out special tokens.", false},
    {0},
};

const cmd_spec cmd_detokenize = {
    .name = "detokenize",
    .operands = "[ID]...",
    .max_operands = SIZE_MAX,
    .help = "Turn token ids into text.",
    .more = "Ids are separated by blanks, commas or brackets, so a JSON array works.",
    .options = detokenize_options,
    .run = run_detokenize,
};
