"""One call id is one call, whoever asks how often."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from daeri.boundary import Boundary, CallRequest
from daeri.errors import ConflictError, ToolError
from daeri.identity import Principal
from daeri.store import SqliteStore
from daeri.tools import FunctionTool, tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, Door, OpenDoor


@pytest.fixture
def ran() -> list[int]:
    return []


@pytest.fixture
def transfer(ran: list[int]) -> FunctionTool[..., Any]:
    @tool
    async def transfer(amount: int) -> str:
        """Transfer money."""
        ran.append(amount)
        await asyncio.sleep(0)
        if amount < 0:
            raise ToolError("The amount is below zero.")
        return f"transferred {amount}"

    return transfer


async def test_asking_again_gives_the_recorded_outcome_and_runs_nothing(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any], ran: list[int]
) -> None:
    door = await open_door(transfer)
    request = ask("transfer", {"amount": 5})

    first = await door.boundary.call(request)
    second = await door.boundary.call(request)

    assert second == first
    assert (ran, door.audit_kinds()) == ([5], ["call.started", "call.succeeded"])


async def test_asking_again_after_a_failure_gives_that_failure(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any], ran: list[int]
) -> None:
    door = await open_door(transfer)
    request = ask("transfer", {"amount": -1})

    first = await door.boundary.call(request)
    second = await door.boundary.call(request)

    assert (second, second.state, ran) == (first, "failed", [-1])


async def test_asking_again_after_a_denial_gives_that_denial_even_if_the_call_would_pass_now(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any], ran: list[int]
) -> None:
    door = await open_door(transfer)
    door.registry.disable("transfer")
    request = ask("transfer", {"amount": 5})

    first = await door.boundary.call(request)
    door.registry.enable("transfer")
    second = await door.boundary.call(request)

    assert (second, second.state, ran) == (first, "denied", [])


async def test_the_order_of_argument_keys_makes_no_other_call(open_door: OpenDoor, ask: Ask) -> None:
    @tool
    async def pair(a: int, b: int) -> list[int]:
        """Give both."""
        return [a, b]

    door = await open_door(pair)

    first = await door.boundary.call(ask("pair", {"a": 1, "b": 2}, call_id="c1"))

    assert await door.boundary.call(ask("pair", {"b": 2, "a": 1.0}, call_id="c1")) == first


async def test_fifty_asks_at_once_with_one_call_id_run_once(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any], ran: list[int]
) -> None:
    door = await open_door(transfer)
    request = ask("transfer", {"amount": 5})

    outcomes = await asyncio.gather(*(door.boundary.call(request) for _ in range(50)))

    assert (ran, door.states()) == ([5], ["succeeded"])
    assert {outcome.state for outcome in outcomes} <= {"started", "succeeded"}
    assert all(outcome.value == "transferred 5" for outcome in outcomes if outcome.state == "succeeded")
    assert any(outcome.state == "succeeded" for outcome in outcomes)


async def test_two_boundaries_on_one_file_that_are_asked_with_one_call_id_run_it_once(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any], ran: list[int]
) -> None:
    door = await open_door(transfer)
    request = ask("transfer", {"amount": 5})
    async with await SqliteStore.open(door.path) as other:
        second_door = Boundary(registry=door.registry, store=other)

        await asyncio.gather(door.boundary.call(request), second_door.call(request))

    assert (ran, door.states()) == ([5], ["succeeded"])


async def test_an_ask_while_the_call_runs_says_that_it_is_started_and_never_that_it_succeeded(
    open_door: OpenDoor, ask: Ask
) -> None:
    started, finish = asyncio.Event(), asyncio.Event()

    @tool
    async def work() -> str:
        """Work until told to stop."""
        started.set()
        await finish.wait()
        return "done"

    door = await open_door(work)
    request = ask("work")
    first = asyncio.create_task(door.boundary.call(request))
    await started.wait()

    second = await door.boundary.call(request)
    finish.set()

    assert (second.state, second.value) == ("started", None)
    assert second.failure is not None
    assert (await first).state == "succeeded"


async def _conflicts(door: Door, request: CallRequest, ran: list[int]) -> None:
    with pytest.raises(ConflictError):
        await door.boundary.call(request)
    assert (ran, door.states()) == ([5], ["succeeded"])


async def test_the_same_id_with_other_arguments_is_a_conflict(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any], ran: list[int]
) -> None:
    door = await open_door(transfer)
    await door.boundary.call(ask("transfer", {"amount": 5}, call_id="c1"))

    await _conflicts(door, ask("transfer", {"amount": 6}, call_id="c1"), ran)


async def test_the_same_id_for_another_tool_is_a_conflict(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any], ran: list[int]
) -> None:
    door = await open_door(transfer)
    await door.boundary.call(ask("transfer", {"amount": 5}, call_id="c1"))

    await _conflicts(door, ask("other", {"amount": 5}, call_id="c1"), ran)


async def test_somebody_else_gets_no_outcome_by_naming_the_id_of_a_call(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any], ran: list[int]
) -> None:
    door = await open_door(transfer)
    await door.boundary.call(ask("transfer", {"amount": 5}, call_id="c1"))
    lee = Principal(tenant="acme", subject="user:lee")

    await _conflicts(door, ask("transfer", {"amount": 5}, call_id="c1", principal=lee), ran)


async def test_another_run_gets_no_outcome_by_naming_the_id_of_a_call(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any], ran: list[int]
) -> None:
    door = await open_door(transfer)
    await door.begin_run("r1")
    await door.begin_run("r2")
    await door.boundary.call(ask("transfer", {"amount": 5}, call_id="c1", run_id="r1"))

    await _conflicts(door, ask("transfer", {"amount": 5}, call_id="c1", run_id="r2"), ran)


async def test_a_tool_name_that_had_to_be_scrubbed_can_be_asked_for_again(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door()
    request = ask("no\ud800such")

    assert await door.boundary.call(request) == await door.boundary.call(request)


async def test_two_equal_calls_with_ids_of_their_own_are_two_calls(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any], ran: list[int]
) -> None:
    door = await open_door(transfer)

    await door.boundary.call(ask("transfer", {"amount": 5}))
    await door.boundary.call(ask("transfer", {"amount": 5}))

    assert (ran, door.states()) == ([5, 5], ["succeeded", "succeeded"])
