/* What the retry layers tell telemetry (docs/protocol.md §4, §5.3, §5.4), in one place so
 * that they themselves stay readable. Loop thread only; each costs a comparison when
 * telemetry is off. No event holds a header: those carry the credential. */
#ifndef CLIENT_TELEMETRY_LAYER_H
#define CLIENT_TELEMETRY_LAYER_H

#include "client/call/call.h"
#include "client/call/poll.h"

/* L2 has looked at a failure. */
void tk_telemetry_call_failed(const tk_call *call, const tk_http_response *response,
                              const tk_retry_outcome *outcome, bool is_repeated);

/* FUT has looked at an answer, whatever it is. */
void tk_telemetry_polled(const tk_poll *poll, const tk_call_answer *answer,
                         const tk_future_answer *said, tk_poll_decision decision);

/* L3 has looked at the end of an attempt; `attempts` before this one. */
void tk_telemetry_sample_failed(tk_core *core, const tk_err *err, int attempts,
                                bool is_repeated);

#endif
