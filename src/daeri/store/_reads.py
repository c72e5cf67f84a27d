"""Reading runs, journals, calls, results and the tool catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from daeri.boundary import StoredCall
from daeri.engine import JournalEvent, RunRow, RunState
from daeri.errors import NotFoundError
from daeri.text import Json, JsonObject

from ._decode import (
    CALL_COLUMNS,
    EVENT_COLUMNS,
    RUN_COLUMNS,
    StoredRow,
    journal_event,
    parse,
    run_row,
    stored_call,
)
from ._reader import Reader
from ._values import clean

_CALLS = f"SELECT {CALL_COLUMNS} FROM calls WHERE "
# the states spelled out as the partial index has them: one alone would not let SQLite use it
_STARTED = "state IN ('requested', 'waiting', 'started', 'unknown') AND state = 'started' ORDER BY requested_at"
_TABLES = (
    "runs",
    "events",
    "calls",
    "payloads",
    "approvals",
    "approval_votes",
    "outbox",
    "audit",
    "audit_checkpoints",
    "tool_definitions",
    "tools",
)


class Reads:
    """The reading half of a store, for what was run and called."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def find_call(self, tenant: str, call_id: str) -> StoredCall | None:
        """The call with this id, if any."""
        return await self._reader.first(stored_call, _CALLS + "tenant = ? AND call_id = ?", tenant, call_id)

    async def find_keyed_call(self, tenant: str, person: str, subject: str, idempotency_key: str) -> StoredCall | None:
        """The call that `subject` made for `person` with this idempotency key, if any."""
        return await self._reader.first(
            stored_call,
            _CALLS + "tenant = ? AND person = ? AND subject = ? AND idempotency_key = ?",
            tenant,
            person,
            subject,
            idempotency_key,
        )

    async def result_of(self, tenant: str, call_id: str) -> Json:
        """The full result of a call that succeeded.

        Raises:
            NotFoundError: no such call, or it has no result.
        """
        found: Sequence[Json] = await self._reader.all(
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
        return await self._reader.all(
            stored_call, _CALLS + "tenant = ? AND run_id = ? ORDER BY requested_at, rowid", tenant, run_id
        )

    async def started_calls(self) -> Sequence[StoredCall]:
        """The calls of all tenants that were started and have no outcome."""
        return await self._reader.all(stored_call, _CALLS + _STARTED)

    async def run(self, tenant: str, run_id: str) -> RunRow:
        """The run with this id, or whose id begins so if that is only one.

        Raises:
            NotFoundError: none such in this tenant, or several.
        """
        found = await self._reader.all(
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
            if not await self._reader.rows("SELECT 1 FROM runs WHERE tenant = ? AND run_id = ?", tenant, before):
                raise NotFoundError("run", before)
            where += " AND (created_at, run_id) < (SELECT created_at, run_id FROM runs WHERE tenant = ? AND run_id = ?)"
            values += [tenant, before]
        return await self._reader.all(
            run_row,
            f"SELECT {RUN_COLUMNS} FROM runs WHERE {where} ORDER BY created_at DESC, run_id DESC LIMIT ?",
            *values,
            limit,
        )

    async def events(self, tenant: str, run_id: str, *, after: int = 0) -> Sequence[JournalEvent]:
        """The journal of a run from the event after number `after`."""
        return await self._reader.all(
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
        found: Sequence[JsonObject] = await self._reader.all(
            _json_of, "SELECT definition FROM tool_definitions WHERE definition_hash = ?", definition_hash
        )
        if not found:
            raise NotFoundError("tool definition", definition_hash)
        return found[0]

    async def counts(self) -> Mapping[str, int]:
        """How many rows each table holds, over all tenants."""
        (row,) = await self._reader.rows("SELECT " + ", ".join(f"(SELECT count(*) FROM {table})" for table in _TABLES))
        return dict(zip(_TABLES, row, strict=True))


def _json_of(row: StoredRow) -> Any:
    return parse(row[0])
