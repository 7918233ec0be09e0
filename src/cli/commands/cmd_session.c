/* `tinkc session list`, `info`, `assign` and `export-trace`. Only the last exists in the
 * official program, whose options and output it has. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/mem.h"
#include "cli/cmd_list.h"
#include "cli/frame/cmd_download.h"
#include "cli/frame/cmd_listing.h"
#include "cli/frame/cmd_print.h"
#include "cli/frame/cmd_progress.h"
#include "cli/frame/cmd_rest.h"

#define DIR_BYTES 4096

/* ---- list ---- */

static void put(cmd_listing *list, const char *id)
{
    if (list->format == CMD_TABLE) {
        cmd_table_put(list->table, id);
    } else if (list->format == CMD_JSON) {
        cmd_json_text(&list->json, id);
    } else {
        tk_json_begin_object(&list->json.w);
        cmd_json_pair(&list->json, "session_id", id);
        tk_json_end_object(&list->json.w);
    }
}

static int list_sessions(const cmd_args *args, tinkc_service *service)
{
    static const char *const columns[] = {"Session ID"};
    cmd_listing list;
    tinkc_pager *pager = NULL;
    tinkc_error *error = NULL;
    const tinkc_pager_options options = cmd_rest_page(args);
    tinkc_code code = tinkc_pager_sessions(&pager, service, &options, &error);
    cmd_listing_begin(&list, args, columns, 1);
    cmd_listing_key(&list, "sessions");
    for (bool go_on = true; code == TINKC_OK && go_on;) {
        const char *id = NULL;
        code = tinkc_pager_next_session(&id, pager, &error);
        if (code == TINKC_OK) {
            put(&list, id);
            go_on = cmd_listing_next(&list);
            cmd_progress("Fetching sessions: %zu", list.n);
        }
    }
    tinkc_pager_close(&pager);
    if (code != TINKC_OK && code != TINKC_E_MISSING) {
        cmd_listing_abandon(&list);
        return cmd_fail_error(&error, NULL);
    }
    tinkc_error_free(&error);
    cmd_table_title(list.table, list.n == 0 ? "No sessions found" : "%zu session%s",
                    list.n, list.n == 1 ? "" : "s");
    return cmd_listing_end(&list);
}

/* ---- info ---- */

static void put_ids(cmd_json *json, const char *key, const char *const *ids, size_t n)
{
    cmd_json_key(json, key);
    tk_json_begin_array(&json->w);
    for (size_t i = 0; i < n; i++) {
        cmd_json_text(json, ids[i]);
    }
    tk_json_end_array(&json->w);
}

static int show_info(const cmd_args *args, const tinkc_session_info *info)
{
    const char *id = cmd_operand(args, 0);
    if (cmd_wants_json(args)) {
        cmd_json json;
        cmd_json_init(&json);
        tk_json_begin_object(&json.w);
        cmd_json_pair(&json, "session_id", id);
        put_ids(&json, "training_run_ids", info->run_ids, info->run_ids_n);
        put_ids(&json, "sampler_ids", info->sampler_ids, info->sampler_ids_n);
        tk_json_end_object(&json.w);
        return cmd_json_print(&json, args);
    }
    cmd_table *table = cmd_table_properties();
    cmd_table_title(table, "Session: %s", id);
    cmd_table_row(table, "Session ID", id);
    for (size_t i = 0; i < info->run_ids_n; i++) {
        cmd_table_row(table, "Training Run", info->run_ids[i]);
    }
    for (size_t i = 0; i < info->sampler_ids_n; i++) {
        cmd_table_row(table, "Sampler", info->sampler_ids[i]);
    }
    return cmd_table_print(&table, args);
}

static int info_session(const cmd_args *args, tinkc_service *service)
{
    tinkc_session_info *info = NULL;
    tinkc_error *error = NULL;
    if (tinkc_rest_get_session_wait(&info, service, cmd_operand(args, 0),
                                    cmd_rest_scope(args), &error) != TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    int result = show_info(args, info);
    tinkc_session_info_free(&info);
    return result;
}

/* ---- assign ---- */

static int assign(const cmd_args *args, tinkc_service *service)
{
    tinkc_error *error = NULL;
    return tinkc_rest_assign_project_wait(service, cmd_operand(args, 0),
                                          cmd_operand(args, 1), &error) == TINKC_OK
               ? CMD_OK
               : cmd_fail_error(&error, NULL);
}

/* ---- export-trace ---- */

static int show_trace(const cmd_args *args, const char *url, const char *file,
                      uint64_t size)
{
    char word[CMD_WORD_BYTES];
    const char *id = cmd_operand(args, 0);
    if (cmd_wants_json(args)) {
        cmd_json json;
        cmd_json_init(&json);
        tk_json_begin_object(&json.w);
        cmd_json_pair(&json, "session_id", id);
        cmd_json_pair(&json, url != NULL ? "url" : "destination",
                      url != NULL ? url : file);
        if (url == NULL && size > 0) {
            cmd_json_key(&json, "file_size_bytes");
            tk_json_put_u64(&json.w, size);
        }
        tk_json_end_object(&json.w);
        return cmd_json_print(&json, args);
    }
    if (url != NULL) {
        cmd_print(stdout, "%s\n", url);
        return CMD_OK;
    }
    cmd_table *table = cmd_table_properties();
    cmd_table_title(table, "Trace Export: %s", id);
    cmd_table_row(table, "Session ID", id);
    cmd_table_row(table, "Saved to", file);
    cmd_table_row(table, "Size", cmd_out_size(word, (int64_t)size));
    return cmd_table_print(&table, args);
}

/* Returns --output, or ID.pftrace in the current directory, and creates its parents. The
 * caller frees it with tk_free. NULL on failure. */
static char *trace_file(const cmd_args *args)
{
    char here[DIR_BYTES], name[DIR_BYTES];
    tk_err err = TK_ERR_INIT;
    const char *output = cmd_text(args, "output", NULL);
    if (output == NULL) {
        (void)snprintf(name, sizeof(name), "%s.pftrace", cmd_operand(args, 0));
        return tk_file_join(getcwd(here, sizeof(here)) != NULL ? here : ".", name);
    }
    char *parent = tk_file_parent(output);
    bool ok = parent != NULL && tk_file_mkdirs(parent, 0777, &err) == TINKC_OK;
    tk_free(parent);
    return ok ? tk_strdup(output) : NULL;
}

static int fetch_trace(const cmd_args *args, tinkc_service *service, const char *url)
{
    tinkc_progress result = {0};
    tinkc_error *error = NULL;
    tinkc_download_options options = cmd_download_options(args);
    char *file = trace_file(args);
    if (file == NULL) {
        return cmd_fail_hint("Check that the directory is writable.",
                             "Failed to save trace: cannot create the directory of %s",
                             cmd_text(args, "output", "the trace"));
    }
    options.overwrite = true;
    cmd_signal_catch();
    tinkc_code code = tinkc_download_url(&result, service, url, file, &options, &error);
    cmd_progress_end();
    int exit_code =
        code == TINKC_OK
            ? show_trace(args, NULL, file, result.received)
            : cmd_fail_error(&error, code == TINKC_E_IO ? "Failed to save trace"
                                                        : "Failed to download trace");
    tk_free(file);
    return exit_code;
}

static int export_trace(const cmd_args *args, tinkc_service *service)
{
    char *url = NULL;
    tinkc_error *error = NULL;
    if (!cmd_wants_json(args)) {
        cmd_print(stderr, "Exporting trace for session %s (this may take a while)...\n",
                  cmd_operand(args, 0));
    }
    if (tinkc_rest_export_trace_wait(&url, service, cmd_operand(args, 0), &error) !=
        TINKC_OK) {
        return cmd_fail_error(&error, NULL);
    }
    int result = cmd_has(args, "url-only") ? show_trace(args, url, NULL, 0)
                                           : fetch_trace(args, service, url);
    tinkc_text_free(&url);
    return result;
}

/* The id becomes the name of a file. */
static int check_id(const cmd_args *args)
{
    const char *id = cmd_operand(args, 0);
    return strchr(id, '/') == NULL ? CMD_OK
                                   : cmd_bad_usage(args, "'%s' is not a session id.", id);
}

static const cmd_option list_options[] = {
    {"limit", 0, CMD_INT, "N", "Show at most N sessions (20; 0: all).", false},
    {"offset", 0, CMD_INT, "N", "Skip the first N.", false},
    CMD_REST_SCOPE,
    {0},
};

const cmd_spec cmd_session_list = {
    .name = "session list",
    .operands = "",
    .help = "List sessions.",
    .options = list_options,
    .check = cmd_rest_check_page,
    .ask = list_sessions,
};

static const cmd_option info_options[] = {CMD_REST_SCOPE, {0}};

const cmd_spec cmd_session_info = {
    .name = "session info",
    .operands = "SESSION_ID",
    .min_operands = 1,
    .max_operands = 1,
    .help = "Show the runs and samplers of a session.",
    .options = info_options,
    .ask = info_session,
};

const cmd_spec cmd_session_assign = {
    .name = "session assign",
    .operands = "SESSION_ID PROJECT_ID",
    .min_operands = 2,
    .max_operands = 2,
    .help = "Move a session and its runs to a project.",
    .ask = assign,
};

static const cmd_option export_options[] = {
    {"output", 'o', CMD_TEXT, "FILE",
     "Write the trace to FILE (default: SESSION_ID.pftrace).", false},
    {"url-only", 0, CMD_FLAG, NULL,
     "Print the URL of the trace instead of downloading it.", false},
    {0},
};

const cmd_spec cmd_session_export_trace = {
    .name = "session export-trace",
    .operands = "SESSION_ID",
    .min_operands = 1,
    .max_operands = 1,
    .help = "Export a session's timeline as a Perfetto trace.",
    .more =
        "The server builds a trace of the session's requests, and tinkc downloads it.\n"
        "https://ui.perfetto.dev shows it. A URL is valid for about an hour.",
    .examples = "tinkc session export-trace SESSION -o my.pftrace\n"
                "curl -o my.pftrace \"$(tinkc session export-trace SESSION --url-only)\"",
    .options = export_options,
    .check = check_id,
    .ask = export_trace,
};
