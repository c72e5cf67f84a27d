"""Whole calls through the boundary with its durable record, beside the same without a disk and the bare function.

    python bench/boundary.py [--seconds 2] [--tools 20] [--directory DIR] [--profile]

A call is what an agent's run makes: found among `--tools` tools, validated, decided, its start committed, carried out,
its result checked, its outcome committed; with journal and audit. Callers ask again when they are answered.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import pstats
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from daeri.boundary import (
    ApprovalState,
    ApprovalStore,
    Boundary,
    CallRecord,
    CallRequest,
    JournalEntry,
    Record,
    StoredApproval,
    StoredCall,
)
from daeri.engine import RunRow
from daeri.errors import ConflictError, NotFoundError
from daeri.identity import Principal
from daeri.store import SqliteStore
from daeri.text import Json, JsonObject
from daeri.tools import FunctionTool, PythonTools, ToolRegistry, tool

CALLERS = (1, 16, 64)
RUN_ID = "bench"
KIM = Principal(tenant="acme", subject="user:kim", scopes=frozenset({"mail:*"}))
ARGUMENTS: JsonObject = {"to": "kim@example.com", "subject": "분기 실적", "body": "x" * 250}


@tool(name="mail.send", scopes=["mail:send"], idempotent=True)
async def send(to: str, subject: str, body: str) -> dict[str, str | int]:
    """Send a mail.

    Args:
        to: Whom to.
        subject: What about.
        body: The text.
    """
    return {"to": to, "subject": subject, "characters": len(body)}


def _others(number: int) -> list[FunctionTool[..., object]]:
    async def act(value: int) -> int:
        """Do something else."""
        return value

    return [tool(name=f"other.tool_{index}")(act) for index in range(number)]


class Memory:
    """A call store without a disk, and without JSON."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._last = 0

    async def commit(self, records: Sequence[Record]) -> Sequence[int]:
        numbers: list[int] = []
        for record in records:
            if isinstance(record, CallRecord):
                if record.call_id in self._ids:
                    raise ConflictError("call", record.call_id, "new")
                self._ids.add(record.call_id)
            elif isinstance(record, JournalEntry):
                self._last += 1
                numbers.append(self._last)
        return numbers

    async def find_call(self, tenant: str, call_id: str) -> StoredCall | None:
        return None

    async def find_keyed_call(self, tenant: str, person: str, subject: str, idempotency_key: str) -> StoredCall | None:
        return None

    async def pending_approval(self, tenant: str, digest: str) -> StoredApproval | None:
        return None

    async def find_approval(self, tenant: str, approval_id: str) -> StoredApproval | None:
        return None

    async def approvals(
        self, tenant: str, *, state: ApprovalState | None = None, limit: int = 50, before: str | None = None
    ) -> Sequence[StoredApproval]:
        return ()

    async def expired_approvals(self, now: datetime, limit: int = 100) -> Sequence[StoredApproval]:
        return ()

    async def result_of(self, tenant: str, call_id: str) -> Json:
        raise NotFoundError("result of call", call_id)


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One closed loop of callers."""

    calls_per_s: float
    p50_ms: float
    p99_ms: float
    cpu_us: float


async def measure(call: Callable[[], Awaitable[object]], callers: int, seconds: float) -> Measured:
    """Let `callers` call again and again for a while."""
    taken: list[float] = []
    end = time.perf_counter() + seconds

    async def caller() -> None:
        while (began := time.perf_counter()) < end:
            await call()
            taken.append(time.perf_counter() - began)

    cpu, began = time.process_time(), time.perf_counter()
    await asyncio.gather(*(caller() for _ in range(callers)))
    elapsed, cpu = time.perf_counter() - began, time.process_time() - cpu
    taken.sort()
    return Measured(
        calls_per_s=len(taken) / elapsed,
        p50_ms=taken[len(taken) // 2] * 1000,
        p99_ms=taken[len(taken) * 99 // 100] * 1000,
        cpu_us=cpu / len(taken) * 1e6,
    )


def through(store: ApprovalStore, registry: ToolRegistry) -> Callable[[], Awaitable[object]]:
    """One more call of the tool, with an id of its own."""
    boundary = Boundary(registry=registry, store=store)
    numbers = count()

    async def call() -> None:
        request = CallRequest(
            principal=KIM,
            tool=send.tool.name,
            arguments=ARGUMENTS,
            call_id=f"c{next(numbers)}",
            origin="run",
            run_id=RUN_ID,
            agent="bench",
        )
        outcome = await boundary.call(request)
        if outcome.state != "succeeded":
            raise RuntimeError(f"the call is {outcome.state}: {outcome.failure}")

    return call


async def bare() -> object:
    """The function alone."""
    return await send(to="kim@example.com", subject="분기 실적", body="x" * 250)


async def durable(registry: ToolRegistry, path: Path, callers: int, seconds: float, *, profile: bool) -> Measured:
    """Calls through a boundary on a fresh database file."""
    async with await SqliteStore.open(path) as store:
        now = datetime.now(UTC)
        run = RunRow(
            run_id=RUN_ID,
            tenant=KIM.tenant,
            subject=KIM.subject,
            agent="bench",
            model="none",
            goal="",
            state="running",
            created_at=now,
        )
        await store.create_run(run, JournalEntry(run_id=RUN_ID, tenant=KIM.tenant, type="run.started", at=now, data={}))
        call = through(store, registry)
        await measure(call, callers, seconds / 10)
        if not profile:
            return await measure(call, callers, seconds)
        with cProfile.Profile() as profiler:
            measured = await measure(call, callers, seconds)
        pstats.Stats(profiler).sort_stats("tottime").print_stats(35)
        return measured


async def main(options: argparse.Namespace) -> None:
    """Measure all and print a table."""
    registry = ToolRegistry()
    await registry.add(PythonTools("bench", [send, *_others(options.tools - 1)]))
    alone = await measure(bare, 1, options.seconds / 4)
    print(
        f"bare function: {alone.calls_per_s:,.0f} calls/s, {alone.cpu_us:.2f} µs CPU; {options.tools} tools registered"
    )
    print("callers  store   calls/s   p50 ms   p99 ms  CPU µs/call  share of memory  times a bare call")
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        for callers in CALLERS:
            memory = await measure(through(Memory(), registry), callers, options.seconds)
            sqlite = await durable(
                registry, Path(folder) / f"{callers}.db", callers, options.seconds, profile=options.profile
            )
            for name, one in (("memory", memory), ("sqlite", sqlite)):
                share, times = one.calls_per_s / memory.calls_per_s, one.cpu_us / alone.cpu_us
                print(
                    f"{callers:7}  {name} {one.calls_per_s:9,.0f} {one.p50_ms:8.2f} {one.p99_ms:8.2f}"
                    f" {one.cpu_us:12.0f} {share:16.2f} {times:18,.0f}"
                )
    await registry.aclose()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--tools", type=int, default=20)
    parser.add_argument(
        "--directory", type=Path, default=Path.cwd(), help="on the disk to be measured; default: a new one here"
    )
    parser.add_argument("--profile", action="store_true")
    asyncio.run(main(parser.parse_args()))
