/* Looks for messages of the assistant, and for the misspelt ones.
 * Needs: text */
#include "cli/data/data_roles.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/similar.h"

#define ASSISTANT   "assistant"
#define ROLES_BYTES 200
#define ROLES_MAX   6 /* named in a message */

/* Returns the role of a message, which data_shape has checked. */
static tk_str role_of(const data_example *example, size_t at)
{
    const tk_json message = tk_json_at(example->messages, at);
    const tk_json *role = tk_json_get(&message, "role");
    return role != NULL && role->type == TK_JSON_STRING ? role->as.string : TK_STR("");
}

/* Whether the message has a weight, and it is 0. */
static bool is_left_out(const data_example *example, size_t at)
{
    const tk_json message = tk_json_at(example->messages, at);
    const tk_json *own = tk_json_get(&message, "weight");
    double weight = 1;
    return own != NULL && tk_json_to_double(own, &weight) && weight == 0;
}

static bool is_new(const data_example *example, size_t at)
{
    for (size_t i = example->given; i < at; i++) {
        if (tk_str_eq(role_of(example, i), role_of(example, at))) {
            return false;
        }
    }
    return true;
}

/* Names the roles that are there. */
static void refuse_roles(char problem[DATA_PROBLEM_BYTES], const data_example *example)
{
    tk_buf roles;
    bool is_misspelt = false;
    size_t n = tk_json_len(example->messages), named = 0;
    tk_buf_init(&roles, ROLES_BYTES);
    for (size_t i = example->given; i < n && named < ROLES_MAX; i++) {
        tk_str role = role_of(example, i);
        tk_similar search = {.typed = role};
        tk_similar_try(&search, ASSISTANT);
        is_misspelt = is_misspelt || search.best != NULL;
        if (is_new(example, i)) {
            tk_buf_printf(&roles, "%s%.*s", named++ > 0 ? ", " : "",
                          (int)TK_MIN(role.n, (size_t)24), role.p);
        }
    }
    const char *text = tk_buf_cstr(&roles);
    (void)snprintf(problem, DATA_PROBLEM_BYTES,
                   "nothing to train on: no message of the assistant (roles: %s)%s",
                   text != NULL ? text : "?",
                   is_misspelt ? "; did you mean \"" ASSISTANT "\"?" : "");
    tk_buf_dispose(&roles);
}

void data_roles_check(char problem[DATA_PROBLEM_BYTES], const data_example *example)
{
    bool is_there = false, is_trained = false;
    problem[0] = '\0';
    for (size_t i = example->given; i < tk_json_len(example->messages); i++) {
        bool is_own = tk_str_is(role_of(example, i), ASSISTANT);
        is_there = is_there || is_own;
        is_trained = is_trained || (is_own && !is_left_out(example, i));
    }
    if (!is_there) {
        refuse_roles(problem, example);
    } else if (!is_trained) {
        (void)snprintf(
            problem, DATA_PROBLEM_BYTES,
            "nothing to train on: the messages of the assistant have weight 0");
    }
}
