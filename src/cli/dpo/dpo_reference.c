/* The file is a JSON object: data_sha256 and logprobs of the training data, eval_sha256 and
 * eval_logprobs of the held-out data. Its numbers read back as the same doubles.
 * Needs: text */
#include "cli/dpo/dpo_reference.h"

#include <stdio.h>
#include <string.h>
#include <tinkc/rl.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "cli/frame/cmd_progress.h"

#define FILE_MAX_BYTES TK_GIB
#define FORMAT         1
#define CHUNK          64 /* rows of a request */
#define IN_FLIGHT      4  /* requests */

/* ---- the forward pass ---- */

typedef struct chunk {
    tinkc_datum *data[CHUNK];
    size_t first, n;
    tinkc_future *future;
} chunk;

typedef struct pass {
    tinkc_training *training;
    const data_set *set;
    const char *what; /* "pairs" or "held-out pairs" */
    double *out;      /* [set->n] */
    chunk chunks[IN_FLIGHT];
    tk_err err;
    tinkc_error *error;
} pass;

static void free_chunk(chunk *c)
{
    for (size_t i = 0; i < c->n; i++) {
        tinkc_datum_free(&c->data[i]);
    }
    c->n = 0;
    tinkc_future_free(&c->future);
}

static tinkc_code submit_chunk(pass *p, chunk *c, size_t first)
{
    c->first = first;
    for (size_t i = first; i < p->set->n && c->n < CHUNK; i++) {
        tinkc_code code = data_set_datum(&c->data[c->n], p->set, i, &p->err);
        if (code != TINKC_OK) {
            return code;
        }
        c->n++;
    }
    c->future = tinkc_training_forward(p->training, c->data, c->n, TRAIN_LOSS, NULL);
    return TINKC_OK;
}

static tinkc_code take_chunk(pass *p, chunk *c)
{
    tinkc_fwdbwd *result = NULL;
    char head[64];
    tinkc_code code = tinkc_future_await_fwdbwd(&result, &c->future, &p->error);
    if (code == TINKC_OK) {
        code = tinkc_rl_sums(p->out + c->first, result, c->data, c->n, &p->error);
    }
    tinkc_fwdbwd_free(&result);
    if (code == TINKC_OK) {
        size_t done = c->first + c->n;
        (void)snprintf(head, sizeof(head), "%zu/%zu %s", done / 2, p->set->n / 2,
                       p->what);
        cmd_progress_bar((double)done / (double)p->set->n, head,
                         "log-probabilities of the start weights");
    }
    free_chunk(c);
    return code;
}

/* Computes the values of all rows, with a few requests in flight. */
static tinkc_code run_pass(pass *p)
{
    size_t asked = 0, taken = 0, chunks = (p->set->n + CHUNK - 1) / CHUNK;
    tinkc_code code = TINKC_OK;
    while (code == TINKC_OK && taken < chunks) {
        if (asked < chunks && asked < taken + IN_FLIGHT) {
            code = submit_chunk(p, &p->chunks[asked % IN_FLIGHT], asked * CHUNK);
            asked++;
        } else {
            code = take_chunk(p, &p->chunks[taken % IN_FLIGHT]);
            taken++;
        }
    }
    for (size_t i = 0; i < IN_FLIGHT; i++) {
        free_chunk(&p->chunks[i]);
    }
    cmd_progress_end();
    return code;
}

static int compute(double **out, tinkc_training *training, const data_set *set,
                   const char *what)
{
    pass p = {.training = training, .set = set, .what = what, .err = TK_ERR_INIT};
    p.out = tk_zarray(set->n + 1, sizeof(*p.out));
    if (p.out == NULL) {
        return cmd_fail("out of memory");
    }
    if (run_pass(&p) != TINKC_OK) {
        tk_free(p.out);
        return p.error != NULL
                   ? cmd_fail_error(&p.error, "Cannot compute the log-probabilities of "
                                              "the start weights")
                   : cmd_fail("%s", p.err.message);
    }
    *out = p.out;
    return CMD_OK;
}

/* ---- the file ---- */

/* Gives the digest of numbers, by their bits. */
static tinkc_code digest_of(char out[TK_SHA256_HEX_BYTES], const double *values, size_t n,
                            tk_err *err)
{
    tk_sha256 *sha = NULL;
    tinkc_code code = tk_sha256_new(&sha, err);
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        unsigned char bytes[8];
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof(bits));
        for (size_t k = 0; k < sizeof(bytes); k++) {
            bytes[k] = (unsigned char)(bits >> (8 * k));
        }
        code = tk_sha256_update(sha, bytes, sizeof(bytes), err);
    }
    if (code == TINKC_OK) {
        code = tk_sha256_finish(out, sha, err);
    }
    tk_sha256_free(sha);
    return code;
}

/* Gives a list of n numbers when the object has it and it is of this data. *out stays NULL
 * otherwise. */
static tinkc_code take_list(double **out, const tk_json *json, const char *const keys[2],
                            const char *digest, size_t n)
{
    const tk_json *of = tk_json_get(json, keys[0]), *list = tk_json_get(json, keys[1]);
    if (n == 0 || of == NULL || of->type != TK_JSON_STRING || list == NULL ||
        !tk_str_is(of->as.string, digest) || tk_json_len(list) != n) {
        return TINKC_OK;
    }
    double *values = tk_zarray(n, sizeof(*values));
    bool ok = values != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        const tk_json item = tk_json_at(list, i);
        ok = tk_json_to_double(&item, &values[i]);
    }
    if (ok) {
        *out = values;
    } else {
        tk_free(values);
    }
    return values != NULL ? TINKC_OK : TINKC_E_NOMEM;
}

static const char *const train_keys[2] = {"data_sha256", "logprobs"};
static const char *const eval_keys[2] = {"eval_sha256", "eval_logprobs"};

/* Takes what a file has that is useful; a file that is not there, or is not one of ours, has
 * nothing. */
static tinkc_code read_file(dpo_reference *r, const train_job *job, tk_err *err)
{
    char *text = NULL;
    size_t n = 0;
    tk_arena arena;
    const tk_json *json = NULL;
    tinkc_code code = tk_file_read(&text, &n, r->path, FILE_MAX_BYTES, err);
    if (code != TINKC_OK) {
        return code == TINKC_E_MISSING ? TINKC_OK : code;
    }
    tk_arena_init(&arena, 0);
    code = tk_json_parse(&json, &arena, text, n, NULL, NULL);
    if (code == TINKC_OK) {
        code = take_list(&r->rows, json, train_keys, job->state.data, job->data.n);
    }
    if (code == TINKC_OK) {
        code = take_list(&r->eval, json, eval_keys, job->eval_digest, job->eval.n);
    }
    tk_arena_dispose(&arena);
    tk_free(text);
    return code == TINKC_E_NOMEM ? tk_err_nomem(err) : TINKC_OK;
}

static void put_list(tk_json_writer *w, const char *const keys[2], const char *digest,
                     const double *values, size_t n)
{
    tk_json_key(w, tk_str_of(keys[0]));
    tk_json_put_str(w, tk_str_of(digest));
    tk_json_key(w, tk_str_of(keys[1]));
    tk_json_put_doubles(w, values, n);
}

static tinkc_code write_file(const dpo_reference *r, const train_job *job, tk_err *err)
{
    tk_buf buf;
    tk_json_writer w;
    tk_buf_init(&buf, FILE_MAX_BYTES);
    tk_json_writer_init(&w, &buf);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("tinkc_reference"));
    tk_json_put_u64(&w, FORMAT);
    put_list(&w, train_keys, job->state.data, r->rows, job->data.n);
    if (r->eval != NULL) {
        put_list(&w, eval_keys, job->eval_digest, r->eval, job->eval.n);
    }
    tk_json_end_object(&w);
    tinkc_code code = tk_json_finish(&w, err);
    if (code == TINKC_OK) {
        tk_buf_putc(&buf, '\n');
        code = tk_buf_status(&buf, err);
    }
    if (code == TINKC_OK) {
        code = tk_file_replace(r->path, buf.p, buf.n, 0666, err);
    }
    tk_buf_dispose(&buf);
    return code;
}

/* The state of a run that this one replaces goes first: it cannot be continued with the new
 * values. */
static tinkc_code replace_file(const dpo_reference *r, const train_job *job, tk_err *err)
{
    tinkc_code code =
        job->from_step == 0 ? train_state_discard(job->state_path, err) : TINKC_OK;
    return code == TINKC_OK ? write_file(r, job, err) : code;
}

/* ---- both ---- */

/* "NAME.dpo.reference.json" of "NAME.dpo.json". */
static void set_path(dpo_reference *r, const train_job *job)
{
    size_t n = strlen(job->state_path);
    if (n >= 5 && strcmp(job->state_path + n - 5, ".json") == 0) {
        n -= 5;
    }
    (void)snprintf(r->path, sizeof(r->path), "%.*s.reference.json", (int)n,
                   job->state_path);
}

/* Computes what is missing: with the model that is trained while it has the start weights,
 * otherwise with another one. */
static int compute_missing(dpo_reference *r, train_job *job)
{
    tinkc_training *other = NULL;
    bool is_fresh = job->from_step == 0;
    int result = is_fresh ? CMD_OK : cmd_train_open_start(&other, job);
    tinkc_training *training = is_fresh ? job->training : other;
    if (result == CMD_OK && r->rows == NULL) {
        result = compute(&r->rows, training, &job->data, "pairs");
    }
    if (result == CMD_OK && r->eval == NULL && job->eval.n > 0) {
        result = compute(&r->eval, training, &job->eval, "held-out pairs");
    }
    cmd_train_unload(&other);
    return result;
}

/* Compares the values with those that the run began with. */
static int check_digest(const dpo_reference *r, const train_job *job)
{
    if (job->from_step == 0 ||
        (job->state.anchor != NULL && strcmp(job->state.anchor, r->digest) == 0)) {
        return CMD_OK;
    }
    return cmd_fail_hint(
        "Put the file back that the run wrote, or start over with --restart.",
        "the log-probabilities in %s are not those that the run began with", r->path);
}

int dpo_reference_get(dpo_reference *r, train_job *job)
{
    tk_err err = TK_ERR_INIT;
    memset(r, 0, sizeof(*r));
    set_path(r, job);
    if (job->from_step > 0 && read_file(r, job, &err) != TINKC_OK) {
        return cmd_fail("%s", err.message);
    }
    bool is_whole = r->rows != NULL && (r->eval != NULL || job->eval.n == 0);
    int result = is_whole ? CMD_OK : compute_missing(r, job);
    if (result != CMD_OK) {
        return result;
    }
    if (digest_of(r->digest, r->rows, job->data.n, &err) != TINKC_OK) {
        return cmd_fail("%s", err.message);
    }
    result = check_digest(r, job);
    if (result == CMD_OK && !is_whole && replace_file(r, job, &err) != TINKC_OK) {
        return cmd_fail("%s", err.message);
    }
    return result;
}

void dpo_reference_dispose(dpo_reference *r)
{
    tk_free(r->rows);
    tk_free(r->eval);
    r->rows = r->eval = NULL;
}
