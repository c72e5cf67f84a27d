"""What each step in the life of a request for approval leaves on record, all of it in one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from daeri.errors import ErrorKind, Failure
from daeri.identity import Principal
from daeri.text import Json, Locale

from ._outbox import notice
from ._people import principal_of
from ._records import (
    ApprovalChange,
    ApprovalRecord,
    ApprovalState,
    AuditEvent,
    CallChange,
    CallRequest,
    JournalEntry,
    Record,
    StoredApproval,
    StoredCall,
    Vote,
)
from ._writing import audit_of_outcome, journal, principal_json

_ENDS: dict[ApprovalState, ErrorKind] = {
    "rejected": "approval_rejected",
    "expired": "approval_expired",
    "withdrawn": "approval_withdrawn",
    "void": "approval_void",
}
"""How a call ends whose request ended without being used."""


def requested(approval: ApprovalRecord, *, notify: bool) -> Iterable[Record]:
    """A request begins to wait."""
    data: dict[str, Json] = {
        "call_id": approval.call_id,
        "tool": approval.tool,
        "digest": approval.digest,
        "risk": approval.risk,
        "approvals_needed": approval.approvals_needed,
        "expires_at": approval.expires_at.isoformat(),
    }
    yield AuditEvent(
        tenant=approval.tenant,
        kind="approval.requested",
        actor=str(approval.principal["subject"]),
        at=approval.created_at,
        subject=approval.approval_id,
        data=data,
        run_id=approval.run_id,
    )
    if notify:
        yield notice("approval.requested", approval, at=approval.created_at)


def changed(
    approval: StoredApproval,
    state: ApprovalState,
    at: datetime,
    *,
    actor: Principal | None,
    vote: Vote | None = None,
    detail: str = "",
    notify: bool,
) -> Iterable[Record]:
    """A request gets another state, or one more vote; `actor` is nobody when time did it."""
    record = approval.record
    kind = f"approval.{'voted' if state == approval.state else state}"
    who = "system" if actor is None else actor.subject
    reason = vote.reason if vote else detail
    yield ApprovalChange(
        approval_id=record.approval_id,
        tenant=record.tenant,
        version=approval.version,
        state=state,
        at=at,
        vote=vote,
        detail="" if vote else detail,
    )
    data: dict[str, Json] = {"call_id": record.call_id, "tool": record.tool, "digest": record.digest, "state": state}
    if actor is not None:
        data["principal"] = principal_json(actor)
    if reason:
        data["reason"] = reason
    yield AuditEvent(
        tenant=record.tenant,
        kind=kind,
        actor=who,
        at=at,
        subject=record.approval_id,
        data=data,
        run_id=record.run_id,
    )
    if record.run_id is not None:
        told: dict[str, Json] = {"approval_id": record.approval_id, "call_id": record.call_id, "state": state}
        yield JournalEntry(
            run_id=record.run_id,
            tenant=record.tenant,
            type="approval.changed",
            at=at,
            data={**told, "by": who, "reason": reason, "votes": len(approval.votes) + (vote is not None)},
        )
    if notify:
        yield notice(kind, record, at=at, by=who, reason=reason)


def call_ended(
    approval: StoredApproval, call: StoredCall, state: ApprovalState, at: datetime, why: str
) -> Iterable[Record]:
    """The call of a request that ended without being used is denied."""
    request = request_of(approval.record, call)
    failure = Failure(kind=_ENDS[state], diagnostic=why)
    yield CallChange(
        call_id=request.call_id, tenant=approval.record.tenant, was="waiting", state="denied", at=at, failure=failure
    )
    yield from journal(request, "denied", at, failure=failure, approval_id=approval.record.approval_id)
    yield audit_of_outcome(request, "denied", at, failure=failure, result_digest=None, elapsed_ms=None)


def request_of(
    approval: ApprovalRecord,
    call: StoredCall,
    *,
    locale: Locale = "en",
    allowed_tools: frozenset[str] | None = None,
) -> CallRequest:
    """The ask as it stands in the record; nothing of it comes from whoever decides."""
    return CallRequest(
        principal=principal_of(approval.principal),
        tool=approval.tool,
        arguments=approval.arguments,
        call_id=approval.call_id,
        origin=call.record.origin,
        run_id=approval.run_id,
        agent=approval.agent,
        idempotency_key=call.record.idempotency_key,
        sources=call.record.sources,
        locale=locale,
        allowed_tools=allowed_tools,
    )


def refused(approval: ApprovalRecord, actor: Principal, attempt: str, rule: str, why: str, at: datetime) -> AuditEvent:
    """Somebody tried what the rules don't let them."""
    data: dict[str, Json] = {
        "attempt": attempt,
        "rule": rule,
        "why": why,
        "call_id": approval.call_id,
        "tool": approval.tool,
        "principal": principal_json(actor),
    }
    return AuditEvent(
        tenant=approval.tenant,
        kind="approval.refused",
        actor=actor.subject,
        at=at,
        subject=approval.approval_id,
        data=data,
        run_id=approval.run_id,
    )
