from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from daeri.engine import CallRepeated, Limits
from daeri.models import TextDelta
from daeri.tools import FunctionTool, tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.engine.conftest import Lab


AN_HOUR = Limits(max_seconds=3600)


class Clock:
    """The time limit of a run, reached when the test says so."""

    def __init__(self) -> None:
        self._limit: asyncio.Timeout | None = None
        self._timeout = asyncio.timeout

    def timeout(self, delay: float | None) -> asyncio.Timeout:
        made = self._timeout(delay)
        if delay == AN_HOUR.max_seconds:
            self._limit = made
        return made

    def strike(self) -> None:
        assert self._limit is not None
        self._limit.reschedule(asyncio.get_running_loop().time())


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(asyncio, "timeout", clock.timeout)
    return clock


class Desk:
    """Tools that count how often they really run."""

    def __init__(self) -> None:
        self.reads = 0
        self.writes = 0
        self.failures_left = 0

    @property
    def tools(self) -> tuple[FunctionTool[..., Any], ...]:
        @tool(read_only=True)
        def read(key: str) -> str:
            """Read a value."""
            self.reads += 1
            if self.failures_left:
                self.failures_left -= 1
                raise RuntimeError("not now")
            return f"{key} #{self.reads}"

        @tool
        def write(key: str) -> str:
            """Write a value."""
            self.writes += 1
            return f"wrote {key} #{self.writes}"

        return read, write


@pytest.fixture
def desk() -> Desk:
    return Desk()


async def test_the_step_limit_ends_the_run_failed_with_what_was_found(lab: Lab, desk: Desk) -> None:
    model = lab.Model(*(lab.calls(lab.call("read", {"key": key})) for key in "abc"))
    result = await lab.run(model, *desk.tools, limits=Limits(max_steps=2))
    assert (result.status, result.reason, result.steps, result.answer_kind) == ("failed", "max_steps", 2, "limit")
    assert result.answer == (
        "I stopped after 2 steps without reaching an answer.\nWhat was found so far:\n- read: a #1\n- read: b #2"
    )


async def test_the_step_limit_says_when_nothing_was_found(lab: Lab, desk: Desk) -> None:
    desk.failures_left = 1
    model = lab.Model(lab.calls(lab.call("read", {"key": "a"})))
    result = await lab.run(model, *desk.tools, limits=Limits(max_steps=1))
    assert result.answer.endswith("Nothing was found until then.")


async def test_an_answer_in_the_last_step_counts(lab: Lab, desk: Desk) -> None:
    model = lab.Model(lab.calls(lab.call("read", {"key": "a"})), lab.says("a"))
    result = await lab.run(model, *desk.tools, limits=Limits(max_steps=2))
    assert result.status == "succeeded"


async def test_the_time_limit_stops_a_hanging_tool(lab: Lab, clock: Clock) -> None:
    begun, stopped = asyncio.Event(), asyncio.Event()

    @tool(read_only=True)
    async def hang() -> str:
        """Never comes back."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "never"

    run = await lab.start(lab.Model(lab.calls(lab.call("hang"))), hang, limits=AN_HOUR)
    await lab.happens(begun)
    clock.strike()
    result = await lab.result(run)
    assert (result.status, result.reason) == ("failed", "max_seconds")
    assert result.answer.startswith("I stopped after 3600 seconds")
    assert [call.state for call in result.calls] == ["cancelled"]
    assert stopped.is_set()
    assert await lab.refolded(result.run_id) == result


async def test_the_time_limit_stops_a_hanging_model(lab: Lab, clock: Clock) -> None:
    reached = asyncio.Event()
    model = lab.Model(lab.hangs(TextDelta(text="Well"), reached=reached))
    run = await lab.start(model, limits=AN_HOUR)
    await lab.happens(reached)
    clock.strike()
    result = await lab.result(run)
    assert (result.status, result.reason, model.streaming) == ("failed", "max_seconds", 0)
    assert result.usage.estimated


async def test_the_time_limit_tells_what_was_found_even_in_an_unfinished_turn(lab: Lab, clock: Clock) -> None:
    @tool(read_only=True)
    def find() -> str:
        """Comes back."""
        return "the key is under the mat"

    @tool(read_only=True)
    async def hang() -> str:
        """Never comes back."""
        await asyncio.Event().wait()
        return "never"

    asked = lab.calls(lab.call("find"), lab.call("hang"))
    run = await lab.start(lab.Model(asked), find, hang, limits=AN_HOUR)
    await lab.until(run, "call.succeeded")
    clock.strike()
    result = await lab.result(run)
    assert result.answer.endswith("- find: the key is under the mat")


async def test_the_time_limit_also_covers_the_wait_for_the_next_attempt(lab: Lab, clock: Clock) -> None:
    model = lab.Model(lab.fails("rate_limit", retry_after_s=100))
    run = await lab.start(model, limits=AN_HOUR)
    await lab.until(run, "model.failed")
    clock.strike()
    result = await lab.result(run)
    assert (result.reason, len(model.requests)) == ("max_seconds", 1)


async def test_the_time_limit_reached_while_an_event_is_being_written_loses_nothing(lab: Lab, clock: Clock) -> None:
    async def slow(number: int, names: Sequence[str]) -> None:
        if "model.replied" in names:
            clock.strike()
            await lab.let_others_go_on()

    lab.store.after = slow
    result = await lab.run(lab.Model(lab.says("Too late.")), limits=AN_HOUR)
    assert (result.status, result.reason, result.steps) == ("failed", "max_seconds", 1)
    assert await lab.refolded(result.run_id) == result


async def test_the_time_limit_reached_while_the_end_is_being_written_comes_too_late(lab: Lab, clock: Clock) -> None:
    async def slow(number: int, names: Sequence[str]) -> None:
        if "run.ended" in names:
            clock.strike()
            await lab.let_others_go_on()

    lab.store.after = slow
    result = await lab.run(lab.Model(lab.says("Just in time.")), limits=AN_HOUR)
    assert (result.status, result.answer) == ("succeeded", "Just in time.")
    assert (await lab.names(result.run_id)).count("run.ended") == 1


async def test_the_token_limit_ends_the_run_before_the_next_turn(lab: Lab, desk: Desk) -> None:
    model = lab.Model(*(lab.calls(lab.call("read", {"key": key})) for key in "abc"))
    result = await lab.run(model, *desk.tools, limits=Limits(max_tokens=220))
    assert (result.status, result.reason, result.steps) == ("failed", "max_tokens", 2)
    assert "limit of 220 tokens" in result.answer


async def test_the_cost_limit_ends_the_run_before_the_next_turn(lab: Lab, desk: Desk) -> None:
    model = lab.Model(*(lab.calls(lab.call("read", {"key": key})) for key in "abc"))
    result = await lab.run(model, *desk.tools, limits=Limits(max_cost=Decimal("0.02")))
    assert (result.status, result.reason, result.steps) == ("failed", "max_cost", 2)
    assert result.cost == Decimal("0.02")


async def test_a_cost_limit_ends_a_run_whose_price_nobody_knows(lab: Lab, desk: Desk) -> None:
    unpriced = replace(lab.calls(lab.call("read", {"key": "a"})), cost=None)
    result = await lab.run(lab.Model(unpriced, lab.says("a")), *desk.tools, limits=Limits(max_cost=Decimal(5)))
    assert (result.status, result.reason, result.steps) == ("failed", "unknown_price", 1)
    assert "model.prices" in result.answer


async def test_the_same_call_again_is_answered_from_the_record_with_a_nudge(lab: Lab, desk: Desk) -> None:
    model = lab.Model(
        lab.calls(lab.call("read", '{"key": "a"}')), lab.calls(lab.call("read", '{ "key":"a" }')), lab.says("a")
    )
    result = await lab.run(model, *desk.tools)
    assert desk.reads == 1
    first, again = (block.answers[0].content for block in model.requests[2].blocks)
    assert first == "a #1"
    assert again.startswith("a #1\n[You made this same call before")
    assert [(call.state, call.repeats) for call in result.calls] == [
        ("succeeded", None),
        ("succeeded", f"{result.run_id}.1.0"),
    ]


async def test_a_call_answered_from_the_record_is_in_the_journal_as_that(lab: Lab, desk: Desk) -> None:
    model = lab.Model(*(lab.calls(lab.call("read", {"key": "a"})) for _ in range(2)), lab.says("a"))
    result = await lab.run(model, *desk.tools)
    repeated = [event.body for event in await lab.journal(result.run_id) if isinstance(event.body, CallRepeated)]
    run = result.run_id
    assert repeated == [CallRepeated(call_id=f"{run}.2.0", tool="read", of=f"{run}.1.0", reason="same_arguments")]


async def test_after_a_side_effect_the_same_call_runs_again(lab: Lab, desk: Desk) -> None:
    turns = [("read", "a"), ("write", "a"), ("read", "a")]
    model = lab.Model(*(lab.calls(lab.call(name, {"key": key})) for name, key in turns), lab.says("a"))
    result = await lab.run(model, *desk.tools)
    assert (desk.reads, desk.writes) == (2, 1)
    assert [call.shown for call in result.calls] == ["a #1", "wrote a #1", "a #2"]


async def test_a_side_effect_in_the_same_turn_also_makes_the_call_run_again(lab: Lab, desk: Desk) -> None:
    both = lab.calls(lab.call("read", {"key": "a"}), lab.call("write", {"key": "a"}))
    model = lab.Model(both, lab.calls(lab.call("read", {"key": "a"})), lab.says("a"))
    await lab.run(model, *desk.tools)
    assert desk.reads == 2


async def test_a_side_effect_under_way_while_the_call_ran_also_makes_it_run_again(lab: Lab) -> None:
    acting, looked = asyncio.Event(), asyncio.Event()
    looks: list[str] = []

    @tool
    async def act() -> str:
        """Change something, slowly."""
        acting.set()
        await looked.wait()
        return "acted"

    @tool(read_only=True)
    async def look() -> str:
        """Look while it is being changed."""
        looks.append("look")
        looked.set()
        return "seen"

    async def act_first(number: int, names: Sequence[str]) -> None:
        # the second call of the turn is let in when the first one is under way
        if "call.started" in names and lab.store.writes > 3:
            await acting.wait()

    lab.store.before = act_first
    both = lab.calls(lab.call("act"), lab.call("look"))
    await lab.run(lab.Model(both, lab.calls(lab.call("look")), lab.says("seen")), act, look)
    assert looks == ["look", "look"]


async def test_another_read_in_between_does_not_make_the_call_run_again(lab: Lab, desk: Desk) -> None:
    model = lab.Model(*(lab.calls(lab.call("read", {"key": key})) for key in "aba"), lab.says("a"))
    await lab.run(model, *desk.tools)
    assert desk.reads == 2


async def test_a_side_effecting_call_is_not_repeated_either(lab: Lab, desk: Desk) -> None:
    model = lab.Model(*(lab.calls(lab.call("write", {"key": "a"})) for _ in range(2)), lab.says("done"))
    await lab.run(model, *desk.tools)
    assert desk.writes == 1


async def test_a_failed_call_may_be_tried_again(lab: Lab, desk: Desk) -> None:
    desk.failures_left = 1
    model = lab.Model(*(lab.calls(lab.call("read", {"key": "a"})) for _ in range(2)), lab.says("a"))
    result = await lab.run(model, *desk.tools)
    assert [call.state for call in result.calls] == ["failed", "succeeded"]
    assert (result.status, desk.reads) == ("succeeded", 2)


@pytest.mark.parametrize("failures", [0, 9])
async def test_the_third_time_in_a_row_ends_the_run(lab: Lab, desk: Desk, failures: int) -> None:
    desk.failures_left = failures
    model = lab.Model(*(lab.calls(lab.call("read", {"key": "a"})) for _ in range(3)))
    result = await lab.run(model, *desk.tools)
    assert (result.status, result.reason, result.steps) == ("failed", "repeated_call", 3)
    assert result.answer.startswith("I stopped because read was asked for the same thing three times in a row.")
    assert desk.reads == (2 if failures else 1)


async def test_the_third_turn_in_a_row_counts_whatever_else_it_asks_for(lab: Lab, desk: Desk) -> None:
    turns = [lab.calls(lab.call("read", {"key": "a"}), lab.call("read", {"key": other})) for other in "xyz"]
    result = await lab.run(lab.Model(*turns), *desk.tools)
    assert (result.reason, result.steps) == ("repeated_call", 3)


async def test_the_same_broken_arguments_three_times_in_a_row_end_the_run(lab: Lab, desk: Desk) -> None:
    result = await lab.run(lab.Model(*(lab.calls(lab.call("read", '{"key"')) for _ in range(3))), *desk.tools)
    assert (result.reason, result.steps) == ("repeated_call", 3)


async def test_another_call_in_between_starts_the_count_anew(lab: Lab, desk: Desk) -> None:
    model = lab.Model(*(lab.calls(lab.call("read", {"key": key})) for key in "aabaa"), lab.says("a"))
    result = await lab.run(model, *desk.tools)
    assert result.status == "succeeded"


async def test_two_identical_calls_of_one_turn_run_once(lab: Lab, desk: Desk) -> None:
    twice = lab.calls(lab.call("write", {"key": "a"}), lab.call("write", {"key": "a"}))
    model = lab.Model(twice, lab.says("done"))
    result = await lab.run(model, *desk.tools)
    assert desk.writes == 1
    answers = [answer.content for answer in model.requests[1].blocks[0].answers]
    assert answers[0] == "wrote a #1"
    assert answers[1].startswith("wrote a #1\n[")
    assert [call.repeats for call in result.calls] == [None, f"{result.run_id}.1.0"]


async def test_two_identical_calls_of_one_turn_that_fail_fail_once(lab: Lab, desk: Desk) -> None:
    desk.failures_left = 9
    twice = lab.calls(lab.call("read", {"key": "a"}), lab.call("read", {"key": "a"}))
    result = await lab.run(lab.Model(twice, lab.says("no")), *desk.tools)
    assert desk.reads == 1
    assert [call.state for call in result.calls] == ["failed", "failed"]


async def test_a_repeated_provider_id_is_answered_from_the_record_even_after_side_effects(lab: Lab, desk: Desk) -> None:
    pay, again = (lab.calls(lab.call("write", {"key": "pay"}, id="call_1")) for _ in range(2))
    other = lab.calls(lab.call("write", {"key": "other"}, id="call_2"))
    result = await lab.run(lab.Model(pay, other, again, lab.says("paid")), *desk.tools)
    assert desk.writes == 2
    assert [(call.shown.splitlines()[0], call.repeats) for call in result.calls] == [
        ("wrote pay #1", None),
        ("wrote other #2", None),
        ("wrote pay #1", f"{result.run_id}.1.0"),
    ]


async def test_the_same_provider_id_with_other_arguments_is_another_call(lab: Lab, desk: Desk) -> None:
    model = lab.Model(*(lab.calls(lab.call("write", {"key": key}, id="call_1")) for key in "ab"), lab.says("done"))
    await lab.run(model, *desk.tools)
    assert desk.writes == 2


async def test_a_repeated_provider_id_beside_an_identical_call_of_the_same_turn_is_answered_too(
    lab: Lab, desk: Desk
) -> None:
    pay = lab.calls(lab.call("write", {"key": "pay"}, id="call_1"))
    other = lab.calls(lab.call("write", {"key": "other"}, id="call_2"))
    both = lab.calls(lab.call("write", {"key": "pay"}, id="call_1"), lab.call("write", {"key": "pay"}, id="call_3"))
    result = await lab.run(lab.Model(pay, other, both, lab.says("paid")), *desk.tools)
    assert (result.status, desk.writes) == ("succeeded", 2)


async def test_a_failed_call_with_a_repeated_provider_id_may_be_tried_again(lab: Lab, desk: Desk) -> None:
    desk.failures_left = 1
    model = lab.Model(*(lab.calls(lab.call("read", {"key": "a"}, id="call_1")) for _ in range(2)), lab.says("a"))
    await lab.run(model, *desk.tools)
    assert desk.reads == 2


async def test_calls_with_empty_or_equal_ids_in_one_turn_all_run(lab: Lab, desk: Desk) -> None:
    asked = lab.calls(*(lab.call("read", {"key": key}, id=id) for key, id in [("a", "x"), ("b", "x"), ("c", "")]))
    result = await lab.run(lab.Model(asked, lab.says("abc")), *desk.tools)
    assert sorted(call.shown[0] for call in result.calls) == ["a", "b", "c"]
    assert desk.reads == 3


async def test_a_strict_call_written_with_nulls_is_recognised_when_it_comes_again(lab: Lab) -> None:
    runs: list[str] = []

    @tool(strict=True, read_only=True)
    def find(name: str, city: str = "Seoul") -> str:
        """Find a person."""
        runs.append(name)
        return f"{name} in {city}"

    model = lab.Model(*(lab.calls(lab.call("find", {"name": "Kim", "city": None})) for _ in range(2)), lab.says("Kim"))
    await lab.run(model, find)
    assert runs == ["Kim"]
