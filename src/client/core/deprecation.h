/* Notes of the server that something the client uses will go away: the headers
 * x-deprecation-note and x-deprecation-level of a response. Each text is logged once per
 * service. Loop thread. */
#ifndef CLIENT_DEPRECATION_H
#define CLIENT_DEPRECATION_H

#include "base/log.h"
#include "http/http.h"

enum { TK_DEPRECATION_NOTES = 32 }; /* different texts; later ones are not logged */

typedef struct tk_deprecation {
    uint64_t seen[TK_DEPRECATION_NOTES];
    size_t n;
} tk_deprecation;

/* Logs the note of a response, if it has one that was not logged before. */
void tk_deprecation_note(tk_deprecation *self, tk_log *log,
                         const tk_http_response *response);

#endif
