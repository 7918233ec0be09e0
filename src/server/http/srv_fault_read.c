/* Reading a file of faults, see srv_fault.h: strict, because a rule that is not
 * understood would let a test pass that shows nothing. */
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "server/http/srv_fault_int.h"
#include "wire/msg_future.h"

#define FILE_BYTES   TK_MIB
#define DELAY_MAX_MS (INT64_C(3600) * 1000)

static const char *const actions[] = {"drop", "cut", "status", "try_again", "delay"};
static const char *const states[] = {"unknown", "active", "paused_capacity",
                                     "paused_rate_limit"};

const char *srv_fault_action_name(srv_fault_action action)
{
    return actions[action];
}

static int word_at(const char *const *words, size_t n, tk_str text)
{
    for (size_t i = 0; i < n; i++) {
        if (tk_str_is(text, words[i])) {
            return (int)i;
        }
    }
    return -1;
}

/* ---- values ---- */

static bool take_text(tk_str *out, const tk_json *value)
{
    if (value->type != TK_JSON_STRING) {
        return false;
    }
    *out = value->as.string;
    return true;
}

static bool take_int(int64_t *out, const tk_json *value, int64_t min, int64_t max)
{
    if (value->type != TK_JSON_INT || value->as.integer < min ||
        value->as.integer > max) {
        return false;
    }
    *out = value->as.integer;
    return true;
}

static bool take_word(int *out, const tk_json *value, const char *const *words, size_t n)
{
    tk_str text;
    if (!take_text(&text, value)) {
        return false;
    }
    int at = word_at(words, n, text);
    if (at >= 0) {
        *out = at;
    }
    return at >= 0;
}

static bool take_member(srv_fault *rule, const tk_json_member *member)
{
    const tk_json *value = &member->value;
    int action = 0;
    if (tk_str_is(member->key, "route")) {
        return take_text(&rule->route, value);
    }
    if (tk_str_is(member->key, "action")) {
        bool ok = take_word(&action, value, actions, TK_ARRAY_LEN(actions));
        rule->action = (srv_fault_action)action;
        return ok;
    }
    if (tk_str_is(member->key, "status")) {
        return take_int(&rule->status, value, 400, 599);
    }
    if (tk_str_is(member->key, "detail")) {
        return take_text(&rule->detail, value);
    }
    if (tk_str_is(member->key, "retry_after")) {
        return take_text(&rule->retry_after, value);
    }
    if (tk_str_is(member->key, "queue_state")) {
        return take_word(&rule->queue_state, value, states, TK_ARRAY_LEN(states));
    }
    if (tk_str_is(member->key, "delay_ms")) {
        return take_int(&rule->delay_ms, value, 1, DELAY_MAX_MS);
    }
    if (tk_str_is(member->key, "skip")) {
        return take_int(&rule->skip, value, 0, INT32_MAX);
    }
    if (tk_str_is(member->key, "every")) {
        return take_int(&rule->every, value, 1, INT32_MAX);
    }
    if (tk_str_is(member->key, "times")) {
        return take_int(&rule->times, value, 1, INT32_MAX);
    }
    rule->once = value->type == TK_JSON_BOOL && value->as.boolean;
    return tk_str_is(member->key, "once") && value->type == TK_JSON_BOOL;
}

/* ---- rules ---- */

static tinkc_code check(const srv_fault *rule, size_t i, tk_err *err)
{
    const char *missing = NULL;
    if (rule->route.n == 0) {
        missing = "route";
    } else if (rule->action == SRV_FAULT_STATUS && rule->status == 0) {
        missing = "status";
    } else if (rule->action == SRV_FAULT_DELAY && rule->delay_ms == 0) {
        missing = "delay_ms";
    } else if (rule->action == SRV_FAULT_TRY_AGAIN &&
               !tk_str_is(rule->route, "retrieve_future")) {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "faults: rule %zu: try_again is for retrieve_future", i);
    }
    return missing == NULL ? TINKC_OK
                           : tk_err_set(err, TINKC_E_CONFIG,
                                        "faults: rule %zu needs \"%s\"", i, missing);
}

static tinkc_code read_rule(srv_fault *rule, const tk_json *json, size_t i, tk_err *err)
{
    bool has_action = tk_json_get(json, "action") != NULL;
    if (json->type != TK_JSON_OBJECT || !has_action) {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "faults: rule %zu is no object with an \"action\"", i);
    }
    rule->every = 1;
    rule->queue_state = TK_QUEUE_ACTIVE;
    rule->detail = TK_STR("injected fault");
    for (size_t m = 0; m < json->as.object.n; m++) {
        const tk_json_member *member = &json->as.object.members[m];
        if (!take_member(rule, member)) {
            return tk_err_set(err, TINKC_E_CONFIG,
                              "faults: rule %zu: \"" TK_STR_FMT "\" is not understood", i,
                              TK_STR_ARG(member->key));
        }
    }
    return check(rule, i, err);
}

static tinkc_code read_rules(srv_faults *faults, tk_str text, tk_err *err)
{
    const tk_json *json = NULL;
    tinkc_code code = tk_json_parse(&json, &faults->arena, text.p, text.n, NULL, err);
    if (code != TINKC_OK) {
        return code;
    }
    const tk_json *rules = tk_json_get(json, "rules");
    size_t n = tk_json_len(rules);
    if (n == 0) {
        return tk_err_set(err, TINKC_E_CONFIG, "faults: there are no \"rules\"");
    }
    faults->rules = tk_zarray(n, sizeof(*faults->rules));
    if (faults->rules == NULL) {
        return tk_err_nomem(err);
    }
    for (; code == TINKC_OK && faults->n < n; faults->n++) {
        const tk_json rule = tk_json_at(rules, faults->n);
        tk_map_init(&faults->rules[faults->n].seen, TK_MAP_COPY_KEYS);
        code = read_rule(&faults->rules[faults->n], &rule, faults->n, err);
    }
    return code;
}

tinkc_code srv_faults_open(srv_faults **out, const char *path, tk_err *err)
{
    char *text = NULL;
    size_t n = 0;
    srv_faults *faults = tk_zalloc(sizeof(*faults));
    if (faults == NULL) {
        return tk_err_nomem(err);
    }
    tk_arena_init(&faults->arena, 0);
    tk_list_init(&faults->held);
    tinkc_code code = tk_file_read(&text, &n, path, FILE_BYTES, err);
    if (code == TINKC_OK) {
        code = read_rules(faults, (tk_str){text, n}, err);
    }
    tk_free(text);
    if (code != TINKC_OK) {
        srv_faults_free(faults);
        return code;
    }
    *out = faults;
    return TINKC_OK;
}
