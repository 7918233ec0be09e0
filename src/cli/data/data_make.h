/* Builds JSON values in an arena, next to those of a record that was read. When memory
 * runs out, *is_starved becomes true and the value is null or empty. Thread: one. */
#ifndef CLI_DATA_MAKE_H
#define CLI_DATA_MAKE_H

#include "base/json.h"

typedef struct data_maker {
    tk_arena *arena;
    bool is_starved;
} data_maker;

/* Returns a string; the text is borrowed. */
tk_json data_make_text(tk_str text);

/* Returns an object of the members whose values are not null. */
tk_json data_make_object(data_maker *maker, const tk_json_member *members, size_t n);

/* Returns the message {"role", "content"}. */
tk_json data_make_message(data_maker *maker, const char *role, tk_str content);

/* Returns two texts with an empty line between them. */
tk_str data_make_joined(data_maker *maker, tk_str a, tk_str b);

/* Returns a list with room for n items, null at first, which the caller fills through
 * *items. NULL, and *items NULL, when memory ran out. */
const tk_json *data_make_list(data_maker *maker, tk_json **items, size_t n);

#endif
