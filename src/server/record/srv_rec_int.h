/* What the files of the recorder share. Private to srv_rec*.c. */
#ifndef SERVER_SRV_REC_INT_H
#define SERVER_SRV_REC_INT_H

#include <stdatomic.h>

#include "base/list.h"
#include "base/map.h"
#include "base/thread.h"
#include "server/record/srv_rec.h"
#include "server/record/srv_rec_db.h"
#include "server/record/srv_rec_group.h"
#include "server/record/srv_rec_row.h"

#define SRV_REC_NAME_BYTES 48

/* ---- the queue ---- */

typedef enum srv_rec_kind {
    SRV_REC_BEGIN,
    SRV_REC_END,
    SRV_REC_TRAIN,
    SRV_REC_OPTIM,
    SRV_REC_CHECKPOINT,
    SRV_REC_SAMPLE
} srv_rec_kind;

/* One block: what the struct of its kind points to follows it. */
typedef struct srv_rec_entry {
    tk_list link;
    size_t bytes; /* counted */
    srv_rec_kind kind;
    int64_t time_ms, mono_ns;
    /* of a SAMPLE: the ids of all its sequences one after the other, and their logprobs */
    const int32_t *ids;
    const float *logprobs;
    size_t n_ids;
    size_t n_prompt; /* with what was not kept of it */
    int64_t group;   /* if it was written, the id of its first sequence; else 0 */
    bool is_lost;    /* there was no memory for its run */
    union {
        srv_rec_begin begin;
        struct {
            tk_str run, id;
            int64_t step;
        } at; /* END, CHECKPOINT */
        srv_rec_train train;
        srv_rec_optim optim;
        srv_rec_sample sample;
    } as;
} srv_rec_entry;

/* ---- what the thread knows of a run that is loaded ---- */

typedef struct srv_rec_summary {
    int64_t n, first_step, last_step;
    double last, min, max;
    double sum, weight; /* of this step, so far */
} srv_rec_summary;

typedef struct srv_rec_run {
    tk_list link; /* in srv_rec.runs */
    size_t bytes; /* counted */
    char *id, *session, *model, *name, *metadata;
    char checkpoint[SRV_REC_NAME_BYTES]; /* name of the last one, or "" */
    int64_t rank, created_ms, updated_ms;
    int64_t row; /* of the database; 0 = not there yet */
    int64_t step, tokens;
    double loss;
    con_state state;
    bool is_touched;  /* in this batch */
    int64_t began_ns; /* of this step; 0 = unknown */
    size_t n_metrics;
    char names[SRV_REC_METRICS][SRV_REC_NAME_BYTES];
    srv_rec_summary metrics[SRV_REC_METRICS];
    srv_rec_row levels[SRV_REC_LEVELS]; /* what is not full yet; [0] is this step */
} srv_rec_run;

/* ---- the writer's connection ---- */

enum {
    SRV_REC_SQL_RUN,
    SRV_REC_SQL_METRIC,
    SRV_REC_SQL_POINT,
    SRV_REC_SQL_CHECKPOINT,
    SRV_REC_SQL_SAMPLES,
    SRV_REC_SQLS
};

typedef struct srv_rec_writer {
    sqlite3 *db;           /* NULL = not open */
    const tk_list *loaded; /* srv_rec_run: one that is deleted has no row any more */
    srv_sql kept[SRV_REC_SQLS];
    int64_t samples_bytes;
    int64_t last_id; /* of a sample */
} srv_rec_writer;

TK_NODISCARD tinkc_code srv_rec_writer_open(srv_rec_writer *writer, const char *data,
                                            bool *damaged, tk_err *err);
void srv_rec_writer_close(srv_rec_writer *writer);
TK_NODISCARD tinkc_code srv_rec_writer_put_run(srv_rec_writer *writer, srv_rec_run *run,
                                               tk_err *err);
TK_NODISCARD tinkc_code srv_rec_writer_put_row(srv_rec_writer *writer, int64_t run,
                                               int64_t level, const srv_rec_row *row,
                                               tk_err *err);
TK_NODISCARD tinkc_code srv_rec_writer_put_checkpoint(srv_rec_writer *writer, int64_t run,
                                                      tk_str id, int64_t step,
                                                      tk_err *err);
/* Writes the sequences of a request; *first is the id of the first one, the others follow.
 * `group` has all but the prompt. */
TK_NODISCARD tinkc_code srv_rec_writer_put_samples(srv_rec_writer *writer,
                                                   const srv_rec_entry *entry,
                                                   const srv_rec_group *group,
                                                   int64_t *first, tk_err *err);
/* Deletes what is too old or too much; a little at a time. */
TK_NODISCARD tinkc_code srv_rec_writer_trim(srv_rec_writer *writer, uint64_t limit_bytes,
                                            int64_t before_ms, tk_err *err);
/* Reads how large the database is, and with `recount` how much of it samples are. */
TK_NODISCARD tinkc_code srv_rec_writer_measure(srv_rec_writer *writer, bool recount,
                                               int64_t *bytes, tk_err *err);

/* Returns the run of "tinker://RUN/...", or {NULL, 0}. */
tk_str srv_rec_run_of(tk_str path);

/* ---- the recorder ---- */

struct srv_rec {
    srv_rec_config config; /* constant */
    char *data;
    con *console;
    tk_thread thread;
    bool runs;
    atomic_bool works;   /* the disk takes it */
    atomic_bool recount; /* samples were deleted by another */
    atomic_uint_fast64_t dropped, bytes;

    tk_mutex lock;
    tk_cond wake, done;
    tk_list queue; /* under lock, as all below: srv_rec_entry */
    size_t queued_bytes, queued;
    bool sleeping; /* the thread waits for an entry */
    bool hurried, closing;
    uint64_t added, finished; /* entries */
    unsigned busy;            /* how often in a row another had the database */

    tk_mutex reading;
    sqlite3 *reader; /* under reading; NULL = not open */

    /* the thread's */
    srv_rec_writer writer;
    srv_rec_group_bufs samples; /* of one request */
    tk_map by_id;               /* srv_rec_run */
    tk_list all;
    int64_t retry_ns, trim_ns;
    size_t since_trim; /* bytes of entries */
    bool warned;
};

/* Writes a SAMPLE (srv_rec_batch_samples.c). Thread: the recorder's. */
tinkc_code srv_rec_batch_add_samples(srv_rec *rec, srv_rec_entry *entry, tk_err *err);

/* Frees one. */
void srv_rec_entry_free(srv_rec *rec, srv_rec_entry *entry);

/* Applies a batch and frees it (srv_rec_batch.c); false, with the batch untouched, while
 * another has the database. `last`: it is applied all the same. Thread: the recorder's. */
bool srv_rec_batch_run(srv_rec *rec, tk_list *batch, bool last);
/* Runs that have become idle; returns whether any is training. */
bool srv_rec_batch_rest(srv_rec *rec);
void srv_rec_batch_free_runs(srv_rec *rec);

/* Opens both connections, if it is time to; why not is logged once, and returned. While another
 * program has the database, it is tried again by the next call. */
tinkc_code srv_rec_disk_open(srv_rec *rec, bool *is_busy);
/* Begins a transaction. */
TK_NODISCARD tinkc_code srv_rec_disk_begin(srv_rec *rec, bool *is_busy, tk_err *err);
/* Ends the transaction, which is undone unless `code` is TINKC_OK; returns whether what was
 * written is kept. */
bool srv_rec_disk_end(srv_rec *rec, tinkc_code code, tk_err *err);
/* Says once that what is recorded waits until another program leaves the database. */
void srv_rec_disk_warn_busy(srv_rec *rec);

#endif
