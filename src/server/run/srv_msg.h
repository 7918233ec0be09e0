/* Messages of src/wire in requests and answers. The functions that answer return
 * HD_ANSWERED, as those of hd_reply.h. Thread: the one that has the request. */
#ifndef SERVER_SRV_MSG_H
#define SERVER_SRV_MSG_H

#include "httpd/hd_reply.h"
#include "wire/schema.h"

/* How requests are decoded: what the server does not know would change the result, so it
 * is an error that names it. */
#define SRV_MSG_REQUEST ((unsigned)TK_DECODE_CLOSED | (unsigned)TK_DECODE_STRICT)

/* Decodes the JSON body; an empty body reads as {}. Returns false when the body is not
 * the message, or has a key that the message does not have: then the request is answered
 * (422). */
TK_NODISCARD bool srv_msg_decode(hd_request *request, const tk_schema *schema, void *msg);

/* The same, without regard to unknown keys: for what describes a session, which a newer
 * client may describe in more ways. */
TK_NODISCARD bool srv_msg_decode_open(hd_request *request, const tk_schema *schema,
                                      void *msg);

/* Returns whether a list of a message has the text. */
bool srv_msg_has(const tk_strs *list, tk_str text);

/* Answers 200 with the JSON form of a message. */
hd_verdict srv_msg_reply(hd_request *request, const tk_schema *schema, const void *msg);
/* Answers any status with the JSON form of a message. */
hd_verdict srv_msg_reply_status(hd_request *request, int status, const tk_schema *schema,
                                const void *msg);

#endif
