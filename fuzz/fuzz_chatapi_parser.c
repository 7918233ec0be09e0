/* Answers of models, taken apart by every family: fed at once, in bytes and cut in the
 * middle gives the same events, every byte is accounted for once, and what comes out can
 * be written as a message. The first byte chooses the family; the bytes 1 and 2 are around
 * special tokens.
 * Links: chatapi text */
#include "chatapi/ca_parse.h"
#include "fuzz.h"
#include "support/cafix.h"

static const char tools[] =
    "[{\"function\": {\"name\": \"f\", \"parameters\": {\"properties\": {\"a\": {\"type\": "
    "\"integer\"}, \"b\": {\"type\": [\"object\", \"array\", \"null\"]}, \"c\": {\"type\": "
    "\"boolean\"}}}}}]";

static ca_parser_config config_of(uint8_t choice, tk_arena *arena)
{
    ca_parser_config config = {.look_for_calls = (choice & 32) == 0,
                               .starts_thinking = (choice & 16) != 0};
    config.format.tools = (ca_tools)(choice % 16 % (CA_TOOLS_DSML + 1));
    config.format.think_open = TK_STR("<think>");
    config.format.think_close = TK_STR("</think>");
    if (tk_json_parse(&config.tools, arena, tools, sizeof(tools) - 1, NULL, NULL) !=
        TINKC_OK) {
        fuzz_fail("the tools");
    }
    return config;
}

/* The message is JSON, and so are the arguments of its calls. */
static void check_message(const ca_parser_config *config, tk_str text)
{
    ca_parser *parser = NULL;
    tk_buf out;
    tk_arena arena;
    const tk_json *message = NULL;
    tk_arena_init(&arena, 0);
    tk_buf_init(&out, 64 * TK_MIB);
    if (ca_parser_new(&parser, config, NULL) != TINKC_OK ||
        ca_parser_feed(parser, text, false, NULL) != TINKC_OK ||
        ca_parser_finish(parser, NULL) != TINKC_OK) {
        fuzz_fail("a code");
    }
    const ca_output *output = ca_parser_output(parser);
    bool is_text = tk_utf8_is_valid(tk_buf_str(&output->text)) &&
                   tk_utf8_is_valid(tk_buf_str(&output->reasoning));
    ca_output_write(&out, output, NULL);
    if ((out.failure == TINKC_OK) != is_text) {
        fuzz_fail("writing");
    }
    if (is_text) {
        if (tk_json_parse(&message, &arena, out.p, out.n, NULL, NULL) != TINKC_OK) {
            fuzz_fail("the message is not JSON");
        }
        tk_buf_clear(&out);
        ca_call_canonical(&out, message, false);
        if (out.failure != TINKC_OK) {
            fuzz_fail("canonical");
        }
    }
    tk_buf_dispose(&out);
    tk_arena_dispose(&arena);
    ca_parser_free(parser);
}

int fuzz_record(const uint8_t *data, size_t size)
{
    if (size < 2) {
        return 0;
    }
    tk_arena arena;
    tk_arena_init(&arena, 0);
    ca_parser_config config = config_of(data[0], &arena);
    tk_str script = {(const char *)data + 1, size - 1};
    const size_t cuts[] = {CAFIX_BYTES, script.n / 2 + 1, 1};
    bool malformed = false;
    cafix whole;
    const char *wrong = cafix_run(&whole, &config, script, CAFIX_WHOLE, &malformed);
    for (size_t i = 0; i < TK_ARRAY_LEN(cuts) && wrong == NULL; i++) {
        wrong = cafix_same(&whole, &config, script, cuts[i]);
    }
    if (wrong != NULL) {
        fuzz_fail(wrong);
    }
    cafix_dispose(&whole);
    check_message(&config, script);
    tk_arena_dispose(&arena);
    return 0;
}
