"""A full disk, a locked database, a process that dies: nothing runs that is not on record, and the error says so."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from daeri.boundary import Boundary
from daeri.errors import StoreError
from daeri.store import SqliteStore
from daeri.tools import PythonTools, ToolRegistry, tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, OpenDoor

WORKER = Path(__file__).with_name("faults_worker.py")
Start = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "daeri.db"


@pytest.fixture
def start(path: Path) -> Generator[Start]:
    """Starts another process on the same file; see `faults_worker.py`."""
    started: list[subprocess.Popen[str]] = []

    def begin(what: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(WORKER), what, str(path)]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def said(process: subprocess.Popen[str]) -> list[str]:
    """All lines of a process that has to end well."""
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    return out.splitlines()


def rows(path: Path, sql: str) -> list[Any]:
    """What another program sees: one column."""
    with closing(sqlite3.connect(path)) as connection:
        return [value for (value,) in connection.execute(sql)]


def audit_of(path: Path, call_id: str) -> Sequence[str]:
    return rows(path, f"SELECT kind FROM audit WHERE subject = '{call_id}' ORDER BY seq")


REFUSED = "StoreError (could not write the record: disk I/O error. Nothing of it was kept; check the disk"


def test_on_a_full_disk_a_call_does_not_run_the_error_says_so_and_it_can_be_asked_for_again(
    path: Path, start: Start
) -> None:
    full, free = said(start("full_before_the_start"))

    assert full.startswith(f"full: {REFUSED}")
    assert full.endswith("ran 1")
    assert free == "free: succeeded, ran 2"
    assert audit_of(path, "c1") == ["call.started", "call.succeeded"]


def test_when_the_disk_fills_up_while_a_call_runs_it_stays_started_and_never_runs_again(
    path: Path, start: Start
) -> None:
    full, free = said(start("full_before_the_outcome"))

    assert full.startswith(f"full: {REFUSED}")
    assert free == "free: started, ran 2"
    assert audit_of(path, "c1") == ["call.started"]


def test_on_a_full_disk_no_vote_counts_and_nothing_that_was_approved_runs(path: Path, start: Start) -> None:
    vote_full, vote_free, use_full, use_free = said(start("full_before_an_approved_call"))

    assert vote_full.startswith(f"vote, full: {REFUSED}")
    assert vote_free == "vote, free: approved, ran 0"
    assert use_full.startswith(f"use, full: {REFUSED}")
    assert use_full.endswith("ran 0")
    assert use_free == "use, free: succeeded, ran 1"
    assert audit_of(path, "c1") == ["call.waiting", "call.started", "call.succeeded"]


async def test_while_another_process_holds_the_database_a_call_does_not_run_and_afterwards_it_does(
    path: Path, start: Start, ask: Ask
) -> None:
    ran: list[str] = []

    @tool
    async def act() -> str:
        """Act."""
        ran.append("act")
        return "done"

    registry = ToolRegistry()
    await registry.add(PythonTools("own", [act]))
    async with await SqliteStore.open(path, busy_timeout_s=0.05) as store:
        boundary, request = Boundary(registry=registry, store=store), ask("act", call_id="c1")
        holder = start("hold_the_lock")
        assert holder.stdout is not None
        assert await asyncio.to_thread(holder.stdout.readline) == "held\n"

        with pytest.raises(StoreError, match=r"could not write the record: database is locked. Nothing of it was kept"):
            await boundary.call(request)
        assert (ran, rows(path, "SELECT state FROM calls")) == ([], [])

        await asyncio.to_thread(holder.communicate, "done\n")
        assert (await boundary.call(request)).state == "succeeded"
    assert (ran, audit_of(path, "c1")) == (["act"], ["call.started", "call.succeeded"])


async def test_when_the_database_is_locked_while_a_call_runs_it_stays_started_and_never_runs_again(
    path: Path, start: Start, ask: Ask
) -> None:
    holders: list[subprocess.Popen[str]] = []

    @tool
    async def act() -> str:
        """Have the database locked meanwhile."""
        holders.append(start("hold_the_lock"))
        output = holders[-1].stdout
        assert output is not None
        await asyncio.to_thread(output.readline)
        return "done"

    registry = ToolRegistry()
    await registry.add(PythonTools("own", [act]))
    async with await SqliteStore.open(path, busy_timeout_s=0.05) as store:
        boundary, request = Boundary(registry=registry, store=store), ask("act", call_id="c1")
        with pytest.raises(StoreError, match="database is locked"):
            await boundary.call(request)
        await asyncio.to_thread(holders[0].communicate, "done\n")

        again = await boundary.call(request)

    assert (again.state, again.failure and again.failure.kind, len(holders)) == ("started", "unavailable", 1)


async def test_a_call_whose_process_was_killed_is_started_on_record_and_no_other_process_runs_it_again(
    path: Path, start: Start, ask: Ask
) -> None:
    killed = start("die_while_it_runs")
    await asyncio.to_thread(killed.communicate)
    ran: list[str] = []

    @tool
    async def die() -> str:
        """Take the process along."""
        ran.append("die")
        return "alive"

    registry = ToolRegistry()
    await registry.add(PythonTools("own", [die]))
    async with await SqliteStore.open(path) as store:
        again = await Boundary(registry=registry, store=store).call(ask("die", call_id="c1"))
        report = await store.verify_audit(None)

    assert (killed.returncode, again.state, ran) == (-signal.SIGKILL, "started", [])
    assert (audit_of(path, "c1"), report.faults) == (["call.started"], ())


async def test_a_tool_whose_own_process_dies_in_the_middle_is_a_failed_call_and_the_next_one_is_served(
    open_door: OpenDoor, ask: Ask
) -> None:
    program = (
        "import os, sys; print('half', end='', flush=True); os.abort() if sys.argv[1] == 'die' else print(' done')"
    )

    @tool
    async def work(how: str) -> str:
        """Work in a process of its own."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, how, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        out, _ = await process.communicate()
        if process.returncode != 0:
            raise OSError(f"it ended with {process.returncode} after {out.decode()!r}")
        return out.decode().strip()

    door = await open_door(work)

    dead = await door.boundary.call(ask("work", {"how": "die"}))
    alive = await door.boundary.call(ask("work", {"how": "live"}))

    assert dead.failure is not None
    assert (dead.state, dead.failure.kind) == ("failed", "tool_error")
    assert f"it ended with {-signal.SIGABRT} after 'half'" in dead.failure.diagnostic
    assert (alive.state, alive.value) == ("succeeded", "half done")


async def test_tools_that_hang_ignore_flood_and_die_at_once_keep_no_other_call_from_being_served(
    open_door: OpenDoor, ask: Ask
) -> None:
    over = asyncio.Event()

    @tool(timeout_s=0.05, read_only=True)
    async def hang() -> str:
        """Never answer."""
        await asyncio.Event().wait()
        return "never"

    @tool(timeout_s=0.05, read_only=True)
    async def ignore() -> str:
        """Go on when stopped, until the test is over."""
        while not over.is_set():
            try:
                await over.wait()
            except asyncio.CancelledError:
                continue
        return "at last"

    @tool(read_only=True)
    async def flood() -> str:
        """Answer more than anybody can hold."""
        return "x" * 26_000_000

    @tool(read_only=True)
    async def die() -> str:
        """End the process."""
        raise SystemExit(1)

    @tool(read_only=True)
    async def fine() -> str:
        """Answer."""
        return "fine"

    door = await open_door(hang, ignore, flood, die, fine)

    names = ["hang", "ignore", "flood", "die", "fine"] * 4
    outcomes = await asyncio.gather(*(door.boundary.call(ask(name)) for name in names))
    over.set()

    kinds = {name: outcome.failure and outcome.failure.kind for name, outcome in zip(names, outcomes, strict=True)}
    assert kinds == {
        "hang": "timeout",
        "ignore": "timeout",
        "flood": "contract_violation",
        "die": "tool_error",
        "fine": None,
    }
    assert sorted(door.states()) == ["failed"] * 16 + ["succeeded"] * 4


_SHOP = '''
from pathlib import Path
from daeri import tool

@tool
def act() -> str:
    """Act."""
    Path("ran").touch()
    return "done"
'''


def test_at_the_command_line_a_full_disk_is_an_error_in_words_and_nothing_runs(tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(_SHOP, "utf-8")
    call = [sys.executable, "-m", "daeri", "tools", "call", "act", "--tools", "shop.py"]
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "DAERI_HOME": str(tmp_path / "home")}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8", timeout=60, check=False
        )

    first = run(*call, "--json")
    (tmp_path / "ran").unlink()

    full = run("bash", "-c", 'ulimit -f 0 && exec "$@"', "bash", *call)

    assert (first.returncode, json.loads(first.stdout)["state"]) == (0, "succeeded")
    assert (full.returncode, full.stdout, (tmp_path / "ran").exists()) == (1, "", False)
    assert "disk" in full.stderr
    assert "Traceback" not in full.stderr
