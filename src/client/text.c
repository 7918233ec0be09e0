/* See text.h. */
#include "client/text.h"

#include <tinkc/service.h>

#include "base/mem.h"

tinkc_code tinkc_future_take_path(char **out, tinkc_future *future, tinkc_error **err)
{
    return tk_future_take(out, future, TK_RESULT_TEXT, err);
}

void tinkc_text_free(char *text)
{
    tk_free(text);
}

tinkc_code tk_text_wait(char **out, tinkc_future *future, tinkc_error **err)
{
    return tk_future_wait_take(out, future, TK_RESULT_TEXT, err);
}
