/* Checks of `tinkc doctor --deep`: what the server says about runs, checkpoints and
 * sessions, and whether things that are removed are gone. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/doctor/deep.h"

/* ---- lists ---- */

static deep_verdict check_runs(deep *d)
{
    tinkc_runs *runs = NULL;
    bool is_there = false;
    if (d->model == NULL) {
        return deep_skip(d, "there is no model that can be trained");
    }
    tinkc_future *future = tinkc_rest_list_runs(d->service, NULL);
    bool ok = deep_wait(d, &future, false) &&
              tinkc_future_take_runs(&runs, future, &d->error) == TINKC_OK;
    tinkc_future_free(&future);
    if (!ok) {
        return deep_failed(d);
    }
    for (size_t i = 0; i < runs->n; i++) {
        is_there =
            is_there || strcmp(runs->items[i].id, tinkc_training_model_id(d->model)) == 0;
    }
    (void)deep_note(d, DEEP_OK, "%zu runs, %s", runs->n,
                    is_there ? "with it" : "without it");
    tinkc_runs_free(&runs);
    return is_there ? DEEP_OK : DEEP_OFF;
}

/* Looks for a checkpoint in a list; *is_there is set on success. */
static bool find(deep *d, tinkc_future *future, const char *path, bool *is_there,
                 size_t *n)
{
    tinkc_checkpoints *list = NULL;
    bool ok = deep_wait(d, &future, false) &&
              tinkc_future_take_checkpoints(&list, future, &d->error) == TINKC_OK;
    tinkc_future_free(&future);
    *is_there = false;
    for (size_t i = 0; ok && i < list->n; i++) {
        const char *item = list->items[i].path;
        *is_there = *is_there || (item != NULL && strcmp(item, path) == 0);
    }
    *n = ok ? list->n : 0;
    tinkc_checkpoints_free(&list);
    return ok;
}

static deep_verdict check_list(deep *d, bool of_run)
{
    bool is_there = false;
    size_t n = 0;
    if (d->model == NULL || d->state == NULL) {
        return deep_skip(d, "no state was saved");
    }
    tinkc_future *future =
        of_run
            ? tinkc_rest_list_checkpoints(d->service, tinkc_training_model_id(d->model))
            : tinkc_rest_list_user_checkpoints(d->service, NULL);
    if (!find(d, future, d->state, &is_there, &n)) {
        return deep_failed(d);
    }
    return deep_note(d, is_there ? DEEP_OK : DEEP_OFF, "%zu checkpoints, %s", n,
                     is_there ? "with it" : "without it");
}

static deep_verdict check_run_checkpoints(deep *d)
{
    return check_list(d, true);
}

static deep_verdict check_checkpoints(deep *d)
{
    return check_list(d, false);
}

static deep_verdict check_sessions(deep *d)
{
    tinkc_sessions *list = NULL;
    const char *own = tinkc_service_session_id(d->service);
    bool is_there = false;
    if (own == NULL) {
        return deep_skip(d, "there is no session");
    }
    tinkc_future *future = tinkc_rest_list_sessions(d->service, NULL);
    bool ok = deep_wait(d, &future, false) &&
              tinkc_future_take_sessions(&list, future, &d->error) == TINKC_OK;
    tinkc_future_free(&future);
    if (!ok) {
        return deep_failed(d);
    }
    for (size_t i = 0; i < list->n; i++) {
        is_there = is_there || strcmp(list->ids[i], own) == 0;
    }
    (void)deep_note(d, DEEP_OK, "%zu sessions, %s", list->n,
                    is_there ? "with it" : "without it");
    tinkc_sessions_free(&list);
    return is_there ? DEEP_OK : DEEP_OFF;
}

/* ---- one thing ---- */

static deep_verdict check_weights_info(deep *d)
{
    tinkc_weights_info *info = NULL;
    if (d->state == NULL) {
        return deep_skip(d, "no state was saved");
    }
    tinkc_future *future = tinkc_rest_weights_info(d->service, d->state);
    bool ok = deep_wait(d, &future, false) &&
              tinkc_future_take_weights_info(&info, future, &d->error) == TINKC_OK;
    tinkc_future_free(&future);
    if (!ok) {
        return deep_failed(d);
    }
    deep_verdict verdict = deep_note(
        d, info->is_lora && info->base_model != NULL ? DEEP_OK : DEEP_OFF,
        "%s, rank %lld", info->base_model != NULL ? info->base_model : "no name",
        (long long)info->lora_rank);
    tinkc_weights_info_free(&info);
    return verdict;
}

static deep_verdict check_archive(deep *d)
{
    if (d->sampler_path == NULL) {
        return deep_skip(d, "there are no weights for sampling");
    }
    return deep_done(d, tinkc_rest_archive_url(d->service, d->sampler_path))
               ? deep_note(d, DEEP_OK, "a URL")
               : deep_refused(d);
}

/* ---- removal ---- */

/* Deletes the saved state; afterwards no list and no question may find it. */
static deep_verdict check_delete(deep *d)
{
    bool is_there = false;
    size_t n = 0;
    if (d->model == NULL || d->state == NULL) {
        return deep_skip(d, "no state was saved");
    }
    const char *path = d->state;
    if (!deep_done(d, tinkc_rest_delete_checkpoint(d->service, path))) {
        return deep_failed(d);
    }
    bool is_listed =
        find(d,
             tinkc_rest_list_checkpoints(d->service, tinkc_training_model_id(d->model)),
             path, &is_there, &n) &&
        is_there;
    bool is_known = deep_done(d, tinkc_rest_weights_info(d->service, path));
    if (is_listed || is_known) {
        return deep_note(d, DEEP_OFF, "still %s", is_listed ? "listed" : "known");
    }
    for (size_t i = 0; i < DEEP_PATHS_MAX; i++) {
        if (d->paths[i] == path) {
            tk_free(d->paths[i]);
            d->paths[i] = NULL;
        }
    }
    d->state = NULL;
    return deep_note(d, DEEP_OK, "gone");
}

/* Uses up the gradients of the losses that were tried, with a rate of 0: there are servers
 * that add them to those of the next model. */
static void settle(deep *d)
{
    tinkc_adam_params adam = deep_adam;
    adam.learning_rate = 0;
    (void)deep_done(d, tinkc_training_optim_step(d->model, &adam));
}

static deep_verdict check_unload(deep *d)
{
    if (d->model == NULL) {
        return deep_skip(d, "there is no model that can be trained");
    }
    settle(d);
    return deep_drop(d, &d->model) ? deep_note(d, DEEP_OK, "done") : deep_failed(d);
}

const deep_check deep_rest_checks[] = {
    {"run list", "the newest runs", "the run of this conversation", "Runs are listed.",
     "The newest run is not in the list.", check_runs},
    {"checkpoints of the run", "its checkpoints", "the saved state",
     "Checkpoints of a run are listed.", "The list lacks a checkpoint of the run.",
     check_run_checkpoints},
    {"checkpoint list", "the newest checkpoints", "the saved state",
     "Checkpoints are listed.", "The newest checkpoints are not in the list.",
     check_checkpoints},
    {"session list", "the newest sessions", "the session of this conversation",
     "Sessions are listed.", "The newest session is not in the list.", check_sessions},
    {"weights_info", "what the saved state holds", "base model and rank",
     "The server describes checkpoints.", "The server does not describe the checkpoint.",
     check_weights_info},
    {"archive", "a URL to download the weights", "a URL", "Weights can be downloaded.",
     "Weights cannot be downloaded.", check_archive},
    {"delete", "delete the saved state", "gone", "A checkpoint that is deleted is gone.",
     "The server says that it deleted the checkpoint, and still has it.", check_delete},
    {"unload", "unload the model", "done", "Models can be unloaded.",
     "The model is not unloaded.", check_unload},
    {0},
};
