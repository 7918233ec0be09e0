/* Adapters on disk: checkpoints, reading them back, PEFT directories. Included by eng.h.
 *
 * A checkpoint is a directory: adapter_config.json, adapter_model.safetensors with the
 * tensor names of Tinker's archives (F32), with optimizer state optimizer.safetensors,
 * checksums.json (SHA-256 of each of these) and the empty checkpoint_complete.
 * Accumulated gradients are not part of it.
 *
 * Thread: as eng.h. Errors: TINKC_E_MISSING without a member that is needed,
 * TINKC_E_DECODE for damaged ones, TINKC_E_UNSUPPORTED for PEFT features that the engine
 * lacks, TINKC_E_INVALID where checkpoint and adapter do not fit. Nothing changes on
 * failure. */
#ifndef ENGINE_ENG_CHECKPOINT_H
#define ENGINE_ENG_CHECKPOINT_H

#include "engine/eng.h"

typedef struct eng_save_options {
    bool optimizer;         /* moments and step counter too */
    const char *base_model; /* base_model_name_or_path; NULL = null */
} eng_save_options;

/* Writes `directory` whole or not at all: into a temporary one beside it, which is synced
 * and renamed. Its parent must be there; when `directory` is, TINKC_E_CONFLICT. Numbers
 * that are NaN or infinite: TINKC_E_INVALID. Only a failure to sync the parent, the last
 * step, leaves the checkpoint in place. */
TK_NODISCARD tinkc_code eng_adapter_save(const eng_adapter *adapter,
                                         const char *directory,
                                         const eng_save_options *options, tk_err *err);

/* Writes the adapter as PEFT does, without optimizer state and checksums: the head is
 * lm_head, target modules are listed. */
TK_NODISCARD tinkc_code eng_adapter_export_peft(const eng_adapter *adapter,
                                                const char *directory,
                                                const eng_save_options *options,
                                                tk_err *err);

typedef struct eng_checkpoint_info {
    eng_lora_config lora; /* seed 0 */
    bool int8; /* it was made over weights that were rounded (ENG_WEIGHTS_INT8) */
    bool has_optimizer;
    uint64_t steps; /* 0 without optimizer state */
} eng_checkpoint_info;

/* Looks at the small parts only: no checksums are computed. */
TK_NODISCARD tinkc_code eng_checkpoint_read_info(eng_checkpoint_info *out,
                                                 const char *directory, tk_err *err);

/* Replaces the weights and clears gradients; moments and step counter come from the
 * checkpoint with `optimizer` and are zeroed without. Rank, alpha, flags and shapes must
 * agree. Reads checkpoints and PEFT's directories; verifies checksums where there are
 * any. */
TK_NODISCARD tinkc_code eng_adapter_load(eng_adapter *adapter, const char *directory,
                                         bool optimizer, tk_err *err);

/* A frozen adapter with the checkpoint's own rank, alpha and flags. A PEFT adapter may
 * lack some linears of a group (q and v only): they add nothing then. */
TK_NODISCARD tinkc_code eng_adapter_open(eng_adapter **out, eng_model *model,
                                         const char *directory, tk_err *err);

/* Writes the adapter of a PEFT directory, or of a checkpoint, as a checkpoint `to` for
 * models of `config`: rank, flags and shapes must agree and no linear may be missing. A
 * different alpha is evened out by a factor of B, which leaves their product as it is.
 * Thread: any; it does not compute, so that it may overlap with other calls. */
TK_NODISCARD tinkc_code eng_checkpoint_import(eng_model *model,
                                              const eng_lora_config *config,
                                              const char *from, const char *to,
                                              const eng_save_options *options,
                                              tk_err *err);

#endif
