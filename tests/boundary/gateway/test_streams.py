"""A tool that yields its result piece by piece: chunks are progress, the whole is one result, a break is a failure."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any

from daeri.boundary import Boundary, Pace
from daeri.errors import ToolError
from daeri.tools import Resilience, ToolContext, UpstreamError, tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, Door, OpenDoor
    from tests.boundary.gateway.conftest import Follower, OpenGate

Look = Callable[["Door", str], list[dict[str, Any]]]


async def test_chunks_are_progress_and_the_joined_text_is_the_one_result(
    open_door: OpenDoor, ask: Ask, follower: Follower
) -> None:
    @tool(read_only=True)
    async def write() -> AsyncIterator[str]:
        """Write."""
        for word in ("안녕", "하", "세요"):
            yield word

    door = await open_door(write)

    outcome = await door.boundary.call(ask("write", call_id="c1"), observer=follower)

    assert follower.told == ["안녕", "하", "세요"]
    assert outcome.value == "안녕하세요"
    assert await door.boundary.result_of("acme", "c1") == "안녕하세요"


async def test_a_stream_that_breaks_off_is_a_failed_call_that_says_what_had_arrived(
    open_door: OpenDoor, ask: Ask, follower: Follower
) -> None:
    @tool(read_only=True)
    async def write() -> AsyncIterator[str]:
        """Write."""
        yield "the first half, "
        yield "and then"
        raise ToolError("The printer is out of paper.")

    door = await open_door(write)

    outcome = await door.boundary.call(ask("write"), observer=follower)

    assert (outcome.state, outcome.value) == ("failed", None)
    assert outcome.failure is not None
    assert outcome.failure.user_message == "The printer is out of paper."
    assert outcome.failure.diagnostic == (
        "The printer is out of paper.; until then 2 pieces had arrived, at the end: the first half, and then"
    )
    assert door.states() == ["failed"]


async def test_of_what_had_arrived_only_the_end_is_kept(open_door: OpenDoor, ask: Ask, audit_of: Look) -> None:
    @tool(read_only=True)
    async def write() -> AsyncIterator[str]:
        """Write."""
        for number in range(3_000):
            yield f"{number} "
        raise UpstreamError("reset")

    door = await open_door(write)

    failure = (await door.boundary.call(ask("write"))).failure

    assert failure is not None
    assert failure.diagnostic.startswith("reset; until then 3,000 pieces had arrived, at the end: ")
    assert failure.diagnostic.endswith("2998 2999 ")
    assert len(failure.diagnostic) < 1_200
    assert audit_of(door, "call.failed")[0]["failure"] == {"kind": "transport"}


async def test_a_stream_that_falls_silent_is_given_up(open_door: OpenDoor, ask: Ask) -> None:
    closed: list[str] = []

    @tool(read_only=True, resilience=Resilience(attempts=1, idle_timeout_s=0.01))
    async def write() -> AsyncIterator[str]:
        """Write."""
        try:
            yield "hello"
            await asyncio.Event().wait()
        finally:
            closed.append("closed")

    door = await open_door(write)

    failure = (await door.boundary.call(ask("write"))).failure

    assert failure is not None
    assert failure.kind == "timeout"
    assert failure.diagnostic == (
        "write gave no sign of life for 0.01 s; until then 1 piece had arrived, at the end: hello"
    )
    assert closed == ["closed"]


async def test_a_stream_with_a_sign_of_life_goes_on(open_door: OpenDoor, ask: Ask) -> None:
    """Every time that the gateway looks at its watch, the tool has just said something."""
    time, looked = [0.0], asyncio.Event()

    def now() -> float:
        time[0] += 0.001
        looked.set()
        return time[0]

    @tool(read_only=True, resilience=Resilience(attempts=1, idle_timeout_s=0.02))
    async def write(context: ToolContext) -> AsyncIterator[int]:
        """Write."""
        for number in range(5):
            looked.clear()
            await looked.wait()
            time[0] += 0.015
            yield number

    door = await open_door(write)
    boundary = Boundary(registry=door.registry, store=door.store, pace=Pace(now=now))

    outcome = await boundary.call(ask("write"))

    assert outcome.value == [0, 1, 2, 3, 4]
    assert time[0] > 0.02


async def test_a_silent_attempt_is_followed_by_another_if_the_tool_is_repeatable(open_door: OpenDoor, ask: Ask) -> None:
    runs: list[int] = []

    @tool(read_only=True, resilience=Resilience(attempts=2, first_wait_s=0.001, idle_timeout_s=0.01))
    async def write() -> AsyncIterator[str]:
        """Write."""
        runs.append(1)
        yield f"try {len(runs)}"
        if len(runs) == 1:
            await asyncio.Event().wait()

    door = await open_door(write)

    outcome = await door.boundary.call(ask("write"))

    assert (outcome.value, outcome.effort.attempts) == ("try 2", 2)
    assert door.audit_kinds() == ["call.started", "call.attempted", "call.succeeded"]


async def test_an_endless_stream_that_never_waits_is_stopped_by_its_time(open_door: OpenDoor, ask: Ask) -> None:
    @tool(read_only=True, timeout_s=0.02)
    async def flood() -> AsyncIterator[str]:
        """Flood."""
        while True:
            yield "x"

    door = await open_door(flood)

    failure = (await door.boundary.call(ask("flood"))).failure

    assert failure is not None
    assert failure.kind == "timeout"


async def test_progress_is_bounded_and_says_so(open_gate: OpenGate, ask: Ask, follower: Follower) -> None:
    @tool(read_only=True)
    def flood(context: ToolContext) -> str:
        """Flood from a thread."""
        for _ in range(50_000):
            context.report("x")
        return "done"

    door = await open_gate(flood)

    outcome = await door.boundary.call(ask("flood"), observer=follower)
    await asyncio.sleep(0)

    assert outcome.value == "done"
    assert len(follower.told) == 10_000
    assert follower.told[-1] == "[it says more than is shown live]"


async def test_large_progress_is_bounded_and_the_result_is_whole(
    open_gate: OpenGate, ask: Ask, follower: Follower
) -> None:
    @tool(read_only=True)
    async def flood() -> AsyncIterator[str]:
        """Flood."""
        for _ in range(15):
            yield "x" * 100_000

    door = await open_gate(flood)

    outcome = await door.boundary.call(ask("flood"), observer=follower)

    assert outcome.value == "x" * 1_500_000
    assert sum(map(len, follower.told)) < 1_000_000
    assert follower.told.count("[it says more than is shown live]") == 1


async def test_what_a_tool_says_after_its_call_was_answered_reaches_nobody(
    open_door: OpenDoor, ask: Ask, follower: Follower
) -> None:
    late: list[Callable[[str], None]] = []

    @tool(read_only=True)
    async def act(context: ToolContext) -> str:
        """Act."""
        late.append(context.report)
        return "done"

    door = await open_door(act)
    await door.boundary.call(ask("act"), observer=follower)

    late[0]("too late")
    await asyncio.sleep(0)

    assert follower.told == []
