/* Names at the hub: which the hub takes, those that are made from a checkpoint, and
 * patterns of paths. Pure. */
#ifndef CLIENT_PUSH_NAME_H
#define CLIENT_PUSH_NAME_H

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

#define TK_PUSH_NAME_MAX     96  /* of a part of a repository's name */
#define TK_PUSH_REVISION_MAX 250 /* of a branch */
#define TK_PUSH_PATTERN_MAX  1024
#define TK_PUSH_MESSAGE_MAX  (64 * TK_KIB)

/* A checkpoint path in its parts. */
typedef struct tk_push_source {
    tk_str run, kind, name; /* views into the path */
} tk_push_source;

/* TINKC_E_INVALID for anything but "tinker://RUN/(weights|sampler_weights)/NAME" without
 * blanks, control characters and what would end it in a model card. */
TK_NODISCARD tinkc_code tk_push_source_read(tk_push_source *out, const char *path,
                                            tk_err *err);

/* TINKC_OK when `repo` is "name" or "owner/name" as the hub takes them. */
TK_NODISCARD tinkc_code tk_push_check_repo(const char *repo, tk_err *err);
TK_NODISCARD tinkc_code tk_push_check_revision(const char *revision, tk_err *err);

/* Appends `text` with everything but ASCII letters, digits, "-", "_" and "." as "-", none
 * of them twice in a row, and none of "-_." at the ends. */
void tk_push_put_name(tk_buf *out, tk_str text);

/* Whether the whole path matches, as Python's fnmatchcase does; a pattern that ends in
 * "/" means all that lies below, "\" is "/". */
bool tk_push_matches(tk_str pattern, tk_str path);

#endif
