"""A store on a real file, and records to put into it."""

import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from daeri.boundary import (
    ApprovalRecord,
    AuditEvent,
    CallChange,
    CallRecord,
    CallState,
    Decision,
    JournalEntry,
)
from daeri.engine import RunRow
from daeri.store import CHAIN, GENESIS, AuditRow, SqliteStore
from daeri.text import Json, digest

AT = datetime(2026, 11, 30, 9, 0, 0, 123456, tzinfo=UTC)
WORKER = Path(__file__).parent / "worker.py"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "daeri.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    async with await SqliteStore.open(path) as opened:
        yield opened


@pytest.fixture
async def run_id(store: SqliteStore, new_run: Callable[..., RunRow], entry: Callable[..., JournalEntry]) -> str:
    """A run whose journal holds one event."""
    run = new_run()
    await store.create_run(run, entry(run.run_id, type="run.started"))
    return run.run_id


@pytest.fixture(scope="session")
def new_run() -> Callable[..., RunRow]:
    def make(run_id: str = "r1", *, at: datetime = AT, **given: Any) -> RunRow:
        fields: dict[str, Any] = {
            "tenant": "acme",
            "subject": "user:kim",
            "agent": "assistant",
            "model": "script:turns",
            "goal": "보고서를 써 주세요",
            "state": "running",
        }
        return RunRow(run_id=run_id, created_at=at, **{**fields, **given})

    return make


@pytest.fixture(scope="session")
def entry() -> Callable[..., JournalEntry]:
    def make(
        run_id: str = "r1", *, tenant: str = "acme", type: str = "note", at: datetime = AT, **data: Json
    ) -> JournalEntry:
        return JournalEntry(run_id=run_id, tenant=tenant, type=type, at=at, data=data)

    return make


@pytest.fixture(scope="session")
def call() -> Callable[..., CallRecord]:
    def make(call_id: str = "c1", state: CallState = "started", *, arguments: Json = None, **given: Any) -> CallRecord:
        fields: dict[str, Any] = {
            "tenant": "acme",
            "subject": "user:kim",
            "person": "user:kim",
            "tool": "mail.send",
            "definition_hash": "sha256:def",
            "origin": "run",
            "at": AT,
            "decision": Decision(verdict="allow", rules=("scopes",), reasons=("all held",)),
        }
        fields |= {"arguments": arguments, "arguments_digest": digest(arguments)}
        return CallRecord(call_id=call_id, state=state, **{**fields, **given})

    return make


@pytest.fixture(scope="session")
def change() -> Callable[..., CallChange]:
    def make(
        call_id: str = "c1", was: CallState = "started", state: CallState = "succeeded", **given: Any
    ) -> CallChange:
        fields: dict[str, Any] = {"tenant": "acme", "at": AT}
        return CallChange(call_id=call_id, was=was, state=state, **{**fields, **given})

    return make


@pytest.fixture(scope="session")
def ask() -> Callable[..., ApprovalRecord]:
    """A request for approval of a call to `mail.send`, outside runs unless told otherwise."""

    def make(approval_id: str = "a1", call_id: str = "c1", **given: Any) -> ApprovalRecord:
        fields: dict[str, Any] = {
            "tenant": "acme",
            "tool": "mail.send",
            "definition_hash": "sha256:def",
            "arguments": {"to": "kim"},
            "digest": f"sha256:{approval_id}",
            "principal": {"subject": "user:kim", "scopes": ["mail:send"], "on_behalf_of": None},
            "approvals_needed": 1,
            "risk": "high",
            "rules": ("risk.high",),
            "reasons": ("위험이 높습니다",),
            "consequences": "메일이 나갑니다",
            "state": "pending",
            "created_at": AT,
            "expires_at": AT + timedelta(hours=4),
        }
        return ApprovalRecord(approval_id=approval_id, call_id=call_id, **{**fields, **given})

    return make


@pytest.fixture(scope="session")
def fact() -> Callable[..., AuditEvent]:
    def make(subject: str = "c1", *, tenant: str = "acme", run_id: str | None = "r1", **data: Json) -> AuditEvent:
        return AuditEvent(
            tenant=tenant, kind="call.started", actor="user:kim", at=AT, subject=subject, data=data, run_id=run_id
        )

    return make


@pytest.fixture
def rows(path: Path) -> Callable[..., Sequence[tuple[Any, ...]]]:
    """What another program sees in the file."""

    def read(sql: str, *values: str | int) -> Sequence[tuple[Any, ...]]:
        connection = sqlite3.connect(path)
        try:
            found = connection.execute(sql, values).fetchall()
            connection.commit()
        finally:
            connection.close()
        return found

    return read


@pytest.fixture
def held(path: Path) -> Callable[[], AbstractContextManager[None]]:
    """Holds the write lock, so that units gather behind it."""

    @contextmanager
    def hold() -> Generator[None]:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            connection.execute("ROLLBACK")
            connection.close()

    return hold


@pytest.fixture
def audit_is_whole(rows: Callable[..., Sequence[tuple[Any, ...]]]) -> Callable[[], int]:
    """Follows the chain from its first row; gives its length."""

    def follow() -> int:
        columns = ("chain", "seq", "prev_hash", "hash", "tenant", "at", "kind", "actor", "subject", "run_id", "data")
        found = rows(f"SELECT {', '.join(columns)} FROM audit ORDER BY chain, seq")
        previous = GENESIS
        for place, values in enumerate(found, start=1):
            row = AuditRow(**dict(zip(columns, values, strict=True)))
            assert (row.chain, row.seq, row.prev_hash) == (CHAIN, place, previous)
            assert row.hash == row.expected_hash()
            previous = row.hash
        return len(found)

    return follow


@pytest.fixture
def worker(path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts another process that opens the same file; see `worker.py`."""
    started: list[subprocess.Popen[str]] = []

    def start(what: str, *arguments: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, str(WORKER), what, str(path), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
