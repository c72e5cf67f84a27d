"""From rows back to records."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from daeri.boundary import (
    ApprovalRecord,
    CallRecord,
    Checkpoint,
    Decision,
    OutboxMessage,
    StoredApproval,
    StoredCall,
    StoredMessage,
    Vote,
)
from daeri.engine import JournalEvent, RunRow
from daeri.errors import Failure

from ._chain import AuditRow
from ._time import from_micros

StoredRow: TypeAlias = tuple[Any, ...]

RUN_COLUMNS = "run_id, tenant, subject, agent, model, goal, state, created_at, kind, ended_at"
EVENT_COLUMNS = "seq, type, at, data, version"
CALL_COLUMNS = (
    "call_id, tenant, subject, person, tool, definition_hash, arguments, arguments_digest, origin, state, requested_at,"
    " run_id, agent, idempotency_key, sources, decision, failure, approval_id, result_digest, elapsed_ms, ended_at"
)
APPROVAL_COLUMNS = (
    "approval_id, tenant, call_id, tool, definition_hash, arguments, digest, principal, approvals_needed, risk, rules,"
    " reasons, consequences, state, created_at, expires_at, run_id, agent, version, detail, closed_at,"
    " (SELECT json_group_array(json_array(vote.version, approver, verdict, reason, at)) FROM approval_votes AS vote"
    " WHERE vote.tenant = approvals.tenant AND vote.approval_id = approvals.approval_id)"
)
MESSAGE_COLUMNS = "message_id, tenant, kind, payload, at, state, attempts, next_at, error"
CHECKPOINT_COLUMNS = "chain, seq, hash, at, key_id, signature"
AUDIT_COLUMNS = "chain, seq, prev_hash, hash, tenant, at, kind, actor, subject, run_id, data"


def run_row(row: StoredRow) -> RunRow:
    """A row of `RUN_COLUMNS`."""
    run_id, tenant, subject, agent, model, goal, state, created_at, kind, ended_at = row
    return RunRow(
        run_id=run_id,
        tenant=tenant,
        subject=subject,
        agent=agent,
        model=model,
        goal=goal,
        state=state,
        created_at=from_micros(created_at),
        kind=kind,
        ended_at=None if ended_at is None else from_micros(ended_at),
    )


def journal_event(row: StoredRow) -> JournalEvent:
    """A row of `EVENT_COLUMNS`, of whatever type and version."""
    seq, kind, at, data, version = row
    return JournalEvent(seq=seq, type=kind, at=from_micros(at), data=parse(data), version=version)


def stored_call(row: StoredRow) -> StoredCall:
    """A row of `CALL_COLUMNS`."""
    *start, decision, failure_text, approval_id, result_digest, elapsed_ms, ended_at = row
    call_id, tenant, subject, person, tool, definition_hash, arguments, arguments_digest, origin, state, *rest = start
    at, run_id, agent, idempotency_key, sources = rest
    failure = None if failure_text is None else _failure(parse(failure_text))
    record = CallRecord(
        call_id=call_id,
        tenant=tenant,
        subject=subject,
        person=person,
        tool=tool,
        definition_hash=definition_hash,
        arguments=parse(arguments),
        arguments_digest=arguments_digest,
        origin=origin,
        state=state,
        at=from_micros(at),
        run_id=run_id,
        agent=agent,
        idempotency_key=idempotency_key,
        sources=parse(sources),
        decision=None if decision is None else _decision(parse(decision)),
        failure=failure,
        approval_id=approval_id,
    )
    return StoredCall(
        record=record,
        state=state,
        failure=failure,
        result_digest=result_digest,
        elapsed_ms=elapsed_ms,
        ended_at=None if ended_at is None else from_micros(ended_at),
    )


def stored_approval(row: StoredRow) -> StoredApproval:
    """A row of `APPROVAL_COLUMNS`."""
    *recorded, version, detail, closed_at, votes = row
    record = _approval_record(tuple(recorded))
    return StoredApproval(
        record=record,
        state=record.state,
        version=version,
        votes=tuple(
            Vote(approver=approver, verdict=verdict, reason=reason, at=from_micros(at))
            for _, approver, verdict, reason, at in sorted(parse(votes))
        ),
        detail=detail,
        closed_at=None if closed_at is None else from_micros(closed_at),
    )


def stored_message(row: StoredRow) -> StoredMessage:
    """A row of `MESSAGE_COLUMNS`."""
    message_id, tenant, kind, payload, at, state, attempts, next_at, error = row
    return StoredMessage(
        message=OutboxMessage(
            message_id=message_id, tenant=tenant, kind=kind, payload=parse(payload), at=from_micros(at)
        ),
        state=state,
        attempts=attempts,
        next_at=from_micros(next_at),
        error=error,
    )


def stored_checkpoint(row: StoredRow) -> Checkpoint:
    """A row of `CHECKPOINT_COLUMNS`."""
    chain, seq, link, at, key_id, signature = row
    return Checkpoint(chain=chain, seq=seq, hash=link, at=from_micros(at), key_id=key_id, signature=signature)


def audit_row(row: StoredRow) -> AuditRow:
    """A row of `AUDIT_COLUMNS`."""
    chain, seq, prev_hash, link, tenant, at, kind, actor, subject, run_id, data = row
    return AuditRow(
        chain=chain,
        seq=seq,
        prev_hash=prev_hash,
        hash=link,
        tenant=tenant,
        at=at,
        kind=kind,
        actor=actor,
        subject=subject,
        run_id=run_id,
        data=data,
    )


def parse(text: str) -> Any:
    """Stored JSON. Not with orjson, which makes inexact floats of integers beyond 64 bits."""
    return json.loads(text)


def _approval_record(row: StoredRow) -> ApprovalRecord:
    approval_id, tenant, call_id, tool, definition_hash, arguments, digest, principal, *rest = row
    approvals_needed, risk, rules, reasons, consequences, state, created_at, expires_at, run_id, agent = rest
    return ApprovalRecord(
        approval_id=approval_id,
        tenant=tenant,
        call_id=call_id,
        tool=tool,
        definition_hash=definition_hash,
        arguments=parse(arguments),
        digest=digest,
        principal=parse(principal),
        approvals_needed=approvals_needed,
        risk=risk,
        rules=tuple(parse(rules)),
        reasons=tuple(parse(reasons)),
        consequences=consequences,
        state=state,
        created_at=from_micros(created_at),
        expires_at=from_micros(expires_at),
        run_id=run_id,
        agent=agent,
    )


def _decision(value: Any) -> Decision:
    return Decision(
        verdict=value["verdict"],
        rules=tuple(value["rules"]),
        reasons=tuple(value["reasons"]),
        approvals_needed=value["approvals_needed"],
        risk=value["risk"],
    )


def _failure(value: Any) -> Failure:
    return Failure(
        kind=value["kind"],
        diagnostic=value["diagnostic"],
        path=value.get("path"),
        user_message=value.get("user_message"),
        retry_after_s=value.get("retry_after_s"),
    )
