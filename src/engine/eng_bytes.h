/* How much memory things of the engine need, so that a caller can refuse what does not
 * fit before it begins. Upper bounds, within about a half of what is allocated; SIZE_MAX
 * when the size overflows. Pure. Thread: any, as models are frozen. */
#ifndef ENGINE_ENG_BYTES_H
#define ENGINE_ENG_BYTES_H

#include "engine/eng.h"
#include "engine/eng_sampler.h"

/* An open model: its weights, and its rotary table at its longest. */
size_t eng_bytes_model(const eng_model *model);

/* An adapter of `config`: weights, and unless frozen gradients, a copy of them, moments
 * and the first block of a training request's inputs. */
size_t eng_bytes_adapter(const eng_model *model, const eng_lora_config *config,
                         bool frozen);
/* A frozen adapter with the weights of this one. */
size_t eng_bytes_frozen(const eng_adapter *adapter);
/* What reading its checkpoint needs meanwhile. */
size_t eng_bytes_adapter_load(const eng_model *model, const eng_lora_config *config);

/* What of a training request decides about its size. */
typedef struct eng_train_size {
    size_t data;    /* datums */
    size_t cells;   /* targets of all tokens */
    size_t columns; /* targets of one token, at most */
    size_t rows;    /* tokens that run together, at most */
    size_t blocks;  /* blocks of keys and values that they need */
    size_t longest; /* tokens of one datum, at most */
} eng_train_size;

eng_train_size eng_bytes_measure(const eng_train_request *request);

/* Inputs and outputs of the request, until it ends. */
size_t eng_bytes_train(const eng_train_size *size);

/* The model's working memory, which it keeps: for a training request with an adapter of
 * `rank` (0 for one that is refused because it exceeds the context), and for a step of `sequences` samples with a chunk of `rows` prompt tokens. */
size_t eng_bytes_train_work(const eng_model *model, size_t rank,
                            const eng_train_size *size);
size_t eng_bytes_sample_work(const eng_model *model, size_t rank, size_t sequences,
                             size_t rows);

/* A sample request with its result, until it ends. */
size_t eng_bytes_sample(const eng_model *model, const eng_sample_request *request);

#endif
