/* From the global options to a configuration and a service. The order matters: the
 * profile comes first, --set comes last and wins, and --local replaces the base URL once
 * its server runs. */
#include "cli/frame/cmd_service.h"

#include <stdio.h>
#include <string.h>
#include <tinkc/hooks.h>

#include "base/buf.h"
#include "base/env.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/frame/cmd_local.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_profiles.h"
#include "cli/frame/cmd_progress.h"
#include "cli/frame/cmd_resolve.h"
#include "cli/frame/cmd_stats.h"
#include "cli/frame/cmd_waits.h"

#define NAME_BYTES          64
#define URL_BYTES           256
#define TIMEOUT_MAX_SECONDS (7 * 86400) /* what the library takes */

static void log_line(tinkc_log_level level, const char *component, const char *line,
                     void *user)
{
    (void)user;
    cmd_print(stderr, "%s %s: %s\n", tinkc_log_level_name(level), component, line);
}

/* Without --verbose and TINKER_LOG nothing is logged: the command reports a failure
 * once. */
static tinkc_code set_log(tinkc_config *config, const cmd_args *args, tinkc_error **error)
{
    size_t n = cmd_count(args, "verbose");
    if (n > 0 || tk_env_get_nonempty(NULL, "TINKER_LOG") != NULL) {
        tinkc_config_set_log(config, log_line, NULL);
    }
    return n == 0
               ? TINKC_OK
               : tinkc_config_set(config, "log_level", n > 1 ? "debug" : "info", error);
}

/* Sets NAME=VALUE. */
static tinkc_code set_pair(tinkc_config *config, const char *pair, tinkc_error **error)
{
    char name[NAME_BYTES];
    const char *equals = strchr(pair, '=');
    size_t n = equals != NULL ? (size_t)(equals - pair) : strlen(pair);
    (void)snprintf(name, sizeof(name), "%.*s", (int)TK_MIN(n, sizeof(name) - 1), pair);
    return tinkc_config_set(config, name, equals != NULL ? equals + 1 : "", error);
}

static tinkc_code set_timeout(tinkc_config *config, const cmd_args *args,
                              tinkc_error **error)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%lld",
                   (long long)(cmd_number(args, "timeout", 0) * 1000));
    return tinkc_config_set(config, "timeout", text, error);
}

static tinkc_code apply(tinkc_config *config, const cmd_args *args, const char *profile,
                        cmd_patience patience, tinkc_error **error)
{
    bool is_brief = patience == CMD_BRIEF;
    const struct {
        const char *name, *value; /* value NULL: leave it */
    } rows[] = {
        {"profile", profile[0] != '\0' ? profile : NULL},
        {"max_retries", is_brief ? "2" : NULL},
        {"retry_total", is_brief ? "0" : NULL},
        {"api_key", cmd_text(args, "api-key", NULL)},
        {"base_url", cmd_text(args, "base-url", NULL)},
    };
    tinkc_code code = set_log(config, args, error);
    for (size_t i = 0; code == TINKC_OK && i < TK_ARRAY_LEN(rows); i++) {
        if (rows[i].value != NULL) {
            code = tinkc_config_set(config, rows[i].name, rows[i].value, error);
        }
    }
    if (code == TINKC_OK && cmd_has(args, "timeout")) {
        code = set_timeout(config, args, error);
    }
    for (size_t i = 0; code == TINKC_OK && i < cmd_count(args, "set"); i++) {
        code = set_pair(config, cmd_at(args, "set", i), error);
    }
    return code;
}

static bool wants_local(const tinkc_config *config, const cmd_args *args)
{
    char url[NAME_BYTES];
    (void)tinkc_config_get(url, sizeof(url), config, "base_url");
    return cmd_has(args, "local") || strcmp(url, "local") == 0;
}

/* The server's own key replaces the user's, which is for another server. */
static int set_local(tinkc_config *config, const cmd_args *args)
{
    cmd_local local;
    cmd_progress("Starting a private server");
    int result = cmd_local_start(&local, args);
    cmd_progress_end();
    if (result != CMD_OK) {
        return result;
    }
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_config_set(config, "base_url", local.url, &error);
    if (code == TINKC_OK && local.key != NULL) {
        code = tinkc_config_set(config, "api_key", local.key, &error);
    }
    if (code != TINKC_OK) {
        cmd_local_end();
        return cmd_fail_error(&error, NULL);
    }
    return CMD_OK;
}

int cmd_service_config(tinkc_config **out, const cmd_args *args, cmd_patience patience)
{
    if (cmd_has(args, "local") + cmd_has(args, "base-url") + cmd_has(args, "profile") >
        1) {
        return cmd_bad_usage(args, "Give one of --local, --base-url and --profile.");
    }
    double seconds = cmd_number(args, "timeout", 1);
    if (!(seconds >= 0.001 && seconds <= TIMEOUT_MAX_SECONDS)) {
        return cmd_bad_usage(args, "--timeout must be 0.001 to %d seconds.",
                             TIMEOUT_MAX_SECONDS);
    }
    tinkc_config *config = NULL;
    tinkc_error *error = NULL;
    char profile[CMD_PROFILE_BYTES];
    int result = cmd_profiles_used(profile, sizeof(profile), args);
    if (result != CMD_OK) {
        return result;
    }
    if (tinkc_config_new(&config, &error) != TINKC_OK ||
        apply(config, args, profile, patience, &error) != TINKC_OK) {
        result = cmd_fail_error(&error, NULL);
    } else if (wants_local(config, args)) {
        result = set_local(config, args);
    }
    if (result != CMD_OK) {
        tinkc_config_free(&config);
        return result;
    }
    *out = config;
    return CMD_OK;
}

/* Shows retries for -v. Runs on the loop's thread. The library logs requests itself. */
static void on_event(const tinkc_hook *event, void *user)
{
    (void)user;
    if (event->event == TINKC_HOOK_RETRY) {
        cmd_print(stderr, "retry: %s (%s), in %.1f s\n", event->name, event->reason,
                  (double)event->delay_ms / 1000);
    }
}

static void watch(tinkc_service *service, const cmd_args *args)
{
    const char *level = tk_env_get_nonempty(NULL, "TINKER_LOG");
    if (cmd_has(args, "verbose") || (level != NULL && strcmp(level, "debug") == 0)) {
        (void)tinkc_service_add_hook(service, on_event, NULL, NULL, NULL);
    }
}

static char used_url[URL_BYTES];

const char *cmd_service_url(void)
{
    return used_url;
}

void cmd_service_begin(tinkc_service *service, const cmd_args *args)
{
    watch(service, args);
    cmd_stats_start(service, args);
    cmd_waits_begin(service);
}

int cmd_service_open(tinkc_service **out, const cmd_args *args, cmd_patience patience)
{
    tinkc_config *config = NULL;
    tinkc_error *error = NULL;
    int result = cmd_service_config(&config, args, patience);
    if (result != CMD_OK) {
        return result;
    }
    if (tinkc_config_get(used_url, sizeof(used_url), config, "base_url") >=
        sizeof(used_url)) {
        used_url[0] = '\0';
    }
    if (tinkc_service_open(out, config, &error) == TINKC_OK) {
        cmd_service_begin(*out, args);
    } else {
        result = cmd_fail_error(&error, NULL);
        cmd_service_end(NULL, result);
    }
    tinkc_config_free(&config);
    return result;
}

void cmd_service_end(tinkc_service **service, int result)
{
    tinkc_finish finish = result == CMD_OK            ? TINKC_FINISH_SUCCESS
                          : result == CMD_INTERRUPTED ? TINKC_FINISH_INTERRUPTED
                                                      : TINKC_FINISH_ERRORED;
    cmd_waits_end();
    cmd_progress_end();
    if (service != NULL) {
        cmd_stats_last_look(*service);
        (void)tinkc_service_set_finish(*service, finish, NULL, NULL);
    }
    tinkc_service_close(service);
    cmd_stats_end();
    cmd_local_end();
}

int cmd_service_ask(const cmd_args *args, int (*ask)(const cmd_args *, tinkc_service *))
{
    tinkc_service *service = NULL;
    int result = cmd_service_open(&service, args, CMD_BRIEF);
    if (result == CMD_OK) {
        result = cmd_resolve_operands(args, service);
        result = result == CMD_OK ? ask(args, service) : result;
        cmd_service_end(&service, result);
    }
    return result;
}
