"""Ending requests for approval that were not used, together with the calls that wait for them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from daeri.errors import ConflictError, NotFoundError
from daeri.identity import Principal

from ._means import Means
from ._records import ApprovalState, Record, StoredApproval, StoredCall, Vote
from ._transitions import call_ended, changed


async def call_of(means: Means, approval: StoredApproval) -> StoredCall:
    """The call that waits, or waited, for this request."""
    record = approval.record
    call = await means.store.find_call(record.tenant, record.call_id)
    if call is None:
        raise NotFoundError("call", record.call_id)
    return call


async def ending(
    means: Means,
    approval: StoredApproval,
    state: ApprovalState,
    at: datetime,
    why: str,
    *,
    actor: Principal | None = None,
    vote: Vote | None = None,
) -> Sequence[Record]:
    """What it takes to end a request: the request, its call, and that everybody hears of it."""
    call = await call_of(means, approval)
    change = changed(approval, state, at, actor=actor, vote=vote, detail=why, notify=means.notify)
    return [*change, *call_ended(approval, call, state, at, why)]


async def end(means: Means, approval: StoredApproval, state: ApprovalState, at: datetime, why: str) -> bool:
    """End a request because time or a change did; false if it has moved on meanwhile."""
    try:
        await means.store.commit(await ending(means, approval, state, at, why))
    except ConflictError:
        return False
    return True


async def expire(means: Means, approval: StoredApproval, at: datetime) -> bool:
    """End a request whose time is over; false if it is not, or has moved on meanwhile."""
    if approval.state not in ("pending", "approved") or approval.record.expires_at > at:
        return False
    why = "nobody decided in time" if approval.state == "pending" else "nobody carried it out in time"
    return await end(means, approval, "expired", at, why)
