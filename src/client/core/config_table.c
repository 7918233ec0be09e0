/* The options of a configuration, and the words of their types. Static data. */
#include "client/core/config_table.h"

#include <stdio.h>
#include <string.h>

#include <tinkc/version.h>

#include "base/env.h"
#include "base/str.h"

#define AT(member) offsetof(struct tinkc_config, member)
#define DAY_MS     INT64_C(86400000)

/* TINKER_TELEMETRY: on for these words, off for any other (docs/protocol.md §1.2); our
 * own switches read the same. */
static const char *switch_word(const char *value)
{
    return tk_env_is_on(value) ? "true" : "false";
}

/* TINKER_LOG: a level in lower case, of which the official SDK knows "debug" and "info";
 * anything else leaves the default. */
static const char *log_word(const char *value)
{
    tinkc_log_level level;
    return tinkc_log_level_parse(&level, value) ? tinkc_log_level_name(level) : NULL;
}

/* The same two options for each group of connections. */
#define GROUP_HTTP1(name, group)                                                         \
    {                                                                                    \
        "http1_" name, TK_OPTION_BOOL, AT(http1[group]), "false", NULL, NULL, 0, 1,      \
            NULL, "never negotiate HTTP/2 for " name " requests"                         \
    }
#define GROUP_CONNECTIONS(name, group)                                                   \
    {                                                                                    \
        "connections_" name, TK_OPTION_INT, AT(connections[group]), "0", NULL, NULL, 0,  \
            100000, NULL,                                                                \
            "connections for " name " requests; 0: as many as requests in flight"        \
    }

static const tk_option options[] = {
    {"base_url", TK_OPTION_STRING, AT(base_url), TK_CONFIG_DEFAULT_URL, "TINKER_BASE_URL",
     NULL, 0, 0, NULL, "URL of the service"},
    {"api_key", TK_OPTION_SECRET, AT(api_key), NULL, "TINKER_API_KEY", NULL, 0, 0, NULL,
     "key (tml-...) or token (eyJ...); not needed for a loopback URL"},
    {"credential_cmd", TK_OPTION_STRING, AT(credential_cmd), NULL,
     "TINKER_CREDENTIAL_CMD", NULL, 0, 0, NULL,
     "shell command that prints a fresh credential"},
    {"credentials_file", TK_OPTION_STRING, AT(credentials_file), NULL, NULL, NULL, 0, 0,
     NULL,
     "file with the key that is used without the two above, unless the URL is a loopback "
     "one; not set: ~/.tinker/credentials.json; empty: none"},
    {"profile", TK_OPTION_STRING, AT(profile), NULL, "TINKC_PROFILE", NULL, 0, 0, NULL,
     "profile whose options are set; they win over the environment, and what is set "
     "later wins over them"},
    {"profiles_file", TK_OPTION_STRING, AT(profiles_file), NULL, NULL, NULL, 0, 0, NULL,
     "file of the profiles; not set: tinkc/profiles.json in $XDG_CONFIG_HOME or "
     "~/.config"},
    {"credential_timeout", TK_OPTION_MS, AT(credential_timeout_ms), "60000", NULL, NULL,
     1, DAY_MS, NULL, "time limit of that command; it is killed then"},
    {"project_id", TK_OPTION_STRING, AT(project_id), NULL, "TINKER_PROJECT_ID", NULL, 0,
     0, NULL, "project of the session"},
    {"display_name", TK_OPTION_STRING, AT(display_name), NULL, NULL, NULL, 0, 0, NULL,
     "name of the session for people"},
    {"sdk_version", TK_OPTION_STRING, AT(sdk_version), TINKC_SDK_LEVEL, NULL, NULL, 0, 0,
     NULL, "level of the official SDK that is reported to the server"},
    {"cf_access_id", TK_OPTION_STRING, AT(cf_access_id), NULL,
     "CLOUDFLARE_ACCESS_CLIENT_ID", NULL, 0, 0, NULL, "value of CF-Access-Client-Id"},
    {"cf_access_secret", TK_OPTION_SECRET, AT(cf_access_secret), NULL,
     "CLOUDFLARE_ACCESS_CLIENT_SECRET", NULL, 0, 0, NULL,
     "value of CF-Access-Client-Secret"},
    {"ca_file", TK_OPTION_STRING, AT(ca_file), NULL, "SSL_CERT_FILE", NULL, 0, 0, NULL,
     "certificates to trust instead of those of the system and of SSL_CERT_DIR"},
    {"ca_dir", TK_OPTION_STRING, AT(ca_dir), NULL, "SSL_CERT_DIR", NULL, 0, 0, NULL,
     "directory of certificates to trust instead of those of the system"},
    {"client_cert", TK_OPTION_STRING, AT(client_cert), NULL, NULL, NULL, 0, 0, NULL,
     "client certificate (PEM), used for the server of the service only"},
    {"client_key", TK_OPTION_STRING, AT(client_key), NULL, NULL, NULL, 0, 0, NULL,
     "key of the client certificate (PEM)"},
    {"proxy", TK_OPTION_STRING, AT(proxy), NULL, NULL, NULL, 0, 0, NULL,
     "proxy URL; not set: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY; empty: none"},
    {"no_proxy", TK_OPTION_STRING, AT(no_proxy), NULL, NULL, NULL, 0, 0, NULL,
     "hosts to connect to without a proxy; not set: NO_PROXY"},
    {"loop", TK_OPTION_CHOICE, AT(loop), "thread", NULL, NULL, 0, 1, "thread manual",
     "what runs the I/O loop: a thread of the library, or the caller"},
    {"log_level", TK_OPTION_CHOICE, AT(log_level), "warn", "TINKER_LOG", log_word, 0, 4,
     "off error warn info debug", "level of the lines that the log function gets"},
    {"wire_dump", TK_OPTION_BOOL, AT(wire_dump), "false", "TINKC_WIRE_DUMP", switch_word,
     0, 1, NULL, "log whole requests and responses, with secrets masked; implies debug"},
    {"telemetry", TK_OPTION_BOOL, AT(telemetry), "true", "TINKER_TELEMETRY", switch_word,
     0, 1, NULL, "report events to the server"},
    {"telemetry_drain", TK_OPTION_MS, AT(telemetry_drain_ms), "30000", NULL, NULL, 0,
     DAY_MS, NULL, "longest time that a close waits for the last events to be accepted"},
    {"timeout", TK_OPTION_MS, AT(timeout_ms), "60000", NULL, NULL, 1, 7 * DAY_MS, NULL,
     "time limit of a request"},
    {"connect_timeout", TK_OPTION_MS, AT(connect_timeout_ms), "5000", NULL, NULL, 1,
     DAY_MS, NULL, "time limit of connecting"},
    {"connect_wait_ms", TK_OPTION_MS, AT(connect_wait_ms), "2000", NULL, NULL, 0, DAY_MS,
     NULL,
     "how long a request is retried while the host does not exist or refuses the "
     "connection and the service has had no response yet; none: as long as any other"},
    {"max_retries", TK_OPTION_INT, AT(max_retries), "10", NULL, NULL, 0, 1000, NULL,
     "retries of a request that may be repeated"},
    {"retry_total", TK_OPTION_MS, AT(retry_total_ms), "300000", NULL, NULL, 0, DAY_MS,
     NULL, "how long a request is retried after those, including Retry-After"},
    {"heartbeat", TK_OPTION_MS, AT(heartbeat_ms), "10000", NULL, NULL, 100, DAY_MS, NULL,
     "time between heartbeats of the session"},
    {"heartbeat_failures", TK_OPTION_INT, AT(heartbeat_failures), "0", NULL, NULL, 0,
     1000000, NULL,
     "failed heartbeats in a row after which the session counts as lost; 0: no limit"},
    {"finish_session", TK_OPTION_BOOL, AT(finish_session), "true", NULL, NULL, 0, 1, NULL,
     "a close ends the session at the server; no: other processes go on using its ids"},
    {"finish_drain", TK_OPTION_MS, AT(finish_drain_ms), "5000", NULL, NULL, 0, DAY_MS,
     NULL, "longest time that a close waits for the server to take that"},
    {"http1_only", TK_OPTION_BOOL, AT(http1_only), "false", NULL, NULL, 0, 1, NULL,
     "never negotiate HTTP/2"},
    {"train_single_connection", TK_OPTION_BOOL, AT(train_single_connection), "false",
     NULL, NULL, 0, 1, NULL, "one connection for all training requests"},
    GROUP_HTTP1("session", TK_HTTP_SESSION),
    GROUP_HTTP1("train", TK_HTTP_TRAIN),
    GROUP_HTTP1("sample", TK_HTTP_SAMPLE),
    GROUP_HTTP1("futures", TK_HTTP_FUTURES),
    GROUP_HTTP1("rest", TK_HTTP_REST),
    GROUP_HTTP1("telemetry", TK_HTTP_TELEMETRY),
    GROUP_CONNECTIONS("session", TK_HTTP_SESSION),
    GROUP_CONNECTIONS("train", TK_HTTP_TRAIN),
    GROUP_CONNECTIONS("sample", TK_HTTP_SAMPLE),
    GROUP_CONNECTIONS("futures", TK_HTTP_FUTURES),
    GROUP_CONNECTIONS("rest", TK_HTTP_REST),
    GROUP_CONNECTIONS("telemetry", TK_HTTP_TELEMETRY),
    {"sample_dispatch", TK_OPTION_INT, AT(sample_dispatch), "400", NULL, NULL, 1, 100000,
     NULL, "samples submitted at a time"},
    {"sample_dispatch_throttled", TK_OPTION_INT, AT(sample_dispatch_throttled), "10",
     NULL, NULL, 1, 100000, NULL,
     "samples submitted at a time soon after the server pushed back"},
    {"sample_resubmits", TK_OPTION_INT, AT(sample_resubmits), "3", NULL, NULL, 0, 1000,
     NULL, "times that a sample that failed on the server is submitted again"},
    {"sample_retry_base", TK_OPTION_MS, AT(sample_retry_base_ms), "500", NULL, NULL, 1,
     DAY_MS, NULL, "first delay before a sample is submitted again"},
    {"sample_retry_max", TK_OPTION_MS, AT(sample_retry_max_ms), "10000", NULL, NULL, 1,
     DAY_MS, NULL, "longest such delay"},
    {"poll_floor", TK_OPTION_MS, AT(poll_floor_ms), "100", NULL, NULL, 0, DAY_MS, NULL,
     "shortest time between polls after a server error"},
    {"stuck_silent", TK_OPTION_MS, AT(stuck_silent_ms), "600000", NULL, NULL, 1,
     30 * DAY_MS, NULL,
     "an operation fails as stuck after this time without any response"},
    {"stuck_total", TK_OPTION_MS, AT(stuck_total_ms), "7200000", NULL, NULL, 1,
     30 * DAY_MS, NULL,
     "an operation fails as stuck after this time without a completion"},
    {"fail_step_after_partial", TK_OPTION_BOOL, AT(fail_step_after_partial), "true", NULL,
     NULL, 0, 1, NULL,
     "an optim_step after a batch that was applied in part fails locally"},
    {"max_response_bytes", TK_OPTION_INT, AT(max_response_bytes), "1073741824", NULL,
     NULL, 1024, INT64_C(1) << 40, NULL, "largest response that is read"},
    {"max_report_bytes", TK_OPTION_INT, AT(max_report_bytes), "33554432", NULL, NULL,
     1024, INT64_C(1) << 40, NULL,
     "largest audit log of a day, or list of usage events, that is read"},
    {"archive_poll", TK_OPTION_MS, AT(archive_poll_ms), "30000", NULL, NULL, 1, DAY_MS,
     NULL, "pause between requests for an archive that is being built"},
    {"archive_tries", TK_OPTION_INT, AT(archive_tries), "6", NULL, NULL, 1, 100000, NULL,
     "number of requests for such an archive"},
    {"trace_poll", TK_OPTION_MS, AT(trace_poll_ms), "5000", NULL, NULL, 1, DAY_MS, NULL,
     "pause between requests for the trace of a session that is being written"},
};

const tk_option *tk_option_at(size_t index)
{
    return index < TK_ARRAY_LEN(options) ? &options[index] : NULL;
}

const tk_option *tk_option_find(const char *name)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(options); i++) {
        if (strcmp(options[i].name, name) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

const char *tk_option_type_name(tk_option_type type)
{
    static const char *const names[] = {"string", "secret",      "bool",
                                        "int",    "duration_ms", "choice"};
    return names[type];
}

static bool parse_bool(int64_t *out, const char *text)
{
    static const char *const words[] = {"0",  "1",   "false", "true",
                                        "no", "yes", "off",   "on"};
    for (size_t i = 0; i < TK_ARRAY_LEN(words); i++) {
        if (tk_str_is_nocase(tk_str_of(text), words[i])) {
            *out = (int64_t)(i % 2);
            return true;
        }
    }
    return false;
}

static bool parse_choice(int64_t *out, const char *words, const char *text)
{
    tk_str rest = tk_str_of(words);
    for (int64_t i = 0; rest.p != NULL; i++) {
        if (tk_str_is_nocase(tk_str_cut(&rest, ' '), text)) {
            *out = i;
            return true;
        }
    }
    return false;
}

bool tk_option_parse(int64_t *out, const tk_option *option, const char *text)
{
    if (option->type == TK_OPTION_BOOL) {
        return parse_bool(out, text);
    }
    if (option->type == TK_OPTION_CHOICE) {
        return parse_choice(out, option->words, text);
    }
    if (option->type == TK_OPTION_MS && strcmp(text, "none") == 0) {
        *out = -1;
        return true;
    }
    int64_t number;
    if (!tk_str_to_i64(tk_str_of(text), &number) || number < 0) {
        return false;
    }
    *out = number;
    return true;
}

const char *tk_option_text(const tk_option *option, int64_t value, char *buffer,
                           size_t size)
{
    if (option->type == TK_OPTION_BOOL) {
        return value != 0 ? "true" : "false";
    }
    if (option->type == TK_OPTION_MS && value < 0) {
        return "none";
    }
    if (option->type == TK_OPTION_CHOICE) {
        tk_str rest = tk_str_of(option->words);
        tk_str word = tk_str_cut(&rest, ' ');
        for (int64_t i = 0; i < value && rest.p != NULL; i++) {
            word = tk_str_cut(&rest, ' ');
        }
        (void)snprintf(buffer, size, TK_STR_FMT, TK_STR_ARG(word));
        return buffer;
    }
    (void)snprintf(buffer, size, "%lld", (long long)value);
    return buffer;
}

const char *tk_option_expects(const tk_option *option)
{
    switch ((int)option->type) {
    case TK_OPTION_BOOL:
        return "true or false";
    case TK_OPTION_MS:
        return "a number of milliseconds or \"none\"";
    case TK_OPTION_CHOICE:
        return option->words;
    default:
        return "a whole number";
    }
}
