/* Reading of files and standard input, the lookup of tokenizers, and output of text in
 * quotes or in one line.
 * Needs: text */
#include "cli/frame/cmd_text.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/frame/cmd_json.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_service.h"

bool cmd_text_read(tk_buf *out, const char *path)
{
    bool is_stdin = path == NULL || strcmp(path, "-") == 0;
    FILE *file = is_stdin ? stdin : fopen(path, "rb");
    if (file == NULL) {
        tk_err err = TK_ERR_INIT;
        (void)tk_err_sys(&err, errno, "cannot open %s", path);
        (void)cmd_fail("%s", err.message);
        return false;
    }
    bool ok = true;
    for (size_t n = 1; ok && n > 0;) {
        char *room = tk_buf_reserve(out, 64 * TK_KIB);
        ok = room != NULL;
        n = ok ? fread(room, 1, 64 * TK_KIB, file) : 0;
        if (ok) {
            tk_buf_advance(out, n);
        }
    }
    bool is_bad = ferror(file) != 0;
    if (!is_stdin) {
        fclose(file);
    }
    if (!ok || is_bad) {
        (void)cmd_fail(is_bad ? "cannot read %s" : "%s is too large",
                       is_stdin ? "standard input" : path);
    }
    return ok && !is_bad;
}

/* Opens the service. Leaves *service NULL when no key and no server is configured: caches
 * and the hub need none. */
static int open_service(tinkc_service **service, const cmd_args *args)
{
    tinkc_config *config = NULL;
    tinkc_error *error = NULL;
    int result = cmd_service_config(&config, args, CMD_BRIEF);
    if (result != CMD_OK) {
        return result;
    }
    tinkc_code code = tinkc_service_open(service, config, &error);
    tinkc_config_free(&config);
    bool is_named = cmd_has(args, "base-url") || cmd_has(args, "api-key");
    if (code != TINKC_OK && (code != TINKC_E_CONFIG || is_named)) {
        result = cmd_fail_error(&error, NULL);
        cmd_service_end(NULL, result);
        return result;
    }
    tinkc_error_free(&error);
    return CMD_OK;
}

static int find_model(tinkc_tokenizer **out, const cmd_args *args, const char *model)
{
    tinkc_service *service = NULL;
    tinkc_error *error = NULL;
    int result = open_service(&service, args);
    if (result != CMD_OK) {
        return result;
    }
    if (tinkc_service_get_tokenizer(out, service, model, NULL, &error) != TINKC_OK) {
        result = cmd_fail_error(&error, NULL);
    }
    cmd_service_end(&service, result);
    return result;
}

int cmd_text_tokenizer(tinkc_tokenizer **out, const cmd_args *args)
{
    const char *path = cmd_text(args, "tokenizer", NULL);
    const char *model = cmd_text(args, "model", NULL);
    tinkc_error *error = NULL;
    if ((path != NULL) == (model != NULL)) {
        return cmd_bad_usage(args, path != NULL
                                       ? "Give --tokenizer or --model, not both."
                                       : "Missing option '--tokenizer' or '--model'.");
    }
    if (model != NULL) {
        return find_model(out, args, model);
    }
    return tinkc_tokenizer_load(out, path, &error) == TINKC_OK
               ? CMD_OK
               : cmd_fail_error(&error, NULL);
}

static bool is_between(char c)
{
    return memchr(" ,\t\r\n[]", c, 7) != NULL;
}

bool cmd_text_ids(int32_t **out, size_t *n, tk_str *bad, tk_str text)
{
    int32_t *ids = tk_array(text.n / 2 + 1, sizeof(*ids));
    size_t count = 0;
    *bad = (tk_str){NULL, 0};
    for (size_t i = 0; ids != NULL && i < text.n;) {
        size_t begin = i;
        int64_t id = -1;
        while (i < text.n && !is_between(text.p[i])) {
            i++;
        }
        tk_str word = {text.p + begin, i - begin};
        if (word.n == 0) {
            i++;
        } else if (tk_str_to_i64(word, &id) && id >= 0 && id <= INT32_MAX) {
            ids[count++] = (int32_t)id;
        } else {
            *bad = word;
            tk_free(ids);
            return false;
        }
    }
    *out = ids;
    *n = count;
    return ids != NULL;
}

void cmd_text_put_json(const char *text, size_t n)
{
    tk_buf buf, out;
    tk_json_writer w;
    tk_buf_init(&buf, TK_GIB);
    tk_buf_init(&out, 8 * TK_GIB);
    tk_json_writer_init(&w, &buf);
    tk_json_put_str(&w, (tk_str){text, n});
    if (tk_json_finish(&w, NULL) == TINKC_OK) {
        cmd_json_layout(&out, tk_buf_str(&buf), false); /* ASCII: every terminal has it */
    }
    if (out.n > 0 && out.failure == TINKC_OK) {
        cmd_print_bytes(out.p, out.n);
    } else {
        cmd_print(stdout, "null");
    }
    tk_buf_dispose(&out);
    tk_buf_dispose(&buf);
}

void cmd_text_put_visible(const char *text, size_t n)
{
    tk_buf out;
    tk_buf_init(&out, TK_GIB);
    for (size_t i = 0; i < n;) {
        unsigned char byte = (unsigned char)text[i];
        uint32_t c = byte;
        size_t length = tk_utf8_decode(&c, text + i, n - i);
        if (byte == '\n' || byte == '\t' || byte == '\r') {
            tk_buf_printf(&out, "\\%c", byte == '\n' ? 'n' : byte == '\t' ? 't' : 'r');
        } else if (length == 0 || (length == 1 && tk_utf8_is_control(c))) {
            tk_buf_printf(&out, "\\x%02x", byte);
        } else if (tk_utf8_is_control(c)) {
            tk_buf_printf(&out, "\\u%04x", (unsigned)c);
        } else {
            tk_buf_put(&out, text + i, length);
        }
        i += TK_MAX(length, (size_t)1);
    }
    cmd_print(stdout, TK_STR_FMT, TK_STR_ARG(tk_buf_str(&out)));
    tk_buf_dispose(&out);
}
