"""Events to and from the journal, readable by older and newer releases.

A newer release may add fields and event types: unknown fields are ignored, unknown types (and known types that this
release can't read) become `UnknownEvent` and keep their data.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from daeri.text import JsonObject

from ._events import (
    AnswerReleased,
    ApprovalChanged,
    BlockCompleted,
    CallAttempted,
    CallEvent,
    CallRepeated,
    ContextTrimmed,
    JournaledEvent,
    ModelFailed,
    ModelReplied,
    RunEnded,
    RunEvent,
    RunEventBody,
    RunStarted,
    RunWaiting,
    UnknownEvent,
)
from ._ports import JournalEvent

ENVELOPE_VERSION = 1
"""Raised only when the envelope itself (run, number, type, time, data) changes."""

_KNOWN: Mapping[str, type[JournaledEvent]] = {
    kind.type: kind
    for kind in (
        RunStarted,
        ModelFailed,
        ModelReplied,
        ContextTrimmed,
        CallAttempted,
        ApprovalChanged,
        CallRepeated,
        BlockCompleted,
        AnswerReleased,
        RunWaiting,
        RunEnded,
    )
}


def encode_body(body: RunEventBody) -> JsonObject:
    """The data of an event, as it stands in the journal."""
    if isinstance(body, UnknownEvent):
        return body.data
    return cast("JsonObject", _adapter(type(body)).dump_python(body, mode="json", exclude_none=True))


def encode_event(event: RunEvent) -> JsonObject:
    """An event as one JSON object: `run_id`, `seq` (absent when live only), `type`, `at`, `data`."""
    place: JsonObject = {} if event.seq is None else {"seq": event.seq}
    return {
        "run_id": event.run_id,
        **place,
        "type": event.name,
        "at": event.at.isoformat(),
        "data": encode_body(event.body),
    }


def decode_event(run_id: str, stored: JournalEvent) -> RunEvent:
    """An event from the journal; never fails on what another release wrote."""
    return RunEvent(run_id=run_id, at=stored.at, seq=stored.seq, body=_decode_body(stored))


def _decode_body(stored: JournalEvent) -> RunEventBody:
    kind = _kind_of(stored.type) if stored.version <= ENVELOPE_VERSION else None
    if kind is not None:
        try:
            return cast("RunEventBody", _adapter(kind).validate_python(stored.data))
        except ValidationError:
            pass
    return UnknownEvent(name=stored.type, data=stored.data)


def _kind_of(name: str) -> type[JournaledEvent] | None:
    if name in _KNOWN:
        return _KNOWN[name]
    return CallEvent if name.startswith("call.") else None


@cache
def _adapter(kind: type[RunEventBody]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
