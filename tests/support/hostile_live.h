/* The same cases through libcurl, against the scripted peer on the loopback (fakeapi.h):
 * real framing, compression and connections that break. Real time, so only for cases that
 * end without a pause. Thread: one at a time. */
#ifndef SUPPORT_HOSTILE_LIVE_H
#define SUPPORT_HOSTILE_LIVE_H

#include "support/hostile_run.h"

/* How the bytes are sent; numbered from 0. */
size_t hostile_live_ways(void);
const char *hostile_live_way(size_t way);

/* Runs the case; `emulated` is what hostile_run said of it. False when the case is not
 * fit for this. */
bool hostile_live(hostile_verdict *out, const hostile_case *it, size_t way,
                  const hostile_verdict *emulated);

#endif
