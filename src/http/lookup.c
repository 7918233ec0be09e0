/* One question at a time, shared by its asker and its thread; the last of the two frees
 * it. */
#include "http/lookup.h"

#include <netdb.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/thread.h"

#define HOST_BYTES 256

struct tk_lookup {
    atomic_int refs;
    atomic_bool is_answered;
    int answer; /* of getaddrinfo, once answered */
    char host[HOST_BYTES];
};

static void release(tk_lookup *lookup)
{
    if (atomic_fetch_sub(&lookup->refs, 1) == 1) {
        tk_free(lookup);
    }
}

static void ask(void *user)
{
    tk_lookup *lookup = user;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    lookup->answer = getaddrinfo(lookup->host, NULL, &hints, &found);
    if (lookup->answer == 0) {
        freeaddrinfo(found);
    }
    atomic_store(&lookup->is_answered, true);
    release(lookup);
}

static tk_lookup *start(tk_str host)
{
    tk_thread thread;
    tk_lookup *lookup = host.n < HOST_BYTES ? tk_zalloc(sizeof(*lookup)) : NULL;
    if (lookup == NULL) {
        return NULL;
    }
    memcpy(lookup->host, host.p, host.n);
    atomic_store(&lookup->refs, 2);
    if (tk_thread_start(&thread, "lookup", ask, lookup, NULL) != TINKC_OK) {
        tk_free(lookup);
        return NULL;
    }
    tk_thread_detach(&thread);
    return lookup;
}

bool tk_lookup_is_unknown(tk_lookup **lookup, tk_str host)
{
    bool is_unknown = false;
    if (*lookup != NULL && tk_str_is(host, (*lookup)->host)) {
        if (!atomic_load(&(*lookup)->is_answered)) {
            return false;
        }
        is_unknown = (*lookup)->answer == EAI_NONAME;
    }
    tk_lookup_free(lookup);
    *lookup = start(host);
    return is_unknown;
}

void tk_lookup_free(tk_lookup **lookup)
{
    if (*lookup != NULL) {
        release(*lookup);
        *lookup = NULL;
    }
}
