"""The C library as ctypes sees it: enumerations, structs and functions.

Written by scripts/gen-python.py from include/tinkc/*.h. Do not edit."""

# fmt: off

import enum
from ctypes import (CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_double, c_float,
                    c_int, c_int32, c_int64, c_size_t, c_uint, c_uint64, c_void_p)

from ._load import function as _f, getter as _g

TINKC_FOREVER = -1
TINKC_NO_MAX_TOKENS = -1
TINKC_NO_TTL = -1
TINKC_UNKNOWN_TOKENS = -1
TINKC_ARRAY_BORROW = 1
TINKC_ARRAY_COMPACT = 2
TINKC_VERSION = "0.1.0"
TINKC_VERSION_NUMBER = 100
TINKC_SDK_LEVEL = "0.36.0"
TINKC_VERSION_MAJOR = 0
TINKC_VERSION_MINOR = 1
TINKC_VERSION_PATCH = 0


class LossOn(enum.IntEnum):
    """tinkc_loss_on"""

    ASSISTANT = 0
    LAST = 1
    ALL = 2


class Loop(enum.IntEnum):
    """tinkc_loop"""

    THREAD = 0
    MANUAL = 1


class Code(enum.IntEnum):
    """tinkc_code"""

    OK = 0
    E_NOMEM = 1
    E_INVALID = 2
    E_STATE = 3
    E_CONFIG = 4
    E_LIMIT = 5
    E_MISSING = 6
    E_PARSE = 7
    E_DECODE = 8
    E_UNSUPPORTED = 9
    E_IO = 10
    E_CONNECTION = 11
    E_TIMEOUT = 12
    E_CANCELLED = 13
    E_STUCK = 14
    E_BUDGET = 15
    E_REQUEST = 16
    E_STATUS = 17
    E_BAD_REQUEST = 18
    E_AUTH = 19
    E_PAYMENT = 20
    E_PERMISSION = 21
    E_NOT_FOUND = 22
    E_CONFLICT = 23
    E_GONE = 24
    E_UNPROCESSABLE = 25
    E_RATE_LIMIT = 26
    E_SERVER = 27
    E_INTERNAL = 28


class Category(enum.IntEnum):
    """tinkc_category"""

    UNKNOWN = 0
    SERVER = 1
    USER = 2


class Class(enum.IntEnum):
    """tinkc_class"""

    NONE = 0
    USER = 1
    RETRYABLE = 2
    FATAL = 3


class Stage(enum.IntEnum):
    """tinkc_stage"""

    ENCODING = 0
    TURN = 1
    BUDGET = 2
    BACKOFF = 3
    WIRE = 4
    QUEUED = 5
    RUNNING = 6
    DOWNLOADING = 7
    CALLBACK = 8
    DONE = 9


class QueueState(enum.IntEnum):
    """tinkc_queue_state"""

    UNKNOWN = 0
    ACTIVE = 1
    PAUSED_CAPACITY = 2
    PAUSED_RATE_LIMIT = 3


class HookEvent(enum.IntEnum):
    """tinkc_hook_event"""

    START = 0
    STOP = 1
    ERROR = 2
    RETRY = 3
    QUEUE = 4
    TOKENS = 5


class SpanKind(enum.IntEnum):
    """tinkc_span_kind"""

    OPERATION = 0
    HTTP = 1


class TokenKind(enum.IntEnum):
    """tinkc_token_kind"""

    TRAINING = 0
    PREFILL = 1
    CACHED_PREFILL = 2
    SAMPLED = 3


class LogLevel(enum.IntEnum):
    """tinkc_log_level"""

    OFF = 0
    ERROR = 1
    WARN = 2
    INFO = 3
    DEBUG = 4


class ReadingKind(enum.IntEnum):
    """tinkc_reading_kind"""

    COUNTER = 0
    GAUGE = 1
    HISTOGRAM = 2


class Choice(enum.IntEnum):
    """tinkc_choice"""

    UNSET = 0
    NO = 1
    YES = 2


class Optimizer(enum.IntEnum):
    """tinkc_optimizer"""

    ADAMW = 0
    DIMUON = 1
    OTHER = 2


class Loss(enum.IntEnum):
    """tinkc_loss"""

    CROSS_ENTROPY = 0
    IMPORTANCE_SAMPLING = 1
    PPO = 2
    CISPO = 3
    DRO = 4
    GSPO = 5
    STABLE_REINFORCE = 6
    CUSTOM = 7


class PushStage(enum.IntEnum):
    """tinkc_push_stage"""

    LOGIN = 1
    DOWNLOAD = 2
    CHECK = 3
    REPO = 4
    UPLOAD = 5
    COMMIT = 6


class RegularizerKind(enum.IntEnum):
    """tinkc_regularizer_kind"""

    L1 = 0
    L2 = 1
    ELASTIC_NET = 2
    ENTROPY = 3
    KL = 4
    CONSISTENCY = 5
    ORTHOGONALITY = 6


class KlDirection(enum.IntEnum):
    """tinkc_kl_direction"""

    FORWARD = 0
    REVERSE = 1
    SYMMETRIC = 2


class Scope(enum.IntEnum):
    """tinkc_scope"""

    OWNED = 0
    ACCESSIBLE = 1


class CheckpointType(enum.IntEnum):
    """tinkc_checkpoint_type"""

    TRAINING = 0
    SAMPLER = 1
    EXTERNAL = 2
    OTHER = -1


class BillingKind(enum.IntEnum):
    """tinkc_billing_kind"""

    TRAINING = 0
    SAMPLING_PREFILL = 1
    SAMPLING_SAMPLE = 2
    CHECKPOINT = 3
    STORAGE = 4
    OTHER = -1


class AuditEvents(enum.IntEnum):
    """tinkc_audit_events"""

    ALL = 0
    CHECKPOINTS = 1
    PROJECTS = 2
    TEAMS = 3
    ORGANIZATIONS = 4


class StopReason(enum.IntEnum):
    """tinkc_stop_reason"""

    STOP = 0
    LENGTH = 1
    OTHER = -1


class Finish(enum.IntEnum):
    """tinkc_finish"""

    SUCCESS = 0
    ERRORED = 1
    INTERRUPTED = 2


class StreamKind(enum.IntEnum):
    """tinkc_stream_kind"""

    TOKEN = 0
    DONE = 1


class Severity(enum.IntEnum):
    """tinkc_severity"""

    DEBUG = 0
    INFO = 1
    WARNING = 2
    ERROR = 3
    CRITICAL = 4


class ImageFormat(enum.IntEnum):
    """tinkc_image_format"""

    PNG = 0
    JPEG = 1


class Elem(enum.IntEnum):
    """tinkc_elem"""

    I8 = 0
    I16 = 1
    I32 = 2
    I64 = 3
    U8 = 4
    U16 = 5
    U32 = 6
    U64 = 7
    F32 = 8
    F64 = 9
    BF16 = 10
    BOOL = 11


class Dtype(enum.IntEnum):
    """tinkc_dtype"""

    BY_NAME = 0
    FLOAT32 = 1
    INT64 = 2
    INFER = 3
    OTHER = -1


class OriginKind(enum.IntEnum):
    """tinkc_origin_kind"""

    PROMPT = 0
    SAMPLED = 1


class tinkc_chat_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("add_generation_prompt", c_bool),
        ("continue_final", c_bool),
        ("strict", c_bool),
        ("now_us", c_int64),
    ]


class tinkc_chat_part(Structure):
    __slots__ = ()
    _fields_ = [
        ("begin", c_size_t),
        ("end", c_size_t),
        ("message", c_int64),
        ("role", c_char_p),
        ("is_content", c_bool),
        ("is_trained", c_bool),
    ]

tinkc_weigh_fn = CFUNCTYPE(c_float, POINTER(tinkc_chat_part), c_void_p)


class tinkc_train_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("loss_on", c_int),
        ("weigh", tinkc_weigh_fn),
        ("user", c_void_p),
        ("chat", POINTER(tinkc_chat_options)),
    ]


class tinkc_config_option(Structure):
    __slots__ = ()
    _fields_ = [
        ("name", c_char_p),
        ("type", c_char_p),
        ("fallback", c_char_p),
        ("help", c_char_p),
    ]


class tinkc_progress(Structure):
    __slots__ = ()
    _fields_ = [
        ("received", c_uint64),
        ("total", c_int64),
        ("written", c_uint64),
        ("files", c_size_t),
        ("file", c_char_p),
        ("connections", c_int),
    ]

tinkc_progress_fn = CFUNCTYPE(c_bool, POINTER(tinkc_progress), c_void_p)


class tinkc_download_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("overwrite", c_bool),
        ("max_bytes", c_uint64),
        ("max_files", c_uint64),
        ("max_retries", c_int),
        ("retry_ms", c_int64),
        ("sha256", c_char_p),
        ("fn", tinkc_progress_fn),
        ("user", c_void_p),
    ]


class tinkc_wait(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("stage", c_int),
        ("age_ms", c_int64),
        ("stage_ms", c_int64),
        ("silent_ms", c_int64),
        ("attempts", c_int),
        ("last_status", c_int),
        ("queue_state", c_int),
        ("operation", c_char * 32),
        ("reason", c_char * 160),
        ("request_id", c_char * 96),
    ]


class tinkc_pair(Structure):
    __slots__ = ()
    _fields_ = [
        ("name", c_char_p),
        ("value", c_char_p),
    ]


class tinkc_context(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("traceparent", c_char_p),
        ("tracestate", c_char_p),
        ("tags", POINTER(tinkc_pair)),
        ("tags_n", c_size_t),
        ("timeout_ms", c_int64),
        ("deadline_ms", c_int64),
        ("headers", POINTER(tinkc_pair)),
        ("headers_n", c_size_t),
    ]


class tinkc_hook(Structure):
    __slots__ = ()
    _fields_ = [
        ("event", c_int),
        ("kind", c_int),
        ("span", c_uint64),
        ("parent", c_uint64),
        ("name", c_char_p),
        ("time_ns", c_int64),
        ("duration_ns", c_int64),
        ("code", c_int),
        ("http_status", c_int),
        ("attempt", c_int),
        ("bytes_out", c_int64),
        ("bytes_in", c_int64),
        ("delay_ms", c_int64),
        ("reason", c_char_p),
        ("queue_state", c_int),
        ("token_kind", c_int),
        ("tokens", c_int64),
        ("context", POINTER(tinkc_context)),
    ]


class tinkc_reading(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_int),
        ("name", c_char_p),
        ("label", c_char_p),
        ("label_value", c_char_p),
        ("help", c_char_p),
        ("value", c_double),
        ("count", c_int64),
        ("min", c_double),
        ("max", c_double),
        ("p50", c_double),
        ("p90", c_double),
        ("p99", c_double),
    ]


class tinkc_sampling_params(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("max_tokens", c_int64),
        ("has_seed", c_bool),
        ("seed", c_uint64),
        ("temperature", c_double),
        ("top_k", c_int64),
        ("top_p", c_double),
        ("stop", c_char_p),
        ("stop_texts", POINTER(c_char_p)),
        ("stop_texts_n", c_size_t),
        ("stop_tokens", c_void_p),
        ("stop_tokens_n", c_size_t),
    ]


class tinkc_sample_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("num_samples", c_int64),
        ("prompt_logprobs", c_int),
        ("topk_prompt_logprobs", c_int64),
        ("deadline_ms", c_int64),
        ("topk_sample_logprobs", c_int64),
        ("target_prompt_logprobs", c_void_p),
        ("prompt_alt_tokens_k", c_int64),
        ("prompt_logprobs_last_n", c_int64),
        ("record_stability_info", c_bool),
    ]


class tinkc_sample_target(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("sampling_session_id", c_char_p),
        ("model_path", c_char_p),
        ("base_model", c_char_p),
    ]


class tinkc_sample_retry(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("retry", c_bool),
        ("detect_stuck", c_bool),
        ("progress_timeout_ms", c_int64),
        ("delay_base_ms", c_int64),
        ("delay_max_ms", c_int64),
        ("jitter", c_double),
        ("resubmits", c_int64),
    ]


class tinkc_adam_params(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("learning_rate", c_double),
        ("beta1", c_double),
        ("beta2", c_double),
        ("eps", c_double),
        ("weight_decay", c_double),
        ("grad_clip_norm", c_double),
    ]


class tinkc_optimizer_config(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("type", c_int),
        ("version", c_int64),
        ("json", c_char_p),
    ]


class tinkc_dimuon_params(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("learning_rate", c_double),
        ("grad_clip_norm", c_double),
        ("beta1", c_double),
    ]


class tinkc_optim_params(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("type", c_int),
        ("adam", POINTER(tinkc_adam_params)),
        ("dimuon", POINTER(tinkc_dimuon_params)),
        ("json", c_char_p),
    ]


class tinkc_lora_config(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("rank", c_int64),
        ("has_seed", c_bool),
        ("seed", c_uint64),
        ("train_unembed", c_bool),
        ("train_mlp", c_bool),
        ("train_attn", c_bool),
        ("metadata", POINTER(tinkc_pair)),
        ("metadata_n", c_size_t),
        ("optimizer", POINTER(tinkc_optimizer_config)),
    ]


class tinkc_number(Structure):
    __slots__ = ()
    _fields_ = [
        ("name", c_char_p),
        ("value", c_double),
    ]


class tinkc_push_progress(Structure):
    __slots__ = ()
    _fields_ = [
        ("stage", c_int),
        ("done", c_uint64),
        ("total", c_int64),
        ("file", c_char_p),
    ]

tinkc_push_fn = CFUNCTYPE(c_bool, POINTER(tinkc_push_progress), c_void_p)


class tinkc_push_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("repo", c_char_p),
        ("is_public", c_bool),
        ("revision", c_char_p),
        ("commit_message", c_char_p),
        ("create_pr", c_bool),
        ("allow", POINTER(c_char_p)),
        ("allow_n", c_size_t),
        ("ignore", POINTER(c_char_p)),
        ("ignore_n", c_size_t),
        ("no_model_card", c_bool),
        ("hub_url", c_char_p),
        ("hub_token", c_char_p),
        ("temp_dir", c_char_p),
        ("max_retries", c_int),
        ("fn", tinkc_push_fn),
        ("user", c_void_p),
    ]


class tinkc_pushed(Structure):
    __slots__ = ()
    _fields_ = [
        ("repo", c_char_p),
        ("revision", c_char_p),
        ("commit_url", c_char_p),
        ("pr_url", c_char_p),
        ("files", c_size_t),
        ("uploaded", c_uint64),
    ]

tinkc_read_fn = CFUNCTYPE(c_size_t, c_void_p, c_size_t, c_uint64, c_void_p)


class tinkc_part(Structure):
    __slots__ = ()
    _fields_ = [
        ("name", c_char_p),
        ("filename", c_char_p),
        ("content_type", c_char_p),
        ("data", c_void_p),
        ("data_n", c_size_t),
        ("path", c_char_p),
        ("read", tinkc_read_fn),
        ("read_user", c_void_p),
        ("read_n", c_uint64),
    ]


class tinkc_raw_request(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("method", c_char_p),
        ("path", c_char_p),
        ("query", POINTER(tinkc_pair)),
        ("query_n", c_size_t),
        ("headers", POINTER(tinkc_pair)),
        ("headers_n", c_size_t),
        ("body", c_void_p),
        ("body_n", c_size_t),
        ("content_type", c_char_p),
        ("parts", POINTER(tinkc_part)),
        ("parts_n", c_size_t),
        ("multipart", c_bool),
        ("timeout_ms", c_int64),
        ("max_retries", c_int),
        ("any_status", c_bool),
    ]


class tinkc_regularizer(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("kind", c_int),
        ("name", c_char_p),
        ("weight", c_double),
        ("mean", c_bool),
        ("of_probs", c_bool),
        ("center", c_double),
        ("ratio", c_double),
        ("maximize", c_bool),
        ("direction", c_int),
        ("reference", c_char_p),
    ]


class tinkc_custom_item(Structure):
    __slots__ = ()
    _fields_ = [
        ("logprobs", c_void_p),
        ("gradient", POINTER(c_float)),
        ("n", c_size_t),
        ("inputs", c_void_p),
    ]

tinkc_custom_loss_fn = CFUNCTYPE(c_int, POINTER(c_double), c_void_p, POINTER(tinkc_custom_item), c_size_t, c_void_p)


class tinkc_regularized(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("loss", tinkc_custom_loss_fn),
        ("user", c_void_p),
        ("terms", POINTER(tinkc_regularizer)),
        ("terms_n", c_size_t),
        ("gradient_norms", c_bool),
    ]


class tinkc_checkpoint(Structure):
    __slots__ = ()
    _fields_ = [
        ("id", c_char_p),
        ("type", c_int),
        ("path", c_char_p),
        ("time_us", c_int64),
        ("size_bytes", c_int64),
        ("is_public", c_bool),
        ("expires_us", c_int64),
        ("type_text", c_char_p),
        ("metadata", POINTER(tinkc_pair)),
        ("metadata_n", c_size_t),
        ("has_metadata", c_bool),
        ("base_model", c_char_p),
    ]


class tinkc_checkpoints(Structure):
    __slots__ = ()
    _fields_ = [
        ("items", POINTER(tinkc_checkpoint)),
        ("n", c_size_t),
        ("total", c_int64),
        ("next", c_char_p),
    ]


class tinkc_run(Structure):
    __slots__ = ()
    _fields_ = [
        ("id", c_char_p),
        ("base_model", c_char_p),
        ("owner", c_char_p),
        ("is_lora", c_bool),
        ("is_corrupted", c_bool),
        ("lora_rank", c_int64),
        ("last_request_us", c_int64),
        ("last_checkpoint", POINTER(tinkc_checkpoint)),
        ("last_sampler_checkpoint", POINTER(tinkc_checkpoint)),
        ("metadata", POINTER(tinkc_pair)),
        ("metadata_n", c_size_t),
        ("has_metadata", c_bool),
    ]


class tinkc_runs(Structure):
    __slots__ = ()
    _fields_ = [
        ("items", POINTER(tinkc_run)),
        ("n", c_size_t),
        ("total", c_int64),
    ]


class tinkc_archive(Structure):
    __slots__ = ()
    _fields_ = [
        ("url", c_char_p),
        ("expires_us", c_int64),
    ]


class tinkc_weights_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("base_model", c_char_p),
        ("is_lora", c_bool),
        ("lora_rank", c_int64),
        ("train_unembed", c_int),
        ("train_mlp", c_int),
        ("train_attn", c_int),
        ("optimizer", c_int),
        ("optimizer_name", c_char_p),
    ]


class tinkc_sampler_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("id", c_char_p),
        ("base_model", c_char_p),
        ("model_path", c_char_p),
    ]


class tinkc_session_info(Structure):
    __slots__ = ()
    _fields_ = [
        ("run_ids", POINTER(c_char_p)),
        ("run_ids_n", c_size_t),
        ("sampler_ids", POINTER(c_char_p)),
        ("sampler_ids_n", c_size_t),
        ("metadata", POINTER(tinkc_pair)),
        ("metadata_n", c_size_t),
        ("has_metadata", c_bool),
        ("display_name", c_char_p),
    ]


class tinkc_sessions(Structure):
    __slots__ = ()
    _fields_ = [
        ("ids", POINTER(c_char_p)),
        ("n", c_size_t),
    ]


class tinkc_whoami(Structure):
    __slots__ = ()
    _fields_ = [
        ("user_urn", c_char_p),
        ("email", c_char_p),
        ("org_urn", c_char_p),
    ]


class tinkc_audit_entry(Structure):
    __slots__ = ()
    _fields_ = [
        ("time_us", c_int64),
        ("event", c_char_p),
        ("model_id", c_char_p),
        ("path", c_char_p),
        ("purpose", c_char_p),
        ("details", c_char_p),
    ]


class tinkc_audit(Structure):
    __slots__ = ()
    _fields_ = [
        ("items", POINTER(tinkc_audit_entry)),
        ("n", c_size_t),
    ]


class tinkc_billing_event(Structure):
    __slots__ = ()
    _fields_ = [
        ("start_us", c_int64),
        ("end_us", c_int64),
        ("base_model", c_char_p),
        ("user_id", c_char_p),
        ("user_name", c_char_p),
        ("session_id", c_char_p),
        ("project_id", c_char_p),
        ("kind", c_int),
        ("token_count", c_int64),
        ("is_cached", c_bool),
        ("count", c_int64),
        ("gigabyte_hours", c_double),
        ("kind_text", c_char_p),
        ("cost_usd", c_double),
        ("usd_per_million_tokens", c_double),
        ("usd_per_gigabyte_month", c_double),
    ]


class tinkc_billing_session(Structure):
    __slots__ = ()
    _fields_ = [
        ("session_id", c_char_p),
        ("metadata", POINTER(tinkc_pair)),
        ("metadata_n", c_size_t),
        ("has_metadata", c_bool),
    ]


class tinkc_billing(Structure):
    __slots__ = ()
    _fields_ = [
        ("items", POINTER(tinkc_billing_event)),
        ("n", c_size_t),
        ("sessions", POINTER(tinkc_billing_session)),
        ("sessions_n", c_size_t),
        ("cost_data_through_us", c_int64),
    ]


class tinkc_list_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("limit", c_int64),
        ("offset", c_int64),
        ("scope", c_int),
        ("project_id", c_char_p),
    ]


class tinkc_pager_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("page", c_int64),
        ("limit", c_int64),
        ("offset", c_int64),
        ("scope", c_int),
        ("project_id", c_char_p),
    ]


class tinkc_topk(Structure):
    __slots__ = ()
    _fields_ = [
        ("token_ids", c_void_p),
        ("logprobs", c_void_p),
        ("k", c_size_t),
    ]

tinkc_batch_fn = CFUNCTYPE(c_bool, c_size_t, c_void_p, c_void_p, c_void_p)


class tinkc_sample_batch(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("prompts", POINTER(c_void_p)),
        ("prompts_n", c_size_t),
        ("params", POINTER(tinkc_sampling_params)),
        ("options", POINTER(tinkc_sample_options)),
        ("max_in_flight", c_size_t),
        ("fn", tinkc_batch_fn),
        ("user", c_void_p),
    ]


class tinkc_found_session(Structure):
    __slots__ = ()
    _fields_ = [
        ("id", c_char_p),
        ("created_us", c_int64),
        ("owner", c_char_p),
        ("project_id", c_char_p),
        ("status", c_char_p),
        ("status_json", c_char_p),
        ("checkpoints", c_int64),
        ("display_name", c_char_p),
        ("metadata", POINTER(tinkc_pair)),
        ("metadata_n", c_size_t),
        ("has_metadata", c_bool),
        ("checkpoint_bytes", c_int64),
    ]


class tinkc_found_sessions(Structure):
    __slots__ = ()
    _fields_ = [
        ("items", POINTER(tinkc_found_session)),
        ("n", c_size_t),
        ("next", c_char_p),
    ]


class tinkc_session_query(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("session_id", c_char_p),
        ("display_name", c_char_p),
        ("project_ids", POINTER(c_char_p)),
        ("project_ids_n", c_size_t),
        ("metadata", POINTER(tinkc_pair)),
        ("metadata_n", c_size_t),
        ("scope", c_int),
        ("owners", POINTER(c_char_p)),
        ("owners_n", c_size_t),
        ("statuses", POINTER(c_char_p)),
        ("statuses_n", c_size_t),
        ("limit", c_int64),
        ("cursor", c_char_p),
    ]


class tinkc_checkpoint_query(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("type", c_char_p),
        ("base_models", POINTER(c_char_p)),
        ("base_models_n", c_size_t),
        ("project_ids", POINTER(c_char_p)),
        ("project_ids_n", c_size_t),
        ("metadata", POINTER(tinkc_pair)),
        ("metadata_n", c_size_t),
        ("scope", c_int),
        ("owners", POINTER(c_char_p)),
        ("owners_n", c_size_t),
        ("limit", c_int64),
        ("cursor", c_char_p),
    ]


class tinkc_storage_item(Structure):
    __slots__ = ()
    _fields_ = [
        ("project_id", c_char_p),
        ("user_urn", c_char_p),
        ("user_email", c_char_p),
        ("user_name", c_char_p),
        ("checkpoints", c_int64),
        ("bytes", c_int64),
        ("gigabytes", c_double),
        ("monthly_cost_usd", c_double),
    ]


class tinkc_storage(Structure):
    __slots__ = ()
    _fields_ = [
        ("items", POINTER(tinkc_storage_item)),
        ("n", c_size_t),
        ("usd_per_gigabyte_month", c_double),
    ]


class tinkc_from_state_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("with_optimizer", c_bool),
        ("base_model", c_char_p),
        ("weights_access_token", c_char_p),
        ("metadata", POINTER(tinkc_pair)),
        ("metadata_n", c_size_t),
        ("optimizer", POINTER(tinkc_optimizer_config)),
    ]


class tinkc_loss_input(Structure):
    __slots__ = ()
    _fields_ = [
        ("name", c_char_p),
        ("rank", c_int),
    ]


class tinkc_custom_loss(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("name", c_char_p),
        ("inputs", POINTER(tinkc_loss_input)),
        ("inputs_n", c_size_t),
        ("graph", c_char_p),
    ]


class tinkc_stream_event(Structure):
    __slots__ = ()
    _fields_ = [
        ("kind", c_int),
        ("token_id", c_int64),
        ("token", c_char_p),
        ("index", c_int64),
        ("logprob", c_double),
        ("finish_reason", c_char_p),
        ("total_tokens", c_int64),
        ("is_whole_sample", c_bool),
    ]


class tinkc_telemetry_counts(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("is_on", c_bool),
        ("queued", c_uint64),
        ("sent", c_uint64),
        ("dropped", c_uint64),
    ]


class tinkc_tokenizer_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("directory", c_char_p),
        ("tokenizer_id", c_char_p),
        ("revision", c_char_p),
        ("cache_dir", c_char_p),
        ("hub_url", c_char_p),
        ("hub_token", c_char_p),
        ("offline", c_bool),
        ("fn", tinkc_progress_fn),
        ("user", c_void_p),
    ]


class tinkc_encode_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("add_special_tokens", c_bool),
        ("plain_text", c_bool),
        ("offsets", c_bool),
    ]


class tinkc_text_batch(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("texts", POINTER(c_char_p)),
        ("lengths", c_void_p),
        ("texts_n", c_size_t),
        ("threads", c_size_t),
        ("options", POINTER(tinkc_encode_options)),
    ]


class tinkc_decode(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("ids", c_void_p),
        ("ids_n", c_size_t),
        ("skip_special", c_bool),
    ]

tinkc_chunk_fn = CFUNCTYPE(None, c_void_p, c_size_t, c_size_t, c_void_p)


class tinkc_fwdbwd_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("config", POINTER(tinkc_number)),
        ("config_n", c_size_t),
        ("max_parallel_chunks", c_size_t),
        ("on_chunk", tinkc_chunk_fn),
        ("chunks_in_order", c_bool),
        ("user", c_void_p),
        ("texts", POINTER(tinkc_pair)),
        ("texts_n", c_size_t),
    ]


class tinkc_step_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("adam", POINTER(tinkc_adam_params)),
        ("fwdbwd", POINTER(tinkc_fwdbwd_options)),
        ("optim", POINTER(tinkc_optim_params)),
    ]


class tinkc_save_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("ttl_seconds", c_int64),
        ("overwrite", c_bool),
        ("metadata", POINTER(tinkc_pair)),
        ("metadata_n", c_size_t),
        ("recipients", POINTER(c_char_p)),
        ("recipients_n", c_size_t),
    ]

tinkc_produce_fn = CFUNCTYPE(c_int, c_void_p, c_size_t, c_size_t, c_void_p)


class tinkc_array(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("elem", c_int),
        ("data", c_void_p),
        ("shape", c_void_p),
        ("ndim", c_size_t),
        ("strides", c_void_p),
        ("produce", tinkc_produce_fn),
        ("user", c_void_p),
        ("dtype", c_int),
        ("flags", c_uint),
        ("rounded", POINTER(c_size_t)),
    ]


class tinkc_sparse(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("dtype", c_int),
        ("rows", c_int64),
        ("columns", c_int64),
        ("values", c_void_p),
        ("n", c_size_t),
        ("row_starts", c_void_p),
        ("value_columns", c_void_p),
    ]


class tinkc_rows(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("elem", c_int),
        ("rows", POINTER(c_void_p)),
        ("lengths", c_void_p),
        ("n", c_size_t),
        ("dtype", c_int),
    ]


class tinkc_origin(Structure):
    __slots__ = ()
    _fields_ = [
        ("kind", c_int),
        ("sequence_id", c_char_p),
        ("offset", c_int64),
        ("length", c_int64),
    ]


class tinkc_rollout(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("prompt", c_void_p),
        ("tokens", c_void_p),
        ("logprobs", c_void_p),
        ("n", c_size_t),
        ("advantage", c_double),
    ]


class tinkc_upload_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("base_model", c_char_p),
        ("project_id", c_char_p),
    ]


class tinkc_copy_options(Structure):
    __slots__ = ()
    _fields_ = [
        ("size", c_size_t),
        ("project_id", c_char_p),
        ("ttl_seconds", c_int64),
        ("token", c_char_p),
    ]


class tinkc_file_urls(Structure):
    __slots__ = ()
    _fields_ = [
        ("items", POINTER(tinkc_pair)),
        ("n", c_size_t),
        ("expires_us", c_int64),
    ]


tinkc_queue_state_fn = CFUNCTYPE(None, c_int, c_char_p, c_char_p, c_void_p)
tinkc_future_fn = CFUNCTYPE(None, c_void_p, c_void_p)
tinkc_hook_fn = CFUNCTYPE(None, POINTER(tinkc_hook), c_void_p)
tinkc_log_fn = CFUNCTYPE(None, c_int, c_char_p, c_char_p, c_void_p)
tinkc_stream_fn = CFUNCTYPE(c_bool, POINTER(tinkc_stream_event), c_void_p)

tinkc_chat_template_new = _f("tinkc_chat_template_new", c_int, POINTER(c_void_p), c_char_p, POINTER(c_void_p))
tinkc_chat_template_load = _f("tinkc_chat_template_load", c_int, POINTER(c_void_p), c_char_p, c_char_p, POINTER(c_void_p))
tinkc_chat_template_of = _f("tinkc_chat_template_of", c_int, POINTER(c_void_p), c_void_p, c_char_p, POINTER(c_void_p))
tinkc_chat_template_free = _g("tinkc_chat_template_free", None, POINTER(c_void_p))
tinkc_chat_new = _f("tinkc_chat_new", c_int, POINTER(c_void_p), POINTER(c_void_p))
tinkc_chat_free = _g("tinkc_chat_free", None, POINTER(c_void_p))
tinkc_chat_add = _f("tinkc_chat_add", c_int, c_void_p, c_char_p, c_char_p, POINTER(c_void_p))
tinkc_chat_add_json = _f("tinkc_chat_add_json", c_int, c_void_p, c_char_p, c_size_t, POINTER(c_void_p))
tinkc_chat_set = _f("tinkc_chat_set", c_int, c_void_p, c_char_p, c_char_p, POINTER(c_void_p))
tinkc_chat_count = _g("tinkc_chat_count", c_size_t, c_void_p)
tinkc_chat_now = _g("tinkc_chat_now", c_int64)
tinkc_chat_options_init = _g("tinkc_chat_options_init", None, POINTER(tinkc_chat_options))
tinkc_chat_render = _f("tinkc_chat_render", c_int, POINTER(c_void_p), POINTER(c_size_t), c_void_p, c_void_p, POINTER(tinkc_chat_options), POINTER(c_void_p))
tinkc_chat_prompt = _f("tinkc_chat_prompt", c_int, POINTER(c_void_p), c_void_p, c_void_p, c_void_p, POINTER(tinkc_chat_options), POINTER(c_void_p))
tinkc_chat_continue = _f("tinkc_chat_continue", c_int, c_void_p, c_void_p, c_void_p, c_void_p, POINTER(tinkc_chat_options), POINTER(c_void_p))
tinkc_train_options_init = _g("tinkc_train_options_init", None, POINTER(tinkc_train_options))
tinkc_chat_tokens = _f("tinkc_chat_tokens", c_int, POINTER(c_void_p), c_void_p, c_void_p, c_void_p, POINTER(tinkc_train_options), POINTER(c_void_p))
tinkc_rendered_free = _g("tinkc_rendered_free", None, POINTER(c_void_p))
tinkc_rendered_text = _g("tinkc_rendered_text", c_void_p, POINTER(c_size_t), c_void_p)
tinkc_rendered_tokens = _g("tinkc_rendered_tokens", c_void_p, POINTER(c_size_t), c_void_p)
tinkc_rendered_weights = _g("tinkc_rendered_weights", c_void_p, POINTER(c_size_t), c_void_p)
tinkc_rendered_part_count = _g("tinkc_rendered_part_count", c_size_t, c_void_p)
tinkc_rendered_part = _g("tinkc_rendered_part", c_bool, POINTER(tinkc_chat_part), c_void_p, c_size_t)
tinkc_rendered_warning = _g("tinkc_rendered_warning", c_char_p, c_void_p, c_size_t)
tinkc_rendered_datum = _f("tinkc_rendered_datum", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_chat_datum = _f("tinkc_chat_datum", c_int, POINTER(c_void_p), c_void_p, c_void_p, c_void_p, POINTER(tinkc_train_options), POINTER(c_void_p))
tinkc_config_new = _f("tinkc_config_new", c_int, POINTER(c_void_p), POINTER(c_void_p))
tinkc_config_copy = _f("tinkc_config_copy", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_config_free = _g("tinkc_config_free", None, POINTER(c_void_p))
tinkc_config_set = _f("tinkc_config_set", c_int, c_void_p, c_char_p, c_char_p, POINTER(c_void_p))
tinkc_config_get = _g("tinkc_config_get", c_size_t, c_void_p, c_size_t, c_void_p, c_char_p)
tinkc_config_option_at = _g("tinkc_config_option_at", c_bool, POINTER(tinkc_config_option), c_size_t)
tinkc_config_set_header = _f("tinkc_config_set_header", c_int, c_void_p, c_char_p, c_char_p, POINTER(c_void_p))
tinkc_config_set_query = _f("tinkc_config_set_query", c_int, c_void_p, c_char_p, c_char_p, POINTER(c_void_p))
tinkc_config_set_metadata = _f("tinkc_config_set_metadata", c_int, c_void_p, c_char_p, c_char_p, POINTER(c_void_p))
tinkc_config_add_tag = _f("tinkc_config_add_tag", c_int, c_void_p, c_char_p, POINTER(c_void_p))
tinkc_config_set_log = _f("tinkc_config_set_log", None, c_void_p, tinkc_log_fn, c_void_p)
tinkc_download_options_init = _g("tinkc_download_options_init", None, POINTER(tinkc_download_options))
tinkc_download_checkpoint = _f("tinkc_download_checkpoint", c_int, POINTER(tinkc_progress), c_void_p, c_char_p, c_char_p, POINTER(tinkc_download_options), POINTER(c_void_p))
tinkc_download_url = _f("tinkc_download_url", c_int, POINTER(tinkc_progress), c_void_p, c_char_p, c_char_p, POINTER(tinkc_download_options), POINTER(c_void_p))
tinkc_code_name = _g("tinkc_code_name", c_char_p, c_int)
tinkc_category_name = _g("tinkc_category_name", c_char_p, c_int)
tinkc_error_free = _g("tinkc_error_free", None, POINTER(c_void_p))
tinkc_error_code = _f("tinkc_error_code", c_int, c_void_p)
tinkc_error_category = _g("tinkc_error_category", c_int, c_void_p)
tinkc_error_message = _g("tinkc_error_message", c_char_p, c_void_p)
tinkc_error_http_status = _g("tinkc_error_http_status", c_int, c_void_p)
tinkc_error_request_id = _g("tinkc_error_request_id", c_char_p, c_void_p)
tinkc_error_retry_after_ms = _g("tinkc_error_retry_after_ms", c_int64, c_void_p)
tinkc_error_class = _g("tinkc_error_class", c_int, c_void_p)
tinkc_class_name = _g("tinkc_class_name", c_char_p, c_int)
tinkc_error_is_retryable = _g("tinkc_error_is_retryable", c_bool, c_void_p)
tinkc_error_is_fatal = _g("tinkc_error_is_fatal", c_bool, c_void_p)
tinkc_error_is_user_error = _g("tinkc_error_is_user_error", c_bool, c_void_p)
tinkc_error_cause = _g("tinkc_error_cause", c_void_p, c_void_p)
tinkc_wait_init = _g("tinkc_wait_init", None, POINTER(tinkc_wait))
tinkc_future_free = _g("tinkc_future_free", None, POINTER(c_void_p))
tinkc_future_ref = _f("tinkc_future_ref", c_void_p, c_void_p)
tinkc_future_is_done = _g("tinkc_future_is_done", c_bool, c_void_p)
tinkc_future_wait = _f("tinkc_future_wait", c_int, c_void_p, c_int64)
tinkc_future_await = _f("tinkc_future_await", c_int, POINTER(c_void_p), POINTER(c_void_p))
tinkc_future_error = _g("tinkc_future_error", c_void_p, c_void_p)
tinkc_future_take_error = _g("tinkc_future_take_error", c_void_p, c_void_p)
tinkc_future_cancel = _f("tinkc_future_cancel", None, c_void_p)
tinkc_future_on_done = _f("tinkc_future_on_done", c_int, c_void_p, tinkc_future_fn, c_void_p, POINTER(c_void_p))
tinkc_future_status = _f("tinkc_future_status", c_int, POINTER(tinkc_wait), c_void_p, POINTER(c_void_p))
tinkc_future_explain = _g("tinkc_future_explain", c_size_t, c_void_p, c_size_t, c_void_p)
tinkc_wait_explain = _g("tinkc_wait_explain", c_size_t, c_void_p, c_size_t, POINTER(tinkc_wait))
tinkc_future_wait_all = _f("tinkc_future_wait_all", c_int, POINTER(c_void_p), c_size_t, c_int64)
tinkc_future_wait_any = _f("tinkc_future_wait_any", c_int, POINTER(c_size_t), POINTER(c_void_p), c_size_t, c_int64)
tinkc_queue_open = _f("tinkc_queue_open", c_int, POINTER(c_void_p), POINTER(c_void_p))
tinkc_queue_close = _f("tinkc_queue_close", None, POINTER(c_void_p))
tinkc_queue_add = _f("tinkc_queue_add", c_int, c_void_p, c_void_p, c_void_p, POINTER(c_void_p))
tinkc_queue_take = _f("tinkc_queue_take", c_int, POINTER(c_void_p), POINTER(c_void_p), c_void_p, c_int64, POINTER(c_void_p))
tinkc_queue_pending = _g("tinkc_queue_pending", c_size_t, c_void_p)
tinkc_queue_fd = _g("tinkc_queue_fd", c_int, c_void_p)
tinkc_context_init = _g("tinkc_context_init", None, POINTER(tinkc_context))
tinkc_service_with_context = _f("tinkc_service_with_context", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_context), POINTER(c_void_p))
tinkc_training_with_context = _f("tinkc_training_with_context", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_context), POINTER(c_void_p))
tinkc_sampling_with_context = _f("tinkc_sampling_with_context", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_context), POINTER(c_void_p))
tinkc_future_context = _g("tinkc_future_context", POINTER(tinkc_context), c_void_p)
tinkc_service_add_hook = _f("tinkc_service_add_hook", c_int, c_void_p, tinkc_hook_fn, c_void_p, c_void_p, POINTER(c_void_p))
tinkc_token_kind_name = _g("tinkc_token_kind_name", c_char_p, c_int)
tinkc_service_set_budget = _f("tinkc_service_set_budget", c_int, c_void_p, c_int64, POINTER(c_void_p))
tinkc_service_read_ledger = _f("tinkc_service_read_ledger", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_ledger_free = _g("tinkc_ledger_free", None, POINTER(c_void_p))
tinkc_ledger_total = _g("tinkc_ledger_total", c_int64, c_void_p, c_int)
tinkc_ledger_uncertain = _g("tinkc_ledger_uncertain", c_int64, c_void_p)
tinkc_ledger_reserved = _g("tinkc_ledger_reserved", c_int64, c_void_p)
tinkc_ledger_left = _g("tinkc_ledger_left", c_int64, c_void_p)
tinkc_ledger_runs = _g("tinkc_ledger_runs", c_size_t, c_void_p)
tinkc_ledger_run_id = _g("tinkc_ledger_run_id", c_char_p, c_void_p, c_size_t)
tinkc_ledger_run_tokens = _g("tinkc_ledger_run_tokens", c_int64, c_void_p, c_size_t, c_int)
tinkc_ledger_steps = _g("tinkc_ledger_steps", c_size_t, c_void_p, c_size_t)
tinkc_ledger_step_tokens = _g("tinkc_ledger_step_tokens", c_int64, c_void_p, c_size_t, c_size_t)
tinkc_estimate_batch = _f("tinkc_estimate_batch", c_int, POINTER(c_int64), POINTER(c_void_p), c_size_t, POINTER(c_void_p))
tinkc_estimate_sample = _f("tinkc_estimate_sample", c_int, POINTER(c_int64), POINTER(c_int64), c_void_p, POINTER(tinkc_sampling_params), POINTER(tinkc_sample_options), POINTER(c_void_p))
tinkc_log_level_name = _g("tinkc_log_level_name", c_char_p, c_int)
tinkc_log_level_parse = _g("tinkc_log_level_parse", c_bool, POINTER(c_int), c_char_p)
tinkc_meter_new = _f("tinkc_meter_new", c_int, POINTER(c_void_p), POINTER(c_void_p))
tinkc_meter_attach = _f("tinkc_meter_attach", c_int, c_void_p, c_void_p, POINTER(c_void_p))
tinkc_meter_add = _f("tinkc_meter_add", c_int, c_void_p, c_char_p, c_double, POINTER(c_void_p))
tinkc_meter_set = _f("tinkc_meter_set", c_int, c_void_p, c_char_p, c_double, POINTER(c_void_p))
tinkc_meter_observe = _f("tinkc_meter_observe", c_int, c_void_p, c_char_p, c_double, POINTER(c_void_p))
tinkc_meter_reset = _f("tinkc_meter_reset", None, c_void_p)
tinkc_meter_free = _g("tinkc_meter_free", None, POINTER(c_void_p))
tinkc_meter_read = _f("tinkc_meter_read", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_reading_init = _g("tinkc_reading_init", None, POINTER(tinkc_reading))
tinkc_readings_count = _g("tinkc_readings_count", c_size_t, c_void_p)
tinkc_readings_at = _g("tinkc_readings_at", c_bool, POINTER(tinkc_reading), c_void_p, c_size_t)
tinkc_readings_find = _f("tinkc_readings_find", c_int, POINTER(tinkc_reading), c_void_p, c_char_p, c_char_p, POINTER(c_void_p))
tinkc_readings_json = _f("tinkc_readings_json", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_readings_prometheus = _f("tinkc_readings_prometheus", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_readings_free = _g("tinkc_readings_free", None, POINTER(c_void_p))
tinkc_metrics_free = _g("tinkc_metrics_free", None, POINTER(c_void_p))
tinkc_metrics_count = _g("tinkc_metrics_count", c_size_t, c_void_p)
tinkc_metrics_at = _g("tinkc_metrics_at", c_bool, POINTER(c_char_p), POINTER(c_double), c_void_p, c_size_t)
tinkc_metrics_get = _f("tinkc_metrics_get", c_int, POINTER(c_double), c_void_p, c_char_p, POINTER(c_void_p))
tinkc_metrics_loss = _f("tinkc_metrics_loss", c_int, POINTER(c_double), c_void_p, POINTER(c_void_p))
tinkc_metrics_loss_name = _g("tinkc_metrics_loss_name", c_char_p, c_void_p)
tinkc_metrics_put = _f("tinkc_metrics_put", c_int, c_void_p, c_char_p, c_double, POINTER(c_void_p))
tinkc_sampling_params_init = _g("tinkc_sampling_params_init", None, POINTER(tinkc_sampling_params))
tinkc_sampling_params_check = _f("tinkc_sampling_params_check", c_int, POINTER(tinkc_sampling_params), POINTER(c_void_p))
tinkc_sample_options_init = _g("tinkc_sample_options_init", None, POINTER(tinkc_sample_options))
tinkc_sample_options_check = _f("tinkc_sample_options_check", c_int, POINTER(tinkc_sample_options), POINTER(c_void_p))
tinkc_sample_target_init = _g("tinkc_sample_target_init", None, POINTER(tinkc_sample_target))
tinkc_sample_target_check = _f("tinkc_sample_target_check", c_int, POINTER(tinkc_sample_target), POINTER(c_void_p))
tinkc_sample_retry_init = _g("tinkc_sample_retry_init", None, POINTER(tinkc_sample_retry))
tinkc_sample_retry_check = _f("tinkc_sample_retry_check", c_int, POINTER(tinkc_sample_retry), POINTER(c_void_p))
tinkc_adam_params_init = _g("tinkc_adam_params_init", None, POINTER(tinkc_adam_params))
tinkc_adam_params_check = _f("tinkc_adam_params_check", c_int, POINTER(tinkc_adam_params), POINTER(c_void_p))
tinkc_optimizer_name = _g("tinkc_optimizer_name", c_char_p, c_int)
tinkc_optimizer_config_init = _g("tinkc_optimizer_config_init", None, POINTER(tinkc_optimizer_config))
tinkc_optimizer_config_check = _f("tinkc_optimizer_config_check", c_int, POINTER(tinkc_optimizer_config), POINTER(c_void_p))
tinkc_dimuon_params_init = _g("tinkc_dimuon_params_init", None, POINTER(tinkc_dimuon_params))
tinkc_optim_params_init = _g("tinkc_optim_params_init", None, POINTER(tinkc_optim_params))
tinkc_optim_params_check = _f("tinkc_optim_params_check", c_int, POINTER(tinkc_optim_params), POINTER(c_void_p))
tinkc_lora_config_init = _g("tinkc_lora_config_init", None, POINTER(tinkc_lora_config))
tinkc_lora_config_check = _f("tinkc_lora_config_check", c_int, POINTER(tinkc_lora_config), POINTER(c_void_p))
tinkc_loss_name = _g("tinkc_loss_name", c_char_p, c_int)
tinkc_loss_parse = _f("tinkc_loss_parse", c_int, POINTER(c_int), c_char_p, POINTER(c_void_p))
tinkc_push_options_init = _g("tinkc_push_options_init", None, POINTER(tinkc_push_options))
tinkc_push_checkpoint = _f("tinkc_push_checkpoint", c_int, POINTER(POINTER(tinkc_pushed)), c_void_p, c_char_p, POINTER(tinkc_push_options), POINTER(c_void_p))
tinkc_pushed_free = _g("tinkc_pushed_free", None, POINTER(POINTER(tinkc_pushed)))
tinkc_raw_request_init = _g("tinkc_raw_request_init", None, POINTER(tinkc_raw_request))
tinkc_raw_send = _f("tinkc_raw_send", c_void_p, c_void_p, POINTER(tinkc_raw_request))
tinkc_raw_send_wait = _f("tinkc_raw_send_wait", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_raw_request), POINTER(c_void_p))
tinkc_future_take_raw_response = _g("tinkc_future_take_raw_response", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_future_await_raw_response = _f("tinkc_future_await_raw_response", c_int, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p))
tinkc_raw_response_free = _g("tinkc_raw_response_free", None, POINTER(c_void_p))
tinkc_raw_response_status = _g("tinkc_raw_response_status", c_int, c_void_p)
tinkc_raw_response_header = _g("tinkc_raw_response_header", c_char_p, c_void_p, c_char_p)
tinkc_raw_response_header_at = _g("tinkc_raw_response_header_at", c_bool, POINTER(tinkc_pair), c_void_p, c_size_t)
tinkc_raw_response_body = _g("tinkc_raw_response_body", c_void_p, POINTER(c_size_t), c_void_p)
tinkc_raw_open = _f("tinkc_raw_open", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_raw_request), POINTER(c_void_p))
tinkc_raw_stream_head = _g("tinkc_raw_stream_head", c_void_p, c_void_p)
tinkc_raw_stream_read = _f("tinkc_raw_stream_read", c_int, c_void_p, c_size_t, POINTER(c_size_t), c_void_p, c_int64, POINTER(c_void_p))
tinkc_raw_stream_close = _f("tinkc_raw_stream_close", None, POINTER(c_void_p))
tinkc_raw_save = _f("tinkc_raw_save", c_int, POINTER(c_uint64), c_void_p, POINTER(tinkc_raw_request), c_char_p, POINTER(c_void_p))
tinkc_regularizer_init = _g("tinkc_regularizer_init", None, POINTER(tinkc_regularizer))
tinkc_regularizer_kind_name = _g("tinkc_regularizer_kind_name", c_char_p, c_int)
tinkc_regularizer_check = _f("tinkc_regularizer_check", c_int, POINTER(tinkc_regularizer), POINTER(c_void_p))
tinkc_regularized_init = _g("tinkc_regularized_init", None, POINTER(tinkc_regularized))
tinkc_regularize = _g("tinkc_regularize", c_int, POINTER(c_double), c_void_p, POINTER(tinkc_custom_item), c_size_t, c_void_p)
tinkc_time_none = _g("tinkc_time_none", c_int64)
tinkc_checkpoint_type_name = _g("tinkc_checkpoint_type_name", c_char_p, c_int)
tinkc_billing_kind_name = _g("tinkc_billing_kind_name", c_char_p, c_int)
tinkc_time_format = _g("tinkc_time_format", c_size_t, c_void_p, c_size_t, c_int64)
tinkc_time_parse = _f("tinkc_time_parse", c_int, POINTER(c_int64), c_char_p, POINTER(c_void_p))
tinkc_rest_get_run = _f("tinkc_rest_get_run", c_void_p, c_void_p, c_char_p, c_int)
tinkc_rest_get_run_wait = _f("tinkc_rest_get_run_wait", c_int, POINTER(POINTER(tinkc_run)), c_void_p, c_char_p, c_int, POINTER(c_void_p))
tinkc_rest_get_run_of_path = _f("tinkc_rest_get_run_of_path", c_void_p, c_void_p, c_char_p, c_int)
tinkc_rest_get_run_of_path_wait = _f("tinkc_rest_get_run_of_path_wait", c_int, POINTER(POINTER(tinkc_run)), c_void_p, c_char_p, c_int, POINTER(c_void_p))
tinkc_future_take_run = _g("tinkc_future_take_run", c_int, POINTER(POINTER(tinkc_run)), c_void_p, POINTER(c_void_p))
tinkc_future_await_run = _f("tinkc_future_await_run", c_int, POINTER(POINTER(tinkc_run)), POINTER(c_void_p), POINTER(c_void_p))
tinkc_run_free = _g("tinkc_run_free", None, POINTER(POINTER(tinkc_run)))
tinkc_list_options_init = _g("tinkc_list_options_init", None, POINTER(tinkc_list_options))
tinkc_rest_list_runs = _f("tinkc_rest_list_runs", c_void_p, c_void_p, POINTER(tinkc_list_options))
tinkc_rest_list_runs_wait = _f("tinkc_rest_list_runs_wait", c_int, POINTER(POINTER(tinkc_runs)), c_void_p, POINTER(tinkc_list_options), POINTER(c_void_p))
tinkc_future_take_runs = _g("tinkc_future_take_runs", c_int, POINTER(POINTER(tinkc_runs)), c_void_p, POINTER(c_void_p))
tinkc_future_await_runs = _f("tinkc_future_await_runs", c_int, POINTER(POINTER(tinkc_runs)), POINTER(c_void_p), POINTER(c_void_p))
tinkc_runs_free = _g("tinkc_runs_free", None, POINTER(POINTER(tinkc_runs)))
tinkc_rest_list_checkpoints = _f("tinkc_rest_list_checkpoints", c_void_p, c_void_p, c_char_p)
tinkc_rest_list_checkpoints_wait = _f("tinkc_rest_list_checkpoints_wait", c_int, POINTER(POINTER(tinkc_checkpoints)), c_void_p, c_char_p, POINTER(c_void_p))
tinkc_rest_list_user_checkpoints = _f("tinkc_rest_list_user_checkpoints", c_void_p, c_void_p, POINTER(tinkc_list_options))
tinkc_rest_list_user_checkpoints_wait = _f("tinkc_rest_list_user_checkpoints_wait", c_int, POINTER(POINTER(tinkc_checkpoints)), c_void_p, POINTER(tinkc_list_options), POINTER(c_void_p))
tinkc_future_take_checkpoints = _g("tinkc_future_take_checkpoints", c_int, POINTER(POINTER(tinkc_checkpoints)), c_void_p, POINTER(c_void_p))
tinkc_future_await_checkpoints = _f("tinkc_future_await_checkpoints", c_int, POINTER(POINTER(tinkc_checkpoints)), POINTER(c_void_p), POINTER(c_void_p))
tinkc_checkpoints_free = _g("tinkc_checkpoints_free", None, POINTER(POINTER(tinkc_checkpoints)))
tinkc_rest_delete_checkpoint = _f("tinkc_rest_delete_checkpoint", c_void_p, c_void_p, c_char_p)
tinkc_rest_delete_checkpoint_wait = _f("tinkc_rest_delete_checkpoint_wait", c_int, c_void_p, c_char_p, POINTER(c_void_p))
tinkc_rest_publish_checkpoint = _f("tinkc_rest_publish_checkpoint", c_void_p, c_void_p, c_char_p)
tinkc_rest_publish_checkpoint_wait = _f("tinkc_rest_publish_checkpoint_wait", c_int, c_void_p, c_char_p, POINTER(c_void_p))
tinkc_rest_unpublish_checkpoint = _f("tinkc_rest_unpublish_checkpoint", c_void_p, c_void_p, c_char_p)
tinkc_rest_unpublish_checkpoint_wait = _f("tinkc_rest_unpublish_checkpoint_wait", c_int, c_void_p, c_char_p, POINTER(c_void_p))
tinkc_rest_set_checkpoint_ttl = _f("tinkc_rest_set_checkpoint_ttl", c_void_p, c_void_p, c_char_p, c_int64)
tinkc_rest_set_checkpoint_ttl_wait = _f("tinkc_rest_set_checkpoint_ttl_wait", c_int, c_void_p, c_char_p, c_int64, POINTER(c_void_p))
tinkc_rest_archive_url = _f("tinkc_rest_archive_url", c_void_p, c_void_p, c_char_p)
tinkc_rest_archive_url_wait = _f("tinkc_rest_archive_url_wait", c_int, POINTER(POINTER(tinkc_archive)), c_void_p, c_char_p, POINTER(c_void_p))
tinkc_future_take_archive = _g("tinkc_future_take_archive", c_int, POINTER(POINTER(tinkc_archive)), c_void_p, POINTER(c_void_p))
tinkc_future_await_archive = _f("tinkc_future_await_archive", c_int, POINTER(POINTER(tinkc_archive)), POINTER(c_void_p), POINTER(c_void_p))
tinkc_archive_free = _g("tinkc_archive_free", None, POINTER(POINTER(tinkc_archive)))
tinkc_rest_weights_info = _f("tinkc_rest_weights_info", c_void_p, c_void_p, c_char_p)
tinkc_rest_weights_info_wait = _f("tinkc_rest_weights_info_wait", c_int, POINTER(POINTER(tinkc_weights_info)), c_void_p, c_char_p, POINTER(c_void_p))
tinkc_future_take_weights_info = _g("tinkc_future_take_weights_info", c_int, POINTER(POINTER(tinkc_weights_info)), c_void_p, POINTER(c_void_p))
tinkc_future_await_weights_info = _f("tinkc_future_await_weights_info", c_int, POINTER(POINTER(tinkc_weights_info)), POINTER(c_void_p), POINTER(c_void_p))
tinkc_weights_info_free = _g("tinkc_weights_info_free", None, POINTER(POINTER(tinkc_weights_info)))
tinkc_rest_get_sampler = _f("tinkc_rest_get_sampler", c_void_p, c_void_p, c_char_p)
tinkc_rest_get_sampler_wait = _f("tinkc_rest_get_sampler_wait", c_int, POINTER(POINTER(tinkc_sampler_info)), c_void_p, c_char_p, POINTER(c_void_p))
tinkc_future_take_sampler_info = _g("tinkc_future_take_sampler_info", c_int, POINTER(POINTER(tinkc_sampler_info)), c_void_p, POINTER(c_void_p))
tinkc_future_await_sampler_info = _f("tinkc_future_await_sampler_info", c_int, POINTER(POINTER(tinkc_sampler_info)), POINTER(c_void_p), POINTER(c_void_p))
tinkc_sampler_info_free = _g("tinkc_sampler_info_free", None, POINTER(POINTER(tinkc_sampler_info)))
tinkc_rest_get_session = _f("tinkc_rest_get_session", c_void_p, c_void_p, c_char_p, c_int)
tinkc_rest_get_session_wait = _f("tinkc_rest_get_session_wait", c_int, POINTER(POINTER(tinkc_session_info)), c_void_p, c_char_p, c_int, POINTER(c_void_p))
tinkc_future_take_session_info = _g("tinkc_future_take_session_info", c_int, POINTER(POINTER(tinkc_session_info)), c_void_p, POINTER(c_void_p))
tinkc_future_await_session_info = _f("tinkc_future_await_session_info", c_int, POINTER(POINTER(tinkc_session_info)), POINTER(c_void_p), POINTER(c_void_p))
tinkc_session_info_free = _g("tinkc_session_info_free", None, POINTER(POINTER(tinkc_session_info)))
tinkc_rest_list_sessions = _f("tinkc_rest_list_sessions", c_void_p, c_void_p, POINTER(tinkc_list_options))
tinkc_rest_list_sessions_wait = _f("tinkc_rest_list_sessions_wait", c_int, POINTER(POINTER(tinkc_sessions)), c_void_p, POINTER(tinkc_list_options), POINTER(c_void_p))
tinkc_future_take_sessions = _g("tinkc_future_take_sessions", c_int, POINTER(POINTER(tinkc_sessions)), c_void_p, POINTER(c_void_p))
tinkc_future_await_sessions = _f("tinkc_future_await_sessions", c_int, POINTER(POINTER(tinkc_sessions)), POINTER(c_void_p), POINTER(c_void_p))
tinkc_sessions_free = _g("tinkc_sessions_free", None, POINTER(POINTER(tinkc_sessions)))
tinkc_rest_assign_project = _f("tinkc_rest_assign_project", c_void_p, c_void_p, c_char_p, c_char_p)
tinkc_rest_assign_project_wait = _f("tinkc_rest_assign_project_wait", c_int, c_void_p, c_char_p, c_char_p, POINTER(c_void_p))
tinkc_rest_export_trace = _f("tinkc_rest_export_trace", c_void_p, c_void_p, c_char_p)
tinkc_rest_export_trace_wait = _f("tinkc_rest_export_trace_wait", c_int, POINTER(c_void_p), c_void_p, c_char_p, POINTER(c_void_p))
tinkc_rest_whoami = _f("tinkc_rest_whoami", c_void_p, c_void_p)
tinkc_rest_whoami_wait = _f("tinkc_rest_whoami_wait", c_int, POINTER(POINTER(tinkc_whoami)), c_void_p, POINTER(c_void_p))
tinkc_future_take_whoami = _g("tinkc_future_take_whoami", c_int, POINTER(POINTER(tinkc_whoami)), c_void_p, POINTER(c_void_p))
tinkc_future_await_whoami = _f("tinkc_future_await_whoami", c_int, POINTER(POINTER(tinkc_whoami)), POINTER(c_void_p), POINTER(c_void_p))
tinkc_whoami_free = _g("tinkc_whoami_free", None, POINTER(POINTER(tinkc_whoami)))
tinkc_rest_audit = _f("tinkc_rest_audit", c_void_p, c_void_p, c_int, c_char_p)
tinkc_rest_audit_wait = _f("tinkc_rest_audit_wait", c_int, POINTER(POINTER(tinkc_audit)), c_void_p, c_int, c_char_p, POINTER(c_void_p))
tinkc_future_take_audit = _g("tinkc_future_take_audit", c_int, POINTER(POINTER(tinkc_audit)), c_void_p, POINTER(c_void_p))
tinkc_future_await_audit = _f("tinkc_future_await_audit", c_int, POINTER(POINTER(tinkc_audit)), POINTER(c_void_p), POINTER(c_void_p))
tinkc_audit_free = _g("tinkc_audit_free", None, POINTER(POINTER(tinkc_audit)))
tinkc_rest_billing = _f("tinkc_rest_billing", c_void_p, c_void_p, c_int64, c_int64)
tinkc_rest_billing_wait = _f("tinkc_rest_billing_wait", c_int, POINTER(POINTER(tinkc_billing)), c_void_p, c_int64, c_int64, POINTER(c_void_p))
tinkc_future_take_billing = _g("tinkc_future_take_billing", c_int, POINTER(POINTER(tinkc_billing)), c_void_p, POINTER(c_void_p))
tinkc_future_await_billing = _f("tinkc_future_await_billing", c_int, POINTER(POINTER(tinkc_billing)), POINTER(c_void_p), POINTER(c_void_p))
tinkc_billing_free = _g("tinkc_billing_free", None, POINTER(POINTER(tinkc_billing)))
tinkc_pager_options_init = _g("tinkc_pager_options_init", None, POINTER(tinkc_pager_options))
tinkc_pager_runs = _f("tinkc_pager_runs", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_pager_options), POINTER(c_void_p))
tinkc_pager_checkpoints = _f("tinkc_pager_checkpoints", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_pager_options), POINTER(c_void_p))
tinkc_pager_sessions = _f("tinkc_pager_sessions", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_pager_options), POINTER(c_void_p))
tinkc_pager_close = _f("tinkc_pager_close", None, POINTER(c_void_p))
tinkc_pager_next_run = _f("tinkc_pager_next_run", c_int, POINTER(POINTER(tinkc_run)), c_void_p, POINTER(c_void_p))
tinkc_pager_next_checkpoint = _f("tinkc_pager_next_checkpoint", c_int, POINTER(POINTER(tinkc_checkpoint)), c_void_p, POINTER(c_void_p))
tinkc_pager_next_session = _f("tinkc_pager_next_session", c_int, POINTER(c_char_p), c_void_p, POINTER(c_void_p))
tinkc_pager_has_next = _f("tinkc_pager_has_next", c_int, POINTER(c_bool), c_void_p, POINTER(c_void_p))
tinkc_pager_total = _g("tinkc_pager_total", c_int64, c_void_p)
tinkc_sampling_close = _f("tinkc_sampling_close", None, POINTER(c_void_p))
tinkc_sampling_with_retry = _f("tinkc_sampling_with_retry", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_sample_retry), POINTER(c_void_p))
tinkc_sampling_session_id = _g("tinkc_sampling_session_id", c_char_p, c_void_p)
tinkc_sampling_export = _f("tinkc_sampling_export", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_sampling_get_base_model = _f("tinkc_sampling_get_base_model", c_void_p, c_void_p)
tinkc_sampling_get_base_model_wait = _f("tinkc_sampling_get_base_model_wait", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_sampling_sample = _f("tinkc_sampling_sample", c_void_p, c_void_p, c_void_p, POINTER(tinkc_sampling_params), POINTER(tinkc_sample_options))
tinkc_sampling_sample_wait = _f("tinkc_sampling_sample_wait", c_int, POINTER(c_void_p), c_void_p, c_void_p, POINTER(tinkc_sampling_params), POINTER(tinkc_sample_options), POINTER(c_void_p))
tinkc_future_take_samples = _g("tinkc_future_take_samples", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_future_await_samples = _f("tinkc_future_await_samples", c_int, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p))
tinkc_samples_free = _g("tinkc_samples_free", None, POINTER(c_void_p))
tinkc_samples_count = _g("tinkc_samples_count", c_size_t, c_void_p)
tinkc_samples_tokens = _g("tinkc_samples_tokens", c_void_p, POINTER(c_size_t), c_void_p, c_size_t)
tinkc_samples_logprobs = _g("tinkc_samples_logprobs", c_void_p, POINTER(c_size_t), c_void_p, c_size_t)
tinkc_samples_stop_reason = _g("tinkc_samples_stop_reason", c_int, c_void_p, c_size_t)
tinkc_samples_stop_text = _g("tinkc_samples_stop_text", c_char_p, c_void_p, c_size_t)
tinkc_samples_sequence_id = _g("tinkc_samples_sequence_id", c_char_p, c_void_p, c_size_t)
tinkc_samples_prompt_logprobs = _g("tinkc_samples_prompt_logprobs", c_void_p, POINTER(c_size_t), c_void_p)
tinkc_samples_topk_rows = _g("tinkc_samples_topk_rows", c_size_t, c_void_p)
tinkc_samples_topk = _f("tinkc_samples_topk", c_int, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_size_t), c_void_p, c_size_t, POINTER(c_void_p))
tinkc_samples_sampled_topk_rows = _g("tinkc_samples_sampled_topk_rows", c_size_t, c_void_p, c_size_t)
tinkc_samples_sampled_topk = _f("tinkc_samples_sampled_topk", c_int, POINTER(tinkc_topk), c_void_p, c_size_t, c_size_t, POINTER(c_void_p))
tinkc_samples_target_logprobs = _g("tinkc_samples_target_logprobs", c_void_p, c_void_p)
tinkc_samples_alt_tokens = _g("tinkc_samples_alt_tokens", c_void_p, c_void_p)
tinkc_samples_alt_logprobs = _g("tinkc_samples_alt_logprobs", c_void_p, c_void_p)
tinkc_samples_cache_hits = _g("tinkc_samples_cache_hits", c_int64, c_void_p)
tinkc_sampling_compute_logprobs = _f("tinkc_sampling_compute_logprobs", c_void_p, c_void_p, c_void_p)
tinkc_sampling_compute_logprobs_wait = _f("tinkc_sampling_compute_logprobs_wait", c_int, POINTER(c_void_p), c_void_p, c_void_p, POINTER(c_void_p))
tinkc_sampling_compute_last_logprobs = _f("tinkc_sampling_compute_last_logprobs", c_void_p, c_void_p, c_void_p, c_int64)
tinkc_sampling_compute_last_logprobs_wait = _f("tinkc_sampling_compute_last_logprobs_wait", c_int, POINTER(c_void_p), c_void_p, c_void_p, c_int64, POINTER(c_void_p))
tinkc_future_take_logprobs = _g("tinkc_future_take_logprobs", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_future_await_logprobs = _f("tinkc_future_await_logprobs", c_int, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p))
tinkc_logprobs_free = _g("tinkc_logprobs_free", None, POINTER(c_void_p))
tinkc_logprobs_values = _g("tinkc_logprobs_values", c_void_p, POINTER(c_size_t), c_void_p)
tinkc_sample_batch_init = _g("tinkc_sample_batch_init", None, POINTER(tinkc_sample_batch))
tinkc_sampling_batch = _f("tinkc_sampling_batch", c_int, c_void_p, POINTER(tinkc_sample_batch), POINTER(c_void_p))
tinkc_session_query_init = _g("tinkc_session_query_init", None, POINTER(tinkc_session_query))
tinkc_rest_search_sessions = _f("tinkc_rest_search_sessions", c_void_p, c_void_p, POINTER(tinkc_session_query))
tinkc_rest_search_sessions_wait = _f("tinkc_rest_search_sessions_wait", c_int, POINTER(POINTER(tinkc_found_sessions)), c_void_p, POINTER(tinkc_session_query), POINTER(c_void_p))
tinkc_future_take_found_sessions = _g("tinkc_future_take_found_sessions", c_int, POINTER(POINTER(tinkc_found_sessions)), c_void_p, POINTER(c_void_p))
tinkc_future_await_found_sessions = _f("tinkc_future_await_found_sessions", c_int, POINTER(POINTER(tinkc_found_sessions)), POINTER(c_void_p), POINTER(c_void_p))
tinkc_found_sessions_free = _g("tinkc_found_sessions_free", None, POINTER(POINTER(tinkc_found_sessions)))
tinkc_checkpoint_query_init = _g("tinkc_checkpoint_query_init", None, POINTER(tinkc_checkpoint_query))
tinkc_rest_search_checkpoints = _f("tinkc_rest_search_checkpoints", c_void_p, c_void_p, POINTER(tinkc_checkpoint_query))
tinkc_rest_search_checkpoints_wait = _f("tinkc_rest_search_checkpoints_wait", c_int, POINTER(POINTER(tinkc_checkpoints)), c_void_p, POINTER(tinkc_checkpoint_query), POINTER(c_void_p))
tinkc_rest_storage = _f("tinkc_rest_storage", c_void_p, c_void_p, c_char_p)
tinkc_rest_storage_wait = _f("tinkc_rest_storage_wait", c_int, POINTER(POINTER(tinkc_storage)), c_void_p, c_char_p, POINTER(c_void_p))
tinkc_future_take_storage = _g("tinkc_future_take_storage", c_int, POINTER(POINTER(tinkc_storage)), c_void_p, POINTER(c_void_p))
tinkc_future_await_storage = _f("tinkc_future_await_storage", c_int, POINTER(POINTER(tinkc_storage)), POINTER(c_void_p), POINTER(c_void_p))
tinkc_storage_free = _g("tinkc_storage_free", None, POINTER(POINTER(tinkc_storage)))
tinkc_service_open = _f("tinkc_service_open", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_service_set_finish = _f("tinkc_service_set_finish", c_int, c_void_p, c_int, c_char_p, POINTER(c_void_p))
tinkc_service_close = _f("tinkc_service_close", None, POINTER(c_void_p))
tinkc_service_fd = _g("tinkc_service_fd", c_int, c_void_p)
tinkc_service_deadline_ms = _g("tinkc_service_deadline_ms", c_int64, c_void_p)
tinkc_service_process = _f("tinkc_service_process", c_int, c_void_p, POINTER(c_void_p))
tinkc_service_capabilities = _f("tinkc_service_capabilities", c_void_p, c_void_p)
tinkc_service_capabilities_wait = _f("tinkc_service_capabilities_wait", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_future_take_capabilities = _g("tinkc_future_take_capabilities", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_future_await_capabilities = _f("tinkc_future_await_capabilities", c_int, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p))
tinkc_capabilities_free = _g("tinkc_capabilities_free", None, POINTER(c_void_p))
tinkc_capabilities_count = _g("tinkc_capabilities_count", c_size_t, c_void_p)
tinkc_capabilities_name = _g("tinkc_capabilities_name", c_char_p, c_void_p, c_size_t)
tinkc_capabilities_context = _g("tinkc_capabilities_context", c_int64, c_void_p, c_size_t)
tinkc_capabilities_trainable = _g("tinkc_capabilities_trainable", c_int, c_void_p, c_size_t)
tinkc_capabilities_sampleable = _g("tinkc_capabilities_sampleable", c_int, c_void_p, c_size_t)
tinkc_service_health = _f("tinkc_service_health", c_void_p, c_void_p)
tinkc_service_health_wait = _f("tinkc_service_health_wait", c_int, c_void_p, POINTER(c_void_p))
tinkc_service_session_id = _g("tinkc_service_session_id", c_char_p, c_void_p)
tinkc_service_waits = _g("tinkc_service_waits", c_size_t, POINTER(tinkc_wait), c_size_t, c_void_p)
tinkc_service_create_sampling = _f("tinkc_service_create_sampling", c_void_p, c_void_p, c_char_p, c_char_p)
tinkc_service_create_sampling_wait = _f("tinkc_service_create_sampling_wait", c_int, POINTER(c_void_p), c_void_p, c_char_p, c_char_p, POINTER(c_void_p))
tinkc_service_open_sampling = _f("tinkc_service_open_sampling", c_void_p, c_void_p, POINTER(tinkc_sample_target))
tinkc_service_open_sampling_wait = _f("tinkc_service_open_sampling_wait", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_sample_target), POINTER(c_void_p))
tinkc_service_import_sampling = _f("tinkc_service_import_sampling", c_void_p, c_void_p, c_char_p)
tinkc_service_import_sampling_wait = _f("tinkc_service_import_sampling_wait", c_int, POINTER(c_void_p), c_void_p, c_char_p, POINTER(c_void_p))
tinkc_future_take_sampling = _g("tinkc_future_take_sampling", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_future_await_sampling = _f("tinkc_future_await_sampling", c_int, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p))
tinkc_future_take_text = _g("tinkc_future_take_text", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_future_await_text = _f("tinkc_future_await_text", c_int, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p))
tinkc_text_free = _g("tinkc_text_free", None, POINTER(c_void_p))
tinkc_service_on_queue_state = _f("tinkc_service_on_queue_state", c_int, c_void_p, tinkc_queue_state_fn, c_void_p, POINTER(c_void_p))
tinkc_service_create_training = _f("tinkc_service_create_training", c_void_p, c_void_p, c_char_p, POINTER(tinkc_lora_config))
tinkc_service_create_training_wait = _f("tinkc_service_create_training_wait", c_int, POINTER(c_void_p), c_void_p, c_char_p, POINTER(tinkc_lora_config), POINTER(c_void_p))
tinkc_from_state_options_init = _g("tinkc_from_state_options_init", None, POINTER(tinkc_from_state_options))
tinkc_service_create_training_from_state = _f("tinkc_service_create_training_from_state", c_void_p, c_void_p, c_char_p, POINTER(tinkc_from_state_options))
tinkc_service_create_training_from_state_wait = _f("tinkc_service_create_training_from_state_wait", c_int, POINTER(c_void_p), c_void_p, c_char_p, POINTER(tinkc_from_state_options), POINTER(c_void_p))
tinkc_future_take_training = _g("tinkc_future_take_training", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_future_await_training = _f("tinkc_future_await_training", c_int, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p))
tinkc_custom_loss_init = _g("tinkc_custom_loss_init", None, POINTER(tinkc_custom_loss))
tinkc_service_create_custom_loss = _f("tinkc_service_create_custom_loss", c_void_p, c_void_p, POINTER(tinkc_custom_loss))
tinkc_service_create_custom_loss_wait = _f("tinkc_service_create_custom_loss_wait", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_custom_loss), POINTER(c_void_p))
tinkc_sampling_stream = _f("tinkc_sampling_stream", c_void_p, c_void_p, c_void_p, POINTER(tinkc_sampling_params), tinkc_stream_fn, c_void_p)
tinkc_sampling_stream_wait = _f("tinkc_sampling_stream_wait", c_int, c_void_p, c_void_p, POINTER(tinkc_sampling_params), tinkc_stream_fn, c_void_p, POINTER(c_void_p))
tinkc_stream_open = _f("tinkc_stream_open", c_int, POINTER(c_void_p), c_void_p, c_void_p, POINTER(tinkc_sampling_params), POINTER(c_void_p))
tinkc_stream_next = _f("tinkc_stream_next", c_int, POINTER(POINTER(tinkc_stream_event)), c_void_p, c_int64, POINTER(c_void_p))
tinkc_stream_close = _f("tinkc_stream_close", None, POINTER(c_void_p))
tinkc_telemetry_event = _f("tinkc_telemetry_event", c_int, c_void_p, c_char_p, c_int, c_char_p, POINTER(c_void_p))
tinkc_telemetry_error = _f("tinkc_telemetry_error", c_int, c_void_p, c_void_p, POINTER(c_void_p))
tinkc_telemetry_exception = _f("tinkc_telemetry_exception", c_int, c_void_p, c_char_p, c_char_p, c_char_p, c_int, POINTER(c_void_p))
tinkc_telemetry_flush = _f("tinkc_telemetry_flush", c_int, c_void_p, c_int64, POINTER(c_void_p))
tinkc_telemetry_counts_init = _g("tinkc_telemetry_counts_init", None, POINTER(tinkc_telemetry_counts))
tinkc_telemetry_count = _f("tinkc_telemetry_count", c_int, POINTER(tinkc_telemetry_counts), c_void_p, POINTER(c_void_p))
tinkc_tokenizer_load = _f("tinkc_tokenizer_load", c_int, POINTER(c_void_p), c_char_p, POINTER(c_void_p))
tinkc_tokenizer_from_json = _f("tinkc_tokenizer_from_json", c_int, POINTER(c_void_p), c_char_p, c_char_p, POINTER(c_void_p))
tinkc_tokenizer_load_cached = _f("tinkc_tokenizer_load_cached", c_int, POINTER(c_void_p), c_char_p, POINTER(c_void_p))
tinkc_tokenizer_cache_clear = _f("tinkc_tokenizer_cache_clear", None)
tinkc_tokenizer_ref = _g("tinkc_tokenizer_ref", c_void_p, c_void_p)
tinkc_tokenizer_free = _g("tinkc_tokenizer_free", None, POINTER(c_void_p))
tinkc_tokenizer_options_init = _g("tinkc_tokenizer_options_init", None, POINTER(tinkc_tokenizer_options))
tinkc_training_get_tokenizer = _f("tinkc_training_get_tokenizer", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_tokenizer_options), POINTER(c_void_p))
tinkc_sampling_get_tokenizer = _f("tinkc_sampling_get_tokenizer", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_tokenizer_options), POINTER(c_void_p))
tinkc_service_get_tokenizer = _f("tinkc_service_get_tokenizer", c_int, POINTER(c_void_p), c_void_p, c_char_p, POINTER(tinkc_tokenizer_options), POINTER(c_void_p))
tinkc_tokenizer_size = _g("tinkc_tokenizer_size", c_size_t, c_void_p)
tinkc_tokenizer_id = _g("tinkc_tokenizer_id", c_int32, c_void_p, c_char_p)
tinkc_tokenizer_token = _g("tinkc_tokenizer_token", c_void_p, POINTER(c_size_t), c_void_p, c_int32)
tinkc_tokenizer_is_special = _g("tinkc_tokenizer_is_special", c_bool, c_void_p, c_int32)
tinkc_tokenizer_special = _g("tinkc_tokenizer_special", c_char_p, c_void_p, c_char_p)
tinkc_tokenizer_end = _g("tinkc_tokenizer_end", c_int32, c_void_p)
tinkc_tokenizer_chat_template = _g("tinkc_tokenizer_chat_template", c_char_p, c_void_p, c_char_p)
tinkc_encode_options_init = _g("tinkc_encode_options_init", None, POINTER(tinkc_encode_options))
tinkc_tokenizer_encode = _f("tinkc_tokenizer_encode", c_int, POINTER(c_void_p), c_void_p, c_char_p, c_size_t, POINTER(tinkc_encode_options), POINTER(c_void_p))
tinkc_tokenizer_input = _f("tinkc_tokenizer_input", c_int, POINTER(c_void_p), c_void_p, c_char_p, POINTER(c_void_p))
tinkc_tokenizer_count = _f("tinkc_tokenizer_count", c_int, POINTER(c_size_t), c_void_p, c_char_p, c_size_t, POINTER(tinkc_encode_options), POINTER(c_void_p))
tinkc_text_batch_init = _g("tinkc_text_batch_init", None, POINTER(tinkc_text_batch))
tinkc_tokenizer_encode_batch = _f("tinkc_tokenizer_encode_batch", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_text_batch), POINTER(c_void_p))
tinkc_encoding_free = _g("tinkc_encoding_free", None, POINTER(c_void_p))
tinkc_encoding_ids = _g("tinkc_encoding_ids", c_void_p, POINTER(c_size_t), c_void_p)
tinkc_encoding_offsets = _g("tinkc_encoding_offsets", c_void_p, POINTER(c_size_t), c_void_p)
tinkc_decode_init = _g("tinkc_decode_init", None, POINTER(tinkc_decode))
tinkc_tokenizer_decode = _f("tinkc_tokenizer_decode", c_int, POINTER(c_void_p), POINTER(c_size_t), c_void_p, POINTER(tinkc_decode), POINTER(c_void_p))
tinkc_tokenizer_text = _f("tinkc_tokenizer_text", c_int, POINTER(c_void_p), c_void_p, c_void_p, c_size_t, c_bool, POINTER(c_void_p))
tinkc_decoder_new = _f("tinkc_decoder_new", c_int, POINTER(c_void_p), c_void_p, c_bool, POINTER(c_void_p))
tinkc_decoder_free = _g("tinkc_decoder_free", None, POINTER(c_void_p))
tinkc_decoder_push = _f("tinkc_decoder_push", c_int, c_void_p, c_void_p, c_size_t, POINTER(c_void_p))
tinkc_decoder_finish = _f("tinkc_decoder_finish", c_int, c_void_p, POINTER(c_void_p))
tinkc_decoder_text = _g("tinkc_decoder_text", c_void_p, POINTER(c_size_t), c_void_p)
tinkc_trace_open = _f("tinkc_trace_open", c_int, POINTER(c_void_p), c_char_p, POINTER(c_void_p))
tinkc_trace_attach = _f("tinkc_trace_attach", c_int, c_void_p, c_void_p, POINTER(c_void_p))
tinkc_trace_close = _f("tinkc_trace_close", c_int, POINTER(c_void_p), POINTER(c_void_p))
tinkc_training_close = _f("tinkc_training_close", None, POINTER(c_void_p))
tinkc_training_model_id = _g("tinkc_training_model_id", c_char_p, c_void_p)
tinkc_fwdbwd_options_init = _g("tinkc_fwdbwd_options_init", None, POINTER(tinkc_fwdbwd_options))
tinkc_training_forward = _f("tinkc_training_forward", c_void_p, c_void_p, POINTER(c_void_p), c_size_t, c_char_p, POINTER(tinkc_fwdbwd_options))
tinkc_training_forward_wait = _f("tinkc_training_forward_wait", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p), c_size_t, c_char_p, POINTER(tinkc_fwdbwd_options), POINTER(c_void_p))
tinkc_training_forward_backward = _f("tinkc_training_forward_backward", c_void_p, c_void_p, POINTER(c_void_p), c_size_t, c_char_p, POINTER(tinkc_fwdbwd_options))
tinkc_training_forward_backward_wait = _f("tinkc_training_forward_backward_wait", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p), c_size_t, c_char_p, POINTER(tinkc_fwdbwd_options), POINTER(c_void_p))
tinkc_custom_item_tensor = _g("tinkc_custom_item_tensor", c_void_p, POINTER(tinkc_custom_item), c_char_p)
tinkc_training_forward_backward_custom = _f("tinkc_training_forward_backward_custom", c_void_p, c_void_p, POINTER(c_void_p), c_size_t, tinkc_custom_loss_fn, c_void_p)
tinkc_training_forward_backward_custom_wait = _f("tinkc_training_forward_backward_custom_wait", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p), c_size_t, tinkc_custom_loss_fn, c_void_p, POINTER(c_void_p))
tinkc_future_take_fwdbwd = _g("tinkc_future_take_fwdbwd", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_future_await_fwdbwd = _f("tinkc_future_await_fwdbwd", c_int, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p))
tinkc_fwdbwd_free = _g("tinkc_fwdbwd_free", None, POINTER(c_void_p))
tinkc_fwdbwd_count = _g("tinkc_fwdbwd_count", c_size_t, c_void_p)
tinkc_fwdbwd_output_type = _g("tinkc_fwdbwd_output_type", c_char_p, c_void_p)
tinkc_fwdbwd_loss = _f("tinkc_fwdbwd_loss", c_int, POINTER(c_double), c_void_p, POINTER(c_void_p))
tinkc_fwdbwd_computed_loss = _f("tinkc_fwdbwd_computed_loss", c_int, POINTER(c_double), c_void_p, POINTER(c_void_p), c_size_t, c_char_p, POINTER(c_void_p))
tinkc_fwdbwd_computed_loss_with = _f("tinkc_fwdbwd_computed_loss_with", c_int, POINTER(c_double), c_void_p, POINTER(c_void_p), c_size_t, c_char_p, POINTER(tinkc_fwdbwd_options), POINTER(c_void_p))
tinkc_fwdbwd_metrics = _g("tinkc_fwdbwd_metrics", c_void_p, c_void_p)
tinkc_fwdbwd_f32 = _f("tinkc_fwdbwd_f32", c_int, POINTER(c_void_p), POINTER(c_size_t), c_void_p, c_size_t, c_char_p, POINTER(c_void_p))
tinkc_fwdbwd_i64 = _f("tinkc_fwdbwd_i64", c_int, POINTER(c_void_p), POINTER(c_size_t), c_void_p, c_size_t, c_char_p, POINTER(c_void_p))
tinkc_fwdbwd_shape = _f("tinkc_fwdbwd_shape", c_int, POINTER(c_void_p), POINTER(c_size_t), c_void_p, c_size_t, c_char_p, POINTER(c_void_p))
tinkc_fwdbwd_name = _g("tinkc_fwdbwd_name", c_char_p, c_void_p, c_size_t, c_size_t)
tinkc_training_optim_step = _f("tinkc_training_optim_step", c_void_p, c_void_p, POINTER(tinkc_adam_params))
tinkc_training_optim_step_wait = _f("tinkc_training_optim_step_wait", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_adam_params), POINTER(c_void_p))
tinkc_training_optim_step_with = _f("tinkc_training_optim_step_with", c_void_p, c_void_p, POINTER(tinkc_optim_params))
tinkc_training_optim_step_with_wait = _f("tinkc_training_optim_step_with_wait", c_int, POINTER(c_void_p), c_void_p, POINTER(tinkc_optim_params), POINTER(c_void_p))
tinkc_future_take_metrics = _g("tinkc_future_take_metrics", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_future_await_metrics = _f("tinkc_future_await_metrics", c_int, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p))
tinkc_step_options_init = _g("tinkc_step_options_init", None, POINTER(tinkc_step_options))
tinkc_training_step = _f("tinkc_training_step", c_void_p, c_void_p, POINTER(c_void_p), c_size_t, c_char_p, POINTER(tinkc_step_options))
tinkc_training_step_wait = _f("tinkc_training_step_wait", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p), c_size_t, c_char_p, POINTER(tinkc_step_options), POINTER(c_void_p))
tinkc_future_take_step = _g("tinkc_future_take_step", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_future_await_step = _f("tinkc_future_await_step", c_int, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p))
tinkc_step_free = _g("tinkc_step_free", None, POINTER(c_void_p))
tinkc_step_fwdbwd = _g("tinkc_step_fwdbwd", c_void_p, c_void_p)
tinkc_step_metrics = _g("tinkc_step_metrics", c_void_p, c_void_p)
tinkc_step_loss = _f("tinkc_step_loss", c_int, POINTER(c_double), c_void_p, POINTER(c_void_p))
tinkc_save_options_init = _g("tinkc_save_options_init", None, POINTER(tinkc_save_options))
tinkc_training_save_state = _f("tinkc_training_save_state", c_void_p, c_void_p, c_char_p, POINTER(tinkc_save_options))
tinkc_training_save_state_wait = _f("tinkc_training_save_state_wait", c_int, POINTER(c_void_p), c_void_p, c_char_p, POINTER(tinkc_save_options), POINTER(c_void_p))
tinkc_training_save_weights_for_sampler = _f("tinkc_training_save_weights_for_sampler", c_void_p, c_void_p, c_char_p, POINTER(tinkc_save_options))
tinkc_training_save_weights_for_sampler_wait = _f("tinkc_training_save_weights_for_sampler_wait", c_int, POINTER(c_void_p), c_void_p, c_char_p, POINTER(tinkc_save_options), POINTER(c_void_p))
tinkc_training_save_weights_external = _f("tinkc_training_save_weights_external", c_void_p, c_void_p, c_char_p, POINTER(tinkc_save_options))
tinkc_training_save_weights_external_wait = _f("tinkc_training_save_weights_external_wait", c_int, POINTER(c_void_p), c_void_p, c_char_p, POINTER(tinkc_save_options), POINTER(c_void_p))
tinkc_training_save_and_sample = _f("tinkc_training_save_and_sample", c_void_p, c_void_p)
tinkc_training_save_and_sample_wait = _f("tinkc_training_save_and_sample_wait", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_training_load_state = _f("tinkc_training_load_state", c_void_p, c_void_p, c_char_p, c_bool, c_char_p)
tinkc_training_load_state_wait = _f("tinkc_training_load_state_wait", c_int, c_void_p, c_char_p, c_bool, c_char_p, POINTER(c_void_p))
tinkc_training_get_info = _f("tinkc_training_get_info", c_void_p, c_void_p)
tinkc_training_get_info_wait = _f("tinkc_training_get_info_wait", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_future_take_model_info = _g("tinkc_future_take_model_info", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_future_await_model_info = _f("tinkc_future_await_model_info", c_int, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p))
tinkc_model_info_free = _g("tinkc_model_info_free", None, POINTER(c_void_p))
tinkc_model_info_model_id = _g("tinkc_model_info_model_id", c_char_p, c_void_p)
tinkc_model_info_model_name = _g("tinkc_model_info_model_name", c_char_p, c_void_p)
tinkc_model_info_arch = _g("tinkc_model_info_arch", c_char_p, c_void_p)
tinkc_model_info_tokenizer_id = _g("tinkc_model_info_tokenizer_id", c_char_p, c_void_p)
tinkc_model_info_is_lora = _g("tinkc_model_info_is_lora", c_bool, c_void_p)
tinkc_model_info_lora_rank = _g("tinkc_model_info_lora_rank", c_int64, c_void_p)
tinkc_model_info_optimizer = _g("tinkc_model_info_optimizer", c_int, c_void_p)
tinkc_model_info_optimizer_name = _g("tinkc_model_info_optimizer_name", c_char_p, c_void_p)
tinkc_training_unload = _f("tinkc_training_unload", c_void_p, c_void_p)
tinkc_training_unload_wait = _f("tinkc_training_unload_wait", c_int, c_void_p, POINTER(c_void_p))
tinkc_model_input_new = _f("tinkc_model_input_new", c_int, POINTER(c_void_p), POINTER(c_void_p))
tinkc_model_input_from_tokens = _f("tinkc_model_input_from_tokens", c_int, POINTER(c_void_p), c_void_p, c_size_t, POINTER(c_void_p))
tinkc_model_input_copy = _f("tinkc_model_input_copy", c_int, POINTER(c_void_p), c_void_p, POINTER(c_void_p))
tinkc_model_input_free = _g("tinkc_model_input_free", None, POINTER(c_void_p))
tinkc_model_input_add_tokens = _f("tinkc_model_input_add_tokens", c_int, c_void_p, c_void_p, c_size_t, POINTER(c_void_p))
tinkc_model_input_borrow_tokens = _f("tinkc_model_input_borrow_tokens", c_int, c_void_p, c_void_p, c_size_t, POINTER(c_void_p))
tinkc_model_input_add_image = _f("tinkc_model_input_add_image", c_int, c_void_p, c_void_p, c_size_t, c_int, c_int64, POINTER(c_void_p))
tinkc_model_input_add_image_pointer = _f("tinkc_model_input_add_image_pointer", c_int, c_void_p, c_char_p, c_int, c_int64, POINTER(c_void_p))
tinkc_model_input_add_dmel = _f("tinkc_model_input_add_dmel", c_int, c_void_p, c_void_p, c_size_t, POINTER(c_void_p))
tinkc_model_input_chunk_count = _g("tinkc_model_input_chunk_count", c_size_t, c_void_p)
tinkc_model_input_length = _f("tinkc_model_input_length", c_int, POINTER(c_int64), c_void_p, POINTER(c_void_p))
tinkc_model_input_tokens = _f("tinkc_model_input_tokens", c_int, POINTER(c_int32), c_size_t, POINTER(c_size_t), c_void_p, POINTER(c_void_p))
tinkc_array_init = _g("tinkc_array_init", None, POINTER(tinkc_array))
tinkc_tensor_new = _f("tinkc_tensor_new", c_int, POINTER(c_void_p), POINTER(tinkc_array), POINTER(c_void_p))
tinkc_sparse_init = _g("tinkc_sparse_init", None, POINTER(tinkc_sparse))
tinkc_tensor_new_sparse = _f("tinkc_tensor_new_sparse", c_int, POINTER(c_void_p), POINTER(tinkc_sparse), POINTER(c_void_p))
tinkc_tensor_free = _g("tinkc_tensor_free", None, POINTER(c_void_p))
tinkc_tensor_dtype = _g("tinkc_tensor_dtype", c_int, c_void_p)
tinkc_tensor_rank = _g("tinkc_tensor_rank", c_size_t, c_void_p)
tinkc_tensor_dim = _g("tinkc_tensor_dim", c_int64, c_void_p, c_size_t)
tinkc_tensor_count = _g("tinkc_tensor_count", c_size_t, c_void_p)
tinkc_tensor_f32 = _g("tinkc_tensor_f32", c_void_p, c_void_p)
tinkc_tensor_i64 = _g("tinkc_tensor_i64", c_void_p, c_void_p)
tinkc_tensor_is_sparse = _g("tinkc_tensor_is_sparse", c_bool, c_void_p)
tinkc_tensor_columns = _g("tinkc_tensor_columns", c_void_p, c_void_p)
tinkc_tensor_row_starts = _g("tinkc_tensor_row_starts", c_void_p, c_void_p)
tinkc_datum_new = _f("tinkc_datum_new", c_int, POINTER(c_void_p), POINTER(c_void_p), POINTER(c_void_p))
tinkc_datum_free = _g("tinkc_datum_free", None, POINTER(c_void_p))
tinkc_datum_set = _f("tinkc_datum_set", c_int, c_void_p, c_char_p, POINTER(tinkc_array), POINTER(c_void_p))
tinkc_datum_set_i32 = _f("tinkc_datum_set_i32", c_int, c_void_p, c_char_p, c_void_p, c_size_t, POINTER(c_void_p))
tinkc_datum_set_i64 = _f("tinkc_datum_set_i64", c_int, c_void_p, c_char_p, c_void_p, c_size_t, POINTER(c_void_p))
tinkc_datum_set_f32 = _f("tinkc_datum_set_f32", c_int, c_void_p, c_char_p, c_void_p, c_size_t, POINTER(c_void_p))
tinkc_datum_set_f64 = _f("tinkc_datum_set_f64", c_int, c_void_p, c_char_p, c_void_p, c_size_t, POINTER(c_void_p))
tinkc_rows_init = _g("tinkc_rows_init", None, POINTER(tinkc_rows))
tinkc_datum_set_rows = _f("tinkc_datum_set_rows", c_int, c_void_p, c_char_p, POINTER(tinkc_rows), POINTER(c_void_p))
tinkc_datum_set_tensor = _f("tinkc_datum_set_tensor", c_int, c_void_p, c_char_p, c_void_p, POINTER(c_void_p))
tinkc_datum_set_provenance = _f("tinkc_datum_set_provenance", c_int, c_void_p, POINTER(tinkc_origin), c_size_t, POINTER(tinkc_origin), c_size_t, POINTER(c_void_p))
tinkc_datum_tensor = _g("tinkc_datum_tensor", c_void_p, c_void_p, c_char_p)
tinkc_datum_input = _g("tinkc_datum_input", c_void_p, c_void_p)
tinkc_rollout_init = _g("tinkc_rollout_init", None, POINTER(tinkc_rollout))
tinkc_datum_from_rollout = _f("tinkc_datum_from_rollout", c_int, POINTER(c_void_p), POINTER(tinkc_rollout), POINTER(c_void_p))
tinkc_upload_options_init = _g("tinkc_upload_options_init", None, POINTER(tinkc_upload_options))
tinkc_upload_adapter = _f("tinkc_upload_adapter", c_int, POINTER(c_void_p), c_void_p, c_char_p, POINTER(tinkc_upload_options), POINTER(c_void_p))
tinkc_version = _g("tinkc_version", c_char_p)
tinkc_version_number = _g("tinkc_version_number", c_int)
tinkc_sdk_level = _g("tinkc_sdk_level", c_char_p)
tinkc_copy_options_init = _g("tinkc_copy_options_init", None, POINTER(tinkc_copy_options))
tinkc_rest_copy_weights = _f("tinkc_rest_copy_weights", c_void_p, c_void_p, c_char_p, POINTER(tinkc_copy_options))
tinkc_rest_copy_weights_wait = _f("tinkc_rest_copy_weights_wait", c_int, POINTER(c_void_p), c_void_p, c_char_p, POINTER(tinkc_copy_options), POINTER(c_void_p))
tinkc_rest_external_urls = _f("tinkc_rest_external_urls", c_void_p, c_void_p, c_char_p)
tinkc_rest_external_urls_wait = _f("tinkc_rest_external_urls_wait", c_int, POINTER(POINTER(tinkc_file_urls)), c_void_p, c_char_p, POINTER(c_void_p))
tinkc_future_take_file_urls = _g("tinkc_future_take_file_urls", c_int, POINTER(POINTER(tinkc_file_urls)), c_void_p, POINTER(c_void_p))
tinkc_future_await_file_urls = _f("tinkc_future_await_file_urls", c_int, POINTER(POINTER(tinkc_file_urls)), POINTER(c_void_p), POINTER(c_void_p))
tinkc_file_urls_free = _g("tinkc_file_urls_free", None, POINTER(POINTER(tinkc_file_urls)))
