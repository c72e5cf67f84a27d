"""The desk: where people decide about calls that wait, and where what they approved is carried out, once."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from daeri.errors import ConflictError, NotFoundError, RefusedError
from daeri.identity import Principal
from daeri.text import Locale, cut_middle, scrub_text

from ._asked_before import outcome_of
from ._ending import call_of, end, ending, expire
from ._execution import carry_out
from ._means import Means, Observer
from ._recording import Recording
from ._records import (
    ApprovalState,
    CallChange,
    CallOutcome,
    Record,
    StoredApproval,
    StoredCall,
    Vote,
)
from ._rights import Attempt, may_see, refusal
from ._still_valid import Valid, still_valid
from ._transitions import changed, refused, request_of
from ._writing import audit_of_decision, journal

_ROUNDS = 16
"""How often a decision is weighed again because somebody else was faster; each time the request has moved on."""
_MAX_REASON_CHARS = 2_000
_PAGE = 100
"""How many requests are read at a time to find those that somebody may see."""


class ApprovalDesk:
    """Lists and decides requests for approval, and carries out what was approved.

    Every step is one transaction that fails if somebody else was faster, so of any number of attempts to decide or to
    use a request exactly one takes effect.
    """

    def __init__(self, means: Means) -> None:
        self._means = means

    async def list(
        self, who: Principal, *, state: ApprovalState | None = None, limit: int = 50, before: str | None = None
    ) -> Sequence[StoredApproval]:
        """Requests that `who` may see, newest first; `before` is the id that the last page ended with.

        Everybody sees what was asked by them or for them, an approver what they could decide, and who has the role
        auditor, operator or admin all requests of the tenant.

        Raises:
            NotFoundError: no request `before` that `who` may see.
        """
        if before is not None:
            await self.show(who, before)
        seen: list[StoredApproval] = []
        while len(seen) < limit:
            page = await self._means.store.approvals(who.tenant, state=state, limit=_PAGE, before=before)
            seen += [approval for approval in page if self._may_see(who, approval)]
            if len(page) < _PAGE:
                break
            before = page[-1].record.approval_id
        return seen[:limit]

    async def show(self, who: Principal, approval_id: str) -> StoredApproval:
        """The request with this id, or whose id begins so if that is only one.

        Raises:
            NotFoundError: none such in the tenant of `who`, or none that they may see (see `list`).
        """
        approval = await self._find(who.tenant, approval_id)
        if not self._may_see(who, approval):
            raise _not_found(approval_id)
        return approval

    async def approve(self, approval_id: str, approver: Principal, reason: str = "") -> StoredApproval:
        """Vote for a request. It is `approved` once it has all the votes it needs; nothing runs yet.

        Raises:
            NotFoundError: no such request in the tenant of the approver.
            RefusedError: the approver may not, or the request is no longer pending. It is on record.
        """
        return await self._decide("approve", approval_id, approver, reason)

    async def reject(self, approval_id: str, approver: Principal, reason: str) -> StoredApproval:
        """Say no, and why; one no is enough, and the call is denied.

        Raises:
            NotFoundError: no such request in the tenant of the approver.
            RefusedError: the approver may not, there is no reason, or the request is no longer pending.
        """
        return await self._decide("reject", approval_id, approver, reason)

    async def withdraw(self, approval_id: str, requester: Principal, reason: str = "") -> StoredApproval:
        """Take a request back before it is used; only who made it can, or the person it was made for.

        Raises:
            NotFoundError: no such request in the tenant of the requester.
            RefusedError: it is somebody else's, or over.
        """
        return await self._decide("withdraw", approval_id, requester, reason)

    async def expire(self, now: datetime) -> int:
        """End all requests of all tenants whose time is over; says how many."""
        ended = 0
        while due := await self._means.store.expired_approvals(now):
            before = ended
            for approval in due:
                ended += await expire(self._means, approval, now)
            if ended == before:  # somebody else is at it
                break
        return ended

    async def execute(
        self, tenant: str, approval_id: str, *, locale: Locale = "en", observer: Observer | None = None
    ) -> CallOutcome:
        """Carry out the stored call of an approved request, if tool and policy still say what was approved.

        Only the first to do so runs it; everybody else, and whoever asks before it is approved or after it is over,
        gets the call as it stands.

        Raises:
            NotFoundError: no such request in this tenant.
            StoreError: the record could not be written. Before the tool ran: it did not run. After it: the call stays
                `started` on record, its outcome is unknown.
        """
        approval = await self._find(tenant, approval_id)
        call = await call_of(self._means, approval)
        if approval.state == "approved" and call.state == "waiting":
            now = self._means.clock()
            expired = await expire(self._means, approval, now)
            outcome = None if expired else await self._consume(approval, call, now, locale, observer)
            if outcome is not None:
                return outcome
            call = await call_of(self._means, approval)
        return await outcome_of(self._means.store, call)

    async def _consume(
        self, approval: StoredApproval, call: StoredCall, now: datetime, locale: Locale, observer: Observer | None
    ) -> CallOutcome | None:
        """The outcome of the call, or nothing if it was void or somebody else was faster."""
        agent = approval.record.agent
        allowed = None if agent is None else self._means.allow_list(agent)
        request = request_of(approval.record, call, locale=locale, allowed_tools=allowed)
        valid = still_valid(self._means, approval, call, request)
        if not isinstance(valid, Valid):
            await end(self._means, approval, "void", now, valid)
            return None
        recording = Recording(self._means, request, observer)
        try:
            await recording.begin(self._start(recording, approval, valid, now), starts=True)
        except ConflictError:
            return None
        with self._means.limits.held(self._means.question(request, valid.tool, valid.arguments)):
            return await carry_out(self._means, recording, valid.tool, valid.arguments, valid.decision)

    def _start(self, recording: Recording, approval: StoredApproval, valid: Valid, now: datetime) -> Sequence[Record]:
        request, approval_id = recording.request, approval.record.approval_id
        record = recording.first("started", valid.tool, valid.decision, approval_id=approval_id)
        return [
            *changed(approval, "consumed", now, actor=None, notify=self._means.notify),
            CallChange(call_id=request.call_id, tenant=record.tenant, was="waiting", state="started", at=now),
            *journal(request, "started", now, decision=valid.decision, approval_id=approval_id),
            audit_of_decision(request, record),
        ]

    async def _decide(self, attempt: Attempt, approval_id: str, who: Principal, reason: str) -> StoredApproval:
        reason = scrub_text(cut_middle(reason.strip(), _MAX_REASON_CHARS).text)
        for _ in range(_ROUNDS):
            approval = await self._find(who.tenant, approval_id)
            now = self._means.clock()
            if await expire(self._means, approval, now):
                continue
            tags = self._tags_of(approval.record.tool)
            if refusing := refusal(attempt, approval, who, reason, tags):
                rule, why = refusing
                await self._means.store.commit([refused(approval.record, who, attempt, rule, why, now)])
                raise RefusedError(attempt, "approval request", approval.record.approval_id, rule, why)
            try:
                await self._means.store.commit(await self._decision(attempt, approval, who, reason, now))
            except ConflictError:
                continue
            return await self._find(who.tenant, approval.record.approval_id)
        raise ConflictError("approval request", approval_id, "as it was when it was read")

    async def _decision(
        self, attempt: Attempt, approval: StoredApproval, who: Principal, reason: str, now: datetime
    ) -> Sequence[Record]:
        if attempt == "withdraw":
            why = reason or "its requester took it back"
            return await ending(self._means, approval, "withdrawn", now, why, actor=who)
        vote = Vote(approver=who.subject, verdict=attempt, reason=reason, at=now)
        if attempt == "reject":
            why = f"{who.subject} said no: {reason}"
            return await ending(self._means, approval, "rejected", now, why, actor=who, vote=vote)
        complete = len(approval.votes) + 1 >= approval.record.approvals_needed
        state: ApprovalState = "approved" if complete else "pending"
        return [*changed(approval, state, now, actor=who, vote=vote, notify=self._means.notify)]

    async def _find(self, tenant: str, approval_id: str) -> StoredApproval:
        approval = await self._means.store.find_approval(tenant, approval_id) if approval_id else None
        if approval is None:
            raise _not_found(approval_id)
        return approval

    def _may_see(self, who: Principal, approval: StoredApproval) -> bool:
        return may_see(approval, who, self._tags_of(approval.record.tool))

    def _tags_of(self, tool: str) -> frozenset[str]:
        try:
            return self._means.registry.get(tool).tags
        except NotFoundError:
            return frozenset()


def _not_found(approval_id: str) -> NotFoundError:
    return NotFoundError("approval request", approval_id, "`daeri approvals list` shows all that you may see.")
