"""Acknowledged rows per second of the store, beside a bare group-committing writer on the same disk.

    python bench/store.py [--seconds 2] [--rounds 3] [--directory DIR]

A unit is what the boundary commits for one step of a call: a row of the call (inserted, or changed with its result), a
journal event and an audit event. Callers hand in their next unit when the last one is on disk. The peer does the least
that a durable, chained audit writer can do: rows of one table that arrive ready to be bound, one row per caller.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import queue
import sqlite3
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from daeri.boundary import AuditEvent, CallChange, CallRecord, Decision, JournalEntry, Record
from daeri.engine import RunRow
from daeri.store import SqliteStore
from daeri.text import JsonObject, digest

CALLERS = (1, 16, 64)
ROWS_PER_UNIT = 3
TENANT = "acme"
ARGUMENTS: JsonObject = {"to": "kim@example.com", "subject": "분기 실적", "body": "x" * 250}
ARGUMENTS_DIGEST = digest(ARGUMENTS)
RESULT: JsonObject = {
    "message_id": "m-20261130-0001",
    "accepted": True,
    "recipients": ["kim@example.com"],
    "cost": 0.25,
}
RESULT_DIGEST = digest(RESULT)
DECISION = Decision(verdict="allow", rules=("scopes", "risk.low"), reasons=("all scopes held", "risk is low"))


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One closed loop of callers."""

    callers: int
    units_per_s: float
    rows_per_s: float
    units_per_transaction: float
    p50_ms: float
    p99_ms: float
    cpu_us_per_unit: float


class Peer:
    """The bare writer: a thread, a queue, one table, one transaction for all that is queued."""

    def __init__(self, path: Path) -> None:
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[tuple[tuple[str, ...], asyncio.Future[None]] | None] = queue.SimpleQueue()
        self.transactions = 0
        self._thread = threading.Thread(target=self._run, args=(path,), daemon=True)
        self._thread.start()

    async def append(self, row: tuple[str, ...]) -> None:
        done: asyncio.Future[None] = self._loop.create_future()
        self._queue.put((row, done))
        await done

    async def close(self) -> None:
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self, path: Path) -> None:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(
            "CREATE TABLE audit (seq INTEGER PRIMARY KEY, at REAL, tenant TEXT, actor TEXT, tool TEXT, kind TEXT,"
            " call_id TEXT, data TEXT, hash BLOB)"
        )
        link = bytes(32)
        item = self._queue.get()
        while item is not None:
            rows: list[tuple[object, ...]] = []
            waiting: list[asyncio.Future[None]] = []
            now = time.time()
            while item is not None:
                row, done = item
                link = _link(link, row)
                rows.append((now, *row, link))
                waiting.append(done)
                item = None
                with suppress(queue.Empty):
                    item = self._queue.get_nowait()
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT INTO audit (at, tenant, actor, tool, kind, call_id, data, hash)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )
            connection.execute("COMMIT")
            self.transactions += 1
            self._loop.call_soon_threadsafe(_release, waiting)
            item = self._queue.get()
        connection.close()


def _link(link: bytes, row: tuple[str, ...]) -> bytes:
    running = hashlib.sha256(link)
    for text in row:
        raw = text.encode()
        running.update(len(raw).to_bytes(4, "big"))
        running.update(raw)
    return running.digest()


def _release(waiting: list[asyncio.Future[None]]) -> None:
    for done in waiting:
        done.set_result(None)


async def closed_loop(
    step: Callable[[int, int], Awaitable[object]],
    transactions: Callable[[], int],
    *,
    callers: int,
    seconds: float,
    rows_per_unit: int,
) -> Measured:
    """Let every caller write units one after the other for so long."""
    latencies: list[float] = []
    end = time.perf_counter() + seconds

    async def call(caller: int) -> None:
        number = 0
        while (start := time.perf_counter()) < end:
            await step(caller, number)
            latencies.append(time.perf_counter() - start)
            number += 1

    before, cpu, begin = transactions(), time.process_time(), time.perf_counter()
    await asyncio.gather(*[call(caller) for caller in range(callers)])
    elapsed, used = time.perf_counter() - begin, time.process_time() - cpu
    latencies.sort()
    units = len(latencies)
    return Measured(
        callers=callers,
        units_per_s=round(units / elapsed),
        rows_per_s=round(units * rows_per_unit / elapsed),
        units_per_transaction=round(units / max(1, transactions() - before), 1),
        p50_ms=round(latencies[units // 2] * 1e3, 2),
        p99_ms=round(latencies[units * 99 // 100] * 1e3, 2),
        cpu_us_per_unit=round(used / units * 1e6, 1),
    )


def started(run_id: str, call_id: str) -> list[Record]:
    """What the boundary commits before anything runs."""
    at = datetime.now(UTC)
    return [
        CallRecord(
            call_id=call_id,
            tenant=TENANT,
            subject="user:kim",
            person="user:kim",
            tool="mail.send",
            definition_hash="sha256:" + "5" * 64,
            arguments=ARGUMENTS,
            arguments_digest=ARGUMENTS_DIGEST,
            origin="run",
            state="started",
            at=at,
            run_id=run_id,
            agent="assistant",
            decision=DECISION,
        ),
        JournalEntry(
            run_id=run_id,
            tenant=TENANT,
            type="call.started",
            at=at,
            data={"call_id": call_id, "tool": "mail.send", "state": "started", "arguments": ARGUMENTS},
        ),
        AuditEvent(
            tenant=TENANT,
            kind="call.started",
            actor="user:kim",
            at=at,
            subject=call_id,
            data={"tool": "mail.send", "arguments_digest": ARGUMENTS_DIGEST, "rules": ["scopes", "risk.low"]},
            run_id=run_id,
        ),
    ]


def succeeded(run_id: str, call_id: str) -> list[Record]:
    """What it commits before it answers."""
    at = datetime.now(UTC)
    result: JsonObject = {**RESULT, "call": call_id}
    return [
        CallChange(
            call_id=call_id,
            tenant=TENANT,
            was="started",
            state="succeeded",
            at=at,
            result=result,
            has_result=True,
            elapsed_ms=12.5,
        ),
        JournalEntry(
            run_id=run_id,
            tenant=TENANT,
            type="call.succeeded",
            at=at,
            data={"call_id": call_id, "tool": "mail.send", "state": "succeeded", "result_digest": RESULT_DIGEST},
        ),
        AuditEvent(
            tenant=TENANT,
            kind="call.succeeded",
            actor="user:kim",
            at=at,
            subject=call_id,
            data={"tool": "mail.send", "result_digest": RESULT_DIGEST},
            run_id=run_id,
        ),
    ]


async def measure_store(directory: Path, callers: int, seconds: float) -> Measured:
    """Each caller is a run whose calls follow each other."""
    async with await SqliteStore.open(directory / "store.db") as store:
        for caller in range(callers):
            at = datetime.now(UTC)
            run = RunRow(
                run_id=f"run-{caller}",
                tenant=TENANT,
                subject="user:kim",
                agent="assistant",
                model="script",
                goal="send mail",
                state="running",
                created_at=at,
            )
            await store.create_run(
                run, JournalEntry(run_id=run.run_id, tenant=TENANT, type="run.started", at=at, data={})
            )

        async def step(caller: int, number: int) -> None:
            run_id, call_id = f"run-{caller}", f"call-{caller}-{number // 2}"
            await store.commit(succeeded(run_id, call_id) if number % 2 else started(run_id, call_id))

        return await closed_loop(
            step, lambda: store.transactions, callers=callers, seconds=seconds, rows_per_unit=ROWS_PER_UNIT
        )


async def measure_peer(directory: Path, callers: int, seconds: float) -> Measured:
    """One ready row of about 600 bytes per caller and turn."""
    peer = Peer(directory / "peer.db")
    data = json.dumps({"arguments": ARGUMENTS, "rules": ["scopes", "risk.low"]}, ensure_ascii=False)

    async def step(caller: int, number: int) -> None:
        await peer.append((TENANT, "user:kim", "mail.send", "call.started", f"call-{caller}-{number}", data))

    measured = await closed_loop(step, lambda: peer.transactions, callers=callers, seconds=seconds, rows_per_unit=1)
    await peer.close()
    return measured


async def measure_all(directory: Path, seconds: float, rounds: int) -> None:
    """Peer and store take turns, so that both see the same disk; the table shows the median round."""
    table: list[str] = []
    for callers in CALLERS:
        peers: list[Measured] = []
        stores: list[Measured] = []
        for turn in range(rounds):
            place = directory / f"{callers}-{turn}"
            place.mkdir()
            peers.append(await measure_peer(place, callers, seconds))
            stores.append(await measure_store(place, callers, seconds))
            for name, measured in (("peer", peers[-1]), ("store", stores[-1])):
                print(json.dumps({"bench": "store", "case": name, **asdict(measured)}))
        peer, store = _median(peers), _median(stores)
        ratio = store.rows_per_s / peer.rows_per_s
        table.append(
            f"{callers:>7} {peer.rows_per_s:>12,.0f} {store.rows_per_s:>13,.0f} {ratio:>7.2f}"
            f" {store.units_per_s:>13,.0f} {store.units_per_transaction:>13} {store.p50_ms:>9} {store.p99_ms:>9}"
            f" {store.cpu_us_per_unit:>12}"
        )
    print("callers  peer rows/s  store rows/s   ratio  store units/s  units/commit    p50 ms    p99 ms  CPU us/unit")
    print("\n".join(table))


def _median(measured: list[Measured]) -> Measured:
    return sorted(measured, key=lambda one: one.rows_per_s)[len(measured) // 2]


def main() -> None:
    """Parse the command line and run."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=2.0, help="of each case")
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--directory", type=Path, default=Path.cwd(), help="on the disk to be measured")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory(dir=given.directory) as directory:
        asyncio.run(measure_all(Path(directory), given.seconds, given.rounds))


if __name__ == "__main__":
    main()
