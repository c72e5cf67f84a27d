"""Limits at the door: what is refused, what is recorded, what is given back."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from daeri.boundary import Boundary, CallLimit, CallLimits, CallOutcome, Selector
from daeri.identity import Principal
from daeri.tools import tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, Door, OpenDoor

ONE_A_MINUTE = CallLimit(name="slow", selector=Selector(), per=("principal",), calls_per_minute=1)
ONE_AT_A_TIME = CallLimit(name="single", selector=Selector(), per=("tool",), concurrent=1)


@tool(name="look")
async def look() -> str:
    """Look."""
    return "seen"


@tool(name="pay", risk="high")
async def pay() -> str:
    """Pay."""
    return "paid"


@tool(name="secret", scopes=["top:secret"])
async def secret() -> str:
    """Tell."""
    return "told"


class Held:
    """A tool that runs until it is told to go on."""

    def __init__(self) -> None:
        self.begun, self.go_on = asyncio.Event(), asyncio.Event()

        @tool(name="wait", read_only=True)
        async def wait() -> str:
            """Wait to be told."""
            self.begun.set()
            await self.go_on.wait()
            return "waited"

        self.tool = wait


def _limited(door: Door, *limits: CallLimit) -> Boundary:
    return Boundary(registry=door.registry, store=door.store, limits=CallLimits(limits))


def _refused(outcome: CallOutcome) -> tuple[str, str | None, float | None]:
    failure = outcome.failure
    return outcome.state, failure and failure.kind, failure and failure.retry_after_s


async def test_a_call_above_the_rate_is_denied_recorded_and_told_when_to_come_again(
    open_door: OpenDoor, ask: Ask
) -> None:
    door = await open_door(look)
    boundary = _limited(door, ONE_A_MINUTE)
    first = await boundary.call(ask("look"))

    second = await boundary.call(ask("look"))

    assert first.state == "succeeded"
    state, kind, wait_s = _refused(second)
    assert (state, kind) == ("denied", "rate_limited")
    assert wait_s is not None
    assert 59 < wait_s <= 60
    row: dict[str, Any] = door.rows("SELECT state, decision, failure FROM calls ORDER BY rowid DESC")[0]
    assert row["state"] == "denied"
    assert json.loads(row["decision"])["rules"] == ["limit.rate", "scope.held", "risk.low"]
    assert json.loads(row["failure"])["kind"] == "rate_limited"
    assert door.audit_kinds()[-1] == "call.denied"


async def test_a_call_that_policy_denies_takes_nothing_from_the_limit(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(look, secret)
    boundary = _limited(door, ONE_A_MINUTE)
    for _ in range(3):
        assert (await boundary.call(ask("secret"))).state == "denied"

    assert (await boundary.call(ask("look"))).state == "succeeded"


async def test_asking_for_approvals_is_limited_too(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(pay)
    boundary = _limited(door, ONE_A_MINUTE)

    states = [(await boundary.call(ask("pay", run_id=None))).state for _ in range(2)]

    assert states == ["waiting", "denied"]


async def test_a_call_above_the_number_at_a_time_is_denied_and_the_slot_comes_back(
    open_door: OpenDoor, ask: Ask
) -> None:
    held = Held()
    door = await open_door(held.tool)
    boundary = _limited(door, ONE_AT_A_TIME)
    running = asyncio.create_task(boundary.call(ask("wait")))
    await held.begun.wait()

    meanwhile = await boundary.call(ask("wait"))
    held.go_on.set()
    first = await running
    afterwards = await boundary.call(ask("wait"))

    assert _refused(meanwhile) == ("denied", "rate_limited", 1.0)
    assert meanwhile.decision is not None
    assert meanwhile.decision.rules[0] == "limit.concurrency"
    assert (first.state, afterwards.state) == ("succeeded", "succeeded")


async def test_a_cancelled_call_gives_its_slot_back(open_door: OpenDoor, ask: Ask) -> None:
    held = Held()
    door = await open_door(held.tool)
    boundary = _limited(door, ONE_AT_A_TIME)
    running = asyncio.create_task(boundary.call(ask("wait")))
    await held.begun.wait()
    running.cancel()
    await asyncio.wait({running})

    held.go_on.set()
    assert (await boundary.call(ask("wait"))).state == "succeeded"


async def test_an_agent_can_not_be_used_to_get_around_the_limit_of_its_person(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(look)
    boundary = _limited(door, ONE_A_MINUTE)
    kim = Principal(tenant="acme", subject="user:kim")

    states = [
        (await boundary.call(ask("look", principal=who))).state for who in (kim, kim.acting_as("a"), kim.acting_as("b"))
    ]

    assert states == ["succeeded", "denied", "denied"]
