/* Texts of the caller, and results that are one text: paths and names. */
#ifndef CLIENT_TEXT_H
#define CLIENT_TEXT_H

#include "client/future/tk_future.h"

/* A copy of a text that will be sent, NULL of NULL; the caller owns *out.
 * TINKC_E_INVALID when it is not UTF-8: `what` names it. Thread: any. */
TK_NODISCARD tinkc_code tk_text_copy(char **out, const char *text, const char *what,
                                     tk_err *err);

/* For blocking twins: waits, takes the text (allocated, freed with tinkc_text_free),
 * frees the future. */
tinkc_code tk_text_wait(char **out, tinkc_future *future, tinkc_error **err);

#endif
