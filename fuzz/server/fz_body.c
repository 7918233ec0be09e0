/* Bodies of requests from the message tables of src/wire, and bodies that are wrong in
 * one place. Values are made by the kind of the row; ids, names and numbers that mean
 * something are chosen by their key, so that most bodies pass the first checks and reach
 * the work. */
#include <string.h>

#include "base/mem.h"
#include "fz.h"

#define DEPTH_MAX 12

typedef struct maker {
    tk_json_writer w;
    fz_client *client;
    fz_ids *ids;
    const tk_schema *message; /* the outermost */
    int depth;
} maker;

static void put_text(maker *m, const char *text)
{
    tk_json_put_str(&m->w, tk_str_of(text));
}

static const char *pick(fz_client *client, const char *const *texts, size_t n)
{
    return texts[fz_below(client, n)];
}

#define PICK(client, ...)                                                                \
    pick(client, (const char *const[]){__VA_ARGS__},                                     \
         TK_ARRAY_LEN(((const char *const[]){__VA_ARGS__})))

/* ---- texts and numbers by their key ---- */

static void put_named_text(maker *m, const char *key)
{
    fz_client *c = m->client;
    const fz_ids *ids = m->ids;
    char text[FZ_ID_BYTES + 32];
    bool is_load = strcmp(m->message->name, "LoadWeightsRequest") == 0;
    if (strcmp(key, "session_id") == 0) {
        put_text(m, ids->session);
    } else if (strcmp(key, "model_id") == 0) {
        put_text(m, ids->model);
    } else if (strcmp(key, "sampling_session_id") == 0) {
        put_text(m, ids->sampler);
    } else if (strcmp(key, "request_id") == 0) {
        put_text(m, ids->future);
    } else if (strcmp(key, "base_model") == 0) {
        put_text(m, FZ_MODEL);
    } else if (strstr(key, "_path") != NULL || (is_load && strcmp(key, "path") == 0)) {
        put_text(m, ids->path);
    } else if (strcmp(key, "loss_fn") == 0) {
        put_text(m, PICK(c, "cross_entropy", "cross_entropy", "importance_sampling",
                         "ppo", "cispo", "dro", "none"));
    } else {
        (void)snprintf(text, sizeof(text), "%s-%u", key, (unsigned)fz_below(c, 8));
        put_text(m, text);
    }
}

static void put_named_int(maker *m, const tk_field *field)
{
    static const struct {
        const char *key;
        int64_t low, high;
    } ranges[] = {
        {"rank", 1, 8},
        {"max_tokens", 1, 6},
        {"num_samples", 1, 3},
        {"ttl_seconds", 60, 100000},
        {"top_k", -1, 20},
        {"topk_prompt_logprobs", 0, 3},
        {"limit", 0, 50},
        {"offset", 0, 5},
        {"topk_sample_logprobs", 0, 3},
        {"prompt_alt_tokens_k", 0, 3},
        {"prompt_logprobs_last_n", 1, 3},
    };
    fz_client *c = m->client;
    fz_ids *ids = m->ids;
    int64_t low = 0, high = 9;
    if (strcmp(field->name, "seq_id") == 0) {
        tk_json_put_i64(&m->w, fz_chance(c, 900) ? ids->seq++ : (int64_t)fz_below(c, 50));
        return;
    }
    if (strcmp(field->name, "model_seq_id") == 0) {
        tk_json_put_i64(&m->w, fz_chance(c, 100) ? ids->model_seq++ : 0);
        return;
    }
    if (strcmp(field->name, "sampling_session_seq_id") == 0) {
        tk_json_put_i64(&m->w, fz_chance(c, 100) ? ids->sampler_seq++ : 0);
        return;
    }
    if (strcmp(field->name, "rank") == 0 && fz_chance(c, 30)) {
        tk_json_put_i64(&m->w, INT64_C(1) << (6 + fz_below(c, 7))); /* to 4096 */
        return;
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(ranges); i++) {
        if (strcmp(ranges[i].key, field->name) == 0) {
            low = ranges[i].low;
            high = ranges[i].high;
        }
    }
    tk_json_put_i64(&m->w, low + (int64_t)fz_below(c, (uint64_t)(high - low + 1)));
}

static void put_named_number(maker *m, const char *key)
{
    bool small = strcmp(key, "learning_rate") == 0 || strcmp(key, "eps") == 0;
    tk_json_put_double(&m->w, small ? 0.001 : 0.5);
}

/* ---- datums: lengths must fit ---- */

static void put_tensor(maker *m, const char *key, bool ints, size_t n)
{
    tk_json_key(&m->w, tk_str_of(key));
    tk_json_begin_object(&m->w);
    tk_json_key(&m->w, TK_STR("data"));
    tk_json_begin_array(&m->w);
    for (size_t i = 0; i < n; i++) {
        if (ints) {
            tk_json_put_i64(&m->w, 5 + (int64_t)fz_below(m->client, 200));
        } else {
            tk_json_put_double(&m->w, (double)fz_below(m->client, 5) / 4);
        }
    }
    tk_json_end_array(&m->w);
    tk_json_key(&m->w, TK_STR("dtype"));
    put_text(m, ints ? "int64" : "float32");
    if (fz_chance(m->client, 500)) {
        tk_json_key(&m->w, TK_STR("shape"));
        tk_json_begin_array(&m->w);
        tk_json_put_i64(&m->w, (int64_t)n);
        tk_json_end_array(&m->w);
    }
    tk_json_end_object(&m->w);
}

static void put_tokens(maker *m, size_t n)
{
    tk_json_begin_object(&m->w);
    tk_json_key(&m->w, TK_STR("chunks"));
    tk_json_begin_array(&m->w);
    tk_json_begin_object(&m->w);
    tk_json_key(&m->w, TK_STR("tokens"));
    tk_json_begin_array(&m->w);
    for (size_t i = 0; i < n; i++) {
        tk_json_put_i64(&m->w, 5 + (int64_t)fz_below(m->client, 200));
    }
    tk_json_end_array(&m->w);
    tk_json_key(&m->w, TK_STR("type"));
    put_text(m, "encoded_text");
    tk_json_end_object(&m->w);
    tk_json_end_array(&m->w);
    tk_json_end_object(&m->w);
}

static void put_datum(maker *m)
{
    size_t n = 1 + (size_t)fz_below(m->client, 6);
    tk_json_begin_object(&m->w);
    tk_json_key(&m->w, TK_STR("loss_fn_inputs"));
    tk_json_begin_object(&m->w);
    put_tensor(m, "target_tokens", true, n);
    put_tensor(m, "weights", false, n);
    if (fz_chance(m->client, 300)) {
        put_tensor(m, "logprobs", false, n);
        put_tensor(m, "advantages", false, n);
    }
    tk_json_end_object(&m->w);
    tk_json_key(&m->w, TK_STR("model_input"));
    put_tokens(m, n);
    tk_json_end_object(&m->w);
}

/* ---- rows ---- */

static void put_schema(maker *m, const tk_schema *schema);

static void put_ints(maker *m)
{
    size_t n = (size_t)fz_below(m->client, 5);
    tk_json_begin_array(&m->w);
    for (size_t i = 0; i < n; i++) {
        tk_json_put_i64(&m->w, (int64_t)fz_below(m->client, 100));
    }
    tk_json_end_array(&m->w);
}

/* Maps and lists of one or two entries. */
static void put_many(maker *m, const tk_field *field)
{
    bool is_map = field->kind == TK_KIND_STR_MAP || field->kind == TK_KIND_NUM_MAP ||
                  field->kind == TK_KIND_MSG_MAP;
    size_t n = 1 + (size_t)fz_below(m->client, 2);
    if (is_map) {
        tk_json_begin_object(&m->w);
    } else {
        tk_json_begin_array(&m->w);
    }
    for (size_t i = 0; i < n; i++) {
        if (is_map) {
            tk_json_key(&m->w, tk_str_of(i == 0 ? "a" : "b"));
        }
        if (field->sub != NULL) {
            put_schema(m, field->sub);
        } else if (field->kind == TK_KIND_NUM_MAP) {
            tk_json_put_double(&m->w, 0.5);
        } else {
            put_text(m, "x");
        }
    }
    if (is_map) {
        tk_json_end_object(&m->w);
    } else {
        tk_json_end_array(&m->w);
    }
}

static void put_value(maker *m, const tk_field *field)
{
    const char *key = field->name != NULL ? field->name : "";
    switch (field->kind) {
    case TK_KIND_STR:
        put_named_text(m, key);
        break;
    case TK_KIND_BOOL:
        tk_json_put_bool(&m->w, fz_chance(m->client, 500));
        break;
    case TK_KIND_I64:
        put_named_int(m, field);
        break;
    case TK_KIND_U64:
        tk_json_put_u64(&m->w, fz_below(m->client, 1000));
        break;
    case TK_KIND_NUM:
        put_named_number(m, key);
        break;
    case TK_KIND_ENUM:
        put_text(m, pick(m->client, field->names->words, (size_t)field->names->n));
        break;
    case TK_KIND_TIME:
        put_text(m, "2026-01-02T03:04:05Z");
        break;
    case TK_KIND_LITERAL:
        put_text(m, field->text);
        break;
    case TK_KIND_BASE64:
        put_text(m, "AAEC");
        break;
    case TK_KIND_I32S:
    case TK_KIND_I64S:
    case TK_KIND_F32S:
        put_ints(m);
        break;
    case TK_KIND_RAW:
        tk_json_begin_object(&m->w);
        tk_json_key(&m->w, TK_STR("colour"));
        put_text(m, "green");
        tk_json_end_object(&m->w);
        break;
    case TK_KIND_MSG:
        put_schema(m, field->sub);
        break;
    case TK_KIND_STRS:
    case TK_KIND_STR_MAP:
    case TK_KIND_NUM_MAP:
    case TK_KIND_LIST:
    case TK_KIND_MSG_MAP:
        put_many(m, field);
        break;
    }
}

/* Whether a row mostly makes its message one that is refused. */
static bool is_rare(const tk_field *field)
{
    return strcmp(field->name, "record_stability_info") == 0 ||
           strcmp(field->name, "target_prompt_logprobs") == 0 ||
           strcmp(field->name, "prompt_logprobs_last_n") == 0;
}

static void put_rows(maker *m, const tk_schema *schema)
{
    if (schema->n == 1 && schema->fields[0].name == NULL) {
        put_value(m, &schema->fields[0]);
        return;
    }
    tk_json_begin_object(&m->w);
    for (size_t i = 0; i < schema->n; i++) {
        const tk_field *field = &schema->fields[i];
        bool wanted =
            (field->flags & TK_REQUIRED) != 0 || strcmp(field->name, "seq_id") == 0;
        if (wanted || fz_chance(m->client, is_rare(field) ? 30 : 500)) {
            tk_json_key(&m->w, tk_str_of(field->name));
            put_value(m, field);
        }
    }
    tk_json_end_object(&m->w);
}

static void put_codec(maker *m, const tk_schema *schema)
{
    if (schema->codec->like != NULL) {
        put_schema(m, schema->codec->like);
    } else if (fz_chance(m->client, 500)) {
        put_text(m, "x");
    } else {
        put_ints(m);
    }
}

static void put_schema(maker *m, const tk_schema *schema)
{
    if (++m->depth > DEPTH_MAX) {
        tk_json_put_null(&m->w);
    } else if (strcmp(schema->name, "Datum") == 0 && fz_chance(m->client, 950)) {
        put_datum(m);
    } else if (strcmp(schema->name, "ModelInput") == 0 && fz_chance(m->client, 950)) {
        put_tokens(m, 1 + (size_t)fz_below(m->client, 6));
    } else if (schema->codec != NULL) {
        put_codec(m, schema);
    } else if (schema->variants != NULL) {
        put_schema(
            m,
            schema->variants->variants[fz_below(m->client, schema->variants->n)].schema);
    } else {
        put_rows(m, schema);
    }
    m->depth--;
}

/* Bodies of routes whose message has no table of src/wire, or that take anything. $S, $M
 * and $P are ids, $D is a directory of a model, $N a digit. */
#define FZ_SAID                                                                          \
    "\"model\":\"" FZ_MODEL                                                              \
    "\",\"messages\":[{\"role\":\"user\",\"content\":\"a $N\"}],"                        \
    "\"stop\":[\"x\"],\"temperature\":0.5,\"max_tokens\":3"
#define FZ_AGENT(prefix, text)                                                           \
    {"POST " prefix "/v1/chat/completions",                                              \
     "{" FZ_SAID ",\"n\":2,\"logprobs\":true,\"top_logprobs\":2,\"seed\":$N}"},          \
        {"POST " prefix "/v1/completions",                                               \
         "{\"model\":\"" FZ_MODEL "\",\"prompt\":[\"b\",\"c $N\"],\"max_tokens\":2,"     \
         "\"echo\":true,\"logprobs\":1,\"stream\":true}"},                               \
        {"POST " prefix "/v1/responses",                                                 \
         "{\"model\":\"" FZ_MODEL "\",\"input\":\"d $N" text                             \
         "\",\"max_output_tokens\":3,\"stream\":true}"},                                 \
        {"POST " prefix "/v1/messages",                                                  \
         "{\"model\":\"" FZ_MODEL "\",\"messages\":[{\"role\":\"user\",\"content\":"     \
         "\"e $N\"}],\"max_tokens\":3,\"stream\":true}"},                                \
    {                                                                                    \
        "POST " prefix "/v1/messages/count_tokens",                                      \
            "{\"model\":\"" FZ_MODEL "\",\"messages\":[{\"role\":\"user\",\"content\":"  \
            "\"f\"}]}"                                                                   \
    }

static const struct {
    const char *row, *body;
} others[] = {
    {"POST " FZ_API "client/dynamic_config", "{\"sdk_version\":\"0.25.0\"}"},
    {"POST " FZ_API "sessions/*/finish",
     "{\"reason\":{\"type\":\"success\"},\"detail\":\"d\"}"},
    {"POST " FZ_API "stream_sample",
     "{\"num_samples\":1,\"prompt\":{\"chunks\":[{\"type\":\"encoded_text\",\"tokens\":"
     "[5,7]}]},\"sampling_params\":{\"max_tokens\":3,\"stop\":[\"x\"],\"seed\":1},"
     "\"base_model\":\"" FZ_MODEL "\"}"},
    {"POST " FZ_API "copy_weights",
     "{\"source_path\":\"$P\",\"ttl_seconds\":3600,\"session_id\":\"$S\","
     "\"model_seq_id\":77}"},
    {"POST " FZ_API "sessions/search",
     "{\"session_id\":\"$S\",\"user_metadata\":{\"a\":\"b\"},\"project_ids\":[\"p\"],"
     "\"display_name\":\"d\",\"owner\":{\"type\":\"own\"},\"statuses\":[{\"type\":"
     "\"active\"}],\"limit\":3,\"cursor\":{\"last_created_at\":"
     "\"2026-01-01T00:00:00Z\",\"last_session_id\":\"$S\"}}"},
    {"POST " FZ_API "training_runs/*/checkpoints/**/publish", ""},
    {"PUT /tinkc/v1/uploads/*/*", "{\"r\":2,\"lora_alpha\":4}"},
    FZ_AGENT("", ""),
    FZ_AGENT("/e/*", "x"),
    {"POST /tinkc/v1/episodes/*/reward",
     "{\"reward\":0.5,\"turn\":0,\"metadata\":{\"a\":\"$N\"}}"},
    {"POST /tinkc/v1/console/login", "{\"key\":\"" FZ_KEY "\",\"code\":\"$N\"}"},
    {"POST /tinkc/v1/console/logout", "{}"},
    {"POST /tinkc/v1/console/code", "{}"},
    {"POST /tinkc/v1/console/decode",
     "{\"model\":\"" FZ_MODEL "\",\"ids\":[1,2,$N,400]}"},
    {"POST /tinkc/v1/models", "{\"directory\":\"$D\",\"name\":\"m-$N\"}"},
};

static bool is_row(const char *row, const char *method, const char *pattern)
{
    size_t n = strlen(method);
    return strncmp(row, method, n) == 0 && row[n] == ' ' &&
           strcmp(row + n + 1, pattern) == 0;
}

const char *fz_body_row(size_t i)
{
    return i < TK_ARRAY_LEN(others) ? others[i].row : NULL;
}

static const char *find_other(const char *method, const char *pattern)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(others); i++) {
        if (is_row(others[i].row, method, pattern)) {
            return others[i].body;
        }
    }
    return NULL;
}

bool fz_body_knows(const char *method, const char *pattern)
{
    return fz_body_schema(TK_DIR_REQUEST, method, pattern) != NULL ||
           find_other(method, pattern) != NULL;
}

/* A method that the route does not have gets some object. */
static void write_other(tk_buf *out, fz_client *client, const fz_ids *ids,
                        const char *body)
{
    static const char some[] =
        "{\"model_id\":\"$M\",\"session_id\":\"$S\",\"request_id\":\"$M:0\"}";
    for (const char *p = body != NULL ? body : some; *p != '\0'; p++) {
        if (*p != '$') {
            tk_buf_putc(out, *p);
            continue;
        }
        p++;
        if (*p == 'D') {
            fz_models_put(out, client);
        } else if (*p == 'N') {
            tk_buf_putc(out, (char)('0' + fz_below(client, 8)));
        } else {
            tk_buf_puts(out, *p == 'S'   ? ids->session
                             : *p == 'M' ? ids->model
                                         : ids->path);
        }
    }
}

/* Whether "POST /api/v1/x/{id}" is this row of the routes. */
static bool is_call(const char *call, const char *method, const char *pattern)
{
    size_t n = strlen(method);
    if (strncmp(call, method, n) != 0 || call[n] != ' ') {
        return false;
    }
    const char *table = call + n + 1;
    while (*pattern != '\0' && *table != '\0') {
        if (*pattern == '*' && *table == '{') {
            pattern += strspn(pattern, "*");
            table += strcspn(table, "}");
            table += *table == '}';
        } else if (*pattern++ != *table++) {
            return false;
        }
    }
    return *pattern == *table;
}

const tk_schema *fz_body_schema(tk_direction direction, const char *method,
                                const char *pattern)
{
    for (size_t i = 0; i < tk_schemas_n; i++) {
        if (tk_schemas[i].direction == direction &&
            is_call(tk_schemas[i].call, method, pattern)) {
            return tk_schemas[i].schema;
        }
    }
    return NULL;
}

void fz_body_write(tk_buf *out, fz_client *client, fz_ids *ids, const char *method,
                   const char *pattern)
{
    maker m = {.client = client, .ids = ids};
    m.message = fz_body_schema(TK_DIR_REQUEST, method, pattern);
    if (m.message == NULL) {
        write_other(out, client, ids, find_other(method, pattern));
        return;
    }
    tk_json_writer_init(&m.w, out);
    put_schema(&m, m.message);
}
