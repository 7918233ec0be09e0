/* Prints the option table of the library, one row per line with tabs between name, type,
 * default, environment variable, range or choices, and help, for scripts/gen-docs.py. */
#include <inttypes.h>
#include <stdio.h>

#include "client/core/config_table.h"

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

int main(void)
{
    const tk_option *row;
    for (size_t i = 0; (row = tk_option_at(i)) != NULL; i++) {
        printf("%s\t%s\t%s\t%s\t", row->name, tk_option_type_name(row->type),
               or_empty(row->fallback), or_empty(row->env));
        if (row->type == TK_OPTION_INT || row->type == TK_OPTION_MS) {
            printf("%" PRId64 " %" PRId64, row->min, row->max);
        }
        printf("%s\t%s\n", or_empty(row->words), row->help);
    }
    return 0;
}
