/* A ring of lines, cut. */
#include "server/record/srv_notices.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/utf8.h"

tinkc_code srv_notices_new(srv_notices **out, tinkc_log_level level, tinkc_log_fn next,
                           void *user, tk_err *err)
{
    srv_notices *notices = tk_zalloc(sizeof(*notices));
    if (notices == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_mutex_init(&notices->lock, err);
    if (code != TINKC_OK) {
        tk_free(notices);
        return code;
    }
    notices->next = next;
    notices->user = user;
    notices->level = level;
    *out = notices;
    return TINKC_OK;
}

void srv_notices_free(srv_notices *notices)
{
    if (notices != NULL) {
        tk_mutex_dispose(&notices->lock);
        tk_free(notices);
    }
}

void srv_notices_log(tinkc_log_level level, const char *component, const char *line,
                     void *user)
{
    srv_notices *notices = user;
    if (level == TINKC_LOG_WARN || level == TINKC_LOG_ERROR) {
        tk_mutex_lock(&notices->lock);
        size_t slot = notices->n++ % CON_ERRORS_MAX;
        tk_str cut = tk_utf8_cut(tk_str_of(line), SRV_NOTICE_BYTES - 64);
        notices->ring[slot].time_ms = tk_clock_wall_us(NULL) / 1000;
        (void)snprintf(notices->ring[slot].text, SRV_NOTICE_BYTES, "%.40s: " TK_STR_FMT,
                       component, TK_STR_ARG(cut));
        tk_mutex_unlock(&notices->lock);
    }
    if (notices->next != NULL && level <= notices->level) {
        notices->next(level, component, line, notices->user);
    }
}

bool srv_notices_list(srv_notices *notices, const con_error **out, size_t *n,
                      tk_arena *arena)
{
    con_error *list = tk_arena_array(arena, CON_ERRORS_MAX, sizeof(*list));
    bool ok = list != NULL;
    *n = 0;
    *out = list;
    tk_mutex_lock(&notices->lock);
    size_t most = TK_MIN(notices->n, (size_t)CON_ERRORS_MAX);
    for (size_t i = 0; ok && i < most; i++) {
        size_t slot = (notices->n - 1 - i) % CON_ERRORS_MAX;
        const char *text = notices->ring[slot].text;
        list[i].time_ms = notices->ring[slot].time_ms;
        ok = tk_arena_dup(arena, &list[i].text, text, strlen(text));
        *n += ok;
    }
    tk_mutex_unlock(&notices->lock);
    return ok;
}
