/* retrieve_future (docs/protocol.md §2.4, §4): the request, the answers, and what an
 * answer means. Only 2xx answers are looked at here; statuses are the business of
 * wire_error.h. */
#ifndef WIRE_MSG_FUTURE_H
#define WIRE_MSG_FUTURE_H

#include "wire/schema.h"

typedef struct tk_retrieve_future_request {
    tk_f_str request_id;
    tk_f_bool allow_metadata_only; /* false */
} tk_retrieve_future_request;

typedef enum tk_queue_state {
    TK_QUEUE_UNKNOWN,
    TK_QUEUE_ACTIVE,
    TK_QUEUE_PAUSED_CAPACITY,
    TK_QUEUE_PAUSED_RATE_LIMIT
} tk_queue_state;

/* "Not yet": a 200 with this type, or the body of a 408. Everything may be absent. */
typedef struct tk_try_again {
    tk_f_str request_id;
    tk_f_enum queue_state; /* tk_queue_state */
    tk_f_str queue_state_reason;
    tk_f_i64 retry_after_ms;
} tk_try_again;

/* "Done, and this large": sent once, when the poll allowed it. */
typedef struct tk_complete_metadata {
    tk_f_i64 response_payload_size; /* null or absent = 0 */
} tk_complete_metadata;

/* Work that was accepted and failed. */
typedef struct tk_request_failed {
    tk_f_str error;
    tk_f_enum category; /* tinkc_category; anything unexpected reads as unknown */
} tk_request_failed;

/* ---- all samples of a session at once (docs/protocol.md §4.1) ---- */

/* The part of a sampling session that is one client's: TK_CLONE_SEQS sequence ids from
 * cloned_sampler_id * TK_CLONE_SEQS on (msg_session.h). */
typedef struct tk_futures_target {
    tk_f_str sampling_session_id;
    tk_f_i64 cloned_sampler_id; /* 0: the client that made the session */
} tk_futures_target;

/* POST retrieve_futures */
typedef struct tk_retrieve_futures_request {
    tk_futures_target target;
    tk_f_i64 prev_cursor;          /* of the answer before; 0: from the beginning */
    tk_f_num timeout;              /* seconds that the server may hold it */
    tk_strs retrieved_request_ids; /* whose results the client has */
} tk_retrieve_futures_request;

typedef enum tk_completion_state {
    TK_COMPLETION_FINISHED,
    TK_COMPLETION_FAILED,
    TK_COMPLETION_OTHER /* a word that we do not know */
} tk_completion_state;

/* A request that has ended; what it ended with is fetched with retrieve_future. */
typedef struct tk_future_completion {
    tk_f_enum state; /* tk_completion_state */
    tk_f_str request_id;
    tk_f_i64 response_payload_uncompressed_size; /* of a finished one, if known */
} tk_future_completion;

typedef struct tk_retrieve_futures_response {
    const tk_future_completion *completions;
    size_t completions_n;
    tk_f_i64 cursor;
} tk_retrieve_futures_response;

/* Reads a 2xx answer. A completion that cannot be read is left out; without a cursor,
 * `cursor` is unset. TINKC_E_PARSE, TINKC_E_DECODE when it is no such object at all,
 * TINKC_E_LIMIT, TINKC_E_NOMEM. */
TK_NODISCARD tinkc_code tk_retrieve_futures_read(tk_retrieve_futures_response *out,
                                                 tk_arena *arena, tk_str body,
                                                 tk_err *err);

/* POST cancel_future */
typedef struct tk_cancel_future_request {
    tk_f_str request_id;
} tk_cancel_future_request;

extern const tk_schema tk_msg_retrieve_future_request, tk_msg_try_again,
    tk_msg_complete_metadata, tk_msg_request_failed, tk_msg_futures_target,
    tk_msg_retrieve_futures_request, tk_msg_future_completion,
    tk_msg_retrieve_futures_response, tk_msg_cancel_future_request;

/* What a future is a promise of. */
typedef enum tk_future_type {
    TK_FUTURE_CREATE_MODEL,
    TK_FUTURE_FORWARD_BACKWARD,
    TK_FUTURE_FORWARD,
    TK_FUTURE_OPTIM_STEP,
    TK_FUTURE_SAVE_WEIGHTS,
    TK_FUTURE_SAVE_WEIGHTS_FOR_SAMPLER,
    TK_FUTURE_LOAD_WEIGHTS,
    TK_FUTURE_UNLOAD_MODEL,
    TK_FUTURE_SAMPLE,
    TK_FUTURE_SAVE_WEIGHTS_EXTERNAL,
    TK_FUTURE_CREATE_CUSTOM_LOSS
} tk_future_type;

#define TK_FUTURE_TYPES 11

typedef struct tk_future_info {
    const char *header;      /* X-Tinker-Request-Type */
    const char *label;       /* `type` of the JSON form, which may lack it */
    const tk_schema *result; /* of the JSON form */
    bool is_proto;           /* asked for as protobuf; some servers send JSON */
} tk_future_info;

const tk_future_info *tk_future_info_of(tk_future_type type);

/* What came back, in the order in which it is checked (rows 12 to 19 of docs/protocol.md
 * §4). */
typedef enum tk_answer_kind {
    TK_ANSWER_PROTO,          /* body is the protobuf result */
    TK_ANSWER_TRY_AGAIN,      /* poll again */
    TK_ANSWER_METADATA,       /* poll again with allow_metadata_only false */
    TK_ANSWER_METADATA_TWICE, /* protocol error: it was not allowed any more */
    TK_ANSWER_FAILED,         /* the work failed at the server */
    TK_ANSWER_OTHER,          /* its `type` or `status` is not this result's */
    TK_ANSWER_RESULT,         /* JSON result */
    TK_ANSWER_MALFORMED       /* not JSON, not an object, or protobuf for a JSON result */
} tk_answer_kind;

typedef struct tk_future_poll {
    tk_future_type type;
    bool allow_metadata_only; /* as in the request */
    tk_str content_type;      /* of the answer */
} tk_future_poll;

typedef struct tk_future_answer {
    tk_answer_kind kind;
    const tk_json *json;     /* all but PROTO and MALFORMED */
    tk_try_again try_again;  /* TRY_AGAIN */
    int64_t payload_size;    /* METADATA */
    tinkc_category category; /* FAILED */
    tk_str error; /* FAILED: text, or the JSON text of another value; OTHER: the word */
} tk_future_answer;

/* Sorts a 2xx answer. Everything in *out lives in the arena. TINKC_OK for every kind but
 * MALFORMED, which returns why (TINKC_E_PARSE, TINKC_E_DECODE, TINKC_E_LIMIT); only
 * TINKC_E_NOMEM says nothing about the answer. */
TK_NODISCARD tinkc_code tk_future_classify(tk_future_answer *out,
                                           const tk_future_poll *poll, tk_arena *arena,
                                           tk_str body, tk_err *err);

/* The queue state in the body of a 408; all unset when there is none. Never fails: a body
 * that does not parse counts as none. */
void tk_future_read_408(tk_try_again *out, tk_arena *arena, tk_str body);

#endif
