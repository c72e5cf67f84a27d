"""Asks that were made before: each gets the outcome on record, and nothing runs a second time."""

from __future__ import annotations

from collections.abc import Iterable

from daeri.errors import ConflictError, Failure, NotFoundError
from daeri.text import Json, digest

from ._people import principal_of, subjects_of
from ._records import (
    ApprovalRecord,
    ApprovalStore,
    CallOutcome,
    CallRecord,
    CallRequest,
    CallStore,
    Record,
    StoredCall,
)

_NO_OUTCOME = Failure(
    kind="unavailable", diagnostic="the call was started and has no outcome on record; it may still be running"
)


async def earlier_call(store: ApprovalStore, request: CallRequest) -> StoredCall | None:
    """The call that a request names by its request for approval or by its idempotency key.

    Raises:
        ConflictError: what it names was asked for another tool or with other arguments.
        NotFoundError: it names a request for approval that is not its own.
    """
    who = request.principal
    if request.approval_id is not None:
        call = await _call_of_approval(store, request, request.approval_id)
        _check_same(call, request, ConflictError("approval request", request.approval_id, "open to other arguments"))
        return call
    if request.idempotency_key is None:
        return None
    call = await store.find_keyed_call(who.tenant, who.person.subject, who.subject, request.idempotency_key)
    if call is not None:
        _check_same(call, request, _key_taken(request.idempotency_key))
    return call


async def call_in_the_way(store: CallStore, record: CallRecord, others: Iterable[Record]) -> StoredCall | None:
    """The call because of which `record` could not be written, if it is the same ask.

    Raises:
        ConflictError: there is one with this id or key, and it is another ask.
    """
    call = await store.find_call(record.tenant, record.call_id)
    if call is not None:
        if _asked(call.record) != _asked(record):
            raise ConflictError("call", record.call_id, "this call with these arguments")
        return call
    if record.idempotency_key is not None:
        call = await store.find_keyed_call(record.tenant, record.person, record.subject, record.idempotency_key)
        if call is not None and _what(call.record) != _what(record):
            raise _key_taken(record.idempotency_key)
        return call
    for other in others:
        if isinstance(other, ApprovalRecord):
            pending = await store.pending_approval(other.tenant, other.digest)
            return pending and await store.find_call(other.tenant, pending.record.call_id)
    return None


async def outcome_of(store: CallStore, call: StoredCall) -> CallOutcome:
    """How a call stands, from its record."""
    record = call.record
    value: Json = None
    if call.state == "succeeded":
        value = await store.result_of(record.tenant, record.call_id)
    return CallOutcome(
        call_id=record.call_id,
        tool=record.tool,
        state=call.state,
        decision=record.decision,
        value=value,
        failure=_NO_OUTCOME if call.state == "started" else call.failure,
        approval_id=record.approval_id,
        elapsed_ms=call.elapsed_ms or 0.0,
    )


async def _call_of_approval(store: ApprovalStore, request: CallRequest, approval_id: str) -> StoredCall:
    tenant = request.principal.tenant
    approval = await store.find_approval(tenant, approval_id)
    # the id in full: a beginning that happens to fit names nothing
    if approval is not None and approval.record.approval_id == approval_id:
        call = await store.find_call(tenant, approval.record.call_id)
        if call is not None and subjects_of(principal_of(approval.record.principal)) == subjects_of(request.principal):
            return call
    raise NotFoundError("approval request", approval_id)


def _check_same(call: StoredCall, request: CallRequest, otherwise: ConflictError) -> None:
    if _what(call.record) != (request.tool, digest(request.arguments)):
        raise otherwise


def _key_taken(key: str) -> ConflictError:
    return ConflictError("idempotency key", key, "free for another call")


def _asked(record: CallRecord) -> tuple[str | None, ...]:
    """What makes two asks with one call id the same ask; nobody gets the outcome of somebody else's call."""
    return (*_what(record), record.person, record.subject, record.run_id)


def _what(record: CallRecord) -> tuple[str, str]:
    return (record.tool, record.arguments_digest)
