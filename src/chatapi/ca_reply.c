/* Ids, errors, lists of models, and the choice of the body's shape. */
#include "chatapi/ca_reply.h"

#include <stdio.h>
#include <string.h>

#include "base/date.h"
#include "chatapi/ca_write.h"

/* ---- ids ---- */

static void make_id(char *out, size_t size, const char *prefix,
                    const unsigned char random[16])
{
    static const char hex[] = "0123456789abcdef";
    char digits[33];
    for (size_t i = 0; i < 16; i++) {
        digits[2 * i] = hex[random[i] >> 4];
        digits[2 * i + 1] = hex[random[i] & 15];
    }
    digits[32] = '\0';
    (void)snprintf(out, size, "%s%s", prefix, digits);
}

void ca_reply_make_id(ca_reply *reply, const unsigned char random[16])
{
    static const char *const prefixes[] = {
        [CA_CHAT] = "chatcmpl-",
        [CA_COMPLETIONS] = "cmpl-",
        [CA_RESPONSES] = "resp_",
        [CA_MESSAGES] = "msg_",
    };
    make_id(reply->id, sizeof(reply->id), prefixes[reply->request->dialect], random);
}

void ca_reply_make_call_id(char *out, ca_dialect dialect, const unsigned char random[16])
{
    make_id(out, 64, dialect == CA_MESSAGES ? "toolu_" : "call_", random);
}

/* ---- errors ---- */

void ca_reply_too_long(ca_fault *fault, ca_dialect dialect, size_t n, size_t max)
{
    *fault = (ca_fault){.status = 400, .err = TK_ERR_INIT, .is_too_long = true};
    if (dialect == CA_MESSAGES) {
        (void)tk_err_set(&fault->err, TINKC_E_LIMIT,
                         "prompt is too long: %zu tokens > %zu maximum", n, max);
        return;
    }
    static const char *const fields[] = {
        [CA_CHAT] = "messages", [CA_COMPLETIONS] = "prompt", [CA_RESPONSES] = "input"};
    (void)snprintf(fault->field, sizeof(fault->field), "%s", fields[dialect]);
    (void)tk_err_set(&fault->err, TINKC_E_LIMIT,
                     "This model's maximum context length is %zu tokens. However, your "
                     "request has %zu tokens. Please reduce the length of the %s.",
                     max, n, fields[dialect]);
}

static const char *openai_type(int status)
{
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 429:
        return "rate_limit_error";
    default:
        return status >= 500 ? "server_error" : "invalid_request_error";
    }
}

static const char *anthropic_type(int status)
{
    switch (status) {
    case 401:
        return "authentication_error";
    case 403:
        return "permission_error";
    case 404:
        return "not_found_error";
    case 413:
        return "request_too_large";
    case 429:
        return "rate_limit_error";
    case 503:
    case 529:
        return "overloaded_error";
    case 504:
        return "timeout_error";
    default:
        return status >= 500 ? "api_error" : "invalid_request_error";
    }
}

static const char *openai_code(const ca_fault *fault)
{
    if (fault->is_too_long) {
        return "context_length_exceeded";
    }
    if (fault->status == 404 && strcmp(fault->field, "model") == 0) {
        return "model_not_found";
    }
    return fault->status == 401   ? "invalid_api_key"
           : fault->status == 429 ? "rate_limit_exceeded"
                                  : NULL;
}

void ca_put_error(tk_json_writer *w, ca_dialect dialect, const ca_fault *fault)
{
    tk_json_begin_object(w);
    if (dialect == CA_MESSAGES) {
        ca_put_text(w, "type", anthropic_type(fault->status));
        ca_put_text(w, "message", fault->err.message);
        tk_json_end_object(w);
        return;
    }
    ca_put_text(w, "message", fault->err.message);
    ca_put_text(w, "type", openai_type(fault->status));
    if (fault->field[0] != '\0') {
        ca_put_text(w, "param", fault->field);
    } else {
        ca_put_null(w, "param");
    }
    if (openai_code(fault) != NULL) {
        ca_put_text(w, "code", openai_code(fault));
    } else {
        ca_put_null(w, "code");
    }
    tk_json_end_object(w);
}

static void finish(tk_json_writer *w)
{
    tinkc_code code = tk_json_finish(w, NULL);
    (void)code; /* the buffer keeps it */
}

void ca_reply_error(tk_buf *out, ca_dialect dialect, const ca_fault *fault)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    if (dialect == CA_MESSAGES) {
        ca_put_text(&w, "type", "error");
    }
    tk_json_key(&w, TK_STR("error"));
    ca_put_error(&w, dialect, fault);
    tk_json_end_object(&w);
    finish(&w);
}

/* ---- small bodies ---- */

void ca_reply_count(tk_buf *out, size_t n)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    ca_put_size(&w, "input_tokens", n);
    tk_json_end_object(&w);
    finish(&w);
}

static void put_model(tk_json_writer *w, ca_dialect dialect, const ca_model *model)
{
    tk_json_begin_object(w);
    ca_put_str(w, "id", model->id);
    if (dialect == CA_MESSAGES) {
        char date[TK_DATE_TEXT_BYTES];
        if (!tk_date_format(date, model->created * 1000000)) {
            tk_buf_fail(w->out, TINKC_E_INVALID);
        }
        ca_put_text(w, "type", "model");
        ca_put_str(w, "display_name", model->id);
        ca_put_text(w, "created_at", date);
        ca_put_text(w, "lifecycle", "active");
    } else {
        ca_put_text(w, "object", "model");
        tk_json_key(w, TK_STR("created"));
        tk_json_put_i64(w, model->created);
        ca_put_text(w, "owned_by", "tinkc");
    }
    if (model->context > 0) {
        const char *key = dialect == CA_MESSAGES ? "max_input_tokens" : "max_model_len";
        ca_put_size(w, key, model->context);
    }
    tk_json_end_object(w);
}

void ca_reply_model(tk_buf *out, ca_dialect dialect, const ca_model *model)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    put_model(&w, dialect, model);
    finish(&w);
}

void ca_reply_models(tk_buf *out, ca_dialect dialect, const ca_model *models, size_t n)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    tk_json_begin_object(&w);
    if (dialect != CA_MESSAGES) {
        ca_put_text(&w, "object", "list");
    }
    ca_open_array(&w, "data");
    for (size_t i = 0; i < n; i++) {
        put_model(&w, dialect, &models[i]);
    }
    tk_json_end_array(&w);
    if (dialect == CA_MESSAGES) {
        ca_put_bool(&w, "has_more", false);
        if (n > 0) {
            ca_put_str(&w, "first_id", models[0].id);
            ca_put_str(&w, "last_id", models[n - 1].id);
        } else {
            ca_put_null(&w, "first_id");
            ca_put_null(&w, "last_id");
        }
    }
    tk_json_end_object(&w);
    finish(&w);
}

/* ---- the answer ---- */

void ca_reply_body(tk_buf *out, const ca_reply *reply, const ca_choice *choices, size_t n,
                   const ca_usage *usage)
{
    tk_json_writer w;
    tk_json_writer_init(&w, out);
    switch (reply->request->dialect) {
    case CA_CHAT:
        ca_write_chat(&w, reply, choices, n, usage);
        break;
    case CA_COMPLETIONS:
        ca_write_text(&w, reply, choices, n, usage);
        break;
    case CA_RESPONSES:
        ca_write_responses(&w, reply, choices, usage);
        break;
    case CA_MESSAGES:
        ca_write_messages(&w, reply, choices, usage);
        break;
    }
    finish(&w);
}
