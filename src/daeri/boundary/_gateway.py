"""Carries allowed calls out, each in its time and in its place, and turns whatever goes wrong into data."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from daeri.errors import Failure
from daeri.text import Json, JsonObject
from daeri.tools import Tool, ToolContext, ToolProvider

from ._attempts import Attempts, Carried, OnAttempt, Pace
from ._breaker import Breakers, BreakerState
from ._bulkhead import Bulkhead
from ._faults import Fault

_CANCEL_GRACE_S = 1.0
"""How long a cancelled tool may take to clean up before its call is answered without it."""


class Gateway:
    """Runs tools; reachable only from the boundary."""

    def __init__(self, pace: Pace | None = None) -> None:
        self._pace = pace or Pace()
        self._breakers = Breakers(self._pace.now)
        self._bulkheads: dict[tuple[str, int, int], Bulkhead] = {}
        self._stragglers: set[asyncio.Task[Json | Fault]] = set()

    def breakers(self) -> Sequence[BreakerState]:
        """How the circuits of the tools and upstreams stand that were called so far."""
        return self._breakers.states()

    def carriage(
        self, provider: ToolProvider, tool: Tool, arguments: JsonObject, context: ToolContext, *, on_attempt: OnAttempt
    ) -> Carriage:
        """One call, ready to be carried out."""
        attempts = Attempts(
            provider,
            tool,
            arguments,
            context,
            breakers=self._breakers,
            pace=self._pace,
            stop=self._stop,
            on_attempt=on_attempt,
        )
        return Carriage(tool, attempts, self._bulkhead(tool), self._pace.now)

    async def aclose(self) -> None:
        """Cancel what still runs after its call was answered, and wait for it a little."""
        for task in self._stragglers:
            task.cancel()
        if self._stragglers:
            await asyncio.wait(self._stragglers, timeout=_CANCEL_GRACE_S)

    def _bulkhead(self, tool: Tool) -> Bulkhead | None:
        limits = tool.resilience
        if limits.max_concurrent is None:
            return None
        key = (tool.name, limits.max_concurrent, limits.max_queued)
        bulkhead = self._bulkheads.get(key)
        if bulkhead is None:
            bulkhead = self._bulkheads[key] = Bulkhead(*key, self._pace.now)
        return bulkhead

    async def _stop(self, work: asyncio.Task[Json | Fault]) -> None:
        # known before the wait, which a further cancel may interrupt: if it ignores its cancellation its call is
        # answered all the same, and the task stays ours until shutdown
        self._stragglers.add(work)
        work.add_done_callback(self._stragglers.discard)
        work.cancel()
        await asyncio.wait({work}, timeout=_CANCEL_GRACE_S)


class Carriage:
    """One call on its way to its tool."""

    def __init__(self, tool: Tool, attempts: Attempts, bulkhead: Bulkhead | None, now: Callable[[], float]) -> None:
        self._tool = tool
        self._attempts = attempts
        self._bulkhead = bulkhead
        self._now = now

    @property
    def in_doubt(self) -> bool:
        """Whether the tool may have had an effect by now that can't be had twice; asked when it is cancelled."""
        return self._attempts.in_doubt

    async def run(self) -> Carried:
        """The tool's result, or why there is none. Cancelling it cancels the tool."""
        deadline = self._now() + self._tool.timeout_s
        if self._bulkhead is None:
            return await self._attempts.make(deadline)
        # a call keeps its place through its pauses: a system in trouble is to get fewer calls, not others instead
        since = await self._bulkhead.enter(self._tool.timeout_s)
        if isinstance(since, Failure):
            return Carried(result=since, attempts=0)
        try:
            return await self._attempts.make(deadline)
        finally:
            self._leave(self._bulkhead, since)

    def _leave(self, bulkhead: Bulkhead, since: float) -> None:
        running = self._attempts.running
        if not running:
            bulkhead.leave(since)
            return
        # what ignores its cancellation still uses the system: its place is free when it ends
        (straggler,) = running
        straggler.add_done_callback(lambda _: bulkhead.leave(since))
