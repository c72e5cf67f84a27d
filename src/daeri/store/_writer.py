"""The one writer: whatever has queued up goes in one transaction, and nobody is told before it is on disk."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import TypeAlias

from daeri.errors import DaeriError, StoreError

from ._batch import UNIT_FAULTS, WRITE, Ends, Numbers, Unit, write_apart, write_together

MOST_UNITS = 256
"""In one transaction."""
MOST_WAITING = 2048
"""Units that may be queued; callers beyond wait for room."""

_Waiter: TypeAlias = "asyncio.Future[Numbers]"
_Order: TypeAlias = tuple[Callable[[], Unit], _Waiter]


class Writer:
    """A thread with the only connection that writes.

    There is no timer: while one transaction is being written, the next one gathers.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._open: tuple[sqlite3.Connection, Ends] | None = None
        self._queue: SimpleQueue[_Order | None] = SimpleQueue()
        self._held_back: deque[_Waiter] = deque()
        self._accepting = threading.Lock()
        self._closed = False
        self.transactions = 0
        """How many have been committed."""
        self._thread = threading.Thread(target=self._run, name="daeri-store-writer", daemon=True)
        self._thread.start()

    async def write(self, encode: Callable[[], Unit]) -> Numbers:
        """Write one unit, which `encode` makes in the writer's thread.

        Once it has been queued it is written, even when the caller is cancelled while it waits.

        Raises:
            ConflictError: the unit, and only it, was undone.
            StoreError: nothing of the unit was kept.
        """
        loop = asyncio.get_running_loop()
        while self._queue.qsize() >= MOST_WAITING:
            room: _Waiter = loop.create_future()
            self._held_back.append(room)
            # The writer may have made room between the two lines above, and it wakes only whom it sees waiting.
            if self._queue.qsize() >= MOST_WAITING:
                await room
        done: _Waiter = loop.create_future()
        with self._accepting:
            if self._closed:
                raise StoreError(WRITE, "the store is closed")
            self._queue.put((encode, done))
        return await done

    async def close(self) -> None:
        """Write what is queued, then stop."""
        with self._accepting:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        last = False
        while not last:
            orders, last = self._take()
            _tell((room, ()) for room in self._let_in())
            _tell(zip([done for _, done in orders], self._write(orders), strict=True))
        self._disconnect()

    def _take(self) -> tuple[list[_Order], bool]:
        orders: list[_Order] = []
        order = self._queue.get()
        while order is not None:
            orders.append(order)
            if len(orders) == MOST_UNITS:
                return orders, False
            try:
                order = self._queue.get_nowait()
            except Empty:
                return orders, False
        return orders, True

    def _let_in(self) -> Iterable[_Waiter]:
        while self._held_back:
            yield self._held_back.popleft()

    def _write(self, orders: Sequence[_Order]) -> list[Numbers | DaeriError]:
        encoded = [_encoded(encode) for encode, _ in orders]
        units = [unit for unit in encoded if not isinstance(unit, StoreError)]
        written = iter(self._commit(units) if units else ())
        return [unit if isinstance(unit, StoreError) else next(written) for unit in encoded]

    def _commit(self, units: Sequence[Unit]) -> Sequence[Numbers | DaeriError]:
        try:
            connection, ends = self._connected()
            outcomes = _transaction(connection, ends, units)
        except Exception as problem:  # told to every caller; the thread must outlive it
            self._disconnect()
            return [StoreError(WRITE, str(problem)) for _ in units]
        self.transactions += 1
        return outcomes

    def _connected(self) -> tuple[sqlite3.Connection, Ends]:
        if self._open is None:
            connection = self._connect()
            self._open = (connection, Ends(connection))
        return self._open

    def _disconnect(self) -> None:
        """Undo what is open; the next transaction starts on a fresh connection, whatever went wrong with this one."""
        if self._open is not None:
            with suppress(sqlite3.Error):
                self._open[0].close()
        self._open = None


def _encoded(encode: Callable[[], Unit]) -> Unit | StoreError:
    try:
        return encode()
    except Exception as problem:  # told to the caller whose value can't be written
        return StoreError(WRITE, f"it holds a value that can't be stored ({type(problem).__name__}: {problem})")


def _transaction(connection: sqlite3.Connection, ends: Ends, units: Sequence[Unit]) -> Sequence[Numbers | DaeriError]:
    _begin(connection, ends)
    outcomes: Sequence[Numbers | DaeriError]
    try:
        outcomes = write_together(connection, units, ends)
    except UNIT_FAULTS:
        connection.execute("ROLLBACK")
        ends.forget()
        _begin(connection, ends)
        outcomes = write_apart(connection, units, ends)
    connection.execute("COMMIT")
    return outcomes


def _begin(connection: sqlite3.Connection, ends: Ends) -> None:
    connection.execute("BEGIN IMMEDIATE")
    ends.refresh()


def _tell(outcomes: Iterable[tuple[_Waiter, Numbers | DaeriError]]) -> None:
    loops: dict[asyncio.AbstractEventLoop, list[tuple[_Waiter, Numbers | DaeriError]]] = {}
    for waiter, outcome in outcomes:
        loops.setdefault(waiter.get_loop(), []).append((waiter, outcome))
    for loop, told in loops.items():
        # A loop that is closed has nobody left to tell.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(_wake, told)


def _wake(told: Iterable[tuple[_Waiter, Numbers | DaeriError]]) -> None:
    for waiter, outcome in told:
        if waiter.done():
            continue
        if isinstance(outcome, DaeriError):
            waiter.set_exception(outcome)
        else:
            waiter.set_result(outcome)
