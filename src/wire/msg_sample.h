/* Sampling requests (docs/protocol.md §2.4, §8.4, §8.5) and the events of a sampling
 * stream (Appendix B). The result is tk_sample_response, in value.h and msg_value.h. */
#ifndef WIRE_MSG_SAMPLE_H
#define WIRE_MSG_SAMPLE_H

#include "wire/msg_value.h"

/* Stop condition; the form the caller chose is kept on the wire. */
typedef enum tk_stops_form {
    TK_STOPS_TEXT,  /* one string */
    TK_STOPS_TEXTS, /* list of strings, may be empty */
    TK_STOPS_TOKENS /* list of token ids, not empty */
} tk_stops_form;

typedef struct tk_stops {
    tk_stops_form form;
    tk_str text;
    tk_strs texts;
    tk_i32s tokens;
} tk_stops;

typedef struct tk_f_stops {
    tk_presence is;
    tk_stops v;
} tk_f_stops;

typedef struct tk_sampling_params {
    tk_f_i64 max_tokens;
    tk_f_u64 seed; /* any 64 bits */
    tk_f_stops stop;
    tk_f_num temperature; /* 1 */
    tk_f_i64 top_k;       /* -1 = off */
    tk_f_num top_p;       /* 1 */
} tk_sampling_params;

typedef struct tk_f_tensor {
    tk_presence is;
    tk_tensor v;
} tk_f_tensor;

typedef struct tk_sample_request {
    tk_f_i64 num_samples; /* 1 */
    tk_model_input prompt;
    tk_sampling_params sampling_params;
    tk_f_str base_model, model_path;
    tk_f_str sampling_session_id;
    tk_f_i64 seq_id;
    tk_f_bool prompt_logprobs;     /* omitted when unset; null gives 422 */
    tk_f_i64 topk_prompt_logprobs; /* 0 */
    /* Left out when unset: an SDK of 0.36 sends the defaults of the three that have one,
     * one of 0.25 has none of these. */
    tk_f_i64 topk_sample_logprobs;      /* 0 */
    tk_f_tensor target_prompt_logprobs; /* int64 [prompt - 1, n]; -1: nothing wanted */
    tk_f_i64 prompt_alt_tokens_k;       /* 0 */
    tk_f_i64 prompt_logprobs_last_n;    /* needs prompt_logprobs */
    tk_f_bool record_stability_info;    /* false */
} tk_sample_request;

/* One `data:` of a sampling stream: a token, the end, or a failure. */
typedef struct tk_stream_event {
    tk_f_str token;
    tk_f_i64 token_id;
    tk_f_i64 index;
    tk_f_num logprob;
    tk_f_str finish_reason; /* set: the stream is over */
    tk_f_i64 total_tokens;
    tk_f_i64 prompt_cache_hit_tokens; /* with the end */
    tk_f_raw error;                   /* set: it failed */
} tk_stream_event;

extern const tk_schema tk_msg_stops, tk_msg_sampling_params, tk_msg_sample_request,
    tk_msg_stream_event;

/* How a sample names its model (§8.5). */
typedef enum tk_sample_mode {
    TK_SAMPLE_BY_SESSION, /* sampling_session_id with seq_id */
    TK_SAMPLE_BY_PATH,    /* model_path */
    TK_SAMPLE_BY_BASE     /* base_model */
} tk_sample_mode;

/* Exactly one mode must be given; TINKC_E_INVALID otherwise, also for a session without
 * seq_id. *out may be NULL. */
TK_NODISCARD tinkc_code tk_sample_request_check(const tk_sample_request *msg,
                                                tk_sample_mode *out, tk_err *err);

#endif
