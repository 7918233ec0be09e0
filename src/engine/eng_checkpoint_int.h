/* Names that writing and reading checkpoints share. */
#ifndef ENGINE_ENG_CHECKPOINT_INT_H
#define ENGINE_ENG_CHECKPOINT_INT_H

#include "engine/eng_checkpoint.h"
#include "engine/eng_lora.h"

#define ENG_CKPT_CONFIG    "adapter_config.json"
#define ENG_CKPT_WEIGHTS   "adapter_model.safetensors"
#define ENG_CKPT_OPTIMIZER "optimizer.safetensors"
#define ENG_CKPT_CHECKSUMS "checksums.json"
#define ENG_CKPT_COMPLETE  "checkpoint_complete"

#define ENG_CKPT_PRECISION "base_precision" /* metadata of the weights */
#define ENG_CKPT_INT8      "INT8"

#define ENG_CKPT_MOMENT1 ".exp_avg" /* after the name of the weight */
#define ENG_CKPT_MOMENT2 ".exp_avg_sq"

#define ENG_CKPT_NAME_BYTES 128

/* One tensor of an adapter. */
typedef struct eng_ckpt_key {
    bool head;
    size_t layer; /* when not head */
    eng_linear which;
    bool b;        /* lora_B */
    tk_str suffix; /* what follows ".weight" */
} eng_ckpt_key;

/* The archive's name, or PEFT's. */
void eng_ckpt_put_name(char out[ENG_CKPT_NAME_BYTES], const eng_ckpt_key *key, bool peft);

/* Either; false when it is neither. The suffix points into `name`. */
TK_NODISCARD bool eng_ckpt_read_name(eng_ckpt_key *out, tk_str name);

#endif
