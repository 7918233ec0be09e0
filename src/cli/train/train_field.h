/* Members of the objects in state files. One that is missing, or of another type, is as if it
 * had not been written. Thread: any. */
#ifndef CLI_TRAIN_FIELD_H
#define CLI_TRAIN_FIELD_H

#include "base/json.h"

/* Returns a text, borrowed from the object, or NULL. */
const char *train_field_text(const tk_json *json, const char *key);

/* Gives a count; returns whether there is one. */
bool train_field_count(uint64_t *out, const tk_json *json, const char *key);

/* Returns a number, or the fallback. */
double train_field_real(const tk_json *json, const char *key, double fallback);

void train_field_put_text(tk_json_writer *w, const char *key,
                          const char *text); /* NULL: null */

/* Writes nothing when the number is not finite. */
void train_field_put_real(tk_json_writer *w, const char *key, double value);

#endif
