/* Life of a model, and the mark that a partly applied batch leaves on it. */
#include "client/training/model.h"

#include "base/mem.h"

tinkc_code tk_model_new(tk_model **out, tk_core *core, tk_str id, int64_t first_id,
                        tk_err *err)
{
    const tk_client_config *flags = tk_core_flags(core);
    tk_model *model = tk_zalloc(sizeof(*model));
    if (model == NULL) {
        return tk_err_nomem(err);
    }
    model->id = tk_strndup(id.p, id.n);
    if (model->id == NULL ||
        tk_ledger_open_run(&model->run, tk_core_ledger(core), id, err) != TINKC_OK) {
        tk_free(model->id);
        tk_free(model);
        return tk_err_nomem(err);
    }
    atomic_init(&model->refs, 1);
    model->core = tk_core_ref(core);
    tk_turn_init(&model->turn, first_id);
    model->limits = (tk_split_limits){flags->fwdbwd_max_chunk_len.v,
                                      flags->fwdbwd_max_chunk_bytes_count.v};
    model->parallel = flags->parallel_fwdbwd_chunks.v;
    model->compress = flags->proto_compress_fwdbwd.v;
    model->one_by_one =
        tk_manners_get(tk_core_manners(core), TK_MANNER_ANY_ORDER) == TK_KNOWN_YES;
    *out = model;
    return TINKC_OK;
}

tk_model *tk_model_ref(tk_model *model)
{
    atomic_fetch_add(&model->refs, 1);
    return model;
}

void tk_model_unref(tk_model **model_ref)
{
    tk_model *model = *model_ref;
    *model_ref = NULL;
    if (model != NULL && atomic_fetch_sub(&model->refs, 1) == 1) {
        tk_turn_dispose(&model->turn);
        tk_free(model->id);
        tk_core_unref(&model->core);
        tk_free(model);
    }
}

/* Ids of steps that are refused are not used again: the steps that come now are others. */
void tk_model_unused(tk_model *model, tk_ticket *ticket, int64_t used)
{
    if (ticket != NULL && ticket->first + used >= model->refuse_steps_below) {
        tk_turn_unused(&model->turn, ticket, used);
    }
}

void tk_model_accepted(tk_model *model, tk_ticket **ticket)
{
    if (!model->one_by_one) {
        tk_turn_leave(&model->turn, ticket);
    }
}

void tk_model_spoil(tk_model *model)
{
    if (tk_core_config(model->core)->fail_step_after_partial != 0) {
        model->refuse_steps_below = tk_turn_next(&model->turn);
    }
}
