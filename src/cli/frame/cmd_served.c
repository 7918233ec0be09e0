/* The list is that of the server's capabilities, asked for after the failure: a server
 * may serve models that it does not list. */
#include "cli/frame/cmd_served.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/similar.h"
#include "cli/frame/cmd_local.h"
#include "cli/frame/cmd_lookup.h"
#include "cli/frame/cmd_resolve.h"
#include "cli/frame/cmd_rest.h"

#define SHOWN_MAX  8
#define LIST_BYTES 4096
#define HINT_BYTES 256

/* Whether the name may be the reason: the server refused it, or no tokenizer is known for
 * it, which may be looked for before the server is asked. */
static bool may_be_name(const tinkc_error *error)
{
    tinkc_code code = tinkc_error_code(error);
    return code == TINKC_E_BAD_REQUEST || code == TINKC_E_NOT_FOUND ||
           code == TINKC_E_UNPROCESSABLE ||
           strncmp(tinkc_error_message(error), "no tokenizer", 12) == 0;
}

static bool has(const tinkc_capabilities *all, const char *model)
{
    for (size_t i = 0; i < tinkc_capabilities_count(all); i++) {
        const char *name = tinkc_capabilities_name(all, i);
        if (name != NULL && strcmp(name, model) == 0) {
            return true;
        }
    }
    return false;
}

/* Writes what to do: `best` is the model that was probably meant, or NULL. */
static void advise(char hint[HINT_BYTES], tinkc_service *service, const char *model,
                   bool may_be_checkpoint, const char *best)
{
    char *like = NULL;
    if (best == NULL && may_be_checkpoint) {
        like = cmd_lookup_similar(service, model);
        best = like;
    }
    if (best != NULL) {
        const char *step = like != NULL ? strrchr(model, '@') : NULL;
        bool is_step = step != NULL && strncmp(model, like, strlen(like)) == 0 &&
                       model + strlen(like) == step;
        (void)snprintf(hint, HINT_BYTES,
                       is_step ? "'tinkc checkpoint list' shows the steps of %.160s."
                               : "Did you mean '%.200s'?",
                       best);
    } else if (strchr(model, '/') != NULL && cmd_local_is_used()) {
        (void)snprintf(hint, HINT_BYTES, "'tinkc pull %.160s' fetches it from the hub.",
                       model);
    } else {
        (void)snprintf(hint, HINT_BYTES, "%s",
                       may_be_checkpoint
                           ? "'tinkc models' and 'tinkc checkpoint list' show yours."
                           : "'tinkc models' lists them.");
    }
    tk_free(like);
}

static int refuse(const tinkc_capabilities *all, tinkc_service *service,
                  const char *model, cmd_want want)
{
    char hint[HINT_BYTES];
    size_t n = tinkc_capabilities_count(all);
    bool may_be_checkpoint = want == CMD_MODEL && strchr(model, '/') == NULL;
    tk_similar search = {.typed = tk_str_of(model)};
    tk_buf list;
    tk_buf_init(&list, LIST_BYTES);
    for (size_t i = 0; i < n; i++) {
        const char *name = tinkc_capabilities_name(all, i);
        name = name != NULL ? name : "?";
        tk_similar_try(&search, name);
        if (i < SHOWN_MAX) {
            tk_buf_printf(&list, "%s%.256s", i > 0 ? ", " : "", name);
        }
    }
    if (n > SHOWN_MAX) {
        tk_buf_printf(&list, " and %zu more", n - SHOWN_MAX);
    }
    advise(hint, service, model, may_be_checkpoint, search.best);
    const char *text = tk_buf_cstr(&list);
    int result = cmd_fail_hint(
        hint, "%s is %s; served: %s", model,
        may_be_checkpoint ? "neither a checkpoint nor a model that is served here"
                          : "not served here",
        text != NULL ? text : "");
    tk_buf_dispose(&list);
    return result;
}

int cmd_served_fail(tinkc_service *service, const char *model, cmd_want want,
                    tinkc_error **error)
{
    tinkc_capabilities *all = NULL;
    bool is_path = cmd_rest_scheme(model) > 0;
    int result;
    if (cmd_local_is_used() && cmd_resolve_is_plainly_directory(model)) {
        tinkc_error_free(error);
        result = cmd_fail("there is no directory %s", model);
    } else if (!is_path && may_be_name(*error) && !cmd_interrupted() &&
               tinkc_service_capabilities_wait(&all, service, NULL) == TINKC_OK &&
               tinkc_capabilities_count(all) > 0 && !has(all, model)) {
        tinkc_error_free(error);
        result = refuse(all, service, model, want);
    } else {
        result = cmd_fail_error(error, "Cannot open %s", model);
    }
    tinkc_capabilities_free(&all);
    return result;
}
