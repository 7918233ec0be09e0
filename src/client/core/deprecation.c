/* Remembers hashes of the notes, not their texts: a server may send any number. */
#include "client/core/deprecation.h"

#include "base/hash.h"

static bool is_new(tk_deprecation *self, tk_str note)
{
    uint64_t hash = tk_hash_bytes((tk_hash_key){0, 0}, note.p, note.n);
    for (size_t i = 0; i < self->n; i++) {
        if (self->seen[i] == hash) {
            return false;
        }
    }
    if (self->n == TK_ARRAY_LEN(self->seen)) {
        return false;
    }
    self->seen[self->n++] = hash;
    return true;
}

void tk_deprecation_note(tk_deprecation *self, tk_log *log,
                         const tk_http_response *response)
{
    tk_str note = tk_http_header(response, "x-deprecation-note");
    if (note.n == 0 || !is_new(self, note)) {
        return;
    }
    tk_str level = tk_str_trim(tk_http_header(response, "x-deprecation-level"));
    tk_log_write(log, tk_str_is_nocase(level, "error") ? TINKC_LOG_ERROR : TINKC_LOG_WARN,
                 "http", "deprecation notice: " TK_STR_FMT, TK_STR_ARG(note));
}
