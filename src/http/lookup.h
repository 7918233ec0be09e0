/* Whether the name of a host exists. libcurl only says that a look-up failed, not whether
 * there is no such name or the name server could not be asked; so after a failed look-up
 * the system is asked again, on a thread that nothing waits for. */
#ifndef HTTP_LOOKUP_H
#define HTTP_LOOKUP_H

#include "base/str.h"
#include "base/tk.h"

typedef struct tk_lookup tk_lookup;

/* Notes that a look-up of `host` failed. Returns whether the question that the failure
 * before it started has been answered with "no such name" (EAI_NONAME), and asks again.
 * *lookup is NULL at first. Out of memory or threads, it asks nothing. */
bool tk_lookup_is_unknown(tk_lookup **lookup, tk_str host);

/* Forgets the question; its thread may go on for as long as the system takes. Accepts a
 * pointer to NULL. */
void tk_lookup_free(tk_lookup **lookup);

#endif
