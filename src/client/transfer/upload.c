/* Start, a PUT of each file, finish: by the requests that the documentation of the
 * official SDK 0.39 states. On the calling thread. */
#include <tinkc/upload.h>

#include <string.h>
#include <tinkc/raw.h>

#include "base/file.h"
#include "base/mem.h"
#include "client/core/service.h"
#include "client/values/error.h"
#include "client/values/types.h"
#include "http/url.h"
#include "wire/msg_external.h"

#define CONFIG       "adapter_config.json"
#define WEIGHTS      "adapter_model.safetensors"
#define CONFIG_BYTES (4 * TK_MIB)
#define FILE_BYTES   ((size_t)1 << 30)
#define HEADER_BYTES (64 * TK_MIB) /* of a safetensors file */

typedef struct upload {
    tinkc_service *service;
    tinkc_upload_options options;
    const char *directory;
    tk_arena arena;
    char *config, *weights; /* the two files; owned */
    size_t config_n, weights_n;
    tk_upload_start_request start;
    tk_upload_start_response started;
} upload;

/* ---- what the files say ---- */

static tinkc_code read_file(char **out, size_t *n, const upload *u, const char *name,
                            size_t most, tk_err *err)
{
    char *path = tk_file_join(u->directory, name);
    if (path == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_file_read(out, n, path, most, err);
    tk_free(path);
    return code;
}

static tinkc_code not_an_adapter(const char *file, const char *why, tk_err *err)
{
    return tk_err_set(err, TINKC_E_INVALID, "%s: %s", file, why);
}

static tinkc_code read_config(upload *u, tk_err *err)
{
    const tk_json *json = NULL;
    tk_err ignored = TK_ERR_INIT;
    tk_lora_config *lora = &u->start.lora_config;
    if (tk_json_parse(&json, &u->arena, u->config, u->config_n, NULL, &ignored) !=
            TINKC_OK ||
        json->type != TK_JSON_OBJECT) {
        return not_an_adapter(CONFIG, "is not a JSON object", err);
    }
    const tk_json *rank = tk_json_get(json, "r");
    const tk_json *base = tk_json_get(json, "base_model_name_or_path");
    if (rank == NULL || !tk_json_to_i64(rank, &lora->rank.v) || lora->rank.v < 1) {
        return not_an_adapter(CONFIG, "has no rank (r)", err);
    }
    lora->rank.is = TK_SET;
    u->start.base_model = tk_f_str_of(u->options.base_model);
    if (u->options.base_model == NULL && base != NULL && base->type == TK_JSON_STRING) {
        u->start.base_model = (tk_f_str){TK_SET, base->as.string};
    }
    return u->start.base_model.is == TK_SET
               ? TINKC_OK
               : not_an_adapter(CONFIG, "names no base model, and none was given", err);
}

static bool has_part(tk_str name, const char *part)
{
    return memmem(name.p, name.n, part, strlen(part)) != NULL;
}

/* Which parts are trained, from the names of the tensors. */
static tinkc_code read_names(upload *u, tk_err *err)
{
    uint64_t n = 0;
    const tk_json *json = NULL;
    tk_err ignored = TK_ERR_INIT;
    tk_lora_config *lora = &u->start.lora_config;
    for (size_t i = 0; i < 8 && u->weights_n >= 8; i++) {
        n |= (uint64_t)(unsigned char)u->weights[i] << (8 * i);
    }
    if (n == 0 || n > HEADER_BYTES || n > u->weights_n - 8 ||
        tk_json_parse(&json, &u->arena, u->weights + 8, (size_t)n, NULL, &ignored) !=
            TINKC_OK ||
        json->type != TK_JSON_OBJECT) {
        return not_an_adapter(WEIGHTS, "is not a safetensors file", err);
    }
    lora->train_attn = lora->train_mlp = lora->train_unembed = (tk_f_bool){TK_SET, false};
    for (size_t i = 0; i < json->as.object.n; i++) {
        tk_str name = json->as.object.members[i].key;
        lora->train_attn.v |= has_part(name, ".self_attn.");
        lora->train_mlp.v |= has_part(name, ".mlp.");
        lora->train_unembed.v |=
            has_part(name, "lm_head.") || has_part(name, "unembed_tokens.");
    }
    return lora->train_attn.v || lora->train_mlp.v || lora->train_unembed.v
               ? TINKC_OK
               : not_an_adapter(WEIGHTS, "has no tensors of a LoRA", err);
}

static tinkc_code read_adapter(upload *u, tk_err *err)
{
    tinkc_code code = read_file(&u->config, &u->config_n, u, CONFIG, CONFIG_BYTES, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_file(&u->weights, &u->weights_n, u, WEIGHTS, FILE_BYTES, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_config(u, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = read_names(u, err);
out:
    return code;
}

/* ---- requests ---- */

/* Sends one request and decodes its answer, unless `schema` is NULL. */
static tinkc_code send(upload *u, const tinkc_raw_request *request,
                       const tk_schema *schema, void *answer, tk_err *err)
{
    tinkc_raw_response *response = NULL;
    tinkc_error *error = NULL;
    size_t n = 0;
    tinkc_code code = tinkc_raw_send_wait(&response, u->service, request, &error);
    if (code != TINKC_OK) {
        tk_error_read(err, error);
        tinkc_error_free(&error);
        return code;
    }
    const char *body = tinkc_raw_response_body(&n, response);
    if (schema != NULL) {
        code =
            tk_schema_decode_text(answer, schema, &u->arena, (tk_str){body, n}, 0, err);
    }
    tinkc_raw_response_free(&response);
    return code;
}

typedef struct call {
    const char *path;
    const tk_schema *schema; /* of `message` */
    const void *message;
    const tk_schema *answer_schema;
    void *answer;
} call;

static tinkc_code post(upload *u, const call *c, tk_err *err)
{
    tk_buf text;
    tk_buf_init(&text, TK_MIB);
    tinkc_code code = tk_schema_encode(&text, c->schema, c->message, err);
    if (code == TINKC_OK) {
        tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
        request.method = "POST";
        request.path = c->path;
        request.body = text.p;
        request.body_n = text.n;
        code = send(u, &request, c->answer_schema, c->answer, err);
    }
    tk_buf_dispose(&text);
    return code;
}

static tinkc_code put_files(upload *u, tk_err *err)
{
    const char *base = tk_core_base_url(tk_service_core(u->service));
    tinkc_code code = TINKC_OK;
    size_t known = 0;
    for (size_t i = 0; code == TINKC_OK && i < u->started.urls.n; i++) {
        const tk_named_str *file = &u->started.urls.items[i];
        bool config = tk_str_is(file->name, CONFIG);
        tinkc_raw_request request = TINKC_RAW_REQUEST_INIT;
        request.method = "PUT";
        request.path = file->v.p;
        request.body = config ? u->config : u->weights;
        request.body_n = config ? u->config_n : u->weights_n;
        request.content_type = "application/octet-stream";
        if (!config && !tk_str_is(file->name, WEIGHTS)) {
            code =
                tk_err_set(err, TINKC_E_UNSUPPORTED,
                           "the server wants a file " TK_STR_FMT, TK_STR_ARG(file->name));
        } else if (tk_url_is_https(tk_str_of(base)) && !tk_url_is_https(file->v)) {
            code =
                tk_err_set(err, TINKC_E_CONFIG,
                           "the server redirects from https to http, which is refused");
        } else {
            code = send(u, &request, NULL, NULL, err);
        }
        known++;
    }
    return code == TINKC_OK && known < 2
               ? tk_err_set(err, TINKC_E_DECODE, "the server wants no files")
               : code;
}

static tinkc_code run(upload *u, char **out, tk_err *err)
{
    tk_upload_finish_request finish = {0};
    tk_copy_weights_response made = {0};
    const call begin = {"/api/v1/external_weights_upload_start",
                        &tk_msg_upload_start_request, &u->start,
                        &tk_msg_upload_start_response, &u->started};
    const call end = {"/api/v1/external_weights_upload_finish",
                      &tk_msg_upload_finish_request, &finish,
                      &tk_msg_upload_finish_response, &made};
    tinkc_code code = read_adapter(u, err);
    if (code != TINKC_OK) {
        goto out;
    }
    const char *project = u->options.project_id != NULL
                              ? u->options.project_id
                              : tk_core_config(tk_service_core(u->service))->project_id;
    u->start.destination_project_id = tk_f_str_of(project);
    code = post(u, &begin, err);
    if (code != TINKC_OK) {
        goto out;
    }
    code = put_files(u, err);
    if (code != TINKC_OK) {
        goto out;
    }
    finish.upload_id = u->started.upload_id;
    code = post(u, &end, err);
    if (code == TINKC_OK && out != NULL) {
        *out = tk_strndup(made.tinker_path.v.p, made.tinker_path.v.n);
        code = *out != NULL ? TINKC_OK : tk_err_nomem(err);
    }
out:
    return code;
}

tinkc_code tinkc_upload_adapter(char **out, tinkc_service *service, const char *directory,
                                const tinkc_upload_options *options, tinkc_error **error)
{
    upload u = {
        .service = service, .options = TINKC_UPLOAD_OPTIONS_INIT, .directory = directory};
    tk_err err = TK_ERR_INIT;
    if (service == NULL) {
        tk_err_set(&err, TINKC_E_STATE, "upload: the handle is NULL or closed");
        return tk_error_give(error, &err);
    }
    tk_arena_init(&u.arena, 0);
    tinkc_code code = tk_types_options(&u.options, sizeof(u.options), options, &err);
    if (code == TINKC_OK && (directory == NULL || directory[0] == '\0')) {
        code = tk_err_set(&err, TINKC_E_INVALID, "upload: no directory");
    }
    if (code == TINKC_OK) {
        code = tk_core_check_blocking(tk_service_core(service), &err);
    }
    if (code == TINKC_OK) {
        code = run(&u, out, &err);
    }
    tk_free(u.config);
    tk_free(u.weights);
    tk_arena_dispose(&u.arena);
    return code == TINKC_OK ? TINKC_OK : tk_error_give(error, &err);
}
