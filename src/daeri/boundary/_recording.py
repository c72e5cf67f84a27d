"""Writing one call down: how it begins, how it ends, and that a cancelled caller takes nothing back."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import Any

from daeri.errors import ConflictError, ErrorKind, Failure, StoreError
from daeri.text import Json, digest
from daeri.tools import Tool

from ._attempts import AttemptNote
from ._means import Means, Observer
from ._records import (
    CallChange,
    CallOutcome,
    CallRecord,
    CallRequest,
    CallState,
    Decision,
    Effort,
    JournalEntry,
    Record,
)
from ._writing import attempt_records, audit_of_outcome, journal

_CANCEL_RECORD_LIMIT_S = 5.0
"""How long a cancelled call may take to write down that it was cancelled."""

_KEEPS_NO_KEY: frozenset[ErrorKind] = frozenset(
    {"rate_limited", "invalid_arguments", "malformed_arguments", "truncated_arguments"}
)
"""Failures before anything ran that the caller can do something about."""


class Recording:
    """What one call leaves on record."""

    def __init__(self, means: Means, request: CallRequest, observer: Observer | None) -> None:
        self.request = request
        self.observer = observer
        self._means = means
        self._tool: Tool | None = None

    def first(
        self,
        state: CallState,
        tool: Tool | None,
        decision: Decision | None,
        *,
        failure: Failure | None = None,
        approval_id: str | None = None,
    ) -> CallRecord:
        """The row with which the call enters the record."""
        request, self._tool = self.request, tool
        return CallRecord(
            call_id=request.call_id,
            tenant=request.principal.tenant,
            subject=request.principal.subject,
            person=request.principal.person.subject,
            tool=request.tool,
            definition_hash=tool.definition_hash if tool else None,
            arguments=request.arguments,
            arguments_digest=digest(request.arguments),
            origin=request.origin,
            state=state,
            at=self._means.clock(),
            run_id=request.run_id,
            agent=request.agent,
            # who came too fast, or has put it right, comes again with the same key
            idempotency_key=None if failure and failure.kind in _KEEPS_NO_KEY else request.idempotency_key,
            sources=request.sources,
            decision=decision,
            failure=failure,
            approval_id=approval_id,
        )

    async def begin(self, records: Sequence[Record], *, starts: bool) -> None:
        """Write what goes before the tool runs; `starts`: with it the call counts as started.

        Raises:
            ConflictError: the record holds something else already; nothing was written.
        """
        writing = self._apart(self._commit(records))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await self._in_spite_of_cancel(self._undo_start(writing, starts=starts))
            raise

    async def attempted(self, note: AttemptNote) -> None:
        """Write that an attempt failed, before the next one is made."""
        records = attempt_records(self.request, note, self._means.clock(), self._tool)
        await asyncio.shield(self._apart(self._commit([*records])))

    async def end(
        self,
        state: CallState,
        decision: Decision,
        *,
        failure: Failure | None,
        value: Json,
        elapsed_ms: float,
        effort: Effort,
    ) -> CallOutcome:
        """Write how the call ended."""
        # the tool has run: its outcome gets on record even if nobody waits for it any more, and before anybody goes on
        writing = self._apart(self._write_end(state, failure, value, elapsed_ms, effort))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait({writing}, timeout=_CANCEL_RECORD_LIMIT_S)
            raise
        return self.outcome(state, decision, value=value, failure=failure, elapsed_ms=elapsed_ms, effort=effort)

    async def end_in_spite_of_cancel(self, state: CallState, failure: Failure, elapsed_ms: float) -> None:
        """Write how a call ended whose caller is being cancelled."""
        await self._in_spite_of_cancel(self._write_end(state, failure, None, elapsed_ms))

    def outcome(
        self,
        state: CallState,
        decision: Decision | None,
        *,
        value: Json = None,
        failure: Failure | None = None,
        approval_id: str | None = None,
        elapsed_ms: float = 0.0,
        effort: Effort | None = None,
    ) -> CallOutcome:
        """What the caller is told."""
        return CallOutcome(
            call_id=self.request.call_id,
            tool=self.request.tool,
            state=state,
            decision=decision,
            value=value if state == "succeeded" else None,
            failure=failure,
            approval_id=approval_id,
            elapsed_ms=elapsed_ms,
            effort=effort or Effort(),
        )

    async def _undo_start(self, writing: asyncio.Task[None], *, starts: bool) -> None:
        """Cancelled while the start was being written: if that gets to disk, say that nothing ran."""
        await writing
        if starts:
            failure = Failure(kind="cancelled", diagnostic="cancelled before it was carried out")
            await self._write_end("cancelled", failure, None, 0.0)

    async def _write_end(
        self,
        state: CallState,
        failure: Failure | None,
        value: Json,
        elapsed_ms: float,
        effort: Effort | None = None,
    ) -> None:
        request, at = self.request, self._means.clock()
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
        ended = journal(
            request,
            state,
            at,
            failure=failure,
            elapsed_ms=elapsed_ms,
            result_digest=result_digest,
            effort=effort,
        )
        proof = audit_of_outcome(
            request,
            state,
            at,
            tool=self._tool,
            failure=failure,
            result_digest=result_digest,
            elapsed_ms=elapsed_ms,
            effort=effort,
        )
        await self._commit([change, *ended, proof])

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

    async def _commit(self, records: Sequence[Record]) -> None:
        numbers = await self._means.store.commit(records)
        if self.observer is not None:
            entries = [record for record in records if isinstance(record, JournalEntry)]
            for entry, seq in zip(entries, numbers, strict=True):
                self.observer.recorded(entry, seq)
