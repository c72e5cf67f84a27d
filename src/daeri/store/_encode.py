"""From records to rows: scrubbed, serialised, in the column order of their statements."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime

from daeri.boundary import (
    ApprovalChange,
    ApprovalRecord,
    AuditEvent,
    CallChange,
    CallRecord,
    CallState,
    Checkpoint,
    JournalEntry,
    OutboxMessage,
    Record,
    decision_json,
    failure_json,
)
from daeri.engine import ENDED, ENVELOPE_VERSION, RunRow, RunState
from daeri.text import JsonObject
from daeri.tools import Tool

from ._encode_approvals import approval, approval_change, message, message_change
from ._statements import (
    AUDIT,
    CALL,
    CALL_CHANGE,
    CHECKPOINT,
    DEFINITION,
    EVENT,
    PAYLOAD,
    RUN,
    RUN_STATE,
    Row,
    Written,
)
from ._time import to_micros
from ._values import canonical_text, clean, clean_or_none, json_text, micros_or_none

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
    if isinstance(record, ApprovalRecord):
        return approval(record)
    if isinstance(record, ApprovalChange):
        return approval_change(record)
    return message(record) if isinstance(record, OutboxMessage) else message_change(record)


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
        micros_or_none(run.ended_at),
    )


def encode_run_state(entry: JournalEntry, state: RunState) -> Written:
    """The change of a run's state that comes with an entry of its journal."""
    ended_at = to_micros(entry.at) if state in ENDED else None
    return RUN_STATE, (clean(entry.tenant), clean(entry.run_id), state, ended_at)


def encode_checkpoint(checkpoint: Checkpoint) -> Written:
    """The row of a signed head of an audit chain."""
    return CHECKPOINT, (
        checkpoint.chain,
        checkpoint.seq,
        checkpoint.hash,
        to_micros(checkpoint.at),
        checkpoint.key_id,
        checkpoint.signature,
    )


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
        "tags": sorted(tool.tags),
        "trusted": tool.trusted,
        "fallback": tool.resilience.fallback_json,
    }
    return DEFINITION, (
        tool.definition_hash,
        clean(tool.name),
        clean(tool.source),
        canonical_text(declared)[0],
        to_micros(first_seen),
    )


def _event(entry: JournalEntry) -> Written:
    return EVENT, (
        clean(entry.tenant),
        clean(entry.run_id),
        ENVELOPE_VERSION,
        clean(entry.type),
        to_micros(entry.at),
        json_text(entry.data),
    )


def _audit(event: AuditEvent) -> Written:
    return AUDIT, (
        clean(event.tenant),
        to_micros(event.at),
        clean(event.kind),
        clean(event.actor),
        clean(event.subject),
        clean_or_none(event.run_id),
        json_text(event.data),
    )


def _call(call: CallRecord) -> Written:
    at = to_micros(call.at)
    return CALL, (
        clean(call.tenant),
        clean(call.call_id),
        clean_or_none(call.run_id),
        clean_or_none(call.agent),
        clean(call.subject),
        clean(call.person),
        clean(call.tool),
        clean_or_none(call.definition_hash),
        canonical_text(call.arguments)[0],
        clean(call.arguments_digest),
        call.origin,
        call.state,
        None if call.decision is None else json_text(decision_json(call.decision)),
        None if call.failure is None else json_text(failure_json(call.failure)),
        clean_or_none(call.approval_id),
        clean_or_none(call.idempotency_key),
        json_text(call.sources),
        at,
        at if call.state == "started" else None,
        at if call.state in _OVER else None,
    )


def _call_change(change: CallChange) -> Sequence[Written]:
    tenant, at = clean(change.tenant), to_micros(change.at)
    rows: list[Written] = []
    digest = None
    if change.has_result:
        body, raw = canonical_text(change.result)
        # What a payload is called is what its stored text hashes to, whatever the record claims.
        digest = "sha256:" + hashlib.sha256(raw).hexdigest()
        rows.append((PAYLOAD, (tenant, digest, body, len(raw), at)))
    changed: Row = (
        tenant,
        clean(change.call_id),
        change.was,
        change.state,
        None if change.failure is None else json_text(failure_json(change.failure)),
        digest,
        change.elapsed_ms,
        at if change.state == "started" else None,
        at if change.state in _OVER else None,
    )
    rows.append((CALL_CHANGE, changed))
    return rows
