/* Tables of billing usage: five kinds of event (docs/protocol.md §2.6). */
#include "wire/msg_rest.h"

#define T tk_billing_info
static const tk_field training_rows[] = {
    {TK_LITERAL("type", "training")},
    {TK_ROW(T, token_count, I64, TK_REQUIRED)},
};
static const tk_field prefill_rows[] = {
    {TK_LITERAL("type", "sampling_prefill")},
    {TK_ROW(T, cached, BOOL, TK_REQUIRED)},
    {TK_ROW(T, token_count, I64, TK_REQUIRED)},
};
static const tk_field sample_rows[] = {
    {TK_LITERAL("type", "sampling_sample")},
    {TK_ROW(T, token_count, I64, TK_REQUIRED)},
};
static const tk_field checkpoint_rows[] = {
    {TK_LITERAL("type", "checkpoint")},
    {TK_ROW(T, count, I64, TK_REQUIRED)},
};
static const tk_field storage_rows[] = {
    {TK_LITERAL("type", "storage")},
    {TK_ROW(T, gigabyte_hours, NUM, TK_REQUIRED)},
};

static const tk_schema training = {TK_SCHEMA(T, "TrainingBillingEvent", training_rows)};
static const tk_schema prefill = {
    TK_SCHEMA(T, "SamplingPrefillBillingEvent", prefill_rows)};
static const tk_schema sample = {TK_SCHEMA(T, "SamplingSampleBillingEvent", sample_rows)};
static const tk_schema checkpoint = {
    TK_SCHEMA(T, "CheckpointBillingEvent", checkpoint_rows)};
static const tk_schema storage = {TK_SCHEMA(T, "StorageBillingEvent", storage_rows)};
#undef T

static const tk_variant variants[] = {
    {"training", TK_BILLING_TRAINING, &training, NULL},
    {"sampling_prefill", TK_BILLING_SAMPLING_PREFILL, &prefill, NULL},
    {"sampling_sample", TK_BILLING_SAMPLING_SAMPLE, &sample, NULL},
    {"checkpoint", TK_BILLING_CHECKPOINT, &checkpoint, NULL},
    {"storage", TK_BILLING_STORAGE, &storage, NULL},
};

static const tk_union info_union = {.key = "type",
                                    .kind_at = offsetof(tk_billing_info, kind),
                                    .variants = variants,
                                    .n = TK_ARRAY_LEN(variants),
                                    .unknown = TK_OTHER,
                                    .raw_at = offsetof(tk_billing_info, raw)};

const tk_schema tk_msg_billing_info = {
    .name = "BillingEventInfo", .size = sizeof(tk_billing_info), .variants = &info_union};

#define T tk_billing_event
static const tk_field event_rows[] = {
    {TK_ROW_TIME(T, bucket_start, TK_REQUIRED)},
    {TK_ROW_TIME(T, bucket_end, TK_REQUIRED)},
    {TK_ROW(T, base_model, STR, TK_NULLABLE)},
    {TK_ROW(T, user_id, STR, TK_NULLABLE)},
    {TK_ROW(T, user_name, STR, TK_NULLABLE)},
    {TK_ROW(T, session_id, STR, TK_NULLABLE)},
    {TK_ROW(T, project_id, STR, TK_NULLABLE)},
    {TK_ROW(T, estimated_cost_usd, NUM, TK_NULLABLE)},
    {TK_ROW(T, effective_rate_usd_per_million_tokens, NUM, TK_NULLABLE)},
    {TK_ROW(T, effective_rate_usd_per_gigabyte_month, NUM, TK_NULLABLE)},
    {TK_BARE(T, event_info, MSG, TK_REQUIRED), .sub = &tk_msg_billing_info},
};
#undef T

static const tk_field session_rows[] = {
    {TK_ROW_MAP(tk_billing_session, user_metadata, STR_MAP, TK_NULLABLE)},
};

#define T tk_billing_response
static const tk_field response_rows[] = {
    {TK_BARE_PAIR(T, data, LIST, TK_REQUIRED), .sub = &tk_msg_billing_event},
    {TK_BARE_PAIR(T, sessions, MSG_MAP, 0), .sub = &tk_msg_billing_session,
     .item_size = sizeof(tk_named_billing_session),
     .item_at = offsetof(tk_named_billing_session, session)},
    {TK_ROW_TIME(T, cost_data_through, TK_NULLABLE)},
};
#undef T

const tk_schema tk_msg_billing_event = {
    TK_SCHEMA(tk_billing_event, "BillingUsageEvent", event_rows)};
const tk_schema tk_msg_billing_session = {
    TK_SCHEMA(tk_billing_session, "BillingUsageSession", session_rows)};
const tk_schema tk_msg_billing_response = {
    TK_SCHEMA(tk_billing_response, "BillingUsageResponse", response_rows)};
