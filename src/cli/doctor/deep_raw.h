/* Requests by hand for `tinkc doctor --deep`: what the library never does on purpose, such
 * as the same request twice. */
#ifndef CLI_DEEP_RAW_H
#define CLI_DEEP_RAW_H

#include "cli/doctor/deep.h"

#define DEEP_ID_BYTES 128

/* Sends a body to "/api/v1/NAME" with this idempotency key and reads the id of the future
 * from the answer; *status is the HTTP status. Returns false when there was no usable
 * answer: then id is "", and *status is 0 when no answer came at all. */
bool deep_raw_submit(deep *d, const char *name, const char *body, const char *key,
                     char id[DEEP_ID_BYTES], int *status);

/* Asks for the result of a future until it is there and copies its member `path`, unless
 * `path` is NULL. Returns false when the work failed or did not end in time. */
bool deep_raw_finish(deep *d, const char *id, char path[DEEP_TEXT_BYTES]);

#endif
