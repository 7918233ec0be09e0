/* Two small tokenizers of our own, as tokenizer.json: one of bytes, one of characters
 * with byte fallback. For tests and fuzz targets that need no real vocabulary. */
#ifndef SUPPORT_TOKFIX_H
#define SUPPORT_TOKFIX_H

#include "base/json.h"
#include "base/utf8.h"
#include "text/tok/tok_tables.h"

static inline void tokfix_added(tk_buf *out, int id, const char *content,
                                const char *more)
{
    tk_buf_printf(
        out, "%s{\"id\":%d,\"content\":\"%s\",\"special\":true,\"normalized\":false%s}",
        id > 300 ? "," : "", id, content, more);
}

/* Ids 0 to 255 are the bytes, then the merges, then <|a|> (301) and <|b|> (302), which
 * takes the white space around it. */
static inline void tokfix_bytes(tk_buf *out)
{
    static const char *const merges[][2] = {
        {"t", "h"}, {"th", "e"}, {"Ġ", "the"}, {"a", "a"}, {"aa", "aa"},
        {"i", "n"}, {"ä", "¸"},  {"ä¸", "Ń"},  {"Ã", "©"}, {"ä¸Ń", "ä¸Ń"}};
    tk_buf_puts(out, "{\"version\":\"1.0\",\"added_tokens\":[");
    tokfix_added(out, 300, "<|x|>", "");
    tokfix_added(out, 301, "<|a|>", "");
    tokfix_added(out, 302, "<|b|>", ",\"lstrip\":true,\"rstrip\":true");
    tk_buf_puts(out, "],\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":{\"type\":"
                     "\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true},"
                     "\"post_processor\":null,\"decoder\":{\"type\":\"ByteLevel\"},"
                     "\"model\":{\"type\":\"BPE\",\"vocab\":{");
    tk_json_writer w;
    int id = 0;
    for (; id < 256; id++) {
        char text[4];
        size_t n = tk_utf8_encode(text, tk_tok_utf8_of_byte((unsigned char)id));
        tk_json_writer_init(&w, out);
        tk_json_put_str(&w, (tk_str){text, n});
        tk_buf_printf(out, ":%d,", id);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(merges); i++) {
        tk_buf_printf(out, "%s\"%s%s\":%d", i > 0 ? "," : "", merges[i][0], merges[i][1],
                      id++);
    }
    tk_buf_puts(out, "},\"merges\":[");
    for (size_t i = 0; i < TK_ARRAY_LEN(merges); i++) {
        tk_buf_printf(out, "%s\"%s %s\"", i > 0 ? "," : "", merges[i][0], merges[i][1]);
    }
    tk_buf_puts(out, "]}}");
}

/* <unk>, the bytes but for 0x09, a few characters and merges; blanks are U+2581. */
static inline void tokfix_chars(tk_buf *out)
{
    static const char *const words[] = {"▁",    "a",  "b",    "t",  "h",
                                        "e",    "é",  "中",   "th", "the",
                                        "▁the", "aa", "aaaa", "▁▁", "▁a"};
    tk_buf_puts(
        out, "{\"version\":\"1.0\",\"added_tokens\":[],\"normalizer\":{\"type\":"
             "\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"▁\"},{"
             "\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"▁\"}]},"
             "\"pre_tokenizer\":null,\"post_processor\":null,\"decoder\":{\"type\":"
             "\"Sequence\",\"decoders\":[{\"type\":\"Replace\",\"pattern\":{\"String\":"
             "\"▁\"},\"content\":\" \"},{\"type\":\"ByteFallback\"},{\"type\":\"Fuse\"},"
             "{\"type\":\"Strip\",\"content\":\" \",\"start\":1,\"stop\":0}]},\"model\":"
             "{\"type\":\"BPE\",\"unk_token\":\"<unk>\",\"fuse_unk\":true,"
             "\"byte_fallback\":true,\"vocab\":{\"<unk>\":0");
    int id = 1;
    for (int b = 0; b < 256; b++) {
        if (b != 9) {
            tk_buf_printf(out, ",\"<0x%02X>\":%d", (unsigned)b, id++);
        }
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(words); i++) {
        tk_buf_printf(out, ",\"%s\":%d", words[i], id++);
    }
    tk_buf_puts(out, "},\"merges\":[\"t h\",\"th e\",\"▁ the\",\"a a\",\"aa aa\",\"▁ ▁\","
                     "\"▁ a\"]}}");
}

#endif
