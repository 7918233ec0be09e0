/* Answers: each function sets the request's answer and returns SRV_ANSWERED, so that a
 * handler can end in `return srv_reply_...(...)`. None can fail: without memory the
 * answer is a fixed 500. Thread: the one that has the request. */
#ifndef SERVER_SRV_REPLY_H
#define SERVER_SRV_REPLY_H

#include "base/err.h"
#include "server/http/srv_request.h"

#define SRV_TYPE_JSON  "application/json"
#define SRV_TYPE_PROTO "application/x-protobuf"

/* Answers with static bytes. */
srv_verdict srv_reply_fixed(srv_request *request, int status, const char *type,
                            tk_str bytes);
/* Answers with the bytes of a blob, of which it takes one ownership. */
srv_verdict srv_reply_blob(srv_request *request, int status, const char *type,
                           srv_blob *blob);
/* Answers with what was written to `buf`, which is empty afterwards. */
srv_verdict srv_reply_buf(srv_request *request, int status, const char *type,
                          tk_buf *buf);
srv_verdict srv_reply_empty(srv_request *request, int status);

/* Leaves of each absolute path in a text only its last part, in place: clients need not
 * know where the server keeps its files. A path ends at ": " or at the end of the text.
 * Every text of an error goes through it. */
void srv_reply_hide_paths(char *text);

/* Answers {"detail": text}. */
srv_verdict srv_reply_fail(srv_request *request, int status, const char *format, ...)
    TK_PRINTF(3, 4);

/* Answers 429: the server's memory is full. Every 429 has a Retry-After. */
srv_verdict srv_reply_busy(srv_request *request);

/* Counts the file that the answer will hold open while it is sent; called before the file
 * is opened. Returns false, with 429 as the answer, when answers hold as many files as the
 * server has descriptors for. */
TK_NODISCARD bool srv_reply_hold_file(srv_request *request);

/* Answers {"detail": ...} for an error: 422 with a list of places when the body does not
 * parse or decode, 400 for other mistakes of the client, 404 for what is missing, 429
 * when the server's memory is full, 500 for failures of the server. */
srv_verdict srv_reply_error(srv_request *request, const tk_err *err);

/* Answers 422 about one field of the body or the query. */
srv_verdict srv_reply_field(srv_request *request, const char *field, const char *text);

/* Adds a header; `name` is static, `value` is copied. Returns false, and leaves it out,
 * beyond SRV_HEADERS_MAX or without memory. */
bool srv_reply_header(srv_request *request, const char *name, const char *value);

#endif
