"""What a process with a faulty disk or a deadly tool does: `python faults_worker.py WHAT PATH`.

Every line says what was asked, how it ended and how often the tool has run by then.
"""

import asyncio
import os
import resource
import signal
import sqlite3
import sys
from collections.abc import Awaitable

from daeri.boundary import Boundary, CallOutcome, CallRequest, StoredApproval
from daeri.errors import StoreError
from daeri.identity import Principal
from daeri.store import SqliteStore
from daeri.text import Json
from daeri.tools import PythonTools, ToolRegistry, tool

KIM = Principal(tenant="acme", subject="user:kim")
LEE = Principal(tenant="acme", subject="user:lee", scopes=frozenset({"approve:*"}), roles=frozenset({"approver"}))
_SMALL = 16 * 1024
"""Bytes: less than what any file here holds already, so that none can grow."""
_ran: list[str] = []


@tool
async def act(text: str = "") -> str:
    """Act."""
    _ran.append("act")
    return "done"


@tool(risk="high")
async def pay(text: str = "") -> str:
    """Pay."""
    _ran.append("pay")
    return "paid"


@tool
async def fill() -> str:
    """Leave a full disk behind."""
    _ran.append("fill")
    disk_is(full=True)
    return "x" * 100_000


@tool
async def die() -> str:
    """Take the process along."""
    print("running", flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"


def disk_is(*, full: bool) -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_SMALL if full else hard, hard))


async def boundary_over(store: SqliteStore) -> Boundary:
    registry = ToolRegistry()
    await registry.add(PythonTools("own", [act, pay, fill, die]))
    return Boundary(registry=registry, store=store)


def request(name: str, call_id: str, **arguments: Json) -> CallRequest:
    return CallRequest(principal=KIM, tool=name, arguments=arguments, call_id=call_id, origin="api")


async def tell(what: str, asked: Awaitable[CallOutcome | StoredApproval]) -> None:
    try:
        ended = (await asked).state
    except StoreError as error:
        ended = f"StoreError ({error})"
    print(f"{what}: {ended}, ran {len(_ran)}", flush=True)


async def full_before_the_start(path: str) -> None:
    """A call whose arguments don't fit on the disk any more, and again when they do."""
    async with await SqliteStore.open(path) as store:
        boundary = await boundary_over(store)
        await boundary.call(request("act", "c0", text="x" * 50_000))
        disk_is(full=True)
        await tell("full", boundary.call(request("act", "c1", text="x" * 100_000)))
        disk_is(full=False)
        await tell("free", boundary.call(request("act", "c1", text="x" * 100_000)))


async def full_before_the_outcome(path: str) -> None:
    """A call during which the disk fills up, and asking for it again."""
    async with await SqliteStore.open(path) as store:
        boundary = await boundary_over(store)
        await boundary.call(request("act", "c0", text="x" * 50_000))
        await tell("full", boundary.call(request("fill", "c1")))
        disk_is(full=False)
        await tell("free", boundary.call(request("fill", "c1")))


async def full_before_an_approved_call(path: str) -> None:
    """Voting for a request, and carrying it out, on a full disk and on one that is free again."""
    async with await SqliteStore.open(path) as store:
        boundary = await boundary_over(store)
        asked = await boundary.call(request("pay", "c1", text="x" * 50_000))
        approval_id = asked.approval_id or ""
        for full in (True, False):
            disk_is(full=full)
            await tell(f"vote, {'full' if full else 'free'}", boundary.approvals.approve(approval_id, LEE))
        for full in (True, False):
            disk_is(full=full)
            await tell(f"use, {'full' if full else 'free'}", boundary.approvals.execute("acme", approval_id))


async def die_while_it_runs(path: str) -> None:
    """A call whose tool kills the process."""
    async with await SqliteStore.open(path) as store:
        boundary = await boundary_over(store)
        await boundary.call(request("die", "c1"))


async def hold_the_lock(path: str) -> None:
    """Keep every other writer out until the test says so."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    print("held", flush=True)
    await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    asyncio.run(globals()[sys.argv[1]](*sys.argv[2:]))
