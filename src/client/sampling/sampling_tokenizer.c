/* tinkc_sampling_get_tokenizer: get_base_model says which model it is. And the text of a
 * continuation.
 * Needs: text */
#include "base/mem.h"
#include "client/hub/tokenizer_get.h"
#include "client/sampling/sampling.h"
#include "client/values/error.h"

static tinkc_code ask(tinkc_tokenizer **out, void *client,
                      const tinkc_tokenizer_options *options, tinkc_error **error)
{
    tinkc_sampling *sampling = client;
    tk_err err = TK_ERR_INIT;
    char *model = NULL;
    tinkc_code code = tinkc_sampling_get_base_model_wait(&model, sampling, error);
    if (code != TINKC_OK) {
        return code;
    }
    if (model[0] == '\0') {
        (void)tk_err_set(&err, TINKC_E_DECODE, "the server does not name the model");
        code = tk_error_give(error, &err);
    } else {
        tk_tokenizer_search what = {.handle = sampling->handle,
                                    .has_server = true,
                                    .model = model,
                                    .options = options};
        code = tk_tokenizer_get_search(out, &what, error);
    }
    tk_free(model);
    return code;
}

tinkc_code tinkc_sampling_get_tokenizer(tinkc_tokenizer **out, tinkc_sampling *sampling,
                                        const tinkc_tokenizer_options *options,
                                        tinkc_error **error)
{
    return tk_tokenizer_get_of_client(out, sampling != NULL ? sampling->handle : NULL,
                                      options, ask, sampling, error);
}

tinkc_code tinkc_samples_text(char **out, const tinkc_samples *samples, size_t index,
                              const tinkc_tokenizer *tokenizer, bool skip_special,
                              tinkc_error **error)
{
    size_t n = 0;
    const int32_t *tokens = tinkc_samples_tokens(&n, samples, index);
    if (index >= tinkc_samples_count(samples)) {
        return tk_error_tell(error, TINKC_E_MISSING, "there is no such continuation");
    }
    return tinkc_tokenizer_text(out, tokenizer, tokens, n, skip_special, error);
}
