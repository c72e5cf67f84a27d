from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from daeri.boundary import Decision
from daeri.engine import (
    ENVELOPE_VERSION,
    Answered,
    AnswerReleased,
    BlockCompleted,
    CallEvent,
    CallRepeated,
    ContextTrimmed,
    JournalEvent,
    ModelFailed,
    ModelReplied,
    ReasoningDraft,
    RunEnded,
    RunEvent,
    RunStarted,
    RunWaiting,
    TextDraft,
    ToolProgress,
    UnknownEvent,
    decode_event,
    encode_event,
    fold_run,
)
from daeri.errors import Failure
from daeri.models import ModelCall, ModelReply, Usage
from daeri.tools import ToolContext, tool

if TYPE_CHECKING:
    from tests.engine.conftest import Lab

    from daeri.engine import JournaledEvent
    from daeri.text import JsonObject

NEWER = ENVELOPE_VERSION + 1
FIRST_RELEASE = Path(__file__).parent / "journal_v1.jsonl"
"""Written once by the first release and never again: a change that can't read it breaks every journal there is."""

AT = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
USAGE = Usage(input_tokens=1, output_tokens=2, cached_tokens=3, reasoning_tokens=4, estimated=True)
BODIES: list[JournaledEvent] = [
    RunStarted(
        goal="단가",
        agent="clerk",
        instructions="Be brief.",
        model="fake",
        principal={"subject": "kim"},
        locale="ko",
        limits={"max_steps": 3},
        tools={"price": "sha256:1"},
    ),
    ModelFailed(step=1, attempt=2, kind="rate_limit", detail="slow down", retry_in_s=1.5, usage=USAGE),
    ModelReplied(
        step=1,
        reply=ModelReply(
            text="hm",
            reasoning="so",
            calls=(ModelCall(id="c1", name="price", arguments="{", provider_id="p"),),
            finish="length",
            usage=USAGE,
            cost=Decimal("0.000001"),
            model="fake-2",
            raw={"parts": [1, None, "x"]},
        ),
        input_blocks=4,
    ),
    ContextTrimmed(step=2, kept=1, omitted=3, reason="token_budget"),
    CallEvent(
        call_id="r.1.0",
        tool="price",
        state="denied",
        arguments={"item": ["pen", None, 1.5]},
        decision=Decision(verdict="deny", rules=("a", "b"), reasons=("because",), approvals_needed=2, risk="critical"),
        failure=Failure(kind="denied", diagnostic="no", path="/item", user_message="Nein"),
        approval_id="apr_1",
        elapsed_ms=1.25,
        result_digest="sha256:2",
    ),
    CallRepeated(call_id="r.2.0", tool="price", of="r.1.0", reason="same_provider_id"),
    BlockCompleted(step=1, answers=(Answered(call_id="r.1.0", content="24", failed=True, omitted_chars=7),)),
    AnswerReleased(text="24", kind="limit"),
    RunWaiting(state="waiting_input", approvals=("apr_1",), unknown_calls=("r.1.0",)),
    RunEnded(state="failed", reason="max_cost", detail="x", steps=2, usage=USAGE, cost=Decimal("1.50")),
]


@tool(read_only=True)
def price(item: str) -> int:
    """Price of an item."""
    return {"pen": 24, "cap": 7}[item]


def stored(event: RunEvent) -> JournalEvent:
    data = encode_event(event)["data"]
    return JournalEvent(seq=event.seq or 0, type=event.name, at=event.at, data=_object(data))


def _object(value: object) -> JsonObject:
    assert isinstance(value, dict)
    return {str(key): item for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]  # JSON: narrowed here


@pytest.mark.parametrize("body", BODIES, ids=lambda body: type(body).__name__)
def test_an_event_survives_the_way_to_the_journal_and_back(body: JournaledEvent) -> None:
    event = RunEvent(run_id="r", at=AT, seq=7, body=body)
    assert decode_event("r", stored(event)) == event


def test_a_journal_that_the_first_release_wrote_is_read_as_it_was_meant() -> None:
    lines = FIRST_RELEASE.read_text("utf-8").splitlines()
    kept = [JournalEvent(seq=seq, at=AT, **json.loads(line)) for seq, line in enumerate(lines, 1)]
    assert [decode_event("r", event).body for event in kept] == BODIES


def test_an_event_is_one_json_object_with_its_place() -> None:
    event = RunEvent(run_id="r", at=AT, seq=7, body=AnswerReleased(text="24", kind="model"))
    assert encode_event(event) == {
        "run_id": "r",
        "seq": 7,
        "type": "answer.released",
        "at": "2026-01-02T03:04:05.678901+00:00",
        "data": {"text": "24", "kind": "model"},
    }


def test_a_live_event_has_no_place_in_the_journal() -> None:
    event = RunEvent(run_id="r", at=AT, body=TextDraft(step=1, text="2"))
    assert "seq" not in encode_event(event)


def test_a_field_of_a_newer_release_is_ignored() -> None:
    event = JournalEvent(seq=1, type="answer.released", at=AT, data={"text": "24", "kind": "model", "mood": "good"})
    assert decode_event("r", event).body == AnswerReleased(text="24", kind="model")


@pytest.mark.parametrize(
    "event",
    [
        JournalEvent(seq=1, type="claim.checked", at=AT, data={"claim": 1}),
        JournalEvent(seq=1, type="answer.released", at=AT, data={"kind": "hologram"}),
        JournalEvent(seq=1, type="call.teleported", at=AT, data={"call_id": "r.1.0"}),
        JournalEvent(seq=1, type="answer.released", at=AT, data={"text": "24", "kind": "model"}, version=NEWER),
    ],
    ids=["type", "value", "call state", "envelope"],
)
def test_what_a_newer_release_wrote_is_kept_raw(event: JournalEvent) -> None:
    decoded = decode_event("r", event)
    assert decoded.body == UnknownEvent(name=event.type, data=event.data)
    assert encode_event(decoded)["data"] == event.data
    assert decoded.name == event.type


async def test_a_fold_passes_over_what_a_newer_release_wrote(lab: Lab) -> None:
    result = await lab.run(lab.Model(lab.calls(lab.call("price", {"item": "pen"})), lab.says("24")), price)
    newer: list[JournalEvent] = []
    for event in await lab.stored(result.run_id):
        newer.append(replace(event, data={**event.data, "future": {"field": True}}))
        newer.append(JournalEvent(seq=0, type="claim.checked", at=AT, data={"claim": 1}))
        data = {"text": "25", "kind": "model"}
        newer.append(JournalEvent(seq=0, type="answer.released", at=AT, data=data, version=NEWER))
    assert fold_run(newer, await lab.store.run("acme", result.run_id)) == result


async def test_the_journal_is_numbered_without_gaps(lab: Lab) -> None:
    asked = lab.calls(*(lab.call("price", {"item": item}) for item in ("pen", "cap", "hat")))
    result = await lab.run(lab.Model(asked, lab.says("24 and 7")), price)
    events = await lab.stored(result.run_id)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


async def test_followers_get_the_journal_in_its_order_and_live_events_without_number(lab: Lab) -> None:
    asked = lab.calls(*(lab.call("price", {"item": item}) for item in ("pen", "cap", "hat")), text="Let me see.")
    run = await lab.start(lab.Model(asked, lab.says("24 and 7", reasoning="24, 7")), price)
    followed = [event async for event in run.events()]
    await lab.result(run)
    assert [event for event in followed if event.seq is not None] == await lab.journal(run.run_id)
    live = [type(event.body) for event in followed if event.seq is None]
    assert live == [TextDraft, ReasoningDraft, TextDraft]


async def test_a_turn_is_told_in_the_order_in_which_it_happens(lab: Lab) -> None:
    result = await lab.run(lab.Model(lab.calls(lab.call("price", {"item": "pen"})), lab.says("24")), price)
    assert await lab.names(result.run_id) == [
        "run.started",
        "model.replied",
        "call.requested",
        "call.started",
        "call.succeeded",
        "block.completed",
        "model.replied",
        "answer.released",
        "run.ended",
    ]


async def test_who_follows_late_gets_every_event_of_the_journal(lab: Lab) -> None:
    run = await lab.start(lab.Model(lab.calls(lab.call("price", {"item": "pen"})), lab.says("24")), price)
    await lab.result(run)
    assert [event async for event in run.events()] == await lab.journal(run.run_id)


async def test_who_follows_from_the_middle_gets_every_event_once(lab: Lab) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    @tool(read_only=True)
    async def gate() -> str:
        """Wait for the test."""
        begun.set()
        await go_on.wait()
        return "open"

    run = await lab.start(lab.Model(lab.calls(lab.call("gate")), lab.says("open")), gate)
    await lab.happens(begun)
    events = run.events()
    first = await anext(events)
    go_on.set()
    rest = [event async for event in events if event.seq is not None]
    await lab.result(run)
    assert [first, *rest] == await lab.journal(run.run_id)


async def test_a_follower_that_leaves_early_disturbs_nobody(lab: Lab) -> None:
    run = await lab.start(lab.Model(lab.says("Hello!")))
    leaver = run.events()
    await anext(leaver)
    await leaver.aclose()
    assert [event.name async for event in run.events()][-1] == "run.ended"
    assert (await lab.result(run)).status == "succeeded"


async def test_a_running_tool_reports_its_progress_live_even_from_a_thread(lab: Lab) -> None:
    @tool(read_only=True)
    def count(context: ToolContext) -> int:
        """Count to two."""
        context.report("one")
        context.report("two")
        return 2

    run = await lab.start(lab.Model(lab.calls(lab.call("count")), lab.says("2")), count)
    shown = [event.body async for event in run.events() if isinstance(event.body, ToolProgress)]
    await lab.result(run)
    assert shown == [ToolProgress(call_id=f"{run.run_id}.1.0", tool="count", text=text) for text in ("one", "two")]


async def test_the_stored_journal_adds_up_to_the_result(lab: Lab) -> None:
    asked = lab.calls(
        lab.call("price", {"item": "pen"}), lab.call("price", {"item": "pen"}), lab.call("price", "["), text="hm"
    )
    model = lab.Model(
        lab.fails("server"), asked, lab.says(""), lab.calls(lab.call("price", {"item": "pen"})), lab.says("24")
    )
    result = await lab.run(model, price)
    assert await lab.refolded(result.run_id) == result
    row = await lab.store.run("acme", result.run_id)
    assert (row.state, row.goal, row.subject, row.agent, row.model) == ("succeeded", "Do it.", "kim", "clerk", "fake")
    assert row.ended_at is not None
