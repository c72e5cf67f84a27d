"""One call on its way through the door: resolve, validate, decide, record; then it runs, or waits, or ends."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping

from daeri.errors import ConflictError, Failure
from daeri.text import JsonObject
from daeri.tools import Tool

from ._asked_before import call_in_the_way, earlier_call, outcome_of
from ._check import admitted, argument_failure, normalised
from ._ending import call_of, expire
from ._execution import carry_out
from ._limits import OverLimit
from ._means import Means, Observer
from ._policy import strictest
from ._recording import Recording
from ._records import ApprovalRecord, CallOutcome, CallRecord, CallRequest, CallState, Decision, JournalEntry, Record
from ._transitions import requested
from ._writing import approval_record, audit_of_decision, journal


class Passage:
    """One call on its way through the door."""

    def __init__(self, means: Means, request: CallRequest, observer: Observer | None) -> None:
        admitted_request, self._beyond_limits = admitted(request)
        self._means = means
        self._tool = means.resolve(admitted_request)
        self._request = normalised(admitted_request, self._tool, means.registry.validators)
        self._recording = Recording(means, self._request, observer)

    async def run(self) -> CallOutcome:
        if earlier := await earlier_call(self._means.store, self._request):
            return await outcome_of(self._means.store, earlier)
        tool = self._tool
        if isinstance(tool, Failure):
            decision = Decision(verdict="deny", rules=("tool.unknown",), reasons=(tool.diagnostic,))
            return await self.end_before_start("denied", tool, decision=decision)
        if failure := self._beyond_limits:
            return await self.end_before_start("failed", failure, tool=tool)
        arguments = self._request.arguments
        if not isinstance(arguments, Mapping):
            failure = Failure(kind="invalid_arguments", diagnostic="arguments must be a JSON object", path="")
            return await self.end_before_start("failed", failure, tool=tool)
        if failure := argument_failure(tool, arguments, self._means.registry.validators):
            return await self.end_before_start("failed", failure, tool=tool)
        return await self._decide(tool, arguments)

    async def _decide(self, tool: Tool, arguments: JsonObject) -> CallOutcome:
        question = self._means.question(self._request, tool, arguments)
        decision = self._means.policy.decide(question)
        if decision.verdict == "deny":
            failure = Failure(kind="denied", diagnostic="; ".join(decision.reasons))
            return await self.end_before_start("denied", failure, tool=tool, decision=decision)
        if refusal := self._means.limits.spend(question):
            return await self._refuse(tool, decision, refusal)
        if decision.verdict == "require_approval":
            return await self._wait_for_approval(tool, decision)
        with self._means.limits.slot(question) as refusal:
            if refusal:
                return await self._refuse(tool, decision, refusal)
            return await self._start(tool, arguments, decision)

    async def _refuse(self, tool: Tool, decision: Decision, refusal: OverLimit) -> CallOutcome:
        refused = strictest([refusal.decision, decision])
        return await self.end_before_start("denied", refusal.failure, tool=tool, decision=refused)

    async def end_before_start(
        self, state: CallState, failure: Failure, *, tool: Tool | None = None, decision: Decision | None = None
    ) -> CallOutcome:
        """Record a call that ends without having run."""
        record = self._recording.first(state, tool, decision, failure=failure)
        entries = journal(self._request, state, record.at, decision=decision, failure=failure)
        recorded = await self._open(record, entries, tool=tool)
        return recorded or self._recording.outcome(state, decision, failure=failure)

    async def _wait_for_approval(self, tool: Tool, decision: Decision) -> CallOutcome:
        approval_id = f"apr_{secrets.token_hex(8)}"
        record = self._recording.first("waiting", tool, decision, approval_id=approval_id)
        approval = approval_record(
            self._request, record, approval_id, tool, decision, record.at + self._means.approval_ttl
        )
        if attached := await self._attached(approval):
            return attached
        entries = journal(self._request, "waiting", record.at, decision=decision, approval_id=approval_id)
        others = requested(approval, notify=self._means.notify)
        recorded = await self._open(record, entries, approval, *others, tool=tool)
        return recorded or self._recording.outcome("waiting", decision, approval_id=approval_id)

    async def _attached(self, approval: ApprovalRecord) -> CallOutcome | None:
        """Outside runs an equal ask waits already: this one is the same, not a second one."""
        if approval.run_id is not None:
            return None
        pending = await self._means.store.pending_approval(approval.tenant, approval.digest)
        if pending is None or await expire(self._means, pending, approval.created_at):
            return None
        return await outcome_of(self._means.store, await call_of(self._means, pending))

    async def _start(self, tool: Tool, arguments: JsonObject, decision: Decision) -> CallOutcome:
        record = self._recording.first("started", tool, decision)
        entries = journal(self._request, "started", record.at, decision=decision)
        recorded = await self._open(record, entries, tool=tool)
        return recorded or await carry_out(self._means, self._recording, tool, arguments, decision)

    async def _open(
        self, record: CallRecord, entries: Iterable[JournalEntry], *others: Record, tool: Tool | None
    ) -> CallOutcome | None:
        """Write the first state of the call; the recorded outcome instead, if it was asked before."""
        request = self._request
        asked = journal(request, "requested", record.at, arguments=record.arguments)
        records = [record, *asked, *entries, audit_of_decision(request, record, tool), *others]
        try:
            await self._recording.begin(records, starts=record.state == "started")
        except ConflictError:
            earlier = await call_in_the_way(self._means.store, record, others)
            if earlier is None:
                raise
            return await outcome_of(self._means.store, earlier)
        return None
