"""Calls that a process left behind when it died: `unknown` from the moment that somebody opens Daeri alone.

Whoever has Daeri open holds a shared lock on a file in its data directory; the operating system takes it back when the
process ends, however it ends. Who gets the lock alone knows that nobody works here, so that what is `started` is not.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from daeri.boundary import AuditEvent, CallChange, JournalEntry, Record, StoredCall, failure_json
from daeri.errors import ConflictError, Failure, StoreError
from daeri.text import JsonObject

LOCK = "daeri.lock"

_RETRY_S = 0.01
_LONGEST_WAIT_S = 60.0
_SETTLED = Failure(
    kind="unavailable", diagnostic="the process that carried it out ended; whether it took effect is not known"
)

_log = logging.getLogger(__name__)


class OrphanStore(Protocol):
    """Where calls are found that were started, and written down how they stand."""

    async def started_calls(self) -> Sequence[StoredCall]:
        """The calls of all tenants that are started and have no outcome."""
        ...

    async def commit(self, records: Sequence[Record]) -> Sequence[int]:
        """Write all records in one transaction."""
        ...


class Presence:
    """That this process has Daeri open, for others to see."""

    def __init__(self, handle: int | None, *, alone: bool) -> None:
        self._handle = handle
        self._alone = alone

    @property
    def alone(self) -> bool:
        """Whether nobody else has Daeri open; as long as this is held, nobody gets to."""
        return self._alone

    async def settle(self, store: OrphanStore) -> None:
        """Settle the calls of processes that died, if nobody else is here; from then on others may come.

        Raises:
            StoreError: the record can't be read.
        """
        if self._handle is None or not self._alone:
            return
        for call in await store.started_calls():
            try:
                await store.commit(_settling(call, datetime.now(UTC)))
            except (ConflictError, StoreError) as problem:
                _log.warning("call %s could not be settled: %s", call.record.call_id, problem)
        await _shared(self._handle)
        self._alone = False


@asynccontextmanager
async def present(home: Path) -> AsyncGenerator[Presence]:
    """Be seen as somebody who has Daeri open.

    Where files can't be locked nobody is seen, and nobody believes to be alone.

    Raises:
        StoreError: somebody else is opening Daeri, and does not get done.
    """
    handle, alone = await asyncio.to_thread(_open, home)
    try:
        if handle is not None and not alone:
            await _shared(handle)
        yield Presence(handle, alone=alone)
    finally:
        if handle is not None:
            os.close(handle)


def _open(home: Path) -> tuple[int | None, bool]:
    """The lock file, and whether the lock could be had alone."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(home / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as problem:  # what is wrong with the directory is said by whoever opens the database in it
        _log.warning("no lock can be made in %s: %s", home, problem)
        return None, False
    try:
        return handle, _locked(handle, exclusive=True)
    except (OSError, ImportError) as problem:
        _log.warning("files can't be locked in %s: %s", home, problem)
        os.close(handle)
        return None, False


def _locked(handle: int, *, exclusive: bool) -> bool:
    """Whether the lock could be had at once; a lock of the other kind becomes this one."""
    import fcntl  # some systems have none

    try:
        fcntl.flock(handle, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


async def _shared(handle: int) -> None:
    # Changing the kind of a lock lets go of it for a moment; another process may be the exclusive one meanwhile.
    clock = asyncio.get_running_loop().time
    until = clock() + _LONGEST_WAIT_S
    while not _locked(handle, exclusive=False):
        if clock() > until:
            raise StoreError(f"open {LOCK!r}", "another process that opens Daeri does not get done")
        await asyncio.sleep(_RETRY_S)


def _settling(call: StoredCall, at: datetime) -> Sequence[Record]:
    record = call.record
    records: list[Record] = [
        CallChange(
            call_id=record.call_id, tenant=record.tenant, was="started", state="unknown", at=at, failure=_SETTLED
        )
    ]
    if record.run_id is not None:
        told: JsonObject = {
            "call_id": record.call_id,
            "tool": record.tool,
            "state": "unknown",
            "failure": failure_json(_SETTLED),
        }
        records.append(JournalEntry(run_id=record.run_id, tenant=record.tenant, type="call.unknown", at=at, data=told))
    records.append(
        AuditEvent(
            tenant=record.tenant,
            kind="call.unknown",
            actor="system",
            at=at,
            subject=record.call_id,
            data={"tool": record.tool, "failure": {"kind": _SETTLED.kind}},
            run_id=record.run_id,
        )
    )
    return records
