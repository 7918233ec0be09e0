/* Many prompts through one sampling handle: a window of futures that moves over the
 * prompts, results in order. Runs on the calling thread. */
#include <tinkc/sampling.h>

#include "base/mem.h"
#include "client/future/tk_future.h"
#include "client/values/error.h"
#include "client/values/types.h"

typedef struct window {
    tinkc_sampling *sampling;
    const tinkc_sample_batch *batch;
    tinkc_future **futures; /* ring of `width`; those of [first, next) are alive */
    size_t width, first, next;
} window;

static void fill(window *w)
{
    const tinkc_sample_batch *batch = w->batch;
    while (w->next < batch->prompts_n && w->next - w->first < w->width) {
        w->futures[w->next % w->width] = tinkc_sampling_sample(
            w->sampling, batch->prompts[w->next], batch->params, batch->options);
        w->next++;
    }
}

/* Hands the oldest over; false: the caller has had enough. */
static bool hand_over(window *w)
{
    tinkc_future **future = &w->futures[w->first % w->width];
    tinkc_samples *samples = NULL;
    (void)tinkc_future_wait(*future, TINKC_FOREVER);
    (void)tinkc_future_take_samples(&samples, *future, NULL);
    bool more =
        w->batch->fn(w->first, samples, tinkc_future_error(*future), w->batch->user);
    tinkc_samples_free(&samples);
    tinkc_future_free(future);
    w->first++;
    return more;
}

static void drop_rest(window *w)
{
    for (; w->first < w->next; w->first++) {
        tinkc_future **future = &w->futures[w->first % w->width];
        tinkc_future_cancel(*future);
        tinkc_future_free(future);
    }
}

static tinkc_code run(tinkc_sampling *sampling, const tinkc_sample_batch *batch,
                      tk_err *err)
{
    window w = {.sampling = sampling, .batch = batch};
    w.width = TK_MIN(batch->max_in_flight, batch->prompts_n);
    if (w.width == 0) {
        return TINKC_OK;
    }
    w.futures = tk_zarray(w.width, sizeof(*w.futures));
    if (w.futures == NULL) {
        return tk_err_nomem(err);
    }
    bool more = true;
    while (more && w.first < batch->prompts_n) {
        fill(&w);
        more = hand_over(&w);
    }
    drop_rest(&w);
    tk_free(w.futures);
    return more ? TINKC_OK
                : tk_err_set(err, TINKC_E_CANCELLED, "stopped by the callback");
}

tinkc_code tinkc_sampling_batch(tinkc_sampling *sampling, const tinkc_sample_batch *batch,
                                tinkc_error **error)
{
    tk_err err = TK_ERR_INIT;
    tinkc_sample_batch mine = TINKC_SAMPLE_BATCH_INIT;
    tinkc_code code = tk_types_options(&mine, sizeof(mine), batch, &err);
    if (code == TINKC_OK && sampling == NULL) {
        code = tk_err_set(&err, TINKC_E_STATE, "batch: the handle is NULL or closed");
    } else if (code == TINKC_OK &&
               (mine.fn == NULL || (mine.prompts == NULL && mine.prompts_n > 0) ||
                mine.max_in_flight == 0)) {
        code = tk_err_set(&err, TINKC_E_INVALID,
                          "a batch needs prompts, max_in_flight and fn");
    }
    if (code == TINKC_OK) {
        code = run(sampling, &mine, &err);
    }
    return code == TINKC_OK ? TINKC_OK : tk_error_give(error, &err);
}
