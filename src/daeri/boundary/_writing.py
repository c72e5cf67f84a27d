"""The records that each step of a call leaves: its row, its audit events, its events in the journal of the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from daeri.errors import DefinitionError, Failure
from daeri.identity import Principal
from daeri.text import Json, JsonObject, digest
from daeri.tools import Tool, check_name

from ._attempts import AttemptNote
from ._records import (
    ApprovalRecord,
    AuditEvent,
    CallRecord,
    CallRequest,
    CallState,
    Decision,
    Effort,
    JournalEntry,
    Record,
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
    if principal.via is not None:
        who["via"] = principal.via
    if principal.on_behalf_of is not None:
        who["on_behalf_of"] = principal_json(principal.on_behalf_of)
    return who


def failure_json(failure: Failure) -> JsonObject:
    """A failure as it goes into records, without the fields that are not set."""
    return _present(
        kind=failure.kind,
        diagnostic=failure.diagnostic,
        path=failure.path,
        user_message=failure.user_message,
        retry_after_s=failure.retry_after_s,
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
    effort: Effort | None = None,
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
        **effort_marks(effort),
    )
    yield JournalEntry(run_id=request.run_id, tenant=request.principal.tenant, type=f"call.{state}", at=at, data=data)


def binding(
    *,
    tenant: str,
    principal: JsonObject,
    tool: str,
    definition_hash: str,
    arguments: Json,
    idempotency_key: str | None,
) -> str:
    """The digest over who asks for what with which arguments.

    An idempotency key is part of it where there is one: two asks with keys of their own are two, be they else equal.
    """
    bound: dict[str, Json] = {
        "tenant": tenant,
        "principal": principal,
        "tool": tool,
        "definition_hash": definition_hash,
        "arguments": arguments,
    }
    return digest(bound if idempotency_key is None else {**bound, "idempotency_key": idempotency_key})


def approval_record(
    request: CallRequest, record: CallRecord, approval_id: str, tool: Tool, decision: Decision, expires_at: datetime
) -> ApprovalRecord:
    """The request that a person will decide, bound by digest to who asks for what with which arguments."""
    principal = principal_json(request.principal)
    bound = binding(
        tenant=record.tenant,
        principal=principal,
        tool=tool.name,
        definition_hash=tool.definition_hash,
        arguments=record.arguments,
        idempotency_key=record.idempotency_key,
    )
    return ApprovalRecord(
        approval_id=approval_id,
        tenant=record.tenant,
        call_id=record.call_id,
        tool=tool.name,
        definition_hash=tool.definition_hash,
        arguments=record.arguments,
        digest=bound,
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


def audit_of_decision(request: CallRequest, record: CallRecord, tool: Tool | None = None) -> AuditEvent:
    """What was asked and what policy said, before anything runs; arguments and key only as their digests.

    Of a failure only its kind and place: its diagnostic quotes values, and what is in the chain can't be erased. For
    the same reason what is no name is not taken into it as the name of a tool.
    """
    name = _name_mark(record.tool)
    decision = record.decision and decision_json(record.decision)
    if decision and name != record.tool:
        decision = {**decision, "reasons": [f"there is no tool {name}"]}
    return _audit(
        request,
        f"call.{record.state}",
        record.at,
        _present(
            tool=name,
            origin=record.origin,
            agent=record.agent,
            definition_hash=record.definition_hash,
            arguments_digest=record.arguments_digest,
            idempotency_key_digest=record.idempotency_key and digest(record.idempotency_key),
            principal=principal_json(request.principal),
            decision=decision,
            failure=record.failure and _failure_mark(record.failure, tool),
            approval_id=record.approval_id,
        ),
    )


def audit_of_outcome(
    request: CallRequest,
    state: CallState,
    at: datetime,
    *,
    tool: Tool | None = None,
    failure: Failure | None,
    result_digest: str | None,
    elapsed_ms: float | None,
    effort: Effort | None = None,
) -> AuditEvent:
    """How the call ended; its result only as a digest."""
    data = _present(
        tool=request.tool,
        failure=failure and _failure_mark(failure, tool),
        result_digest=result_digest,
        elapsed_ms=elapsed_ms,
        **effort_marks(effort),
    )
    return _audit(request, f"call.{state}", at, data)


def attempt_records(request: CallRequest, note: AttemptNote, at: datetime, tool: Tool | None) -> Iterable[Record]:
    """An attempt that failed and is followed by another, as the event `call.attempted`."""
    seen = _present(
        tool=request.tool, number=note.number, elapsed_ms=note.elapsed_ms, retry_in_s=round(note.retry_in_s, 3)
    )
    if request.run_id is not None:
        data = {"call_id": request.call_id, **seen, "failure": failure_json(note.failure)}
        yield JournalEntry(
            run_id=request.run_id, tenant=request.principal.tenant, type="call.attempted", at=at, data=data
        )
    yield _audit(request, "call.attempted", at, {**seen, "failure": _failure_mark(note.failure, tool)})


def effort_marks(effort: Effort | None) -> JsonObject:
    """What is worth a word about an effort: nothing, if one attempt was enough."""
    if effort is None:
        return {}
    several = effort.attempts != 1
    return _present(
        attempts=effort.attempts if several else None,
        last_attempt_ms=effort.last_attempt_ms if several else None,
        fallback=effort.fallback,
    )


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


def _failure_mark(failure: Failure, tool: Tool | None) -> JsonObject:
    return _present(kind=failure.kind, path=failure.path and _path_mark(failure.path, tool))


def _path_mark(path: str, tool: Tool | None) -> str:
    """The place without the names that the caller, or the system behind the tool, made up: they may be anything."""
    declared = set[str]() if tool is None else {*_declared(tool.input_schema), *_declared(tool.output_schema)}
    parts = path.split("/")[1:]
    return "".join(f"/{part}" if part.replace("~1", "/").replace("~0", "~") in declared else "/*" for part in parts)


def _declared(schema: Json) -> Iterator[str]:
    """Every name of a property, wherever in the schema it is declared."""
    waiting: list[Json] = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            properties = part.get("properties")
            yield from properties if isinstance(properties, Mapping) else ()
            waiting.extend(part.values())
        elif isinstance(part, Sequence) and not isinstance(part, str):
            waiting.extend(part)


def _name_mark(name: str) -> str:
    try:
        check_name(name)
    except DefinitionError:
        return digest(name)
    return name


def _present(**fields: Json) -> JsonObject:
    return {name: value for name, value in fields.items() if value is not None}
