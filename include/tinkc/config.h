/* Configuration of a service handle: a value, copied when the service is opened.
 *
 * Precedence: what is set here, then the environment (read once, in tinkc_config_new),
 * then the default. Changing the environment later has no effect. Several configurations
 * with different servers and keys live side by side in one process. Thread: one at a
 * time. */
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

/* Which thread does the work. */
typedef enum tinkc_loop {
    TINKC_LOOP_THREAD = 0, /* an I/O thread of the library for each service (default) */
    TINKC_LOOP_MANUAL = 1  /* none: the caller uses fd, deadline and process */
} tinkc_loop;

/* Makes a configuration with defaults and the values of the environment
 * (TINKER_API_KEY, TINKER_BASE_URL, TINKER_CREDENTIAL_CMD, TINKER_PROJECT_ID,
 * TINKER_TAGS, TINKER_TELEMETRY, TINKER_LOG, CLOUDFLARE_ACCESS_CLIENT_ID / _SECRET,
 * SSL_CERT_FILE, SSL_CERT_DIR and the proxy variables). The caller owns *out.
 * TINKC_E_CONFIG for an unusable variable, TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_config_new(tinkc_config **out,
                                                      tinkc_error **err);

/* Makes a copy that shares nothing with the original. The caller owns *out.
 * TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_config_copy(tinkc_config **out,
                                                       const tinkc_config *config,
                                                       tinkc_error **err);

/* Frees the configuration, wipes its secrets, and sets *config to NULL. Accepts NULL
 * and a pointer to NULL. */
TINKC_API void tinkc_config_free(tinkc_config **config);

/* Sets one option by its name. The text is parsed by the type of the option and
 * checked; NULL restores the default. Names, types, ranges and defaults are listed in
 * docs/config.md, which is generated from the same table. TINKC_E_CONFIG names the
 * option and the reason. */
TINKC_API tinkc_code tinkc_config_set(tinkc_config *config, const char *name,
                                      const char *value, tinkc_error **err);

/* Writes the effective value of an option to `text`, NUL-terminated and cut to `size`.
 * Secrets read as "***". Returns the full length as snprintf does, or 0 for an unknown
 * name. */
TINKC_API size_t tinkc_config_get(char *text, size_t size, const tinkc_config *config,
                                  const char *name);

/* One row of the table of options, for programs that list it: name, type ("string",
 * "bool", "int", "duration_ms", "secret"), default and one line of help. Static
 * storage. */
typedef struct tinkc_config_option {
    const char *name;
    const char *type;
    const char *fallback;
    const char *help;
} tinkc_config_option;

/* Gives row `index` of the table. Returns false, and writes nothing, when `index` is
 * past the end. */
TINKC_API bool tinkc_config_option_at(tinkc_config_option *out, size_t index);

/* Sets a header that every request carries; a later one replaces an earlier one of the
 * same name, and a NULL value removes it. TINKC_E_CONFIG for a name or value that is
 * empty or has control characters, TINKC_E_INVALID without a configuration,
 * TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_config_set_header(tinkc_config *config, const char *name,
                                             const char *value, tinkc_error **err);

/* Sets a query parameter that every request carries; a later one replaces an earlier
 * one of the same name, and a NULL value removes it. Errors as
 * tinkc_config_set_header. */
TINKC_API tinkc_code tinkc_config_set_query(tinkc_config *config, const char *name,
                                            const char *value, tinkc_error **err);

/* Sets one entry of the metadata of the session; a NULL value is sent as null. Errors
 * as tinkc_config_set_header. */
TINKC_API tinkc_code tinkc_config_set_metadata(tinkc_config *config, const char *key,
                                               const char *value, tinkc_error **err);

/* Adds a tag to the session; a tag that is there already is not added twice. Errors as
 * tinkc_config_set_header. */
TINKC_API tinkc_code tinkc_config_add_tag(tinkc_config *config, const char *tag,
                                          tinkc_error **err);

/* Sets the function that receives log lines; NULL, the default, discards them. */
TINKC_API void tinkc_config_set_log(tinkc_config *config, tinkc_log_fn fn, void *user);

TINKC_END_DECLS

#endif
