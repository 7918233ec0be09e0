/* One question to the hub, or to the storage that it names, and its answer. Nothing of
 * the service goes along; the token only where the caller says so. Redirects are not
 * followed. Blocking; thread: any but the loop's. */
#ifndef CLIENT_HUB_CALL_H
#define CLIENT_HUB_CALL_H

#include <tinkc/raw.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/json.h"
#include "client/core/core.h"

#define TK_HUB_URL_BYTES    (64 * TK_KIB)
#define TK_HUB_BODY_BYTES   (16 * TK_MIB) /* of a question in memory */
#define TK_HUB_ANSWER_BYTES (64 * TK_MIB)
#define TK_HUB_HEADERS_MAX  16
#define TK_HUB_RETRY_MS     200 /* first delay before a file is fetched again */
#define TK_HUB_LFS_TYPE     "application/vnd.git-lfs+json"

/* The server that is asked, and what is called while a request runs. */
typedef struct tk_hub_peer {
    tk_handle *handle;
    const char *url;           /* of the hub, without a slash at its end */
    const char *authorization; /* or NULL */
    bool (*tick)(void *user);  /* several times a second; false: TINKC_E_CANCELLED */
    void *user;
    int retries; /* of one question */
} tk_hub_peer;

typedef struct tk_hub_call {
    const char *what; /* for messages: "creating the repository" */
    tk_http_method method;
    const char *url; /* absolute */
    const tinkc_pair *headers;
    size_t headers_n;         /* at most one more than TK_HUB_HEADERS_MAX */
    const char *content_type; /* NULL: application/json */
    bool no_type;             /* none at all: a storage may have signed its absence */
    const tk_buf *body;       /* or NULL */
    const char *file;         /* instead: this part of a file */
    uint64_t file_from, file_n;
    bool with_token;
    bool once;       /* never repeated: it may have been done although no answer came */
    int pass_status; /* is an answer as a success is, at once; 0: none */
} tk_hub_call;

/* The caller owns *out. TINKC_OK for 2xx and pass_status; else the code of the status
 * with the hub's message, or why there was no answer. */
TK_NODISCARD tinkc_code tk_hub_send(tinkc_raw_response **out, const tk_hub_peer *peer,
                                    const tk_hub_call *call, tk_err *err);

/* Sends like tk_hub_send and reads the answer as a JSON object in the arena:
 * TINKC_E_DECODE for anything else. *status may be NULL. */
TK_NODISCARD tinkc_code tk_hub_ask(const tk_json **out, int *status, tk_arena *arena,
                                   const tk_hub_peer *peer, const tk_hub_call *call,
                                   tk_err *err);

/* The text of a key, with a NUL after it and none inside; NULL when it is not such a
 * text. */
const char *tk_hub_text(const tk_json *object, const char *key);

/* What the hub says, for a message: cut, and without what the log masks. */
#define TK_HUB_WORDS_BYTES 201
void tk_hub_words(char out[TK_HUB_WORDS_BYTES], const tk_hub_peer *peer,
                  const char *words);

/* TINKC_E_DECODE: "what: the hub's answer ...". */
tinkc_code tk_hub_bad_answer(tk_err *err, const char *what, const char *why);

/* Waits for a future and keeps ticking; it is cancelled when a tick says so. */
void tk_hub_wait(const tk_hub_peer *peer, tinkc_future *future);

#endif
