"""Everything that is read, beside the writer and never in its way."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from daeri.boundary import ApprovalRecord, StoredCall
from daeri.engine import JournalEvent, RunRow, RunState
from daeri.errors import NotFoundError, StoreError
from daeri.text import Json, JsonObject

from ._chain import AuditRow
from ._decode import (
    APPROVAL_COLUMNS,
    AUDIT_COLUMNS,
    CALL_COLUMNS,
    EVENT_COLUMNS,
    RUN_COLUMNS,
    StoredRow,
    approval_record,
    audit_row,
    journal_event,
    parse,
    run_row,
    stored_call,
)
from ._encode import clean
from ._file import connect

_T = TypeVar("_T")

_TABLES = ("runs", "events", "calls", "payloads", "approvals", "audit", "tool_definitions")
# Parsing this much takes about a millisecond; more of it would hold up the event loop.
_MANY_CHARACTERS = 200_000


class Reads:
    """The reading half of a store: one connection on a snapshot per question."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._reader = connection

    async def find_call(self, tenant: str, call_id: str) -> StoredCall | None:
        """The call with this id, if any."""
        found = await self._all(
            stored_call, f"SELECT {CALL_COLUMNS} FROM calls WHERE tenant = ? AND call_id = ?", tenant, call_id
        )
        return found[0] if found else None

    async def result_of(self, tenant: str, call_id: str) -> Json:
        """The full result of a call that succeeded.

        Raises:
            NotFoundError: no such call, or it has no result.
        """
        found: Sequence[Json] = await self._all(
            _json_of,
            "SELECT body FROM calls JOIN payloads ON payloads.tenant = calls.tenant AND digest = result_digest"
            " WHERE calls.tenant = ? AND call_id = ?",
            tenant,
            call_id,
        )
        if not found:
            raise NotFoundError("result of call", call_id)
        return found[0]

    async def calls_of(self, tenant: str, run_id: str) -> Sequence[StoredCall]:
        """All calls of a run, in the order in which they were requested."""
        return await self._all(
            stored_call,
            f"SELECT {CALL_COLUMNS} FROM calls WHERE tenant = ? AND run_id = ? ORDER BY requested_at, rowid",
            tenant,
            run_id,
        )

    async def approvals_of(self, tenant: str, run_id: str) -> Sequence[ApprovalRecord]:
        """All approval requests of a run, oldest first."""
        return await self._all(
            approval_record,
            f"SELECT {APPROVAL_COLUMNS} FROM approvals WHERE tenant = ? AND run_id = ? ORDER BY created_at, rowid",
            tenant,
            run_id,
        )

    async def audit_of(self, tenant: str, run_id: str) -> Sequence[AuditRow]:
        """What the audit record says about a run, as it is stored."""
        return await self._all(
            audit_row,
            f"SELECT {AUDIT_COLUMNS} FROM audit WHERE tenant = ? AND run_id = ? ORDER BY chain, seq",
            tenant,
            run_id,
        )

    async def run(self, tenant: str, run_id: str) -> RunRow:
        """The run with this id, or whose id begins so if that is only one.

        Raises:
            NotFoundError: none such in this tenant, or several.
        """
        found = await self._all(
            run_row,
            f"SELECT {RUN_COLUMNS} FROM runs WHERE tenant = ?1 AND run_id >= ?2 AND run_id < ?2 || char(1114111)"
            " ORDER BY run_id LIMIT 2",
            tenant,
            run_id,
        )
        if not found or not run_id:
            raise NotFoundError("run", run_id, "`daeri runs list` shows all.")
        if len(found) > 1 and found[0].run_id != clean(run_id):
            raise NotFoundError("single run", run_id, "Several ids begin so; give more of it.")
        return found[0]

    async def runs(
        self, tenant: str, *, limit: int = 50, state: RunState | None = None, before: str | None = None
    ) -> Sequence[RunRow]:
        """Runs of a tenant, newest first; `before` is the run id that the last page ended with.

        Raises:
            NotFoundError: no run `before` in this tenant.
        """
        where, values = "tenant = ?", [tenant]
        if state is not None:
            where += " AND state = ?"
            values.append(state)
        if before is not None:
            if not await self._rows("SELECT 1 FROM runs WHERE tenant = ? AND run_id = ?", tenant, before):
                raise NotFoundError("run", before)
            where += " AND (created_at, run_id) < (SELECT created_at, run_id FROM runs WHERE tenant = ? AND run_id = ?)"
            values += [tenant, before]
        return await self._all(
            run_row,
            f"SELECT {RUN_COLUMNS} FROM runs WHERE {where} ORDER BY created_at DESC, run_id DESC LIMIT ?",
            *values,
            limit,
        )

    async def events(self, tenant: str, run_id: str, *, after: int = 0) -> Sequence[JournalEvent]:
        """The journal of a run from the event after number `after`."""
        return await self._all(
            journal_event,
            f"SELECT {EVENT_COLUMNS} FROM events WHERE tenant = ? AND run_id = ? AND seq > ? ORDER BY seq",
            tenant,
            run_id,
            after,
        )

    async def definition(self, definition_hash: str) -> JsonObject:
        """A tool as its author declared it when it had this hash.

        Raises:
            NotFoundError: no such definition was ever offered here.
        """
        found: Sequence[JsonObject] = await self._all(
            _json_of, "SELECT definition FROM tool_definitions WHERE definition_hash = ?", definition_hash
        )
        if not found:
            raise NotFoundError("tool definition", definition_hash)
        return found[0]

    async def counts(self) -> Mapping[str, int]:
        """How many rows each table holds, over all tenants."""
        (row,) = await self._rows("SELECT " + ", ".join(f"(SELECT count(*) FROM {table})" for table in _TABLES))
        return dict(zip(_TABLES, row, strict=True))

    async def _all(self, decode: Callable[[StoredRow], _T], sql: str, *values: str | int) -> Sequence[_T]:
        rows = await self._rows(sql, *values)
        if sum(len(value) for row in rows for value in row if isinstance(value, str)) > _MANY_CHARACTERS:
            return await asyncio.to_thread(_each, decode, rows)
        return _each(decode, rows)

    async def _rows(self, sql: str, *values: str | int) -> Sequence[StoredRow]:
        bound = [clean(value) if isinstance(value, str) else value for value in values]
        try:
            return [tuple(row) for row in await self._reader.execute_fetchall(sql, bound)]
        except (sqlite3.Error, ValueError) as problem:  # ValueError: the connection is closed
            raise StoreError("read the record", str(problem)) from problem


async def open_reader(path: Path, busy_timeout_s: float) -> aiosqlite.Connection:
    """A connection that can't write."""

    def _connect() -> sqlite3.Connection:
        connection = connect(path, busy_timeout_s)
        connection.execute("PRAGMA query_only = ON")
        return connection

    try:
        return await aiosqlite.Connection(_connect, iter_chunk_size=64)
    except sqlite3.Error as problem:
        raise StoreError(f"open {str(path)!r}", str(problem)) from problem


def _each(decode: Callable[[StoredRow], _T], rows: Sequence[StoredRow]) -> Sequence[_T]:
    return [decode(row) for row in rows]


def _json_of(row: StoredRow) -> Any:
    return parse(row[0])
