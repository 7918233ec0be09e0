/* What is known of the servers of the API: for each fact of client/core/manners.h whether
 * it is true of a server, as its public source says, and the scripted peer with these
 * manners. docs/servers.md is made of the same rows. */
#ifndef SUPPORT_FAKEAPI_TINKER_SERVERS_H
#define SUPPORT_FAKEAPI_TINKER_SERVERS_H

#include "client/core/manners.h"
#include "support/fakeapi_tinker.h"

typedef struct fakeapi_tinker_server {
    const char *name;
    const char *source; /* what was read */
    const char *note;   /* what the facts do not say; NULL: nothing */
    /* how the peer plays facts that can be true in several ways */
    const char *config;          /* as in fakeapi_tinker_options */
    const char *loss;            /* the name of the loss; "": none */
    const char *scheme;          /* of paths */
    const char *kind;            /* of weights for sampling, in paths; "": none */
    const fakeapi_step *refusal; /* of protobuf; NULL: it is read */
} fakeapi_tinker_server;

size_t fakeapi_tinker_servers(void);
const fakeapi_tinker_server *fakeapi_tinker_server_at(size_t index);

/* Returns whether the fact is true of the server; TK_KNOWN_NOT_YET: its source does not
 * say. */
tk_known fakeapi_tinker_server_fact(size_t index, tk_manner manner);

#define FAKEAPI_TINKER_LACKS 16

/* Fills the options of a peer with the manners of the server; unknown facts are played as
 * false. `lacks` belongs to the caller, and lives as long as the peer. */
void fakeapi_tinker_server_play(fakeapi_tinker_options *out, size_t index,
                                const char *lacks[FAKEAPI_TINKER_LACKS]);

#endif
