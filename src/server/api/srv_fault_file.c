/* Strict, because a rule that is not understood would let a test pass that shows nothing.
 * Adds one action to those of hd_fault.h: "try_again", a poll that is answered as one
 * whose time is over. */
#include "server/api/srv_fault_file.h"

#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "server/run/srv_msg.h"
#include "wire/msg_future.h"

#define FILE_BYTES   TK_MIB
#define DELAY_MAX_MS (INT64_C(3600) * 1000)
#define API          "/api/v1/"

static hd_verdict reply_try_again(const hd_fault *rule, hd_request *request)
{
    tk_retrieve_future_request msg;
    if (!srv_msg_decode(request, &tk_msg_retrieve_future_request, &msg)) {
        return HD_ANSWERED;
    }
    const tk_try_again reply = {
        .request_id = msg.request_id,
        .queue_state = {TK_SET, rule->choice},
        .queue_state_reason = {TK_SET, rule->detail},
    };
    return srv_msg_reply_status(request, 408, &tk_msg_try_again, &reply);
}

static const struct {
    const char *name;
    hd_fault_action action;
} actions[] = {
    {"drop", HD_FAULT_DROP},   {"cut", HD_FAULT_CUT},         {"status", HD_FAULT_STATUS},
    {"delay", HD_FAULT_DELAY}, {"try_again", HD_FAULT_REPLY},
};

/* As tk_queue_state counts them. */
static const char *const states[] = {"unknown", "active", "paused_capacity",
                                     "paused_rate_limit"};

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

static bool take_action(hd_fault *rule, const tk_json *value)
{
    tk_str text = {"", 0};
    for (size_t i = 0; take_text(&text, value) && i < TK_ARRAY_LEN(actions); i++) {
        if (tk_str_is(text, actions[i].name)) {
            rule->name = actions[i].name;
            rule->action = actions[i].action;
            rule->reply = reply_try_again;
            return true;
        }
    }
    return false;
}

static bool take_state(hd_fault *rule, const tk_json *value)
{
    tk_str text = {"", 0};
    for (size_t i = 0; take_text(&text, value) && i < TK_ARRAY_LEN(states); i++) {
        if (tk_str_is(text, states[i])) {
            rule->choice = (int)i;
            return true;
        }
    }
    return false;
}

static bool take_member(hd_fault *rule, const tk_json_member *member)
{
    const tk_json *value = &member->value;
    if (tk_str_is(member->key, "route")) {
        return take_text(&rule->route, value);
    }
    if (tk_str_is(member->key, "action")) {
        return take_action(rule, value);
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
        return take_state(rule, value);
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

static tinkc_code check(const hd_fault *rule, size_t i, tk_err *err)
{
    const char *missing = NULL;
    if (rule->route.n == 0) {
        missing = "route";
    } else if (rule->action == HD_FAULT_STATUS && rule->status == 0) {
        missing = "status";
    } else if (rule->action == HD_FAULT_DELAY && rule->delay_ms == 0) {
        missing = "delay_ms";
    } else if (rule->action == HD_FAULT_REPLY &&
               !tk_str_is(rule->route, "retrieve_future")) {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "faults: rule %zu: try_again is for retrieve_future", i);
    }
    return missing == NULL ? TINKC_OK
                           : tk_err_set(err, TINKC_E_CONFIG,
                                        "faults: rule %zu needs \"%s\"", i, missing);
}

/* "optim_step" is short for "/api/v1/optim_step". */
static tinkc_code complete_route(hd_fault *rule, tk_arena *arena, tk_err *err)
{
    if (tk_str_is(rule->route, "*") || rule->route.p[0] == '/') {
        return TINKC_OK;
    }
    tk_buf path;
    tk_buf_init(&path, FILE_BYTES);
    tk_buf_puts(&path, API);
    tk_buf_put(&path, rule->route.p, rule->route.n);
    tinkc_code code = tk_buf_status(&path, err);
    if (code == TINKC_OK && !tk_arena_dup(arena, &rule->route, path.p, path.n)) {
        code = tk_err_nomem(err);
    }
    tk_buf_dispose(&path);
    return code;
}

static tinkc_code read_rule(hd_fault *rule, tk_arena *arena, const tk_json *json,
                            size_t i, tk_err *err)
{
    if (json->type != TK_JSON_OBJECT || tk_json_get(json, "action") == NULL) {
        return tk_err_set(err, TINKC_E_CONFIG,
                          "faults: rule %zu is not an object with an \"action\"", i);
    }
    rule->every = 1;
    rule->choice = TK_QUEUE_ACTIVE;
    rule->detail = TK_STR("injected fault");
    for (size_t m = 0; m < json->as.object.n; m++) {
        const tk_json_member *member = &json->as.object.members[m];
        if (!take_member(rule, member)) {
            return tk_err_set(err, TINKC_E_CONFIG,
                              "faults: rule %zu: \"" TK_STR_FMT "\" is not understood", i,
                              TK_STR_ARG(member->key));
        }
    }
    tinkc_code code = check(rule, i, err);
    return code == TINKC_OK ? complete_route(rule, arena, err) : code;
}

/* Takes the arena over, also on failure. */
static tinkc_code read_rules(hd_faults **out, tk_arena *arena, tk_str text, tk_log *log,
                             tk_err *err)
{
    const tk_json *json = NULL;
    hd_faults *faults = NULL;
    tinkc_code code = tk_json_parse(&json, arena, text.p, text.n, NULL, err);
    if (code != TINKC_OK) {
        goto out;
    }
    const tk_json *rules = tk_json_get(json, "rules");
    size_t n = tk_json_len(rules);
    if (n == 0) {
        code = tk_err_set(err, TINKC_E_CONFIG, "faults: there are no \"rules\"");
        goto out;
    }
    code = hd_faults_new(&faults, n, &hd_route_dispatch, log, err);
    if (code != TINKC_OK) {
        goto out;
    }
    faults->arena = *arena; /* the rules' strings are in it */
    tk_arena_init(arena, 0);
    for (size_t i = 0; code == TINKC_OK && i < n; i++) {
        const tk_json rule = tk_json_at(rules, i);
        code = read_rule(&faults->rules[i], &faults->arena, &rule, i, err);
    }
    if (code != TINKC_OK) {
        hd_faults_free(faults);
        goto out;
    }
    *out = faults;
out:
    tk_arena_dispose(arena);
    return code;
}

tinkc_code srv_fault_file_open(hd_faults **out, const char *path, tk_log *log,
                               tk_err *err)
{
    char *text = NULL;
    size_t n = 0;
    tinkc_code code = tk_file_read(&text, &n, path, FILE_BYTES, err);
    if (code == TINKC_OK) {
        tk_arena arena;
        tk_arena_init(&arena, 0);
        code = read_rules(out, &arena, (tk_str){text, n}, log, err);
    }
    tk_free(text);
    return code;
}
