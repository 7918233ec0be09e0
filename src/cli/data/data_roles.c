/* Looks for roles that no chat template knows, for messages of the assistant, and for
 * empty ones.
 * Needs: text */
#include "cli/data/data_roles.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/similar.h"

#define ASSISTANT   "assistant"
#define ROLES_BYTES 200
#define ROLES_MAX   6  /* named in a message */
#define ROLE_SHOWN  24 /* bytes of one */

/* The roles of chat templates. */
static const char *const known[] = {"system",    ASSISTANT,     "user",
                                    "developer", "tool",        "function",
                                    "ipython",   "observation", "environment"};

/* What other formats call them. */
static const struct {
    const char *word, *role;
} meant[] = {
    {"human", "user"},    {"gpt", ASSISTANT}, {"bot", ASSISTANT},
    {"model", ASSISTANT}, {"ai", ASSISTANT},
};

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

/* ---- problems ---- */

/* Refuses a role that no template knows. */
static void check_role(char problem[DATA_PROBLEM_BYTES], size_t at, tk_str role)
{
    tk_similar search = {.typed = role};
    for (size_t i = 0; i < TK_ARRAY_LEN(known); i++) {
        if (tk_str_is(role, known[i])) {
            return;
        }
        tk_similar_try(&search, known[i]);
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(meant); i++) {
        search.best = tk_str_is_nocase(role, meant[i].word) ? meant[i].role : search.best;
    }
    bool has_best = search.best != NULL;
    (void)snprintf(problem, DATA_PROBLEM_BYTES,
                   "message %zu has the unknown role \"%.*s\"%s%s%s", at,
                   (int)TK_MIN(role.n, (size_t)ROLE_SHOWN), role.p,
                   has_best ? "; did you mean \"" : "", has_best ? search.best : "",
                   has_best ? "\"?" : "");
}

/* Names the roles that are there. */
static void refuse_roles(char problem[DATA_PROBLEM_BYTES], const data_example *example)
{
    tk_buf roles;
    size_t n = tk_json_len(example->messages), named = 0;
    tk_buf_init(&roles, ROLES_BYTES);
    for (size_t i = example->given; i < n && named < ROLES_MAX; i++) {
        tk_str role = role_of(example, i);
        if (is_new(example, i)) {
            tk_buf_printf(&roles, "%s%.*s", named++ > 0 ? ", " : "",
                          (int)TK_MIN(role.n, (size_t)ROLE_SHOWN), role.p);
        }
    }
    const char *text = tk_buf_cstr(&roles);
    (void)snprintf(problem, DATA_PROBLEM_BYTES,
                   "nothing to train on: no message of the assistant (roles: %s)",
                   text != NULL ? text : "?");
    tk_buf_dispose(&roles);
}

/* Whether the message says nothing: no text, no calls, no reasoning. */
static bool is_empty(const data_example *example, size_t at)
{
    static const char *const others[] = {"tool_calls", "reasoning_content", "reasoning",
                                         "thinking"};
    const tk_json message = tk_json_at(example->messages, at);
    const tk_json *content = tk_json_get(&message, "content");
    for (size_t i = 0; i < TK_ARRAY_LEN(others); i++) {
        const tk_json *other = tk_json_get(&message, others[i]);
        if (other != NULL && other->type != TK_JSON_NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < tk_json_len(content); i++) {
        const tk_json part = tk_json_at(content, i);
        const tk_json *text = tk_json_get(&part, "text");
        if (text != NULL && text->type == TK_JSON_STRING && text->as.string.n > 0) {
            return false;
        }
    }
    return content == NULL || content->type != TK_JSON_STRING ||
           content->as.string.n == 0;
}

/* Checks the messages of the assistant; the last one alone if only it is trained on. */
static void check_answers(char problem[DATA_PROBLEM_BYTES], const data_example *example,
                          bool only_last)
{
    bool is_there = false, is_trained = false;
    for (size_t i = tk_json_len(example->messages);
         i > example->given && !(only_last && is_there); i--) {
        bool is_own = tk_str_is(role_of(example, i - 1), ASSISTANT);
        bool counts = is_own && !is_left_out(example, i - 1);
        is_there = is_there || is_own;
        is_trained = is_trained || counts;
        if (counts && is_empty(example, i - 1)) {
            (void)snprintf(problem, DATA_PROBLEM_BYTES,
                           "message %zu is an empty answer; \"weight\": 0 leaves it out",
                           i - 1);
        }
    }
    if (!is_there) {
        refuse_roles(problem, example);
    } else if (!is_trained) {
        (void)snprintf(
            problem, DATA_PROBLEM_BYTES,
            "nothing to train on: the messages of the assistant have weight 0");
    }
}

void data_roles_check(char problem[DATA_PROBLEM_BYTES], const data_example *example,
                      tinkc_loss_on loss_on)
{
    problem[0] = '\0';
    for (size_t i = 0; i < tk_json_len(example->messages) && problem[0] == '\0'; i++) {
        check_role(problem, i, role_of(example, i));
    }
    if (problem[0] == '\0' && loss_on != TINKC_LOSS_ON_ALL) {
        check_answers(problem, example, loss_on == TINKC_LOSS_ON_LAST);
    }
}
