/* Tokenizers: text to token ids and back, with exactly the ids of Hugging Face's
 * `tokenizers`.
 *
 * A tokenizer is loaded from the files of a model: tokenizer.json (byte-level BPE, or BPE
 * with byte fallback) or a tiktoken vocabulary, with the tokenizer_config.json next to it.
 * A file with a feature that cannot be reproduced exactly is refused, and the error names
 * the feature (TINKC_E_UNSUPPORTED). A library built without TINKC_TEXT does not have the
 * functions of this header.
 *
 * Thread: a tokenizer is immutable; any number of threads may use it at once. Text is bytes
 * with a length; each maximal part that is not UTF-8 is read as one U+FFFD. Only
 * tinkc_*_get_tokenizer use the network. */
#ifndef TINKC_TOKENIZER_H
#define TINKC_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tinkc/download.h>
#include <tinkc/error.h>
#include <tinkc/export.h>
#include <tinkc/service.h>
#include <tinkc/types.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_tokenizer tinkc_tokenizer;
typedef struct tinkc_encoding tinkc_encoding; /* what encode gives */
typedef struct tinkc_decoder tinkc_decoder;   /* ids to text, piece by piece */

/* ---- loading ---- */

/* Loads a tokenizer. `path` is the directory of a model, its tokenizer.json or its
 * tiktoken.model; the tokenizer_config.json and chat_template.jinja in the same
 * directory are read if they exist. The caller frees *out. TINKC_E_MISSING: no such
 * file; TINKC_E_PARSE: not JSON; TINKC_E_DECODE: a field is missing or wrong;
 * TINKC_E_UNSUPPORTED: a component that is not implemented; TINKC_E_LIMIT; TINKC_E_IO;
 * TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_tokenizer_load(tinkc_tokenizer **out,
                                                          const char *path,
                                                          tinkc_error **err);

/* Loads a tokenizer from memory: a whole tokenizer.json and, unless NULL, a whole
 * tokenizer_config.json, both ended by a NUL. The caller frees *out. Errors as
 * tinkc_tokenizer_load. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_tokenizer_from_json(tinkc_tokenizer **out,
                                                               const char *json,
                                                               const char *config,
                                                               tinkc_error **err);

/* Loads as tinkc_tokenizer_load does, but shares files that were loaded before: the
 * same path, each file with the same size and modification time. The last 32 stay in
 * memory until tinkc_tokenizer_cache_clear, even when the caller has freed *out. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_tokenizer_load_cached(tinkc_tokenizer **out,
                                                                 const char *path,
                                                                 tinkc_error **err);

/* Releases what tinkc_tokenizer_load_cached keeps. */
TINKC_API void tinkc_tokenizer_cache_clear(void);

/* Adds a reference for the caller, who gives it back with tinkc_tokenizer_free.
 * Returns its argument; NULL for NULL. */
TINKC_API tinkc_tokenizer *tinkc_tokenizer_ref(tinkc_tokenizer *tokenizer);

/* Gives the caller's reference back and sets *tokenizer to NULL. Accepts NULL and a
 * pointer to NULL. */
TINKC_API void tinkc_tokenizer_free(tinkc_tokenizer **tokenizer);

/* ---- the tokenizer of a model ----
 *
 * Its name is the one that the server gives for the model, or follows from the name of the
 * model ("org/name:..." and "org/name/variant" are "org/name"; Llama 3 has an ungated copy,
 * Kimi a fixed revision). It is taken from the first place that has it:
 *  1. a local directory of that name;
 *  2. the cache of Hugging Face's programs (HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME);
 *  3. the cache of this library, which only the user empties;
 *  4. the server of the handle: `tinkc serve` has the files of its models;
 *  5. the hub (HF_ENDPOINT), with the token of HF_TOKEN, HUGGING_FACE_HUB_TOKEN or the
 *     token file, which redirects to other servers do not get. The files are then kept in
 *     the cache of this library, all or none. Not with HF_HUB_OFFLINE=1.
 *
 * These functions block; thread: any but the loop's. Tokenizers are shared as by
 * tinkc_tokenizer_load_cached. The caller frees *out. TINKC_E_MISSING when no place has it;
 * the message names the places, and the chain of causes has the reason of each. A place
 * that has it in an unusable form ends the search with the error of
 * tinkc_tokenizer_load. */

/* Where to look. NULL is as described above. */
typedef struct tinkc_tokenizer_options {
    size_t size;
    const char *directory;    /* look here and nowhere else; send no request */
    const char *tokenizer_id; /* "org/name" or "org/name:revision": this one */
    const char *revision;     /* branch, tag or commit at the hub */
    const char *cache_dir;    /* NULL: $XDG_CACHE_HOME/tinkc or ~/.cache/tinkc */
    const char *hub_url;
    const char *hub_token; /* "": none */
    bool offline;          /* no request at all, not even to the server */
    tinkc_progress_fn fn;  /* as in tinkc_download_url; false: TINKC_E_CANCELLED */
    void *user;
} tinkc_tokenizer_options;

#define TINKC_TOKENIZER_OPTIONS_INIT                                                     \
    {                                                                                    \
        sizeof(tinkc_tokenizer_options), NULL, NULL, NULL, NULL, NULL, NULL, false,      \
            NULL, NULL                                                                   \
    }

/* Sets *options to TINKC_TOKENIZER_OPTIONS_INIT. */
TINKC_API void tinkc_tokenizer_options_init(tinkc_tokenizer_options *options);

/* Finds the tokenizer of the model that is trained; asks the server which model that
 * is (get_info). The caller frees *out. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_training_get_tokenizer(tinkc_tokenizer **out, tinkc_training *training,
                             const tinkc_tokenizer_options *options, tinkc_error **err);

/* Finds the tokenizer of the model that is sampled from; asks the server for its base
 * model. The caller frees *out. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_sampling_get_tokenizer(tinkc_tokenizer **out, tinkc_sampling *sampling,
                             const tinkc_tokenizer_options *options, tinkc_error **err);

/* Finds the tokenizer of a model by its name, "org/name", or by its directory.
 * `service` may be NULL: then only the hub is asked, no server. The caller
 * frees *out. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_service_get_tokenizer(
    tinkc_tokenizer **out, tinkc_service *service, const char *model,
    const tinkc_tokenizer_options *options, tinkc_error **err);

/* ---- vocabulary ---- */

/* Returns one more than the largest id, added tokens included; 0 for NULL. */
TINKC_API size_t tinkc_tokenizer_size(const tinkc_tokenizer *tokenizer);

/* Returns the id of a token as its file spells it ("\xc4\xa0the", "<|im_end|>"); -1
 * when there is none. */
TINKC_API int32_t tinkc_tokenizer_id(const tinkc_tokenizer *tokenizer, const char *token);

/* Returns the token as its file spells it, ended by a NUL; NULL for an id that is not
 * used. *n (unless NULL) is its length. Borrowed until the tokenizer is freed. */
TINKC_API const char *tinkc_tokenizer_token(size_t *n, const tinkc_tokenizer *tokenizer,
                                            int32_t id);

/* Returns whether decoding may skip the token: it is an added token that is marked
 * special. */
TINKC_API bool tinkc_tokenizer_is_special(const tinkc_tokenizer *tokenizer, int32_t id);

/* Returns the special token of a role, as tokenizer_config.json names it: "bos_token",
 * "eos_token", "pad_token", "unk_token", ...; NULL when there is none. Borrowed until
 * the tokenizer is freed. tinkc_tokenizer_id gives its id. */
TINKC_API const char *tinkc_tokenizer_special(const tinkc_tokenizer *tokenizer,
                                              const char *role);

/* Returns the source of the chat template called `name` (NULL: the default one); NULL
 * when there is none. Borrowed until the tokenizer is freed. */
TINKC_API const char *tinkc_tokenizer_chat_template(const tinkc_tokenizer *tokenizer,
                                                    const char *name);

/* ---- text to ids ---- */

/* How to encode. */
typedef struct tinkc_encode_options {
    size_t size;
    bool add_special_tokens; /* what the post-processor adds: BOS, EOS. Rendered chat
                                text holds them already */
    bool plain_text;         /* special tokens in the text are ordinary text */
    bool offsets;            /* keep where each token came from */
} tinkc_encode_options;

#define TINKC_ENCODE_OPTIONS_INIT                                                        \
    {                                                                                    \
        sizeof(tinkc_encode_options), false, false, false                                \
    }

/* Sets *options to TINKC_ENCODE_OPTIONS_INIT. */
TINKC_API void tinkc_encode_options_init(tinkc_encode_options *options);

/* Encodes text[0 .. n). `options` NULL: TINKC_ENCODE_OPTIONS_INIT. The caller frees
 * *out. TINKC_E_LIMIT for a text of more than a gigabyte, TINKC_E_INVALID for NULL,
 * TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_tokenizer_encode(
    tinkc_encoding **out, const tinkc_tokenizer *tokenizer, const char *text, size_t n,
    const tinkc_encode_options *options, tinkc_error **err);

/* Makes a prompt of a text in one call: the ids of `text`, which ends with a NUL, without
 * added special tokens. The caller frees *out. Errors as tinkc_tokenizer_encode. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_tokenizer_input(tinkc_model_input **out, const tinkc_tokenizer *tokenizer,
                      const char *text, tinkc_error **err);

/* Counts the ids that tinkc_tokenizer_encode would give. Errors as that function. */
TINKC_API tinkc_code tinkc_tokenizer_count(size_t *out, const tinkc_tokenizer *tokenizer,
                                           const char *text, size_t n,
                                           const tinkc_encode_options *options,
                                           tinkc_error **err);

/* Many texts. */
typedef struct tinkc_text_batch {
    size_t size;
    const char *const *texts;
    const size_t *lengths; /* NULL: each text ends with a NUL */
    size_t texts_n;
    size_t threads; /* at most this many; 0: one per processor */
    const tinkc_encode_options *options;
} tinkc_text_batch;

#define TINKC_TEXT_BATCH_INIT                                                            \
    {                                                                                    \
        sizeof(tinkc_text_batch), NULL, NULL, 0, 0, NULL                                 \
    }

/* Sets *batch to TINKC_TEXT_BATCH_INIT. */
TINKC_API void tinkc_text_batch_init(tinkc_text_batch *batch);

/* Encodes many texts, on several threads. The caller frees out[0 .. texts_n). On
 * failure nothing is written, and the error is that of the first text that failed.
 * Errors as tinkc_tokenizer_encode. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_tokenizer_encode_batch(tinkc_encoding **out, const tinkc_tokenizer *tokenizer,
                             const tinkc_text_batch *batch, tinkc_error **err);

/* Frees the encoding and sets *encoding to NULL. Accepts NULL and a pointer to
 * NULL. */
TINKC_API void tinkc_encoding_free(tinkc_encoding **encoding);

/* Returns the ids, borrowed until the encoding is freed; NULL with *n = 0 when there
 * are none. `n` may be NULL. */
TINKC_API const int32_t *tinkc_encoding_ids(size_t *n, const tinkc_encoding *encoding);

/* Returns two numbers per id when options.offsets was set: the bytes [begin, end) of the
 * text that the token covers. Where normalisation changed the text they cover everything
 * that changed together; begin == end for a token that was added. *n is the number of
 * ids. Borrowed until the encoding is freed. */
TINKC_API const size_t *tinkc_encoding_offsets(size_t *n, const tinkc_encoding *encoding);

/* ---- ids to text ---- */

/* What to decode. */
typedef struct tinkc_decode {
    size_t size;
    const int32_t *ids; /* ids that are not used give nothing */
    size_t ids_n;
    bool skip_special; /* leave special tokens out */
} tinkc_decode;

#define TINKC_DECODE_INIT                                                                \
    {                                                                                    \
        sizeof(tinkc_decode), NULL, 0, false                                             \
    }

/* Sets *decode to TINKC_DECODE_INIT. */
TINKC_API void tinkc_decode_init(tinkc_decode *decode);

/* Decodes ids to text that is valid UTF-8 (U+FFFD where the ids are not) and ended by
 * a NUL. The caller frees *out with tinkc_text_free; *n (unless NULL) is its length,
 * since the text may contain NULs. TINKC_E_INVALID for NULL, TINKC_E_LIMIT,
 * TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_tokenizer_decode(char **out, size_t *n, const tinkc_tokenizer *tokenizer,
                       const tinkc_decode *what, tinkc_error **err);

/* Gives the text of ids[0 .. n) in one call, for ids whose text holds no NUL. With
 * `skip_special` special tokens are left out. The caller frees *out with tinkc_text_free.
 * TINKC_E_INVALID for NULL, TINKC_E_LIMIT, TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_tokenizer_text(char **out, const tinkc_tokenizer *tokenizer, const int32_t *ids,
                     size_t n, bool skip_special, tinkc_error **err);

/* Makes a decoder of a stream, such as ids that are being sampled. The pieces together
 * are what tinkc_tokenizer_decode gives for all ids together; a character is held back
 * until it is complete. Keeps a reference of the tokenizer. The caller frees *out.
 * TINKC_E_INVALID for NULL, TINKC_E_NOMEM. Thread: one at a time. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_decoder_new(tinkc_decoder **out,
                                                       tinkc_tokenizer *tokenizer,
                                                       bool skip_special,
                                                       tinkc_error **err);

/* Frees the decoder and sets *decoder to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_decoder_free(tinkc_decoder **decoder);

/* Decodes more ids. The text that is certain now is at tinkc_decoder_text.
 * TINKC_E_INVALID for NULL, TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_decoder_push(tinkc_decoder *decoder, const int32_t *ids,
                                        size_t n, tinkc_error **err);

/* Ends the stream: what was held back is at tinkc_decoder_text. The decoder can be
 * used again afterwards. TINKC_E_INVALID for NULL, TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_decoder_finish(tinkc_decoder *decoder, tinkc_error **err);

/* Returns the text of the last push or finish, ended by a NUL, valid until the next
 * call. *n (unless NULL) is its length. */
TINKC_API const char *tinkc_decoder_text(size_t *n, const tinkc_decoder *decoder);

TINKC_END_DECLS

#endif
