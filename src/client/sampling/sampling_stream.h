/* The operation of a token stream, with a sink that can be full. */
#ifndef CLIENT_SAMPLING_STREAM_H
#define CLIENT_SAMPLING_STREAM_H

#include <tinkc/stream.h>

#include "client/sampling/sampling.h"

typedef struct tk_sampling_streaming tk_sampling_streaming;

/* Everything is called on the loop's thread. */
typedef struct tk_sampling_sink {
    bool (*event)(void *user, const tinkc_stream_event *event); /* false: stop */
    bool (*is_full)(void *user); /* NULL: never. True: pause until tk_..._resume */
    /* Begin and end of the time in which resume may be called; NULL: not wanted. */
    void (*begin)(void *user, tk_sampling_streaming *streaming);
    void (*end)(void *user); /* also when begin was never called; the future is done */
    void *user;
} tk_sampling_sink;

tinkc_future *tk_sampling_stream(tinkc_sampling *sampling,
                                 const tinkc_model_input *prompt,
                                 const tinkc_sampling_params *params,
                                 const tk_sampling_sink *sink);

/* The sink has room again. Loop thread. */
void tk_sampling_stream_resume(tk_sampling_streaming *streaming);

#endif
