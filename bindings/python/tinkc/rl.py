"""Reinforcement learning: the arithmetic between rollouts and training steps (<tinkc/rl.h>).

    advantages = tinkc.rl.advantages([1, 0, 0, 1])   # None: there is nothing to learn

Nothing here asks a server; the same arguments give the same result.
"""

from __future__ import annotations

from ctypes import (
    addressof,
    byref,
    c_bool,
    c_double,
    c_float,
    c_size_t,
    c_void_p,
    string_at,
)
from typing import Mapping, NamedTuple, Sequence

from . import _c
from ._convert import address, encoded, floats
from ._handle import Owned
from .data import Datum, Trajectory, datums
from .errors import call
from .training import FwdBwd

__all__ = [
    "Batch",
    "Counts",
    "Gap",
    "Preference",
    "advantages",
    "distill_advantages",
    "dpo",
    "gap",
    "report",
    "seed",
    "sums",
]

_U64 = 2**64 - 1


def seed(run: int, task: int, episode: int = 0, turn: int = 0) -> int:
    """The seed of a sample, below 2**30: a run that is repeated or resumed samples the same."""
    values = [value & _U64 for value in (run, task, episode, turn)]
    return int(_c.tinkc_rl_seed(*values))


def _advantage_options(others: bool, scale: bool) -> _c.tinkc_rl_advantage_options:
    options = _c.tinkc_rl_advantage_options()
    _c.tinkc_rl_advantage_options_init(byref(options))
    options.baseline = int(others)
    options.scale = scale
    return options


def advantages(
    rewards: Sequence[float], *, others: bool = False, scale: bool = False
) -> list[float] | None:
    """The advantages of a group: each reward minus the mean (others: the mean of the other
    episodes), divided by the standard deviation with scale. None: the rewards do not differ.
    """
    given = (c_double * len(rewards))(*rewards)
    out, differ = (c_double * len(rewards))(), c_bool()
    options = _advantage_options(others, scale)
    call(
        _c.tinkc_rl_advantages,
        out,
        byref(differ),
        given,
        len(rewards),
        byref(options),
    )
    return list(out) if differ.value else None


# ---- episodes of a step ----


class Counts(NamedTuple):
    """What a batch was made of; rewards are NaN when no episode has one."""

    episodes: int
    failed: int
    stale: int
    groups: int
    groups_kept: int
    groups_equal: int
    groups_small: int
    datums: int
    tokens: int
    tokens_sampled: int
    tokens_trained: int
    turns: int
    turns_max: int
    length_max: int
    reward_mean: float
    reward_std: float
    reward_min: float
    reward_max: float


class Batch(Owned):
    """Collects the episodes of a step, in any order; take() makes the datums of the groups that
    are complete, by task and episode. One thread at a time."""

    __slots__ = ()
    _free = _c.tinkc_rl_batch_free

    def __init__(
        self,
        group_size: int = 8,
        *,
        max_lag: int = -1,
        others: bool = False,
        scale: bool = False,
    ) -> None:
        super().__init__(c_void_p())
        options, how = _c.tinkc_rl_batch_options(), _advantage_options(others, scale)
        _c.tinkc_rl_batch_options_init(byref(options))
        options.group_size = group_size
        options.max_lag = max_lag
        options.advantages.contents = how
        call(_c.tinkc_rl_batch_new, byref(self.p), byref(options))

    def add(
        self,
        task: int,
        index: int,
        trajectory: str | bytes | None,
        reward: float | None,
        *,
        version: int = 0,
    ) -> None:
        """Adds an episode: the JSON that the gateway exports, and its reward. None for one of
        them: the episode failed. `version` is that of the weights it was sampled from.
        """
        episode = _c.tinkc_rl_episode()
        _c.tinkc_rl_episode_init(byref(episode))
        episode.task, episode.index, episode.version = task, index, version
        episode.failed = trajectory is None or reward is None
        episode.reward = reward if reward is not None else 0.0
        read = Trajectory(trajectory) if trajectory is not None else None
        p = byref(read.p) if read is not None else None
        call(_c.tinkc_rl_batch_add, self.p, byref(episode), p)

    @property
    def complete(self) -> int:
        """The number of groups of which all episodes were added."""
        return int(_c.tinkc_rl_batch_complete(self.p))

    def take(self, version: int = 0) -> tuple[list[Datum], Counts]:
        """The datums of the groups that are complete, which leave the batch. Episodes of weights
        more than max_lag versions older than `version` are not trained on."""
        made, counts = _c.tinkc_rl_datums(), _c.tinkc_rl_counts()
        _c.tinkc_rl_counts_init(byref(counts))
        call(_c.tinkc_rl_batch_take, byref(made), byref(counts), self.p, version)
        data = [Datum._of(c_void_p(made.items[i])) for i in range(made.n)]
        made.n = 0  # they belong to `data`
        _c.tinkc_rl_datums_free(byref(made))
        return data, Counts(*[getattr(counts, name) for name in Counts._fields])


# ---- sampler against trainer, metrics ----


class Gap(NamedTuple):
    """How far the sampler is from the trainer, over the tokens that were sampled."""

    tokens: int
    kl: float
    k3: float
    abs_mean: float
    abs_max: float
    entropy: float
    clipped: float


def gap(
    result: FwdBwd,
    data: Sequence[Datum],
    *,
    clip_low: float = 0.8,
    clip_high: float = 1.2,
) -> Gap:
    """Compares the log-probabilities in the datums with those of the result."""
    c, items = _c.tinkc_rl_gap(), datums(data)
    _c.tinkc_rl_gap_init(byref(c))
    c.clip_low, c.clip_high = clip_low, clip_high
    call(_c.tinkc_rl_gap_compute, byref(c), result._p, items, len(items))
    return Gap(*[getattr(c, name) for name in Gap._fields])


def _fill(struct: object, values: NamedTuple) -> None:
    for name, value in values._asdict().items():
        setattr(struct, name, value)


def report(
    step: int,
    counts: Counts | None = None,
    gap: Gap | None = None,
    *,
    loss: float | None = None,
    rate: float | None = None,
    seconds: float | None = None,
    more: Mapping[str, float] | None = None,
) -> str:
    """The metrics of a step as a line of JSON: reward/mean, gap/kl, tokens/sampled, ..."""
    c, c_counts, c_gap = (
        _c.tinkc_rl_report(),
        _c.tinkc_rl_counts(),
        _c.tinkc_rl_gap(),
    )
    _c.tinkc_rl_report_init(byref(c))
    _c.tinkc_rl_counts_init(byref(c_counts))
    _c.tinkc_rl_gap_init(byref(c_gap))
    c.step = step
    for name, value in (("loss", loss), ("rate", rate), ("seconds", seconds)):
        if value is not None:
            setattr(c, name, value)
    if counts is not None:
        _fill(c_counts, counts)
        c.counts.contents = c_counts
    if gap is not None:
        _fill(c_gap, gap)
        c.gap.contents = c_gap
    given = more or {}
    numbers = (_c.tinkc_number * len(given))(
        *[_c.tinkc_number(encoded(name), value) for name, value in given.items()]
    )
    c.more = numbers
    c.more_n = len(given)
    text, n = c_void_p(), c_size_t()
    call(_c.tinkc_rl_report_json, byref(text), byref(n), byref(c))
    line = string_at(text, n.value).decode()
    _c.tinkc_text_free(byref(text))
    return line


# ---- preferences, distillation ----


def sums(result: FwdBwd, data: Sequence[Datum]) -> list[float]:
    """The log-probability of what each datum is to learn: the sum of weight * logprob."""
    items = datums(data)
    out = (c_double * len(items))()
    call(_c.tinkc_rl_sums, out, result._p, items, len(items))
    return list(out)


class Preference(NamedTuple):
    """Means over all pairs, and the derivatives of the loss by each log-probability."""

    loss: float
    accuracy: float
    margin: float
    chosen_reward: float
    rejected_reward: float
    slopes: list[float]


def dpo(
    logprobs: Sequence[float], reference: Sequence[float], beta: float = 0.1
) -> Preference:
    """Direct preference optimization: logprobs[2 * i] is that of the preferred answer of pair i,
    logprobs[2 * i + 1] that of the other; `reference` has the same under the start weights.
    """
    n = len(logprobs)
    if n % 2 != 0 or len(reference) != n:
        raise ValueError("logprobs and reference need two numbers for each pair")
    pairs, result = _c.tinkc_rl_dpo_pairs(), _c.tinkc_rl_dpo_result()
    _c.tinkc_rl_dpo_pairs_init(byref(pairs))
    _c.tinkc_rl_dpo_result_init(byref(result))
    given, before = (c_double * n)(*logprobs), (c_double * n)(*reference)
    slopes = (c_double * n)()
    pairs.beta, pairs.pairs = beta, n // 2
    pairs.logprobs, pairs.reference = addressof(given), addressof(before)
    call(_c.tinkc_rl_dpo, byref(result), slopes, byref(pairs))
    return Preference(
        loss=result.loss,
        accuracy=result.accuracy,
        margin=result.margin,
        chosen_reward=result.chosen_reward,
        rejected_reward=result.rejected_reward,
        slopes=list(slopes),
    )


def distill_advantages(
    student: Sequence[float], teacher: Sequence[float], coefficient: float = 1.0
) -> list[float]:
    """The advantages of on-policy distillation: coefficient * (teacher - student), by token."""
    a, b = floats(student, "student"), floats(teacher, "teacher")
    if len(a) != len(b):
        raise ValueError(f"{len(a)} log-probabilities of the student, {len(b)} others")
    out = (c_float * len(a))()
    call(
        _c.tinkc_rl_distill_advantages, out, address(a), address(b), len(a), coefficient
    )
    return list(out)
