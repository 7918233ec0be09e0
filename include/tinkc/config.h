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

/* How the library does its work. */
typedef enum tinkc_loop {
    TINKC_LOOP_THREAD = 0, /* one I/O thread of ours per service handle (default) */
    TINKC_LOOP_MANUAL = 1  /* none: the caller drives fd / deadline / process */
} tinkc_loop;

/* A new configuration with defaults and what the environment says (TINKER_API_KEY,
 * TINKER_BASE_URL, TINKER_CREDENTIAL_CMD, TINKER_PROJECT_ID, TINKER_TAGS,
 * TINKER_TELEMETRY, TINKER_LOG, CLOUDFLARE_ACCESS_CLIENT_ID / _SECRET, SSL_CERT_FILE,
 * SSL_CERT_DIR and the proxy variables). The caller owns *out. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_config_new(tinkc_config **out,
                                                      tinkc_error **err);

/* A copy that shares nothing with the original. The caller owns *out. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_config_copy(tinkc_config **out,
                                                       const tinkc_config *config,
                                                       tinkc_error **err);

/* Wipes secrets. Sets *config to NULL; accepts NULL. */
TINKC_API void tinkc_config_free(tinkc_config **config);

/* Sets one option by name; the text is parsed by the option's type and checked. Names,
 * types, ranges and defaults are listed in docs/config.md, which is generated from the
 * same table. TINKC_E_CONFIG names the option and the reason. A NULL value restores the
 * default. */
TINKC_API tinkc_code tinkc_config_set(tinkc_config *config, const char *name,
                                      const char *value, tinkc_error **err);

/* The effective value as text into `text` (NUL-terminated, cut to `size`); secrets read
 * as
 * "***". Returns the full length as snprintf, or 0 for an unknown name. */
TINKC_API size_t tinkc_config_get(char *text, size_t size, const tinkc_config *config,
                                  const char *name);

/* The option table, for programs that list it: name, type ("string", "bool", "int",
 * "duration_ms", "secret"), default and one line of help. false when index is past the
 * end. Static storage. */
typedef struct tinkc_config_option {
    const char *name;
    const char *type;
    const char *fallback;
    const char *help;
} tinkc_config_option;

/* Row `index` of the table. */
TINKC_API bool tinkc_config_option_at(tinkc_config_option *out, size_t index);

/* Extra headers and query parameters for every request; later ones replace earlier ones
 * of the same name. NULL value removes. */
TINKC_API tinkc_code tinkc_config_set_header(tinkc_config *config, const char *name,
                                             const char *value, tinkc_error **err);

/* The same for parameters of the query. */
TINKC_API tinkc_code tinkc_config_set_query(tinkc_config *config, const char *name,
                                            const char *value, tinkc_error **err);

/* Metadata of the session; a NULL value is sent as null. */
TINKC_API tinkc_code tinkc_config_set_metadata(tinkc_config *config, const char *key,
                                               const char *value, tinkc_error **err);

/* A tag of the session; adding one twice keeps one. */
TINKC_API tinkc_code tinkc_config_add_tag(tinkc_config *config, const char *tag,
                                          tinkc_error **err);

/* Where log lines go; NULL (default) = nowhere. */
TINKC_API void tinkc_config_set_log(tinkc_config *config, tinkc_log_fn fn, void *user);

TINKC_END_DECLS

#endif
