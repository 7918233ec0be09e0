/* Forms of recorded and sent bodies in which the two are equal when they say the same:
 * values that differ by chance are replaced by those of the recorder, protobuf fields are
 * in the order of their numbers, and named parts are left out. Thread: the test's. */
#ifndef SUPPORT_LEVELFIX_BODY_H
#define SUPPORT_LEVELFIX_BODY_H

#include "base/json.h"
#include "wire/value.h"

/* Words of `apart_from`, separated by spaces (NULL: none): members to leave out, at any
 * depth. */
const tk_json *levelfix_body_json(tk_arena *arena, const tk_json *body,
                                  const char *apart_from);

/* A ForwardBackwardRequest. Words: "model_input", and names of loss inputs, which are left
 * out of every datum. */
tk_bytes levelfix_body_pb(tk_arena *arena, const void *p, size_t n,
                          const char *apart_from);

#endif
