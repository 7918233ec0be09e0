/* The loss per token is the sum over the weights of the tokens, as `tinkc train` has it. */
#include "server/run/srv_note.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "server/record/srv_rec.h"
#include "server/run/srv_state.h"
#include "server/store/srv_store.h"

#define NAME_BYTES     200 /* of a run's name */
#define METADATA_BYTES (64 * TK_KIB)

/* ---- training ---- */

/* Adds up an array of floats, which need not be aligned. */
static double sum_of(const eng_array *array)
{
    double sum = 0.0;
    for (size_t i = 0; i < array->n_values; i++) {
        float v;
        memcpy(&v, (const char *)array->values + i * sizeof(v), sizeof(v));
        sum += (double)v;
    }
    return sum;
}

/* Returns what the tokens of a datum weigh: its weights or its mask; without them, each
 * weighs 1. */
static double weight_of(const eng_datum *datum, size_t rows)
{
    for (size_t i = 0; i < datum->n_inputs; i++) {
        const eng_array *input = &datum->inputs[i];
        if (input->type == ENG_ARRAY_F32 &&
            (tk_str_is(input->name, "weights") || tk_str_is(input->name, "mask"))) {
            return sum_of(input);
        }
    }
    return (double)rows;
}

void srv_note_train(const srv_job *job, const eng_result *result)
{
    srv_rec_metric metrics[TK_ARRAY_LEN(result->metrics)];
    srv_rec_train train = {.run = tk_str_of(job->model->id),
                           .model = tk_str_of(job->model->base_name),
                           .tokens = job->n_tokens,
                           .seconds = (double)job->spent_ns / 1e9,
                           .metrics = metrics};
    if (job->server->record == NULL || job->train.forward_only) {
        return;
    }
    for (size_t i = 0; i < result->n_metrics; i++) {
        const eng_metric *m = &result->metrics[i];
        if (strcmp(m->name, "loss:sum") == 0) {
            train.loss_sum = m->value;
        } else {
            metrics[train.n_metrics++] = (srv_rec_metric){tk_str_of(m->name), m->value};
        }
    }
    for (size_t i = 0; i < job->train.n_data && i < result->n_outputs; i++) {
        train.weight += weight_of(&job->train.data[i], result->outputs[i].rows);
    }
    srv_rec_add_train(job->server->record, &train);
}

void srv_note_optim(const srv_job *job, double grad_norm, int64_t spent_ns)
{
    srv_model *model = job->model;
    const srv_rec_optim optim = {
        .run = tk_str_of(model->id),
        .model = tk_str_of(model->base_name),
        .step = ++model->steps,
        .lr = job->optim == ENG_DIMUON ? job->dimuon.learning_rate
                                       : job->adam.learning_rate,
        .grad_norm = grad_norm,
        .seconds = (double)spent_ns / 1e9,
    };
    srv_rec_add_optim(job->server->record, &optim);
}

void srv_note_save(const srv_job *job)
{
    char id[TK_SRV_NAME_BYTES + 64];
    (void)snprintf(id, sizeof(id), "%s/" TK_STR_FMT, tk_path_kind_name(job->kind_of_path),
                   TK_STR_ARG(job->name));
    srv_rec_add_checkpoint(job->server->record, tk_str_of(job->model->id), tk_str_of(id),
                           job->model->steps);
}

void srv_note_end(srv *server, const srv_model *model)
{
    srv_rec_end_run(server->record, tk_str_of(model->id));
}

/* ---- samples ---- */

void srv_note_sample(const srv_sample *sample, const eng_sample_result *result)
{
    const srv_sampler *sampler = sample->sampler;
    srv_rec *rec = sample->server->record;
    srv_rec_sample note = {
        .model = tk_str_of(sampler->base_name),
        .path = tk_str_of(sampler->path),
        .sampler = tk_str_of(sampler->id),
        .tok = sampler->base->tok,
        .prompt = sample->request.prompt,
        .n_prompt = sample->request.n_prompt,
        .n = result->n_sequences,
    };
    if (rec == NULL || note.n == 0) {
        return;
    }
    srv_rec_sequence *sequences = tk_array(note.n, sizeof(*sequences));
    if (sequences == NULL) {
        srv_rec_lose(rec);
        return;
    }
    for (size_t i = 0; i < note.n; i++) {
        const eng_sequence *from = &result->sequences[i];
        sequences[i] =
            (srv_rec_sequence){from->tokens, from->logprobs, from->n, from->stopped};
    }
    note.sequences = sequences;
    srv_rec_add_sample(rec, &note);
    tk_free(sequences);
}

/* ---- the beginning of a run ---- */

static tk_str keep(tk_arena *arena, tk_str text)
{
    tk_str out = {NULL, 0};
    return tk_arena_dup(arena, &out, text.p, text.n) ? out : TK_STR("");
}

/* Returns user_metadata.name, or an empty text. */
static tk_str name_in(tk_arena *arena, tk_str metadata)
{
    const tk_json *json = NULL;
    tk_err ignored = TK_ERR_INIT;
    if (metadata.n == 0 ||
        tk_json_parse(&json, arena, metadata.p, metadata.n, NULL, &ignored) != TINKC_OK) {
        return TK_STR("");
    }
    const tk_json *name = tk_json_get(json, "name");
    return name != NULL && name->type == TK_JSON_STRING ? name->as.string : TK_STR("");
}

void srv_note_prepare(srv_note_run *run, srv *server, const srv_model_spec *spec,
                      const char *id)
{
    srv_store_session session = {0};
    tk_err ignored = TK_ERR_INIT;
    *run = (srv_note_run){.rank = (int64_t)spec->lora.rank};
    tk_arena_init(&run->arena, 16 * METADATA_BYTES);
    if (server->record == NULL) {
        return;
    }
    run->id = keep(&run->arena, tk_str_of(id));
    run->session = keep(&run->arena, spec->session_id);
    run->model = keep(&run->arena, spec->base_name);
    if (spec->user_metadata.n <= METADATA_BYTES) {
        run->metadata = keep(&run->arena, spec->user_metadata);
    }
    run->name = name_in(&run->arena, run->metadata);
    if (run->name.n == 0 &&
        srv_store_get_session(&session, server->store, &run->arena, spec->session_id,
                              &ignored) == TINKC_OK) {
        run->name = session.display_name;
    }
    run->name = tk_utf8_cut(run->name, NAME_BYTES);
}

void srv_note_begin(srv *server, const srv_note_run *run)
{
    const srv_rec_begin begin = {.run = run->id,
                                 .session = run->session,
                                 .model = run->model,
                                 .name = run->name,
                                 .metadata = run->metadata,
                                 .rank = run->rank};
    srv_rec_begin_run(server->record, &begin);
}

void srv_note_dispose(srv_note_run *run)
{
    tk_arena_dispose(&run->arena);
}
