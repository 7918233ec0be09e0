/* Downloads the files of a checkpoint, or one file from a URL.
 *
 * An interrupted transfer is resumed, an expired URL is requested again, and
 * length and checksum (where the server or the caller gives one) are checked. Either all
 * of it is at its place at the end, or nothing. Memory does not grow with the size.
 * These functions block; thread: any but the loop's. */
#ifndef TINKC_DOWNLOAD_H
#define TINKC_DOWNLOAD_H

#include <tinkc/service.h>

TINKC_BEGIN_DECLS

/* How far a download is. */
typedef struct tinkc_progress {
    uint64_t received; /* bytes of the archive or file */
    int64_t total;     /* its size; -1: not known (yet) */
    uint64_t written;  /* bytes of files */
    size_t files;      /* whole files */
    const char *file;  /* the one being written; NULL: none */
    int connections;   /* how often the transfer was begun or taken up again */
} tinkc_progress;

/* Called on the calling thread with each piece, and several times a second while nothing
 * comes. Return false to stop: TINKC_E_CANCELLED, and nothing is left behind. */
typedef bool (*tinkc_progress_fn)(const tinkc_progress *progress, void *user);

typedef struct tinkc_download_options {
    size_t size;
    bool overwrite;     /* replace what is at the target */
    uint64_t max_bytes; /* of all files; 0: 1 TiB */
    uint64_t max_files; /* 0: 100,000 */
    int max_retries;    /* failures in a row without a byte; -1: option max_retries */
    int64_t retry_ms;   /* before the first of them; doubles up to 10 s */
    const char
        *sha256; /* of the archive or file, 64 hex digits; NULL: the server's, if any */
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
 * archive, as tinkc_rest_archive_url does. `options` NULL:
 * TINKC_DOWNLOAD_OPTIONS_INIT; *result (unless NULL) is the progress at the end, with
 * `file` NULL. TINKC_E_STATE when the target exists and may not be overwritten;
 * TINKC_E_PARSE for an archive that is broken or cut; TINKC_E_DECODE for one that does
 * not match its checksum, or that has links, devices, names that lead out of the
 * target, or a name twice; TINKC_E_LIMIT for one that unpacks to more than max_bytes,
 * max_files, or a hundred times its own size; TINKC_E_IO for the disk. */
TINKC_API tinkc_code tinkc_download_checkpoint(tinkc_progress *result,
                                               tinkc_service *service, const char *path,
                                               const char *target,
                                               const tinkc_download_options *options,
                                               tinkc_error **err);

/* Downloads `url` into `file`, e.g. the trace of a session. Sends no credential.
 * `options`, *result and errors as in tinkc_download_checkpoint. */
TINKC_API tinkc_code tinkc_download_url(tinkc_progress *result, tinkc_service *service,
                                        const char *url, const char *file,
                                        const tinkc_download_options *options,
                                        tinkc_error **err);

TINKC_END_DECLS

#endif
