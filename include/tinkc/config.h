/* Configuration of a service handle: a value, copied when the service is opened.
 *
 * Precedence: values set here, then those of the profile, then the environment, then the
 * default. A profile is a named set of options in a file of the user (option "profile",
 * TINKC_PROFILE; `tinkc profile add` writes one). Keys of the environment are not sent to
 * the server of a profile.
 * tinkc_config_new reads the environment once, so later changes of it have no effect;
 * only the proxy variables are read when a connection is made. Configurations with
 * different servers and keys can be used in one process. Thread: one at a time per
 * configuration. */
#ifndef TINKC_CONFIG_H
#define TINKC_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tinkc/error.h>
#include <tinkc/export.h>
#include <tinkc/log.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_config tinkc_config;

/* Values of option "loop": what runs the I/O loop of a service. */
typedef enum tinkc_loop {
    TINKC_LOOP_THREAD = 0, /* "thread", the default: a thread of the library */
    TINKC_LOOP_MANUAL = 1  /* "manual": the caller, through tinkc_service_process */
} tinkc_loop;

/* Creates a configuration with the defaults and the values of the environment
 * (TINKER_API_KEY, TINKER_BASE_URL, TINKER_CREDENTIAL_CMD, TINKER_PROJECT_ID,
 * TINKER_TAGS, TINKER_TELEMETRY, TINKER_LOG, TINKC_PROFILE, TINKC_WIRE_DUMP,
 * CLOUDFLARE_ACCESS_CLIENT_ID, CLOUDFLARE_ACCESS_CLIENT_SECRET, SSL_CERT_FILE,
 * SSL_CERT_DIR). An empty variable counts as not set, except TINKER_TELEMETRY and
 * TINKC_WIRE_DUMP, where it means off. The caller owns *out (tinkc_config_free).
 * TINKC_E_CONFIG for an unusable variable, TINKC_E_INVALID when `out` is NULL,
 * TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_config_new(tinkc_config **out,
                                                      tinkc_error **err);

/* Creates an independent copy; only the log function and its `user` pointer are
 * shared. The caller owns *out (tinkc_config_free). TINKC_E_INVALID when `out` or
 * `config` is NULL, TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_config_copy(tinkc_config **out,
                                                       const tinkc_config *config,
                                                       tinkc_error **err);

/* Frees the configuration, wipes its secrets, and sets *config to NULL. Accepts NULL
 * and a pointer to NULL. */
TINKC_API void tinkc_config_free(tinkc_config **config);

/* Sets one option by name. The text is parsed according to the option's type and
 * checked; NULL restores the built-in default, not the value of the environment.
 * docs/config.md lists names, types, ranges and defaults. "profile" reads the file of the
 * profiles and sets every option of that profile. TINKC_E_CONFIG for an unknown name, an
 * unusable value or an unknown profile; the message names the option and the reason.
 * TINKC_E_INVALID when `config` or `name` is NULL, TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_config_set(tinkc_config *config, const char *name,
                                      const char *value, tinkc_error **err);

/* Writes the effective value of an option to `text`, NUL-terminated and truncated to
 * `size` bytes; "" when it is not set, "***" for a secret. Returns the full length as
 * snprintf does. For an unknown name or a NULL `config` it returns 0 and writes
 * nothing. */
TINKC_API size_t tinkc_config_get(char *text, size_t size, const tinkc_config *config,
                                  const char *name);

/* One row of the table of options, for programs that list them: name, type ("string",
 * "secret", "bool", "int", "duration_ms" or "choice"), default ("" when there is none)
 * and one line of help. Static storage. */
typedef struct tinkc_config_option {
    const char *name;
    const char *type;
    const char *fallback;
    const char *help;
} tinkc_config_option;

/* Copies row `index` of the table to *out. Returns false and writes nothing when
 * `index` is past the end or `out` is NULL. */
TINKC_API bool tinkc_config_option_at(tinkc_config_option *out, size_t index);

/* Sets a header that every request to the service's server carries. A later call with
 * the same name (in any case) replaces the value; a NULL value removes the header.
 * TINKC_E_CONFIG for a name that no header can have, or a value with control
 * characters; TINKC_E_INVALID when `config` is NULL; TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_config_set_header(tinkc_config *config, const char *name,
                                             const char *value, tinkc_error **err);

/* Sets a query parameter that every request to the service's server carries. A later
 * call with the same name replaces the value; a NULL value removes the parameter.
 * TINKC_E_CONFIG for an empty name, or for a name or value with control characters;
 * TINKC_E_INVALID when `config` is NULL; TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_config_set_query(tinkc_config *config, const char *name,
                                            const char *value, tinkc_error **err);

/* Sets one entry of the session's metadata; a NULL value is sent as JSON null. Same
 * errors as tinkc_config_set_query. */
TINKC_API tinkc_code tinkc_config_set_metadata(tinkc_config *config, const char *key,
                                               const char *value, tinkc_error **err);

/* Adds a tag to the session, unless it has that tag already. Same errors as
 * tinkc_config_set_query. */
TINKC_API tinkc_code tinkc_config_add_tag(tinkc_config *config, const char *tag,
                                          tinkc_error **err);

/* Sets the function that receives log lines; NULL, the default, discards them. `user`
 * must stay valid until the services opened with this configuration are closed. Does
 * nothing when `config` is NULL. */
TINKC_API void tinkc_config_set_log(tinkc_config *config, tinkc_log_fn fn, void *user);

TINKC_END_DECLS

#endif
