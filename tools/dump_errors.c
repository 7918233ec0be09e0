/* Prints the table of failures, one row per line with tabs between condition, code (or
 * "-"), class and retry, for scripts/gen-docs.py. */
#include <stdio.h>

#include "wire/wire_error.h"

static const char *class_name(tk_error_class class_of)
{
    switch (class_of) {
    case TK_ERROR_USER:
        return "user";
    case TK_ERROR_RETRYABLE:
        return "retryable";
    case TK_ERROR_FATAL:
        break;
    }
    return "fatal";
}

static const char *retry_name(tk_error_retry retry)
{
    switch (retry) {
    case TK_RETRY_SAME:
        return "the same request";
    case TK_RETRY_AS_NEW:
        return "as new work";
    case TK_RETRY_NEVER:
        break;
    }
    return "no";
}

int main(void)
{
    for (size_t i = 0; i < tk_wire_error_rules_n; i++) {
        const tk_error_rule *rule = &tk_wire_error_rules[i];
        printf("%s\t%d\t%s\t%s\n", rule->when, rule->code, class_name(rule->class_of),
               retry_name(rule->retry));
    }
    return 0;
}
