/* Whether the disk takes the recordings: the connections are opened, a transaction ends, and
 * what fails is told once and tried again later. */
#include "server/record/srv_rec_int.h"

/* Says once why nothing is recorded. */
static void fail(srv_rec *rec, const char *why)
{
    atomic_store(&rec->works, false);
    rec->retry_ns = tk_clock_mono_ns(NULL) + rec->config.retry_ns;
    if (!rec->warned) {
        rec->warned = true;
        tk_log_write(rec->config.log, TINKC_LOG_WARN, "console",
                     "nothing is recorded until the disk takes it: %s", why);
    }
}

static tinkc_code open_both(srv_rec *rec, bool *damaged, tk_err *err)
{
    tinkc_code code = TINKC_OK;
    if (rec->writer.db == NULL) {
        code = srv_rec_writer_open(&rec->writer, rec->data, damaged, err);
    }
    tk_mutex_lock(&rec->reading);
    if (code == TINKC_OK && rec->reader == NULL) {
        code = srv_rec_db_open(&rec->reader, rec->data, damaged, err);
    }
    tk_mutex_unlock(&rec->reading);
    return code;
}

/* Has each run that is loaded written again, but not those that were deleted. */
static void forget_rows(srv_rec *rec)
{
    for (tk_list *at = rec->all.next; at != &rec->all; at = at->next) {
        srv_rec_run *run = TK_CONTAINER_OF(at, srv_rec_run, link);
        run->is_touched = run->is_touched || run->row != 0;
        run->row = 0;
    }
}

/* Makes a new database in the place of one that is damaged. */
static tinkc_code replace(srv_rec *rec, const char *why, tk_err *err)
{
    bool damaged = false;
    srv_rec_writer_close(&rec->writer);
    tk_mutex_lock(&rec->reading);
    (void)sqlite3_close(rec->reader);
    rec->reader = NULL;
    tinkc_code code = srv_rec_db_set_aside(rec->data, why, rec->config.log, err);
    tk_mutex_unlock(&rec->reading);
    forget_rows(rec);
    return code == TINKC_OK ? open_both(rec, &damaged, err) : code;
}

tinkc_code srv_rec_disk_open(srv_rec *rec, bool *is_busy)
{
    bool damaged = false;
    tk_err err = TK_ERR_INIT;
    *is_busy = false;
    if (atomic_load(&rec->works) ||
        (rec->retry_ns != 0 && tk_clock_mono_ns(NULL) < rec->retry_ns)) {
        return TINKC_OK;
    }
    tinkc_code code = open_both(rec, &damaged, &err);
    if (code != TINKC_OK && damaged) {
        tk_err why = err;
        err = (tk_err)TK_ERR_INIT;
        code = replace(rec, why.message, &err);
    }
    *is_busy = code == TINKC_E_STATE;
    if (code != TINKC_OK && !*is_busy) {
        fail(rec, err.message);
    }
    atomic_store(&rec->works, code == TINKC_OK);
    return code;
}

tinkc_code srv_rec_disk_begin(srv_rec *rec, bool *is_busy, tk_err *err)
{
    tinkc_code code = srv_sql_exec(rec->writer.db, "BEGIN IMMEDIATE", err);
    *is_busy = code != TINKC_OK && srv_rec_db_is_busy(rec->writer.db);
    return code;
}

void srv_rec_disk_warn_busy(srv_rec *rec)
{
    if (!rec->warned) {
        rec->warned = true;
        tk_log_write(rec->config.log, TINKC_LOG_WARN, "console",
                     "recordings wait: another program has " SRV_REC_DATABASE);
    }
}

bool srv_rec_disk_end(srv_rec *rec, tinkc_code code, tk_err *err)
{
    if (code == TINKC_OK) {
        code = srv_sql_exec(rec->writer.db, "COMMIT", err);
    }
    if (code == TINKC_OK) {
        if (rec->warned) {
            rec->warned = false;
            tk_log_write(rec->config.log, TINKC_LOG_INFO, "console",
                         "recordings are written again");
        }
        return true;
    }
    tk_err why = *err;
    bool damaged = srv_rec_db_is_damaged(rec->writer.db);
    bool is_busy = srv_rec_db_is_busy(rec->writer.db);
    *err = (tk_err)TK_ERR_INIT;
    (void)!srv_sql_exec(rec->writer.db, "ROLLBACK", err);
    atomic_store(&rec->recount, true); /* the writer counted samples that are gone */
    forget_rows(rec);                  /* perhaps they were not written */
    *err = (tk_err)TK_ERR_INIT;
    if (is_busy || (damaged && replace(rec, why.message, err) == TINKC_OK)) {
        atomic_store(&rec->works, true); /* the next batch may do better */
        return false;
    }
    fail(rec, why.message);
    return false;
}
