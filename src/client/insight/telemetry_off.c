/* A build without telemetry (TINKC_TELEMETRY=OFF): a service never has a reporter. */
#include "client/insight/telemetry.h"

tinkc_code tk_telemetry_new(tk_telemetry **out, tk_core *core, uint64_t seed, tk_err *err)
{
    (void)core;
    (void)seed;
    (void)err;
    *out = NULL;
    return TINKC_OK;
}

void tk_telemetry_free(tk_telemetry **telemetry)
{
    (void)telemetry;
}

bool tk_telemetry_is_on(const tk_telemetry *telemetry)
{
    (void)telemetry;
    return false;
}

void tk_telemetry_begin(tk_telemetry *telemetry, const char *session_id)
{
    (void)telemetry;
    (void)session_id;
}

bool tk_telemetry_add(tk_telemetry *telemetry, const tk_event *event, bool urgent)
{
    (void)telemetry;
    (void)event;
    (void)urgent;
    return false;
}

bool tk_telemetry_flush(tk_telemetry *telemetry, int64_t timeout_ms)
{
    (void)telemetry;
    (void)timeout_ms;
    return true;
}

void tk_telemetry_close(tk_telemetry *telemetry)
{
    (void)telemetry;
}

void tk_telemetry_shutdown(tk_telemetry *telemetry)
{
    (void)telemetry;
}

void tk_telemetry_read_counts(tk_telemetry *telemetry, tinkc_telemetry_counts *out)
{
    (void)telemetry;
    out->is_on = false;
    out->queued = out->sent = out->dropped = 0;
}
