"""What other processes do to a store in these tests: `python worker.py WHAT PATH [ARGUMENT …]`.

Each prints a line for what has been acknowledged, so that a test knows it whatever happens to the process.
"""

import asyncio
import resource
import sqlite3
import sys
from datetime import UTC, datetime

from daeri.boundary import ApprovalChange, AuditEvent, CallChange, CallRecord, JournalEntry, Record, Vote
from daeri.engine import RunRow
from daeri.errors import ConflictError, StoreError
from daeri.store import SqliteStore

TENANT = "acme"


def unit(run_id: str, call_id: str) -> list[Record]:
    at = datetime.now(UTC)
    return [
        CallRecord(
            call_id=call_id,
            tenant=TENANT,
            subject="user:kim",
            person="user:kim",
            tool="mail.send",
            definition_hash=None,
            arguments={"n": call_id},
            arguments_digest="sha256:0",
            origin="run",
            state="started",
            at=at,
            run_id=run_id,
        ),
        CallChange(
            call_id=call_id,
            tenant=TENANT,
            was="started",
            state="succeeded",
            at=at,
            result={"sent": call_id},
            has_result=True,
        ),
        JournalEntry(run_id=run_id, tenant=TENANT, type="call.succeeded", at=at, data={"call_id": call_id}),
        AuditEvent(
            tenant=TENANT, kind="call.succeeded", actor="user:kim", at=at, subject=call_id, data={}, run_id=run_id
        ),
    ]


async def begin_run(store: SqliteStore, run_id: str) -> None:
    """Make the run, whoever of several comes first."""
    at = datetime.now(UTC)
    run = RunRow(
        run_id=run_id,
        tenant=TENANT,
        subject="user:kim",
        agent="assistant",
        model="script",
        goal="send",
        state="running",
        created_at=at,
    )
    try:
        await store.create_run(run, JournalEntry(run_id=run_id, tenant=TENANT, type="run.started", at=at, data={}))
    except ConflictError:
        return


async def write_for_ever(path: str, name: str) -> None:
    """Eight callers on one run, until the process is killed."""
    store = await SqliteStore.open(path)
    await begin_run(store, "r1")

    async def caller(number: int) -> None:
        turn = 0
        while True:
            call_id = f"{name}-{number}-{turn}"
            (seq,) = await store.commit(unit("r1", call_id))
            print(call_id, seq, flush=True)
            turn += 1

    await asyncio.gather(*[caller(number) for number in range(8)])


async def write_some(path: str, name: str, units: str) -> None:
    """Four callers on one run, once the test says go."""
    async with await SqliteStore.open(path) as store:
        await begin_run(store, "r1")
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

        async def caller(number: int) -> None:
            for turn in range(int(units) // 4):
                (seq,) = await store.commit(unit("r1", f"{name}-{number}-{turn}"))
                print(seq, flush=True)

        await asyncio.gather(*[caller(number) for number in range(4)])


def vote(approval_id: str, version: int, approver: str) -> ApprovalChange:
    at = datetime.now(UTC)
    return ApprovalChange(
        approval_id=approval_id,
        tenant=TENANT,
        version=version,
        state="approved",
        at=at,
        vote=Vote(approver=approver, verdict="approve", reason="", at=at),
    )


async def decide_once(path: str, name: str, attempts: str) -> None:
    """So many people decide about one request at the same moment, once the test says go; names who got through."""
    async with await SqliteStore.open(path) as store:
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)

        async def attempt(approver: str) -> None:
            try:
                await store.commit([vote("a1", 0, approver)])
            except ConflictError:
                return
            print(approver, flush=True)

        await asyncio.gather(*[attempt(f"{name}-{number}") for number in range(int(attempts))])


async def decide_for_ever(path: str, name: str) -> None:
    """Approve one request again and again as somebody else, until the process is killed."""
    async with await SqliteStore.open(path) as store:
        while True:
            stored = await store.find_approval(TENANT, "a1")
            version = stored.version if stored else 0
            approver = f"{name}-{version}"
            await store.commit([vote("a1", version, approver)])
            print(approver, flush=True)


async def fill_the_disk(path: str) -> None:
    """Write into a file that may not grow, then into one that may again."""
    async with await SqliteStore.open(path) as store:
        await begin_run(store, "r1")
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (16 * 1024, hard))
        entry = JournalEntry(
            run_id="r1", tenant=TENANT, type="note", at=datetime.now(UTC), data={"text": "x" * 100_000}
        )
        try:
            await store.append([entry])
        except StoreError as problem:
            print("refused", problem.cause, flush=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
        print("kept", await store.append([entry]), flush=True)


async def hold_the_lock(path: str) -> None:
    """Keep every other writer out until the test says so."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    print("held", flush=True)
    await asyncio.to_thread(sys.stdin.readline)


async def open_and_name_imports(path: str) -> None:
    """Open the store and say which of the slow packages that took."""
    async with await SqliteStore.open(path):
        print(*sorted({"alembic", "sqlalchemy"} & set(sys.modules)), flush=True)


if __name__ == "__main__":
    asyncio.run(globals()[sys.argv[1]](*sys.argv[2:]))
