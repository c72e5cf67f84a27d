"""A system that does not answer is left alone for a while, then asked by one call whether it is back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import pytest
from pydantic import AfterValidator

from daeri.boundary import BreakerState
from daeri.errors import ToolError
from daeri.tools import NotSentError, Resilience, UpstreamError, tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, Door
    from tests.boundary.gateway.conftest import Clock, Failing, OpenGate

DOWN = UpstreamError("502")
ONE_TRY = Resilience(attempts=1, breaker_failures=3, breaker_reset_s=30.0)
SHARED = Resilience(attempts=1, breaker_failures=3, breaker_reset_s=30.0, upstream="erp")


def _odd(number: int) -> int:
    if number % 2 == 0:
        raise ValueError("must be odd")
    return number


Odd = Annotated[int, AfterValidator(_odd)]


async def _kinds(door: Door, ask: Ask, tool_name: str, times: int) -> list[str | None]:
    outcomes = [await door.boundary.call(ask(tool_name)) for _ in range(times)]
    return [outcome.failure and outcome.failure.kind for outcome in outcomes]


async def test_failures_in_a_row_open_the_circuit_and_then_nothing_is_asked(
    open_gate: OpenGate, ask: Ask, failing: Failing
) -> None:
    act, runs = failing(DOWN, read_only=True, resilience=ONE_TRY)
    door = await open_gate(act)

    assert await _kinds(door, ask, "act", 5) == ["transport"] * 3 + ["circuit_open"] * 2
    assert len(runs) == 3
    assert door.states() == ["failed"] * 5
    assert door.boundary.breakers() == [
        BreakerState(scope="tool", name="act", state="open", failures=3, retry_after_s=30.0)
    ]


async def test_an_open_circuit_says_when_to_come_again(
    open_gate: OpenGate, ask: Ask, clock: Clock, failing: Failing
) -> None:
    act, _ = failing(DOWN, read_only=True, resilience=ONE_TRY)
    door = await open_gate(act)
    await _kinds(door, ask, "act", 3)

    clock.time += 10
    outcome = await door.boundary.call(ask("act"))

    assert outcome.failure is not None
    assert (outcome.failure.retry_after_s, outcome.effort.attempts) == (20.0, 0)


async def test_when_its_time_is_over_one_call_closes_it_if_the_system_is_back(
    open_gate: OpenGate, ask: Ask, clock: Clock, failing: Failing
) -> None:
    act, _ = failing(DOWN, DOWN, DOWN, None, read_only=True, resilience=ONE_TRY)
    door = await open_gate(act)
    await _kinds(door, ask, "act", 3)

    clock.time += 30
    assert [breaker.state for breaker in door.boundary.breakers()] == ["half_open"]
    assert await _kinds(door, ask, "act", 2) == [None, None]
    assert door.boundary.breakers() == [BreakerState(scope="tool", name="act", state="closed", failures=0)]


async def test_a_trial_that_fails_opens_it_again_at_once(
    open_gate: OpenGate, ask: Ask, clock: Clock, failing: Failing
) -> None:
    act, runs = failing(DOWN, read_only=True, resilience=ONE_TRY)
    door = await open_gate(act)
    await _kinds(door, ask, "act", 3)

    clock.time += 30

    assert await _kinds(door, ask, "act", 2) == ["transport", "circuit_open"]
    assert len(runs) == 4


class Slow:
    """A tool whose first calls fail, and whose later ones wait to be told how to end."""

    def __init__(self) -> None:
        self.entered = asyncio.Semaphore(0)
        self.ends: asyncio.Queue[Exception | None] = asyncio.Queue()
        self.fail = 3

        @tool(read_only=True, resilience=ONE_TRY)
        async def act() -> str:
            """Act."""
            if self.fail:
                self.fail -= 1
                raise DOWN
            self.entered.release()
            error = await self.ends.get()
            if error is not None:
                raise error
            return "done"

        self.tool = act


async def test_only_one_of_many_calls_is_the_trial(open_gate: OpenGate, ask: Ask, clock: Clock) -> None:
    slow = Slow()
    door = await open_gate(slow.tool)
    await _kinds(door, ask, "act", 3)
    clock.time += 30

    # a second trial would wait for good
    async with asyncio.timeout(30):
        trial = asyncio.create_task(door.boundary.call(ask("act")))
        await slow.entered.acquire()
        assert await _kinds(door, ask, "act", 20) == ["circuit_open"] * 20
        assert door.boundary.breakers()[0].state == "half_open"
        slow.ends.put_nowait(None)
        outcome = await trial

    assert outcome.value == "done"
    assert door.boundary.breakers()[0].state == "closed"


@pytest.mark.parametrize("end", ["cancelled", "crashed"])
async def test_a_trial_that_proves_nothing_leaves_the_trial_to_the_next_call(
    open_gate: OpenGate, ask: Ask, clock: Clock, end: str
) -> None:
    slow = Slow()
    door = await open_gate(slow.tool)
    await _kinds(door, ask, "act", 3)
    clock.time += 30

    async with asyncio.timeout(30):
        trial = asyncio.create_task(door.boundary.call(ask("act")))
        await slow.entered.acquire()
        if end == "cancelled":
            trial.cancel()
        else:
            slow.ends.put_nowait(ValueError("a bug"))
        await asyncio.gather(trial, return_exceptions=True)
        slow.ends.put_nowait(None)

        assert await _kinds(door, ask, "act", 1) == [None]
    assert door.boundary.breakers()[0].state == "closed"


async def test_a_success_that_began_before_the_circuit_opened_does_not_close_it(open_gate: OpenGate, ask: Ask) -> None:
    slow = Slow()
    slow.fail = 0
    door = await open_gate(slow.tool)
    early = asyncio.create_task(door.boundary.call(ask("act")))
    await slow.entered.acquire()
    slow.fail = 3
    await _kinds(door, ask, "act", 3)

    slow.ends.put_nowait(None)

    assert (await early).value == "done"
    assert door.boundary.breakers()[0].state == "open"


@pytest.mark.parametrize("error", [ToolError("no such employee"), ValueError("a bug"), None], ids=str)
async def test_answers_and_crashes_never_open_a_circuit(
    open_gate: OpenGate, ask: Ask, failing: Failing, error: Exception | None
) -> None:
    act, runs = failing(error, read_only=True, resilience=ONE_TRY)
    door = await open_gate(act)

    await _kinds(door, ask, "act", 10)

    assert len(runs) == 10
    assert door.boundary.breakers()[0].failures == 0


async def test_arguments_that_the_tool_refuses_never_open_a_circuit(open_gate: OpenGate, ask: Ask) -> None:
    @tool(read_only=True, resilience=ONE_TRY)
    async def act(number: Odd) -> int:
        """Act."""
        return number

    door = await open_gate(act)

    outcomes = [await door.boundary.call(ask("act", {"number": 2})) for _ in range(5)]

    assert {outcome.failure and outcome.failure.kind for outcome in outcomes} == {"invalid_arguments"}
    assert door.boundary.breakers()[0].failures == 0


async def test_an_answer_in_between_begins_the_count_anew(open_gate: OpenGate, ask: Ask, failing: Failing) -> None:
    no = ToolError("no such employee")
    act, runs = failing(DOWN, DOWN, no, DOWN, DOWN, None, read_only=True, resilience=ONE_TRY)
    door = await open_gate(act)

    await _kinds(door, ask, "act", 6)

    assert len(runs) == 6


async def test_timeouts_open_a_circuit(open_gate: OpenGate, ask: Ask, clock: Clock) -> None:
    @tool(read_only=True, timeout_s=0.01, resilience=ONE_TRY)
    async def act() -> str:
        """Let the time pass."""
        clock.time += 1
        await asyncio.Event().wait()
        return "never"

    door = await open_gate(act)

    assert await _kinds(door, ask, "act", 4) == ["timeout"] * 3 + ["circuit_open"]


async def test_the_attempts_of_one_call_open_a_circuit_too_and_then_end(
    open_gate: OpenGate, ask: Ask, clock: Clock, failing: Failing
) -> None:
    act, runs = failing(NotSentError("refused"), resilience=Resilience(attempts=5, breaker_failures=2))
    door = await open_gate(act)

    outcome = await door.boundary.call(ask("act"))

    assert (outcome.failure and outcome.failure.kind, outcome.effort.attempts) == ("transport", 2)
    assert (len(runs), len(clock.slept)) == (2, 1)


async def test_a_circuit_that_others_opened_during_a_pause_ends_the_call_with_what_it_saw_itself(
    open_gate: OpenGate, ask: Ask, clock: Clock, failing: Failing, monkeypatch: pytest.MonkeyPatch
) -> None:
    act, runs = failing(DOWN, read_only=True, resilience=Resilience(attempts=3, breaker_failures=2))

    async def meanwhile(seconds: float) -> None:
        await door.boundary.call(ask("act"))

    monkeypatch.setattr(clock, "sleep", meanwhile)
    door = await open_gate(act)
    outcome = await door.boundary.call(ask("act"))

    assert (outcome.failure and outcome.failure.kind, outcome.effort.attempts) == ("transport", 1)
    assert len(runs) == 2


async def test_one_broken_tool_does_not_shut_its_neighbours_out(
    open_gate: OpenGate, ask: Ask, failing: Failing
) -> None:
    broken, _ = failing(DOWN, name="broken", read_only=True, resilience=SHARED)
    sound, _ = failing(None, name="sound", read_only=True, resilience=SHARED)
    door = await open_gate(broken, sound)

    assert await _kinds(door, ask, "broken", 4) == ["transport"] * 3 + ["circuit_open"]
    assert await _kinds(door, ask, "sound", 1) == [None]


async def test_tools_that_fail_together_open_the_circuit_of_their_system(
    open_gate: OpenGate, ask: Ask, failing: Failing
) -> None:
    one, _ = failing(DOWN, name="one", read_only=True, resilience=SHARED)
    two, _ = failing(DOWN, name="two", read_only=True, resilience=SHARED)
    three, runs = failing(None, name="three", read_only=True, resilience=SHARED)
    door = await open_gate(one, two, three)

    await _kinds(door, ask, "one", 2)
    await _kinds(door, ask, "two", 1)

    assert await _kinds(door, ask, "three", 1) == ["circuit_open"]
    assert runs == []
    states = {(breaker.scope, breaker.name): breaker.state for breaker in door.boundary.breakers()}
    assert states == {
        ("tool", "one"): "closed",
        ("tool", "two"): "closed",
        ("tool", "three"): "closed",
        ("upstream", "erp"): "open",
    }


async def test_a_circuit_can_be_switched_off(open_gate: OpenGate, ask: Ask, failing: Failing) -> None:
    act, runs = failing(DOWN, read_only=True, resilience=Resilience(attempts=1, breaker_failures=0))
    door = await open_gate(act)

    await _kinds(door, ask, "act", 20)

    assert len(runs) == 20
    assert door.boundary.breakers() == []
