"""Enumerations and constants of the C library.

Written by scripts/gen-python.py from include/tinkc/*.h. Do not edit."""

# fmt: off

import enum

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


class _Named(enum.IntEnum):
    """A number that prints as its name."""

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(int(self), spec) if spec else self.name


class LossOn(_Named):
    """tinkc_loss_on"""

    ASSISTANT = 0
    LAST = 1
    ALL = 2


class Loop(_Named):
    """tinkc_loop"""

    THREAD = 0
    MANUAL = 1


class Code(_Named):
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


class Category(_Named):
    """tinkc_category"""

    UNKNOWN = 0
    SERVER = 1
    USER = 2


class Class(_Named):
    """tinkc_class"""

    NONE = 0
    USER = 1
    RETRYABLE = 2
    FATAL = 3


class Stage(_Named):
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


class QueueState(_Named):
    """tinkc_queue_state"""

    UNKNOWN = 0
    ACTIVE = 1
    PAUSED_CAPACITY = 2
    PAUSED_RATE_LIMIT = 3


class HookEvent(_Named):
    """tinkc_hook_event"""

    START = 0
    STOP = 1
    ERROR = 2
    RETRY = 3
    QUEUE = 4
    TOKENS = 5


class SpanKind(_Named):
    """tinkc_span_kind"""

    OPERATION = 0
    HTTP = 1


class TokenKind(_Named):
    """tinkc_token_kind"""

    TRAINING = 0
    PREFILL = 1
    CACHED_PREFILL = 2
    SAMPLED = 3


class LogLevel(_Named):
    """tinkc_log_level"""

    OFF = 0
    ERROR = 1
    WARN = 2
    INFO = 3
    DEBUG = 4


class ReadingKind(_Named):
    """tinkc_reading_kind"""

    COUNTER = 0
    GAUGE = 1
    HISTOGRAM = 2


class Choice(_Named):
    """tinkc_choice"""

    UNSET = 0
    NO = 1
    YES = 2


class Optimizer(_Named):
    """tinkc_optimizer"""

    ADAMW = 0
    DIMUON = 1
    OTHER = 2


class Loss(_Named):
    """tinkc_loss"""

    CROSS_ENTROPY = 0
    IMPORTANCE_SAMPLING = 1
    PPO = 2
    CISPO = 3
    DRO = 4
    GSPO = 5
    STABLE_REINFORCE = 6
    CUSTOM = 7


class PushStage(_Named):
    """tinkc_push_stage"""

    LOGIN = 1
    DOWNLOAD = 2
    CHECK = 3
    REPO = 4
    UPLOAD = 5
    COMMIT = 6


class RegularizerKind(_Named):
    """tinkc_regularizer_kind"""

    L1 = 0
    L2 = 1
    ELASTIC_NET = 2
    ENTROPY = 3
    KL = 4
    CONSISTENCY = 5
    ORTHOGONALITY = 6


class KlDirection(_Named):
    """tinkc_kl_direction"""

    FORWARD = 0
    REVERSE = 1
    SYMMETRIC = 2


class Scope(_Named):
    """tinkc_scope"""

    OWNED = 0
    ACCESSIBLE = 1


class CheckpointType(_Named):
    """tinkc_checkpoint_type"""

    TRAINING = 0
    SAMPLER = 1
    EXTERNAL = 2
    OTHER = -1


class BillingKind(_Named):
    """tinkc_billing_kind"""

    TRAINING = 0
    SAMPLING_PREFILL = 1
    SAMPLING_SAMPLE = 2
    CHECKPOINT = 3
    STORAGE = 4
    OTHER = -1


class AuditEvents(_Named):
    """tinkc_audit_events"""

    ALL = 0
    CHECKPOINTS = 1
    PROJECTS = 2
    TEAMS = 3
    ORGANIZATIONS = 4


class RlBaseline(_Named):
    """tinkc_rl_baseline"""

    MEAN = 0
    OTHERS = 1


class StopReason(_Named):
    """tinkc_stop_reason"""

    STOP = 0
    LENGTH = 1
    OTHER = -1


class Finish(_Named):
    """tinkc_finish"""

    SUCCESS = 0
    ERRORED = 1
    INTERRUPTED = 2


class StreamKind(_Named):
    """tinkc_stream_kind"""

    TOKEN = 0
    DONE = 1


class Severity(_Named):
    """tinkc_severity"""

    DEBUG = 0
    INFO = 1
    WARNING = 2
    ERROR = 3
    CRITICAL = 4


class ImageFormat(_Named):
    """tinkc_image_format"""

    PNG = 0
    JPEG = 1


class Elem(_Named):
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


class Dtype(_Named):
    """tinkc_dtype"""

    BY_NAME = 0
    FLOAT32 = 1
    INT64 = 2
    INFER = 3
    OTHER = -1


class OriginKind(_Named):
    """tinkc_origin_kind"""

    PROMPT = 0
    SAMPLED = 1
