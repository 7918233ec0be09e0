/* Objects have their members in one array, lists their items.
 * Needs: text */
#include "cli/data/data_make.h"

#include <string.h>

tk_json data_make_text(tk_str text)
{
    tk_json value = {.type = TK_JSON_STRING};
    value.as.string = text;
    return value;
}

tk_json data_make_object(data_maker *maker, const tk_json_member *members, size_t n)
{
    tk_json value = {.type = TK_JSON_OBJECT};
    tk_json_member *kept = tk_arena_array(maker->arena, n, sizeof(*kept));
    size_t count = 0;
    for (size_t i = 0; kept != NULL && i < n; i++) {
        if (members[i].value.type != TK_JSON_NULL) {
            kept[count++] = members[i];
        }
    }
    maker->is_starved = maker->is_starved || kept == NULL;
    value.as.object.members = kept;
    value.as.object.n = count;
    return value;
}

tk_json data_make_message(data_maker *maker, const char *role, tk_str content)
{
    const tk_json_member members[] = {
        {TK_STR("role"), data_make_text(tk_str_of(role))},
        {TK_STR("content"), data_make_text(content)},
    };
    return data_make_object(maker, members, 2);
}

const tk_json *data_make_list(data_maker *maker, tk_json **items, size_t n)
{
    tk_json *list = tk_arena_zalloc(maker->arena, sizeof(*list));
    *items = tk_arena_zalloc(maker->arena, (n + 1) * sizeof(**items));
    if (list == NULL || *items == NULL) {
        maker->is_starved = true;
        *items = NULL;
        return NULL;
    }
    list->type = TK_JSON_ARRAY;
    list->as.array.items = *items;
    list->as.array.n = n;
    return list;
}

tk_str data_make_joined(data_maker *maker, tk_str a, tk_str b)
{
    char *room = tk_arena_alloc(maker->arena, a.n + b.n + 3);
    if (room == NULL) {
        maker->is_starved = true;
        return a;
    }
    memcpy(room, a.p, a.n);
    memcpy(room + a.n, "\n\n", 2);
    memcpy(room + a.n + 2, b.p, b.n);
    room[a.n + b.n + 2] = '\0';
    return (tk_str){room, a.n + b.n + 2};
}
