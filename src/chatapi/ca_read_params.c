/* Fields of sampling and of streams, which dialects share. What a server cannot do is
 * accepted only at the value that asks for nothing. */
#include <math.h>
#include <string.h>

#include "chatapi/ca_read.h"

bool ca_take_nothing(ca_reader *r, const ca_at *at, const tk_json *v)
{
    (void)r, (void)at, (void)v;
    return true;
}

bool ca_take_refused(ca_reader *r, const ca_at *at, const tk_json *v)
{
    (void)v;
    return ca_refuse(r, at, "is not supported");
}

static bool only_number(ca_reader *r, const ca_at *at, const tk_json *v, double wanted)
{
    double value;
    if (!ca_to_double(r, at, v, &value)) {
        return false;
    }
    return fabs(value - wanted) <= 0 ||
           ca_refuse(r, at, "is not supported (only %g is)", wanted);
}

bool ca_take_only_zero(ca_reader *r, const ca_at *at, const tk_json *v)
{
    return only_number(r, at, v, 0);
}

bool ca_take_only_one(ca_reader *r, const ca_at *at, const tk_json *v)
{
    return only_number(r, at, v, 1);
}

bool ca_take_only_true(ca_reader *r, const ca_at *at, const tk_json *v)
{
    bool value;
    return ca_to_bool(r, at, v, &value) &&
           (value || ca_refuse(r, at, "is not supported (only true is)"));
}

bool ca_take_only_false(ca_reader *r, const ca_at *at, const tk_json *v)
{
    bool value;
    return ca_to_bool(r, at, v, &value) &&
           (!value || ca_refuse(r, at, "is not supported (only false is)"));
}

bool ca_take_only_empty(ca_reader *r, const ca_at *at, const tk_json *v)
{
    bool is_empty = (tk_json_is_array(v) && tk_json_len(v) == 0) ||
                    (v->type == TK_JSON_OBJECT && v->as.object.n == 0);
    return is_empty || ca_refuse(r, at, "is not supported (only an empty one is)");
}

bool ca_take_model(ca_reader *r, const ca_at *at, const tk_json *v)
{
    return ca_to_str(r, at, v, &r->out->model);
}

bool ca_take_stream(ca_reader *r, const ca_at *at, const tk_json *v)
{
    return ca_to_bool(r, at, v, &r->out->is_streamed);
}

bool ca_take_stream_options(ca_reader *r, const ca_at *at, const tk_json *v)
{
    if (!ca_only(r, at, v, "include_usage include_obfuscation continuous_usage_stats")) {
        return false;
    }
    const ca_at usage = {at, "include_usage", 0};
    const ca_at padding = {at, "include_obfuscation", 0};
    const ca_at running = {at, "continuous_usage_stats", 0};
    const tk_json *value = ca_get(v, usage.key);
    bool unused = false;
    if (value != NULL && !ca_to_bool(r, &usage, value, &r->out->wants_usage)) {
        return false;
    }
    value = ca_get(v, padding.key);
    if (value != NULL && !ca_to_bool(r, &padding, value, &unused)) {
        return false;
    }
    value = ca_get(v, running.key);
    return value == NULL || ca_take_only_false(r, &running, value);
}

bool ca_take_max_tokens(ca_reader *r, const ca_at *at, const tk_json *v)
{
    ca_params *params = &r->out->params;
    size_t least = r->out->dialect == CA_COMPLETIONS ? 0 : 1, value;
    if (!ca_to_size(r, at, v, least, INT32_MAX, &value)) {
        return false;
    }
    if (params->has_max_tokens && params->max_tokens != value) {
        return ca_refuse(r, at, "is not what the other name of this limit says");
    }
    params->has_max_tokens = true;
    params->max_tokens = value;
    return true;
}

static bool add_stop(ca_reader *r, const ca_at *at, const tk_json *v, tk_str *out,
                     size_t *left)
{
    if (!ca_to_str(r, at, v, out)) {
        return false;
    }
    if (out->n == 0) {
        return ca_refuse(r, at, "is empty");
    }
    if (out->n > *left) {
        return ca_refuse(r, at, "stop strings have more than %zu bytes together",
                         (size_t)TK_STOPS_BYTES);
    }
    *left -= out->n;
    return true;
}

bool ca_take_stop(ca_reader *r, const ca_at *at, const tk_json *v)
{
    size_t left = TK_STOPS_BYTES, n = 1;
    bool is_one = v->type == TK_JSON_STRING;
    if (!is_one && !ca_to_array(r, at, v, TK_STOPS_MAX, &n)) {
        return false;
    }
    tk_str *stops = tk_arena_array(&r->out->arena, n + 1, sizeof(*stops));
    if (stops == NULL) {
        return ca_refuse_memory(r);
    }
    for (size_t i = 0; i < n; i++) {
        const ca_at here = {at, NULL, i};
        const tk_json item = is_one ? *v : tk_json_at(v, i);
        if (!add_stop(r, is_one ? at : &here, &item, &stops[i], &left)) {
            return false;
        }
    }
    r->out->params.stops = stops;
    r->out->params.n_stops = n;
    return true;
}

bool ca_take_n(ca_reader *r, const ca_at *at, const tk_json *v)
{
    return ca_to_size(r, at, v, 1, TK_CA_CHOICES_MAX, &r->out->params.n);
}

bool ca_take_top_logprobs(ca_reader *r, const ca_at *at, const tk_json *v)
{
    return ca_to_size(r, at, v, 0, TK_CA_TOP_MAX, &r->out->params.top_logprobs);
}

bool ca_take_prompt_logprobs(ca_reader *r, const ca_at *at, const tk_json *v)
{
    r->out->params.prompt_logprobs = true;
    return ca_to_size(r, at, v, 0, TK_CA_TOP_MAX, &r->out->params.prompt_top_logprobs);
}

bool ca_take_return_token_ids(ca_reader *r, const ca_at *at, const tk_json *v)
{
    return ca_to_bool(r, at, v, &r->out->params.return_token_ids);
}

bool ca_take_text_format(ca_reader *r, const ca_at *at, const tk_json *v)
{
    tk_str type;
    const ca_at here = {at, "type", 0};
    if (v->type != TK_JSON_OBJECT) {
        return ca_refuse_type(r, at, v, "an object");
    }
    if (v->as.object.n > TK_CA_MEMBERS_MAX) {
        return ca_refuse(r, at, "has too many members");
    }
    if (!ca_need_str(r, at, v, "type", &type)) {
        return false;
    }
    return tk_str_is(type, "text")
               ? ca_only(r, at, v, "type")
               : ca_refuse(r, &here, "'" TK_STR_FMT "' is not supported (only text is)",
                           TK_STR_ARG(type));
}

bool ca_take_verbosity(ca_reader *r, const ca_at *at, const tk_json *v)
{
    tk_str value;
    return ca_to_str(r, at, v, &value) && ca_set_var(r, "verbosity", *v);
}

/* ---- the same in all dialects ---- */

static bool take_temperature(ca_reader *r, const ca_at *at, const tk_json *v)
{
    ca_params *params = &r->out->params;
    params->has_temperature = true;
    return ca_to_double(r, at, v, &params->temperature) &&
           ((params->temperature >= 0 && params->temperature <= 100) ||
            ca_refuse(r, at, "is not from 0 to 100"));
}

static bool take_top_p(ca_reader *r, const ca_at *at, const tk_json *v)
{
    ca_params *params = &r->out->params;
    params->has_top_p = true;
    return ca_to_double(r, at, v, &params->top_p) &&
           ((params->top_p > 0 && params->top_p <= 1) ||
            ca_refuse(r, at, "is not above 0 and up to 1"));
}

static bool take_top_k(ca_reader *r, const ca_at *at, const tk_json *v)
{
    ca_params *params = &r->out->params;
    if (!tk_json_to_i64(v, &params->top_k)) {
        return ca_refuse_type(r, at, v, "an integer");
    }
    if (params->top_k < -1 || params->top_k > INT32_MAX) {
        return ca_refuse(r, at, "is not -1 or from 0 to %d", INT32_MAX);
    }
    params->has_top_k = params->top_k > 0; /* 0 and -1: all tokens */
    return true;
}

static bool take_seed(ca_reader *r, const ca_at *at, const tk_json *v)
{
    ca_params *params = &r->out->params;
    int64_t value;
    params->has_seed = true;
    if (tk_json_to_u64(v, &params->seed)) {
        return true;
    }
    if (!tk_json_to_i64(v, &value)) {
        return ca_refuse_type(r, at, v, "an integer");
    }
    params->seed = (uint64_t)value;
    return true;
}

static bool take_stop_ids(ca_reader *r, const ca_at *at, const tk_json *v)
{
    ca_params *params = &r->out->params;
    size_t n = 0;
    return ca_to_array(r, at, v, TK_STOP_TOKENS_MAX, &n) &&
           ca_to_ids(r, at, v, &params->stop_ids, &params->n_stop_ids);
}

static bool take_ignore_eos(ca_reader *r, const ca_at *at, const tk_json *v)
{
    return ca_to_bool(r, at, v, &r->out->params.ignore_eos);
}

const ca_field *ca_shared_fields(void)
{
    static const ca_field fields[] = {
        {"model", ca_take_model},
        {"stream", ca_take_stream},
        {"temperature", take_temperature},
        {"top_p", take_top_p},
        {"top_k", take_top_k},
        {"seed", take_seed},
        {"stop_token_ids", take_stop_ids},
        {"ignore_eos", take_ignore_eos},
        {"metadata", ca_take_nothing},
        {"service_tier", ca_take_nothing},
        {"user", ca_take_nothing},
        {"priority", ca_take_nothing},
        {"request_id", ca_take_nothing},
        {"cache_salt", ca_take_nothing},
        {"min_p", ca_take_only_zero},
        {"min_tokens", ca_take_only_zero},
        {"repetition_penalty", ca_take_only_one},
        {"length_penalty", ca_take_only_one},
        {"include_stop_str_in_output", ca_take_only_false},
        {"use_beam_search", ca_take_only_false},
        {"skip_special_tokens", ca_take_only_true},
        {"spaces_between_special_tokens", ca_take_only_true},
        {NULL, NULL},
    };
    return fields;
}
