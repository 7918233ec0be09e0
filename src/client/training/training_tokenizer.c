/* tinkc_training_get_tokenizer: get_info says which model and tokenizer it is.
 * Needs: text */
#include "client/hub/tokenizer_get.h"
#include "client/training/training.h"
#include "client/training/training_result.h"
#include "client/values/error.h"

static tinkc_code ask(tinkc_tokenizer **out, void *client,
                      const tinkc_tokenizer_options *options, tinkc_error **error)
{
    tinkc_training *training = client;
    tk_err err = TK_ERR_INIT;
    tinkc_model_info *info = NULL;
    tinkc_code code = tinkc_training_get_info_wait(&info, training, error);
    if (code != TINKC_OK) {
        return code;
    }
    tk_tokenizer_search what = {.handle = training->handle,
                                .has_server = true,
                                .model = tinkc_model_info_model_name(info),
                                .server_id = tk_training_info_tokenizer(info),
                                .options = options};
    if (what.model == NULL && what.server_id == NULL) {
        (void)tk_err_set(&err, TINKC_E_DECODE,
                         "the server names neither the model nor its tokenizer");
        code = tk_error_give(error, &err);
    } else {
        what.model = what.model != NULL ? what.model : what.server_id;
        code = tk_tokenizer_get_search(out, &what, error);
    }
    tinkc_model_info_free(&info);
    return code;
}

tinkc_code tinkc_training_get_tokenizer(tinkc_tokenizer **out, tinkc_training *training,
                                        const tinkc_tokenizer_options *options,
                                        tinkc_error **error)
{
    return tk_tokenizer_get_of_client(out, training != NULL ? training->handle : NULL,
                                      options, ask, training, error);
}
