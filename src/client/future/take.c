/* Results out of futures: for every kind of result a take (of a done future) and an await
 * (wait, take, free the future), from one table. Thread: any but the loop's, where a wait
 * would never end. */
#include <tinkc/raw.h>
#include <tinkc/rest.h>
#include <tinkc/sampling.h>
#include <tinkc/search.h>
#include <tinkc/training.h>
#include <tinkc/weights.h>

#include "client/future/tk_future.h"

/* The future goes in every case: the caller has nothing left to free. */
static tinkc_code await(void *out, tinkc_future **future, tk_result_kind kind,
                        tinkc_error **err)
{
    tinkc_future *mine = future != NULL ? *future : NULL;
    if (future != NULL) {
        *future = NULL;
    }
    return tk_future_wait_take(out, mine, kind, err);
}

tinkc_code tinkc_future_await(tinkc_future **future, tinkc_error **err)
{
    return await(NULL, future, TK_RESULT_NONE, err);
}

#define RESULT(name, type, KIND)                                                         \
    tinkc_code tinkc_future_take_##name(type **out, tinkc_future *future,                \
                                        tinkc_error **err)                               \
    {                                                                                    \
        return tk_future_take(out, future, TK_RESULT_##KIND, err);                       \
    }                                                                                    \
    tinkc_code tinkc_future_await_##name(type **out, tinkc_future **future,              \
                                         tinkc_error **err)                              \
    {                                                                                    \
        return await(out, future, TK_RESULT_##KIND, err);                                \
    }

RESULT(archive, tinkc_archive, ARCHIVE)
RESULT(audit, tinkc_audit, AUDIT)
RESULT(billing, tinkc_billing, BILLING)
RESULT(capabilities, tinkc_capabilities, CAPABILITIES)
RESULT(checkpoints, tinkc_checkpoints, CHECKPOINTS)
RESULT(file_urls, tinkc_file_urls, FILE_URLS)
RESULT(found_sessions, tinkc_found_sessions, FOUND_SESSIONS)
RESULT(fwdbwd, tinkc_fwdbwd, FWDBWD)
RESULT(logprobs, tinkc_logprobs, LOGPROBS)
RESULT(metrics, tinkc_metrics, METRICS)
RESULT(model_info, tinkc_model_info, MODEL_INFO)
RESULT(raw_response, tinkc_raw_response, RAW)
RESULT(run, tinkc_run, RUN)
RESULT(runs, tinkc_runs, RUNS)
RESULT(sampler_info, tinkc_sampler_info, SAMPLER_INFO)
RESULT(samples, tinkc_samples, SAMPLES)
RESULT(sampling, tinkc_sampling, SAMPLING)
RESULT(session_info, tinkc_session_info, SESSION_INFO)
RESULT(sessions, tinkc_sessions, SESSIONS)
RESULT(step, tinkc_step, STEP)
RESULT(storage, tinkc_storage, STORAGE)
RESULT(text, char, TEXT)
RESULT(training, tinkc_training, TRAINING)
RESULT(weights_info, tinkc_weights_info, WEIGHTS_INFO)
RESULT(whoami, tinkc_whoami, WHOAMI)
