"""One call on its way through the door: resolve, validate, decide, record, carry out, check, record."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from daeri.errors import ConflictError, Failure, StoreError
from daeri.text import Json, JsonObject, digest, scrub_text
from daeri.tools import Tool, ToolContext, ToolRegistry, closest_names

from ._check import admitted, argument_failure, checked_result
from ._gateway import Gateway
from ._policy import Policy
from ._records import (
    CallChange,
    CallOutcome,
    CallRecord,
    CallRequest,
    CallState,
    CallStore,
    Decision,
    JournalEntry,
    Record,
)
from ._writing import approval_record, audit_of_decision, audit_of_outcome, journal

_CANCEL_RECORD_LIMIT_S = 5.0
"""How long a cancelled call may take to write down that it was cancelled."""


_NO_OUTCOME = Failure(
    kind="unavailable", diagnostic="the call was started and has no outcome on record; it may still be running"
)


class Observer(Protocol):
    """Follows a call while it happens."""

    def recorded(self, entry: JournalEntry, seq: int) -> None:
        """A journal event of the call is on disk."""
        ...

    def tool_progress(self, call_id: str, tool: str, text: str) -> None:
        """The running tool says how far it is."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """What a call needs on its way."""

    registry: ToolRegistry
    store: CallStore
    policy: Policy
    gateway: Gateway
    approval_ttl: timedelta
    clock: Callable[[], datetime]
    writing: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    """What is being written down, be its caller cancelled or not."""


class Passage:
    """One call on its way through the door."""

    def __init__(self, means: Means, request: CallRequest, observer: Observer | None) -> None:
        self._means = means
        self._request, self._beyond_limits = admitted(request)
        self._observer = observer

    async def run(self) -> CallOutcome:
        tool = self._resolve()
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
        decision = self._means.policy.decide(self._request.principal, tool, arguments)
        if decision.verdict == "deny":
            failure = Failure(kind="denied", diagnostic="; ".join(decision.reasons))
            return await self.end_before_start("denied", failure, tool=tool, decision=decision)
        if decision.verdict == "require_approval":
            return await self._wait_for_approval(tool, decision)
        return await self._carry_out(tool, arguments, decision)

    def _resolve(self) -> Tool | Failure:
        request = self._request
        visible = self._means.registry.visible_to(request.principal, request.allowed_tools)
        for tool in visible:
            if tool.name == request.tool:
                return tool
        names = closest_names(request.tool, [tool.name for tool in visible])
        hint = f"; did you mean {', '.join(names)}?" if names else ""
        return Failure(kind="unknown_tool", diagnostic=f"there is no tool {request.tool!r}{hint}")

    async def end_before_start(
        self, state: CallState, failure: Failure, *, tool: Tool | None = None, decision: Decision | None = None
    ) -> CallOutcome:
        """Record a call that ends without having run."""
        record = self._record(state, tool, decision, failure=failure)
        recorded = await self._open(
            record, journal(self._request, state, record.at, decision=decision, failure=failure)
        )
        return recorded or self._outcome(state, decision, failure=failure)

    async def _wait_for_approval(self, tool: Tool, decision: Decision) -> CallOutcome:
        approval_id = f"apr_{secrets.token_hex(8)}"
        record = self._record("waiting", tool, decision, approval_id=approval_id)
        approval = approval_record(
            self._request, record, approval_id, tool, decision, record.at + self._means.approval_ttl
        )
        waiting = journal(self._request, "waiting", record.at, decision=decision, approval_id=approval_id)
        recorded = await self._open(record, waiting, approval)
        return recorded or self._outcome("waiting", decision, approval_id=approval_id)

    async def _carry_out(self, tool: Tool, arguments: JsonObject, decision: Decision) -> CallOutcome:
        record = self._record("started", tool, decision)
        recorded = await self._open(record, journal(self._request, "started", record.at, decision=decision))
        if recorded:
            return recorded
        began = time.perf_counter()
        try:
            result = await self._means.gateway.carry_out(
                self._means.registry.provider_of(tool.name), tool, arguments, self._context(tool)
            )
        except asyncio.CancelledError:
            await self._record_cancellation(tool, began)
            raise
        if not isinstance(result, Failure):
            result = checked_result(tool, result, self._means.registry.validators)
        failure = result if isinstance(result, Failure) else None
        value = None if isinstance(result, Failure) else result
        return await self._close(_state_after(tool, failure), decision, began, failure=failure, value=value)

    def _context(self, tool: Tool) -> ToolContext:
        request = self._request
        loop = asyncio.get_running_loop()
        observer = self._observer

        def report(text: str) -> None:
            # a thread may outlive the loop; what it does must not fail for want of a listener
            if observer is not None and not loop.is_closed():
                loop.call_soon_threadsafe(observer.tool_progress, request.call_id, tool.name, scrub_text(text))

        return ToolContext(
            call_id=request.call_id,
            principal=request.principal,
            locale=request.locale,
            report=report,
            run_id=request.run_id,
            idempotency_key=request.idempotency_key or request.call_id,
        )

    async def _open(self, record: CallRecord, entries: Iterable[JournalEntry], *others: Record) -> CallOutcome | None:
        """Write the first state of the call; the recorded outcome instead, if its id is on record already."""
        request = self._request
        asked = journal(request, "requested", record.at, arguments=record.arguments)
        writing = self._apart(self._commit([record, *asked, *entries, *others, audit_of_decision(request, record)]))
        try:
            await asyncio.shield(writing)
        except ConflictError:
            return await self._recorded(record)
        except asyncio.CancelledError:
            await self._in_spite_of_cancel(self._undo_start(record, writing))
            raise
        return None

    async def _undo_start(self, record: CallRecord, writing: asyncio.Task[None]) -> None:
        """Cancelled while the start was being written: if that gets to disk, say that nothing ran."""
        await writing
        if record.state == "started":
            failure = Failure(kind="cancelled", diagnostic="cancelled before it was carried out")
            await self._write_end("cancelled", failure, None, 0.0)

    async def _record_cancellation(self, tool: Tool, began: float) -> None:
        repeatable = tool.annotations.repeatable
        detail = "cancelled" if repeatable else "cancelled while it ran; whether it took effect is not known"
        failure = Failure(kind="cancelled", diagnostic=detail)
        state: CallState = "cancelled" if repeatable else "unknown"
        await self._in_spite_of_cancel(self._write_end(state, failure, None, _milliseconds_since(began)))

    async def _in_spite_of_cancel(self, work: Coroutine[Any, Any, None]) -> None:
        async def written() -> None:
            # what can't be written stays `started`: its outcome is unknown
            with suppress(ConflictError, StoreError):
                await work

        # a further cancel interrupts this wait, not the writing
        await asyncio.wait({self._apart(written())}, timeout=_CANCEL_RECORD_LIMIT_S)

    def _apart(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Begin to write in a task that nobody cancels and that the boundary waits for when it is closed."""
        task = asyncio.ensure_future(work)
        self._means.writing.add(task)
        task.add_done_callback(self._means.writing.discard)
        return task

    async def _close(
        self, state: CallState, decision: Decision, began: float, *, failure: Failure | None, value: Json
    ) -> CallOutcome:
        elapsed_ms = _milliseconds_since(began)
        # shielded: the tool has run, so its outcome gets on record even if nobody waits for it any more
        await asyncio.shield(self._apart(self._write_end(state, failure, value, elapsed_ms)))
        return self._outcome(state, decision, value=value, failure=failure, elapsed_ms=elapsed_ms)

    async def _write_end(self, state: CallState, failure: Failure | None, value: Json, elapsed_ms: float) -> None:
        request, at = self._request, self._means.clock()
        result_digest = digest(value) if state == "succeeded" else None
        change = CallChange(
            call_id=request.call_id,
            tenant=request.principal.tenant,
            was="started",
            state=state,
            at=at,
            result=value if state == "succeeded" else None,
            has_result=state == "succeeded",
            result_digest=result_digest,
            failure=failure,
            elapsed_ms=elapsed_ms,
        )
        ended = journal(request, state, at, failure=failure, elapsed_ms=elapsed_ms, result_digest=result_digest)
        proof = audit_of_outcome(
            request, state, at, failure=failure, result_digest=result_digest, elapsed_ms=elapsed_ms
        )
        await self._commit([change, *ended, proof])

    async def _commit(self, records: Sequence[Record]) -> None:
        numbers = await self._means.store.commit(records)
        if self._observer is not None:
            entries = [record for record in records if isinstance(record, JournalEntry)]
            for entry, seq in zip(entries, numbers, strict=True):
                self._observer.recorded(entry, seq)

    async def _recorded(self, record: CallRecord) -> CallOutcome:
        stored = await self._means.store.find_call(record.tenant, record.call_id)
        if stored is None or _asked(stored.record) != _asked(record):
            raise ConflictError("call", record.call_id, "this call with these arguments")
        value: Json = None
        if stored.state == "succeeded":
            value = await self._means.store.result_of(record.tenant, record.call_id)
        return CallOutcome(
            call_id=record.call_id,
            tool=record.tool,
            state=stored.state,
            decision=stored.record.decision,
            value=value,
            failure=_NO_OUTCOME if stored.state == "started" else stored.failure,
            approval_id=stored.record.approval_id,
            elapsed_ms=stored.elapsed_ms or 0.0,
        )

    def _record(
        self,
        state: CallState,
        tool: Tool | None,
        decision: Decision | None,
        *,
        failure: Failure | None = None,
        approval_id: str | None = None,
    ) -> CallRecord:
        request = self._request
        return CallRecord(
            call_id=request.call_id,
            tenant=request.principal.tenant,
            subject=request.principal.subject,
            tool=request.tool,
            definition_hash=tool.definition_hash if tool else None,
            arguments=request.arguments,
            arguments_digest=digest(request.arguments),
            origin=request.origin,
            state=state,
            at=self._means.clock(),
            run_id=request.run_id,
            agent=request.agent,
            idempotency_key=request.idempotency_key,
            sources=request.sources,
            decision=decision,
            failure=failure,
            approval_id=approval_id,
        )

    def _outcome(
        self,
        state: CallState,
        decision: Decision | None,
        *,
        value: Json = None,
        failure: Failure | None = None,
        approval_id: str | None = None,
        elapsed_ms: float = 0.0,
    ) -> CallOutcome:
        return CallOutcome(
            call_id=self._request.call_id,
            tool=self._request.tool,
            state=state,
            decision=decision,
            value=value if state == "succeeded" else None,
            failure=failure,
            approval_id=approval_id,
            elapsed_ms=elapsed_ms,
        )


def _asked(record: CallRecord) -> tuple[str | None, ...]:
    """What makes two asks with one call id the same ask; nobody gets the outcome of somebody else's call."""
    return (record.tool, record.arguments_digest, record.subject, record.run_id)


def _state_after(tool: Tool, failure: Failure | None) -> CallState:
    if failure is None:
        return "succeeded"
    if failure.kind == "timeout" and not tool.annotations.repeatable:
        return "unknown"
    return "failed"


def _milliseconds_since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)
