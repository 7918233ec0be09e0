"""Results that hold no C memory: what the server stores, and events.

Written by scripts/gen-python.py from include/tinkc/*.h. Do not edit."""

# fmt: off

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Dict, List, Optional

from . import _c
from ._convert import choice, pairs, text, texts, time


@dataclass(frozen=True)
class Progress:
    """tinkc_progress"""

    received: int
    total: int
    written: int
    files: int
    file: Optional[str]
    connections: int

    @classmethod
    def of(cls, c: Any) -> "Progress":
        return cls(c.received,
                   c.total,
                   c.written,
                   c.files,
                   text(c.file),
                   c.connections)


@dataclass(frozen=True)
class Checkpoint:
    """tinkc_checkpoint"""

    id: Optional[str]
    type: _c.CheckpointType
    path: Optional[str]
    time: Optional[datetime]
    size_bytes: int
    is_public: bool
    expires: Optional[datetime]
    type_text: Optional[str]
    metadata: Optional[Dict[str, Optional[str]]]
    base_model: Optional[str]

    @classmethod
    def of(cls, c: Any) -> "Checkpoint":
        return cls(text(c.id),
                   _c.CheckpointType(c.type),
                   text(c.path),
                   time(c.time_us),
                   c.size_bytes,
                   c.is_public,
                   time(c.expires_us),
                   text(c.type_text),
                   pairs(c.metadata, c.metadata_n) if c.has_metadata else None,
                   text(c.base_model))


@dataclass(frozen=True)
class Checkpoints:
    """tinkc_checkpoints"""

    items: List[Checkpoint]
    total: int
    next: Optional[str]

    @classmethod
    def of(cls, c: Any) -> "Checkpoints":
        return cls([Checkpoint.of(c.items[i]) for i in range(c.n)],
                   c.total,
                   text(c.next))


@dataclass(frozen=True)
class Run:
    """tinkc_run"""

    id: Optional[str]
    base_model: Optional[str]
    owner: Optional[str]
    is_lora: bool
    is_corrupted: bool
    lora_rank: int
    last_request: Optional[datetime]
    last_checkpoint: Optional[Checkpoint]
    last_sampler_checkpoint: Optional[Checkpoint]
    metadata: Optional[Dict[str, Optional[str]]]

    @classmethod
    def of(cls, c: Any) -> "Run":
        return cls(text(c.id),
                   text(c.base_model),
                   text(c.owner),
                   c.is_lora,
                   c.is_corrupted,
                   c.lora_rank,
                   time(c.last_request_us),
                   Checkpoint.of(c.last_checkpoint.contents) if c.last_checkpoint else None,
                   Checkpoint.of(c.last_sampler_checkpoint.contents) if c.last_sampler_checkpoint else None,
                   pairs(c.metadata, c.metadata_n) if c.has_metadata else None)


@dataclass(frozen=True)
class Runs:
    """tinkc_runs"""

    items: List[Run]
    total: int

    @classmethod
    def of(cls, c: Any) -> "Runs":
        return cls([Run.of(c.items[i]) for i in range(c.n)],
                   c.total)


@dataclass(frozen=True)
class Archive:
    """tinkc_archive"""

    url: Optional[str]
    expires: Optional[datetime]

    @classmethod
    def of(cls, c: Any) -> "Archive":
        return cls(text(c.url),
                   time(c.expires_us))


@dataclass(frozen=True)
class WeightsInfo:
    """tinkc_weights_info"""

    base_model: Optional[str]
    is_lora: bool
    lora_rank: int
    train_unembed: Optional[bool]
    train_mlp: Optional[bool]
    train_attn: Optional[bool]
    optimizer: _c.Optimizer
    optimizer_name: Optional[str]

    @classmethod
    def of(cls, c: Any) -> "WeightsInfo":
        return cls(text(c.base_model),
                   c.is_lora,
                   c.lora_rank,
                   choice(c.train_unembed),
                   choice(c.train_mlp),
                   choice(c.train_attn),
                   _c.Optimizer(c.optimizer),
                   text(c.optimizer_name))


@dataclass(frozen=True)
class SamplerInfo:
    """tinkc_sampler_info"""

    id: Optional[str]
    base_model: Optional[str]
    model_path: Optional[str]

    @classmethod
    def of(cls, c: Any) -> "SamplerInfo":
        return cls(text(c.id),
                   text(c.base_model),
                   text(c.model_path))


@dataclass(frozen=True)
class SessionInfo:
    """tinkc_session_info"""

    run_ids: List[str]
    sampler_ids: List[str]
    metadata: Optional[Dict[str, Optional[str]]]
    display_name: Optional[str]

    @classmethod
    def of(cls, c: Any) -> "SessionInfo":
        return cls(texts(c.run_ids, c.run_ids_n),
                   texts(c.sampler_ids, c.sampler_ids_n),
                   pairs(c.metadata, c.metadata_n) if c.has_metadata else None,
                   text(c.display_name))


@dataclass(frozen=True)
class Sessions:
    """tinkc_sessions"""

    ids: List[str]

    @classmethod
    def of(cls, c: Any) -> "Sessions":
        return cls(texts(c.ids, c.n))


@dataclass(frozen=True)
class Whoami:
    """tinkc_whoami"""

    user_urn: Optional[str]
    email: Optional[str]
    org_urn: Optional[str]

    @classmethod
    def of(cls, c: Any) -> "Whoami":
        return cls(text(c.user_urn),
                   text(c.email),
                   text(c.org_urn))


@dataclass(frozen=True)
class AuditEntry:
    """tinkc_audit_entry"""

    time: Optional[datetime]
    event: Optional[str]
    model_id: Optional[str]
    path: Optional[str]
    purpose: Optional[str]
    details: Optional[str]

    @classmethod
    def of(cls, c: Any) -> "AuditEntry":
        return cls(time(c.time_us),
                   text(c.event),
                   text(c.model_id),
                   text(c.path),
                   text(c.purpose),
                   text(c.details))


@dataclass(frozen=True)
class Audit:
    """tinkc_audit"""

    items: List[AuditEntry]

    @classmethod
    def of(cls, c: Any) -> "Audit":
        return cls([AuditEntry.of(c.items[i]) for i in range(c.n)])


@dataclass(frozen=True)
class BillingEvent:
    """tinkc_billing_event"""

    start: Optional[datetime]
    end: Optional[datetime]
    base_model: Optional[str]
    user_id: Optional[str]
    user_name: Optional[str]
    session_id: Optional[str]
    project_id: Optional[str]
    kind: _c.BillingKind
    token_count: int
    is_cached: bool
    count: int
    gigabyte_hours: float
    kind_text: Optional[str]
    cost_usd: float
    usd_per_million_tokens: float
    usd_per_gigabyte_month: float

    @classmethod
    def of(cls, c: Any) -> "BillingEvent":
        return cls(time(c.start_us),
                   time(c.end_us),
                   text(c.base_model),
                   text(c.user_id),
                   text(c.user_name),
                   text(c.session_id),
                   text(c.project_id),
                   _c.BillingKind(c.kind),
                   c.token_count,
                   c.is_cached,
                   c.count,
                   c.gigabyte_hours,
                   text(c.kind_text),
                   c.cost_usd,
                   c.usd_per_million_tokens,
                   c.usd_per_gigabyte_month)


@dataclass(frozen=True)
class BillingSession:
    """tinkc_billing_session"""

    session_id: Optional[str]
    metadata: Optional[Dict[str, Optional[str]]]

    @classmethod
    def of(cls, c: Any) -> "BillingSession":
        return cls(text(c.session_id),
                   pairs(c.metadata, c.metadata_n) if c.has_metadata else None)


@dataclass(frozen=True)
class Billing:
    """tinkc_billing"""

    items: List[BillingEvent]
    sessions: List[BillingSession]
    cost_data_through: Optional[datetime]

    @classmethod
    def of(cls, c: Any) -> "Billing":
        return cls([BillingEvent.of(c.items[i]) for i in range(c.n)],
                   [BillingSession.of(c.sessions[i]) for i in range(c.sessions_n)],
                   time(c.cost_data_through_us))


@dataclass(frozen=True)
class FoundSession:
    """tinkc_found_session"""

    id: Optional[str]
    created: Optional[datetime]
    owner: Optional[str]
    project_id: Optional[str]
    status: Optional[str]
    status_json: Optional[str]
    checkpoints: int
    display_name: Optional[str]
    metadata: Optional[Dict[str, Optional[str]]]
    checkpoint_bytes: int

    @classmethod
    def of(cls, c: Any) -> "FoundSession":
        return cls(text(c.id),
                   time(c.created_us),
                   text(c.owner),
                   text(c.project_id),
                   text(c.status),
                   text(c.status_json),
                   c.checkpoints,
                   text(c.display_name),
                   pairs(c.metadata, c.metadata_n) if c.has_metadata else None,
                   c.checkpoint_bytes)


@dataclass(frozen=True)
class FoundSessions:
    """tinkc_found_sessions"""

    items: List[FoundSession]
    next: Optional[str]

    @classmethod
    def of(cls, c: Any) -> "FoundSessions":
        return cls([FoundSession.of(c.items[i]) for i in range(c.n)],
                   text(c.next))


@dataclass(frozen=True)
class StorageItem:
    """tinkc_storage_item"""

    project_id: Optional[str]
    user_urn: Optional[str]
    user_email: Optional[str]
    user_name: Optional[str]
    checkpoints: int
    bytes: int
    gigabytes: float
    monthly_cost_usd: float

    @classmethod
    def of(cls, c: Any) -> "StorageItem":
        return cls(text(c.project_id),
                   text(c.user_urn),
                   text(c.user_email),
                   text(c.user_name),
                   c.checkpoints,
                   c.bytes,
                   c.gigabytes,
                   c.monthly_cost_usd)


@dataclass(frozen=True)
class Storage:
    """tinkc_storage"""

    items: List[StorageItem]
    usd_per_gigabyte_month: float

    @classmethod
    def of(cls, c: Any) -> "Storage":
        return cls([StorageItem.of(c.items[i]) for i in range(c.n)],
                   c.usd_per_gigabyte_month)


@dataclass(frozen=True)
class StreamEvent:
    """tinkc_stream_event"""

    kind: _c.StreamKind
    token_id: int
    token: Optional[str]
    index: int
    logprob: float
    finish_reason: Optional[str]
    total_tokens: int
    is_whole_sample: bool

    @classmethod
    def of(cls, c: Any) -> "StreamEvent":
        return cls(_c.StreamKind(c.kind),
                   c.token_id,
                   text(c.token),
                   c.index,
                   c.logprob,
                   text(c.finish_reason),
                   c.total_tokens,
                   c.is_whole_sample)


@dataclass(frozen=True)
class FileUrls:
    """tinkc_file_urls"""

    items: Dict[str, Optional[str]]
    expires: Optional[datetime]

    @classmethod
    def of(cls, c: Any) -> "FileUrls":
        return cls(pairs(c.items, c.n),
                   time(c.expires_us))
