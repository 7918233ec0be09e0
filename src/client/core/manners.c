/* The table of facts, and one number for each that is learned. */
#include "client/core/manners.h"

static const tk_manner_fact facts[TK_MANNER_COUNT] = {
    [TK_MANNER_JSON_REQUESTS] =
        {"JSON requests",
         "reads forward and forward_backward as JSON only, as SDKs before 0.25 send them",
         "it refuses the body in protobuf (415; 400, 422 or 500 about its format; or twice "
         "a 500 without a reason) and accepts the same request in JSON",
         "training requests are sent as JSON, forward passes to their own path",
         "test_training_json: test_json_scenario"},
    [TK_MANNER_JSON_RESULTS] =
        {"JSON results",
         "sends the results of training and sampling as JSON, whatever Accept asks for",
         "such a result arrives as JSON", "results are read as JSON",
         "test_training_json: test_json_scenario"},
    [TK_MANNER_NO_CONFIG] = {"no client/config", "has no configuration for its clients",
                             "client/config is not found",
                             "every setting has its default",
                             "test_session: test_session_no_config"},
    [TK_MANNER_NO_DYNAMIC_CONFIG] =
        {"no dynamic_config", "has no configuration that changes",
         "client/dynamic_config is not found",
         "the defaults stay; it is asked for again when it would be refreshed",
         "test_session: test_session_no_config"},
    [TK_MANNER_NO_STREAMS] =
        {"no streams", "has no stream_sample, which is an extension of tinkc serve",
         "stream_sample is not found", "streams deliver the whole sample at its end",
         "test_sampling_stream: test_stream_fallback"},
    [TK_MANNER_NO_GROUP_POLLS] =
        {"no retrieve_futures", "has no retrieve_futures",
         "client/config does not set sample_use_retrieve_futures; or it does, and the "
         "request is not found",
         "each sample polls for itself", "test_poll_group: test_poll_group_fallback"},
    [TK_MANNER_NO_CANCELS] =
        {"no cancel_future", "has no cancel_future",
         "dynamic_config does not set sample_cancel_enabled; or it does, and the request "
         "is not found",
         "abandoned samples are left to the server",
         "test_cancel: test_cancel_not_offered"},
    [TK_MANNER_NO_CHECKPOINT_LIST] =
        {"no checkpoint list", "has no list of all checkpoints", "it is not found",
         "the checkpoints of all runs are asked for and put in order",
         "test_cmd_checkpoint: test_cli_checkpoint_list_walks"},
    [TK_MANNER_BARE_ARCHIVES] =
        {"archives by name",
         "knows the archives of weights for sampling by their name, without a kind",
         "sampler_weights/NAME is not found, and NAME is",
         "archives of weights for sampling are asked for by name",
         "test_rest_poll: test_rest_archive_bare"},
    [TK_MANNER_ANY_ORDER] =
        {"order not kept",
         "may do a request before one that it accepted earlier: an optim_step without the "
         "gradients of its batch",
         "none before it does harm: it is expected where client/dynamic_config is not found",
         "a training request is sent when the one before it of the same model has its "
         "result, not as soon as it is accepted",
         "test_peers: test_peers_skyrl_0_3_0"},
    [TK_MANNER_NO_LOSS] =
        {"no loss", "sends no loss among the metrics", "the metrics have none",
         "it is computed from the logprobs of the answer and the inputs sent",
         "test_training_computed: test_computed_from_what_was_sent"},
    [TK_MANNER_OTHER_LOSS] =
        {"other loss", "sends the loss as a mean, or by another name than loss:sum",
         "the metric is loss:mean, loss:avg, total_loss:sum or the like",
         "the reduction is the one of the name; a sum is preferred",
         "test_metrics: test_metrics_loss_names"},
    [TK_MANNER_SHORT_PROMPT_LOGPROBS] =
        {"n-1 prompt logprobs", "sends no entry for the first token of a prompt",
         "there is one logprob less than tokens",
         "an empty entry is put in front, so that logprobs and tokens are aligned",
         "test_sampling: test_sampling_short_logprobs"},
    [TK_MANNER_NO_PROMPT_LOGPROBS] =
        {"no prompt logprobs", "sends no prompt logprobs, although they are asked for",
         "the answer has none",
         "samples are delivered; compute_logprobs fails and says so",
         "test_peers: test_peers_twinkle"},
    [TK_MANNER_OWN_PATHS] =
        {"other paths",
         "gives paths of another form: tinker://RUN/NAME, twinkle://RUN/KIND/NAME, or one "
         "of kind weights for weights for sampling",
         "the path of a saved checkpoint", "such a path is accepted wherever one is",
         "test_path: test_path_bare"},
    [TK_MANNER_NO_SEQUENCE_IDS] = {"no sample_sequence_ids",
                                   "names the sequences of a sample by no id",
                                   "the answer to asample has no sample_sequence_ids",
                                   "samples have no ids",
                                   "test_peers: test_peers_skyrl_newer"},
    [TK_MANNER_CREATES_BY_LOAD] =
        {"create by load", "creates a model by loading a checkpoint",
         "client/config sets create_model_via_load_weights",
         "create from state is one request; elsewhere weights_info, create_model and "
         "load_weights",
         "test_training_create: test_training_from_state_by_load"},
    [TK_MANNER_OTHER_SUCCESS] =
        {"201 and 202", "answers 201 or 202 where the official server answers 200",
         "the status", "every 2xx is a success", "test_peers: test_peers_tuft"},
    [TK_MANNER_FAILS_BY_STATUS] =
        {"failure by status",
         "answers 400 or 422 to the poll of work that failed, instead of 200 with an error",
         "the status of the poll", "the work has failed, with the text of the answer",
         "test_peers: test_peers_tinker_cloud"},
    [TK_MANNER_SHORT_POLLS] = {"short polls",
                               "answers a poll at once, also when the work is not done",
                               "408 or try_again without a pause",
                               "it is asked ten times a second at most",
                               "test_poll: test_poll_instant_answers"},
    [TK_MANNER_NO_ARCHIVES] =
        {"no archives", "has no archives of checkpoints",
         "404, 405 or 501 to the request for one",
         "weights of training are exported instead, where the server can; else the "
         "download fails at once and says so",
         "test_download_external: test_external_exports"},
    [TK_MANNER_FILE_ARCHIVES] = {"archives as file://",
                                 "names the archive as a file of its own machine",
                                 "the request for one is redirected to file://",
                                 "the download fails and says so",
                                 "test_peers: test_peers_tuft"},
    [TK_MANNER_NO_LOAD] = {"no load_weights", "cannot load a checkpoint into a model",
                           "load_weights answers without a request_id",
                           "the load fails with the text of the answer",
                           "test_submit: test_submit_no_request_id"},
    [TK_MANNER_NO_UNLOAD] = {"no unload_model", "cannot unload a model",
                             "unload_model is not found",
                             "the unload fails; a training run ends as if it had not",
                             "test_peers: test_peers_open_rl"},
    [TK_MANNER_NO_FINISH] = {"no finish", "has no finish of sessions",
                             "sessions/ID/finish is not found",
                             "a line in the log; the session ends by itself",
                             "test_finish: test_finish_refused"},
    [TK_MANNER_NO_SAMPLER_INFO] =
        {"no samplers", "does not say what a sampler samples from",
         "samplers/ID is not found",
         "the lookup fails and says so; a program names the tokenizer itself",
         "test_peers: test_peers_twinkle"},
    [TK_MANNER_NO_RUN_LIST] = {"no run list", "has no list of runs", "it is not found",
                               "the list fails and says so; nothing is walked",
                               "test_peers: test_peers_tinker_cloud"},
    [TK_MANNER_NO_SESSION_LIST] = {"no session list", "has no list of sessions",
                                   "it is not found", "the list fails and says so",
                                   "test_peers: test_peers_spindle"},
    [TK_MANNER_NO_END_STOP] =
        {"no stop at the end", "samples on after the end token of the model",
         "the sample goes on to max_tokens",
         "the program sends the end token of the tokenizer as a stop token",
         "test_cmd_sample: test_sample_other_server"},
    [TK_MANNER_REPEATS_COUNT] =
        {"repeats count twice",
         "does a request again that is repeated after a lost answer",
         "nothing: tinkc doctor --deep finds it",
         "nothing can be done: a run may have a step too many",
         "test_deep: test_deep_defects"},
};

const tk_manner_fact *tk_manner_fact_of(tk_manner manner)
{
    return &facts[manner];
}

tk_known tk_manners_get(const tk_manners *self, tk_manner manner)
{
    return (tk_known)atomic_load(&self->known[manner]);
}

void tk_manners_learn(tk_manners *self, tk_log *log, tk_manner manner, bool is_so)
{
    int expected = TK_KNOWN_NOT_YET;
    int learned = is_so ? TK_KNOWN_YES : TK_KNOWN_NO;
    if (atomic_compare_exchange_strong(&self->known[manner], &expected, learned) &&
        is_so) {
        tk_log_write(log, TINKC_LOG_INFO, "server", "the server %s; %s",
                     facts[manner].does, facts[manner].then);
    }
}
