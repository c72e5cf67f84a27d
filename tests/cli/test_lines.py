from __future__ import annotations

import unicodedata
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.boundary import Decision
from daeri.cli._exit import ExitCode, exit_code_of
from daeri.cli._lines import Trail, call_head, call_line, duration, event_line, one_line, printable, summary_line
from daeri.cli._shapes import json_text
from daeri.cli._timeline import timeline
from daeri.engine import (
    Answered,
    BlockCompleted,
    CallEvent,
    CallRepeated,
    CallSummary,
    ContextTrimmed,
    ModelFailed,
    RunEnded,
    RunEvent,
    RunResult,
    RunRow,
    RunWaiting,
    TextDraft,
    UnknownEvent,
)
from daeri.errors import Failure
from daeri.models import Usage
from daeri.text import Json

ALLOW = Decision(verdict="allow", rules=("scope.held",), reasons=())
CALL = CallSummary(
    call_id="r.1.0", tool="price.find", arguments={"product": "pen"}, state="succeeded", decision=ALLOW, elapsed_ms=3.2
)
RESULT = RunResult(
    run_id="r",
    status="succeeded",
    answer="yes",
    answer_kind="model",
    reason="answered",
    steps=2,
    calls=(CALL,),
    usage=Usage(input_tokens=1200, output_tokens=34),
    cost=Decimal("0.0120"),
    model="planner",
)


@pytest.mark.parametrize(
    ("arguments", "head"),
    [
        ({"product": "단가"}, 'find("단가")'),
        ({"a": 1, "b": [True, None]}, "find(a=1, b=[true, null])"),
        ({}, "find()"),
        (None, "find()"),
        ("{broken", 'find("{broken")'),
    ],
)
def test_a_call_is_written_as_one_would_write_it(arguments: Json, head: str) -> None:
    assert call_head("find", arguments) == head


def test_long_arguments_are_cut() -> None:
    head = call_head("find", {"text": "x" * 100_000})

    assert len(head) < 80
    assert head.endswith("…)")


@pytest.mark.parametrize(
    ("shown", "outcome"),
    [
        ('{"key": "단가", "value": "$24"}', "$24"),
        ('{"expression": "24*7", "result": "168", "exact": true}', "168"),
        ('{"value": {"inner": 1}}', '{"value": {"inner": 1}}'),
        ("two\nlines", "two lines"),
        ("", "succeeded"),
    ],
)
def test_a_result_is_shown_in_short(shown: str, outcome: str) -> None:
    assert call_line(replace(CALL, shown=shown), "en") == f'price.find("pen") → allow → {outcome} · 3 ms'


def test_a_call_that_did_not_succeed_says_why() -> None:
    failure = Failure(kind="timeout", diagnostic="no answer\nwithin 3 s")
    denied = Decision(verdict="deny", rules=("scope.missing",), reasons=("the scope pay:write is missing",))
    asks = Decision(verdict="require_approval", rules=("risk.high",), reasons=())

    lines = [
        call_line(replace(CALL, state="failed", failure=failure), "en"),
        call_line(replace(CALL, state="denied", decision=denied, elapsed_ms=None), "en"),
        call_line(replace(CALL, state="waiting", decision=asks, approval_id="a1", elapsed_ms=None), "en"),
        call_line(replace(CALL, state="unknown", failure=failure), "ko"),
        call_line(replace(CALL, repeats="r.0.0"), "en"),
    ]

    assert lines == [
        'price.find("pen") → allow → failed (timeout): no answer within 3 s · 3 ms',
        'price.find("pen") → deny → denied: the scope pay:write is missing',
        'price.find("pen") → needs approval → waits for approval (a1)',
        'price.find("pen") → 허용 → 결과 불명 (timeout): no answer within 3 s · 3 ms',
        'price.find("pen") → answered from the record, nothing ran again',
    ]


def test_calls_are_given_when_their_block_is_complete_in_call_order() -> None:
    trail = Trail()
    for call_id in ("1", "2"):
        requested = CallEvent(call_id=call_id, tool="find", state="requested", arguments={"n": call_id}, decision=ALLOW)
        assert trail.apply(requested) == []
    assert trail.apply(CallEvent(call_id="2", tool="find", state="succeeded", elapsed_ms=1)) == []
    assert trail.apply(TextDraft(step=1, text="x")) == []
    assert [call.call_id for call in trail.running] == ["1"]
    trail.apply(CallEvent(call_id="1", tool="find", state="succeeded", elapsed_ms=2))
    trail.apply(CallRepeated(call_id="3", tool="find", of="1", reason="same_arguments"))

    answers = tuple(Answered(call_id=call_id, content=f"result {call_id}") for call_id in ("1", "2", "3"))
    finished = trail.apply(BlockCompleted(step=1, answers=answers))

    assert [(call.call_id, call.arguments, call.shown, call.elapsed_ms, call.repeats) for call in finished] == [
        ("1", {"n": "1"}, "result 1", 2, None),
        ("2", {"n": "2"}, "result 2", 1, None),
        ("3", {"n": "1"}, "result 3", None, "1"),
    ]
    assert trail.running == []
    assert trail.apply(RunEnded(state="succeeded", reason="answered")) == []


def test_calls_without_a_block_are_given_when_the_run_stops() -> None:
    trail = Trail()
    trail.apply(CallEvent(call_id="1", tool="pay", state="requested", arguments={}))
    trail.apply(CallEvent(call_id="1", tool="pay", state="waiting", approval_id="a1"))

    (waiting,) = trail.apply(RunWaiting(state="waiting_approval", approvals=("a1",)))

    assert (waiting.state, waiting.approval_id) == ("waiting", "a1")


def test_the_timeline_of_a_run_that_broke_off_shows_the_call_that_was_under_way() -> None:
    now = datetime(2026, 1, 2, tzinfo=UTC)
    row = RunRow(
        run_id="r",
        tenant="t",
        subject="os:kim",
        agent="a",
        model="planner",
        goal="pay\x1b[2J",
        state="running",
        created_at=now,
    )
    bodies = (
        CallEvent(call_id="1", tool="pay", state="requested", arguments={"amount": 3}, decision=ALLOW),
        CallEvent(call_id="1", tool="pay", state="started"),
        UnknownEvent(name="thought.shared", data={}),
    )
    events = [RunEvent(run_id="r", at=now, seq=seq, body=body) for seq, body in enumerate(bodies, 1)]

    lines = timeline(row, events, replace(RESULT, status="running", calls=()), "en")

    assert "Goal: pay\N{REPLACEMENT CHARACTER}[2J" in lines
    assert "(thought.shared: an event of another release)" in lines
    assert lines[-5:-2] == [
        "  pay(3) → allow → started",
        '    arguments: {"amount": 3}',
        "    decision: risk low, rules scope.held",
    ]
    assert lines[-1].startswith("running · ")


def test_events_that_concern_no_call_have_a_line_when_a_person_should_know() -> None:
    failed = ModelFailed(step=1, attempt=2, kind="rate_limit", detail="slow down", retry_in_s=1.25)

    assert event_line(failed, "en") == "The model did not answer (attempt 2): slow down; again in 1.2 s"
    assert event_line(replace(failed, retry_in_s=None), "ko") == "모델이 답하지 않았습니다: slow down"
    trimmed = ContextTrimmed(step=3, kept=2, omitted=4, reason="block_count")
    assert event_line(trimmed, "en") == "4 older turns are left out of what the model sees"
    assert event_line(TextDraft(step=1, text="x"), "en") is None


def test_the_summary_names_the_sums() -> None:
    assert summary_line(RESULT, "en") == "succeeded · steps: 2 · calls: 1 · tokens: 1,234 · $0.012 · run r"
    assert (
        summary_line(replace(RESULT, cost=None), "ko") == "성공 · 2단계 · 호출 1회 · 토큰 1,234개 · 비용 모름 · 실행 r"
    )


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, ExitCode.SUCCEEDED),
        ({"status": "failed", "reason": "max_steps"}, ExitCode.FAILED),
        ({"status": "running", "reason": None}, ExitCode.FAILED),
        ({"status": "refused", "reason": "no_evidence"}, ExitCode.REFUSED),
        ({"status": "refused", "reason": "denied"}, ExitCode.DENIED),
        ({"status": "waiting_approval", "reason": None, "approvals": ("a",)}, ExitCode.WAITING_APPROVAL),
        ({"status": "waiting_input", "reason": None}, ExitCode.WAITING_INPUT),
        ({"status": "waiting_input", "reason": None, "unknown_calls": ("c",)}, ExitCode.UNKNOWN_OUTCOME),
        ({"status": "cancelled", "reason": "cancelled"}, ExitCode.CANCELLED),
    ],
)
def test_each_end_of_a_run_has_its_exit_code(changes: dict[str, object], code: ExitCode) -> None:
    assert exit_code_of(replace(RESULT, **changes)) == code


@given(st.text())
def test_what_is_printed_holds_no_control_characters(text: str) -> None:
    assert not [char for char in printable(text) if unicodedata.category(char) == "Cc" and char not in "\n\t"]


@given(st.text(), st.integers(min_value=1, max_value=50))
def test_one_line_is_one_line_within_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)

    assert len(line) <= limit
    assert len(line.splitlines()) <= 1


@pytest.mark.parametrize(("ms", "text"), [(0.2, "0 ms"), (12.6, "13 ms"), (1000, "1.0 s"), (61_234, "61.2 s")])
def test_durations_are_short(ms: float, text: str) -> None:
    assert duration(ms) == text


def test_json_writes_times_amounts_and_sets() -> None:
    value = {"at": datetime(2026, 1, 2, tzinfo=UTC), "cost": Decimal("0.10"), "scopes": frozenset({"b", "a"})}

    assert json_text(value, indent=None) == '{"at": "2026-01-02T00:00:00+00:00", "cost": "0.10", "scopes": ["a", "b"]}'
