/* Results that are one text: paths and names. */
#ifndef CLIENT_TEXT_H
#define CLIENT_TEXT_H

#include "client/tk_future.h"

/* For blocking twins: waits, takes the text (allocated, freed with tinkc_text_free),
 * frees the future. */
tinkc_code tk_text_wait(char **out, tinkc_future *future, tinkc_error **err);

#endif
