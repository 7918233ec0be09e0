/* Tinker mode: the work of a training loop (docs/protocol.md §2.3, §2.4). Requests are
 * decoded and results encoded with the library's own codecs; the numbers in them follow
 * simple rules (fakeapi_tinker.h), because what tests check is the traffic. */
#include <math.h>
#include <string.h>

#include "support/fakeapi_tinker_int.h"
#include "wire/path.h"
#include "wire/pb_fwdbwd.h"
#include "wire/pb_output.h"
#include "wire/pb_sample.h"
#include "wire/zstd.h"

#define NAME_MAX_BYTES ((size_t)255)
#define SAMPLE_TOKENS  16 /* without max_tokens */

/* Moves library bytes into the peer's own. */
static fakeapi_bytes keep(tk_buf *buf)
{
    fakeapi_bytes out = {0};
    fakeapi_bytes_put(&out, buf->p, buf->n);
    tk_buf_dispose(buf);
    return out;
}

/* The model of a JSON request and its number; NULL after having answered. */
static tinker_model *need_model(tinker_call *call, const char *id)
{
    tinker_model *model = id != NULL ? tinker_model_find(call->t, id) : NULL;
    if (id != NULL && model == NULL) {
        tinker_reject(call, 404, "Model not found");
    }
    return model;
}

/* ---- forward and forward_backward ---- */

typedef struct batch {
    const char *model_id;
    int64_t seq_id; /* -1 = none */
    bool is_forward;
    size_t n;
    size_t *targets; /* per datum */
    size_t total;
} batch;

static size_t tensor_elements(const tk_tensor *tensor)
{
    if (!tensor->is_sparse) {
        return tensor->n;
    }
    size_t n = 1;
    for (size_t i = 0; i < tensor->shape.n; i++) {
        n *= (size_t)tensor->shape.p[i];
    }
    return n;
}

/* As many targets as the datum has, or as many as its text has tokens. */
static size_t count_targets(const tk_datum *datum)
{
    for (size_t i = 0; i < datum->loss_fn_inputs.n; i++) {
        const tk_named_tensor *input = &datum->loss_fn_inputs.items[i];
        if (tk_str_is(input->name, "target_tokens")) {
            return tensor_elements(&input->tensor);
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < datum->model_input.n; i++) {
        n += datum->model_input.chunks[i].tokens.n;
    }
    return n;
}

static size_t count_json_targets(const tk_json *datum)
{
    const tk_json *inputs = tk_json_get(datum, "loss_fn_inputs");
    return tk_json_len(tk_json_get(tk_json_get(inputs, "target_tokens"), "data"));
}

static void batch_reserve(tinker_call *call, batch *b, size_t n)
{
    b->n = n;
    b->targets = tk_arena_array(&call->arena, n, sizeof(size_t));
    if (b->targets == NULL) {
        fakeapi_die("out of memory");
    }
}

static bool read_proto(tinker_call *call, batch *b, const char *p, size_t n)
{
    tk_err err = TK_ERR_INIT;
    tk_fwdbwd_request request;
    tk_bytes bytes = {(const unsigned char *)p, n};
    if (tk_pb_fwdbwd_decode(&request, &call->arena, bytes, &err) != TINKC_OK) {
        return !tinker_reject_field(call, err.path, err.message);
    }
    tk_str id;
    if (!tk_arena_dup(&call->arena, &id, request.model_id.p, request.model_id.n)) {
        fakeapi_die("out of memory");
    }
    b->model_id = id.p;
    b->seq_id = request.seq_id > 0 ? request.seq_id : -1;
    b->is_forward = request.forward_only;
    batch_reserve(call, b, request.data_n);
    for (size_t i = 0; i < b->n; i++) {
        b->targets[i] = count_targets(&request.data[i]);
    }
    return true;
}

/* The older JSON form (docs/protocol.md, appendix A). */
static bool read_json(tinker_call *call, batch *b, const char *key)
{
    const tk_json *data = tk_json_get(tk_json_get(call->body, key), "data");
    b->model_id = tinker_need_str(call, "model_id");
    if (b->model_id == NULL) {
        return false;
    }
    b->seq_id = tinker_get_int(call->body, "seq_id", -1);
    batch_reserve(call, b, tk_json_len(data));
    for (size_t i = 0; i < b->n; i++) {
        tk_json datum = tk_json_at(data, i);
        b->targets[i] = count_json_targets(&datum);
    }
    return true;
}

static bool read_batch(tinker_call *call, batch *b)
{
    const fakeapi_request *request = call->request;
    if (call->body != NULL) {
        return read_json(call, b, "forward_backward_input");
    }
    const char *coding = fakeapi_header(request, "content-encoding");
    if (coding == NULL || strcmp(coding, "zstd") != 0) {
        return read_proto(call, b, request->body, request->body_n);
    }
    tk_err err = TK_ERR_INIT;
    tk_zstd z;
    tk_buf plain;
    tk_zstd_init(&z);
    tk_buf_init(&plain, FAKEAPI_BODY_MAX_BYTES);
    tk_bytes frame = {(const unsigned char *)request->body, request->body_n};
    bool ok = tk_zstd_decompress(&z, &plain, frame, &err) == TINKC_OK ||
              !tinker_reject_field(call, "", err.message);
    ok = ok && read_proto(call, b, plain.p, plain.n);
    tk_buf_dispose(&plain);
    tk_zstd_dispose(&z);
    return ok;
}

static void put_json_output(fakeapi_bytes *out, const batch *b, double logprob,
                            const tk_num_map *metrics)
{
    fakeapi_bytes_puts(out, "{\"loss_fn_output_type\":\"CrossEntropyLossReturn\","
                            "\"loss_fn_outputs\":[");
    for (size_t i = 0; i < b->n; i++) {
        fakeapi_bytes_puts(out, i > 0 ? ",{\"logprobs\":{\"data\":["
                                      : "{\"logprobs\":{\"data\":[");
        for (size_t k = 0; k < b->targets[i]; k++) {
            fakeapi_bytes_printf(out, "%s%.9g", k > 0 ? "," : "", logprob);
        }
        fakeapi_bytes_printf(out, "],\"dtype\":\"float32\",\"shape\":[%zu]}}",
                             b->targets[i]);
    }
    fakeapi_bytes_puts(out, "],\"metrics\":{");
    for (size_t i = 0; i < metrics->n; i++) {
        fakeapi_bytes_printf(out, "%s\"%s\":%.9g", i > 0 ? "," : "",
                             metrics->items[i].name.p, metrics->items[i].v);
    }
    fakeapi_bytes_puts(out, "}}");
}

static fakeapi_bytes make_proto_output(tinker_call *call, const batch *b, float logprob,
                                       const tk_num_map *metrics)
{
    size_t longest = 0;
    for (size_t i = 0; i < b->n; i++) {
        longest = TK_MAX(longest, b->targets[i]);
    }
    float *values = tk_arena_array(&call->arena, longest, sizeof(float));
    tk_named_tensor *fields = tk_arena_array(&call->arena, b->n, sizeof(*fields));
    tk_tensor_map *maps = tk_arena_array(&call->arena, b->n, sizeof(*maps));
    if (values == NULL || fields == NULL || maps == NULL) {
        fakeapi_die("out of memory");
    }
    for (size_t i = 0; i < longest; i++) {
        values[i] = logprob;
    }
    for (size_t i = 0; i < b->n; i++) {
        fields[i] = (tk_named_tensor){
            .name = TK_STR("logprobs"),
            .tensor = {.dtype = TK_DTYPE_F32, .data = values, .n = b->targets[i]}};
        maps[i] = (tk_tensor_map){&fields[i], 1};
    }
    tk_fwdbwd_output output = {.loss_fn_output_type = TK_STR("CrossEntropyLossReturn"),
                               .loss_fn_outputs = maps,
                               .loss_fn_outputs_n = b->n,
                               .metrics = *metrics};
    tk_buf buf;
    tk_buf_init(&buf, TK_BODY_MAX_BYTES);
    tk_err err = TK_ERR_INIT;
    if (tk_pb_output_encode(&buf, &output, &err) != TINKC_OK) {
        fakeapi_die("cannot encode a result: %s", err.message);
    }
    return keep(&buf);
}

static tk_named_num named_loss(const char *name, double mean, size_t tokens)
{
    const char *text = name != NULL ? name : "loss:sum";
    bool is_mean = strstr(text, ":mean") != NULL || strstr(text, ":avg") != NULL;
    return (tk_named_num){tk_str_of(text), is_mean ? mean : mean * (double)tokens};
}

static bool run_batch(tinker_call *call, batch *b)
{
    tinker_model *model = need_model(call, b->model_id);
    if (model == NULL) {
        return true;
    }
    call->kind = b->is_forward ? "forward" : "forward_backward";
    tinker_work work = {.scope = model->id, .number = b->seq_id, .datums = b->n};
    if (tinker_begin(call, &work)) {
        return true;
    }
    for (size_t i = 0; i < b->n; i++) {
        b->total += b->targets[i];
    }
    float logprob = FAKEAPI_TINKER_LOGPROB / (float)(1 + model->steps);
    tk_named_num loss = named_loss(call->t->options.loss, -(double)logprob, b->total);
    const tk_num_map usual = {&loss, loss.name.n > 0 ? 1 : 0};
    const tk_num_map *own = call->t->options.metrics;
    put_json_output(&work.json, b, (double)logprob, own != NULL ? own : &usual);
    if (call->t->options.nan_after > 0 && model->steps >= call->t->options.nan_after) {
        logprob = NAN;
    }
    work.proto = make_proto_output(call, b, logprob, own != NULL ? own : &usual);
    model->requests++;
    return tinker_submit(call, &work);
}

bool tinker_forward_backward(tinker_call *call)
{
    batch b = {.seq_id = -1};
    return read_batch(call, &b) ? run_batch(call, &b) : true;
}

bool tinker_forward(tinker_call *call)
{
    batch b = {.seq_id = -1, .is_forward = true};
    if (call->body == NULL) {
        return tinker_reject_field(call, "", "an object is required");
    }
    return read_json(call, &b, "forward_input") ? run_batch(call, &b) : true;
}

/* ---- optim_step, save, load ---- */

/* Model and number of a JSON request; false after having answered. */
static bool begin_json(tinker_call *call, tinker_model **model, tinker_work *work)
{
    *model = need_model(call, tinker_need_str(call, "model_id"));
    if (*model == NULL) {
        return false;
    }
    work->scope = (*model)->id;
    work->number = tinker_get_int(call->body, "seq_id", -1);
    return !tinker_begin(call, work);
}

bool tinker_optim_step(tinker_call *call)
{
    tinker_model *model = NULL;
    tinker_work work = {0};
    if (!begin_json(call, &model, &work)) {
        return true;
    }
    if (!call->t->options.any_order || tinker_is_fetched(call->t, model->id)) {
        model->steps++;
    }
    model->requests++;
    fakeapi_bytes_printf(&work.json, "{\"metrics\":{\"steps\":%zu}}", model->steps);
    return tinker_submit(call, &work);
}

static bool is_name(const char *text)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789_-";
    size_t n = strspn(text, allowed);
    return n > 0 && n <= NAME_MAX_BYTES && text[n] == '\0';
}

/* Adds the checkpoint; NULL after having answered. */
static const char *save(tinker_call *call, const tinker_model *model, const char *folder,
                        const char *name)
{
    if (!is_name(name)) {
        tinker_reject_field(call, "path", "letters, digits, _ and -, at most 255");
        return NULL;
    }
    fakeapi_bytes path = {0};
    const char *scheme = call->t->options.scheme;
    fakeapi_bytes_printf(&path, "%s%s/%s%s%s", scheme != NULL ? scheme : "tinker://",
                         model->id, folder, folder[0] != '\0' ? "/" : "", name);
    (void)fakeapi_bytes_cstr(&path);
    const tinker_checkpoint *old = tinker_checkpoint_find(call->t, path.p);
    if (old != NULL) {
        fakeapi_bytes_dispose(&path);
        if (!tinker_get_bool(call->body, "overwrite", false)) {
            tinker_reject(call, 409, "Checkpoint exists");
            return NULL;
        }
        return old->path;
    }
    tinker_checkpoint *checkpoint = fakeapi_alloc(sizeof(*checkpoint));
    *checkpoint = (tinker_checkpoint){path.p, model};
    tinker_table_add(&call->t->checkpoints, checkpoint);
    return checkpoint->path;
}

static bool save_named(tinker_call *call, tinker_model *model, tinker_work *work,
                       const char *folder)
{
    const char *name = tinker_need_str(call, "path");
    const char *path = name != NULL ? save(call, model, folder, name) : NULL;
    if (path == NULL) {
        return true;
    }
    model->requests++;
    fakeapi_bytes_puts(&work->json, "{\"path\":");
    tinker_put_str(&work->json, path);
    fakeapi_bytes_printf(&work->json, ",\"type\":\"%s\"}", call->kind);
    return tinker_submit(call, work);
}

bool tinker_save_weights(tinker_call *call)
{
    tinker_model *model = NULL;
    tinker_work work = {0};
    bool is_new = begin_json(call, &model, &work);
    return is_new ? save_named(call, model, &work, "weights") : true;
}

bool tinker_save_external(tinker_call *call)
{
    tinker_model *model = NULL;
    tinker_work work = {0};
    bool is_new = begin_json(call, &model, &work);
    return is_new ? save_named(call, model, &work, "external_weights") : true;
}

/* The session part of "<session>:train:<n>", in the call's arena. */
static const char *session_of(tinker_call *call, const tinker_model *model)
{
    tk_str id;
    size_t n = (size_t)(strstr(model->id, ":train:") - model->id);
    if (!tk_arena_dup(&call->arena, &id, model->id, n)) {
        fakeapi_die("out of memory");
    }
    return id.p;
}

bool tinker_save_for_sampler(tinker_call *call)
{
    tinker_model *model = NULL;
    tinker_work work = {0};
    if (!begin_json(call, &model, &work)) {
        return true;
    }
    if (tinker_get_str(call->body, "path") != NULL) {
        const char *kind = call->t->options.sampler_kind;
        return save_named(call, model, &work, kind != NULL ? kind : "sampler_weights");
    }
    int64_t number = tinker_get_int(call->body, "sampling_session_seq_id", -1);
    if (number < 0) {
        return tinker_reject_field(call, "path", "path or sampling_session_seq_id");
    }
    model->requests++;
    const tinker_sampler *sampler = tinker_sampler_add(call->t, session_of(call, model),
                                                       number, model->base_model, NULL);
    fakeapi_bytes_puts(&work.json, "{\"sampling_session_id\":");
    tinker_put_str(&work.json, sampler->id);
    fakeapi_bytes_puts(&work.json, ",\"type\":\"save_weights_for_sampler\"}");
    return tinker_submit(call, &work);
}

static bool submit_load(tinker_call *call, tinker_model *model, tinker_work *work,
                        const char *path)
{
    model->requests++;
    fakeapi_bytes_puts(&work->json, "{\"type\":\"load_weights\",\"path\":");
    tinker_put_str(&work->json, path);
    fakeapi_bytes_puts(&work->json, ",\"model_id\":");
    tinker_put_str(&work->json, model->id);
    fakeapi_bytes_puts(&work->json, "}");
    return tinker_submit(call, work);
}

/* The model is made by the load itself; its id is computed, not returned
 * (docs/protocol.md §2.3). */
static bool create_via_load(tinker_call *call, const tinker_checkpoint *from)
{
    const char *session = tinker_need_str(call, "session_id");
    if (session == NULL) {
        return true;
    }
    if (!tinker_has_session(call->t, session)) {
        return tinker_reject(call, 404, "Session not found");
    }
    int64_t number = tinker_get_int(call->body, "model_seq_id", -1);
    if (number < 0) {
        return tinker_reject_field(call, "model_seq_id", "an integer from 0 is required");
    }
    fakeapi_bytes id = {0};
    fakeapi_bytes_printf(&id, "%s:train:%lld", session, (long long)number);
    tinker_work work = {.scope = fakeapi_bytes_cstr(&id), .number = 0};
    if (!tinker_begin(call, &work)) {
        tinker_model *model =
            tinker_model_add(call->t, session, number, from->model->base_model);
        model->rank = from->model->rank;
        (void)submit_load(call, model, &work, from->path);
    }
    fakeapi_bytes_dispose(&id);
    return true;
}

bool tinker_load_weights(tinker_call *call)
{
    const char *text = tinker_need_str(call, "path");
    tk_path path;
    if (text == NULL) {
        return true;
    }
    if (call->t->options.load_answer != NULL) {
        fakeapi_bytes_puts(&call->out->body, call->t->options.load_answer);
        return true;
    }
    if (tk_path_parse(&path, tk_str_of(text), NULL) != TINKC_OK ||
        path.kind != TK_PATH_WEIGHTS) {
        return tinker_reject(call, 400, "not a path of training weights");
    }
    const tinker_checkpoint *from = tinker_checkpoint_find(call->t, text);
    if (from == NULL) {
        return tinker_reject(call, 404, "Checkpoint not found");
    }
    if (tinker_get_str(call->body, "model_id") == NULL) {
        return create_via_load(call, from);
    }
    tinker_model *model = NULL;
    tinker_work work = {0};
    if (!begin_json(call, &model, &work)) {
        return true;
    }
    if (model->requests > 0) {
        return tinker_reject(call, 400, "LoadWeights must be the first request");
    }
    return submit_load(call, model, &work, text);
}

/* ---- sampling ---- */

typedef struct draw {
    size_t sequences, length, prompt;
    int32_t last; /* token of the prompt */
    bool wants_prompt_logprobs;
    size_t scored; /* tokens of the prompt with a logprob: the last ones */
} draw;

static void read_draw(tinker_call *call, draw *d)
{
    const tk_json *chunks = tk_json_get(tk_json_get(call->body, "prompt"), "chunks");
    for (size_t i = 0; i < tk_json_len(chunks); i++) {
        tk_json chunk = tk_json_at(chunks, i);
        const tk_json *tokens = tk_json_get(&chunk, "tokens");
        size_t n = tk_json_len(tokens);
        int64_t last = 0;
        tk_json value = n > 0 ? tk_json_at(tokens, n - 1) : (tk_json){0};
        d->last = tk_json_to_i64(&value, &last) ? (int32_t)last : d->last;
        d->prompt += n;
    }
    const tk_json *params = tk_json_get(call->body, "sampling_params");
    int64_t length = tinker_get_int(params, "max_tokens", SAMPLE_TOKENS);
    int64_t sequences = tinker_get_int(call->body, "num_samples", 1);
    d->length = (size_t)TK_MIN(TK_MAX(length, 0), 1 << 20);
    d->sequences = (size_t)TK_MIN(TK_MAX(sequences, 0), 1024);
    d->wants_prompt_logprobs = tinker_get_bool(call->body, "prompt_logprobs", false) ||
                               tinker_get_int(call->body, "topk_prompt_logprobs", 0) > 0;
    d->wants_prompt_logprobs &= !call->t->options.no_prompt_logprobs;
    d->scored = d->prompt - (call->t->options.short_logprobs && d->prompt > 0);
}

static void put_json_sample(fakeapi_bytes *out, const draw *d, const int32_t *tokens)
{
    fakeapi_bytes_puts(out, "{\"type\":\"sample\",\"sequences\":[");
    for (size_t i = 0; i < d->sequences; i++) {
        fakeapi_bytes_puts(out, i > 0 ? ",{\"tokens\":[" : "{\"tokens\":[");
        for (size_t k = 0; k < d->length; k++) {
            fakeapi_bytes_printf(out, "%s%d", k > 0 ? "," : "", tokens[k]);
        }
        fakeapi_bytes_puts(out, "],\"logprobs\":[");
        for (size_t k = 0; k < d->length; k++) {
            fakeapi_bytes_puts(out, k > 0 ? ",-0.5" : "-0.5");
        }
        fakeapi_bytes_puts(out, "],\"stop_reason\":\"length\"}");
    }
    fakeapi_bytes_puts(out, "],\"prompt_logprobs\":");
    fakeapi_bytes_puts(out, d->wants_prompt_logprobs ? "[" : "null");
    for (size_t k = 0; d->wants_prompt_logprobs && k < d->scored; k++) {
        bool is_first = k == 0 && d->scored == d->prompt;
        fakeapi_bytes_puts(out, k > 0 ? ",-0.5" : (is_first ? "null" : "-0.5"));
    }
    fakeapi_bytes_puts(out, d->wants_prompt_logprobs ? "]" : "");
    fakeapi_bytes_puts(out, ",\"topk_prompt_logprobs\":null}");
}

static void make_sample(tinker_call *call, const draw *d, tinker_work *work)
{
    size_t most = TK_MAX(d->length, d->prompt);
    int32_t *tokens = tk_arena_array(&call->arena, d->length, sizeof(int32_t));
    float *logprobs = tk_arena_array(&call->arena, most, sizeof(float));
    tk_sequence *sequences =
        tk_arena_array(&call->arena, d->sequences, sizeof(*sequences));
    if (tokens == NULL || logprobs == NULL || sequences == NULL) {
        fakeapi_die("out of memory");
    }
    for (size_t i = 0; i < d->length; i++) {
        tokens[i] = (int32_t)((uint32_t)d->last + 1u + (uint32_t)i);
    }
    for (size_t i = 0; i < most; i++) {
        logprobs[i] = -0.5f;
    }
    for (size_t i = 0; i < d->sequences; i++) {
        sequences[i] = (tk_sequence){.stop_reason = TK_STOP_LENGTH,
                                     .tokens = {tokens, d->length},
                                     .has_logprobs = true,
                                     .logprobs = {logprobs, d->length}};
    }
    tk_sample_response response = {.sequences = sequences,
                                   .sequences_n = d->sequences,
                                   .has_prompt_logprobs = d->wants_prompt_logprobs,
                                   .prompt_logprobs = {logprobs, d->scored}};
    tk_buf buf;
    tk_buf_init(&buf, TK_BODY_MAX_BYTES);
    tk_err err = TK_ERR_INIT;
    if (tk_pb_sample_encode(&buf, &response, &err) != TINKC_OK) {
        fakeapi_die("cannot encode a sample: %s", err.message);
    }
    work->proto = keep(&buf);
    put_json_sample(&work->json, d, tokens);
}

bool tinker_sample(tinker_call *call)
{
    /* Without a session the request names a checkpoint or a base model. */
    const char *path = tinker_get_str(call->body, "model_path");
    const char *id = path != NULL ? path : tinker_get_str(call->body, "base_model");
    if (id == NULL) {
        id = tinker_need_str(call, "sampling_session_id");
        if (id == NULL) {
            return true;
        }
        if (tinker_sampler_find(call->t, id) == NULL) {
            return tinker_reject(call, 404, "Sampling session not found");
        }
    }
    call->kind = "sample";
    tinker_work work = {.scope = id, .number = tinker_get_int(call->body, "seq_id", -1)};
    if (tinker_begin(call, &work)) {
        return true;
    }
    draw d = {0};
    read_draw(call, &d);
    make_sample(call, &d, &work);
    return tinker_submit(call, &work);
}
