/* `tinkc session search` and `tinkc checkpoint search`. The official program has neither;
 * JSON has the keys of the API. */
#include <poll.h>
#include <string.h>

#include <tinkc/search.h>

#include "base/tk.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_listing.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_progress.h"
#include "cli/frame/cmd_rest.h"

#define PAIRS_MAX 32
#define PAGE_MAX  200
#define EMPTY_MS  100

/* ---- KEY=VALUE ---- */

typedef struct pairs {
    char text[PAIRS_MAX][512];
    tinkc_pair items[PAIRS_MAX];
    size_t n;
} pairs;

static bool read_pairs(pairs *out, const cmd_args *args)
{
    out->n = cmd_count(args, "metadata");
    for (size_t i = 0; i < out->n; i++) {
        const char *text = cmd_at(args, "metadata", i);
        const char *equals = strchr(text, '=');
        if (i == PAIRS_MAX || equals == NULL || equals == text ||
            strlen(text) >= sizeof(out->text[0])) {
            return false;
        }
        memcpy(out->text[i], text, strlen(text) + 1);
        out->text[i][equals - text] = '\0';
        out->items[i] = (tinkc_pair){out->text[i], out->text[i] + (equals - text) + 1};
    }
    return true;
}

static int check(const cmd_args *args)
{
    static pairs p;
    if (cmd_int(args, "limit", 0) < 0) {
        return cmd_bad_usage(args, "--limit must be 0 or more.");
    }
    return read_pairs(&p, args)
               ? CMD_OK
               : cmd_bad_usage(args, "--metadata is KEY=VALUE, at most %d times.",
                               PAIRS_MAX);
}

/* Whether there is a page after one of `n` items: not when the server gives the same
 * cursor again. A server whose pages are empty is not hurried. */
static bool goes_on(const char *cursor, const char *next, size_t n)
{
    if (next == NULL || (cursor != NULL && strcmp(cursor, next) == 0)) {
        return false;
    }
    if (n == 0) {
        (void)poll(NULL, 0, EMPTY_MS);
    }
    return true;
}

/* Items of the next page, or 0 for its usual size. */
static int64_t page_of(const cmd_args *args, size_t n)
{
    int64_t limit = cmd_int(args, "limit", 20);
    return limit == 0 ? PAGE_MAX : TK_MIN(limit - (int64_t)n, (int64_t)PAGE_MAX);
}

static bool is_enough(const cmd_args *args, size_t n)
{
    int64_t limit = cmd_int(args, "limit", 20);
    return limit > 0 && (int64_t)n >= limit;
}

/* ---- sessions ---- */

static void put_session(cmd_listing *list, const tinkc_found_session *s)
{
    char word[CMD_WORD_BYTES];
    if (list->format == CMD_TABLE) {
        cmd_table_put(list->table, s->id);
        cmd_table_put(list->table, s->display_name != NULL ? s->display_name : "");
        cmd_table_put(list->table, s->status != NULL ? s->status : "N/A");
        cmd_table_printf(list->table, "%lld", (long long)s->checkpoints);
        cmd_table_put(list->table, cmd_out_time(word, s->created_us));
        return;
    }
    cmd_json *json = &list->json;
    tk_json_begin_object(&json->w);
    cmd_json_pair(json, "session_id", s->id);
    cmd_json_key(json, "created_at");
    cmd_json_time(json, s->created_us);
    cmd_json_pair(json, "owner", s->owner);
    cmd_json_pair(json, "project_id", s->project_id);
    cmd_json_pair(json, "status", s->status);
    cmd_json_key(json, "checkpoints_count");
    cmd_json_count(json, s->checkpoints);
    cmd_json_pair(json, "display_name", s->display_name);
    cmd_json_key(json, "user_metadata");
    cmd_rest_put_metadata(json, s->metadata, s->metadata_n, s->has_metadata);
    cmd_json_key(json, "checkpoint_storage_bytes");
    cmd_json_count(json, s->checkpoint_bytes);
    tk_json_end_object(&json->w);
}

static int search_sessions(const cmd_args *args, tinkc_service *service)
{
    static const char *const columns[] = {"Session ID", "Name", "Status", "Checkpoints",
                                          "Created"};
    static pairs p;
    cmd_listing list;
    tinkc_error *error = NULL;
    tinkc_found_sessions *page = NULL, *last = NULL;
    tinkc_session_query query = TINKC_SESSION_QUERY_INIT;
    (void)read_pairs(&p, args);
    query.display_name = cmd_operands(args) > 0 ? cmd_operand(args, 0) : NULL;
    query.metadata = p.items;
    query.metadata_n = p.n;
    query.scope = cmd_has(args, "all") ? TINKC_SCOPE_ACCESSIBLE : TINKC_SCOPE_OWNED;
    const char *status = cmd_text(args, "status", NULL);
    query.statuses = &status;
    query.statuses_n = status != NULL;
    cmd_listing_begin(&list, args, columns, TK_ARRAY_LEN(columns));
    cmd_listing_key(&list, "sessions");
    bool go_on = true;
    do {
        query.limit = page_of(args, list.n);
        if (tinkc_rest_search_sessions_wait(&page, service, &query, &error) != TINKC_OK) {
            tinkc_found_sessions_free(&last);
            cmd_listing_abandon(&list);
            return cmd_fail_error(&error, NULL);
        }
        for (size_t i = 0; go_on && i < page->n; i++) {
            put_session(&list, &page->items[i]);
            go_on = cmd_listing_next(&list);
        }
        go_on = go_on && !is_enough(args, list.n) &&
                goes_on(query.cursor, page->next, page->n);
        tinkc_found_sessions_free(&last);
        last = page;
        query.cursor = page->next;
    } while (go_on);
    tinkc_found_sessions_free(&last);
    cmd_table_title(list.table, list.n == 0 ? "No sessions found" : "%zu session%s",
                    list.n, list.n == 1 ? "" : "s");
    return cmd_listing_end(&list);
}

static const cmd_option session_options[] = {
    {"metadata", 0, CMD_TEXT, "KEY=VALUE", "Metadata that must be there.", true},
    {"status", 0, CMD_CHOICE, "active|cancelled|failed|client_finished",
     "Status of the session.", false},
    {"all", 0, CMD_FLAG, NULL, "Also sessions of others that may be read.", false},
    {"limit", 0, CMD_INT, "N", "At most N sessions (20); 0: all.", false},
    {0},
};

const cmd_spec cmd_session_search = {
    .name = "session search",
    .operands = "[NAME]",
    .max_operands = 1,
    .help = "Search sessions by name, metadata and status.",
    .more = "NAME: words that the display name contains, in any case.",
    .examples = "tinkc session search nightly --metadata team=red",
    .options = session_options,
    .check = check,
    .ask = search_sessions,
};

/* ---- checkpoints ---- */

static void put_checkpoint(cmd_listing *list, const tinkc_checkpoint *c)
{
    char word[CMD_WORD_BYTES];
    if (list->format != CMD_TABLE) {
        cmd_rest_put_checkpoint(&list->json, c);
        return;
    }
    cmd_table_put(list->table, c->id);
    cmd_table_put(list->table, c->type_text);
    cmd_table_put(list->table, c->base_model != NULL ? c->base_model : "N/A");
    cmd_table_put(list->table, cmd_out_size(word, c->size_bytes));
    cmd_table_put(list->table, cmd_out_time(word, c->time_us));
    cmd_table_put(list->table, c->path);
}

static int search_checkpoints(const cmd_args *args, tinkc_service *service)
{
    static const char *const columns[] = {"Checkpoint ID", "Type",    "Model",
                                          "Size",          "Created", "Path"};
    static pairs p;
    cmd_listing list;
    tinkc_error *error = NULL;
    tinkc_checkpoints *page = NULL, *last = NULL;
    tinkc_checkpoint_query query = TINKC_CHECKPOINT_QUERY_INIT;
    const char *model = cmd_text(args, "model", NULL);
    (void)read_pairs(&p, args);
    query.type = cmd_text(args, "type", NULL);
    query.base_models = model != NULL ? &model : NULL;
    query.base_models_n = model != NULL;
    query.metadata = p.items;
    query.metadata_n = p.n;
    query.scope = cmd_has(args, "all") ? TINKC_SCOPE_ACCESSIBLE : TINKC_SCOPE_OWNED;
    cmd_listing_begin(&list, args, columns, TK_ARRAY_LEN(columns));
    cmd_listing_key(&list, "checkpoints");
    bool go_on = true;
    do {
        query.limit = page_of(args, list.n);
        if (tinkc_rest_search_checkpoints_wait(&page, service, &query, &error) !=
            TINKC_OK) {
            tinkc_checkpoints_free(&last);
            cmd_listing_abandon(&list);
            return cmd_fail_error(&error, NULL);
        }
        for (size_t i = 0; go_on && i < page->n; i++) {
            put_checkpoint(&list, &page->items[i]);
            go_on = cmd_listing_next(&list);
        }
        go_on = go_on && !is_enough(args, list.n) &&
                goes_on(query.cursor, page->next, page->n);
        tinkc_checkpoints_free(&last);
        last = page;
        query.cursor = page->next;
    } while (go_on);
    tinkc_checkpoints_free(&last);
    cmd_table_title(list.table, list.n == 0 ? "No checkpoints found" : "%zu checkpoint%s",
                    list.n, list.n == 1 ? "" : "s");
    return cmd_listing_end(&list);
}

static const cmd_option checkpoint_options[] = {
    {"metadata", 0, CMD_TEXT, "KEY=VALUE", "Metadata that must be there.", true},
    {"type", 0, CMD_CHOICE, "training|sampler|external", "Type of the checkpoint.",
     false},
    {"model", 'm', CMD_TEXT, "NAME", "Base model.", false},
    {"all", 0, CMD_FLAG, NULL, "Also checkpoints of others that may be read.", false},
    {"limit", 0, CMD_INT, "N", "At most N checkpoints (20); 0: all.", false},
    {0},
};

const cmd_spec cmd_checkpoint_search = {
    .name = "checkpoint search",
    .operands = "",
    .help = "Search checkpoints by metadata, type and base model.",
    .examples = "tinkc checkpoint search --metadata step=100 --type training",
    .options = checkpoint_options,
    .check = check,
    .ask = search_checkpoints,
};
