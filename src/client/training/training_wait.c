/* The blocking twins of the training operations: each is its operation, a wait and a
 * take. */
#include <tinkc/training.h>

#include "base/mem.h"
#include "client/core/text.h"
#include "client/future/tk_future.h"
#include "client/training/training.h"
#include "client/training/training_result.h"

tinkc_code tinkc_training_forward_wait(tinkc_fwdbwd **out, tinkc_training *training,
                                       tinkc_datum *const *data, size_t n,
                                       const char *loss,
                                       const tinkc_fwdbwd_options *options,
                                       tinkc_error **err)
{
    return tk_future_wait_take(out,
                               tinkc_training_forward(training, data, n, loss, options),
                               TK_RESULT_FWDBWD, err);
}

tinkc_code tinkc_training_forward_backward_wait(
    tinkc_fwdbwd **out, tinkc_training *training, tinkc_datum *const *data, size_t n,
    const char *loss, const tinkc_fwdbwd_options *options, tinkc_error **err)
{
    return tk_future_wait_take(
        out, tinkc_training_forward_backward(training, data, n, loss, options),
        TK_RESULT_FWDBWD, err);
}

tinkc_code tinkc_training_forward_backward_custom_wait(tinkc_fwdbwd **out,
                                                       tinkc_training *training,
                                                       tinkc_datum *const *data, size_t n,
                                                       tinkc_custom_loss_fn fn,
                                                       void *user, tinkc_error **err)
{
    return tk_future_wait_take(
        out, tinkc_training_forward_backward_custom(training, data, n, fn, user),
        TK_RESULT_FWDBWD, err);
}

tinkc_code tinkc_training_optim_step_with_wait(tinkc_metrics **out,
                                               tinkc_training *training,
                                               const tinkc_optim_params *params,
                                               tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_training_optim_step_with(training, params),
                               TK_RESULT_METRICS, err);
}

tinkc_code tinkc_training_optim_step_wait(tinkc_metrics **out, tinkc_training *training,
                                          const tinkc_adam_params *adam,
                                          tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_training_optim_step(training, adam),
                               TK_RESULT_METRICS, err);
}

tinkc_code tinkc_training_save_state_wait(char **out, tinkc_training *training,
                                          const char *name,
                                          const tinkc_save_options *options,
                                          tinkc_error **err)
{
    return tk_text_wait(out, tinkc_training_save_state(training, name, options), err);
}

tinkc_code tinkc_training_save_weights_for_sampler_wait(char **out,
                                                        tinkc_training *training,
                                                        const char *name,
                                                        const tinkc_save_options *options,
                                                        tinkc_error **err)
{
    return tk_text_wait(
        out, tinkc_training_save_weights_for_sampler(training, name, options), err);
}

tinkc_code tinkc_training_save_weights_external_wait(char **out, tinkc_training *training,
                                                     const char *name,
                                                     const tinkc_save_options *options,
                                                     tinkc_error **err)
{
    return tk_text_wait(
        out, tinkc_training_save_weights_external(training, name, options), err);
}

tinkc_code tinkc_training_get_info_wait(tinkc_model_info **out, tinkc_training *training,
                                        tinkc_error **err)
{
    return tk_future_wait_take(out, tinkc_training_get_info(training),
                               TK_RESULT_MODEL_INFO, err);
}

tinkc_code tinkc_service_create_training_wait(tinkc_training **out,
                                              tinkc_service *service,
                                              const char *base_model,
                                              const tinkc_lora_config *lora,
                                              tinkc_error **err)
{
    return tk_future_wait_take(out,
                               tinkc_service_create_training(service, base_model, lora),
                               TK_RESULT_TRAINING, err);
}

tinkc_code tinkc_service_create_training_from_state_wait(
    tinkc_training **out, tinkc_service *service, const char *path,
    const tinkc_from_state_options *options, tinkc_error **err)
{
    return tk_future_wait_take(
        out, tinkc_service_create_training_from_state(service, path, options),
        TK_RESULT_TRAINING, err);
}

tinkc_code tinkc_training_load_state_wait(tinkc_training *training, const char *path,
                                          bool with_optimizer, const char *token,
                                          tinkc_error **err)
{
    return tk_future_wait_take(
        NULL, tinkc_training_load_state(training, path, with_optimizer, token),
        TK_RESULT_NONE, err);
}

tinkc_code tinkc_training_unload_wait(tinkc_training *training, tinkc_error **err)
{
    return tk_future_wait_take(NULL, tinkc_training_unload(training), TK_RESULT_NONE,
                               err);
}
