"""The store on SQLite: the record of all that happened, in one file."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

from daeri.boundary import Checkpoint, JournalEntry, Record
from daeri.engine import RunRow, RunState
from daeri.errors import ConflictError, StoreError
from daeri.tools import Tool

from ._batch import Unit
from ._catalogue import Seen, catalogue_rows
from ._encode import encode, encode_checkpoint, encode_run, encode_run_state
from ._file import connect, prepare
from ._read_approvals import ApprovalReads
from ._read_audit import AuditReads
from ._reader import Reader, open_reader
from ._reads import Reads
from ._statements import DEFINITION, PROBE_END, Written
from ._time import to_micros
from ._writer import Writer

BUSY_TIMEOUT_S = 10.0
"""How long another process may hold the write lock before a write fails."""

_PROBE = "probe"
_ROUNDS = 16
"""How often the catalogue is compared again because another process was faster; each time fewer tools are left."""
_LAST_OFFERED = "SELECT name, definition_hash, enabled FROM tools WHERE name IN (SELECT value FROM json_each(?))"


class SqliteStore(Reads, ApprovalReads, AuditReads):
    """Runs, journals, calls, approvals, audit record and tool catalogue in one SQLite file.

    Implements `CallStore`, `ApprovalStore`, `OutboxStore` and `RunStore`. Whatever a method writes is on disk when it
    returns; cancelling the caller doesn't take back what it has handed over. Several processes may open the same file.
    """

    def __init__(self, reader: Reader, writer: Writer, file: Path, busy_timeout_s: float) -> None:
        Reads.__init__(self, reader)
        AuditReads.__init__(self, reader, file, busy_timeout_s)
        self._writer = writer

    @classmethod
    async def open(cls, path: Path | str, *, busy_timeout_s: float = BUSY_TIMEOUT_S) -> Self:
        """Open the database file `path`, made and migrated as needed; `daeri.db` by custom.

        Raises:
            StoreError: the file can't be opened, is not Daeri's, or is of a newer release.
        """
        file = await asyncio.to_thread(prepare, Path(path), busy_timeout_s)
        reader = await open_reader(file, busy_timeout_s)
        return cls(reader, Writer(lambda: connect(file, busy_timeout_s)), file, busy_timeout_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Write what was handed over, then close the file."""
        await self._writer.close()
        await self._reader.aclose()

    @property
    def transactions(self) -> int:
        """How many transactions this store has committed; commits that wait for the disk together share one."""
        return self._writer.transactions

    async def commit(self, records: Sequence[Record]) -> Sequence[int]:
        """Write all records in one transaction.

        The digest of a result is taken of the text that is stored, whatever `result_digest` says.

        Returns:
            The journal sequence numbers given to the `JournalEntry` records, in order.

        Raises:
            ConflictError: a call id or idempotency key that is taken, a change from a state or version that is past,
                a second vote of one person, a second pending request for the same ask outside runs.
            StoreError: the disk or the database refused; nothing was written.
        """
        return await self._writer.write(lambda: [row for record in records for row in encode(record)])

    async def create_run(self, run: RunRow, first: JournalEntry) -> None:
        """Write the run and the first event of its journal in one transaction.

        Raises:
            ConflictError: the run id exists.
            StoreError: nothing was written.
        """
        await self._writer.write(lambda: [encode_run(run), *encode(first)])

    async def append(self, entries: Sequence[JournalEntry], *, state: RunState | None = None) -> Sequence[int]:
        """Write events of one run, and its new state if it has one, in one transaction; gives their numbers.

        Raises:
            StoreError: nothing was written.
        """
        if not entries:
            return ()

        def rows() -> Unit:
            change = [] if state is None else [encode_run_state(entries[-1], state)]
            return [*change, *(row for entry in entries for row in encode(entry))]

        return await self._writer.write(rows)

    async def keep_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a signed head of the audit chain; the first one of a row stays.

        Raises:
            StoreError: nothing was written.
        """
        await self._writer.write(lambda: [encode_checkpoint(checkpoint)])

    async def record_definitions(self, tools: Iterable[Tool], *, tenant: str, actor: str) -> None:
        """Keep the tools as they are offered now; audit what is new, changed, disabled or enabled since the last time.

        A catalogue that is as it was costs nothing but the look.

        Raises:
            StoreError: nothing was written.
        """
        offered = tuple(tools)
        names = json.dumps([tool.name for tool in offered])
        for _ in range(_ROUNDS):
            known = {name: (was, bool(enabled)) for name, was, enabled in await self._reader.rows(_LAST_OFFERED, names)}
            seen = Seen(at=datetime.now(UTC), tenant=tenant, actor=actor)
            rows = catalogue_rows(offered, known, seen)
            if not rows:
                return
            try:
                await self._writer.write(lambda rows=rows: rows)
            except ConflictError:  # another process that starts just now has seen some of it, too
                continue
            return
        raise StoreError("keep the tools as they are offered", "other processes keep changing them")

    async def check(self) -> Sequence[str]:
        """What is wrong with the file; nothing when it is sound and can be written."""
        wrong: list[str] = []
        try:
            wrong += [str(line) for (line,) in await self._reader.rows("PRAGMA quick_check(10)") if line != "ok"]
            await self._writer.write(_probe)
        except StoreError as problem:
            wrong.append(problem.cause)
        return wrong


def _probe() -> Sequence[Written]:
    """A row that comes and goes in one transaction: written to the disk, and nothing left of it."""
    return [(DEFINITION, (_PROBE, _PROBE, _PROBE, "{}", to_micros(datetime.now(UTC)))), (PROBE_END, (_PROBE,))]
