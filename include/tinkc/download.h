/* Downloads the files of a checkpoint, or one file from a URL.
 *
 * An interrupted transfer is resumed, a new URL is requested for a checkpoint whose URL has
 * expired, and length and checksum (if the server or the caller gives one) are verified.
 * The target appears only when it is complete; after a failure it is as it was before.
 * Memory use does not grow with the size. These functions block; thread: any but the
 * loop's. */
#ifndef TINKC_DOWNLOAD_H
#define TINKC_DOWNLOAD_H

#include <tinkc/service.h>

TINKC_BEGIN_DECLS

/* The progress of a download. */
typedef struct tinkc_progress {
    uint64_t received; /* bytes of the archive or file */
    int64_t total;     /* its size; -1: not known (yet) */
    uint64_t written;  /* bytes written to files */
    size_t files;      /* complete files */
    const char *file;  /* being written; NULL: none */
    int connections;   /* how often the transfer was started or resumed */
} tinkc_progress;

/* Called on the calling thread, for each piece and several times a second while nothing
 * arrives. Return false to stop: the download then fails with TINKC_E_CANCELLED, and its
 * files are removed. */
typedef bool (*tinkc_progress_fn)(const tinkc_progress *progress, void *user);

typedef struct tinkc_download_options {
    size_t size;
    bool overwrite;     /* replace an existing target */
    uint64_t max_bytes; /* of all files; 0: 1 TiB */
    uint64_t max_files; /* 0: 100,000 */
    int max_retries;    /* in a row without a byte received; -1: option max_retries */
    int64_t retry_ms;   /* delay before the first retry; doubles up to 10 s */
    const char
        *sha256; /* of the archive or file, 64 hex digits; NULL: the server's, if any.
                    With it a checkpoint is not exported */
    tinkc_progress_fn fn;
    void *user;
} tinkc_download_options;

#define TINKC_DOWNLOAD_OPTIONS_INIT                                                      \
    {                                                                                    \
        sizeof(tinkc_download_options), false, 0, 0, -1, 500, NULL, NULL, NULL           \
    }

/* Sets *options to TINKC_DOWNLOAD_OPTIONS_INIT. */
TINKC_API void tinkc_download_options_init(tinkc_download_options *options);

/* Downloads the files of the checkpoint "tinker://..." into the new directory
 * `target`; missing parent directories are created. Waits while the server builds the
 * archive, as tinkc_rest_archive_url does. External weights are fetched file by file; a
 * training checkpoint of which the server has no archive is loaded into a new model,
 * exported as external weights, and these are deleted at the end. `options` NULL:
 * TINKC_DOWNLOAD_OPTIONS_INIT; *result (unless NULL) is the final progress, with `file`
 * NULL. TINKC_E_INVALID without a path or target, for options that are out of range, or
 * for a sha256 together with external weights;
 * TINKC_E_STATE for a NULL service, on the loop's thread, or when the target exists and
 * `overwrite` is not set; TINKC_E_PARSE for an archive that is damaged or truncated;
 * TINKC_E_DECODE for one with excess bytes or a wrong checksum, or that contains links,
 * devices, paths that lead out of the target, or a name twice; TINKC_E_LIMIT for one that
 * unpacks to more than max_bytes, max_files, or a hundred times its size (plus 64 MiB);
 * TINKC_E_IO when the disk fails; errors of tinkc_rest_archive_url and of the transfer
 * after the last retry; TINKC_E_CANCELLED; TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_download_checkpoint(tinkc_progress *result,
                                               tinkc_service *service, const char *path,
                                               const char *target,
                                               const tinkc_download_options *options,
                                               tinkc_error **err);

/* Downloads `url` to `file`, for example the trace of a session. Sends no credential.
 * `options`, *result and errors as in tinkc_download_checkpoint. */
TINKC_API tinkc_code tinkc_download_url(tinkc_progress *result, tinkc_service *service,
                                        const char *url, const char *file,
                                        const tinkc_download_options *options,
                                        tinkc_error **err);

TINKC_END_DECLS

#endif
