/* A session that ended without being finished by its client has no status, as the client
 * may only have stopped sending. */
#include "server/api/srv_search.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/date.h"
#include "server/run/srv_msg.h"
#include "server/run/srv_session.h"
#include "server/run/srv_state.h"
#include "server/store/srv_store.h"
#include "wire/msg_search.h"
#include "wire/msg_session.h"

#define OWNER               "local"
#define METADATA_TREE_BYTES (64 * TK_MIB) /* parsed, of one session */

typedef struct search {
    srv *server;
    hd_request *request;
    tk_session_search_request msg;
    bool nothing; /* asks for what no session here has */
    srv_store_search page;
    tk_str id, name; /* what is searched for; {NULL, 0} = any */
    int64_t left;    /* sessions that the answer may still have */
    size_t scanned;  /* bytes of metadata */
} search;

/* ---- from the request ---- */

static bool refuse(const search *s, const char *field, const char *text)
{
    (void)hd_reply_field(s->request, field, text);
    return false;
}

static bool read_cursor(search *s)
{
    tk_err err = TK_ERR_INIT;
    s->page.before_us = INT64_MAX;
    s->page.before_id = TK_STR("");
    if (s->msg.cursor.is != TK_SET) {
        return true;
    }
    const tk_json *at = tk_json_get(s->msg.cursor.v, "last_created_at");
    const tk_json *id = tk_json_get(s->msg.cursor.v, "last_session_id");
    if (at == NULL || at->type != TK_JSON_STRING || id == NULL ||
        id->type != TK_JSON_STRING ||
        tk_date_parse(&s->page.before_us, at->as.string, &err) != TINKC_OK) {
        return refuse(s, "cursor", "is not one of this server's");
    }
    s->page.before_id = id->as.string;
    return true;
}

/* Everything here belongs to one owner. */
static bool read_owner(search *s)
{
    const tk_search_owner *owner = &s->msg.owner;
    tk_str type = owner->type.v;
    if (tk_str_is(type, "user")) {
        s->nothing = s->nothing || !srv_msg_has(&owner->owner_urns.v, TK_STR(OWNER));
        return true;
    }
    return tk_str_is(type, "own") || tk_str_is(type, "accessible") ||
           refuse(s, "owner.type", "must be own, accessible or user");
}

/* Returns whether it is a word for why a client finished its session. */
static bool is_reason(tk_str word)
{
    return tk_str_is(word, tk_finish_word(TK_FINISH_SUCCESS)) ||
           tk_str_is(word, tk_finish_word(TK_FINISH_ERRORED)) ||
           tk_str_is(word, tk_finish_word(TK_FINISH_INTERRUPTED));
}

static bool read_reasons(const search *s, const tk_session_status_query *status)
{
    const tk_strs *reasons = &status->reasons.v;
    if (!tk_str_is(status->type.v, "client_finished") || reasons->n == 0) {
        return refuse(s, "statuses.reasons",
                      "must be a list that is not empty, of client_finished");
    }
    for (size_t i = 0; i < reasons->n; i++) {
        if (!is_reason(reasons->p[i])) {
            return refuse(s, "statuses.reasons",
                          "must be success, errored or interrupted");
        }
    }
    return true;
}

static bool read_statuses(const search *s)
{
    static const char *const types[] = {"active", "cancelled", "failed",
                                        "client_finished"};
    if (s->msg.has_statuses && s->msg.statuses_n == 0) {
        return refuse(s, "statuses", "must be a list that is not empty");
    }
    for (size_t i = 0; i < s->msg.statuses_n; i++) {
        const tk_session_status_query *at = &s->msg.statuses[i];
        bool known = false;
        for (size_t k = 0; k < TK_ARRAY_LEN(types); k++) {
            known = known || tk_str_is(at->type.v, types[k]);
        }
        if (!known) {
            return refuse(s, "statuses.type",
                          "must be active, cancelled, failed or client_finished");
        }
        if (at->reasons.is == TK_SET && !read_reasons(s, at)) {
            return false;
        }
    }
    return true;
}

/* Each session is compared with each of them. */
static bool is_short(const search *s)
{
    const tk_session_search_request *msg = &s->msg;
    if (msg->display_name.v.n > TK_SRV_SEARCH_NAME_BYTES) {
        return refuse(s, "display_name", "is too long to be searched for");
    }
    if (msg->user_metadata.v.n > TK_SRV_SEARCH_TERMS_MAX) {
        return refuse(s, "user_metadata", "has too many pairs to be searched for");
    }
    if (msg->project_ids.v.n > TK_SRV_SEARCH_TERMS_MAX) {
        return refuse(s, "project_ids", "are too many");
    }
    return msg->statuses_n <= TK_SRV_SEARCH_TERMS_MAX ||
           refuse(s, "statuses", "are too many");
}

static bool read_request(search *s)
{
    const tk_session_search_request *msg = &s->msg;
    const tk_str none = {NULL, 0};
    if (!srv_msg_decode(s->request, &tk_msg_session_search_request, &s->msg) ||
        !is_short(s)) {
        return false;
    }
    s->page.limit = msg->limit.v;
    s->id = msg->session_id.is == TK_SET ? msg->session_id.v : none;
    s->name = msg->display_name.is == TK_SET ? msg->display_name.v : none;
    if (msg->display_name.is == TK_SET && s->name.n == 0) {
        return refuse(s, "display_name", "must not be empty");
    }
    s->page.id = s->name.p == NULL ? s->id : none; /* either one matches */
    return read_owner(s) && read_cursor(s) && read_statuses(s);
}

/* ---- matching ---- */

static bool is_active(const search *s, tk_str id)
{
    tk_mutex_lock(&s->server->lock);
    bool active = srv_session_find(s->server, id) != NULL;
    tk_mutex_unlock(&s->server->lock);
    return active;
}

static bool has_status(const search *s, const srv_store_found *found, bool active)
{
    for (size_t i = 0; i < s->msg.statuses_n; i++) {
        const tk_session_status_query *at = &s->msg.statuses[i];
        bool any_reason = at->reasons.is != TK_SET;
        if ((active && tk_str_is(at->type.v, "active")) ||
            (!active && found->finish_reason.n > 0 &&
             tk_str_is(at->type.v, "client_finished") &&
             (any_reason || srv_msg_has(&at->reasons.v, found->finish_reason)))) {
            return true;
        }
    }
    return !s->msg.has_statuses;
}

static bool has_word(tk_str name, tk_str word)
{
    for (size_t i = 0; i + word.n <= name.n; i++) {
        if (strncasecmp(name.p + i, word.p, word.n) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether every word of what is searched for is somewhere in the display name. */
static bool has_name(const search *s, tk_str name)
{
    tk_str rest = s->name;
    while (rest.n > 0) {
        tk_str word = tk_str_cut(&rest, ' ');
        if (!has_word(name, word)) {
            return false;
        }
    }
    return true;
}

/* Whether it is the session, or one with the name, that is searched for. */
static bool is_wanted(const search *s, const srv_store_found *at)
{
    const tk_strs *projects = &s->msg.project_ids.v;
    if (projects->n > 0 &&
        (at->project_id.n == 0 || !srv_msg_has(projects, at->project_id))) {
        return false;
    }
    if (s->name.p == NULL) {
        return true; /* the database has looked for the id */
    }
    return has_name(s, at->display_name) || (s->id.p != NULL && tk_str_eq(at->id, s->id));
}

/* Whether the server writes a text as it is when it stores it as JSON. */
static bool is_plain(tk_str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < ' ' || text.p[i] > '~' || strchr("\"\\/", text.p[i]) != NULL) {
            return false;
        }
    }
    return true;
}

/* Whether metadata may have what is asked for; most of it need not be parsed then. */
static bool may_match(const search *s, tk_str metadata)
{
    const tk_str_map *want = &s->msg.user_metadata.v;
    for (size_t i = 0; i < want->n; i++) {
        tk_str value = want->items[i].v;
        if (is_plain(value) && memmem(metadata.p, metadata.n, value.p, value.n) == NULL) {
            return false;
        }
    }
    return true;
}

/* The last of equal keys counts. */
static bool has_pair(const tk_json *have, const tk_named_str *pair)
{
    for (size_t i = have->as.object.n; i > 0; i--) {
        const tk_json_member *member = &have->as.object.members[i - 1];
        if (tk_str_eq(member->key, pair->name)) {
            return member->value.type == TK_JSON_STRING &&
                   tk_str_eq(member->value.as.string, pair->v);
        }
    }
    return false;
}

static bool has_metadata(const search *s, const tk_json *have)
{
    const tk_str_map *want = &s->msg.user_metadata.v;
    bool is_object = have != NULL && have->type == TK_JSON_OBJECT;
    for (size_t i = 0; i < want->n; i++) {
        if (!is_object || !has_pair(have, &want->items[i])) {
            return false;
        }
    }
    return true;
}

static void put_key_str(tk_json_writer *w, const char *key, tk_str text)
{
    tk_json_key(w, tk_str_of(key));
    tk_json_put_str(w, text);
}

/* The strings among the metadata: the wire's form has no others. */
static void put_metadata(tk_json_writer *w, const tk_json *metadata)
{
    tk_json_key(w, TK_STR("user_metadata"));
    tk_json_begin_object(w);
    size_t n =
        metadata != NULL && metadata->type == TK_JSON_OBJECT ? metadata->as.object.n : 0;
    for (size_t i = 0; i < n; i++) {
        const tk_json_member *pair = &metadata->as.object.members[i];
        if (pair->value.type == TK_JSON_STRING) {
            tk_json_key(w, pair->key);
            tk_json_put_str(w, pair->value.as.string);
        }
    }
    tk_json_end_object(w);
}

static void put_status(tk_json_writer *w, const srv_store_found *at, bool active)
{
    if (!active && at->finish_reason.n == 0) {
        return;
    }
    tk_json_key(w, TK_STR("status"));
    tk_json_begin_object(w);
    put_key_str(w, "type", active ? TK_STR("active") : TK_STR("client_finished"));
    if (!active) {
        tk_json_key(w, TK_STR("reason"));
        tk_json_begin_object(w);
        put_key_str(w, "type", at->finish_reason);
        tk_json_end_object(w);
        if (at->finish_detail.n > 0) {
            put_key_str(w, "detail", at->finish_detail);
        }
    }
    tk_json_end_object(w);
}

static void put_session(tk_json_writer *w, const srv_store_found *at,
                        const tk_json *metadata, bool active)
{
    char date[TK_DATE_TEXT_BYTES] = "";
    (void)!tk_date_format_micros(date, at->created_us);
    tk_json_begin_object(w);
    put_key_str(w, "session_id", at->id);
    put_key_str(w, "created_at", tk_str_of(date));
    put_key_str(w, "owner", TK_STR(OWNER));
    put_key_str(w, "project_id", at->project_id);
    put_status(w, at, active);
    tk_json_key(w, TK_STR("checkpoints_count"));
    tk_json_put_i64(w, at->n_checkpoints);
    tk_json_key(w, TK_STR("checkpoint_storage_bytes"));
    tk_json_put_i64(w, at->checkpoint_bytes);
    if (at->display_name.n > 0) {
        put_key_str(w, "display_name", at->display_name);
    }
    put_metadata(w, metadata);
    tk_json_end_object(w);
}

static void put_cursor(tk_json_writer *w, const srv_store_found *last)
{
    char date[TK_DATE_TEXT_BYTES] = "";
    (void)!tk_date_format_micros(date, last->created_us);
    tk_json_key(w, TK_STR("next_cursor"));
    tk_json_begin_object(w);
    put_key_str(w, "last_created_at", tk_str_of(date));
    put_key_str(w, "last_session_id", last->id);
    tk_json_end_object(w);
}

/* Writes a session unless it is not what is searched for. Its metadata is parsed in memory
 * of its own, which is freed at once. */
static bool put_match(search *s, tk_json_writer *w, const srv_store_found *at)
{
    tk_arena arena;
    const tk_json *metadata = NULL;
    tk_err ignored = TK_ERR_INIT;
    bool active = is_active(s, at->id);
    if (!has_status(s, at, active) || !is_wanted(s, at) ||
        !may_match(s, at->user_metadata)) {
        return false;
    }
    tk_arena_init_quota(&arena, METADATA_TREE_BYTES, hd_request_quota(s->request));
    if (at->user_metadata.n > 0) {
        (void)!tk_json_parse(&metadata, &arena, at->user_metadata.p, at->user_metadata.n,
                             NULL, &ignored);
    }
    bool matches = has_metadata(s, metadata);
    if (matches) {
        put_session(w, at, metadata, active);
    }
    tk_arena_dispose(&arena);
    return matches;
}

/* Goes through one page. Returns whether that was enough: `limit` sessions match, or the
 * answer is long. The cursor is then at the last session that was looked at. */
static bool look_through(search *s, tk_json_writer *w, const srv_store_founds *page)
{
    for (size_t i = 0; i < page->n; i++) {
        const srv_store_found *at = &page->p[i];
        s->left -= put_match(s, w, at);
        if (s->left == 0 || w->out->n > TK_SRV_SEARCH_TEXT_BYTES ||
            (i + 1 == page->n && s->scanned > TK_SRV_SEARCH_SCAN_BYTES)) {
            tk_json_end_array(w);
            put_cursor(w, at);
            return true;
        }
    }
    return false;
}

/* Pages of the store until there is enough or no more. Only one page is in memory. */
static tinkc_code find(search *s, tk_json_writer *w, tk_err *err)
{
    tk_arena arena;
    srv_store_founds page;
    char before_id[TK_SRV_ID_BYTES];
    bool enough = false;
    s->left = s->page.limit;
    do {
        tk_arena_init_quota(&arena, 0, hd_request_quota(s->request));
        tinkc_code code =
            srv_store_search_sessions(&page, s->server->store, &arena, &s->page, err);
        if (code != TINKC_OK) {
            tk_arena_dispose(&arena);
            return code;
        }
        s->scanned += page.bytes;
        enough = look_through(s, w, &page);
        if (page.n > 0) {
            const srv_store_found *last = &page.p[page.n - 1];
            (void)snprintf(before_id, sizeof(before_id), TK_STR_FMT,
                           TK_STR_ARG(last->id));
            s->page.before_us = last->created_us;
            s->page.before_id = tk_str_of(before_id);
        }
        tk_arena_dispose(&arena);
    } while (!enough && page.more);
    if (!enough) {
        tk_json_end_array(w);
    }
    return TINKC_OK;
}

hd_verdict srv_search_sessions(hd_request *request)
{
    srv *server = request->app;
    search s = {.server = server, .request = request};
    tk_err err = TK_ERR_INIT;
    if (!read_request(&s)) {
        return HD_ANSWERED;
    }
    tk_buf buf;
    tk_json_writer w;
    tk_buf_init_quota(&buf, TK_SRV_BODY_SAMPLE_BYTES, hd_request_quota(request));
    tk_json_writer_init(&w, &buf);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("sessions"));
    tk_json_begin_array(&w);
    if (s.nothing) {
        tk_json_end_array(&w);
    } else if (find(&s, &w, &err) != TINKC_OK) {
        tk_buf_dispose(&buf);
        return hd_reply_error(request, &err);
    }
    tk_json_end_object(&w);
    return hd_reply_buf(request, 200, HD_TYPE_JSON, &buf);
}
