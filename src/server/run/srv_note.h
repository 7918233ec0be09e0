/* What the engine thread and the workers tell the recorder (srv_rec.h) of runs and samples.
 * Each call copies a little and waits for nothing. */
#ifndef SERVER_SRV_NOTE_H
#define SERVER_SRV_NOTE_H

#include "base/arena.h"
#include "server/run/srv_model.h"
#include "server/run/srv_sample.h"

/* Thread: engine. */
void srv_note_train(const srv_job *job, const eng_result *result);
void srv_note_optim(const srv_job *job, double grad_norm, int64_t spent_ns);
void srv_note_save(const srv_job *job);
void srv_note_end(srv *server, const srv_model *model);
void srv_note_sample(const srv_sample *sample, const eng_sample_result *result);

/* The beginning of a run: prepared before its model can end, told after it was entered.
 * What it has is in its own arena. Reads the store. Thread: a worker. */
typedef struct srv_note_run {
    tk_arena arena;
    tk_str id, session, model, name, metadata;
    int64_t rank;
} srv_note_run;

void srv_note_prepare(srv_note_run *run, srv *server, const srv_model_spec *spec,
                      const char *id);
void srv_note_begin(srv *server, const srv_note_run *run);
void srv_note_dispose(srv_note_run *run);

#endif
