"""The attempts at one call: each within its time, a further one only where it can't do harm."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol

from daeri.errors import Failure
from daeri.text import Json, JsonObject
from daeri.tools import Tool, ToolContext, ToolProvider

from ._breaker import Breakers
from ._faults import Fault, fault_of
from ._heard import Heard

_LONGEST_WAIT_S = 30.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """Time as the gateway sees it."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep


@dataclass(frozen=True, kw_only=True, slots=True)
class AttemptNote:
    """An attempt that failed and is followed by another."""

    number: int
    failure: Failure
    elapsed_ms: float
    retry_in_s: float


OnAttempt = Callable[[AttemptNote], Awaitable[None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Carried:
    """How an allowed call ended on the far side."""

    result: Json | Failure
    attempts: int
    last_ms: float = 0.0
    """Of the last attempt alone."""
    in_doubt: bool = False
    """Whether it may have had an effect although nobody saw its end."""


class Stop(Protocol):
    """Cancels an attempt and waits for it a little."""

    async def __call__(self, work: asyncio.Task[Json | Fault], /) -> None: ...


class Attempts:
    """One call of one tool."""

    def __init__(
        self,
        provider: ToolProvider,
        tool: Tool,
        arguments: JsonObject,
        context: ToolContext,
        *,
        breakers: Breakers,
        pace: Pace,
        stop: Stop,
        on_attempt: OnAttempt,
    ) -> None:
        self.in_doubt = False
        """Whether it may have had an effect by now, and is of the kind of which that matters."""
        self.running: set[asyncio.Task[Json | Fault]] = set()
        """What ignores its cancellation and runs on."""
        self._provider = provider
        self._tool = tool
        self._arguments = arguments
        self._context = context
        self._breakers = breakers
        self._pace = pace
        self._stop = stop
        self._on_attempt = on_attempt

    async def make(self, deadline: float) -> Carried:
        """Try until there is a result, or nothing is left to be tried. Cancelling it cancels the tool."""
        if refusal := self._refusal(deadline):
            return Carried(result=refusal, attempts=0)
        number = 0
        while True:
            number += 1
            began = self._pace.now()
            ended = await self._admitted(deadline)
            elapsed_ms = round((self._pace.now() - began) * 1000, 3)
            if not isinstance(ended, Fault):
                return Carried(result=ended, attempts=number, last_ms=elapsed_ms)
            last = Carried(result=ended.failure, attempts=number, last_ms=elapsed_ms, in_doubt=self.in_doubt)
            pause = self._pause_after(ended, number, deadline)
            if pause is None:
                return last
            note = AttemptNote(number=number, failure=ended.failure, elapsed_ms=elapsed_ms, retry_in_s=pause)
            await self._on_attempt(note)
            await self._pace.sleep(pause)
            if self._refusal(deadline):
                # what this call saw itself says more than that others have opened the circuit meanwhile
                return last

    def _refusal(self, deadline: float) -> Failure | None:
        if self._pace.now() >= deadline:
            return Failure(
                kind="unavailable", diagnostic=f"{self._tool.name} was not called: waiting took all its time"
            )
        return self._breakers.refusal(self._tool)

    async def _admitted(self, deadline: float) -> Json | Fault:
        admission = self._breakers.enter(self._tool)
        self.in_doubt = not self._tool.annotations.repeatable
        try:
            ended = await self._once(deadline)
        except BaseException:
            admission.leave("unclear")
            raise
        admission.leave(ended.health if isinstance(ended, Fault) else "up")
        self.in_doubt = self.in_doubt and isinstance(ended, Fault) and ended.sent and ended.health == "down"
        return ended

    def _pause_after(self, fault: Fault, number: int, deadline: float) -> float | None:
        """Seconds until the next attempt; `None` when there must be none, or no time is left for it."""
        limits = self._tool.resilience
        harmless = not fault.sent or self._tool.annotations.repeatable
        if number >= limits.attempts or fault.health != "down" or not harmless or self.running:
            return None
        if self._breakers.refusal(self._tool):
            return None
        most = min(_LONGEST_WAIT_S, limits.first_wait_s * 2 ** (number - 1))
        # full jitter: whoever failed together must not come back together
        pause = max(random.uniform(0, most), fault.failure.retry_after_s or 0.0)
        return pause if self._pace.now() + pause < deadline else None

    async def _once(self, deadline: float) -> Json | Fault:
        heard = Heard(self._context.report, self._pace.now)
        context = replace(self._context, report=heard.take)
        work = asyncio.ensure_future(_invoke(self._provider, self._tool, self._arguments, context))
        try:
            late = await self._watch(work, heard, deadline)
            if late is not None:
                await self._give_up(work)
        except asyncio.CancelledError:
            await self._give_up(work)
            raise
        finally:
            heard.close()
        ended = late or (_cancelled_itself(self._tool) if work.cancelled() else work.result())
        if not isinstance(ended, Fault):
            return ended
        said = heard.breaking_off(ended.failure.diagnostic)
        return replace(ended, failure=replace(ended.failure, diagnostic=said))

    async def _watch(self, work: asyncio.Task[Json | Fault], heard: Heard, deadline: float) -> Fault | None:
        """Wait for the attempt; the fault, if it takes too long."""
        idle = self._tool.resilience.idle_timeout_s
        while True:
            now = self._pace.now()
            left, why = deadline - now, f"did not finish within {self._tool.timeout_s:g} s"
            if idle is not None and (silent := heard.latest + idle - now) < left:
                left, why = silent, f"gave no sign of life for {idle:g} s"
            if left <= 0:
                return Fault(failure=Failure(kind="timeout", diagnostic=f"{self._tool.name} {why}"), health="down")
            done, _ = await asyncio.wait({work}, timeout=left)
            if done:
                return None

    async def _give_up(self, work: asyncio.Task[Json | Fault]) -> None:
        if not work.done():
            self.running.add(work)
            work.add_done_callback(self.running.discard)
        await self._stop(work)


async def _invoke(provider: ToolProvider, tool: Tool, arguments: JsonObject, context: ToolContext) -> Json | Fault:
    try:
        return await provider.invoke(tool.name, arguments, context)
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is not None and task.cancelling():
            raise
        return _cancelled_itself(tool)
    except KeyboardInterrupt:  # the person at the keyboard, not the tool
        raise
    except BaseException as error:  # a tool that calls sys.exit() must not end the process
        return fault_of(tool, error)


def _cancelled_itself(tool: Tool) -> Fault:
    return Fault(failure=Failure(kind="tool_error", diagnostic=f"{tool.name} cancelled itself"), health="unclear")
