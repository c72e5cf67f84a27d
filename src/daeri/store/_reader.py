"""The connection that reads: beside the writer and never in its way."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import aiosqlite

from daeri.errors import StoreError

from ._decode import StoredRow
from ._file import connect
from ._values import clean

_T = TypeVar("_T")

# Parsing this much takes about a millisecond; more of it would hold up the event loop.
_MANY_CHARACTERS = 200_000


class Reader:
    """Asks questions of one connection, each on a snapshot of its own."""

    def __init__(self, connection: aiosqlite.Connection) -> None:
        self._connection = connection

    async def all(self, decode: Callable[[StoredRow], _T], sql: str, *values: str | int) -> Sequence[_T]:
        """Every row of the answer, decoded.

        Raises:
            StoreError: the database can't be read.
        """
        rows = await self.rows(sql, *values)
        if sum(len(value) for row in rows for value in row if isinstance(value, str)) > _MANY_CHARACTERS:
            return await asyncio.to_thread(_each, decode, rows)
        return _each(decode, rows)

    async def first(self, decode: Callable[[StoredRow], _T], sql: str, *values: str | int) -> _T | None:
        """The first row of the answer, if any.

        Raises:
            StoreError: the database can't be read.
        """
        found = await self.all(decode, sql, *values)
        return found[0] if found else None

    async def rows(self, sql: str, *values: str | int) -> Sequence[StoredRow]:
        """Every row of the answer, as it is stored.

        Raises:
            StoreError: the database can't be read.
        """
        bound = [clean(value) if isinstance(value, str) else value for value in values]
        try:
            return [tuple(row) for row in await self._connection.execute_fetchall(sql, bound)]
        except (sqlite3.Error, ValueError) as problem:  # ValueError: the connection is closed
            raise StoreError("read the record", str(problem), reading=True) from problem

    async def aclose(self) -> None:
        """Give the connection back."""
        await self._connection.close()


async def open_reader(path: Path, busy_timeout_s: float) -> Reader:
    """A connection that can't write.

    Raises:
        StoreError: the file can't be opened.
    """

    def _connect() -> sqlite3.Connection:
        connection = connect(path, busy_timeout_s)
        connection.execute("PRAGMA query_only = ON")
        return connection

    try:
        return Reader(await aiosqlite.Connection(_connect, iter_chunk_size=64))
    except sqlite3.Error as problem:
        raise StoreError(f"open {str(path)!r}", str(problem), reading=True) from problem


def _each(decode: Callable[[StoredRow], _T], rows: Sequence[StoredRow]) -> Sequence[_T]:
    return [decode(row) for row in rows]
