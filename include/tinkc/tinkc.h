/* Everything in one include. */
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
#include <tinkc/push.h>
#include <tinkc/raw.h>
#include <tinkc/rest.h>
#include <tinkc/sampling.h>
#include <tinkc/service.h>
#include <tinkc/stream.h>
#include <tinkc/telemetry.h>
#include <tinkc/tokenizer.h>
#include <tinkc/trace.h>
#include <tinkc/training.h>
#include <tinkc/types.h>
#include <tinkc/version.h>

#endif
