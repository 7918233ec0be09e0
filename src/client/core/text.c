/* Copies of caller's texts, checked, and the results that are one text. */
#include "client/core/text.h"

#include <tinkc/service.h>

#include "base/mem.h"
#include "base/utf8.h"

tinkc_code tk_text_copy(char **out, const char *text, const char *what, tk_err *err)
{
    if (text != NULL && !tk_utf8_is_valid(tk_str_of(text))) {
        return tk_err_set(err, TINKC_E_INVALID, "%s is not UTF-8", what);
    }
    char *copy = text != NULL ? tk_strdup(text) : NULL;
    if (text != NULL && copy == NULL) {
        return tk_err_nomem(err);
    }
    *out = copy;
    return TINKC_OK;
}

void tinkc_text_free(char **text)
{
    if (text != NULL) {
        tk_free(*text);
        *text = NULL;
    }
}

tinkc_code tk_text_wait(char **out, tinkc_future *future, tinkc_error **err)
{
    return tk_future_wait_take(out, future, TK_RESULT_TEXT, err);
}
