"""Requests for approval, decisions about them and messages to other systems, from records to rows."""

from __future__ import annotations

from collections.abc import Sequence

from daeri.boundary import ApprovalChange, ApprovalRecord, ApprovalState, OutboxChange, OutboxMessage

from ._statements import APPROVAL, APPROVAL_CHANGE, OUTBOX, OUTBOX_CHANGE, VOTE, Written
from ._time import to_micros
from ._values import canonical_text, clean, clean_or_none, json_text

_CLOSED: frozenset[ApprovalState] = frozenset({"rejected", "expired", "withdrawn", "void", "consumed"})


def approval(request: ApprovalRecord) -> Sequence[Written]:
    """The row of a request."""
    row = (
        clean(request.tenant),
        clean(request.approval_id),
        clean(request.call_id),
        clean_or_none(request.run_id),
        clean_or_none(request.agent),
        clean(request.tool),
        clean(request.definition_hash),
        canonical_text(request.arguments)[0],
        clean(request.digest),
        json_text(request.principal),
        request.approvals_needed,
        request.risk,
        json_text(request.rules),
        json_text(request.reasons),
        clean(request.consequences),
        request.state,
        to_micros(request.created_at),
        to_micros(request.expires_at),
    )
    return ((APPROVAL, row),)


def approval_change(change: ApprovalChange) -> Sequence[Written]:
    """The new state of a request, and the vote that led to it."""
    tenant, approval_id, at = clean(change.tenant), clean(change.approval_id), to_micros(change.at)
    closed_at = at if change.state in _CLOSED else None
    changed = (
        APPROVAL_CHANGE,
        (tenant, approval_id, change.version, change.state, clean(change.detail), closed_at),
    )
    if change.vote is None:
        return (changed,)
    vote = change.vote
    row = (
        tenant,
        approval_id,
        change.version + 1,
        clean(vote.approver),
        vote.verdict,
        clean(vote.reason),
        to_micros(vote.at),
    )
    return (changed, (VOTE, row))


def message(told: OutboxMessage) -> Sequence[Written]:
    """A message that is due at once."""
    at = to_micros(told.at)
    row = (
        clean(told.tenant),
        clean(told.message_id),
        clean(told.kind),
        json_text(told.payload),
        "pending",
        0,
        at,
        at,
        "",
    )
    return ((OUTBOX, row),)


def message_change(change: OutboxChange) -> Sequence[Written]:
    """What became of an attempt to deliver a message."""
    row = (clean(change.message_id), change.state, change.attempts, to_micros(change.next_at), clean(change.error))
    return ((OUTBOX_CHANGE, row),)
