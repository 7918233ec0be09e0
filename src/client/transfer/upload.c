/* Start, a PUT of each file, finish: by the requests that the documentation of the
 * official SDK 0.39 states. The files are read while they are sent, to links that are
 * credentials themselves. On the calling thread. */
#include <tinkc/upload.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tinkc/raw.h>

#include "base/file.h"
#include "base/mem.h"
#include "client/core/service.h"
#include "client/transfer/raw.h"
#include "client/values/error.h"
#include "client/values/types.h"
#include "http/url.h"
#include "wire/msg_external.h"

#define CONFIG       "adapter_config.json"
#define WEIGHTS      "adapter_model.safetensors"
#define CONFIG_BYTES (4 * TK_MIB)
#define HEADER_BYTES (64 * TK_MIB) /* of a safetensors file */
#define LENGTH_BYTES 8             /* in front of it */

typedef struct upload {
    tinkc_service *service;
    tinkc_upload_options options;
    const char *directory;
    tk_arena arena;
    char *config, *weights; /* paths of the two files; owned */
    uint64_t config_n, weights_n;
    tk_upload_start_request start;
    tk_upload_start_response started;
} upload;

/* ---- what the files say ---- */

static tinkc_code not_an_adapter(const char *file, const char *why, tk_err *err)
{
    return tk_err_set(err, TINKC_E_INVALID, "%s: %s", file, why);
}

static tinkc_code parse_config(upload *u, tk_str text, tk_err *err)
{
    const tk_json *json = NULL;
    tk_err ignored = TK_ERR_INIT;
    tk_lora_config *lora = &u->start.lora_config;
    if (tk_json_parse(&json, &u->arena, text.p, text.n, NULL, &ignored) != TINKC_OK ||
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

static tinkc_code read_config(upload *u, tk_err *err)
{
    char *text = NULL;
    size_t n = 0;
    tinkc_code code = tk_file_read(&text, &n, u->config, CONFIG_BYTES, err);
    if (code == TINKC_OK) {
        u->config_n = n;
        code = parse_config(u, (tk_str){text, n}, err);
    }
    tk_free(text);
    return code;
}

/* Which parts are trained, from the names of the tensors. */
static tinkc_code parse_names(upload *u, tk_str header, tk_err *err)
{
    const tk_json *json = NULL;
    tk_err ignored = TK_ERR_INIT;
    tk_lora_config *lora = &u->start.lora_config;
    if (tk_json_parse(&json, &u->arena, header.p, header.n, NULL, &ignored) != TINKC_OK ||
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

/* Reads the header of a safetensors file: its length in 8 bytes, then JSON. */
static tinkc_code read_header(upload *u, int fd, tk_err *err)
{
    unsigned char length[LENGTH_BYTES];
    uint64_t n = 0;
    if (pread(fd, length, sizeof(length), 0) != (ssize_t)sizeof(length)) {
        return not_an_adapter(WEIGHTS, "is not a safetensors file", err);
    }
    for (size_t i = 0; i < sizeof(length); i++) {
        n |= (uint64_t)length[i] << (8 * i);
    }
    if (n == 0 || n > u->weights_n - LENGTH_BYTES) {
        return not_an_adapter(WEIGHTS, "is not a safetensors file", err);
    }
    if (n > HEADER_BYTES) {
        return tk_err_set(err, TINKC_E_LIMIT, WEIGHTS ": its header is too large");
    }
    char *header = tk_malloc((size_t)n);
    if (header == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = pread(fd, header, (size_t)n, LENGTH_BYTES) == (ssize_t)n
                          ? parse_names(u, (tk_str){header, (size_t)n}, err)
                          : tk_err_set(err, TINKC_E_IO, "%s: cannot read", u->weights);
    tk_free(header);
    return code;
}

static tinkc_code read_weights(upload *u, tk_err *err)
{
    struct stat info;
    int fd = open(u->weights, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return errno == ENOENT
                   ? tk_err_set(err, TINKC_E_MISSING, "%s does not exist", u->weights)
                   : tk_err_sys(err, errno, "%s", u->weights);
    }
    tinkc_code code = TINKC_OK;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        code = tk_err_set(err, TINKC_E_IO, "%s is not a file", u->weights);
    } else {
        u->weights_n = (uint64_t)info.st_size;
        code = read_header(u, fd, err);
    }
    (void)close(fd);
    return code;
}

static tinkc_code read_adapter(upload *u, tk_err *err)
{
    u->config = tk_file_join(u->directory, CONFIG);
    u->weights = tk_file_join(u->directory, WEIGHTS);
    if (u->config == NULL || u->weights == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = read_config(u, err);
    return code == TINKC_OK ? read_weights(u, err) : code;
}

/* ---- requests ---- */

/* Waits for the answer and decodes it, unless `schema` is NULL. */
static tinkc_code await(upload *u, tinkc_future *future, const tk_schema *schema,
                        void *answer, tk_err *err)
{
    tinkc_raw_response *response = NULL;
    tinkc_error *error = NULL;
    size_t n = 0;
    tinkc_code code = tk_future_wait_take(&response, future, TK_RESULT_RAW, &error);
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
        code = await(u, tinkc_raw_send(u->service, &request), c->answer_schema, c->answer,
                     err);
    }
    tk_buf_dispose(&text);
    return code;
}

/* Sends a file to its link, without our key: the link is the credential. */
static tinkc_code put_file(upload *u, const char *url, bool is_config, tk_err *err)
{
    tk_handle *handle = tk_service_handle(u->service);
    const char *base = tk_core_base_url(handle->core);
    const tk_request_spec spec = {.method = TK_HTTP_PUT,
                                  .path = url,
                                  .peer = TK_REQUEST_FOREIGN,
                                  .content_type = "application/octet-stream",
                                  .file = is_config ? u->config : u->weights,
                                  .file_n = is_config ? u->config_n : u->weights_n,
                                  .max_retries = -1};
    tk_request own = {0};
    if (tk_url_is_https(tk_str_of(base)) && !tk_url_is_https(tk_str_of(url))) {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "the server redirects from https to http, which is refused");
    }
    tinkc_code code = tk_request_init(&own, &spec, base, err);
    return code == TINKC_OK ? await(u, tk_raw_send(handle, &own, false), NULL, NULL, err)
                            : code;
}

static tinkc_code put_files(upload *u, tk_err *err)
{
    const tk_str_map *urls = &u->started.urls;
    tinkc_code code = TINKC_OK;
    bool has_config = false, has_weights = false;
    for (size_t i = 0; i < urls->n; i++) {
        tk_str name = urls->items[i].name;
        has_config = has_config || tk_str_is(name, CONFIG);
        has_weights = has_weights || tk_str_is(name, WEIGHTS);
        if (!tk_str_is(name, CONFIG) && !tk_str_is(name, WEIGHTS)) {
            return tk_err_set(err, TINKC_E_UNSUPPORTED, "the server wants a file %.200s",
                              name.p);
        }
    }
    if (!has_config || !has_weights) {
        return tk_err_set(err, TINKC_E_DECODE, "the server has no links for both files");
    }
    for (size_t i = 0; code == TINKC_OK && i < urls->n; i++) {
        const tk_named_str *file = &urls->items[i];
        code = put_file(u, file->v.p, tk_str_is(file->name, CONFIG), err);
    }
    return code;
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
