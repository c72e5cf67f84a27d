"""Writing units inside an open transaction: numbers for events, the chain for audit rows, conflicts."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import chain
from typing import TypeAlias

from daeri.errors import ConflictError, DaeriError, StoreError

from ._chain import CHAIN, GENESIS, chain_hash
from ._statements import AUDIT, EVENT, IN_ORDER, ROWS_AT_ONCE, Row, Statement, Written, sql

WRITE = "write the record"
"""What failed, for `StoreError`."""
Unit: TypeAlias = Sequence[Written]
"""Rows that are written together or not at all."""
Numbers: TypeAlias = tuple[int, ...]
"""What the journal events of a unit were numbered."""

# What a single unit can be at fault for; anything else is the database's and fails the whole batch.
UNIT_FAULTS = (
    ConflictError,
    StoreError,
    sqlite3.IntegrityError,
    sqlite3.DataError,
    # A value that can't be bound.
    sqlite3.InterfaceError,
    sqlite3.ProgrammingError,
    OverflowError,
    UnicodeEncodeError,
)

_MOST_RUNS = 4096


class Ends:
    """Where each journal and the audit chain end, remembered as long as nobody else has written."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._version: int | None = None
        self._journals: dict[Row, int] = {}
        self._chain: tuple[int, str] | None = None

    def refresh(self) -> None:
        """Forget everything if another connection has committed; to be asked once the write lock is held."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version != self._version or len(self._journals) > _MOST_RUNS:
            self.forget()
            self._version = version

    def forget(self) -> None:
        """Read from the tables again; after a rollback what was remembered never happened."""
        self._journals.clear()
        self._chain = None

    def number(self, event: Row) -> int:
        """The next number in the journal that an event belongs to."""
        run = event[:2]
        last = self._journals.get(run)
        if last is None:
            (last,) = self._connection.execute(
                "SELECT coalesce(max(seq), 0) FROM events WHERE tenant = ? AND run_id = ?", run
            ).fetchone()
        self._journals[run] = last + 1
        return last + 1

    def link(self, row: Row) -> Row:
        """An audit row with its place in the chain."""
        seq, prev_hash = self._chain or self._stored_chain()
        seq += 1
        tenant, at, kind, actor, subject, run_id, data = row
        link = chain_hash(prev_hash, CHAIN, seq, tenant, at, kind, actor, subject, run_id, data)
        self._chain = (seq, link)
        return (*row, CHAIN, seq, prev_hash, link)

    def _stored_chain(self) -> tuple[int, str]:
        last = self._connection.execute(
            "SELECT seq, hash FROM audit WHERE chain = ? ORDER BY seq DESC LIMIT 1", (CHAIN,)
        ).fetchone()
        return last or (0, GENESIS)


def write_together(connection: sqlite3.Connection, units: Sequence[Unit], ends: Ends) -> list[Numbers]:
    """Write units in as few statements as possible.

    Every statement that sqlite3 runs lets go of the interpreter; taking it back while the event loop is busy costs
    far more than the statement. So rows go by table, not by unit.

    Raises:
        UNIT_FAULTS: some unit is at fault, nobody knows which; roll back and write them apart.
    """
    return _write(connection, units, ends, ROWS_AT_ONCE)


def write_apart(connection: sqlite3.Connection, units: Sequence[Unit], ends: Ends) -> list[Numbers | DaeriError]:
    """Write units one by one, each in a savepoint: one that fails is undone alone."""
    outcomes: list[Numbers | DaeriError] = []
    for unit in units:
        connection.execute("SAVEPOINT unit")
        try:
            outcomes += _write(connection, [unit], ends, (1,))
        except UNIT_FAULTS as fault:
            connection.execute("ROLLBACK TO unit")
            ends.forget()
            outcomes.append(fault if isinstance(fault, DaeriError) else StoreError(WRITE, str(fault)))
        connection.execute("RELEASE unit")
    return outcomes


def _write(connection: sqlite3.Connection, units: Sequence[Unit], ends: Ends, sizes: Sequence[int]) -> list[Numbers]:
    numbers: list[Numbers] = []
    tables: dict[Statement, list[Row]] = {statement: [] for statement in IN_ORDER}
    for unit in units:
        given: list[int] = []
        for statement, row in unit:
            if statement is EVENT:
                given.append(ends.number(row))
                row = (*row, given[-1])
            elif statement is AUDIT:
                row = ends.link(row)
            tables[statement].append(row)
        numbers.append(tuple(given))
    for statement, rows in tables.items():
        _write_rows(connection, statement, rows, sizes)
    return numbers


def _write_rows(
    connection: sqlite3.Connection, statement: Statement, rows: Sequence[Row], sizes: Sequence[int]
) -> None:
    done = 0
    for size in sizes:
        while len(rows) - done >= size:
            some = rows[done : done + size]
            try:
                cursor = connection.execute(sql(statement, size), [*chain.from_iterable(some)])
            except sqlite3.IntegrityError as refusal:
                raise _fault(statement, some[0], refusal) from refusal
            if statement.must_be is not None and cursor.rowcount != size:
                raise ConflictError(statement.noun, str(some[0][statement.name_at]), statement.must_be(some[0]))
            done += size


def _fault(statement: Statement, row: Row, refusal: sqlite3.IntegrityError) -> DaeriError:
    name = str(row[statement.name_at])
    if refusal.sqlite_errorcode in (sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE):
        return ConflictError(statement.noun, name, "new")
    if refusal.sqlite_errorcode == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
        return StoreError(WRITE, f"{statement.noun} {name!r} refers to a record that this tenant does not have")
    return StoreError(WRITE, f"{statement.noun} {name!r}: {refusal}")
