/* Reads headers where they are needed; only what is wrong with one is found at once. */
#include "server/run/srv_head.h"

#include <string.h>

#include "httpd/hd_guard.h"
#include "httpd/hd_reply.h"
#include "server/run/srv_state.h"

#define KEY "X-Idempotency-Key"

const char *const srv_head_single[] = {KEY, NULL};

/* The only account is that of the server's key. */
static bool is_key(const srv *server, tk_str token)
{
    const hd_guard guard = {.api_key = server->api_key};
    return hd_guard_takes(&guard, token);
}

bool srv_head_check(hd_request *request)
{
    tk_str token = hd_request_header(request, "X-Tinker-Weights-Access-Token");
    if (token.n > 0 && !is_key(request->app, token)) {
        (void)hd_reply_fail(request, 403,
                            "X-Tinker-Weights-Access-Token: not a key of this server");
        return false;
    }
    if (srv_head_key(request).n > TK_SRV_ID_BYTES) {
        (void)hd_reply_fail(request, 400, KEY " is too long");
        return false;
    }
    return true;
}

tk_str srv_head_key(const hd_request *request)
{
    return hd_request_header(request, KEY);
}

static bool contains(tk_str text, const char *word)
{
    size_t n = strlen(word);
    for (size_t i = 0; i + n <= text.n; i++) {
        if (tk_str_is_nocase((tk_str){text.p + i, n}, word)) {
            return true;
        }
    }
    return false;
}

bool srv_head_sends_proto(const hd_request *request)
{
    return contains(hd_request_header(request, "Content-Type"), SRV_TYPE_PROTO);
}

bool srv_head_wants_proto(const hd_request *request)
{
    return contains(hd_request_header(request, "Accept"), SRV_TYPE_PROTO);
}
