/* One file at a URL, read from start to end whatever the network does: after a cut it
 * goes on with Range, an expired URL is asked for again, length and checksum are
 * checked at the end. Runs on the reader's thread, which must not be the loop's. */
#ifndef CLIENT_FETCH_H
#define CLIENT_FETCH_H

#include "base/buf.h"
#include "client/core/core.h"

typedef struct tk_fetch tk_fetch;

typedef struct tk_fetch_options {
    tk_handle *handle;
    /* Writes a URL that is valid now, and until when (INT64_MAX: no limit). */
    tinkc_code (*locate)(void *user, tk_buf *url, int64_t *expires_us, tk_err *err);
    bool can_relocate;        /* asking again may help */
    bool (*tick)(void *user); /* while waiting and with each piece; false: give up */
    void *user;
    int64_t retry_ms;
    int max_failures;          /* in a row */
    const char *sha256;        /* NULL: what the server says, if it does; borrowed */
    bool from_service;         /* a path of the service's own server, with its credential;
                                  redirects are errors. Else nothing of ours goes along */
    const char *authorization; /* header for the server of the URL, and for none that it
                                  redirects to; NULL: none; borrowed */
} tk_fetch_options;

/* Makes no request. */
TK_NODISCARD tinkc_code tk_fetch_new(tk_fetch **out, const tk_fetch_options *options,
                                     tk_err *err);
void tk_fetch_free(tk_fetch **fetch); /* accepts NULL */

/* Counts bytes that the caller has of an earlier transfer, in order and before the first
 * read: the server is asked for what follows them, and the checksum is that of both. Only
 * for a file whose checksum is known. */
TK_NODISCARD tinkc_code tk_fetch_feed(tk_fetch *fetch, const char *p, size_t n,
                                      tk_err *err);

/* The next bytes; *n = 0 at the end, when length and checksum were right
 * (TINKC_E_DECODE otherwise). */
TK_NODISCARD tinkc_code tk_fetch_read(size_t *n, tk_fetch *fetch, char *p, size_t size,
                                      tk_err *err);

/* The wait after this number of failures in a row: doubled each time, at most 10 s, or as
 * long as the server asks for. */
int64_t tk_fetch_delay_ms(int64_t retry_ms, int failures, int64_t hint_ms);

uint64_t tk_fetch_received(const tk_fetch *fetch);
int64_t tk_fetch_total(const tk_fetch *fetch); /* -1: not known */
int tk_fetch_connections(const tk_fetch *fetch);

/* Whether it failed because the file is another one now: starting over may help. */
bool tk_fetch_has_changed(const tk_fetch *fetch);

#endif
