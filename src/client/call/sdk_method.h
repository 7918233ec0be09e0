/* The name that the official SDK gives the public method of a REST request in the header
 * x-sdk-method (docs/protocol.md §1.4). Static data. Thread: any. */
#ifndef CLIENT_SDK_METHOD_H
#define CLIENT_SDK_METHOD_H

#include "client/call/endpoint.h"

/* Returns the name for a request to the endpoint by the operation (NULL: none), or NULL
 * when the SDK sends no such header with it. */
const char *tk_sdk_method_of(const tk_endpoint *endpoint, const char *operation);

#endif
