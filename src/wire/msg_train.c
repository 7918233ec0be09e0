/* Tables of optim_step. */
#include "wire/msg_train.h"

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

#define T tk_optim_step_request
static const tk_field optim_step_request_rows[] = {
    {TK_BARE(T, adam_params, MSG, TK_REQUIRED), .sub = &tk_msg_adam_params},
    {TK_ROW(T, model_id, STR, TK_REQUIRED)},
    {TK_ROW(T, seq_id, I64, 0)},
    {TK_LITERAL("type", "optim_step")},
};
#undef T

static const tk_field optim_step_result_rows[] = {
    {TK_ROW_MAP(tk_optim_step_result, metrics, NUM_MAP, TK_NULLABLE)},
};

const tk_schema tk_msg_adam_params = {TK_SCHEMA(tk_adam_params, "AdamParams", adam_rows)};
const tk_schema tk_msg_optim_step_request = {
    TK_SCHEMA(tk_optim_step_request, "OptimStepRequest", optim_step_request_rows)};
const tk_schema tk_msg_optim_step_result = {
    TK_SCHEMA(tk_optim_step_result, "OptimStepResponse", optim_step_result_rows)};

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
            tinkc_code code =
                tk_err_set(err, TINKC_E_INVALID, "%s is out of range", rules[i].name);
            tk_err_under(err, rules[i].name);
            return code;
        }
    }
    return TINKC_OK;
}
