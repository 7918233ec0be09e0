/* Pushes a checkpoint to the Hugging Face Hub, or to a server with the same API, as a PEFT
 * adapter that other programs can load by its name.
 *
 * The files are downloaded into a private directory, checked, described in a model card,
 * and sent: large files to the storage that the hub names, the others inside the commit.
 * Memory does not grow with their size. The hub's token is sent to the hub only. The
 * function blocks; thread: any but the loop's. */
#ifndef TINKC_PUSH_H
#define TINKC_PUSH_H

#include <tinkc/service.h>

TINKC_BEGIN_DECLS

/* What is being done; in this order. */
typedef enum tinkc_push_stage {
    TINKC_PUSH_LOGIN = 1, /* the hub is asked whose the token is */
    TINKC_PUSH_DOWNLOAD,
    TINKC_PUSH_CHECK, /* of what came: is it a whole adapter? */
    TINKC_PUSH_REPO,  /* it is made, or found to be the right one */
    TINKC_PUSH_UPLOAD,
    TINKC_PUSH_COMMIT
} tinkc_push_stage;

typedef struct tinkc_push_progress {
    tinkc_push_stage stage;
    uint64_t done;    /* bytes, of a download or of the large files */
    int64_t total;    /* of them; -1: not known */
    const char *file; /* the one that is being sent; NULL: none */
} tinkc_push_progress;

/* Called on the calling thread: at the beginning of each stage, and several times a
 * second. Return false to stop: TINKC_E_CANCELLED; it is not called again then. */
typedef bool (*tinkc_push_fn)(const tinkc_push_progress *progress, void *user);

typedef struct tinkc_push_options {
    size_t size;
    const char *repo;     /* "name" or "owner/name"; NULL: made from base model and
                             run, in the account of the token */
    bool is_public;       /* only of a repository that is made */
    const char *revision; /* branch, made where it is missing; NULL: the main one, or
                             with `repo` NULL one that is named after the checkpoint */
    const char *commit_message; /* NULL or "": a usual one */
    bool create_pr;             /* a pull request instead of a commit to the branch */
    const char *const *allow; /* patterns (*, ?, [a-z], [!a]; * also matches "/") on whole
                                 paths; NULL: all files but checkpoint_complete */
    size_t allow_n;
    const char *const *ignore;
    size_t ignore_n;
    bool no_model_card;    /* do not write a README.md where there is none */
    const char *hub_url;   /* NULL: HF_ENDPOINT, or https://huggingface.co */
    const char *hub_token; /* NULL: HF_TOKEN, HUGGING_FACE_HUB_TOKEN, or the file of
                              `hf auth login` */
    const char *temp_dir;  /* for the files; NULL: TMPDIR, or /tmp */
    int max_retries; /* of the download, as in tinkc_download_options; of a question to
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

/* What became of it. */
typedef struct tinkc_pushed {
    const char *repo;       /* "owner/name" */
    const char *revision;   /* "main" when the caller named none */
    const char *commit_url; /* NULL: the repository had it all, nothing was changed */
    const char *pr_url;     /* NULL: no pull request */
    size_t files;           /* in the commit */
    uint64_t uploaded;      /* bytes that went to the storage */
} tinkc_pushed;

/* Pushes the checkpoint "tinker://RUN/weights/NAME" or ".../sampler_weights/NAME".
 * `options` NULL: TINKC_PUSH_OPTIONS_INIT. The caller owns *out, which may be NULL.
 * Errors of the download as tinkc_download_checkpoint; TINKC_E_AUTH without a token or
 * with one that the hub does not know; TINKC_E_UNSUPPORTED for a checkpoint that is
 * not a complete PEFT adapter; TINKC_E_CONFLICT when the README of the repository
 * names another checkpoint; TINKC_E_STATE when the hub may not be used
 * (HF_HUB_OFFLINE); TINKC_E_CONFIG for an unusable hub_url or token; TINKC_E_INVALID
 * for names that the hub does not accept and a commit message that is not UTF-8 or
 * over 64 KiB; TINKC_E_DECODE for an answer of the hub that cannot be understood;
 * otherwise the code of its HTTP status. What was created at the hub before a failure
 * stays there; nothing stays on this machine. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_push_checkpoint(tinkc_pushed **out, tinkc_service *service, const char *path,
                      const tinkc_push_options *options, tinkc_error **err);

/* Frees the description of the push and sets *pushed to NULL. Accepts NULL and a
 * pointer to NULL. */
TINKC_API void tinkc_pushed_free(tinkc_pushed **pushed);

TINKC_END_DECLS

#endif
