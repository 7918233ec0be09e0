/* What a run leaves on disk: its checkpoint, which continues bit for bit, and the
 * finished model in Hugging Face's layout. Both are replaced atomically. */
#ifndef PRETRAIN_FILES_H
#define PRETRAIN_FILES_H

#include "data.h"
#include "net.h"

/* `next` is the position in the training text. */
TK_NODISCARD tinkc_code pre_files_save(const pre_net *net, size_t next, const char *path,
                                       tk_err *err);

/* TINKC_E_MISSING when there is none; TINKC_E_DECODE when it is of another shape. */
TK_NODISCARD tinkc_code pre_files_load(pre_net *net, size_t *next, const char *path,
                                       tk_err *err);

/* config.json, generation_config.json and model.safetensors (bf16) into a directory. */
TK_NODISCARD tinkc_code pre_files_export(const pre_net *net, const char *directory,
                                         tk_err *err);

#endif
