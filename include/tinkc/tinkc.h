/* Includes the whole API, which has one shape:
 *
 * Order of arguments: outputs first (an array before its count, a buffer before its
 * size), then the object, then inputs, then `tinkc_error **err`. A callback gets its
 * `user` pointer last.
 *
 * Errors: every function that can fail returns a tinkc_code and takes `err` last. On
 * failure it writes an error to *err, which the caller frees with tinkc_error_free, unless
 * `err` is NULL; outputs are untouched. The exceptions are the functions that only wait
 * (tinkc_future_wait, _wait_all, _wait_any): the error is the future's.
 *
 * Ownership: what comes out of a `tinkc_x **out` belongs to the caller, who frees it with
 * tinkc_x_free or tinkc_x_close; what a function returns or gives through a const pointer
 * is borrowed. A deleter takes a `tinkc_x **`, sets the pointer to NULL and accepts NULL.
 * Two other kinds of functions take a `**` and set it to NULL: tinkc_future_await_x always
 * frees its future, and tinkc_datum_new takes its input over when it succeeds.
 *
 * Options: a struct with a `size` member starts from TINKC_X_INIT or tinkc_x_init(&x), so
 * that it can grow in later versions. A struct whose size is not set is TINKC_E_INVALID; a
 * member that this version does not know is TINKC_E_UNSUPPORTED unless it is 0. Thread:
 * each header says which. */
#ifndef TINKC_TINKC_H
#define TINKC_TINKC_H

#include <tinkc/chat.h>
#include <tinkc/config.h>
#include <tinkc/download.h>
#include <tinkc/error.h>
#include <tinkc/export.h>
#include <tinkc/future.h>
#include <tinkc/hooks.h>
#include <tinkc/ledger.h>
#include <tinkc/log.h>
#include <tinkc/meter.h>
#include <tinkc/metrics.h>
#include <tinkc/params.h>
#include <tinkc/pull.h>
#include <tinkc/push.h>
#include <tinkc/raw.h>
#include <tinkc/regularizer.h>
#include <tinkc/rest.h>
#include <tinkc/rl.h>
#include <tinkc/sampling.h>
#include <tinkc/search.h>
#include <tinkc/service.h>
#include <tinkc/stream.h>
#include <tinkc/telemetry.h>
#include <tinkc/tokenizer.h>
#include <tinkc/trace.h>
#include <tinkc/training.h>
#include <tinkc/trajectory.h>
#include <tinkc/types.h>
#include <tinkc/upload.h>
#include <tinkc/version.h>
#include <tinkc/weights.h>

#endif
