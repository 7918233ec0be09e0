/* Answers of a newer server, made from recorded ones: one unknown key, word or kind is put
 * into a body, at every place where one can be. The number alone says where and what, so a
 * case can be repeated.
 *
 * JSON is walked by its table (wire/schema.h), or by its objects alone when there is none;
 * protobuf by the description below. Thread: any. */
#ifndef SUPPORT_NEWER_H
#define SUPPORT_NEWER_H

#include "base/buf.h"
#include "wire/schema.h"

#define NEWER_WORD_TEXT "x-newer"

typedef enum newer_change {
    NEWER_KEY,   /* a member or field that we do not know */
    NEWER_WORD,  /* another value of an enumeration */
    NEWER_LABEL, /* another value of a member whose text is fixed */
    NEWER_KIND,  /* another kind of a union, or none */
    NEWER_CHANGES
} newer_change;

typedef struct newer_place {
    newer_change change;
    char what[64]; /* in words */
} newer_place;

/* A message in protobuf: which fields are messages, and which are enumerations. */
typedef struct newer_pb {
    struct {
        unsigned number;
        const struct newer_pb *sub; /* NULL: an enumeration */
    } fields[4];
    size_t n;
} newer_pb;

extern const newer_pb newer_pb_sample; /* SampleResponse */
extern const newer_pb newer_pb_output; /* ForwardBackwardOutput */

/* The number of cases, and case `k`: appended to `out`. `schema` may be NULL. */
size_t newer_json_count(const tk_schema *schema, const tk_json *json);
void newer_json(tk_buf *out, newer_place *place, const tk_schema *schema,
                const tk_json *json, size_t k);
size_t newer_pb_count(const newer_pb *message, tk_str body);
void newer_pb_put(tk_buf *out, newer_place *place, const newer_pb *message, tk_str body,
                  size_t k);

const char *newer_change_name(newer_change change);

#endif
