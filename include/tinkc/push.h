/* Pushes a checkpoint to the Hugging Face Hub, or to a server with the same API, as a PEFT
 * adapter that other programs can load by its name.
 *
 * The files are downloaded into a private directory, checked, given a model card, and
 * uploaded: large files to the storage that the hub names, the others with the commit.
 * Memory use does not grow with their size. The hub's token is sent to the hub only.
 * tinkc_push_checkpoint blocks; thread: any but the loop's. */
#ifndef TINKC_PUSH_H
#define TINKC_PUSH_H

#include <tinkc/service.h>

TINKC_BEGIN_DECLS

/* The stages of a push, in this order. */
typedef enum tinkc_push_stage {
    TINKC_PUSH_LOGIN = 1, /* asks the hub which account the token belongs to */
    TINKC_PUSH_DOWNLOAD,
    TINKC_PUSH_CHECK, /* checks that the files are a complete adapter */
    TINKC_PUSH_REPO,  /* creates the repository, or checks the existing one */
    TINKC_PUSH_UPLOAD,
    TINKC_PUSH_COMMIT
} tinkc_push_stage;

typedef struct tinkc_push_progress {
    tinkc_push_stage stage;
    uint64_t done;    /* bytes of the download, or of the large files uploaded */
    int64_t total;    /* bytes in all; -1: not known */
    const char *file; /* being uploaded; NULL: none */
} tinkc_push_progress;

/* Called on the calling thread, at the beginning of each stage and several times a second.
 * Return false to stop: the push then fails with TINKC_E_CANCELLED, and the callback is
 * not called again. */
typedef bool (*tinkc_push_fn)(const tinkc_push_progress *progress, void *user);

typedef struct tinkc_push_options {
    size_t size;
    const char *repo;     /* "name" or "owner/name"; NULL: derived from base model and
                             run, in the token's account */
    bool is_public;       /* has an effect only when the repository is created */
    const char *revision; /* branch, created if it does not exist; NULL: "main" or, with
                             `repo` NULL, one named after the checkpoint */
    const char *commit_message; /* NULL or "": a default message */
    bool create_pr;             /* a pull request instead of a commit to the branch */
    const char *const *allow; /* patterns (*, ?, [a-z], [!a]; * matches "/" too) for whole
                                 paths; none: all files but checkpoint_complete */
    size_t allow_n;
    const char *const *ignore; /* patterns of files to leave out */
    size_t ignore_n;
    bool no_model_card;    /* do not add a README.md if the checkpoint has none */
    const char *hub_url;   /* NULL: HF_ENDPOINT, or https://huggingface.co */
    const char *hub_token; /* NULL: HF_TOKEN, HUGGING_FACE_HUB_TOKEN, or the file that
                              `hf auth login` writes */
    const char *temp_dir;  /* for the files; NULL: TMPDIR, or /tmp */
    int max_retries; /* of the download, as in tinkc_download_options; of a request to
                        the hub at most 5 */
    tinkc_push_fn fn;
    void *user;
} tinkc_push_options;

#define TINKC_PUSH_OPTIONS_INIT                                                          \
    {                                                                                    \
        sizeof(tinkc_push_options), NULL, false, NULL, NULL, false, NULL, 0, NULL, 0,    \
            false, NULL, NULL, NULL, -1, NULL, NULL                                      \
    }

/* Sets *options to TINKC_PUSH_OPTIONS_INIT. */
TINKC_API void tinkc_push_options_init(tinkc_push_options *options);

/* The result of a push. */
typedef struct tinkc_pushed {
    const char *repo;       /* "owner/name" */
    const char *revision;   /* the branch that was pushed to */
    const char *commit_url; /* NULL: no commit, the repository has all files */
    const char *pr_url;     /* NULL: no pull request */
    size_t files;           /* in the commit */
    uint64_t uploaded;      /* bytes uploaded to the storage */
} tinkc_pushed;

/* Pushes the checkpoint "tinker://RUN/weights/NAME" or ".../sampler_weights/NAME".
 * `options` NULL: TINKC_PUSH_OPTIONS_INIT. The caller frees *out (tinkc_pushed_free); a
 * NULL `out` discards the result. Errors of the download as tinkc_download_checkpoint;
 * TINKC_E_AUTH without a token or with one that the hub rejects; TINKC_E_UNSUPPORTED for
 * a checkpoint that is not a complete PEFT adapter; TINKC_E_CONFLICT when the README of
 * the repository names another checkpoint; TINKC_E_STATE for a NULL service, on the
 * loop's thread, or when HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set; TINKC_E_CONFIG for
 * an unusable hub_url or token; TINKC_E_INVALID for a path that does not have this form,
 * names that the hub does not accept, a commit message that is not UTF-8 or over 64 KiB,
 * and patterns that leave no file; TINKC_E_REQUEST when the hub refuses a file;
 * TINKC_E_DECODE for a response of the hub that cannot be parsed; otherwise the code of
 * its HTTP status. After a failure, what was created at the hub stays there; no files
 * stay on this machine. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_push_checkpoint(tinkc_pushed **out, tinkc_service *service, const char *path,
                      const tinkc_push_options *options, tinkc_error **err);

/* Frees the result of a push and sets *pushed to NULL. Accepts NULL and a
 * pointer to NULL. */
TINKC_API void tinkc_pushed_free(tinkc_pushed **pushed);

TINKC_END_DECLS

#endif
