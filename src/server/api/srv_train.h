/* Routes of training: create_model, get_info, unload_model, forward_backward, forward,
 * optim_step. They decode, check and submit; the engine thread does the work. Thread: a
 * worker. */
#ifndef SERVER_SRV_TRAIN_H
#define SERVER_SRV_TRAIN_H

#include "base/err.h"
#include "engine/eng.h"
#include "httpd/hd_request.h"
#include "wire/msg_model.h"
#include "wire/msg_train.h"
#include "wire/msg_value.h"

struct srv;

hd_verdict srv_train_create_model(hd_request *request);
hd_verdict srv_train_get_info(hd_request *request);
hd_verdict srv_train_unload_model(hd_request *request);
hd_verdict srv_train_forward_backward(hd_request *request);
hd_verdict srv_train_forward(hd_request *request); /* legacy, JSON */
hd_verdict srv_train_optim_step(hd_request *request);

/* Reads the optimizer that a request asks for; AdamW when it names none. Returns false when
 * the server does not have it: then the request is answered (400, 422). */
TK_NODISCARD bool srv_train_read_optimizer(eng_optimizer *out, hd_request *request,
                                           const tk_f_optimizer_config *config);
/* The optimizer as an answer names it. */
tk_f_optimizer_config srv_train_optimizer_of(eng_optimizer optimizer);

/* Gives the tokens of an input as one array: a view of a single chunk, else a copy in the
 * arena. TINKC_E_INVALID for chunks that are not text. */
TK_NODISCARD tinkc_code srv_train_tokens(const int32_t **out, size_t *n_out,
                                         tk_arena *arena, const tk_model_input *input,
                                         tk_err *err);

/* Returns why models here cannot have this configuration, or NULL. */
const char *srv_train_blame_lora(const struct srv *server, const tk_lora_config *config);

/* Returns user_metadata as JSON, in the arena; empty when there is none. */
tk_str srv_train_metadata_of(hd_request *request, const tk_f_raw *raw);

#endif
