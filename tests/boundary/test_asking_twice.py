"""One call id is one call, whoever asks how often."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from daeri.boundary import Boundary, CallRequest
from daeri.errors import ConflictError, Failure, ToolError
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


@pytest.mark.parametrize("between", ["bot", "helper"], ids=["one agent", "an agent of an agent"])
async def test_another_person_gets_no_outcome_through_an_agent_of_the_same_name(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any], ran: list[int], between: str
) -> None:
    def agent_of(name: str) -> Principal:
        bot = Principal(tenant="acme", subject=f"user:{name}").acting_as("bot")
        return bot if between == "bot" else bot.acting_as(between)

    door = await open_door(transfer)
    first = ask("transfer", {"amount": 5}, call_id="c1", idempotency_key="k", principal=agent_of("kim"))
    await door.boundary.call(first)

    await _conflicts(door, replace(first, principal=agent_of("lee"), idempotency_key=None), ran)
    with_her_key = await door.boundary.call(replace(first, principal=agent_of("lee"), call_id="c2"))
    again = await door.boundary.call(replace(first, call_id="c3"))

    assert (with_her_key.call_id, again.call_id, ran) == ("c2", "c1", [5, 5])


async def test_fifty_asks_of_two_people_with_one_key_run_once_for_each(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any], ran: list[int]
) -> None:
    door = await open_door(transfer)
    agents = [Principal(tenant="acme", subject=f"user:{name}").acting_as("bot") for name in ("kim", "lee")]
    asks = [ask("transfer", {"amount": 5}, principal=who, idempotency_key="k") for who in agents * 25]

    outcomes = await asyncio.gather(*(door.boundary.call(one) for one in asks))

    assert (ran, door.states()) == ([5, 5], ["succeeded", "succeeded"])
    assert {one.call_id for one in outcomes[::2]}.isdisjoint(one.call_id for one in outcomes[1::2])


@pytest.mark.parametrize("wrong", [{"amount": "five"}, [], {"amount": 10**9000}], ids=["schema", "shape", "limits"])
async def test_a_call_that_its_caller_got_wrong_does_not_take_the_key(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any], ran: list[int], wrong: Any
) -> None:
    door = await open_door(transfer)

    refused = await door.boundary.call(ask("transfer", wrong, idempotency_key="k"))
    put_right = await door.boundary.call(ask("transfer", {"amount": 5}, idempotency_key="k"))

    assert (refused.state, refused.failure and refused.failure.kind) == ("failed", "invalid_arguments")
    assert (put_right.state, ran) == ("succeeded", [5])


async def test_a_call_that_its_caller_could_not_read_does_not_take_the_key(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any], ran: list[int]
) -> None:
    door = await open_door(transfer)
    unread = Failure(kind="malformed_arguments", diagnostic="no JSON")

    await door.boundary.reject(ask("transfer", {}, idempotency_key="k"), unread)

    assert (await door.boundary.call(ask("transfer", {"amount": 5}, idempotency_key="k"))).state == "succeeded"
    assert ran == [5]


@pytest.mark.parametrize("mark", ["", "x" * 201, "a\nb", "a\0", "a\ud800"], ids=ascii)
@pytest.mark.parametrize(
    ("field", "noun"),
    [("idempotency_key", "idempotency key"), ("call_id", "call id"), ("agent", "name of the agent")],
)
async def test_a_mark_that_can_t_stay_on_record_is_refused_and_nothing_runs(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any], ran: list[int], field: str, noun: str, mark: str
) -> None:
    door = await open_door(transfer)
    request = ask("transfer", {"amount": 5}, **{field: mark})

    outcome = await door.boundary.call(request)

    assert outcome.failure is not None
    assert (outcome.state, outcome.failure.kind, ran) == ("failed", "invalid_arguments", [])
    assert outcome.failure.diagnostic.startswith(f"the {noun} must have 1 to 200 characters")
    assert await door.boundary.call(request) == outcome
    assert "x" * 201 not in str(door.rows("SELECT * FROM audit")) + str(door.rows("SELECT * FROM calls"))


async def test_a_mark_of_two_hundred_characters_is_kept(
    open_door: OpenDoor, ask: Ask, transfer: FunctionTool[..., Any]
) -> None:
    door, mark = await open_door(transfer), "가" * 200

    outcome = await door.boundary.call(ask("transfer", {"amount": 5}, call_id=mark, idempotency_key=mark, agent=mark))

    assert (outcome.call_id, outcome.state) == (mark, "succeeded")
    assert [tuple(row.values()) for row in door.rows("SELECT idempotency_key, agent FROM calls")] == [(mark, mark)]


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
