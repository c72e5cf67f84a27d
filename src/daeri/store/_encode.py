"""From records to rows: scrubbed, serialised, in the column order of their statements."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TypeAlias

import orjson

from daeri.boundary import ApprovalRecord, AuditEvent, CallChange, CallRecord, CallState, Decision, JournalEntry, Record
from daeri.engine import ENDED, ENVELOPE_VERSION, RunRow, RunState
from daeri.errors import Failure
from daeri.text import Json, JsonObject, canonical_json, scrub, scrub_text
from daeri.tools import Tool

from ._statements import (
    APPROVAL,
    AUDIT,
    CALL,
    CALL_CHANGE,
    DEFINITION,
    EVENT,
    PAYLOAD,
    RUN,
    RUN_STATE,
    Row,
    Statement,
)
from ._time import to_micros

Written: TypeAlias = tuple[Statement, Row]

_OVER: frozenset[CallState] = frozenset({"succeeded", "failed", "unknown", "denied", "cancelled"})


def encode(record: Record) -> Iterable[Written]:
    """The rows that a record of the boundary consists of.

    Raises:
        ValueError: a value that JSON has no text for.
        TypeError: a value that is not JSON, or a time without a zone.
    """
    if isinstance(record, JournalEntry):
        return (_event(record),)
    if isinstance(record, AuditEvent):
        return (_audit(record),)
    if isinstance(record, CallChange):
        return _call_change(record)
    if isinstance(record, CallRecord):
        return (_call(record),)
    return (_approval(record),)


def encode_run(run: RunRow) -> Written:
    """The row of a run."""
    return RUN, (
        clean(run.tenant),
        clean(run.run_id),
        clean(run.subject),
        clean(run.agent),
        clean(run.model),
        clean(run.goal),
        run.state,
        run.kind,
        to_micros(run.created_at),
        _micros(run.ended_at),
    )


def encode_run_state(entry: JournalEntry, state: RunState) -> Written:
    """The change of a run's state that comes with an entry of its journal."""
    ended_at = to_micros(entry.at) if state in ENDED else None
    return RUN_STATE, (clean(entry.tenant), clean(entry.run_id), state, ended_at)


def encode_definition(tool: Tool, first_seen: datetime) -> Written:
    """The definition of a tool, as its author declared it."""
    declared: JsonObject = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
        "annotations": asdict(tool.annotations),
        "scopes": sorted(tool.scopes),
        "risk": tool.risk,
        "source": tool.source,
        "consequences": tool.consequences,
    }
    return DEFINITION, (
        tool.definition_hash,
        clean(tool.name),
        clean(tool.source),
        _canonical(declared)[0],
        to_micros(first_seen),
    )


def clean(text: str) -> str:
    """The text without what SQLite can't hold."""
    return text if text.isascii() and "\0" not in text else scrub_text(text)


def _event(entry: JournalEntry) -> Written:
    return EVENT, (
        clean(entry.tenant),
        clean(entry.run_id),
        ENVELOPE_VERSION,
        clean(entry.type),
        to_micros(entry.at),
        _json(entry.data),
    )


def _audit(event: AuditEvent) -> Written:
    return AUDIT, (
        clean(event.tenant),
        to_micros(event.at),
        clean(event.kind),
        clean(event.actor),
        clean(event.subject),
        _clean(event.run_id),
        _json(event.data),
    )


def _call(call: CallRecord) -> Written:
    at = to_micros(call.at)
    return CALL, (
        clean(call.tenant),
        clean(call.call_id),
        _clean(call.run_id),
        _clean(call.agent),
        clean(call.subject),
        clean(call.tool),
        _clean(call.definition_hash),
        _canonical(call.arguments)[0],
        clean(call.arguments_digest),
        call.origin,
        call.state,
        None if call.decision is None else _json(_decision(call.decision)),
        None if call.failure is None else _json(_failure(call.failure)),
        _clean(call.approval_id),
        _clean(call.idempotency_key),
        _json(call.sources),
        at,
        at if call.state == "started" else None,
        at if call.state in _OVER else None,
    )


def _call_change(change: CallChange) -> Sequence[Written]:
    tenant, at = clean(change.tenant), to_micros(change.at)
    rows: list[Written] = []
    digest = None
    if change.has_result:
        body, raw = _canonical(change.result)
        # What a payload is called is what its stored text hashes to, whatever the record claims.
        digest = "sha256:" + hashlib.sha256(raw).hexdigest()
        rows.append((PAYLOAD, (tenant, digest, body, len(raw), at)))
    changed: Row = (
        tenant,
        clean(change.call_id),
        change.was,
        change.state,
        None if change.failure is None else _json(_failure(change.failure)),
        digest,
        change.elapsed_ms,
        at if change.state == "started" else None,
        at if change.state in _OVER else None,
    )
    rows.append((CALL_CHANGE, changed))
    return rows


def _approval(request: ApprovalRecord) -> Written:
    return APPROVAL, (
        clean(request.tenant),
        clean(request.approval_id),
        clean(request.call_id),
        _clean(request.run_id),
        _clean(request.agent),
        clean(request.tool),
        clean(request.definition_hash),
        _canonical(request.arguments)[0],
        clean(request.digest),
        _json(request.principal),
        request.approvals_needed,
        request.risk,
        _json(request.rules),
        _json(request.reasons),
        clean(request.consequences),
        request.state,
        to_micros(request.created_at),
        to_micros(request.expires_at),
    )


def _decision(decision: Decision) -> JsonObject:
    return {
        "verdict": decision.verdict,
        "rules": decision.rules,
        "reasons": decision.reasons,
        "approvals_needed": decision.approvals_needed,
        "risk": decision.risk,
    }


def _failure(failure: Failure) -> JsonObject:
    return {
        "kind": failure.kind,
        "diagnostic": failure.diagnostic,
        "path": failure.path,
        "user_message": failure.user_message,
    }


def _clean(text: str | None) -> str | None:
    return None if text is None else clean(text)


def _micros(at: datetime | None) -> int | None:
    return None if at is None else to_micros(at)


def _json(value: Json) -> str:
    try:
        raw = orjson.dumps(value)
    except TypeError:
        # Lone surrogates, integers beyond 64 bits, mappings that are not dicts: rare, and the slow way takes them.
        return json.dumps(scrub(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _json(scrub(value)) if _holds_nul(raw) else raw.decode()


def _canonical(value: Json) -> tuple[str, bytes]:
    text = canonical_json(value)
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return _canonical(scrub(value))
    return _canonical(scrub(value)) if _holds_nul(raw) else (text, raw)


def _holds_nul(raw: bytes) -> bool:
    # Removing escaped backslashes first tells the escape of NUL from the six characters that look like it.
    return b"\\u0000" in raw and b"\\u0000" in raw.replace(b"\\\\", b"")
