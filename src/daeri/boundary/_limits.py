"""Limits on how often and how many at a time; refused calls are decisions like any other."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from daeri.errors import Failure

from ._policy import PolicyQuestion
from ._records import Decision
from ._selector import Selector

LimitPart = Literal["tenant", "principal", "tool"]
_Key: TypeAlias = tuple[str, ...]

_SLOT_RETRY_S = 1.0
"""When a slot will be free nobody knows; this only keeps callers from asking in a tight loop."""
_MANY_BUCKETS = 10_000
_ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class CallLimit:
    """At most so many calls a minute, or at a time, of the calls it selects."""

    name: str
    selector: Selector
    per: tuple[LimitPart, ...]
    """Counted for each of these apart; `principal` is the person, whatever agent acts for them. None: all together."""
    calls_per_minute: float | None = None
    burst: int = 1
    """Calls at once after a pause."""
    concurrent: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class OverLimit:
    """A limit stood in the way."""

    decision: Decision
    failure: Failure


class CallLimits:
    """Token buckets and slots, counted in this process.

    A call takes of all limits that select it or of none. Nothing here waits: what one event loop does is one step.
    """

    def __init__(self, limits: Iterable[CallLimit] = (), *, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = tuple(limits)
        self._clock = clock
        self._buckets: dict[_Key, tuple[float, float, CallLimit]] = {}
        self._prune_at = _MANY_BUCKETS
        self._running: dict[_Key, int] = {}

    @property
    def limits(self) -> Sequence[CallLimit]:
        """The limits, in their order."""
        return self._limits

    def spend(self, question: PolicyQuestion) -> OverLimit | None:
        """Count a call that policy did not deny, or refuse it and say when it may come again."""
        now = self._clock()
        asked = [(limit, rate, _key(limit, question)) for limit, rate in self._rates(question)]
        levels = [self._level(limit, rate, key, now) for limit, rate, key in asked]
        waits = [
            ((1 - level) / (rate / 60), limit)
            for (limit, rate, _), level in zip(asked, levels, strict=True)
            if level < 1 - _ROUNDING
        ]
        if waits:
            wait, limit = max(waits, key=lambda one: one[0])
            said = f"limit {limit.name!r}: {limit.calls_per_minute:g} calls a minute{_each(limit)}"
            return _refusal("limit.rate", f"{said}; the next in {wait:.2g} s", wait)
        for (limit, _, key), level in zip(asked, levels, strict=True):
            self._buckets[key] = (level - 1, now, limit)
        self._prune(now)
        return None

    @contextmanager
    def slot(self, question: PolicyQuestion) -> Generator[OverLimit | None]:
        """Hold a place among the running calls until the block ends; a refusal instead when there is none."""
        for limit, number in self._slots(question):
            if self._running.get(_key(limit, question), 0) >= number:
                said = f"limit {limit.name!r}: {number} at a time{_each(limit)}"
                yield _refusal("limit.concurrency", said, _SLOT_RETRY_S)
                return
        with self.held(question):
            yield None

    @contextmanager
    def held(self, question: PolicyQuestion) -> Generator[None]:
        """Hold a place be there one or not: for a call that may no longer be refused, because people approved it."""
        keys = [_key(limit, question) for limit, _ in self._slots(question)]
        for key in keys:
            self._running[key] = self._running.get(key, 0) + 1
        try:
            yield
        finally:
            for key in keys:
                self._running[key] -= 1
                if not self._running[key]:
                    del self._running[key]

    def _slots(self, question: PolicyQuestion) -> Iterator[tuple[CallLimit, int]]:
        for limit in self._limits:
            if limit.concurrent is not None and limit.selector.selects(question):
                yield limit, limit.concurrent

    def _rates(self, question: PolicyQuestion) -> Iterator[tuple[CallLimit, float]]:
        for limit in self._limits:
            if limit.calls_per_minute is not None and limit.selector.selects(question):
                yield limit, limit.calls_per_minute

    def _level(self, limit: CallLimit, rate: float, key: _Key, now: float) -> float:
        if key not in self._buckets:
            return limit.burst
        level, at, _ = self._buckets[key]
        return min(limit.burst, level + max(0.0, now - at) * rate / 60)

    def _prune(self, now: float) -> None:
        """Forget buckets that are full again: a new one is just the same."""
        if len(self._buckets) <= self._prune_at:
            return
        self._buckets = {
            key: bucket
            for key, bucket in self._buckets.items()
            if self._level(bucket[2], bucket[2].calls_per_minute or 0, key, now) < bucket[2].burst
        }
        self._prune_at = max(_MANY_BUCKETS, 2 * len(self._buckets))


def _key(limit: CallLimit, question: PolicyQuestion) -> _Key:
    who = question.principal
    values: dict[LimitPart, _Key] = {
        "tenant": (who.tenant,),
        "principal": (who.tenant, who.person.subject),
        "tool": (question.tool.name,),
    }
    return (limit.name, *(value for part in limit.per for value in values[part]))


def _each(limit: CallLimit) -> str:
    return f" for each {' and '.join(limit.per)}" if limit.per else ""


def _refusal(rule: str, reason: str, wait_s: float) -> OverLimit:
    return OverLimit(
        decision=Decision(verdict="deny", rules=(rule,), reasons=(reason,)),
        failure=Failure(kind="rate_limited", diagnostic=reason, retry_after_s=math.ceil(wait_s * 1000) / 1000),
    )
