/* A line is formatted whole, masked, and only then cut: a secret is never seen in parts,
 * neither split over arguments nor at the cap. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"
#include "base/mem.h"
#include "base/redact.h"
#include "base/thread.h"
#include "base/utf8.h"

struct tk_log {
    tinkc_log_level level;
    tinkc_log_fn fn;
    void *user;
    tk_mutex lock; /* guards `redact` */
    tk_redact redact;
};

static const char *const level_names[] = {"off", "error", "warn", "info", "debug"};

const char *tinkc_log_level_name(tinkc_log_level level)
{
    return (unsigned)level < TK_ARRAY_LEN(level_names) ? level_names[level] : "?";
}

bool tinkc_log_level_parse(tinkc_log_level *out, const char *name)
{
    if (name == NULL) {
        return false;
    }
    for (size_t i = 0; i < TK_ARRAY_LEN(level_names); i++) {
        if (strcmp(name, level_names[i]) == 0) {
            *out = (tinkc_log_level)i;
            return true;
        }
    }
    if (strcmp(name, "warning") == 0) {
        *out = TINKC_LOG_WARN;
        return true;
    }
    return false;
}

tinkc_code tk_log_new(tk_log **out, tinkc_log_level level, tinkc_log_fn fn, void *user,
                      tk_err *err)
{
    tk_log *log = tk_zalloc(sizeof(*log));
    if (log == NULL) {
        return tk_err_nomem(err);
    }
    tinkc_code code = tk_mutex_init(&log->lock, err);
    if (code != TINKC_OK) {
        tk_free(log);
        return code;
    }
    log->level = fn != NULL ? level : TINKC_LOG_OFF;
    log->fn = fn;
    log->user = user;
    tk_redact_init(&log->redact);
    *out = log;
    return TINKC_OK;
}

void tk_log_free(tk_log *log)
{
    if (log != NULL) {
        tk_redact_dispose(&log->redact);
        tk_mutex_dispose(&log->lock);
        tk_free(log);
    }
}

bool tk_log_wants(const tk_log *log, tinkc_log_level level)
{
    return log != NULL && level != TINKC_LOG_OFF && level <= log->level;
}

tinkc_code tk_log_add_secret(tk_log *log, tk_str secret, tk_err *err)
{
    if (log == NULL) {
        return TINKC_OK;
    }
    tk_mutex_lock(&log->lock);
    tinkc_code code = tk_redact_add(&log->redact, secret, err);
    tk_mutex_unlock(&log->lock);
    return code;
}

void tk_log_remove_secret(tk_log *log, tk_str secret)
{
    if (log != NULL) {
        tk_mutex_lock(&log->lock);
        tk_redact_remove(&log->redact, secret);
        tk_mutex_unlock(&log->lock);
    }
}

static size_t redact(tk_log *log, char *out, size_t size, tk_str text, bool text_was_cut)
{
    if (log == NULL) {
        return tk_redact_apply(NULL, out, size, text, text_was_cut);
    }
    tk_mutex_lock(&log->lock);
    size_t n = tk_redact_apply(&log->redact, out, size, text, text_was_cut);
    tk_mutex_unlock(&log->lock);
    return n;
}

size_t tk_log_redact(tk_log *log, char *out, size_t size, tk_str text)
{
    return redact(log, out, size, text, false);
}

/* Marks a line that was cut: as many characters as fit, then "...". */
static void mark_cut(char *line, size_t n, size_t size)
{
    n = tk_utf8_whole(line, TK_MIN(n, size - 4));
    memcpy(line + n, "...", 4);
}

void tk_log_write(tk_log *log, tinkc_log_level level, const char *component,
                  const char *format, ...)
{
    if (!tk_log_wants(log, level)) {
        return;
    }
    char text[TK_LOG_TEXT_BYTES];
    va_list args;
    va_start(args, format);
    int wanted = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    bool text_was_cut = wanted < 0 || (size_t)wanted >= sizeof(text);
    tk_str view = {text, text_was_cut ? strnlen(text, sizeof(text) - 1) : (size_t)wanted};
    char line[TK_LOG_LINE_BYTES + 1]; /* one byte more distinguishes full from too long */
    size_t n = redact(log, line, sizeof(line), view, text_was_cut);
    if (text_was_cut || n == sizeof(line) - 1) {
        mark_cut(line, n, TK_LOG_LINE_BYTES);
        n = strlen(line);
    }
    tk_utf8_scrub(line, n);
    log->fn(level, component, line, log->user);
}
