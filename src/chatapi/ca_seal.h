/* Reasoning in a form that a client keeps without reading it: "encrypted_content" of a
 * reasoning item. It is not secret: a prefix and base64, so that a client that only sends
 * this back (and not the text) continues the conversation that it had. Pure. */
#ifndef CHATAPI_CA_SEAL_H
#define CHATAPI_CA_SEAL_H

#include "base/arena.h"
#include "base/buf.h"

typedef enum ca_unsealed { CA_UNSEAL_OK, CA_UNSEAL_FOREIGN, CA_UNSEAL_NOMEM } ca_unsealed;

/* Appends the sealed form of a text. Failure is the buffer's. */
void ca_seal(tk_buf *out, tk_str text);
/* Gives the text back; in the arena. FOREIGN: it is not of ca_seal. */
ca_unsealed ca_unseal(tk_arena *arena, tk_str sealed, tk_str *out);

#endif
