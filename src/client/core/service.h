/* The inside of tinkc_service, for the clients that are made from it and for tests. */
#ifndef CLIENT_SERVICE_H
#define CLIENT_SERVICE_H

#include <tinkc/service.h>

#include "client/core/core.h"

/* Borrowed. */
tk_handle *tk_service_handle(const tinkc_service *service);
tk_core *tk_service_core(const tinkc_service *service);

/* As tinkc_service_open, with seams. */
TK_NODISCARD tinkc_code tk_service_open(tinkc_service **out, const tinkc_config *config,
                                        const tk_core_seams *seams, tk_err *err);

/* Returns the future of a call on a NULL handle. */
tinkc_future *tk_service_none(const char *operation, tk_result_kind kind);

#endif
