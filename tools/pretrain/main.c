/* Trains the embedded model from scratch, on text of tools/corpus.
 *
 *   pretrain train --tokenizer FILE --text FILE --held-out FILE --run DIR
 *                  [--from DIR] [--steps N] [--decay N] [--stop N]
 *   pretrain export --tokenizer FILE --run DIR --out DIR
 *
 * A run's directory holds checkpoint.safetensors and log.txt; `train` continues from the
 * checkpoint if there is one, bit for bit. A new run starts from random weights, or with
 * --from from those of an exported model. The learning rate warms up, stays, and falls
 * as a cosine over the last --decay of --steps. --stop ends the run after that step, as
 * an interruption would, so that another schedule can take over. A checkpoint is written
 * every 5 minutes, at the end, and on SIGTERM or SIGINT. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/mem.h"
#include "files.h"

#define SEED           1
#define SHORT_SEQ      256
#define SHORT_BATCH    4 /* sequences of a batch */
#define LONG_SEQ       1024
#define LONG_BATCH     2
#define LONG_EVERY     8 /* every eighth batch has long sequences */
#define WARM_UP        100
#define PEAK_RATE      3e-3
#define FLOOR          0.02 /* fraction of the peak at the end of the decay */
#define LOG_EVERY      50
#define HELD_OUT_EVERY 500
#define HELD_OUT_SEQS  64
#define CHECKPOINT_MS  (5 * 60 * 1000)

static const pre_shape shape = {.hidden = 128,
                                .intermediate = 384,
                                .layers = 4,
                                .heads = 4,
                                .kv_heads = 2,
                                .vocabulary = 2048,
                                .context = LONG_SEQ};

static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    (void)number;
    stopped = 1;
}

typedef struct options {
    const char *tokenizer, *text, *held_out, *run, *out, *from;
    uint64_t steps, decay, stop;
} options;

typedef struct trainer {
    const options *o;
    tk_tok *tok;
    pre_net net;
    pre_data data, held_out;
    char *checkpoint;
    FILE *log;
    double loss; /* since the last line of the log */
    size_t batches;
} trainer;

static uint64_t tokens_at(uint64_t step)
{
    uint64_t n_long = (step + LONG_EVERY - 1) / LONG_EVERY;
    return n_long * LONG_BATCH * LONG_SEQ + (step - n_long) * SHORT_BATCH * SHORT_SEQ;
}

static double rate_at(const options *o, uint64_t step)
{
    if (step < WARM_UP) {
        return PEAK_RATE * (double)(step + 1) / WARM_UP;
    }
    if (step + o->decay < o->steps) {
        return PEAK_RATE;
    }
    double left = (double)(o->steps - step) / (double)o->decay;
    return PEAK_RATE * (FLOOR + (1 - FLOOR) * 0.5 * (1 - cos(3.14159265358979 * left)));
}

static tinkc_code held_out_loss(trainer *t, double *out, tk_err *err)
{
    pre_seq seqs[HELD_OUT_SEQS];
    t->held_out.next = 0;
    for (size_t i = 0; i < HELD_OUT_SEQS; i++) {
        seqs[i] = pre_data_next(&t->held_out, SHORT_SEQ);
    }
    double sum = 0;
    tinkc_code code = pre_net_run(&t->net, seqs, HELD_OUT_SEQS, 0, &sum, err);
    *out = sum / (HELD_OUT_SEQS * SHORT_SEQ);
    return code;
}

static tinkc_code write_log(trainer *t, double norm, bool with_held_out, tk_err *err)
{
    double held_out = 0;
    tinkc_code code = with_held_out ? held_out_loss(t, &held_out, err) : TINKC_OK;
    if (code != TINKC_OK) {
        return code;
    }
    fprintf(t->log, "step %llu tokens %llu loss %.4f norm %.3f rate %.6f",
            (unsigned long long)t->net.step, (unsigned long long)tokens_at(t->net.step),
            t->loss / (double)t->batches, norm, rate_at(t->o, t->net.step - 1));
    if (with_held_out) {
        fprintf(t->log, " held_out %.4f", held_out);
    }
    fputc('\n', t->log);
    fflush(t->log);
    t->loss = 0;
    t->batches = 0;
    return TINKC_OK;
}

static tinkc_code train_step(trainer *t, double *norm, tk_err *err)
{
    bool is_long = t->net.step % LONG_EVERY == 0;
    size_t length = is_long ? LONG_SEQ : SHORT_SEQ;
    size_t n = is_long ? LONG_BATCH : SHORT_BATCH;
    double tokens = (double)(n * length);
    pre_seq seqs[SHORT_BATCH];
    for (size_t i = 0; i < n; i++) {
        seqs[i] = pre_data_next(&t->data, length);
    }
    double sum = 0;
    tinkc_code code = pre_net_run(&t->net, seqs, n, 1.0 / tokens, &sum, err);
    if (code != TINKC_OK) {
        return code;
    }
    t->loss += sum / tokens;
    t->batches++;
    eng_adam adam = {.learning_rate = rate_at(t->o, t->net.step),
                     .beta1 = 0.9,
                     .beta2 = 0.98,
                     .eps = 1e-8,
                     .weight_decay = 0.05,
                     .grad_clip_norm = 1.0};
    return pre_net_step(&t->net, &adam, norm, err);
}

static tinkc_code train_loop(trainer *t, tk_err *err)
{
    uint64_t end = TK_MIN(t->o->steps, t->o->stop);
    int64_t saved = tk_clock_mono_ms(NULL);
    tinkc_code code = TINKC_OK;
    while (code == TINKC_OK && t->net.step < end && !stopped) {
        double norm = 0;
        code = train_step(t, &norm, err);
        uint64_t step = t->net.step;
        bool last = step == end;
        if (code == TINKC_OK && (step % LOG_EVERY == 0 || last)) {
            code = write_log(t, norm, step % HELD_OUT_EVERY == 0 || last, err);
        }
        if (code == TINKC_OK && tk_clock_mono_ms(NULL) - saved >= CHECKPOINT_MS) {
            code = pre_files_save(&t->net, t->data.next, t->checkpoint, err);
            saved = tk_clock_mono_ms(NULL);
        }
    }
    return code == TINKC_OK ? pre_files_save(&t->net, t->data.next, t->checkpoint, err)
                            : code;
}

/* Loads the network of the run from its checkpoint. */
static tinkc_code open_run(trainer *t, tk_err *err)
{
    tinkc_code code = tk_tok_load(&t->tok, t->o->tokenizer, err);
    if (code == TINKC_OK && tk_tok_size(t->tok) > shape.vocabulary) {
        code = tk_err_set(err, TINKC_E_INVALID, "the tokenizer has %zu tokens",
                          tk_tok_size(t->tok));
    }
    if (code == TINKC_OK) {
        code = pre_net_init(&t->net, &shape, SEED, err);
    }
    if (code == TINKC_OK) {
        code = tk_file_mkdirs(t->o->run, 0755, err);
    }
    if (code != TINKC_OK) {
        return code;
    }
    t->checkpoint = tk_file_join(t->o->run, "checkpoint.safetensors");
    if (t->checkpoint == NULL) {
        return tk_err_nomem(err);
    }
    code = pre_files_load(&t->net, &t->data.next, t->checkpoint, err);
    if (code == TINKC_E_MISSING) {
        tk_err_clear(err);
        return t->o->from != NULL ? pre_files_import(&t->net, t->o->from, err) : TINKC_OK;
    }
    return code;
}

static tinkc_code train(trainer *t, tk_err *err)
{
    tinkc_code code = open_run(t, err);
    size_t next = t->data.next;
    if (code == TINKC_OK) {
        code = pre_data_load(&t->data, t->tok, t->o->text, LONG_SEQ, err);
        t->data.next = next;
    }
    if (code == TINKC_OK) {
        code = pre_data_load(&t->held_out, t->tok, t->o->held_out, SHORT_SEQ, err);
    }
    char *path = tk_file_join(t->o->run, "log.txt");
    t->log = code == TINKC_OK && path != NULL ? fopen(path, "a") : NULL;
    tk_free(path);
    if (code == TINKC_OK && t->log == NULL) {
        code = tk_err_set(err, TINKC_E_IO, "the log cannot be opened");
    }
    if (code != TINKC_OK) {
        return code;
    }
    printf("%zu parameters, %zu tokens of text, from step %llu\n", t->net.n,
           t->data.ids.n, (unsigned long long)t->net.step);
    fflush(stdout);
    return train_loop(t, err);
}

static tinkc_code export_run(trainer *t, tk_err *err)
{
    tinkc_code code = open_run(t, err);
    return code == TINKC_OK ? pre_files_export(&t->net, t->o->out, err) : code;
}

static bool read_options(options *o, int argc, char **argv)
{
    struct {
        const char *name;
        const char **text;
        uint64_t *number;
    } known[] = {{"--tokenizer", &o->tokenizer, NULL},
                 {"--text", &o->text, NULL},
                 {"--held-out", &o->held_out, NULL},
                 {"--run", &o->run, NULL},
                 {"--out", &o->out, NULL},
                 {"--from", &o->from, NULL},
                 {"--steps", NULL, &o->steps},
                 {"--decay", NULL, &o->decay},
                 {"--stop", NULL, &o->stop}};
    for (int i = 2; i + 1 < argc; i += 2) {
        size_t k = 0;
        while (k < TK_ARRAY_LEN(known) && strcmp(known[k].name, argv[i]) != 0) {
            k++;
        }
        if (k == TK_ARRAY_LEN(known) ||
            (known[k].number != NULL &&
             !tk_str_to_u64(tk_str_of(argv[i + 1]), known[k].number))) {
            return false;
        }
        if (known[k].text != NULL) {
            *known[k].text = argv[i + 1];
        }
    }
    return argc >= 2 && argc % 2 == 0 && o->tokenizer != NULL && o->run != NULL;
}

int main(int argc, char **argv)
{
    options o = {.steps = 6000, .decay = 1500, .stop = UINT64_MAX};
    bool ok = read_options(&o, argc, argv);
    bool is_train = ok && strcmp(argv[1], "train") == 0 && o.text && o.held_out;
    bool is_export = ok && strcmp(argv[1], "export") == 0 && o.out;
    if (!is_train && !is_export) {
        fprintf(stderr, "usage: pretrain train|export --tokenizer FILE --run DIR ...\n");
        return 2;
    }
    signal(SIGTERM, on_signal);
    signal(SIGINT, on_signal);
    trainer t = {.o = &o};
    tk_err err = TK_ERR_INIT;
    tinkc_code code = is_train ? train(&t, &err) : export_run(&t, &err);
    if (code != TINKC_OK) {
        fprintf(stderr, "pretrain: %s\n", err.message);
    }
    if (t.log != NULL) {
        fclose(t.log);
    }
    tk_free(t.checkpoint);
    pre_data_dispose(&t.data);
    pre_data_dispose(&t.held_out);
    pre_net_dispose(&t.net);
    tk_tok_free(t.tok);
    return code == TINKC_OK ? 0 : 1;
}
