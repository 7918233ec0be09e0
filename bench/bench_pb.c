/* Protobuf of a 5 MB forward_backward request against memcpy of as many bytes, and what
 * zstd does with such a body.
 *
 * Requests and memcpy's sources are SETS distinct copies used in turn, more than the
 * caches hold, so that both sides read memory that is not at hand. Each side writes over
 * memory that it wrote before. The reading side yields aligned arrays, so it copies what
 * lies unaligned.
 *
 * Links: wire */
#include <string.h>

#include "base/mem.h"
#include "bench.h"
#include "wire/pb_fwdbwd.h"
#include "wire/zstd.h"

#define SETS   12
#define DATUMS 1024
#define TOKENS 300

typedef struct datum_data {
    int32_t tokens[TOKENS];
    int64_t targets[TOKENS];
    float weights[TOKENS];
} datum_data;

typedef struct set {
    datum_data *data;
    tk_chunk *chunks;
    tk_named_tensor *inputs;
    tk_datum *datums;
    tk_fwdbwd_request request;
    tk_buf encoded;
} set;

typedef struct job {
    set sets[SETS];
    size_t next;
    tk_buf out;
    char *copy;
    size_t bytes;
    tk_zstd zstd;
    tk_buf packed;
} job;

static void die(const char *what)
{
    fprintf(stderr, "bench_pb: %s\n", what);
    exit(1);
}

static void *need(void *p)
{
    if (p == NULL) {
        die("out of memory");
    }
    return p;
}

/* ---- data ---- */

static void fill_datum(datum_data *d, uint64_t *state)
{
    for (size_t i = 0; i < TOKENS; i++) {
        *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407U;
        uint32_t bits = (uint32_t)(*state >> 33);
        d->tokens[i] = (int32_t)(bits % 150000);
        d->targets[i] = (int64_t)(bits % 149999);
        d->weights[i] = (float)(bits & 0xFFFF) / 65536;
    }
}

static void make_datum(set *s, size_t i)
{
    static const int64_t shape[] = {TOKENS};
    const datum_data *d = &s->data[i];
    s->chunks[i] = (tk_chunk){.kind = TK_CHUNK_TEXT, .tokens = {d->tokens, TOKENS}};
    tk_tensor t = {.dtype = TK_DTYPE_I64,
                   .data = d->targets,
                   .n = TOKENS,
                   .has_shape = true,
                   .shape = {shape, 1}};
    s->inputs[2 * i] = (tk_named_tensor){TK_STR("target_tokens"), t};
    t.dtype = TK_DTYPE_F32;
    t.data = d->weights;
    s->inputs[2 * i + 1] = (tk_named_tensor){TK_STR("weights"), t};
    s->datums[i] = (tk_datum){.model_input = {&s->chunks[i], 1},
                              .loss_fn_inputs = {&s->inputs[2 * i], 2}};
}

static void make_set(set *s, uint64_t seed)
{
    s->data = need(tk_array(DATUMS, sizeof(*s->data)));
    s->chunks = need(tk_array(DATUMS, sizeof(*s->chunks)));
    s->inputs = need(tk_array(DATUMS, 2 * sizeof(*s->inputs)));
    s->datums = need(tk_array(DATUMS, sizeof(*s->datums)));
    for (size_t i = 0; i < DATUMS; i++) {
        fill_datum(&s->data[i], &seed);
        make_datum(s, i);
    }
    s->request = (tk_fwdbwd_request){.model_id = TK_STR("model"),
                                     .seq_id = 1,
                                     .data = s->datums,
                                     .data_n = DATUMS,
                                     .loss_fn = TK_STR("cross_entropy")};
    tk_buf_init(&s->encoded, TK_BODY_MAX_BYTES);
    if (tk_pb_fwdbwd_encode(&s->encoded, &s->request, NULL) != TINKC_OK) {
        die("cannot encode");
    }
}

static set *turn(job *j)
{
    j->next = (j->next + 1) % SETS;
    return &j->sets[j->next];
}

/* ---- sides ---- */

static void run_encode(void *user)
{
    job *j = user;
    tk_buf_clear(&j->out);
    if (tk_pb_fwdbwd_encode(&j->out, &turn(j)->request, NULL) != TINKC_OK) {
        die("cannot encode");
    }
}

static void run_memcpy(void *user)
{
    job *j = user;
    memcpy(j->copy, turn(j)->encoded.p, j->bytes);
}

static void run_decode(void *user)
{
    job *j = user;
    const tk_buf *from = &turn(j)->encoded;
    tk_arena arena;
    tk_fwdbwd_request request;
    tk_arena_init(&arena, 0);
    tk_bytes input = {(const unsigned char *)from->p, from->n};
    if (tk_pb_fwdbwd_decode(&request, &arena, input, NULL) != TINKC_OK ||
        request.data_n != DATUMS) {
        die("cannot decode");
    }
    tk_arena_dispose(&arena);
}

static void run_compress(void *user)
{
    job *j = user;
    const tk_buf *from = &turn(j)->encoded;
    tk_bytes input = {(const unsigned char *)from->p, from->n};
    tk_buf_clear(&j->packed);
    if (tk_zstd_compress(&j->zstd, &j->packed, input, 0, NULL) != TINKC_OK) {
        die("cannot compress");
    }
}

static void run_decompress(void *user)
{
    job *j = user;
    tk_bytes input = {(const unsigned char *)j->packed.p, j->packed.n};
    tk_buf_clear(&j->out);
    if (tk_zstd_decompress(&j->zstd, &j->out, input, NULL) != TINKC_OK) {
        die("cannot decompress");
    }
}

static void race(const char *name, void (*run)(void *), job *j)
{
    bench_side ours = {.run = run, .user = j};
    bench_side theirs = {.run = run_memcpy, .user = j};
    double ours_ns, theirs_ns;
    bench_race(&ours, &theirs, &ours_ns, &theirs_ns);
    char detail[128];
    (void)snprintf(detail, sizeof(detail), "%.0f us against %.0f us of memcpy, %zu bytes",
                   ours_ns / 1e3, theirs_ns / 1e3, j->bytes);
    bench_report(name, theirs_ns / ours_ns, 0.5, detail);
}

static void note_zstd(job *j)
{
    double pack[BENCH_REPETITIONS];
    double unpack[BENCH_REPETITIONS];
    for (int i = 0; i < BENCH_REPETITIONS; i++) {
        pack[i] = bench_time_ns(run_compress, j);
        unpack[i] = bench_time_ns(run_decompress, j);
    }
    char detail[160];
    double mb = (double)j->bytes * 1e3;
    (void)snprintf(
        detail, sizeof(detail),
        "level %d: compress %.0f MB/s, decompress %.0f MB/s, %.2f times smaller",
        TK_ZSTD_LEVEL_DEFAULT, mb / bench_median(pack, BENCH_REPETITIONS),
        mb / bench_median(unpack, BENCH_REPETITIONS),
        (double)j->bytes / (double)j->packed.n);
    bench_note("zstd: forward_backward body", detail);
}

int main(void)
{
    static job j;
    for (size_t i = 0; i < SETS; i++) {
        make_set(&j.sets[i], i + 1);
    }
    j.bytes = j.sets[0].encoded.n;
    j.copy = need(tk_zalloc(j.bytes));
    tk_buf_init(&j.out, TK_BODY_MAX_BYTES);
    tk_buf_init(&j.packed, TK_BODY_MAX_BYTES);
    tk_zstd_init(&j.zstd);
    race("protobuf: forward_backward, write", run_encode, &j);
    race("protobuf: forward_backward, read", run_decode, &j);
    note_zstd(&j);
    for (size_t i = 0; i < SETS; i++) {
        tk_buf_dispose(&j.sets[i].encoded);
        tk_free(j.sets[i].data);
        tk_free(j.sets[i].chunks);
        tk_free(j.sets[i].inputs);
        tk_free(j.sets[i].datums);
    }
    tk_free(j.copy);
    tk_buf_dispose(&j.out);
    tk_buf_dispose(&j.packed);
    tk_zstd_dispose(&j.zstd);
    return 0;
}
