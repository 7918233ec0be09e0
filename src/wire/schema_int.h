/* Shared by schema*.c only. */
#ifndef WIRE_SCHEMA_INT_H
#define WIRE_SCHEMA_INT_H

#include "wire/schema.h"

extern const tk_json tk_schema_empty_object; /* {} */

const void *tk_schema_list_get(const tk_field *field, const void *msg, size_t *n);
void tk_schema_list_set(const tk_field *field, void *msg, const void *p, size_t n);
void tk_schema_presence_set(const tk_field *field, void *msg, tk_presence presence);
void tk_schema_put_default(const tk_field *field, void *msg);

/* The members of an object in document order, of equal keys only the last. NULL when out
 * of memory; the caller frees the list with tk_free. */
TK_NODISCARD const tk_json_member **tk_schema_members(const tk_json *object,
                                                      size_t *n_out);

/* Hands an inner error to the caller's, with the message's name after its text. Returns
 * the code. */
tinkc_code tk_schema_report(tk_err *out, const tk_err *found, const char *name);

#endif
