/* Uploads an adapter that was trained elsewhere: a directory in PEFT's format becomes a
 * checkpoint of external weights, from which can be sampled and trained. Servers of the
 * level of the official SDK 0.39. The function blocks; thread: any but the loop's. */
#ifndef TINKC_UPLOAD_H
#define TINKC_UPLOAD_H

#include <tinkc/service.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_upload_options {
    size_t size;
    const char *base_model; /* NULL: base_model_name_or_path of adapter_config.json */
    const char *project_id; /* that owns the checkpoint; NULL: option project_id */
} tinkc_upload_options;

#define TINKC_UPLOAD_OPTIONS_INIT                                                        \
    {                                                                                    \
        sizeof(tinkc_upload_options), NULL, NULL                                         \
    }

/* Sets *options to TINKC_UPLOAD_OPTIONS_INIT. */
TINKC_API void tinkc_upload_options_init(tinkc_upload_options *options);

/* Uploads adapter_config.json and adapter_model.safetensors of `directory`, reading them
 * while they are sent. Rank and trained parts are read from them; the server checks
 * everything else. *out (unless NULL) is the path of the checkpoint, which the caller owns
 * (tinkc_text_free). TINKC_E_INVALID without a directory, for files that are not an
 * adapter, or without a base model; TINKC_E_MISSING and TINKC_E_IO for files that cannot
 * be read; TINKC_E_LIMIT for an adapter_config.json above 4 MiB or a header of the weights
 * above 64 MiB; TINKC_E_UNSUPPORTED when the server wants other files; TINKC_E_STATE for a
 * NULL service or on the loop's thread; otherwise the error of a request. */
TINKC_API tinkc_code tinkc_upload_adapter(char **out, tinkc_service *service,
                                          const char *directory,
                                          const tinkc_upload_options *options,
                                          tinkc_error **err);

TINKC_END_DECLS

#endif
