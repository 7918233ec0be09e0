/* Messages of src/wire in requests and answers. The functions that answer return
 * SRV_ANSWERED, as those of srv_reply.h. Thread: the one that has the request. */
#ifndef SERVER_SRV_MSG_H
#define SERVER_SRV_MSG_H

#include "server/http/srv_reply.h"
#include "wire/schema.h"

/* Decodes the JSON body; an empty body reads as {}. Returns false when the body is not
 * the message: then the request is answered (422). */
TK_NODISCARD bool srv_msg_decode(srv_request *request, const tk_schema *schema,
                                 void *msg);

/* The same; a key that the message does not have is an error too, which names it. For
 * requests in which every key changes the result. */
TK_NODISCARD bool srv_msg_decode_strict(srv_request *request, const tk_schema *schema,
                                        void *msg);

/* Decodes one member of the JSON body, in which no key may be unknown. Returns false as
 * srv_msg_decode does. */
TK_NODISCARD bool srv_msg_decode_member(srv_request *request, const tk_schema *schema,
                                        const char *key, void *msg);

/* Answers 200 with the JSON form of a message. */
srv_verdict srv_msg_reply(srv_request *request, const tk_schema *schema, const void *msg);
/* Answers any status with the JSON form of a message. */
srv_verdict srv_msg_reply_status(srv_request *request, int status,
                                 const tk_schema *schema, const void *msg);

#endif
