/* Shows what `tinkc doctor --deep` found: a table with a sentence for every row that is not
 * ok, or JSON. */
#include <stdio.h>
#include <string.h>

#include "cli/doctor/deep.h"
#include "cli/frame/cmd_listing.h"
#include "cli/frame/cmd_print.h"

static const char *const words[] = {[DEEP_OK] = "ok",
                                    [DEEP_OFF] = "OFF",
                                    [DEEP_NOT_OFFERED] = "not offered",
                                    [DEEP_FAILED] = "FAILED",
                                    [DEEP_NOT_TRIED] = "not tried"};
static const char *const keys[] = {[DEEP_OK] = "ok",
                                   [DEEP_OFF] = "off",
                                   [DEEP_NOT_OFFERED] = "not_offered",
                                   [DEEP_FAILED] = "failed",
                                   [DEEP_NOT_TRIED] = "not_tried"};

static size_t count(const deep *d, deep_verdict verdict)
{
    size_t n = 0;
    for (size_t i = 0; i < d->rows_n; i++) {
        n += d->rows[i].verdict == verdict;
    }
    return n;
}

static void put_row(cmd_table *table, const deep_row *row)
{
    cmd_table_put(table, row->check->name);
    cmd_table_put(table, words[row->verdict]);
    cmd_table_printf(table, "%.1f ms", row->ms);
    cmd_table_put(table, row->check->asked);
    cmd_table_put(table, row->check->expected);
    cmd_table_put(table, row->seen);
}

static void put_json(cmd_json *json, const deep_row *row)
{
    tk_json_begin_object(&json->w);
    cmd_json_pair(json, "check", row->check->name);
    cmd_json_pair(json, "verdict", keys[row->verdict]);
    cmd_json_pair(json, "asked", row->check->asked);
    cmd_json_pair(json, "expected", row->check->expected);
    cmd_json_pair(json, "seen", row->seen);
    cmd_json_pair(json, "sentence", row->why);
    cmd_json_key(json, "milliseconds");
    cmd_json_real(json, row->ms);
    tk_json_end_object(&json->w);
}

/* Writes what comes before the rows of the JSON document. */
static void put_summary(cmd_json *json, const deep *d)
{
    char url[DEEP_TEXT_BYTES];
    (void)tinkc_config_get(url, sizeof(url), d->config, "base_url");
    cmd_json_pair(json, "server", url);
    cmd_json_pair(json, "model", d->base_model);
    cmd_json_key(json, "counts");
    tk_json_begin_object(&json->w);
    for (size_t i = 0; i < TK_ARRAY_LEN(keys); i++) {
        cmd_json_key(json, keys[i]);
        cmd_json_count(json, (int64_t)count(d, (deep_verdict)i));
    }
    tk_json_end_object(&json->w);
    cmd_json_key(json, "trained_tokens");
    cmd_json_count(json, (int64_t)d->trained);
    cmd_json_key(json, "sampled_tokens");
    cmd_json_count(json, (int64_t)d->sampled);
    cmd_json_key(json, "seconds");
    cmd_json_real(json, d->seconds);
}

/* Prints a sentence for every row that is not ok; rows that follow each other and have the
 * same share it. */
static void print_sentences(const deep *d)
{
    for (size_t i = 0; i < d->rows_n; i++) {
        const deep_row *row = &d->rows[i];
        if (row->verdict == DEEP_OK) {
            continue;
        }
        cmd_print(stdout, "%s", row->check->name);
        while (i + 1 < d->rows_n && d->rows[i + 1].verdict == row->verdict &&
               strcmp(d->rows[i + 1].why, row->why) == 0) {
            cmd_print(stdout, ", %s", d->rows[++i].check->name);
        }
        cmd_print(stdout, ": %s. %s\n", words[row->verdict], row->why);
    }
}

static void print_summary(const deep *d)
{
    cmd_print(stdout,
              "%zu ok, %zu off, %zu failed, %zu not offered, %zu not tried. Cost: %zu "
              "tokens trained on, %zu sampled or scored, %.1f s.\n",
              count(d, DEEP_OK), count(d, DEEP_OFF), count(d, DEEP_FAILED),
              count(d, DEEP_NOT_OFFERED), count(d, DEEP_NOT_TRIED), d->trained,
              d->sampled, d->seconds);
}

int deep_show(const deep *d)
{
    static const char *const columns[] = {"Check", "Verdict",  "Time",
                                          "Asked", "Expected", "Seen"};
    cmd_listing list;
    cmd_listing_begin(&list, d->args, columns, TK_ARRAY_LEN(columns));
    if (list.format == CMD_JSON) {
        put_summary(&list.json, d);
    }
    cmd_listing_key(&list, "checks");
    for (size_t i = 0; i < d->rows_n; i++) {
        if (list.format == CMD_TABLE) {
            put_row(list.table, &d->rows[i]);
        } else {
            put_json(&list.json, &d->rows[i]);
        }
        if (!cmd_listing_next(&list)) {
            break;
        }
    }
    bool is_table = list.format == CMD_TABLE;
    int result = cmd_listing_end(&list);
    if (result == CMD_OK && is_table) {
        print_sentences(d);
        print_summary(d);
    }
    return result;
}
