/* Without tokenizers there are no chats. */
#include "httpd/hd_reply.h"
#include "server/api/srv_gateway.h"
#include "server/run/srv_refuse.h"

tinkc_code srv_gateway_new(srv_gateway **out, srv *server, tk_err *err)
{
    (void)server;
    (void)err;
    *out = NULL;
    return TINKC_OK;
}

void srv_gateway_free(srv_gateway *gateway)
{
    (void)gateway;
}

bool srv_gateway_list(srv_gateway *gateway, con_episodes *out, tk_arena *arena)
{
    (void)gateway;
    (void)arena;
    *out = (con_episodes){0};
    return true;
}

hd_verdict srv_gateway_handle(hd_request *request)
{
    return hd_reply_fail(request, 404, "this server was built without tokenizers");
}

void srv_gateway_refuse(hd_request *request, int status, const tk_err *err)
{
    srv_refuse(request, status, err);
}
