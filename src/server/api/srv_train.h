/* Routes forward_backward, forward and optim_step: decode, check, submit. */
#ifndef SERVER_SRV_TRAIN_H
#define SERVER_SRV_TRAIN_H

#include "server/http/srv_request.h"

srv_verdict srv_train_forward_backward(srv *server, srv_request *request);
srv_verdict srv_train_forward(srv *server, srv_request *request); /* legacy, JSON */
srv_verdict srv_train_optim_step(srv *server, srv_request *request);

#endif
