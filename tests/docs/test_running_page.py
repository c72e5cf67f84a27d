"""The page about running names every event and every key that the code knows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from daeri.boundary import CallState
from daeri.cli._shapes import run_object
from daeri.engine import RunResult
from daeri.engine._events import CallEvent, JournaledEvent, LiveEvent
from daeri.models import Usage

PAGE = (Path(__file__).parents[2] / "docs" / "running.md").read_text("utf-8")


def _names(text: str) -> set[str]:
    return set(re.findall(r"`([a-z_.]+)`", text))


def test_the_page_lists_the_events_that_there_are() -> None:
    kept, live = PAGE.split("## The events of a run")[1].split("Live only:")

    calls = {f"call.{state}" for state in get_args(CallState)}
    events = {event.type for event in get_args(JournaledEvent) if event is not CallEvent}
    assert _names(kept) == calls | events
    assert _names(live.split(". ")[0]) == {event.type for event in get_args(LiveEvent)}


def test_the_page_lists_the_keys_that_json_has() -> None:
    listed = _names(PAGE.split("prints one object:")[1].split("`--events`")[0])

    result = RunResult(
        run_id="r",
        status="succeeded",
        answer="",
        answer_kind=None,
        reason=None,
        detail="",
        steps=0,
        model="m",
        calls=(),
        usage=Usage(),
        cost=None,
        approvals=(),
        unknown_calls=(),
    )
    assert listed == {*run_object(result), "model_reason"}
