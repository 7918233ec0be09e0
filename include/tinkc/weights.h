/* Copies of checkpoints, and external weights: the files of a checkpoint for other
 * programs, saved by tinkc_training_save_weights_external under
 * "tinker://<run>/external_weights/<name>". Servers of the level of the official SDK 0.36
 * have them. Results and texts as in <tinkc/rest.h>. Thread: any. */
#ifndef TINKC_WEIGHTS_H
#define TINKC_WEIGHTS_H

#include <tinkc/rest.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_copy_options {
    size_t size;
    const char *project_id; /* that owns the copy; NULL: option project_id */
    int64_t ttl_seconds;    /* -1: the copy does not expire */
    const char *token; /* key of another account that may read the source; NULL: none */
} tinkc_copy_options;

#define TINKC_COPY_OPTIONS_INIT                                                          \
    {                                                                                    \
        sizeof(tinkc_copy_options), NULL, -1, NULL                                       \
    }

/* Sets *options to TINKC_COPY_OPTIONS_INIT. */
TINKC_API void tinkc_copy_options_init(tinkc_copy_options *options);

/* Copies a checkpoint into a project, where it belongs to a new run that cannot be
 * trained. A repeated request makes one copy. TINKC_E_INVALID when `path` is not the path
 * of a checkpoint, without a project, or for a ttl_seconds that is neither -1 nor at least
 * 1. Result: tinkc_future_take_text (the path of the copy). */
TINKC_API TINKC_NODISCARD tinkc_future *
tinkc_rest_copy_weights(tinkc_service *service, const char *path,
                        const tinkc_copy_options *options);

/* Calls tinkc_rest_copy_weights and waits for its result. The caller owns *out
 * (tinkc_text_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_copy_weights_wait(char **out, tinkc_service *service,
                                                  const char *path,
                                                  const tinkc_copy_options *options,
                                                  tinkc_error **err);

/* Where the files of external weights can be fetched, without credentials. */
typedef struct tinkc_file_urls {
    const tinkc_pair *items; /* name (with "/" for directories) and URL */
    size_t n;
    int64_t expires_us;
} tinkc_file_urls;

/* Asks for the URLs of the files of external weights. TINKC_E_INVALID when `path` is not
 * that of external weights. Result: tinkc_future_take_file_urls. */
TINKC_API TINKC_NODISCARD tinkc_future *tinkc_rest_external_urls(tinkc_service *service,
                                                                 const char *path);

/* Calls tinkc_rest_external_urls and waits for its result. The caller owns *out
 * (tinkc_file_urls_free); a NULL `out` discards it. */
TINKC_API tinkc_code tinkc_rest_external_urls_wait(tinkc_file_urls **out,
                                                   tinkc_service *service,
                                                   const char *path, tinkc_error **err);

/* Takes the URLs out of a completed future. The caller owns *out
 * (tinkc_file_urls_free). TINKC_E_STATE when the future is NULL or not done, has a result
 * of another kind, or its result was already taken; otherwise the error of the
 * operation. */
TINKC_API tinkc_code tinkc_future_take_file_urls(tinkc_file_urls **out,
                                                 tinkc_future *future, tinkc_error **err);

/* Waits for the future, takes the URLs as tinkc_future_take_file_urls does, and frees the
 * future whatever the outcome: *future is NULL afterwards. A NULL `out` discards the
 * result. */
TINKC_API tinkc_code tinkc_future_await_file_urls(tinkc_file_urls **out,
                                                  tinkc_future **future,
                                                  tinkc_error **err);

/* Frees the URLs and sets *urls to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_file_urls_free(tinkc_file_urls **urls);

TINKC_END_DECLS

#endif
