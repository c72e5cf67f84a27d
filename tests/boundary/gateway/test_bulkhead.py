"""A slow tool fills its own places and its own queue, and nobody else's."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from daeri.tools import Resilience, tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, OpenDoor
    from tests.boundary.gateway.conftest import Follower


class Desk:
    """A tool that holds its callers until they are let go, and knows how many there are at a time."""

    def __init__(self, **fields: Any) -> None:
        self.entered = asyncio.Semaphore(0)
        self.go = asyncio.Semaphore(0)
        self.inside = self.most = self.runs = 0

        @tool(**fields)
        async def desk() -> str:
            """Serve."""
            self.runs += 1
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.entered.release()
            try:
                await self.go.acquire()
            finally:
                self.inside -= 1
            return "served"

        self.tool = desk

    async def enter(self, number: int) -> None:
        for _ in range(number):
            await self.entered.acquire()


async def _queued(follower: Follower) -> None:
    """Until the call that is followed has come as far as it can: only turns of the loop lie between."""
    await follower.started.wait()
    for _ in range(20):
        await asyncio.sleep(0)


async def test_no_more_calls_than_places_run_at_a_time_and_all_of_the_queue_are_served(
    open_door: OpenDoor, ask: Ask
) -> None:
    desk = Desk(resilience=Resilience(max_concurrent=2, max_queued=8))
    door = await open_door(desk.tool)

    calls = [asyncio.create_task(door.boundary.call(ask("desk"))) for _ in range(10)]
    await desk.enter(2)
    for _ in range(10):
        desk.go.release()
    outcomes = await asyncio.gather(*calls)

    assert [outcome.value for outcome in outcomes] == ["served"] * 10
    assert (desk.most, desk.runs) == (2, 10)


async def test_beyond_places_and_queue_a_call_fails_at_once_and_does_not_run(open_door: OpenDoor, ask: Ask) -> None:
    desk = Desk(resilience=Resilience(max_concurrent=1, max_queued=1))
    door = await open_door(desk.tool)
    first = asyncio.create_task(door.boundary.call(ask("desk")))
    await desk.enter(1)
    others = [asyncio.create_task(door.boundary.call(ask("desk"))) for _ in range(2)]

    done, waiting = await asyncio.wait(others, return_when=asyncio.FIRST_COMPLETED)
    (refused,) = done
    failure = refused.result().failure
    desk.go.release()
    desk.go.release()
    await asyncio.gather(first, *waiting)

    assert failure is not None
    assert failure.kind == "unavailable"
    assert failure.diagnostic == "desk was not called: all 1 places are taken, and 1 more calls wait"
    assert failure.retry_after_s is not None
    assert failure.retry_after_s > 0
    assert desk.runs == 2
    assert sorted(door.states()) == ["failed", "succeeded", "succeeded"]


async def test_waiting_in_the_queue_counts_towards_the_time_of_the_call(
    open_door: OpenDoor, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daeri.boundary._gateway._CANCEL_GRACE_S", 0.01)
    let_go = asyncio.Event()
    runs: list[str] = []

    @tool(timeout_s=0.01, resilience=Resilience(max_concurrent=1, max_queued=1))
    async def desk(who: str) -> str:
        """Keep the place."""
        runs.append(who)
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await let_go.wait()
        return "late"

    door = await open_door(desk)
    await door.boundary.call(ask("desk", {"who": "first"}))
    second = await door.boundary.call(ask("desk", {"who": "second"}))
    let_go.set()

    assert (second.state, second.failure and second.failure.kind) == ("failed", "unavailable")
    assert runs == ["first"]


async def test_a_call_that_is_cancelled_in_the_queue_never_ran_and_its_place_in_it_is_free(
    open_door: OpenDoor, ask: Ask, follower: Follower
) -> None:
    desk = Desk(resilience=Resilience(max_concurrent=1, max_queued=1))
    door = await open_door(desk.tool)
    await door.begin_run()
    first = asyncio.create_task(door.boundary.call(ask("desk")))
    await desk.enter(1)
    request = ask("desk", call_id="waiting", run_id="r1")
    waiting = asyncio.create_task(door.boundary.call(request, observer=follower))
    await _queued(follower)

    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    follower.started.clear()
    third = asyncio.create_task(door.boundary.call(ask("desk", run_id="r1"), observer=follower))
    await _queued(follower)
    desk.go.release()
    desk.go.release()

    assert (await first).value == (await third).value == "served"
    (row,) = door.rows("SELECT state, failure FROM calls WHERE call_id = ?", "waiting")
    assert row["state"] == "cancelled"
    assert desk.runs == 2


async def test_one_full_tool_keeps_no_other_from_running(open_door: OpenDoor, ask: Ask) -> None:
    desk = Desk(resilience=Resilience(max_concurrent=1))

    @tool
    async def other() -> str:
        """Do."""
        return "done"

    door = await open_door(desk.tool, other)
    held = asyncio.create_task(door.boundary.call(ask("desk")))
    await desk.enter(1)

    assert (await door.boundary.call(ask("desk"))).state == "failed"
    assert (await door.boundary.call(ask("other"))).value == "done"
    desk.go.release()
    await held


async def test_a_tool_that_ignores_its_cancellation_keeps_its_place_until_it_ends(
    open_door: OpenDoor, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daeri.boundary._gateway._CANCEL_GRACE_S", 0.01)
    let_go, ended = asyncio.Event(), asyncio.Event()

    @tool(timeout_s=0.01, read_only=True, resilience=Resilience(max_concurrent=1, breaker_failures=0))
    async def stubborn() -> str:
        """Stay."""
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await let_go.wait()
        ended.set()
        return "late"

    door = await open_door(stubborn)

    kinds: list[str | None] = []
    for _ in range(2):
        outcome = await door.boundary.call(ask("stubborn"))
        kinds.append(outcome.failure and outcome.failure.kind)
    let_go.set()
    await ended.wait()
    await asyncio.sleep(0)
    outcome = await door.boundary.call(ask("stubborn"))

    assert kinds == ["timeout", "unavailable"]
    assert outcome.value == "late"
