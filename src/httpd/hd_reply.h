/* Answers: each function sets the request's answer and returns HD_ANSWERED, so that a
 * handler can end in `return hd_reply_...(...)`. None can fail: without memory the
 * answer is a 500 of static bytes. The body of an error is the application's
 * (hd_request.refuse); without one it is the text. Thread: the one that has the request. */
#ifndef HTTPD_HD_REPLY_H
#define HTTPD_HD_REPLY_H

#include "base/err.h"
#include "httpd/hd_request.h"

#define HD_TYPE_JSON "application/json"
#define HD_TYPE_TEXT "text/plain; charset=utf-8"

/* Answers with static bytes. */
hd_verdict hd_reply_fixed(hd_request *request, int status, const char *type,
                          tk_str bytes);
/* Answers with the bytes of a blob, of which it takes one ownership. */
hd_verdict hd_reply_blob(hd_request *request, int status, const char *type,
                         hd_blob *blob);
/* Answers with what was written to `buf`, which is empty afterwards. */
hd_verdict hd_reply_buf(hd_request *request, int status, const char *type, tk_buf *buf);
hd_verdict hd_reply_empty(hd_request *request, int status);

/* Leaves of each absolute path in a text only its last part, in place: clients need not
 * know where the server keeps its files. A path ends at ": " or at the end of the text.
 * Every text of an error goes through it. */
void hd_reply_hide_paths(char *text);

/* Answers with an error of this text. Its code is TINKC_E_INVALID whatever the status. */
hd_verdict hd_reply_fail(hd_request *request, int status, const char *format, ...)
    TK_PRINTF(3, 4);

/* Answers 429: the server's memory is full. Every 429 has a Retry-After. */
hd_verdict hd_reply_busy(hd_request *request);

/* Answers that an allocation failed: hd_reply_busy when the budget refused memory of the
 * request, which another time may have, else 500. */
hd_verdict hd_reply_no_memory(hd_request *request);

/* Counts the file that the answer will hold open while it is sent; called before the file
 * is opened. Returns false, with 429 as the answer, when answers hold as many files as the
 * server has descriptors for. */
TK_NODISCARD bool hd_reply_hold_file(hd_request *request);

/* Answers with an error of the status that its code has: 422 when the body does not parse
 * or decode (TINKC_E_PARSE, DECODE, LIMIT: the path says where), 400 for other mistakes of
 * the client, 404 for what is missing, 429 when the server's memory is full, 500 for
 * failures of the server. */
hd_verdict hd_reply_error(hd_request *request, const tk_err *err);

/* Answers 422 about one field of the body or the query. */
hd_verdict hd_reply_field(hd_request *request, const char *field, const char *text);

/* Adds a header; `name` is static, `value` is copied. Returns false, and leaves it out,
 * beyond HD_HEADERS_MAX or without memory. */
bool hd_reply_header(hd_request *request, const char *name, const char *value);

#endif
