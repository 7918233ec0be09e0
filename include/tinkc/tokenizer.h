/* Tokenizers: text to token ids and back, with exactly the ids of Hugging Face's
 * `tokenizers`.
 *
 * A tokenizer is loaded from the files of a model: tokenizer.json (byte-level BPE, or BPE
 * with byte fallback) or a tiktoken vocabulary, with the tokenizer_config.json next to it.
 * A file with a feature that cannot be reproduced exactly is refused, and the error names
 * the feature (TINKC_E_UNSUPPORTED). A library built without TINKC_TEXT does not have the
 * functions of this header.
 *
 * Thread: a tokenizer is immutable; any number of threads may use it at once. Texts are
 * bytes with a length; each maximal part that is not UTF-8 is read as one U+FFFD. Only the
 * tinkc_*_get_tokenizer functions use the network. */
#ifndef TINKC_TOKENIZER_H
#define TINKC_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tinkc/download.h>
#include <tinkc/error.h>
#include <tinkc/export.h>
#include <tinkc/sampling.h>
#include <tinkc/service.h>
#include <tinkc/types.h>

TINKC_BEGIN_DECLS

typedef struct tinkc_tokenizer tinkc_tokenizer;
typedef struct tinkc_encoding tinkc_encoding; /* the ids of a text */
typedef struct tinkc_decoder tinkc_decoder;   /* ids to text, piece by piece */

/* ---- loading ---- */

/* Loads a tokenizer. `path` is the directory of a model, its tokenizer.json or its
 * tiktoken.model; the tokenizer_config.json and chat_template.jinja in the same
 * directory are read if they exist. The caller frees *out. TINKC_E_MISSING: no such
 * file; TINKC_E_PARSE: not JSON; TINKC_E_DECODE: a field is missing or wrong;
 * TINKC_E_UNSUPPORTED: a component that is not implemented; TINKC_E_LIMIT: a file or table
 * is too large; TINKC_E_IO: a file cannot be read; TINKC_E_INVALID for NULL;
 * TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_tokenizer_load(tinkc_tokenizer **out,
                                                          const char *path,
                                                          tinkc_error **err);

/* Loads a tokenizer from memory: a whole tokenizer.json and, unless NULL, a whole
 * tokenizer_config.json, both NUL-terminated. The caller frees *out. Errors as
 * tinkc_tokenizer_load. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_tokenizer_from_json(tinkc_tokenizer **out,
                                                               const char *json,
                                                               const char *config,
                                                               tinkc_error **err);

/* Loads like tinkc_tokenizer_load, but shares a tokenizer that was loaded from the same
 * path before, if its files still have the same sizes and modification times. The 32 most
 * recently used stay in memory until tinkc_tokenizer_cache_clear, even after the caller
 * has freed *out. Errors as tinkc_tokenizer_load. Thread: any. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_tokenizer_load_cached(tinkc_tokenizer **out,
                                                                 const char *path,
                                                                 tinkc_error **err);

/* Releases the tokenizers that tinkc_tokenizer_load_cached keeps; those that callers still
 * hold stay valid. Thread: any. */
TINKC_API void tinkc_tokenizer_cache_clear(void);

/* Adds a reference, which the caller releases with tinkc_tokenizer_free, and returns its
 * argument. Accepts NULL. */
TINKC_API tinkc_tokenizer *tinkc_tokenizer_ref(tinkc_tokenizer *tokenizer);

/* Releases the caller's reference and sets *tokenizer to NULL. Accepts NULL and a
 * pointer to NULL. */
TINKC_API void tinkc_tokenizer_free(tinkc_tokenizer **tokenizer);

/* ---- the tokenizer of a model ----
 *
 * The tokenizer's name is the one that the server reports for the model; otherwise it is
 * derived from the model's name ("org/name:..." and "org/name/variant" become "org/name";
 * Llama 3 uses an ungated copy, Kimi a fixed revision). The files come from the first of
 * these places that has them:
 *  1. a local directory: tokenizer_id or the `model` argument if it is the path of one, or
 *     the server's answer if it is an absolute path;
 *  2. the cache of Hugging Face's programs (HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME);
 *  3. the cache of this library, from which the library never removes anything;
 *  4. the server of the handle, unless tokenizer_id or revision is set: `tinkc serve` has
 *     the files of its models;
 *  5. the hub (HF_ENDPOINT), with the token from HF_TOKEN, HUGGING_FACE_HUB_TOKEN or the
 *     token file; the token is not sent along to other servers on a redirect. The files
 *     are then stored in the cache of this library, all or none. This place is skipped
 *     with HF_HUB_OFFLINE=1 or TRANSFORMERS_OFFLINE=1.
 *
 * These functions block; thread: any but the loop's. Tokenizers are shared as by
 * tinkc_tokenizer_load_cached. The caller frees *out. TINKC_E_MISSING when no place has the
 * files; the code of the failure when a place could not be searched, for example
 * TINKC_E_CONNECTION or TINKC_E_AUTH. The message names the places, and the chain of causes
 * (tinkc_error_cause) has the reason for each. Unusable files end the search with the error
 * of tinkc_tokenizer_load. TINKC_E_STATE for a NULL training or sampling handle, or on the
 * loop's thread; TINKC_E_CANCELLED when `fn` stopped the download. */

/* Where to look. A NULL member means: as described above. */
typedef struct tinkc_tokenizer_options {
    size_t size;
    const char *directory;    /* use this directory only; send no request */
    const char *tokenizer_id; /* "org/name" or "org/name:revision" */
    const char *revision;     /* branch, tag or commit at the hub */
    const char *cache_dir;    /* NULL: $XDG_CACHE_HOME/tinkc or ~/.cache/tinkc */
    const char *hub_url;
    const char *hub_token; /* "": send none */
    bool offline;          /* send no request, not even to the server; a training or
                              sampling handle then needs directory or tokenizer_id
                              (TINKC_E_INVALID) */
    tinkc_progress_fn fn;  /* as in tinkc_download_url; NULL: none */
    void *user;
} tinkc_tokenizer_options;

#define TINKC_TOKENIZER_OPTIONS_INIT                                                     \
    {                                                                                    \
        sizeof(tinkc_tokenizer_options), NULL, NULL, NULL, NULL, NULL, NULL, false,      \
            NULL, NULL                                                                   \
    }

/* Sets *options to TINKC_TOKENIZER_OPTIONS_INIT. */
TINKC_API void tinkc_tokenizer_options_init(tinkc_tokenizer_options *options);

/* Finds the tokenizer of the model being trained; asks the server which model that is
 * (get_info). The caller frees *out. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_training_get_tokenizer(tinkc_tokenizer **out, tinkc_training *training,
                             const tinkc_tokenizer_options *options, tinkc_error **err);

/* Finds the tokenizer of the model being sampled from; asks the server for its base
 * model. The caller frees *out. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_sampling_get_tokenizer(tinkc_tokenizer **out, tinkc_sampling *sampling,
                             const tinkc_tokenizer_options *options, tinkc_error **err);

/* Finds the tokenizer of a model by its name, "org/name", or by its directory.
 * `service` may be NULL: then no server is asked, only the hub. TINKC_E_INVALID without a
 * model. The caller frees *out. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_service_get_tokenizer(
    tinkc_tokenizer **out, tinkc_service *service, const char *model,
    const tinkc_tokenizer_options *options, tinkc_error **err);

/* ---- vocabulary ---- */

/* Returns the largest id plus one, including added tokens; 0 for NULL. */
TINKC_API size_t tinkc_tokenizer_size(const tinkc_tokenizer *tokenizer);

/* Returns the id of a token, spelled as in the tokenizer's file ("\xc4\xa0the",
 * "<|im_end|>"); -1 when there is none. */
TINKC_API int32_t tinkc_tokenizer_id(const tinkc_tokenizer *tokenizer, const char *token);

/* Returns the token, spelled as in the tokenizer's file and NUL-terminated; NULL for an
 * unused id. *n (unless NULL) is its length. Borrowed until the tokenizer is freed. */
TINKC_API const char *tinkc_tokenizer_token(size_t *n, const tinkc_tokenizer *tokenizer,
                                            int32_t id);

/* Returns whether the token is an added token marked special, which decoding can leave
 * out. */
TINKC_API bool tinkc_tokenizer_is_special(const tinkc_tokenizer *tokenizer, int32_t id);

/* Returns the special token for a role of tokenizer_config.json: "bos_token",
 * "eos_token", "pad_token", "unk_token", ...; NULL when there is none. Borrowed until
 * the tokenizer is freed. tinkc_tokenizer_id gives its id. */
TINKC_API const char *tinkc_tokenizer_special(const tinkc_tokenizer *tokenizer,
                                              const char *role);

/* Returns the id of the token that ends a text or an answer (eos_token of
 * tokenizer_config.json); -1 when there is none. Not every server stops there by itself:
 * put it into stop_tokens of tinkc_sampling_params. */
TINKC_API int32_t tinkc_tokenizer_end(const tinkc_tokenizer *tokenizer);

/* Returns the source of the chat template called `name` (NULL: the default one); NULL
 * when there is none. Borrowed until the tokenizer is freed. */
TINKC_API const char *tinkc_tokenizer_chat_template(const tinkc_tokenizer *tokenizer,
                                                    const char *name);

/* ---- text to ids ---- */

/* How to encode. Start from TINKC_ENCODE_OPTIONS_INIT. */
typedef struct tinkc_encode_options {
    size_t size;
    bool add_special_tokens; /* add those of the post-processor (BOS, EOS); rendered chats
                                already contain them */
    bool plain_text;         /* treat special tokens in the text as ordinary text */
    bool offsets;            /* record which bytes of the text each token covers */
} tinkc_encode_options;

#define TINKC_ENCODE_OPTIONS_INIT                                                        \
    {                                                                                    \
        sizeof(tinkc_encode_options), false, false, false                                \
    }

/* Sets *options to TINKC_ENCODE_OPTIONS_INIT. */
TINKC_API void tinkc_encode_options_init(tinkc_encode_options *options);

/* Encodes text[0 .. n). `options` NULL: TINKC_ENCODE_OPTIONS_INIT. The caller frees
 * *out. TINKC_E_LIMIT for a text of more than 1 GiB, or one on which a split pattern
 * exceeds its limits; TINKC_E_INVALID for NULL; TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_tokenizer_encode(
    tinkc_encoding **out, const tinkc_tokenizer *tokenizer, const char *text, size_t n,
    const tinkc_encode_options *options, tinkc_error **err);

/* Makes a prompt from NUL-terminated text in one call: its ids, without added special
 * tokens. The caller frees *out. Errors as tinkc_tokenizer_encode. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_tokenizer_input(tinkc_model_input **out, const tinkc_tokenizer *tokenizer,
                      const char *text, tinkc_error **err);

/* Counts the ids that tinkc_tokenizer_encode would produce. Errors as that function. */
TINKC_API tinkc_code tinkc_tokenizer_count(size_t *out, const tinkc_tokenizer *tokenizer,
                                           const char *text, size_t n,
                                           const tinkc_encode_options *options,
                                           tinkc_error **err);

/* The texts of tinkc_tokenizer_encode_batch. Start from TINKC_TEXT_BATCH_INIT. */
typedef struct tinkc_text_batch {
    size_t size;
    const char *const *texts;
    const size_t *lengths; /* NULL: each text ends with a NUL */
    size_t texts_n;
    size_t threads; /* at most this many; 0: one per processor; never more than 64 */
    const tinkc_encode_options *options; /* NULL: TINKC_ENCODE_OPTIONS_INIT */
} tinkc_text_batch;

#define TINKC_TEXT_BATCH_INIT                                                            \
    {                                                                                    \
        sizeof(tinkc_text_batch), NULL, NULL, 0, 0, NULL                                 \
    }

/* Sets *batch to TINKC_TEXT_BATCH_INIT. */
TINKC_API void tinkc_text_batch_init(tinkc_text_batch *batch);

/* Encodes many texts, on several threads, and blocks until all are done. The caller frees
 * each of out[0 .. texts_n). On failure nothing is written, and the error is that of the
 * failed text with the lowest index. Errors as tinkc_tokenizer_encode. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_tokenizer_encode_batch(tinkc_encoding **out, const tinkc_tokenizer *tokenizer,
                             const tinkc_text_batch *batch, tinkc_error **err);

/* Frees the encoding and sets *encoding to NULL. Accepts NULL and a pointer to
 * NULL. */
TINKC_API void tinkc_encoding_free(tinkc_encoding **encoding);

/* Returns the ids, borrowed until the encoding is freed; NULL with *n = 0 when there
 * are none. `n` may be NULL. */
TINKC_API const int32_t *tinkc_encoding_ids(size_t *n, const tinkc_encoding *encoding);

/* Returns two numbers per id: the range [begin, end) of bytes of the text that the token
 * covers. Where normalisation changed the text, the range covers everything that changed
 * together; begin == end for a token that was added. *n (unless NULL) is the number of
 * ids. Borrowed until the encoding is freed; NULL, with *n = 0, unless options.offsets was
 * set. */
TINKC_API const size_t *tinkc_encoding_offsets(size_t *n, const tinkc_encoding *encoding);

/* ---- ids to text ---- */

/* What to decode. Start from TINKC_DECODE_INIT. */
typedef struct tinkc_decode {
    size_t size;
    const int32_t *ids; /* unused ids produce no text */
    size_t ids_n;
    bool skip_special; /* leave special tokens out */
} tinkc_decode;

#define TINKC_DECODE_INIT                                                                \
    {                                                                                    \
        sizeof(tinkc_decode), NULL, 0, false                                             \
    }

/* Sets *decode to TINKC_DECODE_INIT. */
TINKC_API void tinkc_decode_init(tinkc_decode *decode);

/* Decodes ids to NUL-terminated UTF-8, with U+FFFD for bytes that are not UTF-8. The
 * caller frees *out with tinkc_text_free; *n (unless NULL) is its length, since the text
 * may contain NULs. TINKC_E_INVALID for NULL; TINKC_E_LIMIT for more than 1 GiB of text;
 * TINKC_E_NOMEM. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_tokenizer_decode(char **out, size_t *n, const tinkc_tokenizer *tokenizer,
                       const tinkc_decode *what, tinkc_error **err);

/* Decodes ids[0 .. n) in one call, for ids whose text contains no NUL. With
 * `skip_special` special tokens are left out. The caller frees *out with tinkc_text_free.
 * Errors as tinkc_tokenizer_decode. */
TINKC_API TINKC_NODISCARD tinkc_code
tinkc_tokenizer_text(char **out, const tinkc_tokenizer *tokenizer, const int32_t *ids,
                     size_t n, bool skip_special, tinkc_error **err);

/* Decodes one continuation of a sample, as tinkc_tokenizer_text does. The caller frees *out
 * with tinkc_text_free. Errors as that function; TINKC_E_MISSING when `index` is past the
 * end. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_samples_text(
    char **out, const tinkc_samples *samples, size_t index,
    const tinkc_tokenizer *tokenizer, bool skip_special, tinkc_error **err);

/* Makes a decoder for a stream of ids, such as a sample in progress. Its pieces, joined,
 * are exactly what tinkc_tokenizer_decode returns for all ids; a character is held back
 * until it is complete. Holds a reference to the tokenizer. The caller frees *out.
 * TINKC_E_INVALID for NULL, TINKC_E_NOMEM. Thread: one at a time uses a decoder. */
TINKC_API TINKC_NODISCARD tinkc_code tinkc_decoder_new(tinkc_decoder **out,
                                                       tinkc_tokenizer *tokenizer,
                                                       bool skip_special,
                                                       tinkc_error **err);

/* Frees the decoder and sets *decoder to NULL. Accepts NULL and a pointer to NULL. */
TINKC_API void tinkc_decoder_free(tinkc_decoder **decoder);

/* Decodes more ids; tinkc_decoder_text then returns the text that they complete.
 * TINKC_E_INVALID for NULL; TINKC_E_LIMIT for more than 1 GiB of text; TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_decoder_push(tinkc_decoder *decoder, const int32_t *ids,
                                        size_t n, tinkc_error **err);

/* Ends the stream; tinkc_decoder_text then returns what was held back. The decoder can
 * then be used for another stream. TINKC_E_INVALID for NULL, TINKC_E_NOMEM. */
TINKC_API tinkc_code tinkc_decoder_finish(tinkc_decoder *decoder, tinkc_error **err);

/* Returns the NUL-terminated text of the last push or finish; "" for NULL. Borrowed until
 * the next push, finish or free. *n (unless NULL) is its length. */
TINKC_API const char *tinkc_decoder_text(size_t *n, const tinkc_decoder *decoder);

TINKC_END_DECLS

#endif
