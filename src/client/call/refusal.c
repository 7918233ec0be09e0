/* The texts are those of the web frameworks that Tinker servers are made of: FastAPI answers
 * 422 to a body that is not JSON; if its bytes are not UTF-8 either, making that answer
 * fails, which gives a bare 500. */
#include "client/call/refusal.h"

#include <string.h>

#define SAID_MAX_BYTES 4096 /* as far as a body is searched */

/* Without blanks, in lower case. */
static const char *const format_texts[] = {
    "\"loc\":[\"body\"]", /* the body as a whole */
    "json_invalid",       "jsondecode",       "errorparsingthebody",
    "notvalidjson",       "invalidjson",      "expectedjson",
    "can'tdecodebyte",    "unsupportedmedia", "unsupportedcontent",
};

static size_t squeeze(char *out, size_t size, tk_str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.n && n + 1 < size; i++) {
        char c = text.p[i];
        if (c != ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\0') {
            out[n++] = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
        }
    }
    out[n] = '\0';
    return n;
}

static bool is_about_format(const char *said)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(format_texts); i++) {
        if (strstr(said, format_texts[i]) != NULL) {
            return true;
        }
    }
    return false;
}

tk_refusal tk_refusal_of(const tk_http_response *response)
{
    char said[SAID_MAX_BYTES];
    int status = response->failure == TK_HTTP_OK ? response->status : 0;
    if (status == 415) {
        return TK_REFUSAL_FORMAT;
    }
    if (status != 400 && status != 422 && status != 500) {
        return TK_REFUSAL_OTHER;
    }
    size_t n = squeeze(said, sizeof(said), response->body);
    if (is_about_format(said)) {
        return TK_REFUSAL_FORMAT;
    }
    bool is_mute = status == 500 && (n == 0 || strcmp(said, "internalservererror") == 0);
    return is_mute ? TK_REFUSAL_MUTE : TK_REFUSAL_OTHER;
}
