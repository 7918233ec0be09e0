/* The files of a run: its checkpoint, from which it continues bit for bit, and the finished
 * model in Hugging Face layout. Both are replaced atomically. */
#ifndef PRETRAIN_FILES_H
#define PRETRAIN_FILES_H

#include "data.h"
#include "net.h"

/* Saves a checkpoint. `next` is the position in the training text. */
TK_NODISCARD tinkc_code pre_files_save(const pre_net *net, size_t next, const char *path,
                                       tk_err *err);

/* Loads a checkpoint. TINKC_E_MISSING: there is none; TINKC_E_DECODE: it has another
 * shape. */
TK_NODISCARD tinkc_code pre_files_load(pre_net *net, size_t *next, const char *path,
                                       tk_err *err);

/* Loads the weights of an exported model of the same shape; the moments stay as they are. */
TK_NODISCARD tinkc_code pre_files_import(pre_net *net, const char *directory,
                                         tk_err *err);

/* Writes config.json, generation_config.json and model.safetensors (bf16) to a
 * directory. */
TK_NODISCARD tinkc_code pre_files_export(const pre_net *net, const char *directory,
                                         tk_err *err);

#endif
