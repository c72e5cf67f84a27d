"""Values that JSON readers disagree about are met deliberately, on the way in and on the way out."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from daeri.errors import Failure
from daeri.text import Json
from daeri.tools import JsonTextError, Resilience, UpstreamError, parse_json, tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, Door, OpenDoor
    from tests.boundary.gateway.conftest import OpenGate


class Rates(BaseModel):
    rates: list[float]


class Row(BaseModel):
    id: int
    amount: float


@tool(read_only=True)
async def echo(value: Any) -> Any:
    """Give it back."""
    return value


def _nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


async def _failure(door: Door, ask: Ask, name: str, arguments: Json) -> Failure:
    outcome = await door.boundary.call(ask(name, arguments))
    assert outcome.state == "failed"
    assert outcome.failure is not None
    return outcome.failure


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
async def test_a_number_that_is_none_in_a_result_breaks_the_contract_and_is_named_by_its_place(
    open_door: OpenDoor, ask: Ask, number: float
) -> None:
    @tool(read_only=True)
    async def rates() -> Rates:
        """Give rates."""
        return Rates(rates=[1.0, number])

    @tool(read_only=True)
    async def loose() -> Any:
        """Give anything."""
        return {"a": [0, {"b": number}]}

    door = await open_door(rates, loose)

    typed, untyped = await _failure(door, ask, "rates", {}), await _failure(door, ask, "loose", {})

    assert (typed.kind, typed.path) == ("contract_violation", "/rates/1")
    assert (untyped.kind, untyped.path) == ("contract_violation", "/a/1/b")
    assert "a finite number" in typed.diagnostic


async def test_a_number_that_is_none_in_arguments_is_refused_before_anything_runs(
    open_door: OpenDoor, ask: Ask
) -> None:
    door = await open_door(echo)

    failure = await _failure(door, ask, "echo", {"value": [float("nan")]})

    assert (failure.kind, failure.path) == ("invalid_arguments", "/value/0")
    assert "call.started" not in door.audit_kinds()


async def test_a_model_that_breaks_its_own_types_is_named_by_its_place(open_door: OpenDoor, ask: Ask) -> None:
    @tool(read_only=True)
    async def rows() -> list[Row]:
        """Give rows."""
        return [Row(id=1, amount=2.0), Row.model_construct(id="two", amount=3.0)]

    door = await open_door(rows)

    failure = await _failure(door, ask, "rows", {})

    assert (failure.kind, failure.path) == ("contract_violation", "/1/id")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"to": "kim", "to": "lee"}', "'to' stands twice"),
        ('{"a": [{"b": 1, "b": 1}]}', "'b' stands twice"),
        ('{"\\u0061": 1, "a": 2}', "'a' stands twice"),
        ('{"n": NaN}', "not a JSON number"),
        ('{"n": -Infinity}', "not a JSON number"),
        ('{"n": 1e999}', "not a JSON number"),
        ('{"n": ' + "9" * 1001 + "}", "too large"),
    ],
    ids=["twice", "twice inside", "twice in disguise", "nan", "infinity", "overflow", "digits"],
)
def test_raw_arguments_that_two_readers_would_read_differently_are_refused(text: str, says: str) -> None:
    with pytest.raises(JsonTextError, match=says):
        parse_json(text)


async def test_integers_beyond_every_machine_word_pass_exactly_up_to_the_limit(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(echo)
    largest = 10**1000 - 1

    outcome = await door.boundary.call(ask("echo", {"value": largest}, call_id="c1"))
    failure = await _failure(door, ask, "echo", {"value": largest + 1})

    assert outcome.value == largest
    assert await door.boundary.result_of("acme", "c1") == largest
    assert (failure.kind, failure.path) == ("invalid_arguments", "/value")


async def test_arguments_are_capped_in_depth_and_size(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(echo)

    deep = await _failure(door, ask, "echo", {"value": _nested(64)})
    large = await _failure(door, ask, "echo", {"value": "x" * 1_000_000})

    assert (await door.boundary.call(ask("echo", {"value": _nested(63)}))).state == "succeeded"
    assert (deep.kind, "nested more than 64 deep" in deep.diagnostic) == ("invalid_arguments", True)
    assert (large.kind, "more than 1,000,000 bytes" in large.diagnostic) == ("invalid_arguments", True)


async def test_results_are_capped_in_depth(open_door: OpenDoor, ask: Ask) -> None:
    @tool(read_only=True)
    async def abyss(depth: int) -> Any:
        """Nest."""
        return _nested(depth)

    door = await open_door(abyss)

    deep = await _failure(door, ask, "abyss", {"depth": 65})

    assert (await door.boundary.call(ask("abyss", {"depth": 64}))).state == "succeeded"
    assert (deep.kind, "nested more than 64 deep" in deep.diagnostic) == ("contract_violation", True)


async def test_a_broken_contract_is_neither_tried_again_nor_held_against_the_system(
    open_gate: OpenGate, ask: Ask
) -> None:
    runs: list[int] = []

    @tool(read_only=True, resilience=Resilience(breaker_failures=1))
    async def act() -> float:
        """Act."""
        runs.append(1)
        return float("nan")

    door = await open_gate(act)

    for _ in range(3):
        await _failure(door, ask, "act", {})

    assert len(runs) == 3
    assert door.boundary.breakers()[0].state == "closed"


async def test_a_tool_that_ignores_its_cancellation_is_not_tried_again_while_it_runs(
    open_door: OpenDoor, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daeri.boundary._gateway._CANCEL_GRACE_S", 0.01)
    let_go = asyncio.Event()
    runs: list[int] = []

    @tool(read_only=True, resilience=Resilience(first_wait_s=0.001, idle_timeout_s=0.01))
    async def stubborn() -> str:
        """Stay."""
        runs.append(1)
        while not let_go.is_set():
            with suppress(asyncio.CancelledError):
                await let_go.wait()
        return "late"

    door = await open_door(stubborn)

    failure = await _failure(door, ask, "stubborn", {})
    let_go.set()

    assert (failure.kind, len(runs)) == ("timeout", 1)


async def test_a_blocking_tool_is_tried_again_in_a_thread_of_its_own(open_door: OpenDoor, ask: Ask) -> None:
    let_go = threading.Event()
    runs: list[str] = []

    @tool(read_only=True, resilience=Resilience(first_wait_s=0.001, idle_timeout_s=0.05))
    def act() -> str:
        """Block the first time."""
        runs.append(threading.current_thread().name)
        if len(runs) == 1:
            let_go.wait()
        elif len(runs) == 2:
            raise UpstreamError("502")
        return "done"

    door = await open_door(act)

    outcome = await door.boundary.call(ask("act"))
    let_go.set()

    assert (outcome.value, outcome.effort.attempts) == ("done", 3)
    assert len(set(runs[:2])) == 2
