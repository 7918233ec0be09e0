/* A session that ended without being finished by its client has no status, as the client
 * may only have stopped sending. */
#include "server/api/srv_search.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/date.h"
#include "server/http/srv_reply.h"
#include "server/run/srv_session.h"
#include "server/run/srv_state.h"
#include "server/store/srv_store.h"

#define OWNER         "local"
#define LIMIT_MAX     200
#define LIMIT_DEFAULT 50

#define METADATA_TREE_BYTES (64 * TK_MIB) /* parsed, of one session */

typedef struct search {
    srv *server;
    srv_request *request;
    const tk_json *body;
    bool nothing;            /* asks for what no session here has */
    const tk_json *statuses; /* NULL = any */
    srv_store_search page;
    tk_str id, name; /* what is searched for; {NULL, 0} = any */
    int64_t left;    /* sessions that the answer may still have */
    size_t scanned;  /* bytes of metadata */
} search;

static const tk_json *member(const search *s, const char *key)
{
    const tk_json *value = tk_json_get(s->body, key);
    return value != NULL && value->type != TK_JSON_NULL ? value : NULL;
}

static bool refuse(const search *s, const char *text)
{
    (void)srv_reply_fail(s->request, 422, "%s", text);
    return false;
}

static bool read_cursor(search *s)
{
    tk_err err = TK_ERR_INIT;
    const tk_json *cursor = member(s, "cursor");
    s->page.before_us = INT64_MAX;
    s->page.before_id = TK_STR("");
    if (cursor == NULL) {
        return true;
    }
    const tk_json *at = tk_json_get(cursor, "last_created_at");
    const tk_json *id = tk_json_get(cursor, "last_session_id");
    if (at == NULL || at->type != TK_JSON_STRING || id == NULL ||
        id->type != TK_JSON_STRING ||
        tk_date_parse(&s->page.before_us, at->as.string, &err) != TINKC_OK) {
        return refuse(s, "cursor is not one of this server's");
    }
    s->page.before_id = id->as.string;
    return true;
}

/* Everything here belongs to one owner. */
static bool read_owner(search *s)
{
    const tk_json *owner = member(s, "owner");
    const tk_json *type = owner != NULL ? tk_json_get(owner, "type") : NULL;
    if (owner == NULL) {
        return true;
    }
    if (type == NULL || type->type != TK_JSON_STRING) {
        return refuse(s, "owner needs a type");
    }
    if (tk_str_is(type->as.string, "user")) {
        const tk_json *urns = tk_json_get(owner, "owner_urns");
        bool mine = false;
        for (size_t i = 0; urns != NULL && i < tk_json_len(urns); i++) {
            tk_json urn = tk_json_at(urns, i);
            mine =
                mine || (urn.type == TK_JSON_STRING && tk_str_is(urn.as.string, OWNER));
        }
        s->nothing = s->nothing || !mine;
        return true;
    }
    return tk_str_is(type->as.string, "own") ||
           tk_str_is(type->as.string, "accessible") ||
           refuse(s, "owner.type must be own, accessible or user");
}

static bool read_statuses(search *s)
{
    const tk_json *statuses = member(s, "statuses");
    if (statuses == NULL) {
        return true;
    }
    if (!tk_json_is_array(statuses) || tk_json_len(statuses) == 0) {
        return refuse(s, "statuses must be a list that is not empty");
    }
    for (size_t i = 0; i < tk_json_len(statuses); i++) {
        tk_json at = tk_json_at(statuses, i);
        const tk_json *type = tk_json_get(&at, "type");
        if (type == NULL || type->type != TK_JSON_STRING) {
            return refuse(s, "a status needs a type");
        }
        const tk_json *reasons = tk_json_get(&at, "reasons");
        if (reasons != NULL && reasons->type != TK_JSON_NULL &&
            !tk_json_is_array(reasons)) {
            return refuse(s, "reasons of a status must be a list");
        }
    }
    s->statuses = statuses;
    return true;
}

static bool read_body(search *s)
{
    srv_request *request = s->request;
    tk_err err = TK_ERR_INIT;
    int64_t limit = LIMIT_DEFAULT;
    tk_str text = request->body.n > 0 ? tk_buf_str(&request->body) : TK_STR("{}");
    if (tk_json_parse(&s->body, &request->arena, text.p, text.n, NULL, &err) !=
        TINKC_OK) {
        (void)srv_reply_error(request, &err);
        return false;
    }
    if (s->body->type != TK_JSON_OBJECT) {
        return refuse(s, "the body must be an object");
    }
    const tk_json *value = member(s, "limit");
    if (value != NULL &&
        (!tk_json_to_i64(value, &limit) || limit < 1 || limit > LIMIT_MAX)) {
        return refuse(s, "limit must be 1 to 200");
    }
    s->page.limit = limit;
    value = member(s, "session_id");
    if (value != NULL && value->type != TK_JSON_STRING) {
        return refuse(s, "session_id must be a string");
    }
    s->id = value != NULL ? value->as.string : (tk_str){NULL, 0};
    value = member(s, "display_name");
    if (value != NULL && (value->type != TK_JSON_STRING || value->as.string.n == 0)) {
        return refuse(s, "display_name must be a string that is not empty");
    }
    s->name = value != NULL ? value->as.string : (tk_str){NULL, 0};
    s->page.id = value == NULL ? s->id : (tk_str){NULL, 0}; /* either one matches */
    value = member(s, "user_metadata");
    if (value != NULL && value->type != TK_JSON_OBJECT) {
        return refuse(s, "user_metadata must be an object");
    }
    value = member(s, "project_ids");
    if (value != NULL && value->type != TK_JSON_ARRAY) {
        return refuse(s, "project_ids must be an array");
    }
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

static bool is_one_of(tk_str word, const tk_json *words)
{
    if (words == NULL || words->type == TK_JSON_NULL) {
        return true;
    }
    for (size_t i = 0; i < tk_json_len(words); i++) {
        tk_json at = tk_json_at(words, i);
        if (at.type == TK_JSON_STRING && tk_str_eq(at.as.string, word)) {
            return true;
        }
    }
    return false;
}

static bool has_status(const search *s, const srv_store_found *found, bool active)
{
    for (size_t i = 0; s->statuses != NULL && i < tk_json_len(s->statuses); i++) {
        tk_json at = tk_json_at(s->statuses, i);
        tk_str type = tk_json_get(&at, "type")->as.string;
        if ((active && tk_str_is(type, "active")) ||
            (!active && found->finish_reason.n > 0 &&
             tk_str_is(type, "client_finished") &&
             is_one_of(found->finish_reason, tk_json_get(&at, "reasons")))) {
            return true;
        }
    }
    return s->statuses == NULL;
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

static bool has_project(const search *s, tk_str project_id)
{
    const tk_json *want = member(s, "project_ids");
    size_t n = want != NULL ? tk_json_len(want) : 0;
    for (size_t i = 0; i < n; i++) {
        const tk_json item = tk_json_at(want, i);
        if (item.type == TK_JSON_STRING && item.as.string.n > 0 &&
            tk_str_eq(item.as.string, project_id)) {
            return true;
        }
    }
    return n == 0;
}

/* Whether it is the session, or one with the name, that is searched for. */
static bool is_wanted(const search *s, const srv_store_found *at)
{
    if (!has_project(s, at->project_id)) {
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
    const tk_json *want = member(s, "user_metadata");
    for (size_t i = 0; want != NULL && i < want->as.object.n; i++) {
        const tk_json *value = &want->as.object.members[i].value;
        if (value->type != TK_JSON_STRING ||
            (is_plain(value->as.string) &&
             memmem(metadata.p, metadata.n, value->as.string.p, value->as.string.n) ==
                 NULL)) {
            return false;
        }
    }
    return true;
}

static bool has_metadata(const search *s, const tk_json *have)
{
    const tk_json *want = member(s, "user_metadata");
    for (size_t i = 0; want != NULL && i < want->as.object.n; i++) {
        const tk_json_member *pair = &want->as.object.members[i];
        const tk_json *value = tk_json_get(have, pair->key.p);
        if (value == NULL || value->type != TK_JSON_STRING ||
            pair->value.type != TK_JSON_STRING ||
            !tk_str_eq(value->as.string, pair->value.as.string)) {
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
    tk_arena_init_quota(&arena, METADATA_TREE_BYTES, srv_request_quota(s->request));
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
        tk_arena_init_quota(&arena, 0, srv_request_quota(s->request));
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

srv_verdict srv_search_sessions(srv_request *request)
{
    srv *server = request->app;
    search s = {.server = server, .request = request};
    tk_err err = TK_ERR_INIT;
    if (!read_body(&s)) {
        return SRV_ANSWERED;
    }
    tk_buf buf;
    tk_json_writer w;
    tk_buf_init(&buf, TK_SRV_BODY_SAMPLE_BYTES);
    tk_json_writer_init(&w, &buf);
    tk_json_begin_object(&w);
    tk_json_key(&w, TK_STR("sessions"));
    tk_json_begin_array(&w);
    if (s.nothing) {
        tk_json_end_array(&w);
    } else if (find(&s, &w, &err) != TINKC_OK) {
        tk_buf_dispose(&buf);
        return srv_reply_error(request, &err);
    }
    tk_json_end_object(&w);
    return srv_reply_buf(request, 200, SRV_TYPE_JSON, &buf);
}
