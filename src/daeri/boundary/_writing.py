"""The records that each step of a call leaves: its row, its audit events, its events in the journal of the run."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from daeri.errors import Failure
from daeri.identity import Principal
from daeri.text import Json, JsonObject, digest
from daeri.tools import Tool

from ._records import (
    ApprovalRecord,
    AuditEvent,
    CallRecord,
    CallRequest,
    CallState,
    Decision,
    JournalEntry,
)


def principal_json(principal: Principal) -> JsonObject:
    """A principal as it goes into records: no credential, only who and with which rights."""
    who: dict[str, Json] = {
        "tenant": principal.tenant,
        "subject": principal.subject,
        "kind": principal.kind,
        "scopes": sorted(principal.scopes),
        "roles": sorted(principal.roles),
    }
    if principal.on_behalf_of is not None:
        who["on_behalf_of"] = principal_json(principal.on_behalf_of)
    return who


def failure_json(failure: Failure) -> JsonObject:
    """A failure as it goes into records, without the fields that are not set."""
    return _present(
        kind=failure.kind, diagnostic=failure.diagnostic, path=failure.path, user_message=failure.user_message
    )


def decision_json(decision: Decision) -> JsonObject:
    """A decision as it goes into records."""
    return {
        "verdict": decision.verdict,
        "rules": list(decision.rules),
        "reasons": list(decision.reasons),
        "approvals_needed": decision.approvals_needed,
        "risk": decision.risk,
    }


def journal(
    request: CallRequest,
    state: CallState,
    at: datetime,
    *,
    arguments: Json = None,
    decision: Decision | None = None,
    failure: Failure | None = None,
    approval_id: str | None = None,
    elapsed_ms: float | None = None,
    result_digest: str | None = None,
) -> Iterable[JournalEntry]:
    """The event `call.<state>` for the run of the call; nothing for a call outside runs."""
    if request.run_id is None:
        return
    data = _present(
        call_id=request.call_id,
        tool=request.tool,
        state=state,
        arguments=arguments,
        decision=decision and decision_json(decision),
        failure=failure and failure_json(failure),
        approval_id=approval_id,
        elapsed_ms=elapsed_ms,
        result_digest=result_digest,
    )
    yield JournalEntry(run_id=request.run_id, tenant=request.principal.tenant, type=f"call.{state}", at=at, data=data)


def approval_record(
    request: CallRequest, record: CallRecord, approval_id: str, tool: Tool, decision: Decision, expires_at: datetime
) -> ApprovalRecord:
    """The request that a person will decide, bound by digest to who asks for what with which arguments."""
    principal = principal_json(request.principal)
    bound: dict[str, Json] = {
        "tenant": record.tenant,
        "principal": principal,
        "tool": tool.name,
        "definition_hash": tool.definition_hash,
        "arguments": record.arguments,
    }
    return ApprovalRecord(
        approval_id=approval_id,
        tenant=record.tenant,
        call_id=record.call_id,
        tool=tool.name,
        definition_hash=tool.definition_hash,
        arguments=record.arguments,
        digest=digest(bound),
        principal=principal,
        approvals_needed=decision.approvals_needed,
        risk=decision.risk,
        rules=decision.rules,
        reasons=decision.reasons,
        consequences=tool.consequences,
        state="pending",
        created_at=record.at,
        expires_at=expires_at,
        run_id=record.run_id,
        agent=record.agent,
    )


def audit_of_decision(request: CallRequest, record: CallRecord) -> AuditEvent:
    """What was asked and what policy said, before anything runs; arguments only as their digest.

    Of a failure only its kind and place: its diagnostic quotes values, and what is in the chain can't be erased.
    """
    return _audit(
        request,
        f"call.{record.state}",
        record.at,
        _present(
            tool=record.tool,
            origin=record.origin,
            agent=record.agent,
            definition_hash=record.definition_hash,
            arguments_digest=record.arguments_digest,
            idempotency_key=record.idempotency_key,
            principal=principal_json(request.principal),
            decision=record.decision and decision_json(record.decision),
            failure=record.failure and _failure_mark(record.failure),
            approval_id=record.approval_id,
        ),
    )


def audit_of_outcome(
    request: CallRequest,
    state: CallState,
    at: datetime,
    *,
    failure: Failure | None,
    result_digest: str | None,
    elapsed_ms: float,
) -> AuditEvent:
    """How the call ended; its result only as a digest."""
    data = _present(
        tool=request.tool,
        failure=failure and _failure_mark(failure),
        result_digest=result_digest,
        elapsed_ms=elapsed_ms,
    )
    return _audit(request, f"call.{state}", at, data)


def _audit(request: CallRequest, kind: str, at: datetime, data: JsonObject) -> AuditEvent:
    return AuditEvent(
        tenant=request.principal.tenant,
        kind=kind,
        actor=request.principal.subject,
        at=at,
        subject=request.call_id,
        data=data,
        run_id=request.run_id,
    )


def _failure_mark(failure: Failure) -> JsonObject:
    return _present(kind=failure.kind, path=failure.path)


def _present(**fields: Json) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}
