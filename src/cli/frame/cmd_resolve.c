/* The order of the meanings, and their conflicts. The lists of the server are asked for
 * only where they can decide: a name with a slash that is not a directory is a model's. */
#include "cli/frame/cmd_resolve.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <tinkc/rest.h>

#include "base/mem.h"
#include "cli/frame/cmd_int.h"
#include "cli/frame/cmd_load.h"
#include "cli/frame/cmd_local.h"
#include "cli/frame/cmd_lookup.h"
#include "cli/frame/cmd_rest.h"

static bool is_path(const char *typed)
{
    return cmd_rest_scheme(typed) > 0;
}

bool cmd_resolve_is_directory(const char *typed)
{
    struct stat st;
    return typed != NULL && strchr(typed, '/') != NULL && !is_path(typed) &&
           stat(typed, &st) == 0 && S_ISDIR(st.st_mode);
}

bool cmd_resolve_is_plainly_directory(const char *typed)
{
    return typed[0] == '/' || strncmp(typed, "./", 2) == 0 ||
           strncmp(typed, "../", 3) == 0;
}

static int copy(char **out, const char *text)
{
    *out = tk_strdup(text);
    return *out != NULL ? CMD_OK : cmd_fail("out of memory");
}

/* ---- models ---- */

static bool serves(const tinkc_capabilities *all, const char *name)
{
    for (size_t i = 0; i < tinkc_capabilities_count(all); i++) {
        const char *at = tinkc_capabilities_name(all, i);
        if (at != NULL && strcmp(at, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Takes the only model that is served. */
static int only_model(char **out, tinkc_service *service, const cmd_args *args)
{
    tinkc_capabilities *all = NULL;
    tinkc_error *error = NULL;
    int result;
    if (tinkc_service_capabilities_wait(&all, service, &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    const char *name = tinkc_capabilities_name(all, 0);
    if (tinkc_capabilities_count(all) == 1 && name != NULL) {
        result = copy(out, name);
    } else {
        result = cmd_bad_usage(args,
                               "Missing option '--model': the server has %zu models, "
                               "which 'tinkc models' lists.",
                               tinkc_capabilities_count(all));
    }
    tinkc_capabilities_free(&all);
    return result;
}

/* A directory of this machine, which only a server of this machine can read. */
static int directory(char **out, tinkc_service *service, const char *typed)
{
    tinkc_capabilities *all = NULL;
    if (!cmd_local_is_used()) {
        return copy(out, typed); /* the server may call a model so */
    }
    bool is_served = !cmd_resolve_is_plainly_directory(typed) &&
                     tinkc_service_capabilities_wait(&all, service, NULL) == TINKC_OK &&
                     serves(all, typed);
    tinkc_capabilities_free(&all);
    if (is_served) {
        return cmd_fail_hint("Write ./ before the directory, or rename it.",
                             "'%s' is a directory here and a model that is served",
                             typed);
    }
    return cmd_load_directory(out, service, typed);
}

/* A word without a slash: a model or the name of a checkpoint. */
static int word(char **out, tinkc_service *service, const char *typed, cmd_want want)
{
    tinkc_capabilities *all = NULL;
    cmd_lookup found = {0};
    bool is_served = tinkc_service_capabilities_wait(&all, service, NULL) == TINKC_OK &&
                     serves(all, typed);
    tinkc_capabilities_free(&all);
    int result = CMD_OK;
    if (!is_served) {
        result = cmd_load_named(&is_served, service, typed);
    }
    if (result == CMD_OK && want == CMD_MODEL) {
        result = cmd_lookup_checkpoint(&found, service, typed, CMD_SAMPLER);
        result = is_served && result == CMD_FAILED ? CMD_OK : result;
    }
    if (result != CMD_OK) {
        return result;
    }
    if (is_served && found.path != NULL && found.by_name) {
        result = cmd_fail_hint("Use the path of the checkpoint to sample from it.",
                               "'%s' is a model that is served and the checkpoint %s",
                               typed, found.path);
    } else if (!is_served && found.path != NULL) {
        *out = found.path;
        return CMD_OK;
    } else { /* a server may serve models that it does not list */
        result = copy(out, typed);
    }
    tk_free(found.path);
    return result;
}

/* ---- all ---- */

static int resolve_model(char **out, tinkc_service *service, const char *typed,
                         cmd_want want)
{
    if (is_path(typed)) {
        int result = cmd_load_base_of(service, typed);
        return result == CMD_OK ? copy(out, typed) : result;
    }
    if (cmd_resolve_is_directory(typed)) {
        return directory(out, service, typed);
    }
    bool is_served = false;
    int result = CMD_OK;
    if (strchr(typed, '/') == NULL) {
        result = word(out, service, typed, want);
        if (result == CMD_OK && is_path(*out)) {
            result = cmd_load_base_of(service, *out);
        }
        return result;
    }
    result = cmd_load_named(&is_served, service, typed);
    return result == CMD_OK ? copy(out, typed) : result;
}

static int resolve_checkpoint(char **out, tinkc_service *service, const char *typed,
                              cmd_want want)
{
    cmd_lookup found = {0};
    if (is_path(typed)) {
        return copy(out, typed);
    }
    int result = cmd_lookup_checkpoint(&found, service, typed, want);
    if (result == CMD_OK && found.path == NULL) {
        return cmd_fail_hint("'tinkc checkpoint list' shows your checkpoints.",
                             "Checkpoint not found: %s", typed);
    }
    *out = found.path;
    return result;
}

int cmd_resolve(char **out, tinkc_service *service, const cmd_args *args,
                const char *typed, cmd_want want)
{
    *out = NULL;
    if (want == CMD_RUN) {
        return cmd_lookup_run(out, service, typed);
    }
    if (want != CMD_BASE && want != CMD_MODEL) {
        return resolve_checkpoint(out, service, typed, want);
    }
    return typed == NULL ? only_model(out, service, args)
                         : resolve_model(out, service, typed, want);
}

int cmd_resolve_operands(const cmd_args *args, tinkc_service *service)
{
    if (args->command->wants == CMD_ANYTHING) {
        return CMD_OK;
    }
    for (size_t i = 0; i < args->n_operands; i++) {
        char *meant = NULL;
        int result =
            cmd_resolve(&meant, service, args, args->operands[i], args->command->wants);
        if (result != CMD_OK) {
            tk_free(meant);
            return result;
        }
        tk_free(args->meant[i]);
        args->meant[i] = meant;
    }
    return CMD_OK;
}
