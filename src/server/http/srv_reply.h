/* Answers: each function sets the request's answer and returns SRV_ANSWERED, so that a
 * handler can end in `return srv_reply_...(...)`. None can fail: without memory the
 * answer is a fixed 500. Thread: whoever has the request. */
#ifndef SERVER_SRV_REPLY_H
#define SERVER_SRV_REPLY_H

#include "server/http/srv_request.h"

#define SRV_TYPE_JSON  "application/json"
#define SRV_TYPE_PROTO "application/x-protobuf"

/* 200 with the JSON form of a message. */
srv_verdict srv_reply_msg(srv_request *request, const tk_schema *schema, const void *msg);
/* Any status with the JSON form of a message. */
srv_verdict srv_reply_msg_status(srv_request *request, int status,
                                 const tk_schema *schema, const void *msg);
/* Bytes that live for ever, or in a blob (of which it takes one ownership). */
srv_verdict srv_reply_fixed(srv_request *request, int status, const char *type,
                            tk_str bytes);
srv_verdict srv_reply_blob(srv_request *request, int status, const char *type,
                           srv_blob *blob);
/* What was written to `buf`, which is empty afterwards. */
srv_verdict srv_reply_buf(srv_request *request, int status, const char *type,
                          tk_buf *buf);
srv_verdict srv_reply_empty(srv_request *request, int status);

/* {"detail": text} */
srv_verdict srv_reply_fail(srv_request *request, int status, const char *format, ...)
    TK_PRINTF(3, 4);

/* {"detail": ...} of an internal error: 422 with a list of places for a body that does
 * not parse or decode, 400 for what it says, 500 for what is our fault. */
srv_verdict srv_reply_error(srv_request *request, const tk_err *err);

/* `name` is static, `value` is copied. Beyond SRV_HEADERS_MAX or without memory it is
 * left out: false. */
bool srv_reply_header(srv_request *request, const char *name, const char *value);

#endif
