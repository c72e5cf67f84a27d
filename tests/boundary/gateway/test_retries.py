"""A failed attempt is followed by another where that can't do harm, and only there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from daeri.errors import ErrorKind, StoreError, ToolError
from daeri.tools import NotSentError, Resilience, ToolContext, UpstreamError, tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, Door, OpenDoor
    from tests.boundary.gateway.conftest import Clock, Failing, OpenGate

Look = Callable[["Door", str], list[dict[str, Any]]]


async def test_a_read_only_tool_is_tried_again_until_its_system_answers(
    open_gate: OpenGate, ask: Ask, clock: Clock, failing: Failing
) -> None:
    act, runs = failing(UpstreamError("502"), ConnectionResetError("gone"), None, read_only=True)
    door = await open_gate(act)

    outcome = await door.boundary.call(ask("act"))

    assert (outcome.state, outcome.value, outcome.effort.attempts) == ("succeeded", "done", 3)
    assert runs == [1, 2, 3]
    assert len(clock.slept) == 2


async def test_an_attempt_that_never_left_is_repeated_even_for_a_transfer_of_money(
    open_gate: OpenGate, ask: Ask, failing: Failing
) -> None:
    act, runs = failing(NotSentError("connection refused"), None)
    door = await open_gate(act)

    assert (await door.boundary.call(ask("act"))).value == "done"
    assert runs == [1, 2]


async def test_what_may_have_left_is_not_repeated_and_its_outcome_is_unknown(
    open_gate: OpenGate, ask: Ask, failing: Failing
) -> None:
    act, runs = failing(NotSentError("refused"), UpstreamError("reset while waiting for the answer"))
    door = await open_gate(act)

    outcome = await door.boundary.call(ask("act"))

    assert (outcome.state, outcome.failure and outcome.failure.kind) == ("unknown", "transport")
    assert runs == [1, 2]
    assert door.states() == ["unknown"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ToolError("There is no employee kim."), "tool_error"),
        (ValueError("a bug"), "tool_error"),
        (RuntimeError("a bug"), "tool_error"),
    ],
)
async def test_an_answer_and_a_crash_are_not_repeated(
    open_gate: OpenGate, ask: Ask, error: Exception, kind: ErrorKind, failing: Failing
) -> None:
    act, runs = failing(error, read_only=True)
    door = await open_gate(act)

    outcome = await door.boundary.call(ask("act"))

    assert (outcome.state, outcome.failure and outcome.failure.kind) == ("failed", kind)
    assert runs == [1]


async def test_errors_of_a_client_library_count_as_those_of_the_system_when_the_tool_says_so(
    open_gate: OpenGate, ask: Ask, failing: Failing
) -> None:
    class PoolError(Exception): ...

    act, runs = failing(PoolError("no answer"), None, read_only=True, upstream_errors=(PoolError,))
    door = await open_gate(act)

    assert (await door.boundary.call(ask("act"))).value == "done"
    assert runs == [1, 2]


async def test_attempts_are_bounded_and_the_last_failure_is_told(
    open_gate: OpenGate, ask: Ask, failing: Failing
) -> None:
    act, runs = failing(UpstreamError("502"), idempotent=True, resilience=Resilience(attempts=4))
    door = await open_gate(act)

    outcome = await door.boundary.call(ask("act"))

    assert (outcome.state, outcome.failure and outcome.failure.diagnostic) == ("failed", "502")
    assert (runs, outcome.effort.attempts) == ([1, 2, 3, 4], 4)


async def test_pauses_grow_and_are_drawn_below_their_bound(
    open_gate: OpenGate, ask: Ask, clock: Clock, failing: Failing
) -> None:
    limits = Resilience(attempts=6, first_wait_s=1.0, breaker_failures=0)
    act, _ = failing(UpstreamError("502"), read_only=True, timeout_s=1e6, resilience=limits)
    door = await open_gate(act)

    for _ in range(20):
        await door.boundary.call(ask("act"))

    longest = [max(clock.slept[number::5]) for number in range(5)]
    assert all(most <= 2**number for number, most in enumerate(longest))
    assert longest[4] > 1.0
    assert len(set(clock.slept)) == 100


async def test_a_system_that_says_when_to_come_back_is_not_asked_before(
    open_gate: OpenGate, ask: Ask, clock: Clock, failing: Failing
) -> None:
    act, _ = failing(UpstreamError("429", retry_after_s=7.0), None, read_only=True)
    door = await open_gate(act)

    assert (await door.boundary.call(ask("act"))).value == "done"
    assert clock.slept == [7.0]


async def test_a_pause_that_is_longer_than_the_time_left_is_not_begun(
    open_gate: OpenGate, ask: Ask, clock: Clock, failing: Failing
) -> None:
    act, runs = failing(UpstreamError("429", retry_after_s=60.0), read_only=True, timeout_s=30.0)
    door = await open_gate(act)

    failure = (await door.boundary.call(ask("act"))).failure

    assert failure is not None
    assert (failure.kind, failure.retry_after_s) == ("transport", 60.0)
    assert (runs, clock.slept) == ([1], [])


async def test_every_attempt_is_on_record_with_its_kind_and_time_before_the_next_one_runs(
    open_gate: OpenGate, ask: Ask, audit_of: Look, journal_of: Look
) -> None:
    seen: list[list[str]] = []

    @tool(read_only=True)
    async def act() -> str:
        """Act."""
        seen.append(door.audit_kinds())
        if len(seen) < 3:
            raise UpstreamError(f"outage {len(seen)}")
        return "done"

    door = await open_gate(act)
    await door.begin_run()
    await door.boundary.call(ask("act", run_id="r1"))

    assert seen == [["call.started", *["call.attempted"] * number] for number in range(3)]
    assert door.audit_kinds() == ["call.started", "call.attempted", "call.attempted", "call.succeeded"]
    assert door.journal_types()[1:] == ["call.requested", "call.started", *["call.attempted"] * 2, "call.succeeded"]
    first, second = journal_of(door, "call.attempted")
    assert (first["number"], first["failure"]) == (1, {"kind": "transport", "diagnostic": "outage 1"})
    assert (second["number"], second["failure"]) == (2, {"kind": "transport", "diagnostic": "outage 2"})
    assert all(set(note) == {"call_id", "tool", "number", "elapsed_ms", "retry_in_s", "failure"} for note in (first,))
    assert [note["failure"] for note in audit_of(door, "call.attempted")] == [{"kind": "transport"}] * 2
    (end,) = audit_of(door, "call.succeeded")
    assert end["attempts"] == 3
    assert "last_attempt_ms" in end


async def test_an_attempt_that_can_not_be_recorded_is_the_last_one(
    open_door: OpenDoor, ask: Ask, failing: Failing
) -> None:
    act, runs = failing(UpstreamError("502"), read_only=True, resilience=Resilience(first_wait_s=0.001))
    door = await open_door(act, commits_left=1)

    with pytest.raises(StoreError):
        await door.boundary.call(ask("act"))

    assert runs == [1]
    assert door.states() == ["started"]


async def test_cancelled_in_a_pause_before_which_nothing_left_a_call_is_cancelled_not_unknown(
    open_gate: OpenGate, ask: Ask, clock: Clock, monkeypatch: pytest.MonkeyPatch, failing: Failing
) -> None:
    resting = asyncio.Event()

    async def rest(seconds: float) -> None:
        resting.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(clock, "sleep", rest)
    act, runs = failing(NotSentError("refused"))
    door = await open_gate(act)
    calling = asyncio.create_task(door.boundary.call(ask("act")))
    await resting.wait()

    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling

    assert runs == [1]
    assert door.states() == ["cancelled"]
    assert door.audit_kinds() == ["call.started", "call.attempted", "call.cancelled"]


async def test_a_tool_gets_the_same_idempotency_key_with_every_attempt(open_gate: OpenGate, ask: Ask) -> None:
    keys: list[str | None] = []

    @tool(idempotent=True)
    async def act(context: ToolContext) -> str:
        """Act."""
        keys.append(context.idempotency_key)
        if len(keys) < 3:
            raise UpstreamError("502")
        return "done"

    door = await open_gate(act)

    await door.boundary.call(ask("act", idempotency_key="k"))

    assert len(keys) == 3
    assert keys[0] is not None
    assert set(keys) == {keys[0]}
