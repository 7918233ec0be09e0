/* What is not training: lists the checkpoints, takes the newest as the start of a new
 * model, downloads it into a folder and puts it into a repository of the Hugging Face Hub
 * that are named on the command line, streams a sample, and sends a raw request.
 * docs/guide/managing.md and checkpoints.md explain it.
 *
 *     TINKER_BASE_URL=http://127.0.0.1:8000 ./07_manage [folder [repository]] */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tinkc/tinkc.h>

#define MODEL "tinkc/pebble-llama-2m"

/* Prints all, page by page; gives the path of the first, or "". */
static tinkc_code list(tinkc_service *service, char *newest, size_t size,
                       tinkc_error **err)
{
    tinkc_pager *pager = NULL;
    const tinkc_checkpoint *checkpoint = NULL;
    tinkc_code code = tinkc_pager_checkpoints(&pager, service, NULL, err);
    while (code == TINKC_OK) {
        code = tinkc_pager_next_checkpoint(&checkpoint, pager, err);
        if (code == TINKC_OK) {
            printf("%s  %" PRId64 " bytes\n", checkpoint->path, checkpoint->size_bytes);
            if (newest[0] == '\0') {
                (void)snprintf(newest, size, "%s", checkpoint->path);
            }
        }
    }
    tinkc_pager_close(&pager);
    if (code == TINKC_E_MISSING) { /* the end of the list */
        tinkc_error_free(err);
        code = TINKC_OK;
    }
    return code;
}

/* A model that goes on where the checkpoint stopped. */
static tinkc_code resume(tinkc_service *service, const char *path, tinkc_error **err)
{
    tinkc_training *training = NULL;
    tinkc_model_info *info = NULL;
    tinkc_from_state_options options = TINKC_FROM_STATE_OPTIONS_INIT;
    options.with_optimizer = true;
    tinkc_code code = tinkc_service_create_training_from_state_wait(&training, service,
                                                                    path, &options, err);
    if (code == TINKC_OK) {
        code = tinkc_training_get_info_wait(&info, training, err);
    }
    if (code == TINKC_OK) {
        printf("goes on with rank %" PRId64 "\n", tinkc_model_info_lora_rank(info));
    }
    tinkc_model_info_free(&info);
    (void)tinkc_training_unload_wait(training, NULL); /* servers hold only a few models */
    tinkc_training_close(&training);
    return code;
}

static bool show_progress(const tinkc_progress *progress, void *user)
{
    (void)user;
    fprintf(stderr, "\r%" PRIu64 " of %" PRId64 " bytes", progress->received,
            progress->total);
    return true; /* false stops it */
}

static tinkc_code download(tinkc_service *service, const char *path, const char *folder,
                           tinkc_error **err)
{
    tinkc_download_options options = TINKC_DOWNLOAD_OPTIONS_INIT;
    options.fn = show_progress;
    return tinkc_download_checkpoint(NULL, service, path, folder, &options, err);
}

static tinkc_code push(tinkc_service *service, const char *path, const char *repo,
                       tinkc_error **err)
{
    tinkc_push_options options = TINKC_PUSH_OPTIONS_INIT;
    options.repo = repo; /* "me/my-adapter" */
    return tinkc_push_checkpoint(NULL, service, path, &options, err);
}

static bool show_token(const tinkc_stream_event *event, void *user)
{
    (void)user;
    if (event->kind == TINKC_STREAM_TOKEN) {
        printf(" %" PRId64, event->token_id);
    } else {
        printf(" (%s)\n", event->finish_reason);
    }
    return true; /* false stops it */
}

static tinkc_code stream(tinkc_service *service, tinkc_error **err)
{
    static const int32_t tokens[] = {11, 12, 13};
    tinkc_sampling *sampling = NULL;
    tinkc_model_input *prompt = NULL;
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    params.max_tokens = 4;
    tinkc_code code =
        tinkc_service_create_sampling_wait(&sampling, service, MODEL, NULL, err);
    if (code == TINKC_OK) {
        code = tinkc_model_input_from_tokens(&prompt, tokens, 3, err);
    }
    if (code == TINKC_OK) {
        printf("tokens");
        code =
            tinkc_sampling_stream_wait(sampling, prompt, &params, show_token, NULL, err);
    }
    tinkc_model_input_free(&prompt);
    tinkc_sampling_close(&sampling);
    return code;
}

static tinkc_code ask(tinkc_service *service, tinkc_error **err)
{
    tinkc_raw_response *response = NULL;
    tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
    request.path = "/api/v1/healthz";
    tinkc_code code = tinkc_raw_send_wait(&response, service, &request, err);
    if (code == TINKC_OK) {
        printf("status %d\n", tinkc_raw_response_status(response));
    }
    tinkc_raw_response_free(&response);
    return code;
}

int main(int argc, char **argv)
{
    tinkc_error *error = NULL;
    tinkc_service *service = NULL;
    char newest[256] = "";
    tinkc_code code = tinkc_service_open(&service, NULL, &error);
    if (code == TINKC_OK) {
        code = list(service, newest, sizeof(newest), &error);
    }
    if (code == TINKC_OK && strstr(newest, "/weights/") != NULL) {
        code = resume(service, newest, &error);
    }
    if (code == TINKC_OK && argc > 1 && newest[0] != '\0') {
        code = download(service, newest, argv[1], &error);
    }
    if (code == TINKC_OK && argc > 2 && newest[0] != '\0') {
        code = push(service, newest, argv[2], &error);
    }
    if (code == TINKC_OK) {
        code = stream(service, &error);
    }
    if (code == TINKC_OK) {
        code = ask(service, &error);
    }
    if (code != TINKC_OK) {
        fprintf(stderr, "%s\n", tinkc_error_message(error));
    }
    tinkc_error_free(&error);
    tinkc_service_close(&service);
    return code == TINKC_OK ? 0 : 1;
}
