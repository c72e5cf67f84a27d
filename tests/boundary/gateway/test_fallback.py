"""Another tool, or a declared answer, stands in for a tool that can't be reached: marked, recorded and governed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from daeri.boundary import STATIC_ANSWER, CallRecord, Decision, PolicyQuestion, Record, check_fallbacks
from daeri.errors import ConflictError, DefinitionError, StoreError, ToolError
from daeri.tools import FunctionTool, NotSentError, Resilience, StaticAnswer, Tool, UpstreamError, tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, Door, OpenDoor
    from tests.boundary.gateway.conftest import Failing, OpenGate

Look = Callable[["Door", str], list[dict[str, Any]]]
DOWN = UpstreamError("502")
TO_OTHER = Resilience(attempts=1, fallback="other")


def _static(value: Any, **fields: Any) -> Resilience:
    return Resilience(attempts=1, fallback=StaticAnswer(value=value), **fields)


async def test_another_tool_answers_in_a_call_of_its_own_and_the_outcome_says_so(
    open_gate: OpenGate, ask: Ask, failing: Failing, audit_of: Look, journal_of: Look
) -> None:
    act, _ = failing(DOWN, read_only=True, resilience=TO_OTHER)
    other, _ = failing(None, name="other", read_only=True)
    door = await open_gate(act, other)
    await door.begin_run()

    outcome = await door.boundary.call(ask("act", call_id="c1", run_id="r1"))

    assert (outcome.state, outcome.value, outcome.effort.fallback) == ("succeeded", "done", "other")
    rows = door.rows("SELECT call_id, tool, state FROM calls ORDER BY rowid")
    assert [(row["tool"], row["state"]) for row in rows] == [("act", "succeeded"), ("other", "succeeded")]
    assert rows[0]["call_id"] == "c1"
    assert rows[1]["call_id"].startswith("c1.fallback.")
    assert door.audit_kinds() == ["call.started", "call.started", "call.succeeded", "call.succeeded"]
    assert [end.get("fallback") for end in audit_of(door, "call.succeeded")] == [None, "other"]
    assert [end.get("fallback") for end in journal_of(door, "call.succeeded")] == [None, "other"]


async def test_a_declared_answer_is_given_and_marked(
    open_gate: OpenGate, ask: Ask, failing: Failing, audit_of: Look
) -> None:
    act, _ = failing(DOWN, read_only=True, resilience=_static("ask the front desk"))
    door = await open_gate(act)

    outcome = await door.boundary.call(ask("act"))

    assert (outcome.state, outcome.value) == ("succeeded", "ask the front desk")
    assert outcome.effort.fallback == STATIC_ANSWER
    assert audit_of(door, "call.succeeded")[0]["fallback"] == STATIC_ANSWER


async def test_an_open_circuit_falls_back_without_asking(open_gate: OpenGate, ask: Ask, failing: Failing) -> None:
    act, runs = failing(DOWN, read_only=True, resilience=_static("later", breaker_failures=1))
    door = await open_gate(act)

    values = [(await door.boundary.call(ask("act"))).value for _ in range(3)]

    assert values == ["later"] * 3
    assert len(runs) == 1


async def test_a_call_that_may_have_had_its_effect_is_never_covered_by_a_fallback(
    open_gate: OpenGate, ask: Ask, failing: Failing
) -> None:
    act, _ = failing(DOWN, resilience=_static("all is well"))
    door = await open_gate(act)

    outcome = await door.boundary.call(ask("act"))

    assert (outcome.state, outcome.value, outcome.effort.fallback) == ("unknown", None, None)


async def test_a_call_that_certainly_never_left_may_fall_back(open_gate: OpenGate, ask: Ask, failing: Failing) -> None:
    act, _ = failing(NotSentError("refused"), resilience=_static("not now"))
    door = await open_gate(act)

    assert (await door.boundary.call(ask("act"))).value == "not now"


@pytest.mark.parametrize("error", [ToolError("no such employee"), ValueError("a bug")], ids=str)
async def test_an_answer_and_a_crash_are_told_as_they_are(
    open_gate: OpenGate, ask: Ask, failing: Failing, error: Exception
) -> None:
    act, _ = failing(error, read_only=True, resilience=_static("all is well"))
    door = await open_gate(act)

    assert (await door.boundary.call(ask("act"))).state == "failed"


async def test_nobody_can_take_the_id_of_a_fallback_before_it_is_needed(
    open_gate: OpenGate, ask: Ask, failing: Failing
) -> None:
    act, _ = failing(DOWN, read_only=True, resilience=TO_OTHER)
    other, runs = failing(None, name="other", read_only=True)
    door = await open_gate(act, other)
    await door.boundary.call(ask("act", call_id="c1"))
    (known,) = door.rows("SELECT call_id FROM calls WHERE tool = 'other'")
    guesses = ["c2.fallback", str(known["call_id"]).replace("c1", "c2")]
    for guess in guesses:
        await door.boundary.call(ask("other", call_id=guess, principal=replace(ask("x").principal, subject="user:lee")))

    outcome = await door.boundary.call(ask("act", call_id="c2"))

    assert (outcome.state, outcome.effort.fallback) == ("succeeded", "other")
    assert len(runs) == 4


@pytest.mark.parametrize("problem", [StoreError("write", "disk full"), ConflictError("call", "x", "new")], ids=repr)
async def test_a_fallback_that_can_t_be_recorded_leaves_the_call_with_the_failure_it_had(
    open_gate: OpenGate, ask: Ask, failing: Failing, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    act, _ = failing(DOWN, read_only=True, resilience=TO_OTHER)
    other, runs = failing(None, name="other", read_only=True)
    door = await open_gate(act, other)
    commit = door.store.commit

    async def refuse_the_fallback(records: Sequence[Record]) -> Sequence[int]:
        if any(isinstance(record, CallRecord) and record.tool == "other" for record in records):
            raise problem
        return await commit(records)

    monkeypatch.setattr(door.store, "commit", refuse_the_fallback)

    assert "the call of other could not be recorded" in await _told(door, ask)
    assert (door.states(), runs) == (["failed"], [])


async def _told(door: Door, ask: Ask, **given: Any) -> str:
    outcome = await door.boundary.call(ask("act", **given))
    assert (outcome.state, outcome.failure and outcome.failure.kind) == ("failed", "transport")
    assert outcome.failure is not None
    assert outcome.failure.diagnostic.startswith("502; its fallback did not help: ")
    return outcome.failure.diagnostic


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"read_only": False}, "other is not read-only"),
        ({"read_only": True, "scopes": ["secret:read"]}, "user:kim lacks the scope secret:read"),
        ({"read_only": True, "risk": "high"}, "other is not allowed here (require_approval)"),
    ],
    ids=["not read-only", "no scope", "approval"],
)
async def test_a_fallback_that_its_caller_could_not_call_at_once_does_not_run(
    open_gate: OpenGate, ask: Ask, failing: Failing, fields: dict[str, Any], why: str
) -> None:
    act, _ = failing(DOWN, read_only=True, resilience=TO_OTHER)
    other, runs = failing(None, name="other", **fields)
    door = await open_gate(act, other)

    assert why in await _told(door, ask)
    assert runs == []
    assert door.states() == ["failed"]
    assert door.rows("SELECT * FROM approvals") == []


async def test_an_added_policy_governs_a_fallback_too(open_gate: OpenGate, ask: Ask, failing: Failing) -> None:
    class NoOther:
        def decide(self, question: PolicyQuestion) -> Decision:
            denied = question.tool.name == "other"
            return Decision(verdict="deny" if denied else "allow", rules=("house",), reasons=("house rule",))

    act, _ = failing(DOWN, read_only=True, resilience=TO_OTHER)
    other, runs = failing(None, name="other", read_only=True)
    door = await open_gate(act, other, policy=NoOther())

    assert "house rule" in await _told(door, ask)
    assert runs == []


async def test_a_fallback_outside_the_allow_list_or_unknown_or_disabled_does_not_exist(
    open_gate: OpenGate, ask: Ask, failing: Failing
) -> None:
    act, _ = failing(DOWN, read_only=True, resilience=TO_OTHER)
    other, runs = failing(None, name="other", read_only=True)
    door = await open_gate(act, other)

    hidden = await _told(door, ask, allowed_tools=frozenset({"act"}))
    door.registry.disable("other")

    assert "there is no tool 'other'" in hidden
    assert "there is no tool 'other'" in await _told(door, ask)
    assert runs == []


async def test_arguments_must_fit_the_fallback_and_its_result_the_tool_that_was_asked_for(
    open_gate: OpenGate, ask: Ask
) -> None:
    @tool(read_only=True, resilience=TO_OTHER)
    async def act(number: int) -> int:
        """Act."""
        raise DOWN

    @tool(read_only=True)
    async def other(number: int) -> str:
        """Give a text."""
        return str(number)

    door = await open_gate(act, other)

    outcome = await door.boundary.call(ask("act", {"number": 1}))

    assert outcome.failure is not None
    assert "other gave no result that fits" in outcome.failure.diagnostic
    assert door.states() == ["failed", "succeeded"]


async def test_a_fallback_that_fails_has_no_fallback_of_its_own(
    open_gate: OpenGate, ask: Ask, failing: Failing
) -> None:
    act, first = failing(DOWN, read_only=True, resilience=TO_OTHER)
    other, second = failing(DOWN, name="other", read_only=True, resilience=Resilience(attempts=1, fallback="act"))
    door = await open_gate(act, other)

    await _told(door, ask)

    assert (len(first), len(second)) == (1, 1)
    assert door.states() == ["failed", "failed"]


def _tool(fallback: str | StaticAnswer, **fields: Any) -> FunctionTool[..., Any]:
    @tool(name="act", read_only=True, resilience=Resilience(fallback=fallback), **fields)
    async def act() -> int:
        """Act."""
        return 1

    return act


@pytest.mark.parametrize(
    ("fallback", "why"),
    [
        ("nowhere", "there is no tool 'nowhere'"),
        ("act", "act is the tool itself"),
        ("writes", "writes is not read-only"),
        (StaticAnswer(value="text"), "expected"),
        (StaticAnswer(value=float("nan")), "a finite number"),
    ],
    ids=["unknown", "itself", "writes", "contract", "nan"],
)
async def test_a_fallback_that_can_never_be_used_is_found_at_start(
    open_door: OpenDoor, failing: Failing, fallback: str | StaticAnswer, why: str
) -> None:
    writes, _ = failing(None, name="writes")
    door = await open_door(_tool(fallback), writes)

    with pytest.raises(DefinitionError, match="tool 'act', its fallback") as caught:
        check_fallbacks(door.registry)

    assert why in str(caught.value)


async def test_fallbacks_that_can_be_used_are_found_to_be_right(open_door: OpenDoor, failing: Failing) -> None:
    reads, _ = failing(None, name="reads", read_only=True)
    door = await open_door(_tool("reads"), reads)

    check_fallbacks(door.registry)


def test_how_a_tool_is_carried_out_is_no_part_of_its_definition() -> None:
    def defined(resilience: Resilience) -> Tool:
        return Tool(name="a", description="", input_schema={"type": "object"}, resilience=resilience)

    assert defined(Resilience()).definition_hash == defined(Resilience(attempts=1)).definition_hash
