"""A door whose gateway lives in a time of its own: pauses pass at once, and circuits wait for nobody."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pytest

from daeri.boundary import Boundary, JournalEntry, Pace, Policy
from daeri.tools import FunctionTool, ToolProvider, tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Door, OpenDoor


@dataclass
class Clock:
    """Time that passes only when somebody sleeps or says so."""

    time: float = 1_000.0
    slept: list[float] = field(default_factory=list[float])

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)


class Follower:
    """Keeps the progress that it is told of, and knows when a call in a run is on record as started."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.started = asyncio.Event()

    def recorded(self, entry: JournalEntry, seq: int) -> None:
        if entry.type == "call.started":
            self.started.set()

    def tool_progress(self, call_id: str, tool: str, text: str) -> None:
        self.told.append(text)


Failing = Callable[..., tuple[FunctionTool[..., Any], list[int]]]
OpenGate = Callable[..., Awaitable["Door"]]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def failing() -> Failing:
    """Makes a tool that raises these errors one after the other, then the last one for good; and gives its runs."""

    def make(*errors: Exception | None, name: str = "act", **fields: Any) -> tuple[FunctionTool[..., Any], list[int]]:
        runs: list[int] = []

        @tool(name=name, **fields)
        async def act() -> str:
            """Act."""
            runs.append(len(runs) + 1)
            error = errors[min(len(runs), len(errors)) - 1]
            if error is not None:
                raise error
            return "done"

        return act, runs

    return make


@pytest.fixture
def follower() -> Follower:
    return Follower()


@pytest.fixture
async def open_gate(open_door: OpenDoor, clock: Clock) -> AsyncIterator[OpenGate]:
    """Open a door over some tools, in the time of `clock`."""
    async with AsyncExitStack() as stack:

        async def opened(
            *tools: FunctionTool[..., Any], provider: ToolProvider | None = None, policy: Policy | None = None
        ) -> Door:
            door = await open_door(*tools, provider=provider)
            pace = Pace(now=clock.now, sleep=clock.sleep)
            boundary = Boundary(registry=door.registry, store=door.store, pace=pace, policy=policy)
            stack.push_async_callback(boundary.aclose)
            return replace(door, boundary=boundary)

        yield opened


def audit(door: Door, kind: str) -> list[dict[str, Any]]:
    """The data of all audit events of a kind."""
    return [json.loads(row["data"]) for row in door.rows("SELECT data FROM audit WHERE kind = ? ORDER BY seq", kind)]


def journal(door: Door, kind: str) -> list[dict[str, Any]]:
    """The data of all journal events of a type."""
    return [json.loads(row["data"]) for row in door.rows("SELECT data FROM events WHERE type = ? ORDER BY seq", kind)]


@pytest.fixture
def audit_of() -> Callable[[Door, str], list[dict[str, Any]]]:
    return audit


@pytest.fixture
def journal_of() -> Callable[[Door, str], list[dict[str, Any]]]:
    return journal
