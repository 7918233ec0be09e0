/* `tinkc doctor`: checks each part of the path from this program to a sampled token, in
 * order, and reports the first that fails and what to do about it. The parts after it are
 * not tried. With --deep a conversation about training and sampling follows (deep.h). */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <tinkc/rest.h>
#include <tinkc/sampling.h>
#include <tinkc/version.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "cli/cmd_list.h"
#include "cli/doctor/cmd_doctor_net.h"
#include "cli/doctor/deep.h"
#include "cli/frame/cmd_listing.h"
#include "cli/frame/cmd_resolve.h"
#include "cli/frame/cmd_service.h"

#define CONNECT_MS  10000
#define SAMPLE_MS   60000
#define VALUE_BYTES 1024
#define PROMPT_ID   100 /* a token that every vocabulary has */

typedef enum state { NOT_TRIED = 0, GOOD, NOT_NEEDED, FAILED } state;

typedef struct doctor {
    const cmd_args *args;
    tinkc_config *config;
    tinkc_service *service;
    tinkc_sampling *sampling;
    doctor_url url, proxy;
    bool has_proxy;
    bool has_key;
    char model[DOCTOR_HOST_BYTES];
    char text[DOCTOR_TEXT_BYTES]; /* what the check found */
    const char *hint;             /* what to do about a failure */
} doctor;

/* ---- helpers ---- */

static state note(doctor *d, state result, const char *format, ...) TINKC_PRINTF(3, 4);

static state note(doctor *d, state result, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    (void)vsnprintf(d->text, sizeof(d->text), format, list);
    va_end(list);
    return result;
}

/* Notes a failed call, with the hint for its code unless a better one is given. Frees
 * *error. */
static state note_error(doctor *d, tinkc_error **error, const char *hint)
{
    d->hint = hint != NULL ? hint : cmd_hint_of(*error);
    (void)note(d, FAILED, "%s", tinkc_error_message(*error));
    tinkc_error_free(error);
    return FAILED;
}

/* Returns the value of an option, which is in `out`; NULL when it is not set. */
static const char *value_of(const doctor *d, const char *name, char *out, size_t size)
{
    return tinkc_config_get(out, size, d->config, name) > 0 ? out : NULL;
}

/* ---- the checks, in order ---- */

static state check_configuration(doctor *d)
{
    char url[VALUE_BYTES], value[VALUE_BYTES];
    tinkc_error *error = NULL;
    (void)tinkc_config_get(url, sizeof(url), d->config, "base_url");
    if (!doctor_url_parse(&d->url, url)) {
        d->hint = "Set TINKER_BASE_URL or --base-url to an http or https URL.";
        return note(d, FAILED, "the base URL is '%s'", url);
    }
    d->has_key = value_of(d, "api_key", value, sizeof(value)) != NULL ||
                 value_of(d, "credential_cmd", value, sizeof(value)) != NULL ||
                 doctor_url_is_loopback(&d->url);
    if (!d->has_key) { /* the network can be checked without one */
        (void)tinkc_config_set(d->config, "api_key", "tml-none", NULL);
    }
    (void)tinkc_config_set(d->config, "max_retries", "0", NULL);
    if (tinkc_service_open(&d->service, d->config, &error) != TINKC_OK) {
        return note_error(d, &error, NULL);
    }
    return note(d, GOOD, "%s", url);
}

static state check_proxy(doctor *d)
{
    char proxy[VALUE_BYTES], no_proxy[VALUE_BYTES];
    const char *from = NULL;
    d->has_proxy = doctor_proxy(&d->proxy, &from, &d->url,
                                value_of(d, "proxy", proxy, sizeof(proxy)),
                                value_of(d, "no_proxy", no_proxy, sizeof(no_proxy)));
    if (!d->has_proxy) {
        return note(d, NOT_NEEDED, "none");
    }
    return note(d, GOOD, "%s port %s (%s)", d->proxy.host, d->proxy.port, from);
}

static state check_dns(doctor *d)
{
    d->hint = d->has_proxy ? "Check the name of the proxy, or unset it."
                           : "Check the base URL and the network's name server.";
    return doctor_resolve(d->text, d->has_proxy ? &d->proxy : &d->url) ? GOOD : FAILED;
}

static state check_connection(doctor *d)
{
    d->hint =
        d->has_proxy
            ? "Check that the proxy runs and can be reached."
            : "Check that the server ('tinkc serve') runs, its port, and firewalls.";
    bool ok = doctor_connect(d->text, d->has_proxy ? &d->proxy : &d->url, CONNECT_MS);
    return ok ? GOOD : FAILED;
}

/* Makes the first request: without TLS there is no response at all. */
static state check_tls(doctor *d)
{
    tinkc_error *error = NULL;
    if (!d->url.is_https) {
        return note(d, NOT_NEEDED, "the base URL is http://");
    }
    tinkc_code code = tinkc_service_health_wait(d->service, &error);
    if (code != TINKC_OK && tinkc_error_http_status(error) == 0) {
        return note_error(d, &error,
                          "Check the clock, the certificate of the server or proxy, and "
                          "SSL_CERT_FILE.");
    }
    tinkc_error_free(&error);
    return note(d, GOOD, "the certificate is valid");
}

static state check_server(doctor *d)
{
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_service_health_wait(d->service, &error);
    if (code == TINKC_E_AUTH || code == TINKC_E_PERMISSION) {
        tinkc_error_free(&error);
        return note(d, GOOD, "responds, and requires a key");
    }
    if (code != TINKC_OK) {
        return note_error(d, &error,
                          "Check that the base URL is that of a Tinker server.");
    }
    return note(d, GOOD, "healthy");
}

static state check_credential(doctor *d)
{
    tinkc_whoami *who = NULL;
    tinkc_error *error = NULL;
    if (!d->has_key) {
        d->hint = "Set TINKER_API_KEY, TINKER_CREDENTIAL_CMD or --api-key.";
        return note(d, FAILED, "no key is set");
    }
    tinkc_code code = tinkc_rest_whoami_wait(&who, d->service, &error);
    if (code == TINKC_E_NOT_FOUND || code == TINKC_E_UNSUPPORTED) {
        tinkc_error_free(&error);
        return note(d, GOOD, "accepted; the server does not name its owner");
    }
    if (code != TINKC_OK) {
        return note_error(d, &error, NULL);
    }
    (void)note(d, GOOD, "%s", who->email != NULL ? who->email : who->user_urn);
    tinkc_whoami_free(&who);
    return GOOD;
}

/* Sets the model to what --model means. Returns false after an error line. */
static bool read_model(doctor *d)
{
    const char *typed = cmd_text(d->args, "model", NULL);
    char *meant = NULL;
    bool ok = typed == NULL ||
              cmd_resolve(&meant, d->service, d->args, typed, CMD_BASE) == CMD_OK;
    if (meant != NULL) {
        (void)snprintf(d->model, sizeof(d->model), "%s", meant);
    }
    tk_free(meant);
    return ok;
}

static state check_version(doctor *d)
{
    tinkc_capabilities *all = NULL;
    tinkc_error *error = NULL;
    if (!read_model(d)) {
        return note(d, FAILED, "--model %s: see above", cmd_text(d->args, "model", ""));
    }
    if (tinkc_service_capabilities_wait(&all, d->service, &error) != TINKC_OK) {
        return note_error(d, &error, NULL);
    }
    size_t n = tinkc_capabilities_count(all);
    const char *first = n > 0 ? tinkc_capabilities_name(all, 0) : NULL;
    if (d->model[0] == '\0') {
        (void)snprintf(d->model, sizeof(d->model), "%s", first != NULL ? first : "");
    }
    tinkc_capabilities_free(&all);
    if (d->model[0] == '\0') {
        d->hint = "Start the server with a model: see 'tinkc serve --help'.";
        return note(d, FAILED, "the server has no models");
    }
    return note(d, GOOD, "tinkc %s, protocol of SDK %s; the server has %zu model%s",
                tinkc_version(), TINKC_SDK_LEVEL, n, n == 1 ? "" : "s");
}

static state check_session(doctor *d)
{
    tinkc_error *error = NULL;
    tinkc_code code = tinkc_service_create_sampling_wait(&d->sampling, d->service,
                                                         d->model, NULL, &error);
    const char *session = tinkc_service_session_id(d->service);
    if (code != TINKC_OK) {
        return note_error(
            d, &error,
            session != NULL ? "'tinkc models' lists the models of the server." : NULL);
    }
    return note(d, GOOD, "%s", session != NULL ? session : "?");
}

static state check_sampling(doctor *d)
{
    const int32_t token = PROMPT_ID;
    tinkc_model_input *input = NULL;
    tinkc_samples *samples = NULL;
    tinkc_error *error = NULL;
    tinkc_sampling_params params = TINKC_SAMPLING_PARAMS_INIT;
    tinkc_sample_options options = TINKC_SAMPLE_OPTIONS_INIT;
    params.max_tokens = 1;
    options.deadline_ms = SAMPLE_MS;
    tinkc_code code = tinkc_model_input_from_tokens(&input, &token, 1, &error);
    if (code == TINKC_OK) {
        code = tinkc_sampling_sample_wait(&samples, d->sampling, input, &params, &options,
                                          &error);
    }
    tinkc_model_input_free(&input);
    if (code != TINKC_OK) {
        return note_error(d, &error, NULL);
    }
    tinkc_samples_free(&samples);
    return note(d, GOOD, "one token from %s", d->model);
}

static const struct {
    const char *name;
    state (*run)(doctor *d);
} checks[] = {
    {"configuration", check_configuration},
    {"proxy", check_proxy},
    {"DNS", check_dns},
    {"connection", check_connection},
    {"TLS", check_tls},
    {"server", check_server},
    {"credential", check_credential},
    {"version", check_version},
    {"session", check_session},
    {"sampling", check_sampling},
};

/* ---- showing ---- */

static void show(cmd_listing *list, const char *name, state result, double ms,
                 const char *text)
{
    static const char *const words[] = {[NOT_TRIED] = "not tried",
                                        [GOOD] = "ok",
                                        [NOT_NEEDED] = "-",
                                        [FAILED] = "FAILED"};
    static const char *const keys[] = {[NOT_TRIED] = "not_tried",
                                       [GOOD] = "ok",
                                       [NOT_NEEDED] = "not_needed",
                                       [FAILED] = "failed"};
    if (list->format == CMD_TABLE) {
        cmd_table_put(list->table, name);
        cmd_table_put(list->table, words[result]);
        if (result == NOT_TRIED) {
            cmd_table_put(list->table, "");
        } else {
            cmd_table_printf(list->table, "%.1f ms", ms);
        }
        cmd_table_put(list->table, text);
        return;
    }
    tk_json_begin_object(&list->json.w);
    cmd_json_pair(&list->json, "check", name);
    cmd_json_pair(&list->json, "state", keys[result]);
    cmd_json_key(&list->json, "milliseconds");
    if (result == NOT_TRIED) {
        tk_json_put_null(&list->json.w);
    } else {
        tk_json_put_double(&list->json.w, ms);
    }
    cmd_json_pair(&list->json, "detail", text);
    tk_json_end_object(&list->json.w);
}

static int run_checks(doctor *d)
{
    static const char *const columns[] = {"Check", "State", "Time", "Found"};
    char failure[DOCTOR_TEXT_BYTES] = "";
    const char *failed = NULL, *hint = NULL;
    cmd_listing list;
    cmd_listing_begin(&list, d->args, columns, TK_ARRAY_LEN(columns));
    cmd_listing_key(&list, "checks");
    for (size_t i = 0; i < TK_ARRAY_LEN(checks); i++) {
        state result = NOT_TRIED;
        int64_t began = tk_clock_mono_ns(NULL);
        d->text[0] = '\0';
        d->hint = NULL;
        if (failed == NULL) {
            result = checks[i].run(d);
        }
        tk_utf8_scrub(d->text, strlen(d->text));
        if (result == FAILED) {
            failed = checks[i].name;
            hint = d->hint;
            memcpy(failure, d->text, sizeof(failure));
        }
        show(&list, checks[i].name, result,
             (double)(tk_clock_mono_ns(NULL) - began) / 1e6, d->text);
        if (!cmd_listing_next(&list)) {
            break;
        }
    }
    int code = cmd_listing_end(&list);
    if (failed == NULL) {
        return code;
    }
    /* not "credential: HTTP 401", of which the number would pass for a secret */
    return hint != NULL ? cmd_fail_hint(hint, "%s check: %s", failed, failure)
                        : cmd_fail("%s check: %s", failed, failure);
}

/* Has the long conversation. What comes before it is checked, and shown only when it
 * fails. */
static int run_deep(doctor *d)
{
    for (size_t i = 0; i < TK_ARRAY_LEN(checks); i++) {
        d->hint = NULL;
        if (checks[i].run == check_sampling) {
            break; /* the conversation samples itself */
        }
        if (checks[i].run(d) == FAILED) {
            return cmd_fail_hint(d->hint != NULL ? d->hint : "'tinkc doctor' says more.",
                                 "%s check: %s", checks[i].name, d->text);
        }
    }
    return deep_run(d->args, d->config, d->service, d->model);
}

static int check(const cmd_args *args)
{
    if (!cmd_has(args, "deep") && (cmd_has(args, "wait") || cmd_has(args, "tokenizer"))) {
        return cmd_bad_usage(args, "--wait and --tokenizer need --deep.");
    }
    int64_t wait = cmd_int(args, "wait", DEEP_ALL_S);
    return wait >= 1 && wait <= DEEP_ALL_MAX_S
               ? CMD_OK
               : cmd_bad_usage(args, "--wait must be 1 to %d seconds.", DEEP_ALL_MAX_S);
}

static int run(const cmd_args *args)
{
    doctor d = {.args = args};
    int result = cmd_service_config(&d.config, args, CMD_BRIEF);
    if (result != CMD_OK) {
        return result;
    }
    result = cmd_has(args, "deep") ? run_deep(&d) : run_checks(&d);
    tinkc_sampling_close(&d.sampling);
    tinkc_config_free(&d.config);
    cmd_service_end(&d.service, result);
    return result;
}

static const cmd_option own_options[] = {
    {"model", 'm', CMD_TEXT, "NAME",
     "Model to sample from (default: the first of the server).", false},
    {"deep", 0, CMD_FLAG, NULL, "Train and sample, and check what the server gives.",
     false},
    {"wait", 0, CMD_INT, "SECONDS", "With --deep: longest time for everything (600).",
     false},
    {"tokenizer", 0, CMD_TEXT, "DIR|NAME",
     "With --deep: tokenizer of the model, for stop strings and the end of a text.",
     false},
    {0},
};

const cmd_spec cmd_doctor = {
    .name = "doctor",
    .operands = "",
    .help = "Find out why the service does not work.",
    .more =
        "Checks the configuration, the network, the credential and the server, up to one\n"
        "sampled token, and says what to do about the first part that fails.\n"
        "\n"
        "With --deep it trains a small model for four steps, samples from it, and says in a\n"
        "table what the server can do and where its numbers are off: every verb, losses,\n"
        "stops, seeds, log-probabilities, resuming, split batches, repeated requests. It\n"
        "costs about 1,000 tokens, and deletes and unloads what it made, also after\n"
        "Ctrl-C. A check is ok, off, failed, not offered (which is not wrong) or not tried.\n"
        "The exit code is 1 when one is off or failed. --format json gives an object with\n"
        "server, model, counts (by verdict), trained_tokens, sampled_tokens, seconds and\n"
        "checks; each of these has check, verdict, asked, expected, seen, sentence and\n"
        "milliseconds.",
    .examples = "tinkc doctor\ntinkc doctor --local\n"
                "tinkc doctor --deep --base-url http://127.0.0.1:8000 --format json",
    .options = own_options,
    .check = check,
    .run = run,
};
