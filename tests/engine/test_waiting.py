from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from daeri.engine import RunWaiting
from daeri.tools import tool

if TYPE_CHECKING:
    from tests.engine.conftest import Lab


@tool(risk="high")
def transfer(amount: int) -> str:
    """Move money."""
    raise AssertionError("must not run without approval")


@tool(read_only=True)
def balance() -> int:
    """Money there is."""
    return 100


@tool(timeout_s=0.01)
async def send(to: str) -> str:
    """Send a letter; nobody can tell whether it went."""
    await asyncio.Event().wait()
    return to


async def test_a_call_that_needs_approval_makes_the_run_wait(lab: Lab) -> None:
    run = await lab.start(lab.Model(lab.calls(lab.call("transfer", {"amount": 5}))), transfer)
    result = await lab.result(run)
    [call] = result.calls
    assert (result.status, result.answer, result.reason) == ("waiting_approval", "", None)
    assert (call.state, result.approvals) == ("waiting", (call.approval_id,))
    assert (await lab.store.run("acme", run.run_id)).state == "waiting_approval"


async def test_the_free_calls_of_a_waiting_turn_run(lab: Lab) -> None:
    asked = lab.calls(lab.call("balance"), lab.call("transfer", {"amount": 5}), lab.call("balance"))
    result = await lab.run(lab.Model(asked), transfer, balance)
    assert [(call.tool, call.state) for call in result.calls if not call.repeats] == [
        ("balance", "succeeded"),
        ("transfer", "waiting"),
    ]


async def test_every_approval_of_a_turn_is_collected_before_the_run_waits(lab: Lab) -> None:
    asked = lab.calls(*(lab.call("transfer", {"amount": amount}) for amount in (1, 2, 3)))
    result = await lab.run(lab.Model(asked), transfer)
    assert len(set(result.approvals)) == 3
    assert set(result.approvals) == {call.approval_id for call in result.calls}


async def test_a_waiting_turn_is_no_block_and_nothing_is_released(lab: Lab) -> None:
    result = await lab.run(lab.Model(lab.calls(lab.call("transfer", {"amount": 5}))), transfer)
    assert await lab.names(result.run_id) == [
        "run.started",
        "model.replied",
        "call.requested",
        "call.waiting",
        "run.waiting",
    ]


async def test_two_identical_calls_that_need_approval_ask_once(lab: Lab) -> None:
    asked = lab.calls(lab.call("transfer", {"amount": 5}), lab.call("transfer", {"amount": 5}))
    result = await lab.run(lab.Model(asked), transfer)
    assert len(result.approvals) == 1
    assert [(call.state, call.repeats) for call in result.calls] == [
        ("waiting", None),
        ("waiting", f"{result.run_id}.1.0"),
    ]


async def test_a_call_of_unknown_outcome_makes_the_run_wait_for_a_person(lab: Lab) -> None:
    asked = lab.calls(lab.call("send", {"to": "Kim"}), lab.call("balance"))
    run = await lab.start(lab.Model(asked), send, balance)
    result = await lab.result(run)
    assert (result.status, result.unknown_calls) == ("waiting_input", (f"{run.run_id}.1.0",))
    assert {call.tool: call.state for call in result.calls} == {"send": "unknown", "balance": "succeeded"}
    assert (await lab.store.run("acme", run.run_id)).state == "waiting_input"


async def test_a_turn_with_both_names_both(lab: Lab) -> None:
    asked = lab.calls(lab.call("send", {"to": "Kim"}), lab.call("transfer", {"amount": 5}))
    result = await lab.run(lab.Model(asked), send, transfer)
    assert (result.status, len(result.approvals), len(result.unknown_calls)) == ("waiting_input", 1, 1)
    [waiting] = [event.body for event in await lab.journal(result.run_id) if isinstance(event.body, RunWaiting)]
    assert (waiting.approvals, waiting.unknown_calls) == (result.approvals, result.unknown_calls)


async def test_a_timeout_of_a_repeatable_tool_is_an_ordinary_failure(lab: Lab) -> None:
    @tool(timeout_s=0.01, idempotent=True)
    async def put(key: str) -> str:
        """Set a value."""
        await asyncio.Event().wait()
        return key

    model = lab.Model(lab.calls(lab.call("put", {"key": "a"})), lab.says("It failed."))
    result = await lab.run(model, put)
    assert (result.status, [call.failure and call.failure.kind for call in result.calls]) == ("refused", ["timeout"])


async def test_the_journal_of_a_waiting_run_tells_the_same(lab: Lab) -> None:
    asked = lab.calls(lab.call("send", {"to": "Kim"}), lab.call("transfer", {"amount": 5}), lab.call("balance"))
    result = await lab.run(lab.Model(asked), send, transfer, balance)
    assert await lab.refolded(result.run_id) == result


async def test_a_run_that_ends_takes_back_what_it_asked_people_to_approve(lab: Lab) -> None:
    begun = asyncio.Event()

    @tool(read_only=True)
    async def forever() -> str:
        """Never answer."""
        begun.set()
        await asyncio.Event().wait()
        return ""

    asked = lab.calls(lab.call("transfer", {"amount": 5}), lab.call("forever"))
    run = await lab.start(lab.Model(asked), transfer, forever)
    await lab.until(run, "call.waiting")
    await lab.happens(begun)
    result = await lab.cancel(run)
    assert [(call.tool, call.state) for call in result.calls] == [("transfer", "denied"), ("forever", "cancelled")]
    assert [call.failure and call.failure.kind for call in result.calls] == ["approval_withdrawn", "cancelled"]
    [approval] = await lab.store.approvals_of("acme", run.run_id)
    assert (approval.state, approval.detail) == ("withdrawn", "the run ended")
    assert (await lab.names(run.run_id))[-1] == "run.ended"
    assert await lab.refolded(run.run_id) == result
    assert [event async for event in run.events()] == await lab.journal(run.run_id)
