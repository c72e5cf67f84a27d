"""Circuit breakers: a system that doesn't answer is left alone for a while; then one call finds out if it is back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from daeri.errors import Failure
from daeri.tools import Resilience, Tool

from ._faults import Health

Scope = Literal["tool", "upstream"]

_WITNESSES = {"tool": 1, "upstream": 2}
"""Tools that must have failed. One broken tool is no proof that the system that it shares with others is down."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BreakerState:
    """How a circuit stands."""

    scope: Scope
    name: str
    """Of the tool or of the upstream."""
    state: Literal["closed", "open", "half_open"]
    """`half_open`: its time is over, and one call may find out whether the system is back."""
    failures: int
    """One after the other, up to now."""
    retry_after_s: float | None = None
    """While it is open."""


class Breaker:
    """One circuit. What an attempt says counts only if the circuit has not changed since that attempt began."""

    def __init__(self, scope: Scope, name: str, now: Callable[[], float]) -> None:
        self._scope: Scope = scope
        self._name = name
        self._now = now
        self._failures = 0
        self._failing: set[str] = set()
        self._opens_at: float | None = None
        """When one call is let through again; `None` while it is closed."""
        self._reset_s = 0.0
        self._trial = False
        self._turn = 0

    def wait_s(self) -> float | None:
        """Seconds until it is worth another try; `None`: a call may pass now."""
        if self._opens_at is None:
            return None
        left = self._opens_at - self._now()
        if left > 0:
            return left
        return self._reset_s if self._trial else None

    def enter(self) -> int:
        """Begin an attempt that may pass; the number is handed in again at its end."""
        if self._opens_at is not None:
            self._trial = True
            self._turn += 1
        return self._turn

    def leave(self, turn: int, health: Health, tool: Tool) -> None:
        """End an attempt. `unclear` counts for nothing; of a trial it lets the next call be the trial."""
        if turn != self._turn:
            return
        if health == "up":
            self._close()
        elif health == "down":
            self._fail(tool.name, tool.resilience)
        else:
            self._trial = False

    def state(self) -> BreakerState:
        """How it stands."""
        wait = self.wait_s()
        closed = self._opens_at is None
        waiting = wait is not None and not self._trial
        return BreakerState(
            scope=self._scope,
            name=self._name,
            state="closed" if closed else "open" if waiting else "half_open",
            failures=self._failures,
            retry_after_s=wait if waiting else None,
        )

    def _close(self) -> None:
        if self._opens_at is not None:
            self._turn += 1
        self._opens_at, self._trial, self._failures = None, False, 0
        self._failing.clear()

    def _fail(self, tool: str, limits: Resilience) -> None:
        self._failures += 1
        self._failing.add(tool)
        enough = self._failures >= limits.breaker_failures and len(self._failing) >= _WITNESSES[self._scope]
        if enough or self._trial:
            self._opens_at = self._now() + limits.breaker_reset_s
            self._reset_s = limits.breaker_reset_s
            self._trial = False
            self._turn += 1


@dataclass(frozen=True, slots=True)
class Admission:
    """An attempt that was let through; its end is told to every circuit on its way."""

    tool: Tool
    turns: Sequence[tuple[Breaker, int]]

    def leave(self, health: Health) -> None:
        """The attempt is over."""
        for breaker, turn in self.turns:
            breaker.leave(turn, health, self.tool)


class Breakers:
    """The circuits of all tools and upstreams that were called."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._known: dict[tuple[Scope, str], Breaker] = {}

    def enter(self, tool: Tool) -> Admission:
        """Let an attempt through that nothing speaks against."""
        return Admission(tool, [(breaker, breaker.enter()) for breaker in self._of(tool)])

    def refusal(self, tool: Tool) -> Failure | None:
        """Why no attempt is let through now, if so."""
        waits = [wait for breaker in self._of(tool) if (wait := breaker.wait_s()) is not None]
        if not waits:
            return None
        wait = max(waits)
        return Failure(
            kind="circuit_open",
            diagnostic=f"{tool.name} was not called: the system behind it failed too often; again in {wait:.1f} s",
            retry_after_s=wait,
        )

    def states(self) -> Sequence[BreakerState]:
        """All circuits, by scope and name."""
        return [self._known[key].state() for key in sorted(self._known)]

    def _of(self, tool: Tool) -> Sequence[Breaker]:
        if not tool.resilience.breaker_failures:
            return ()
        own = self._get("tool", tool.name)
        shared = tool.resilience.upstream
        return (own,) if shared is None else (own, self._get("upstream", shared))

    def _get(self, scope: Scope, name: str) -> Breaker:
        breaker = self._known.get((scope, name))
        if breaker is None:
            breaker = self._known[(scope, name)] = Breaker(scope, name, self._now)
        return breaker
