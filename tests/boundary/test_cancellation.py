"""A call that is cancelled, before, while and after its tool runs: the record says what is known."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from daeri.boundary import Boundary, Record
from daeri.store import SqliteStore
from daeri.tools import FunctionTool, tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, Door, OpenDoor


class SlowStore(SqliteStore):
    """A store whose commits wait to be let through, one permit each."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.permits = asyncio.Semaphore(0)
        self.reached = asyncio.Semaphore(0)

    async def commit(self, records: Sequence[Record]) -> Sequence[int]:
        self.reached.release()
        await self.permits.acquire()
        return await super().commit(records)


@asynccontextmanager
async def _slow(door: Door) -> AsyncGenerator[tuple[Boundary, SlowStore]]:
    async with await SlowStore.open(door.path) as store:
        yield Boundary(registry=door.registry, store=store), store


def _failure(door: Door) -> dict[str, Any]:
    (row,) = door.rows("SELECT failure FROM calls")
    return json.loads(row["failure"])


async def _cancel(task: asyncio.Task[Any]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.fixture
def entered() -> asyncio.Event:
    return asyncio.Event()


@pytest.fixture
def reads(entered: asyncio.Event) -> FunctionTool[..., Any]:
    @tool(read_only=True)
    async def reads() -> str:
        """Read for good."""
        entered.set()
        await asyncio.Event().wait()
        return "never"

    return reads


@pytest.fixture
def writes(entered: asyncio.Event) -> FunctionTool[..., Any]:
    @tool
    async def writes() -> str:
        """Write for good."""
        entered.set()
        await asyncio.Event().wait()
        return "never"

    return writes


async def test_cancelled_while_its_start_is_written_a_call_does_not_run_and_is_cancelled_on_record(
    open_door: OpenDoor, ask: Ask, writes: FunctionTool[..., Any], entered: asyncio.Event
) -> None:
    door = await open_door(writes)
    await door.begin_run()
    async with _slow(door) as (boundary, store):
        calling = asyncio.create_task(boundary.call(ask("writes", run_id="r1")))
        await store.reached.acquire()

        calling.cancel()
        store.permits.release()
        store.permits.release()
        with pytest.raises(asyncio.CancelledError):
            await calling

        assert not entered.is_set()
        assert door.states() == ["cancelled"]
        assert door.journal_types()[1:] == ["call.requested", "call.started", "call.cancelled"]
        assert _failure(door)["diagnostic"] == "cancelled before it was carried out"


async def test_cancelled_twice_while_its_start_is_written_it_is_still_cancelled_on_record(
    open_door: OpenDoor, ask: Ask, writes: FunctionTool[..., Any], entered: asyncio.Event
) -> None:
    door = await open_door(writes)
    async with _slow(door) as (boundary, store):
        calling = asyncio.create_task(boundary.call(ask("writes")))
        await store.reached.acquire()

        calling.cancel()
        await asyncio.sleep(0)
        await _cancel(calling)
        store.permits.release()
        store.permits.release()
        await boundary.aclose()

        assert not entered.is_set()
        assert (door.states(), door.audit_kinds()) == (["cancelled"], ["call.started", "call.cancelled"])


async def test_cancelled_while_its_start_is_written_in_vain_it_leaves_nothing(
    open_door: OpenDoor, ask: Ask, writes: FunctionTool[..., Any], entered: asyncio.Event
) -> None:
    door = await open_door(writes)
    async with _slow(door) as (boundary, store):
        calling = asyncio.create_task(boundary.call(ask("writes", run_id="nosuch")))
        await store.reached.acquire()

        calling.cancel()
        store.permits.release()
        with pytest.raises(asyncio.CancelledError):
            await calling

        assert not entered.is_set()
        assert (door.states(), door.audit_kinds()) == ([], [])


async def test_cancelled_while_it_reads_a_call_is_cancelled(
    open_door: OpenDoor, ask: Ask, reads: FunctionTool[..., Any], entered: asyncio.Event
) -> None:
    door = await open_door(reads)
    calling = asyncio.create_task(door.boundary.call(ask("reads")))
    await entered.wait()

    await _cancel(calling)

    assert (door.states(), door.audit_kinds()) == (["cancelled"], ["call.started", "call.cancelled"])


async def test_cancelled_while_it_has_side_effects_a_call_is_unknown(
    open_door: OpenDoor, ask: Ask, writes: FunctionTool[..., Any], entered: asyncio.Event
) -> None:
    door = await open_door(writes)
    calling = asyncio.create_task(door.boundary.call(ask("writes")))
    await entered.wait()

    await _cancel(calling)

    assert (door.states(), door.audit_kinds()) == (["unknown"], ["call.started", "call.unknown"])
    assert _failure(door)["kind"] == "cancelled"


async def test_a_cancel_scope_that_cancels_at_every_wait_keeps_nothing_off_the_record(
    open_door: OpenDoor, ask: Ask, writes: FunctionTool[..., Any], entered: asyncio.Event
) -> None:
    door = await open_door(writes)

    async with anyio.create_task_group() as group:
        group.start_soon(door.boundary.call, ask("writes"))
        await entered.wait()
        group.cancel_scope.cancel()
    await door.boundary.aclose()

    assert (door.states(), door.audit_kinds()) == (["unknown"], ["call.started", "call.unknown"])


async def test_cancelling_a_call_cancels_its_tool(open_door: OpenDoor, ask: Ask, entered: asyncio.Event) -> None:
    cancelled = asyncio.Event()

    @tool
    async def wait() -> str:
        """Wait for good."""
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    door = await open_door(wait)
    calling = asyncio.create_task(door.boundary.call(ask("wait")))
    await entered.wait()

    await _cancel(calling)

    assert cancelled.is_set()


async def test_a_tool_that_ignores_its_cancellation_does_not_hold_up_the_caller(
    open_door: OpenDoor, ask: Ask, entered: asyncio.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daeri.boundary._gateway._CANCEL_GRACE_S", 0.01)
    let_go = asyncio.Event()

    @tool
    async def stubborn() -> str:
        """Stay."""
        entered.set()
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    door = await open_door(stubborn)
    calling = asyncio.create_task(door.boundary.call(ask("stubborn")))
    await entered.wait()

    await _cancel(calling)
    let_go.set()

    assert door.states() == ["unknown"]


async def test_a_tool_that_swallows_a_cancellation_is_cancelled_again_at_closing_even_if_nobody_waited_for_it(
    open_door: OpenDoor, ask: Ask, entered: asyncio.Event
) -> None:
    swallowed, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def slow_to_learn() -> str:
        """Swallow the first cancellation."""
        entered.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            swallowed.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    door = await open_door(slow_to_learn)
    calling = asyncio.create_task(door.boundary.call(ask("slow_to_learn")))
    await entered.wait()

    calling.cancel()
    await swallowed.wait()
    await _cancel(calling)
    await door.boundary.aclose()

    assert ended.is_set()


async def test_cancelled_while_its_outcome_is_written_the_outcome_still_gets_on_record(
    open_door: OpenDoor, ask: Ask
) -> None:
    @tool
    async def act() -> str:
        """Act."""
        return "done"

    door = await open_door(act)
    async with _slow(door) as (boundary, store):
        calling = asyncio.create_task(boundary.call(ask("act", call_id="c1")))
        store.permits.release()
        await store.reached.acquire()
        await store.reached.acquire()

        await _cancel(calling)
        store.permits.release()
        await boundary.aclose()

        assert (door.states(), door.audit_kinds()) == (["succeeded"], ["call.started", "call.succeeded"])
        assert await boundary.result_of("acme", "c1") == "done"


async def test_what_can_not_be_written_about_a_cancelled_call_leaves_it_started(
    open_door: OpenDoor, ask: Ask, writes: FunctionTool[..., Any], entered: asyncio.Event
) -> None:
    door = await open_door(writes, commits_left=1)
    calling = asyncio.create_task(door.boundary.call(ask("writes")))
    await entered.wait()

    await _cancel(calling)

    assert door.states() == ["started"]
