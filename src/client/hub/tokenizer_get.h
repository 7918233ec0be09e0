/* What every tinkc_..._get_tokenizer does first and last. What a handle knows about its
 * model is asked in the room of the handle (training_tokenizer.c, sampling_tokenizer.c).
 * Blocking; thread: the caller's, which must not be the loop's. */
#ifndef CLIENT_TOKENIZER_GET_H
#define CLIENT_TOKENIZER_GET_H

#include "client/hub/tokenizer_lookup.h"

/* Completes the caller's options into *out and checks the call. `handle` NULL: there is
 * none. TINKC_E_INVALID: no place for the result, bad options; TINKC_E_STATE: on the
 * loop's thread. */
TK_NODISCARD tinkc_code tk_tokenizer_get_prepare(tinkc_tokenizer_options *out,
                                                 tinkc_tokenizer **result,
                                                 tk_handle *handle,
                                                 const tinkc_tokenizer_options *options,
                                                 tk_err *err);

/* Finds the tokenizer of a training or sampling client; `handle` NULL: the client is.
 * When the options name a tokenizer or a directory, that one; else the server has to be
 * asked which model it is, which is what `ask` does: it ends with
 * tk_tokenizer_get_search. */
tinkc_code tk_tokenizer_get_of_client(
    tinkc_tokenizer **out, tk_handle *handle, const tinkc_tokenizer_options *options,
    tinkc_code (*ask)(tinkc_tokenizer **out, void *client,
                      const tinkc_tokenizer_options *options, tinkc_error **error),
    void *client, tinkc_error **error);

/* Searches and makes the public object. The caller owns *out. */
tinkc_code tk_tokenizer_get_search(tinkc_tokenizer **out, const tk_tokenizer_search *what,
                                   tinkc_error **error);

#endif
