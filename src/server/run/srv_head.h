/* The headers of the Tinker API (docs/protocol.md §1), read from a request of the HTTP
 * front. Thread: the one that has the request. */
#ifndef SERVER_SRV_HEAD_H
#define SERVER_SRV_HEAD_H

#include "httpd/hd_request.h"

#define SRV_TYPE_PROTO "application/x-protobuf"

/* Names of which a request has at most one (hd_http_config.single). */
extern const char *const srv_head_single[];

/* Checks the head of a request (hd_http_config.on_head): a token for weights must be a key
 * of this server, an idempotency key must not be too long. Answers and returns false if
 * not. */
bool srv_head_check(hd_request *request);

/* Returns X-Idempotency-Key, or an empty string. It is there as long as a header is. */
tk_str srv_head_key(const hd_request *request);

bool srv_head_sends_proto(const hd_request *request); /* Content-Type is protobuf */
bool srv_head_wants_proto(const hd_request *request); /* Accept names protobuf */

#endif
