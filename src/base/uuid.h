/* Random identifiers (RFC 9562, version 4) as text. Thread: one per tk_rand. */
#ifndef BASE_UUID_H
#define BASE_UUID_H

#include "base/rand.h"
#include "base/str.h"

#define TK_UUID_TEXT_BYTES 37 /* 36 characters and a NUL */

void tk_uuid_make(char out[TK_UUID_TEXT_BYTES], tk_rand *rand); /* lower case */

#endif
