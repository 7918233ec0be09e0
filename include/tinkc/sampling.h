/* Sampling client: an immutable handle; any number of threads may sample through it at
 * once without locking each other out. Prompts are encoded before the call returns.
 *
 * A handle is made by tinkc_service_create_sampling, or by a training client that saved
 * its weights. After its service was closed every call gives TINKC_E_CANCELLED. */
#ifndef TINKC_SAMPLING_H
#define TINKC_SAMPLING_H

#include <tinkc/service.h>

TINKC_BEGIN_DECLS

/* Unfinished samples go on. Sets *sampling to NULL; accepts NULL. */
TINKC_API void tinkc_sampling_close(tinkc_sampling **sampling);

/* "<session>:sample:<n>"; borrowed from the handle. NULL for NULL. */
TINKC_API const char *tinkc_sampling_session_id(const tinkc_sampling *sampling);

/* Name of the base model, as the server knows it. Result: tinkc_future_take_path. */
TINKC_API tinkc_future *tinkc_sampling_get_base_model(tinkc_sampling *sampling);

/* Blocking twin: the caller frees *out with tinkc_text_free. */
TINKC_API tinkc_code tinkc_sampling_get_base_model_wait(char **out,
                                                        tinkc_sampling *sampling,
                                                        tinkc_error **err);

TINKC_END_DECLS

#endif
