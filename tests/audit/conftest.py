"""An audit record in a real file, what a tamperer does to it with SQLite alone, and what verifying says."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from daeri.boundary import AuditEvent
from daeri.runtime import CHECKPOINTS, DATABASE, AuditKeeper, verify_audit
from daeri.store import AuditReport, AuditRow, SqliteStore

COLUMNS = ("chain", "seq", "prev_hash", "hash", "tenant", "at", "kind", "actor", "subject", "run_id", "data")


def event(number: int = 0, tenant: str = "acme") -> AuditEvent:
    return AuditEvent(
        tenant=tenant,
        kind="call.started",
        actor="user:김",
        at=datetime(2026, 11, 30, 9, 0, number % 60, tzinfo=UTC),
        subject=f"c{number}",
        data={"tool": "mail.send", "number": number},
        run_id=None if number % 3 else "r1",
    )


@dataclass(frozen=True, kw_only=True)
class Home:
    """The data directory of an installation."""

    folder: Path

    @property
    def database(self) -> Path:
        return self.folder / DATABASE

    @property
    def checkpoints(self) -> Path:
        return self.folder / CHECKPOINTS

    async def open(self) -> SqliteStore:
        return await SqliteStore.open(self.database)

    def keeper(self, store: SqliteStore) -> AuditKeeper:
        return AuditKeeper(store, self.folder, tenant="acme", actor="os:kim")

    def copy(self, folder: Path) -> "Home":
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Home(folder=folder)

    def sql(self, *statements: str, values: Sequence[Any] = ()) -> None:
        """What somebody does who owns the file. `values` belong to the last statement."""
        connection = sqlite3.connect(self.database)
        with connection:
            for statement in statements[:-1]:
                connection.execute(statement)
            connection.execute(statements[-1], values)
        connection.close()

    def rows(self) -> list[AuditRow]:
        connection = sqlite3.connect(self.database)
        found = connection.execute(f"SELECT {', '.join(COLUMNS)} FROM audit ORDER BY chain, seq").fetchall()
        connection.close()
        return [AuditRow(**dict(zip(COLUMNS, values, strict=True))) for values in found]

    def replace(self, rows: Sequence[AuditRow]) -> None:
        """Write the whole record anew."""
        connection = sqlite3.connect(self.database)
        with connection:
            connection.execute("DELETE FROM audit")
            connection.executemany(
                f"INSERT INTO audit ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})",
                [[getattr(row, name) for name in COLUMNS] for row in rows],
            )
        connection.close()

    async def verify(self, **files: Path) -> AuditReport:
        async with await self.open() as store:
            return await verify_audit(
                store, self.folder, key_file=files.get("key"), checkpoints_file=files.get("checkpoints")
            )


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A new one, without a record."""
    return Home(folder=tmp_path / "home")


@pytest.fixture(scope="session")
def signed_home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Twelve rows, signed at row 6 and at the last; not to be changed."""
    home = Home(folder=tmp_path_factory.mktemp("signed") / "home")

    async def write() -> None:
        async with await home.open() as store:
            for start in (0, 5):
                await store.commit([event(number) for number in range(start, start + 5)])
                await home.keeper(store).checkpoint()

    asyncio.run(write())
    assert len(home.rows()) == 12
    return home


@pytest.fixture
def signed(signed_home: Home, tmp_path: Path) -> Home:
    """A copy to tamper with."""
    return signed_home.copy(tmp_path / "signed")


@pytest.fixture(scope="session")
def new_event() -> Callable[..., AuditEvent]:
    return event
