/* Between the schemas of src/wire and the bytes of src/httpd. */
#include "server/run/srv_msg.h"

static bool decode(hd_request *request, const tk_schema *schema, void *msg,
                   unsigned flags)
{
    tk_err err = TK_ERR_INIT;
    tk_str text = request->body.n > 0 ? tk_buf_str(&request->body) : TK_STR("{}");
    if (tk_schema_decode_text(msg, schema, &request->arena, text, flags, &err) !=
        TINKC_OK) {
        (void)hd_reply_error(request, &err);
        return false;
    }
    return true;
}

bool srv_msg_decode(hd_request *request, const tk_schema *schema, void *msg)
{
    return decode(request, schema, msg, SRV_MSG_REQUEST);
}

bool srv_msg_decode_open(hd_request *request, const tk_schema *schema, void *msg)
{
    return decode(request, schema, msg, TK_DECODE_CLOSED);
}

bool srv_msg_has(const tk_strs *list, tk_str text)
{
    for (size_t i = 0; i < list->n; i++) {
        if (tk_str_eq(list->p[i], text)) {
            return true;
        }
    }
    return false;
}

hd_verdict srv_msg_reply_status(hd_request *request, int status, const tk_schema *schema,
                                const void *msg)
{
    tk_err err = TK_ERR_INIT;
    tk_buf buf;
    tk_buf_init_quota(&buf, TK_SRV_BODY_SAMPLE_BYTES, hd_request_quota(request));
    if (tk_schema_encode(&buf, schema, msg, &err) != TINKC_OK) {
        bool full = buf.failure == TINKC_E_RATE_LIMIT;
        tk_buf_dispose(&buf);
        return full ? hd_reply_busy(request)
                    : hd_reply_fail(request, 500, "answer cannot be written: %s",
                                    err.message);
    }
    return hd_reply_buf(request, status, HD_TYPE_JSON, &buf);
}

hd_verdict srv_msg_reply(hd_request *request, const tk_schema *schema, const void *msg)
{
    return srv_msg_reply_status(request, 200, schema, msg);
}
