/* The whole training scenario of a client against each server of
 * support/fakeapi_tinker_servers.h, played by the scripted peer: the same program passes
 * everywhere, and what a server lacks is said at once.
 * Links: peer */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <tinkc/download.h>
#include <tinkc/rest.h>
#include <tinkc/sampling.h>
#include <tinkc/stream.h>

#include "support/datumfix.h"
#include "support/downloadfix.h"
#include "support/fakeapi_tinker_servers.h"
#include "support/trainfix.h"

#define STEPS   3
#define TARGETS (2 * DATUMFIX_TOKENS) /* of a batch */

typedef struct peerfix {
    size_t index; /* of the server */
    const char *lacks[FAKEAPI_TINKER_LACKS];
    fakeapi *api;
    tinkc_service *service;
    tinkc_training *training;
    tinkc_sampling *sampling;
    tinkc_datum *data[2];
    char *state, *weights; /* paths of checkpoints */
} peerfix;

static bool is_so(const peerfix *p, tk_manner manner)
{
    return fakeapi_tinker_server_fact(p->index, manner) == TK_KNOWN_YES;
}

/* The call succeeded, or failed because the server lacks it, with this in its text. */
static void expect(tinkc_code code, tinkc_error **error, bool lacks, const char *says)
{
    if ((code != TINKC_OK) != lacks) {
        fail_msg("code %d: %s", (int)code, tinkc_error_message(*error));
    }
    if (lacks && strstr(tinkc_error_message(*error), says) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", tinkc_error_message(*error), says);
    }
    tinkc_error_free(error);
}

static void open_peer(peerfix *p, size_t index)
{
    fakeapi_tinker_options options;
    *p = (peerfix){.index = index, .api = fakeapi_start()};
    fakeapi_tinker_server_play(&options, index, p->lacks);
    fakeapi_tinker(p->api, &options);
    p->service = servicefix_open(p->api, SERVICEFIX_QUIET);
    p->data[0] = datumfix_new();
    p->data[1] = datumfix_new();
}

static void close_peer(peerfix *p)
{
    tinkc_text_free(&p->state);
    tinkc_text_free(&p->weights);
    tinkc_datum_free(&p->data[0]);
    tinkc_datum_free(&p->data[1]);
    tinkc_sampling_close(&p->sampling);
    tinkc_training_close(&p->training);
    tinkc_service_close(&p->service);
    assert_int_equal(fakeapi_tinker_conflicts(p->api), 0);
    fakeapi_stop(&p->api);
}

/* ---- training ---- */

/* The loss has the server's name, and is the sum over the targets, or their mean. */
static void check_loss(const peerfix *p, const tinkc_fwdbwd *result, double mean)
{
    double loss = NAN;
    const char *theirs = fakeapi_tinker_server_at(p->index)->loss;
    const char *name = tinkc_metrics_loss_name(tinkc_fwdbwd_metrics(result));
    if (theirs != NULL && theirs[0] != '\0') {
        assert_non_null(name);
        assert_string_equal(name, theirs);
    }
    assert_int_equal(tinkc_fwdbwd_loss(&loss, result, NULL), TINKC_OK);
    bool is_mean = name != NULL && strstr(name, ":sum") == NULL;
    assert_true(fabs(loss - (is_mean ? mean : mean * TARGETS)) < 1e-5);
}

static void train(peerfix *p)
{
    assert_int_equal(tinkc_service_create_training_wait(&p->training, p->service,
                                                        BASE_MODEL, NULL, NULL),
                     TINKC_OK);
    for (int i = 0; i < STEPS; i++) {
        tinkc_fwdbwd *result = NULL;
        double computed = NAN;
        assert_int_equal(tinkc_training_forward_backward_wait(&result, p->training,
                                                              p->data, 2, "cross_entropy",
                                                              NULL, NULL),
                         TINKC_OK);
        check_loss(p, result, 2.0 / (1 + i));
        assert_int_equal(tinkc_fwdbwd_computed_loss(&computed, result, p->data, 2,
                                                    "cross_entropy", NULL),
                         TINKC_OK);
        assert_true(fabs(computed - 2.0 * TARGETS / (1 + i)) < 1e-5);
        tinkc_fwdbwd_free(&result);
        assert_int_equal(tinkc_training_optim_step_wait(NULL, p->training, NULL, NULL),
                         TINKC_OK);
    }
}

/* Steps that are all submitted before any result is waited for are applied in order: the
 * loss of each shows the steps before it. */
static void train_ahead(peerfix *p)
{
    tinkc_future *steps[STEPS];
    for (int i = 0; i < STEPS; i++) {
        steps[i] = tinkc_training_step(p->training, p->data, 2, "cross_entropy", NULL);
    }
    for (int i = 0; i < STEPS; i++) {
        tinkc_step *step = NULL;
        assert_int_equal(tinkc_future_wait(steps[i], TINKC_FOREVER), TINKC_OK);
        assert_int_equal(tinkc_future_take_step(&step, steps[i], NULL), TINKC_OK);
        check_loss(p, tinkc_step_fwdbwd(step), 2.0 / (1 + STEPS + i));
        tinkc_step_free(&step);
        tinkc_future_free(&steps[i]);
    }
}

static void evaluate(peerfix *p)
{
    tinkc_fwdbwd *result = NULL;
    assert_int_equal(tinkc_training_forward_wait(&result, p->training, p->data, 2,
                                                 "cross_entropy", NULL, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_fwdbwd_count(result), 2);
    check_loss(p, result, 2.0 / (1 + 2 * STEPS));
    tinkc_fwdbwd_free(&result);
}

/* Each piece of work was done once. */
static void check_work(peerfix *p, size_t operations)
{
    assert_int_equal(fakeapi_tinker_ops(p->api, NULL), operations);
    for (size_t i = 0; i < operations; i++) {
        fakeapi_tinker_op op;
        assert_true(fakeapi_tinker_op_at(p->api, NULL, i, &op));
        assert_int_equal(op.resent, 0);
    }
}

static void fail_once(peerfix *p)
{
    tinkc_error *error = NULL;
    fakeapi_tinker_fail(p->api, "optim_step", "beta1 is 7", "user");
    tinkc_code code = tinkc_training_optim_step_wait(NULL, p->training, NULL, &error);
    expect(code, &error, true, "beta1 is 7");
}

/* ---- checkpoints and samples ---- */

static void save(peerfix *p)
{
    assert_int_equal(
        tinkc_training_save_state_wait(&p->state, p->training, "one", NULL, NULL),
        TINKC_OK);
    assert_int_equal(tinkc_training_save_weights_for_sampler_wait(
                         &p->weights, p->training, "two", NULL, NULL),
                     TINKC_OK);
}

static void check_samples(peerfix *p, const tinkc_samples *samples)
{
    size_t n = 0;
    const int32_t *drawn = tinkc_samples_tokens(&n, samples, 0);
    assert_int_equal(n, 2);
    assert_int_equal(drawn[0], 8);
    assert_float_equal(tinkc_samples_logprobs(&n, samples, 0)[1], -0.5, 0);
    const char *id = tinkc_samples_sequence_id(samples, 0);
    assert_int_equal(id == NULL, is_so(p, TK_MANNER_NO_SEQUENCE_IDS));
    const float *scored = tinkc_samples_prompt_logprobs(&n, samples);
    if (is_so(p, TK_MANNER_NO_PROMPT_LOGPROBS)) {
        assert_null(scored);
    } else {
        assert_int_equal(n, 3);
        assert_true(isnan(scored[0]) || !is_so(p, TK_MANNER_SHORT_PROMPT_LOGPROBS));
        assert_float_equal(scored[2], -0.5, 0);
    }
}

static bool count_event(const tinkc_stream_event *event, void *user)
{
    size_t *events = user;
    (*events)++;
    return true;
}

static void stream(peerfix *p, const tinkc_model_input *prompt,
                   const tinkc_sampling_params *params)
{
    for (size_t i = 0; i < 2; i++) {
        size_t events = 0;
        assert_int_equal(tinkc_sampling_stream_wait(p->sampling, prompt, params,
                                                    count_event, &events, NULL),
                         TINKC_OK);
        assert_int_equal(events, 3); /* two tokens and the end */
    }
    assert_int_equal(fakeapi_count(p->api, "POST", "/api/v1/stream_sample"), 1);
}

static void sample(peerfix *p)
{
    static const int32_t tokens[] = {5, 6, 7};
    tinkc_model_input *prompt = NULL;
    tinkc_samples *samples = NULL;
    tinkc_logprobs *logprobs = NULL;
    tinkc_error *error = NULL;
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    params.max_tokens = 2;
    options.prompt_logprobs = TINKC_CHOICE_YES;
    assert_int_equal(tinkc_model_input_from_tokens(&prompt, tokens, 3, NULL), TINKC_OK);
    assert_int_equal(tinkc_service_create_sampling_wait(&p->sampling, p->service, NULL,
                                                        p->weights, NULL),
                     TINKC_OK);
    assert_int_equal(tinkc_sampling_sample_wait(&samples, p->sampling, prompt, &params,
                                                &options, NULL),
                     TINKC_OK);
    check_samples(p, samples);
    tinkc_code code =
        tinkc_sampling_compute_logprobs_wait(&logprobs, p->sampling, prompt, &error);
    expect(code, &error, is_so(p, TK_MANNER_NO_PROMPT_LOGPROBS), "no prompt logprobs");
    stream(p, prompt, &params);
    tinkc_logprobs_free(&logprobs);
    tinkc_samples_free(&samples);
    tinkc_model_input_free(&prompt);
}

static void name_model(peerfix *p)
{
    char *name = NULL;
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_sampling_get_base_model_wait(&name, p->sampling, &error);
    expect(code, &error, is_so(p, TK_MANNER_NO_SAMPLER_INFO), "does not offer GET");
    tinkc_text_free(&name);
}

/* ---- lists ---- */

/* Both checkpoints are found, also by a server that lists them run by run; it is asked for
 * all of them once. */
static void list_checkpoints(peerfix *p)
{
    bool has_none =
        is_so(p, TK_MANNER_NO_CHECKPOINT_LIST) && is_so(p, TK_MANNER_NO_RUN_LIST);
    for (size_t i = 0; i < 2; i++) {
        tinkc_pager *pager = NULL;
        const tinkc_checkpoint *one = NULL;
        tinkc_error *error = NULL;
        size_t found = 0;
        assert_int_equal(tinkc_pager_checkpoints(&pager, p->service, NULL, NULL),
                         TINKC_OK);
        tinkc_code code;
        while ((code = tinkc_pager_next_checkpoint(&one, pager, &error)) == TINKC_OK) {
            found +=
                strcmp(one->path, p->state) == 0 || strcmp(one->path, p->weights) == 0;
        }
        assert_int_equal(code, has_none ? TINKC_E_UNSUPPORTED : TINKC_E_MISSING);
        expect(code, &error, true, has_none ? "does not offer GET" : "");
        assert_int_equal(found, has_none ? 0 : 2);
        tinkc_pager_close(&pager);
    }
    assert_int_equal(fakeapi_count(p->api, "GET", "/api/v1/checkpoints"),
                     is_so(p, TK_MANNER_NO_CHECKPOINT_LIST) ? 1 : 2);
}

static void list(peerfix *p)
{
    tinkc_runs *runs = NULL;
    tinkc_sessions *sessions = NULL;
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_rest_list_runs_wait(&runs, p->service, NULL, &error);
    expect(code, &error, is_so(p, TK_MANNER_NO_RUN_LIST), "does not offer GET");
    assert_int_equal(runs != NULL ? runs->n : 1, 1);
    code = tinkc_rest_list_sessions_wait(&sessions, p->service, NULL, &error);
    expect(code, &error, is_so(p, TK_MANNER_NO_SESSION_LIST), "does not offer GET");
    tinkc_sessions_free(&sessions);
    tinkc_runs_free(&runs);
    list_checkpoints(p);
}

/* ---- download ---- */

/* Answers as the server does to the request for the archive of the weights. */
static void serve_archive(peerfix *p, const char *location)
{
    char path[256], header[256];
    const char *run = tinkc_training_model_id(p->training);
    const char *kind = fakeapi_tinker_server_at(p->index)->kind;
    kind = kind != NULL && kind[0] != '\0' ? kind : "sampler_weights";
    bool is_bare = is_so(p, TK_MANNER_BARE_ARCHIVES);
    (void)snprintf(path, sizeof(path),
                   "/api/v1/training_runs/%s/checkpoints/%s%stwo/archive", run,
                   is_bare ? "" : kind, is_bare ? "" : "/");
    (void)snprintf(header, sizeof(header), "Location: %s\r\n", location);
    fakeapi_default(p->api, "GET", path,
                    &(fakeapi_step){.status = 302, .headers = header});
}

static void download(peerfix *p)
{
    char folder[] = "/tmp/tinkc-peers-XXXXXX", target[64], location[128], command[128];
    bool is_file = is_so(p, TK_MANNER_FILE_ARCHIVES);
    bool has_none = is_so(p, TK_MANNER_NO_ARCHIVES);
    downloadfix_blob blob = downloadfix_checkpoint(ARCHIVE_FILTER_NONE);
    tinkc_error *error = NULL;
    assert_non_null(mkdtemp(folder));
    (void)snprintf(target, sizeof(target), "%s/out", folder);
    (void)snprintf(location, sizeof(location), "%s/files/one.tar",
                   is_file ? "file:///data" : fakeapi_url(p->api));
    fakeapi_default(p->api, "GET", "/files/one.tar",
                    &(fakeapi_step){.body = blob.p,
                                    .body_n = blob.n,
                                    .content_type = "application/octet-stream"});
    if (!has_none) {
        serve_archive(p, location);
    }
    /* Lists of servers that know archives by name have paths with a kind. */
    char path[256];
    (void)snprintf(path, sizeof(path), "tinker://%s/sampler_weights/two",
                   tinkc_training_model_id(p->training));
    const char *asked = is_so(p, TK_MANNER_BARE_ARCHIVES) ? path : p->weights;
    tinkc_download_options options = TINKC_DOWNLOAD_OPTIONS_INIT;
    tinkc_code code =
        tinkc_download_checkpoint(NULL, p->service, asked, target, &options, &error);
    /* Weights whose path is one of training are tried to be exported, by loading them. */
    const char *says = is_file                       ? "not an http"
                       : is_so(p, TK_MANNER_NO_LOAD) ? "no longer supported"
                                                     : "Not Found";
    expect(code, &error, is_file || has_none, says);
    assert_int_equal(downloadfix_entries(folder), is_file || has_none ? 0 : 1);
    if (is_so(p, TK_MANNER_BARE_ARCHIVES)) { /* by the path that the save returned, too */
        (void)snprintf(target, sizeof(target), "%s/bare", folder);
        assert_int_equal(tinkc_download_checkpoint(NULL, p->service, p->weights, target,
                                                   &options, NULL),
                         TINKC_OK);
        assert_int_equal(downloadfix_entries(folder), 2);
    }
    (void)snprintf(command, sizeof(command), "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    free(blob.p);
}

/* ---- load and end ---- */

static void load(peerfix *p)
{
    tinkc_training *again = NULL, *other = NULL;
    tinkc_error *error = NULL;
    bool lacks = is_so(p, TK_MANNER_NO_LOAD);
    tinkc_code code = tinkc_service_create_training_from_state_wait(
        &again, p->service, p->state, NULL, &error);
    expect(code, &error, lacks, "no longer supported");
    assert_int_equal(
        tinkc_service_create_training_wait(&other, p->service, BASE_MODEL, NULL, NULL),
        TINKC_OK);
    code = tinkc_training_load_state_wait(other, p->state, true, NULL, &error);
    expect(code, &error, lacks, "no longer supported");
    if (!lacks) {
        assert_int_equal(tinkc_training_optim_step_wait(NULL, again, NULL, NULL),
                         TINKC_OK);
    }
    tinkc_training_close(&again);
    tinkc_training_close(&other);
}

static void end(peerfix *p)
{
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_training_unload_wait(p->training, &error);
    expect(code, &error, is_so(p, TK_MANNER_NO_UNLOAD), "does not offer POST");
    close_peer(p);
}

static void play(const char *name)
{
    peerfix p;
    size_t i = 0;
    while (strcmp(fakeapi_tinker_server_at(i)->name, name) != 0) {
        assert_true(++i < fakeapi_tinker_servers());
    }
    open_peer(&p, i);
    assert_int_equal(tinkc_service_health_wait(p.service, NULL), TINKC_OK);
    train(&p);
    train_ahead(&p);
    evaluate(&p);
    check_work(&p, 1 + 4 * STEPS + 1);
    fail_once(&p);
    save(&p);
    sample(&p);
    name_model(&p);
    list(&p);
    download(&p);
    load(&p);
    end(&p);
}

static void test_peers_hosted(void **unused)
{
    play("hosted Tinker");
}

static void test_peers_skyrl_0_3_0(void **unused)
{
    play("SkyRL 0.3.0");
}

static void test_peers_skyrl_newer(void **unused)
{
    play("SkyRL, newer");
}

static void test_peers_tuft(void **unused)
{
    play("TuFT");
}

static void test_peers_open_rl(void **unused)
{
    play("open-rl");
}

static void test_peers_twinkle(void **unused)
{
    play("twinkle");
}

static void test_peers_tinker_cloud(void **unused)
{
    play("tinker-cloud");
}

static void test_peers_hosted_tinker(void **unused)
{
    play("hosted_tinker");
}

static void test_peers_spindle(void **unused)
{
    play("Spindle");
}

/* ---- the table ---- */

/* What a server is played with is what the table says of it. */
static void test_peers_table(void **unused)
{
    assert_int_equal(fakeapi_tinker_servers(), 9);
    for (size_t i = 0; i < fakeapi_tinker_servers(); i++) {
        const fakeapi_tinker_server *server = fakeapi_tinker_server_at(i);
        peerfix p = {.index = i};
        bool has_other = server->loss != NULL && server->loss[0] != '\0';
        bool has_own = server->scheme != NULL || server->kind != NULL;
        assert_int_equal(is_so(&p, TK_MANNER_JSON_REQUESTS), server->refusal != NULL);
        assert_int_equal(is_so(&p, TK_MANNER_OWN_PATHS), has_own);
        assert_true(!has_other || is_so(&p, TK_MANNER_OTHER_LOSS));
        assert_true(server->loss == NULL || has_other || is_so(&p, TK_MANNER_NO_LOSS));
        assert_true(strlen(server->name) > 0 && strlen(server->source) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_peers_table),
        cmocka_unit_test(test_peers_hosted),
        cmocka_unit_test(test_peers_skyrl_0_3_0),
        cmocka_unit_test(test_peers_skyrl_newer),
        cmocka_unit_test(test_peers_tuft),
        cmocka_unit_test(test_peers_open_rl),
        cmocka_unit_test(test_peers_twinkle),
        cmocka_unit_test(test_peers_tinker_cloud),
        cmocka_unit_test(test_peers_hosted_tinker),
        cmocka_unit_test(test_peers_spindle),
    };
    return cmocka_run_group_tests_name("peers", tests, NULL, NULL);
}
