"""tinkc for Python: a thin layer over libtinkc, the client library of Tinker in C.

    with tinkc.Service() as service:
        sampling = service.create_sampling("tinkc/pebble-llama-2m").result()
        tokenizer = sampling.tokenizer()
        samples = sampling.sample(tokenizer.encode("Once"), max_tokens=20).result()
        print(tokenizer.decode(samples[0].tokens))

Every method that asks the server returns a Future: `.result()` blocks, `await` does not.
docs/guide/python.md explains the rest.
"""

from . import _c, rl
from ._c import (
    Category,
    CheckpointType,
    Class,
    Code,
    LogLevel,
    Scope,
    StreamKind,
)
from ._records import Checkpoint, Checkpoints, Progress, Run, SessionInfo, StreamEvent
from .data import Adam, Datum, ModelInput, TokenSequence, Trajectory
from .errors import Cancelled, Error, Timeout
from .future import Future, wait_all
from .rest import Pages, Rest
from .sampling import Samples, Sampling, Sequence, Stream
from .service import Model, Service
from .tokenizer import Chat, Decoder, Rendered, Tokenizer
from .training import CustomItem, FwdBwd, ModelInfo, Step, Training

__version__: str = _c.TINKC_VERSION


def library_version() -> str:
    """The version of the C library that is loaded."""
    found: bytes = _c.tinkc_version()
    return found.decode()


if _c.tinkc_version_number() // 100 != _c.TINKC_VERSION_NUMBER // 100:
    raise ImportError(
        f"libtinkc {library_version()} is not the one of tinkc {__version__}"
    )

__all__ = [
    "Adam",
    "Cancelled",
    "Category",
    "Chat",
    "Checkpoint",
    "CheckpointType",
    "Checkpoints",
    "Class",
    "Code",
    "CustomItem",
    "Datum",
    "Decoder",
    "Error",
    "Future",
    "FwdBwd",
    "LogLevel",
    "Model",
    "ModelInfo",
    "ModelInput",
    "Pages",
    "Progress",
    "Rendered",
    "Rest",
    "Run",
    "Samples",
    "Sampling",
    "Scope",
    "Sequence",
    "Service",
    "SessionInfo",
    "Step",
    "Stream",
    "StreamEvent",
    "StreamKind",
    "Timeout",
    "TokenSequence",
    "Tokenizer",
    "Training",
    "Trajectory",
    "library_version",
    "rl",
    "wait_all",
]
