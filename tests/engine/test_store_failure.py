from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from daeri.errors import StoreError
from daeri.tools import tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.engine.conftest import Lab

# run.started, model.replied, start and end of two calls, block.completed, model.replied, answer and end
WRITES = 9


@pytest.fixture
def ran() -> list[str]:
    return []


async def test_the_run_of_these_tests_writes_as_often_as_they_say(lab: Lab, ran: list[str]) -> None:
    result = await _work(lab, ran)
    assert (result, lab.store.writes, sorted(ran)) == ("succeeded", WRITES, ["a", "b"])


async def _work(lab: Lab, ran: list[str]) -> str:
    @tool
    def act(key: str) -> str:
        """Do something."""
        ran.append(key)
        return key

    asked = lab.calls(lab.call("act", {"key": "a"}), lab.call("act", {"key": "b"}))
    run = await lab.start(lab.Model(asked, lab.says("done")), act)
    return (await lab.result(run)).status


@pytest.mark.parametrize("number", range(1, WRITES + 1))
async def test_a_run_whose_record_cannot_be_written_says_so_and_runs_nothing_unrecorded(
    lab: Lab, ran: list[str], number: int
) -> None:
    lab.refuse_write(number)
    with pytest.raises(StoreError):
        await _work(lab, ran)
    rows = await lab.store.runs("acme")
    assert len(rows) == (0 if number == 1 else 1)
    for index, key in enumerate("ab"):
        if key in ran:
            assert await lab.store.find_call("acme", f"{rows[0].run_id}.1.{index}") is not None


@pytest.mark.parametrize("number", range(1, WRITES + 1))
async def test_a_disk_that_is_full_from_one_write_on_hangs_nothing(lab: Lab, ran: list[str], number: int) -> None:
    async def refuse(this: int, names: Sequence[str]) -> None:
        if this >= number:
            raise StoreError("write to the record", "the disk is full")

    lab.store.before = refuse
    with pytest.raises(StoreError):
        await _work(lab, ran)
    assert len(ran) <= max(number - 3, 0)


@pytest.mark.parametrize("number", range(2, WRITES + 1))
async def test_the_journal_of_a_run_that_lost_its_store_is_a_prefix(lab: Lab, ran: list[str], number: int) -> None:
    async def refuse(this: int, names: Sequence[str]) -> None:
        if this >= number:
            raise StoreError("write to the record", "the disk is full")

    lab.store.before = refuse
    with pytest.raises(StoreError):
        await _work(lab, ran)
    [row] = await lab.store.runs("acme")
    events = await lab.stored(row.run_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert "run.ended" not in [event.type for event in events]
    assert row.state == "running"


async def test_a_call_whose_end_cannot_be_written_stays_started(lab: Lab) -> None:
    @tool
    def act() -> str:
        """Do something."""
        return "done"

    async def refuse(number: int, names: Sequence[str]) -> None:
        if "call.succeeded" in names:
            raise StoreError("write to the record", "the disk is full")

    lab.store.before = refuse
    run = await lab.start(lab.Model(lab.calls(lab.call("act"))), act)
    with pytest.raises(StoreError):
        await lab.result(run)
    call = await lab.store.find_call("acme", f"{run.run_id}.1.0")
    assert call is not None
    assert call.state == "started"


async def test_a_sibling_of_a_call_that_could_not_be_recorded_is_stopped_and_gets_its_end(lab: Lab) -> None:
    begun = asyncio.Event()

    @tool(read_only=True)
    async def hang() -> str:
        """Never comes back."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    @tool(read_only=True)
    async def act() -> str:
        """Come back when the other has begun."""
        await begun.wait()
        return "done"

    async def refuse(number: int, names: Sequence[str]) -> None:
        if "call.succeeded" in names:
            raise StoreError("write to the record", "the disk is full")

    lab.store.before = refuse
    run = await lab.start(lab.Model(lab.calls(lab.call("hang"), lab.call("act"))), hang, act)
    with pytest.raises(StoreError):
        await lab.result(run)
    sibling = await lab.store.find_call("acme", f"{run.run_id}.1.0")
    assert sibling is not None
    assert sibling.state == "cancelled"


async def test_a_cancelled_run_whose_end_cannot_be_written_says_so(lab: Lab) -> None:
    reached = asyncio.Event()

    async def refuse(number: int, names: Sequence[str]) -> None:
        if "run.ended" in names:
            raise StoreError("write to the record", "the disk is full")

    lab.store.before = refuse
    run = await lab.start(lab.Model(lab.hangs(reached=reached)))
    await lab.happens(reached)
    with pytest.raises(StoreError):
        await lab.cancel(run)
    assert [event.name async for event in run.events()] == ["run.started"]
