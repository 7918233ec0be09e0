/* `tinkc billing usage`: usage per hour as a table, as JSON or as CSV, in the forms of
 * the official program: tables and CSV have one column for each field that occurs, JSON
 * keeps the shape of the API. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_csv.h"
#include "cli/frame/cmd_rest.h"

static const char *const names[] = {"bucket_start",
                                    "bucket_end",
                                    "base_model",
                                    "user_id",
                                    "user_name",
                                    "session_id",
                                    "project_id",
                                    "estimated_cost_usd",
                                    "effective_rate_usd_per_million_tokens",
                                    "effective_rate_usd_per_gigabyte_month",
                                    "type",
                                    "cached",
                                    "token_count",
                                    "count",
                                    "gigabyte_hours"};
/* Every event has those up to TYPE; where the server gives no costs, without them. */
enum { COST = 7, TOKEN_RATE, STORAGE_RATE, TYPE, CACHED, TOKENS, COUNT, HOURS, ALL };

/* Columns in order of their first appearance. */
typedef struct columns {
    size_t which[ALL];
    const char *titles[ALL];
    size_t n;
} columns;

static void add_column(columns *c, size_t which)
{
    for (size_t i = 0; i < c->n; i++) {
        if (c->which[i] == which) {
            return;
        }
    }
    c->which[c->n] = which;
    c->titles[c->n++] = names[which];
}

/* Whether the server gives costs. */
static bool has_costs(const tinkc_billing *billing)
{
    bool any = billing->cost_data_through_us != TINKC_NO_TIME;
    for (size_t i = 0; i < billing->n && !any; i++) {
        const tinkc_billing_event *e = &billing->items[i];
        any = !isnan(e->cost_usd) || !isnan(e->usd_per_million_tokens) ||
              !isnan(e->usd_per_gigabyte_month);
    }
    return any;
}

static void find_columns(columns *c, const tinkc_billing *billing)
{
    bool costs = has_costs(billing);
    c->n = 0;
    for (size_t i = 0; i <= TYPE; i++) {
        if (costs || i < COST || i > STORAGE_RATE) {
            add_column(c, i);
        }
    }
    for (size_t i = 0; i < billing->n; i++) {
        switch (billing->items[i].kind) {
        case TINKC_BILLING_SAMPLING_PREFILL:
            add_column(c, CACHED);
            add_column(c, TOKENS);
            break;
        case TINKC_BILLING_TRAINING:
        case TINKC_BILLING_SAMPLING_SAMPLE:
            add_column(c, TOKENS);
            break;
        case TINKC_BILLING_CHECKPOINT:
            add_column(c, COUNT);
            break;
        case TINKC_BILLING_STORAGE:
            add_column(c, HOURS);
            break;
        case TINKC_BILLING_OTHER:
            break;
        }
    }
}

static const char *number(char out[CMD_WORD_BYTES], int64_t value)
{
    (void)snprintf(out, CMD_WORD_BYTES, "%lld", (long long)value);
    return value >= 0 ? out : "";
}

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

static bool has_tokens(const tinkc_billing_event *e)
{
    return e->kind == TINKC_BILLING_TRAINING ||
           e->kind == TINKC_BILLING_SAMPLING_SAMPLE ||
           e->kind == TINKC_BILLING_SAMPLING_PREFILL;
}

/* A cost or rate; one that the event should have and has not is `none`. */
static const char *price(char out[CMD_WORD_BYTES], double value, bool applies,
                         const char *none)
{
    return !isnan(value) ? cmd_out_real(out, value) : applies ? none : "";
}

/* Returns the text of a cell, which may be in `out`. */
static const char *cell(char out[CMD_WORD_BYTES], const tinkc_billing_event *e,
                        size_t which, const char *none)
{
    bool tokens = has_tokens(e), storage = e->kind == TINKC_BILLING_STORAGE;
    switch (which) {
    case 0:
    case 1:
        (void)tinkc_time_format(out, CMD_WORD_BYTES,
                                which == 0 ? e->start_us : e->end_us);
        return out;
    case 2:
        return or_empty(e->base_model);
    case 3:
        return or_empty(e->user_id);
    case 4:
        return or_empty(e->user_name);
    case 5:
        return or_empty(e->session_id);
    case 6:
        return or_empty(e->project_id);
    case COST:
        return price(out, e->cost_usd, tokens || storage, none);
    case TOKEN_RATE:
        return price(out, e->usd_per_million_tokens, tokens, none);
    case STORAGE_RATE:
        return price(out, e->usd_per_gigabyte_month, storage, none);
    case TYPE:
        return e->kind_text;
    case CACHED:
        return e->kind != TINKC_BILLING_SAMPLING_PREFILL ? ""
               : e->is_cached                            ? "True"
                                                         : "False";
    case TOKENS:
        return number(out, e->token_count);
    case COUNT:
        return number(out, e->count);
    default:
        return storage ? cmd_out_real(out, e->gigabyte_hours) : "";
    }
}

/* ---- table and JSON ---- */

static int show_table(const cmd_args *args, const tinkc_billing *billing)
{
    columns c;
    char word[CMD_WORD_BYTES];
    find_columns(&c, billing);
    cmd_table *table = cmd_table_new(c.titles, c.n);
    cmd_table_title(table,
                    billing->n > 0 ? "%zu hourly usage row(s)"
                                   : "No billing usage in this window",
                    billing->n);
    for (size_t i = 0; i < billing->n; i++) {
        for (size_t k = 0; k < c.n; k++) {
            cmd_table_put(table, cell(word, &billing->items[i], c.which[k], "null"));
        }
    }
    return cmd_table_print(&table, args);
}

static void put_info(cmd_json *json, const tinkc_billing_event *e)
{
    tk_json_begin_object(&json->w);
    cmd_json_pair(json, "type", e->kind_text);
    if (e->kind == TINKC_BILLING_SAMPLING_PREFILL) {
        cmd_json_key(json, "cached");
        tk_json_put_bool(&json->w, e->is_cached);
    }
    if (e->kind == TINKC_BILLING_CHECKPOINT) {
        cmd_json_key(json, "count");
        tk_json_put_i64(&json->w, e->count);
    } else if (e->kind == TINKC_BILLING_STORAGE) {
        cmd_json_key(json, "gigabyte_hours");
        tk_json_put_double(&json->w, e->gigabyte_hours);
    } else if (e->kind != TINKC_BILLING_OTHER) {
        cmd_json_key(json, "token_count");
        tk_json_put_i64(&json->w, e->token_count);
    }
    tk_json_end_object(&json->w);
}

static void put_event(cmd_json *json, const tinkc_billing_event *e, bool costs)
{
    tk_json_begin_object(&json->w);
    cmd_json_key(json, "bucket_start");
    cmd_json_time(json, e->start_us);
    cmd_json_key(json, "bucket_end");
    cmd_json_time(json, e->end_us);
    cmd_json_pair(json, "base_model", e->base_model);
    cmd_json_pair(json, "user_id", e->user_id);
    cmd_json_pair(json, "user_name", e->user_name);
    cmd_json_pair(json, "session_id", e->session_id);
    cmd_json_pair(json, "project_id", e->project_id);
    if (costs) {
        const double values[] = {e->cost_usd, e->usd_per_million_tokens,
                                 e->usd_per_gigabyte_month};
        for (size_t i = 0; i < TK_ARRAY_LEN(values); i++) {
            cmd_json_key(json, names[COST + i]);
            cmd_json_real(json, values[i]);
        }
    }
    cmd_json_key(json, "event_info");
    put_info(json, e);
    tk_json_end_object(&json->w);
}

static int show_json(const cmd_args *args, const tinkc_billing *billing)
{
    cmd_json json;
    bool costs = has_costs(billing);
    cmd_json_init(&json);
    tk_json_begin_object(&json.w);
    cmd_json_key(&json, "data");
    tk_json_begin_array(&json.w);
    for (size_t i = 0; i < billing->n; i++) {
        put_event(&json, &billing->items[i], costs);
    }
    tk_json_end_array(&json.w);
    cmd_json_key(&json, "sessions");
    tk_json_begin_object(&json.w);
    for (size_t i = 0; i < billing->sessions_n; i++) {
        const tinkc_billing_session *s = &billing->sessions[i];
        cmd_json_key(&json, s->session_id);
        tk_json_begin_object(&json.w);
        cmd_json_key(&json, "user_metadata");
        cmd_rest_put_metadata(&json, s->metadata, s->metadata_n, s->has_metadata);
        tk_json_end_object(&json.w);
    }
    tk_json_end_object(&json.w);
    if (costs) {
        cmd_json_key(&json, "cost_data_through");
        cmd_json_time(&json, billing->cost_data_through_us);
    }
    tk_json_end_object(&json.w);
    return cmd_json_print(&json, args);
}

static int show_lines(const tinkc_billing *billing)
{
    cmd_json json;
    bool costs = has_costs(billing);
    cmd_json_init(&json);
    for (size_t i = 0; i < billing->n; i++) {
        put_event(&json, &billing->items[i], costs);
        if (!cmd_json_line(&json)) {
            break;
        }
    }
    cmd_json_dispose(&json);
    return CMD_OK;
}

/* ---- CSV ---- */

static void write_usage(tk_buf *to, const tinkc_billing *billing)
{
    columns c;
    char word[CMD_WORD_BYTES];
    find_columns(&c, billing);
    for (size_t k = 0; k < c.n; k++) {
        cmd_csv_put(to, c.titles[k], k + 1 == c.n);
    }
    for (size_t i = 0; i < billing->n; i++) {
        for (size_t k = 0; k < c.n; k++) {
            cmd_csv_put(to, cell(word, &billing->items[i], c.which[k], ""), k + 1 == c.n);
        }
    }
}

static void write_sessions(tk_buf *to, const tinkc_billing *billing)
{
    cmd_csv_put(to, "session_id", false);
    cmd_csv_put(to, "user_metadata", true);
    for (size_t i = 0; i < billing->sessions_n; i++) {
        const tinkc_billing_session *s = &billing->sessions[i];
        cmd_json json;
        tk_buf text;
        tk_buf_init(&text, TK_GIB);
        cmd_json_init(&json);
        if (s->has_metadata) {
            cmd_rest_put_metadata(&json, s->metadata, s->metadata_n, true);
        }
        cmd_json_layout(&text, tk_buf_str(&json.buf), false);
        cmd_csv_put(to, s->session_id, false);
        cmd_csv_put(to, or_empty(tk_buf_cstr(&text)), true);
        tk_buf_dispose(&text);
        cmd_json_dispose(&json);
    }
}

static int write_csv(const char *path, const tinkc_billing *billing,
                     void (*write)(tk_buf *, const tinkc_billing *), size_t rows)
{
    tk_buf csv;
    tk_buf_init(&csv, TK_GIB);
    write(&csv, billing);
    return cmd_csv_write(path, &csv, rows);
}

static int show(const cmd_args *args, const tinkc_billing *billing)
{
    const char *csv = cmd_text(args, "csv", NULL);
    const char *sessions = cmd_text(args, "sessions-csv", NULL);
    int result = CMD_OK;
    if (sessions != NULL) {
        result = write_csv(sessions, billing, write_sessions, billing->sessions_n);
    }
    if (csv != NULL && result == CMD_OK) {
        result = write_csv(csv, billing, write_usage, billing->n);
    }
    if (csv != NULL || sessions != NULL) {
        return result;
    }
    switch (cmd_format_of(args)) {
    case CMD_JSON:
        return show_json(args, billing);
    case CMD_JSONL:
        return show_lines(billing);
    case CMD_TABLE:
        break;
    }
    return show_table(args, billing);
}

static int read_time(int64_t *out, const cmd_args *args, size_t index)
{
    tinkc_error *error = NULL;
    if (tinkc_time_parse(out, cmd_operand(args, index), &error) == TINKC_OK) {
        return CMD_OK;
    }
    tinkc_error_free(&error);
    return cmd_bad_usage(args, "Invalid time: %s (expected 2026-07-13T00:00:00Z).",
                         cmd_operand(args, index));
}

static int usage(const cmd_args *args, tinkc_service *service)
{
    int64_t start = 0, end = 0;
    tinkc_billing *billing = NULL;
    tinkc_error *error = NULL;
    (void)read_time(&start, args, 0);
    (void)read_time(&end, args, 1);
    if (tinkc_rest_billing_wait(&billing, service, start, end, &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    int result = show(args, billing);
    tinkc_billing_free(&billing);
    return result;
}

static int check(const cmd_args *args)
{
    int64_t time;
    int result = read_time(&time, args, 0);
    return result == CMD_OK ? read_time(&time, args, 1) : result;
}

static const cmd_option options[] = {
    {"csv", 0, CMD_TEXT, "FILE", "Write the rows as CSV to FILE ('-': standard output).",
     false},
    {"sessions-csv", 0, CMD_TEXT, "FILE",
     "Write the sessions with their metadata as CSV to FILE.", false},
    {0},
};

const cmd_spec cmd_billing_usage = {
    .name = "billing usage",
    .operands = "STARTING_ON ENDING_BEFORE",
    .min_operands = 2,
    .max_operands = 2,
    .help = "Show the hourly usage of your organization.",
    .more =
        "Both times are RFC 3339, on the hour in UTC and at most 14 days apart. There is\n"
        "one row per hour, kind of usage, base model, session and user, in tokens or\n"
        "gigabyte-hours. Costs, where the server gives them, are estimates in USD before\n"
        "credits. The data may lag by a few hours. Access to billing is required.",
    .examples =
        "tinkc billing usage 2026-07-13T00:00:00Z 2026-07-14T00:00:00Z --csv usage.csv",
    .options = options,
    .check = check,
    .ask = usage,
};
