/* Tables of optimizers, optim_step and create_custom_loss. */
#include "wire/msg_train.h"

#define CUSTOM_INPUTS_MAX 16
#define CUSTOM_NAME_MAX   64

/* ---- optimizers ---- */

static const tk_field adamw_rows[] = {
    {TK_LITERAL("type", "adamw")},
};

static const tk_field dimuon_rows[] = {
    {TK_LITERAL("type", "dimuon")},
    {TK_ROW(tk_optimizer_config, version, I64, TK_DEFAULT), .def.i = 1},
};

static const tk_schema adamw_schema = {
    TK_SCHEMA(tk_optimizer_config, "AdamOptimizerConfig", adamw_rows)};
static const tk_schema dimuon_schema = {
    TK_SCHEMA(tk_optimizer_config, "DimuonOptimizerConfig", dimuon_rows)};

static const tk_variant optimizer_variants[] = {
    {"adamw", TK_OPTIMIZER_ADAMW, &adamw_schema, NULL},
    {"dimuon", TK_OPTIMIZER_DIMUON, &dimuon_schema, NULL},
};

static const tk_union optimizer_union = {.key = "type",
                                         .kind_at = offsetof(tk_optimizer_config, kind),
                                         .variants = optimizer_variants,
                                         .n = TK_ARRAY_LEN(optimizer_variants),
                                         .unknown = TK_OPTIMIZER_OTHER,
                                         .raw_at = offsetof(tk_optimizer_config, raw)};

const tk_schema tk_msg_optimizer_config = {.name = "OptimizerConfig",
                                           .size = sizeof(tk_optimizer_config),
                                           .variants = &optimizer_union};

#define T tk_adam_params
static const tk_field adam_rows[] = {
    {TK_ROW(T, learning_rate, NUM, TK_DEFAULT), .def.d = 0.0001},
    {TK_ROW(T, beta1, NUM, TK_DEFAULT), .def.d = 0.9},
    {TK_ROW(T, beta2, NUM, TK_DEFAULT), .def.d = 0.95},
    {TK_ROW(T, eps, NUM, TK_DEFAULT), .def.d = 1e-12},
    {TK_ROW(T, weight_decay, NUM, TK_DEFAULT), .def.d = 0.0},
    {TK_ROW(T, grad_clip_norm, NUM, TK_DEFAULT), .def.d = 0.0},
};
#undef T

#define T tk_optim_params
static const tk_field dimuon_params_rows[] = {
    {TK_LITERAL("type", "dimuon")},
    {TK_ROW(T, learning_rate, NUM, TK_REQUIRED)},
    {TK_ROW(T, grad_clip_norm, NUM, TK_DEFAULT), .def.d = 0.0},
    {TK_ROW(T, beta1, NUM, TK_DEFAULT), .def.d = 0.9},
};
#undef T

static const tk_schema dimuon_params_schema = {
    TK_SCHEMA(tk_optim_params, "DimuonParams", dimuon_params_rows)};

static const tk_variant params_variants[] = {
    {"dimuon", TK_OPTIMIZER_DIMUON, &dimuon_params_schema, NULL},
};

static const tk_union params_union = {.key = "type",
                                      .kind_at = offsetof(tk_optim_params, kind),
                                      .variants = params_variants,
                                      .n = TK_ARRAY_LEN(params_variants),
                                      .unknown = TK_OPTIMIZER_OTHER,
                                      .raw_at = offsetof(tk_optim_params, raw)};

const tk_schema tk_msg_optim_params = {
    .name = "OptimParams", .size = sizeof(tk_optim_params), .variants = &params_union};

/* ---- optim_step ---- */

#define T tk_optim_step_request
static const tk_field optim_step_request_rows[] = {
    {TK_ROW(T, adam_params, MSG, 0), .sub = &tk_msg_adam_params},
    {TK_ROW(T, model_id, STR, TK_REQUIRED)},
    {TK_ROW(T, seq_id, I64, 0)},
    {TK_LITERAL("type", "optim_step")},
    {TK_ROW(T, optimizer_params, MSG, 0), .sub = &tk_msg_optim_params},
};
#undef T

static const tk_field optim_step_result_rows[] = {
    {TK_ROW_MAP(tk_optim_step_result, metrics, NUM_MAP, TK_NULLABLE)},
};

/* ---- create_custom_loss ---- */

#define T tk_custom_loss_input
static const tk_field custom_loss_input_rows[] = {
    {TK_ROW(T, name, STR, TK_REQUIRED)},
    {TK_ROW(T, rank, I64, TK_REQUIRED)},
};
#undef T

#define T tk_create_custom_loss_request
static const tk_field create_custom_loss_request_rows[] = {
    {TK_ROW(T, session_id, STR, TK_REQUIRED)},
    {TK_ROW(T, custom_loss_seq_id, I64, TK_REQUIRED), TK_RANGE(0, INT64_MAX)},
    {TK_ROW(T, name, STR, TK_REQUIRED)},
    {TK_BARE_LIST(T, inputs, LIST, TK_REQUIRED), .sub = &tk_msg_custom_loss_input},
    {TK_ROW(T, graph, RAW, TK_REQUIRED | TK_OBJECT)},
    {TK_LITERAL("type", "create_custom_loss")},
};
#undef T

static const tk_field create_custom_loss_result_rows[] = {
    {TK_ROW(tk_create_custom_loss_result, loss_id, STR, TK_REQUIRED)},
    {TK_LITERAL("type", "create_custom_loss")},
};

const tk_schema tk_msg_adam_params = {TK_SCHEMA(tk_adam_params, "AdamParams", adam_rows)};
const tk_schema tk_msg_optim_step_request = {
    TK_SCHEMA(tk_optim_step_request, "OptimStepRequest", optim_step_request_rows)};
const tk_schema tk_msg_optim_step_result = {
    TK_SCHEMA(tk_optim_step_result, "OptimStepResponse", optim_step_result_rows)};
const tk_schema tk_msg_custom_loss_input = {
    TK_SCHEMA(tk_custom_loss_input, "CustomLossInput", custom_loss_input_rows)};
const tk_schema tk_msg_create_custom_loss_request = {
    TK_SCHEMA(tk_create_custom_loss_request, "CreateCustomLossRequest",
              create_custom_loss_request_rows)};
const tk_schema tk_msg_create_custom_loss_result = {
    TK_SCHEMA(tk_create_custom_loss_result, "CreateCustomLossResponse",
              create_custom_loss_result_rows)};

tk_str tk_optimizer_word(const tk_json *raw)
{
    const tk_json *type = raw != NULL ? tk_json_get(raw, "type") : NULL;
    return type != NULL && type->type == TK_JSON_STRING ? type->as.string
                                                        : (tk_str){"", 0};
}

/* ---- rules ---- */

static tinkc_code bad(tk_err *err, const char *field, const char *why)
{
    tinkc_code code = tk_err_set(err, TINKC_E_INVALID, "%s %s", field, why);
    tk_err_under(err, field);
    return code;
}

tinkc_code tk_adam_params_check(const tk_adam_params *params, tk_err *err)
{
    const struct {
        const char *name;
        tk_f_num field;
        bool is_beta, is_eps;
    } rules[] = {
        {"learning_rate", params->learning_rate, false, false},
        {"beta1", params->beta1, true, false},
        {"beta2", params->beta2, true, false},
        {"eps", params->eps, false, true},
        {"weight_decay", params->weight_decay, false, false},
        {"grad_clip_norm", params->grad_clip_norm, false, false},
    };
    for (size_t i = 0; i < TK_ARRAY_LEN(rules); i++) {
        double v = rules[i].field.v;
        bool in_range = v >= 0.0 && v <= 1.7976931348623157e308;
        in_range = in_range && !(rules[i].is_beta && v >= 1.0);
        in_range = in_range && !(rules[i].is_eps && v <= 0.0);
        if (rules[i].field.is == TK_SET && !in_range) {
            return bad(err, rules[i].name, "is out of range");
        }
    }
    return TINKC_OK;
}

static bool is_finite(double v)
{
    return v >= -1.7976931348623157e308 && v <= 1.7976931348623157e308;
}

tinkc_code tk_optim_params_check(const tk_optim_params *params, tk_err *err)
{
    if (params->kind != TK_OPTIMIZER_DIMUON) {
        return tk_optimizer_word(params->raw).n > 0
                   ? TINKC_OK
                   : bad(err, "type", "must name the optimizer");
    }
    double rate = params->learning_rate.v, beta1 = params->beta1.v;
    if (params->learning_rate.is != TK_SET || !(rate >= 0.0) || !is_finite(rate)) {
        return bad(err, "learning_rate", "is out of range");
    }
    if (params->grad_clip_norm.is == TK_SET && !is_finite(params->grad_clip_norm.v)) {
        return bad(err, "grad_clip_norm", "is out of range");
    }
    if (params->beta1.is == TK_SET && !(beta1 >= 0.0 && beta1 < 1.0)) {
        return bad(err, "beta1", "is out of range");
    }
    return TINKC_OK;
}

/* [a-z_][a-z0-9_]{0,63} */
static bool is_input_name(tk_str name)
{
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool digit = c >= '0' && c <= '9';
        if (!(c >= 'a' && c <= 'z') && c != '_' && !(digit && i > 0)) {
            return false;
        }
    }
    return name.n > 0 && name.n <= CUSTOM_NAME_MAX;
}

static tinkc_code check_inputs(const tk_custom_loss_inputs *inputs, tk_err *err)
{
    if (inputs->n == 0 || !tk_str_is(inputs->p[0].name.v, "logprobs") ||
        inputs->p[0].rank.v == 0) {
        return bad(err, "inputs", "must begin with logprobs, of rank 1 or 2");
    }
    if (inputs->n > CUSTOM_INPUTS_MAX) {
        return bad(err, "inputs", "are more than 16");
    }
    for (size_t i = 0; i < inputs->n; i++) {
        int64_t rank = inputs->p[i].rank.v;
        if (rank < 0 || rank > 2) {
            return bad(err, "inputs", "must have a rank of 0, 1 or 2");
        }
        if (!is_input_name(inputs->p[i].name.v)) {
            return bad(err, "inputs",
                       "must have names of lower-case letters, digits and underscores");
        }
        for (size_t j = 0; j < i; j++) {
            if (tk_str_eq(inputs->p[i].name.v, inputs->p[j].name.v)) {
                return bad(err, "inputs", "have a name twice");
            }
        }
    }
    return TINKC_OK;
}

tinkc_code tk_create_custom_loss_check(const tk_create_custom_loss_request *msg,
                                       tk_err *err)
{
    tinkc_code code = check_inputs(&msg->inputs, err);
    if (code != TINKC_OK) {
        return code;
    }
    const tk_json *graph = msg->graph.v;
    const tk_json *format = graph != NULL ? tk_json_get(graph, "format") : NULL;
    const tk_json *nodes = graph != NULL ? tk_json_get(graph, "nodes") : NULL;
    int64_t number = 0;
    if (format == NULL || !tk_json_to_i64(format, &number) || number != 1 ||
        nodes == NULL || !tk_json_is_array(nodes) || tk_json_len(nodes) == 0) {
        return bad(err, "graph", "must be an object with format 1 and nodes");
    }
    return TINKC_OK;
}
