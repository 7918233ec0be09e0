/* <tinkc/tokenizer.h>: encoding, one text or many on several threads.
 * Needs: text */
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "client/values/error.h"
#include "client/values/tokenizer.h"
#include "client/values/types.h"

#define THREADS_MAX     64
#define BYTES_OF_THREAD (16 * TK_KIB) /* less work than this is not worth a thread */

struct tinkc_encoding {
    tk_tok_ids ids;
};

static tinkc_code read_options(tk_tok_how *out, const tinkc_encode_options *options,
                               tk_err *err)
{
    tinkc_encode_options o = TINKC_ENCODE_OPTIONS_INIT;
    tinkc_code code = tk_types_options(&o, sizeof(o), options, err);
    *out = (tk_tok_how){o.add_special_tokens, o.plain_text, o.offsets};
    return code;
}

static tinkc_code encode(tinkc_encoding **out, const tk_tok *tok, tk_str text,
                         tk_tok_how how, tk_err *err)
{
    tinkc_encoding *encoding = tk_zalloc(sizeof(*encoding));
    if (encoding == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_tok_encode_how(tok, text, how, &encoding->ids, err);
    if (code != TINKC_OK) {
        tinkc_encoding_free(&encoding);
        return code;
    }
    *out = encoding;
    return TINKC_OK;
}

tinkc_code tinkc_tokenizer_encode(tinkc_encoding **out, const tinkc_tokenizer *tokenizer,
                                  const char *text, size_t n,
                                  const tinkc_encode_options *options, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tk_tok_how how;
    tinkc_code code = TINKC_OK;
    if (out == NULL || tokenizer == NULL || (text == NULL && n > 0)) {
        code =
            tk_err_set(&e, TINKC_E_INVALID, "out, tokenizer and text must not be NULL");
    }
    if (code == TINKC_OK) {
        code = read_options(&how, options, &e);
    }
    if (code == TINKC_OK) {
        code = encode(out, tk_tokenizer_tok(tokenizer), (tk_str){text, n}, how, &e);
    }
    return code == TINKC_OK ? TINKC_OK : tk_error_give(err, &e);
}

tinkc_code tinkc_tokenizer_count(size_t *out, const tinkc_tokenizer *tokenizer,
                                 const char *text, size_t n,
                                 const tinkc_encode_options *options, tinkc_error **err)
{
    tinkc_encoding *encoding = NULL;
    tk_err e = TK_ERR_INIT;
    if (out == NULL) {
        (void)tk_err_set(&e, TINKC_E_INVALID, "out must not be NULL");
        return tk_error_give(err, &e);
    }
    tinkc_code code = tinkc_tokenizer_encode(&encoding, tokenizer, text, n, options, err);
    if (code == TINKC_OK) {
        *out = encoding->ids.n;
        tinkc_encoding_free(&encoding);
    }
    return code;
}

void tinkc_encoding_free(tinkc_encoding **encoding)
{
    if (encoding != NULL && *encoding != NULL) {
        tk_tok_ids_dispose(&(*encoding)->ids);
        tk_free(*encoding);
        *encoding = NULL;
    }
}

const int32_t *tinkc_encoding_ids(size_t *n, const tinkc_encoding *encoding)
{
    size_t count = encoding != NULL ? encoding->ids.n : 0;
    if (n != NULL) {
        *n = count;
    }
    return count > 0 ? encoding->ids.ids : NULL;
}

const size_t *tinkc_encoding_offsets(size_t *n, const tinkc_encoding *encoding)
{
    const size_t *offsets = encoding != NULL ? encoding->ids.offsets : NULL;
    if (n != NULL) {
        *n = offsets != NULL ? encoding->ids.n : 0;
    }
    return offsets;
}

/* ---- many texts ---- */

/* What the threads of one batch share. Each takes the next text until all are taken; the
 * failure of the lowest text is the one that is reported. */
typedef struct batch {
    const tk_tok *tok;
    const char *const *texts;
    const size_t *lengths;
    size_t n;
    tk_tok_how how;
    tinkc_encoding **out;
    atomic_size_t next;
    tk_mutex lock; /* of the two below */
    size_t failed; /* SIZE_MAX = none */
    tk_err err;
} batch;

static tk_str text_at(const batch *b, size_t i)
{
    return b->lengths != NULL ? (tk_str){b->texts[i], b->lengths[i]}
                              : tk_str_of(b->texts[i]);
}

static void note_failure(batch *b, size_t index, const tk_err *err)
{
    tk_mutex_lock(&b->lock);
    if (index < b->failed) {
        b->failed = index;
        b->err = *err;
    }
    tk_mutex_unlock(&b->lock);
}

static void work(void *user)
{
    batch *b = user;
    for (;;) {
        size_t i = atomic_fetch_add(&b->next, 1);
        if (i >= b->n) {
            return;
        }
        tk_err e = TK_ERR_INIT;
        tk_str text = text_at(b, i);
        tinkc_code code = text.p != NULL || text.n == 0
                              ? encode(&b->out[i], b->tok, text, b->how, &e)
                              : tk_err_set(&e, TINKC_E_INVALID, "text %zu is NULL", i);
        if (code != TINKC_OK) {
            note_failure(b, i, &e);
            atomic_store(&b->next, b->n); /* what is not begun need not be */
        }
    }
}

static size_t threads_for(const batch *b, size_t wanted)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    size_t most = wanted != 0 ? wanted : online > 0 ? (size_t)online : 1;
    size_t bytes = 0;
    for (size_t i = 0; i < b->n && bytes < THREADS_MAX * BYTES_OF_THREAD; i++) {
        bytes += text_at(b, i).n;
    }
    most = TK_MIN(most, TK_MIN(b->n, bytes / BYTES_OF_THREAD + 1));
    return TK_MIN(most, (size_t)THREADS_MAX);
}

/* A thread that cannot be started is done without. */
static void run_batch(batch *b, size_t threads)
{
    tk_thread others[THREADS_MAX];
    size_t n = 0;
    while (n + 1 < threads &&
           tk_thread_start(&others[n], "tinkc-encode", work, b, NULL) == TINKC_OK) {
        n++;
    }
    work(b);
    while (n > 0) {
        tk_thread_join(&others[--n]);
    }
}

static tinkc_code encode_batch(tinkc_encoding **out, batch *b, size_t threads,
                               tk_err *err)
{
    b->out = tk_zarray(b->n, sizeof(*b->out));
    if (b->out == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_mutex_init(&b->lock, err);
    if (code != TINKC_OK) {
        tk_free(b->out);
        return code;
    }
    b->failed = SIZE_MAX;
    run_batch(b, threads_for(b, threads));
    tk_mutex_dispose(&b->lock);
    if (b->failed != SIZE_MAX) {
        *err = b->err;
        code = b->err.code;
    }
    for (size_t i = 0; i < b->n; i++) {
        if (code == TINKC_OK) {
            out[i] = b->out[i];
        } else {
            tinkc_encoding_free(&b->out[i]);
        }
    }
    tk_free(b->out);
    return code;
}

tinkc_code tinkc_tokenizer_encode_batch(tinkc_encoding **out,
                                        const tinkc_tokenizer *tokenizer,
                                        const tinkc_text_batch *texts, tinkc_error **err)
{
    tk_err e = TK_ERR_INIT;
    tinkc_text_batch t = TINKC_TEXT_BATCH_INIT;
    tinkc_code code = tk_types_options(&t, sizeof(t), texts, &e);
    if (code == TINKC_OK && (out == NULL || tokenizer == NULL || texts == NULL ||
                             (t.texts == NULL && t.texts_n > 0))) {
        code =
            tk_err_set(&e, TINKC_E_INVALID, "out, tokenizer and texts must not be NULL");
    }
    batch b = {.tok = tk_tokenizer_tok(tokenizer),
               .texts = t.texts,
               .lengths = t.lengths,
               .n = t.texts_n};
    if (code == TINKC_OK) {
        code = read_options(&b.how, t.options, &e);
    }
    if (code == TINKC_OK) {
        code = encode_batch(out, &b, t.threads, &e);
    }
    return code == TINKC_OK ? TINKC_OK : tk_error_give(err, &e);
}

tinkc_code tinkc_tokenizer_input(tinkc_model_input **out,
                                 const tinkc_tokenizer *tokenizer, const char *text,
                                 tinkc_error **err)
{
    tinkc_encoding *encoding = NULL;
    size_t n = 0;
    if (out == NULL || text == NULL) {
        return tk_error_tell(err, TINKC_E_INVALID, "out and text must not be NULL");
    }
    tinkc_code code =
        tinkc_tokenizer_encode(&encoding, tokenizer, text, strlen(text), NULL, err);
    if (code == TINKC_OK) {
        const int32_t *ids = tinkc_encoding_ids(&n, encoding);
        code = tinkc_model_input_from_tokens(out, ids, n, err);
    }
    tinkc_encoding_free(&encoding);
    return code;
}

/* ---- options ---- */

void tinkc_encode_options_init(tinkc_encode_options *out)
{
    static const tinkc_encode_options initial = TINKC_ENCODE_OPTIONS_INIT;
    if (out != NULL) {
        memcpy(out, &initial, sizeof(*out));
    }
}

void tinkc_text_batch_init(tinkc_text_batch *out)
{
    static const tinkc_text_batch initial = TINKC_TEXT_BATCH_INIT;
    if (out != NULL) {
        memcpy(out, &initial, sizeof(*out));
    }
}

void tinkc_decode_init(tinkc_decode *out)
{
    static const tinkc_decode initial = TINKC_DECODE_INIT;
    if (out != NULL) {
        memcpy(out, &initial, sizeof(*out));
    }
}
