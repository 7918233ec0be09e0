/* The inside of tinkc_config: one typed member per option, filled by the option table. */
#ifndef CLIENT_CONFIG_INT_H
#define CLIENT_CONFIG_INT_H

#include <tinkc/config.h>

#include "base/env.h"
#include "base/err.h"
#include "base/tk.h"
#include "http/http.h"

/* Names with texts, in order of insertion; owned. A NULL value is a null. */
typedef struct tk_pairs {
    struct tk_pair {
        char *name;
        char *value;
    } * items;
    size_t n;
    bool any_case; /* names that differ in case only are the same */
} tk_pairs;

struct tinkc_config {
    /* texts: owned, NULL = not set */
    char *base_url;
    char *api_key;
    char *credential_cmd;
    char *credentials_file;
    char *profile;
    char *profiles_file;
    char *project_id;
    char *display_name;
    char *sdk_version;
    char *cf_access_id;
    char *cf_access_secret;
    char *ca_file;
    char *ca_dir;
    char *client_cert;
    char *client_key;
    char *proxy;
    char *no_proxy;
    /* numbers; durations in milliseconds, -1 = none */
    int64_t loop;
    int64_t log_level;
    int64_t wire_dump;
    int64_t telemetry;
    int64_t telemetry_drain_ms;
    int64_t timeout_ms;
    int64_t connect_timeout_ms;
    int64_t connect_wait_ms;
    int64_t credential_timeout_ms;
    int64_t max_retries;
    int64_t retry_total_ms;
    int64_t heartbeat_ms;
    int64_t heartbeat_failures; /* 0: no limit */
    int64_t finish_session;
    int64_t finish_drain_ms;
    int64_t http1_only;
    int64_t train_single_connection;
    int64_t http1[TK_HTTP_GROUPS];
    int64_t connections[TK_HTTP_GROUPS]; /* 0 = no limit */
    int64_t sample_dispatch;
    int64_t sample_dispatch_throttled;
    int64_t sample_resubmits;
    int64_t sample_retry_base_ms;
    int64_t sample_retry_max_ms;
    int64_t poll_floor_ms;
    int64_t stuck_silent_ms;
    int64_t stuck_total_ms;
    int64_t fail_step_after_partial;
    int64_t max_response_bytes;
    int64_t max_report_bytes;
    int64_t archive_poll_ms;
    int64_t trace_poll_ms;
    int64_t archive_tries;
    tk_pairs headers;
    tk_pairs query;
    tk_pairs metadata;
    tk_pairs tags;     /* names only */
    bool trust_is_env; /* ca_file and ca_dir are the environment's */
    tinkc_log_fn log_fn;
    void *log_user;
};

/* As tinkc_config_new with an environment of the caller's; NULL: the process's. */
TK_NODISCARD tinkc_code tk_config_new(tinkc_config **out, const tk_env *env, tk_err *err);
TK_NODISCARD tinkc_code tk_config_copy(tinkc_config **out, const tinkc_config *config,
                                       tk_err *err);
TK_NODISCARD tinkc_code tk_config_set(tinkc_config *config, const char *name,
                                      const char *value, tk_err *err);

/* Whether the option sdk_version is 0.MINOR or later: a client that reports an older
 * version sends what that version sends. A text that is not a version is the newest. */
bool tk_config_sdk_at_least(const tinkc_config *config, unsigned minor);

#define TK_CONFIG_DEFAULT_URL "https://tinker.thinkingmachines.dev/services/tinker-prod"

#endif
