/* See hostile_seeds.h. */
#include "support/hostile_seeds.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/mem.h"
#include "wire/msg_external.h"
#include "wire/msg_rest.h"
#include "wire/msg_sample.h"
#include "wire/msg_train.h"
#include "wire/msg_value.h"
#include "wire/schemas.h"

#define FILE_MAX_BYTES (4 * TK_MIB)
#define PATH_MAX_BYTES (4 * TK_KIB)
#define PROTOBUF       "application/x-protobuf"
#define JSON           "application/json"

static void die(const char *what, const char *name)
{
    fprintf(stderr, "hostile: %s: %s\n", what, name);
    exit(1);
}

/* ---- what a type answers ---- */

/* "POST /api/v1/x/{id}" as a key. */
static size_t key_of_call(const char *call)
{
    char path[128];
    const char *at = strchr(call, ' ');
    if (at == NULL) {
        return HOSTILE_NO_KEY;
    }
    (void)snprintf(path, sizeof(path), "%s", at + 1);
    tk_http_method method = TK_HTTP_GET;
    while (method < TK_HTTP_DELETE &&
           strncmp(call, tk_http_method_name(method), (size_t)(at - call)) != 0) {
        method++;
    }
    return hostile_key_of(method, path);
}

static bool is_submit(size_t key)
{
    static const tk_endpoint_id ids[] = {
        TK_EP_CREATE_MODEL,       TK_EP_UNLOAD_MODEL, TK_EP_FORWARD_BACKWARD,
        TK_EP_OPTIM_STEP,         TK_EP_SAVE_WEIGHTS, TK_EP_SAVE_FOR_SAMPLER,
        TK_EP_LOAD_WEIGHTS,       TK_EP_ASAMPLE,      TK_EP_SAVE_EXTERNAL,
        TK_EP_CREATE_CUSTOM_LOSS, TK_EP_FORWARD};
    for (size_t i = 0; i < TK_ARRAY_LEN(ids); i++) {
        if (key == ids[i]) {
            return true;
        }
    }
    return false;
}

static void mark_all(hostile_source *source, bool (*wanted)(size_t key))
{
    for (size_t key = 0; key < HOSTILE_KEYS; key++) {
        source->keys[key] |= wanted(key);
    }
}

static bool is_poll(size_t key)
{
    return key >= TK_EP_COUNT;
}

static bool is_any(size_t key)
{
    return key != TK_EP_RETRIEVE_FUTURE;
}

/* The results of futures, and the answers of calls. */
static bool mark(hostile_source *source, const tk_schemas_row *row)
{
    bool found = false;
    for (size_t t = 0; row->direction == TK_DIR_RESULT && t < TK_FUTURE_TYPES; t++) {
        if (tk_future_info_of((tk_future_type)t)->result == row->schema) {
            source->keys[HOSTILE_POLL(t)] = found = true;
        }
    }
    source->seed.schema = row->schema;
    size_t key = found ? HOSTILE_NO_KEY : key_of_call(row->call);
    if (row->schema->name != NULL && strcmp(row->schema->name, "UntypedAPIFuture") == 0) {
        mark_all(source, is_submit);
        return true;
    }
    if (key == HOSTILE_POLL(0)) {
        mark_all(source, is_poll);
        return true;
    }
    if (key != HOSTILE_NO_KEY) {
        source->keys[key] = found = true;
    }
    source->keys[TK_EP_RUN_CHECKPOINTS] |= key == TK_EP_USER_CHECKPOINTS;
    source->keys[TK_EP_SEARCH_CHECKPOINTS] |= key == TK_EP_USER_CHECKPOINTS;
    return found;
}

static bool mark_type(hostile_source *source, const char *type)
{
    static const char internal[] = "ResponseInternal";
    size_t n = strlen(type);
    if (n > sizeof(internal) &&
        strcmp(type + n - (sizeof(internal) - 1), internal) == 0) {
        n -= strlen("Internal"); /* the name that travels */
    }
    for (size_t i = 0; i < tk_schemas_n; i++) {
        const char *name = tk_schemas[i].schema->name;
        if (strlen(name) == n && memcmp(name, type, n) == 0 &&
            tk_schemas[i].direction != TK_DIR_REQUEST && mark(source, &tk_schemas[i])) {
            return true;
        }
    }
    return false;
}

/* ---- the list ---- */

static hostile_source *add(hostile_seeds *seeds, const char *name)
{
    if (seeds->n == seeds->capacity) {
        seeds->capacity = seeds->capacity * 2 + 64;
        seeds->items =
            tk_realloc_array(seeds->items, seeds->capacity, sizeof(*seeds->items));
        if (seeds->items == NULL) {
            die("no memory", name);
        }
    }
    hostile_source *source = &seeds->items[seeds->n++];
    memset(source, 0, sizeof(*source));
    (void)snprintf(source->name, sizeof(source->name), "%s", name);
    source->seed.status = 200;
    source->seed.type = JSON;
    return source;
}

static tk_str keep(hostile_seeds *seeds, tk_str text)
{
    char *p = tk_arena_alloc(&seeds->arena, text.n + 1);
    if (p == NULL) {
        die("no memory", "seed");
    }
    memcpy(p, text.p, text.n);
    p[text.n] = '\0';
    return (tk_str){p, text.n};
}

static bool is_same(const hostile_source *a, const hostile_source *b)
{
    return a->seed.status == b->seed.status && a->seed.wrap == b->seed.wrap &&
           strcmp(a->seed.type, b->seed.type) == 0 &&
           tk_str_eq(a->seed.body, b->seed.body) &&
           memcmp(a->keys, b->keys, sizeof(a->keys)) == 0;
}

/* The table of an answer of a poll, by what tk_future_classify looks at. */
static const tk_schema *schema_of_poll(const tk_json *json)
{
    const tk_json *type = tk_json_get(json, "type");
    return type != NULL && tk_str_is(type->as.string, "try_again") ? &tk_msg_try_again
           : tk_json_get(json, "status") != NULL ? &tk_msg_complete_metadata
           : tk_json_get(json, "error") != NULL  ? &tk_msg_request_failed
                                                 : &tk_msg_optim_step_result;
}

/* Reads the body as a tree, if it is one; forgets what the list has already. */
static void settle(hostile_seeds *seeds, hostile_source *source, tk_str body)
{
    source->seed.body = keep(seeds, body);
    if (source->seed.form != HOSTILE_PROTOBUF) {
        bool is_json = tk_json_parse(&source->seed.json, &seeds->arena, body.p, body.n,
                                     NULL, NULL) == TINKC_OK;
        source->seed.form = is_json ? HOSTILE_JSON : HOSTILE_TEXT;
        bool is_outcome = source->is_general && !source->keys[TK_EP_CLIENT_CONFIG];
        if (is_json && is_outcome && source->seed.json->type == TK_JSON_OBJECT &&
            (source->seed.status == 200 || source->seed.status == 408)) {
            source->seed.schema = schema_of_poll(source->seed.json);
        }
    }
    source->changes = hostile_mutate_count(&source->seed);
    for (size_t i = 0; i + 1 < seeds->n; i++) {
        if (is_same(&seeds->items[i], source)) {
            seeds->n--;
            return;
        }
    }
}

/* ---- files ---- */

static const tk_json *load(hostile_seeds *seeds, const char *path)
{
    char block[4096];
    tk_buf text;
    const tk_json *json = NULL;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        die("cannot open", path);
    }
    tk_buf_init(&text, FILE_MAX_BYTES);
    for (size_t n; (n = fread(block, 1, sizeof(block), file)) > 0;) {
        tk_buf_put(&text, block, n);
    }
    (void)fclose(file);
    if (tk_json_parse(&json, &seeds->arena, text.p, text.n, NULL, NULL) != TINKC_OK) {
        die("not JSON", path);
    }
    tk_buf_dispose(&text);
    return json;
}

static const char *text_of(const tk_json *object, const char *key)
{
    const tk_json *value = tk_json_get(object, key);
    return value != NULL && value->type == TK_JSON_STRING ? value->as.string.p : NULL;
}

/* responses/json/<Type>.json */
static void add_typed(hostile_seeds *seeds, const tk_json *file, const char *version)
{
    const char *type = text_of(file, "type");
    const tk_json *answers = tk_json_get(file, "answers");
    for (size_t i = 0; type != NULL && i < tk_json_len(answers); i++) {
        char name[96];
        tk_json answer = tk_json_at(answers, i);
        const tk_json *body = tk_json_get(&answer, "body");
        (void)snprintf(name, sizeof(name), "%s/%s#%zu", version, type, i);
        hostile_source *source = add(seeds, name);
        bool is_part = strcmp(type, "Checkpoint") == 0;
        bool is_known = is_part || mark_type(source, type);
        if (is_part) {
            source->seed.schema = &tk_msg_checkpoints_response;
            source->keys[TK_EP_RUN_CHECKPOINTS] = true;
            source->keys[TK_EP_USER_CHECKPOINTS] = true;
        }
        if (!is_known || body == NULL) {
            seeds->n--;
            if (i == 0) {
                size_t at = strlen(seeds->unused);
                (void)snprintf(seeds->unused + at, sizeof(seeds->unused) - at, " %s",
                               type);
            }
            continue;
        }
        tk_buf text;
        tk_json_writer writer;
        tk_buf_init(&text, FILE_MAX_BYTES);
        tk_buf_puts(&text, is_part ? "{\"checkpoints\":[" : "");
        tk_json_writer_init(&writer, &text);
        tk_json_put_value(&writer, body);
        tk_buf_puts(&text, is_part ? "]}" : "");
        settle(seeds, source, tk_buf_str(&text));
        tk_buf_dispose(&text);
    }
}

/* responses/sample_response.json and forward_backward_output.json */
static void add_protobuf(hostile_seeds *seeds, const tk_json *file, const char *version)
{
    const char *message = text_of(file, "message");
    const tk_json *answers = tk_json_get(file, "answers");
    bool is_sample = message != NULL && strcmp(message, "SampleResponse") == 0;
    for (size_t i = 0; i < tk_json_len(answers); i++) {
        char name[96];
        tk_json answer = tk_json_at(answers, i);
        const tk_json *coded = tk_json_get(&answer, "protobuf_base64");
        size_t n = coded != NULL ? tk_base64_decoded_size(coded->as.string) : 0;
        char *bytes = tk_arena_alloc(&seeds->arena, n + 1);
        if (coded == NULL || bytes == NULL ||
            tk_base64_decode(bytes, coded->as.string, NULL) != TINKC_OK) {
            die("no bytes", message);
        }
        (void)snprintf(name, sizeof(name), "%s/%s#%zu", version, message, i);
        hostile_source *source = add(seeds, name);
        source->seed.type = PROTOBUF;
        source->seed.form = HOSTILE_PROTOBUF;
        source->seed.proto = is_sample ? &newer_pb_sample : &newer_pb_output;
        source->keys[HOSTILE_POLL(TK_FUTURE_SAMPLE)] = is_sample;
        source->keys[HOSTILE_POLL(TK_FUTURE_FORWARD)] = !is_sample;
        source->keys[HOSTILE_POLL(TK_FUTURE_FORWARD_BACKWARD)] = !is_sample;
        settle(seeds, source, (tk_str){bytes, n});
    }
}

/* One {"status","content_type","body"}. */
static void add_status(hostile_seeds *seeds, const tk_json *answer, const char *name,
                       bool (*wanted)(size_t key))
{
    int64_t status = 0;
    const tk_json *body = tk_json_get(answer, "body");
    const tk_json *coded = tk_json_get(answer, "status");
    const char *type = text_of(answer, "content_type");
    if (body == NULL || body->type != TK_JSON_STRING || coded == NULL ||
        !tk_json_to_i64(coded, &status)) {
        die("not an answer", name);
    }
    hostile_source *source = add(seeds, name);
    source->seed.status = (int)status;
    source->seed.type = type != NULL ? type : "";
    source->is_general = true;
    mark_all(source, wanted);
    settle(seeds, source, body->as.string);
}

static void add_errors(hostile_seeds *seeds, const tk_json *file, const char *version)
{
    const tk_json *answers = tk_json_get(file, "answers");
    for (size_t i = 0; i < tk_json_len(answers); i++) {
        char name[96];
        tk_json item = tk_json_at(answers, i);
        (void)snprintf(name, sizeof(name), "%s/status_%s", version,
                       text_of(&item, "name"));
        add_status(seeds, tk_json_get(&item, "answer"), name, is_any);
    }
}

static void add_outcomes(hostile_seeds *seeds, const tk_json *file, const char *version)
{
    const tk_json *outcomes = tk_json_get(file, "outcomes");
    for (size_t i = 0; i < tk_json_len(outcomes); i++) {
        tk_json item = tk_json_at(outcomes, i);
        const tk_json *answers = tk_json_get(&item, "answers");
        for (size_t j = 0; j < tk_json_len(answers); j++) {
            char name[96];
            tk_json answer = tk_json_at(answers, j);
            (void)snprintf(name, sizeof(name), "%s/future_%s#%zu", version,
                           text_of(&item, "name"), j);
            add_status(seeds, &answer, name, is_poll);
        }
    }
}

/* ---- what no recording has ---- */

static void add_unrecorded(hostile_seeds *seeds)
{
    static const struct {
        const char *name, *type, *body;
        hostile_wrap wrap;
        size_t keys[8]; /* up to the first 0 */
        const tk_schema *schema;
    } rows[] = {
        {"trace_pending",
         JSON,
         "{\"status\":\"pending\"}",
         HOSTILE_BARE,
         {TK_EP_TRACE_EXPORT},
         &tk_msg_trace_export_response},
        {"trace_ready",
         JSON,
         "{\"status\":\"ready\",\"url\":\"https://x.invalid/t\"}",
         HOSTILE_BARE,
         {TK_EP_TRACE_EXPORT},
         &tk_msg_trace_export_response},
        {"trace_failed",
         JSON,
         "{\"status\":\"failed\",\"error\":\"no\"}",
         HOSTILE_BARE,
         {TK_EP_TRACE_EXPORT},
         &tk_msg_trace_export_response},
        {"archive",
         JSON,
         "{\"url\":\"https://x.invalid\",\"expires\":\"2026-01-02T03:04:05Z\"}",
         HOSTILE_BARE,
         {TK_EP_ARCHIVE},
         &tk_msg_archive_response},
        {"no_result",
         JSON,
         "{\"message\":\"ok\"}",
         HOSTILE_BARE,
         {TK_EP_CHECKPOINT, TK_EP_PUBLISH, TK_EP_UNPUBLISH, TK_EP_TTL, TK_EP_PROJECT,
          TK_EP_CANCEL_FUTURE, TK_EP_FINISH_SESSION},
         NULL},
        {"event",
         "text/event-stream",
         "{\"token\":\"a\",\"token_id\":7,\"index\":0,\"logprob\":-0.5}",
         HOSTILE_EVENT,
         {TK_EP_STREAM_SAMPLE},
         &tk_msg_stream_event},
        {"event_error",
         "text/event-stream",
         "{\"error\":\"no\"}",
         HOSTILE_EVENT,
         {TK_EP_STREAM_SAMPLE},
         &tk_msg_stream_event},
        {"claims",
         JSON,
         "{\"sub\":\"urn:u\",\"email\":\"a@b\",\"iss\":\"passport-x\",\"exp\":1767229200}",
         HOSTILE_TOKEN,
         {TK_EP_AUTH_TOKEN},
         NULL},
        {"sample_in_json",
         JSON,
         "{\"sequences\":[{\"stop_reason\":\"stop\",\"tokens\":[7],\"logprobs\":[-0.5]}],"
         "\"type\":\"sample\",\"prompt_logprobs\":[null,-1.0],"
         "\"topk_prompt_logprobs\":[null,[[1,-0.5]]]}",
         HOSTILE_BARE,
         {HOSTILE_POLL(TK_FUTURE_SAMPLE)},
         &tk_msg_sample_response},
        {"output_in_json",
         JSON,
         "{\"loss_fn_output_type\":\"TorchLossReturn\",\"loss_fn_outputs\":[{\"logprobs\":"
         "{\"data\":[-0.5,-1.0,-2.0],\"shape\":[3],\"dtype\":\"float32\"}}],"
         "\"metrics\":{\"loss:sum\":1.5}}",
         HOSTILE_BARE,
         {HOSTILE_POLL(TK_FUTURE_FORWARD), HOSTILE_POLL(TK_FUTURE_FORWARD_BACKWARD)},
         &tk_msg_fwdbwd_output},
        {"completion",
         JSON,
         "{\"completions\":[{\"request_id\":\"r\",\"state\":\"finished\","
         "\"response_payload_uncompressed_size\":64}],\"cursor\":1}",
         HOSTILE_BARE,
         {TK_EP_RETRIEVE_FUTURES},
         &tk_msg_retrieve_futures_response},
        {"claims_past",
         JSON,
         "{\"sub\":\"u\",\"exp\":1}",
         HOSTILE_TOKEN,
         {TK_EP_AUTH_TOKEN},
         NULL},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rows); i++) {
        hostile_source *source = add(seeds, rows[i].name);
        source->seed.type = rows[i].type;
        source->seed.wrap = rows[i].wrap;
        source->seed.schema = rows[i].schema;
        for (size_t j = 0; j < TK_ARRAY_LEN(rows[i].keys) && rows[i].keys[j] != 0; j++) {
            source->keys[rows[i].keys[j]] = true;
        }
        settle(seeds, source, tk_str_of(rows[i].body));
    }
}

/* ---- all of it ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

static void add_file(hostile_seeds *seeds, const char *path, const char *version)
{
    const tk_json *file = load(seeds, path);
    if (tk_json_get(file, "type") != NULL) {
        add_typed(seeds, file, version);
    } else if (tk_json_get(file, "message") != NULL) {
        add_protobuf(seeds, file, version);
    } else if (tk_json_get(file, "outcomes") != NULL) {
        add_outcomes(seeds, file, version);
    } else {
        add_errors(seeds, file, version);
    }
}

/* In the order of the names, so that a number means the same everywhere. */
static void each_entry(hostile_seeds *seeds, const char *directory, const char *version,
                       void (*fn)(hostile_seeds *seeds, const char *path,
                                  const char *name, const char *version))
{
    struct dirent **list = NULL;
    int n = scandir(directory, &list, NULL, alphasort);
    if (n < 0) {
        die("cannot open", directory);
    }
    for (int i = 0; i < n; i++) {
        tk_buf path;
        tk_buf_init(&path, PATH_MAX_BYTES);
        tk_buf_printf(&path, "%s/%s", directory, list[i]->d_name);
        const char *text = tk_buf_cstr(&path);
        if (text == NULL) {
            die("no memory, or too long", directory);
        }
        fn(seeds, text, list[i]->d_name, version);
        tk_buf_dispose(&path);
        free(list[i]);
    }
    free(list);
}

static void see_file(hostile_seeds *seeds, const char *path, const char *name,
                     const char *version)
{
    if (strcmp(name, "json") == 0) {
        each_entry(seeds, path, version, see_file);
    } else if (ends_with(name, ".json")) {
        add_file(seeds, path, version);
    }
}

static void see_responses(hostile_seeds *seeds, const char *path, const char *name,
                          const char *version)
{
    if (strcmp(name, "responses") == 0) {
        each_entry(seeds, path, version, see_file);
    }
}

static void see_version(hostile_seeds *seeds, const char *path, const char *name,
                        const char *version)
{
    (void)version;
    if (name[0] >= '0' && name[0] <= '9') {
        each_entry(seeds, path, name, see_responses);
    }
}

void hostile_seeds_load(hostile_seeds *seeds, const char *directory)
{
    memset(seeds, 0, sizeof(*seeds));
    tk_arena_init(&seeds->arena, 0);
    add_unrecorded(seeds);
    each_entry(seeds, directory, NULL, see_version);
}

void hostile_seeds_dispose(hostile_seeds *seeds)
{
    tk_free(seeds->items);
    tk_arena_dispose(&seeds->arena);
}
