from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from daeri.engine import Agent
from daeri.models import TextDelta
from daeri.tools import tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.engine.conftest import Lab

    from daeri.engine import Run, RunResult

DONE = {"succeeded", "failed", "denied", "cancelled", "unknown"}


async def check_cancelled(lab: Lab, run: Run, result: RunResult) -> None:
    """What holds after every cancellation, wherever it hit."""
    assert (result.status, result.reason, result.answer) == ("cancelled", "cancelled", "")
    names = await lab.names(run.run_id)
    assert names[-1] == "run.ended"
    assert names.count("run.ended") == 1
    assert {call.state for call in result.calls} <= DONE
    assert await lab.refolded(run.run_id) == result
    assert [event async for event in run.events()] == await lab.journal(run.run_id)
    assert (await lab.store.run("acme", run.run_id)).state == "cancelled"
    assert lab.tasks() == set()


async def test_cancelling_closes_the_stream_of_the_model(lab: Lab) -> None:
    reached = asyncio.Event()
    model = lab.Model(lab.hangs(TextDelta(text="Well"), reached=reached))
    run = await lab.start(model)
    await lab.happens(reached)
    result = await lab.cancel(run)
    assert model.streaming == 0
    await check_cancelled(lab, run, result)


async def test_a_reply_that_was_cancelled_is_counted_by_an_estimate(lab: Lab) -> None:
    reached = asyncio.Event()
    model = lab.Model(lab.hangs(TextDelta(text="Half an answer"), reached=reached))
    run = await lab.start(model)
    await lab.happens(reached)
    result = await lab.cancel(run)
    assert (result.usage.estimated, result.usage.input_tokens > 0, result.usage.output_tokens) == (True, True, 3)
    assert result.cost is None


async def test_a_model_that_had_said_nothing_yet_costs_nothing(lab: Lab) -> None:
    reached = asyncio.Event()
    run = await lab.start(lab.Model(lab.hangs(reached=reached)))
    await lab.happens(reached)
    result = await lab.cancel(run)
    assert (result.usage.input_tokens, result.usage.estimated) == (0, False)
    await check_cancelled(lab, run, result)


@pytest.mark.parametrize(
    ("read_only", "idempotent", "state"),
    [(True, False, "cancelled"), (False, True, "cancelled"), (False, False, "unknown")],
    ids=["read-only", "idempotent", "side effect"],
)
async def test_cancelling_reaches_a_running_async_tool(lab: Lab, read_only: bool, idempotent: bool, state: str) -> None:
    begun, seen = asyncio.Event(), list[BaseException]()

    @tool(read_only=read_only, idempotent=idempotent)
    async def hang() -> str:
        """Never comes back."""
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError as error:
            seen.append(error)
            raise
        return "never"

    run = await lab.start(lab.Model(lab.calls(lab.call("hang"))), hang)
    await lab.happens(begun)
    result = await lab.cancel(run)
    assert len(seen) == 1
    assert [(call.state, call.failure and call.failure.kind) for call in result.calls] == [(state, "cancelled")]
    await check_cancelled(lab, run, result)


@pytest.mark.parametrize(("read_only", "state"), [(True, "cancelled"), (False, "unknown")])
async def test_cancelling_does_not_wait_for_a_running_sync_tool(lab: Lab, read_only: bool, state: str) -> None:
    loop = asyncio.get_running_loop()
    begun, let_go = asyncio.Event(), threading.Event()

    @tool(read_only=read_only)
    def block() -> str:
        """Blocks its thread."""
        loop.call_soon_threadsafe(begun.set)
        let_go.wait()
        return "late"

    run = await lab.start(lab.Model(lab.calls(lab.call("block"))), block)
    await lab.happens(begun)
    try:
        result = await lab.cancel(run)
    finally:
        let_go.set()
    assert [call.state for call in result.calls] == [state]
    await check_cancelled(lab, run, result)


async def test_each_call_of_a_cancelled_turn_gets_an_end_of_its_own(lab: Lab) -> None:
    begun = asyncio.Barrier(3)

    @tool(read_only=True)
    async def look() -> str:
        """Never comes back."""
        await begun.wait()
        await asyncio.Event().wait()
        return "never"

    @tool
    async def act() -> str:
        """Never comes back either."""
        await begun.wait()
        await asyncio.Event().wait()
        return "never"

    @tool(read_only=True)
    async def done() -> str:
        """Comes back."""
        return "done"

    asked = lab.calls(lab.call("look"), lab.call("act"), lab.call("done"))
    run = await lab.start(lab.Model(asked), look, act, done)
    await lab.until(run, "call.succeeded")
    await lab.soon(begun.wait())
    result = await lab.cancel(run)
    assert {call.tool: call.state for call in result.calls} == {
        "look": "cancelled",
        "act": "unknown",
        "done": "succeeded",
    }
    await check_cancelled(lab, run, result)


@pytest.mark.parametrize("event", ["model.replied", "call.started", "call.succeeded", "block.completed"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_cancelling_while_an_event_is_being_written_keeps_journal_and_run_in_step(
    lab: Lab, event: str, when: str
) -> None:
    ran: list[str] = []
    writing, go_on = asyncio.Event(), asyncio.Event()

    @tool(read_only=True)
    def look() -> str:
        """Look."""
        ran.append("look")
        return "seen"

    async def slow(number: int, names: Sequence[str]) -> None:
        if event in names and not writing.is_set():
            writing.set()
            await go_on.wait()

    setattr(lab.store, when, slow)
    run = await lab.start(lab.Model(lab.calls(lab.call("look")), lab.says("seen")), look)
    await lab.happens(writing)
    stopping = asyncio.create_task(run.cancel())
    await lab.let_others_go_on()
    go_on.set()
    result = await lab.soon(stopping)
    assert ran == ([] if event in ("model.replied", "call.started") else ["look"])
    del stopping
    await check_cancelled(lab, run, result)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_run_whose_end_is_being_written_stays_as_it_ended(lab: Lab, when: str) -> None:
    writing, go_on = asyncio.Event(), asyncio.Event()

    async def slow(number: int, names: Sequence[str]) -> None:
        if "run.ended" in names and not writing.is_set():
            writing.set()
            await go_on.wait()

    setattr(lab.store, when, slow)
    run = await lab.start(lab.Model(lab.says("Hello!")))
    await lab.happens(writing)
    stopping = asyncio.create_task(run.cancel())
    await lab.let_others_go_on()
    go_on.set()
    result = await lab.soon(stopping)
    assert (result.status, result.answer) == ("succeeded", "Hello!")
    assert (await lab.names(run.run_id)).count("run.ended") == 1
    assert await lab.refolded(run.run_id) == result


async def test_a_run_cancelled_as_soon_as_it_began_says_so(lab: Lab) -> None:
    model = lab.Model(lab.says("Hello!"))
    run = await lab.start(model)
    result = await lab.cancel(run)
    assert model.requests == []
    assert await lab.names(run.run_id) == ["run.started", "run.ended"]
    await check_cancelled(lab, run, result)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_start_that_is_cancelled_leaves_no_run_that_nobody_drives(lab: Lab, when: str) -> None:
    writing, go_on = asyncio.Event(), asyncio.Event()

    async def slow(number: int, names: Sequence[str]) -> None:
        if names == ["run.started"]:
            writing.set()
            await go_on.wait()

    setattr(lab.store, when, slow)
    engine = await lab.engine()
    starting = asyncio.create_task(
        engine.start("Hi.", agent=Agent(name="clerk"), model=lab.Model(), principal=lab.principal)
    )
    await lab.happens(writing)
    starting.cancel()
    await lab.let_others_go_on()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await lab.soon(starting)
    assert [row.state for row in await lab.store.runs("acme")] == ["cancelled"]


@pytest.mark.parametrize("turns", range(8))
async def test_a_start_that_is_cancelled_just_as_it_is_done_leaves_no_run_that_nobody_drives(
    lab: Lab, turns: int
) -> None:
    written = asyncio.Event()

    async def tell(number: int, names: Sequence[str]) -> None:
        written.set()

    lab.store.after = tell
    engine = await lab.engine()
    model = lab.Model(lab.hangs(reached=asyncio.Event()))
    starting = asyncio.create_task(engine.start("Hi.", agent=Agent(name="clerk"), model=model, principal=lab.principal))
    await lab.happens(written)
    for _ in range(turns):
        await asyncio.sleep(0)
    starting.cancel()
    await lab.soon(asyncio.wait({starting}))
    if not starting.cancelled():
        await lab.cancel(starting.result())
    assert [row.state for row in await lab.store.runs("acme")] == ["cancelled"]
    del starting
    assert lab.tasks() == set()


async def test_cancelling_twice_is_as_good_as_once(lab: Lab) -> None:
    reached = asyncio.Event()
    run = await lab.start(lab.Model(lab.hangs(reached=reached)))
    await lab.happens(reached)
    first, second = await lab.soon(asyncio.gather(run.cancel(), run.cancel()))
    assert first == second == await lab.cancel(run)
    await check_cancelled(lab, run, first)


async def test_a_second_cancel_while_the_end_is_being_written_changes_nothing(lab: Lab) -> None:
    reached, writing, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def slow(number: int, names: Sequence[str]) -> None:
        if "run.ended" in names:
            writing.set()
            await go_on.wait()

    lab.store.before = slow
    run = await lab.start(lab.Model(lab.hangs(reached=reached)))
    await lab.happens(reached)
    first = asyncio.create_task(run.cancel())
    await lab.happens(writing)
    second = asyncio.create_task(run.cancel())
    await lab.let_others_go_on()
    go_on.set()
    assert await lab.soon(first) == await lab.soon(second)
    del first, second
    await check_cancelled(lab, run, await lab.result(run))


async def test_a_second_cancel_while_a_tool_cleans_up_changes_nothing(lab: Lab) -> None:
    begun, cleaning, go_on = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @tool(read_only=True)
    async def tidy() -> str:
        """Cleans up after itself."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaning.set()
            await go_on.wait()
        return "never"

    run = await lab.start(lab.Model(lab.calls(lab.call("tidy"))), tidy)
    await lab.happens(begun)
    first = asyncio.create_task(run.cancel())
    await lab.happens(cleaning)
    second = asyncio.create_task(run.cancel())
    await lab.let_others_go_on()
    go_on.set()
    assert await lab.soon(first) == await lab.soon(second)
    del first, second
    await check_cancelled(lab, run, await lab.result(run))


async def test_cancelling_a_run_that_is_over_leaves_it_as_it_is(lab: Lab) -> None:
    run = await lab.start(lab.Model(lab.says("Hello!")))
    ended = await lab.result(run)
    assert await lab.cancel(run) == ended
    assert ended.status == "succeeded"


async def test_cancelling_during_the_wait_for_the_next_attempt_ends_at_once(lab: Lab) -> None:
    model = lab.Model(lab.fails("rate_limit", retry_after_s=100))
    run = await lab.start(model)
    await lab.until(run, "model.failed")
    result = await lab.cancel(run)
    await check_cancelled(lab, run, result)


async def test_leaving_the_block_of_a_run_cancels_it(lab: Lab) -> None:
    reached = asyncio.Event()
    async with await lab.start(lab.Model(lab.hangs(reached=reached))) as run:
        await lab.happens(reached)
    await check_cancelled(lab, run, await lab.result(run))


async def test_who_waits_for_a_result_may_be_cancelled_without_stopping_the_run(lab: Lab) -> None:
    go_on = asyncio.Event()

    @tool(read_only=True)
    async def gate() -> str:
        """Wait for the test."""
        await go_on.wait()
        return "open"

    run = await lab.start(lab.Model(lab.calls(lab.call("gate")), lab.says("open")), gate)
    waiting = asyncio.create_task(run.result())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    go_on.set()
    assert (await lab.result(run)).status == "succeeded"


async def test_closing_the_engine_cancels_every_run(lab: Lab) -> None:
    engine = await lab.engine()
    reached = [asyncio.Event(), asyncio.Event()]
    runs = [
        await engine.start(
            "Hi.", agent=Agent(name="clerk"), model=lab.Model(lab.hangs(reached=event)), principal=lab.principal
        )
        for event in reached
    ]
    for event in reached:
        await lab.happens(event)
    await lab.soon(engine.aclose())
    assert [(await lab.result(run)).status for run in runs] == ["cancelled"] * 2


async def test_followers_of_a_cancelled_run_come_to_an_end(lab: Lab) -> None:
    reached = asyncio.Event()
    run = await lab.start(lab.Model(lab.hangs(TextDelta(text="Well"), reached=reached)))

    async def follow() -> list[str]:
        return [event.name async for event in run.events()]

    following = asyncio.create_task(follow())
    await lab.happens(reached)
    await lab.cancel(run)
    assert (await lab.soon(following))[-1] == "run.ended"
