/* Finds models in the cache of Hugging Face's programs on this machine, and fetches them
 * from the Hugging Face Hub, or a server with the same API, into it.
 *
 * An interrupted transfer is resumed, also by a later call: what has arrived stays in the
 * cache ("....incomplete"). Checksums are verified, a file appears under its name only when
 * it is complete, and a branch names the new snapshot only when all of it is there. Memory
 * use does not grow with the size. The hub's token is sent to the hub only. These
 * functions block; thread: any but the loop's. */
#ifndef TINKC_PULL_H
#define TINKC_PULL_H

#include <tinkc/service.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_pull_progress {
    uint64_t done;    /* bytes that are here, of all files */
    int64_t total;    /* bytes of all files; -1: not known yet */
    const char *file; /* being fetched; NULL: none */
    size_t files;     /* complete */
    size_t files_n;   /* in all */
} tinkc_pull_progress;

/* Called on the calling thread, for each piece and several times a second while nothing
 * arrives. Return false to stop: the pull then fails with TINKC_E_CANCELLED; what has
 * arrived is kept. */
typedef bool (*tinkc_pull_fn)(const tinkc_pull_progress *progress, void *user);

typedef struct tinkc_pull_options {
    size_t size;
    const char *revision;  /* branch, tag or commit; NULL: "main" */
    const char *directory; /* for the files; NULL: a snapshot of the cache */
    const char *cache_dir; /* NULL: HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME/hub, or
                              ~/.cache/huggingface/hub */
    const char *hub_url;   /* NULL: HF_ENDPOINT, or https://huggingface.co */
    const char *hub_token; /* NULL: HF_TOKEN, HUGGING_FACE_HUB_TOKEN, or the file that
                              `hf auth login` writes; "": none */
    int max_retries;  /* of one file, in a row without a byte; -1: option max_retries */
    int64_t retry_ms; /* delay before the first retry; doubles up to 10 s */
    tinkc_pull_fn fn;
    void *user;
} tinkc_pull_options;

#define TINKC_PULL_OPTIONS_INIT                                                          \
    {                                                                                    \
        sizeof(tinkc_pull_options), NULL, NULL, NULL, NULL, NULL, -1, 500, NULL, NULL    \
    }

/* Sets *options to TINKC_PULL_OPTIONS_INIT. */
TINKC_API void tinkc_pull_options_init(tinkc_pull_options *options);

/* Finds the model "org/name" in the cache: *directory holds config.json and safetensors.
 * Makes no request. Of `options` (NULL: TINKC_PULL_OPTIONS_INIT) only `revision` and
 * `cache_dir` count. The caller frees *directory (tinkc_text_free). TINKC_E_MISSING when it
 * is not there; TINKC_E_INVALID for what cannot be a name or a revision at the hub;
 * TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_pull_find(char **directory, const char *name,
                                                     const tinkc_pull_options *options,
                                                     tinkc_error **err);

/* Fetches what is needed to run the model "org/name": the .json, .safetensors, .jinja, .model
 * and .txt files of the repository's top directory. Files that are here already are not
 * fetched again. `service` gives the connection's settings (proxy, certificates) and may
 * be NULL; its own server is not asked. `options` NULL: TINKC_PULL_OPTIONS_INIT. The caller
 * frees *directory (tinkc_text_free); NULL discards it.
 *
 * TINKC_E_NOT_FOUND when the hub has no such model or revision, TINKC_E_AUTH and
 * TINKC_E_PERMISSION when it wants a token; TINKC_E_UNSUPPORTED when the repository has no
 * safetensors; TINKC_E_DECODE for a file with a wrong checksum or length (it is removed), a
 * response that cannot be parsed, and file names that lead out of the directory;
 * TINKC_E_IO when the disk is full or fails, before the first byte if the free space is too
 * small; TINKC_E_STATE when another process fetches the same file, on the loop's thread,
 * and when HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set; TINKC_E_CONFIG for an unusable
 * hub_url or token, and when no variable says where the cache is; TINKC_E_INVALID;
 * TINKC_E_CANCELLED; otherwise the errors of the transfer after the last retry. */
TINKC_API tinkc_code tinkc_pull_model(char **directory, tinkc_service *service,
                                      const char *name, const tinkc_pull_options *options,
                                      tinkc_error **err);

TINKC_END_DECLS

#endif
