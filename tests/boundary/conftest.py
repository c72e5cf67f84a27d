"""A boundary over a real registry and a real database file, which tests read with a connection of their own."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from daeri.boundary import Boundary, CallRequest, JournalEntry, Record
from daeri.engine import RunRow
from daeri.errors import StoreError
from daeri.identity import Principal
from daeri.store import SqliteStore
from daeri.text import Json
from daeri.tools import FunctionTool, PythonTools, ToolProvider, ToolRegistry

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
KIM = Principal(tenant="acme", subject="user:kim", scopes=frozenset({"records:read"}))

_numbers = count(1)


class FailingStore(SqliteStore):
    """A store on a disk that gets full: it writes until `commits_left` is used up, then refuses."""

    commits_left: int | None = None

    async def commit(self, records: Sequence[Record]) -> Sequence[int]:
        if self.commits_left == 0:
            raise StoreError("write the record", "database or disk is full")
        if self.commits_left is not None:
            self.commits_left -= 1
        return await super().commit(records)


@dataclass(frozen=True, kw_only=True)
class Door:
    """A boundary, and what is on disk behind it."""

    boundary: Boundary
    registry: ToolRegistry
    store: SqliteStore
    path: Path

    def rows(self, sql: str, *values: str) -> list[dict[str, Any]]:
        """What another process sees."""
        with closing(sqlite3.connect(self.path)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(sql, values)]

    def states(self) -> list[str]:
        return [row["state"] for row in self.rows("SELECT state FROM calls ORDER BY rowid")]

    def audit_kinds(self) -> list[str]:
        return [row["kind"] for row in self.rows("SELECT kind FROM audit ORDER BY seq")]

    def journal_types(self) -> list[str]:
        return [row["type"] for row in self.rows("SELECT type FROM events ORDER BY seq")]

    async def begin_run(self, run_id: str = "r1", tenant: str = "acme") -> None:
        """A run in whose journal calls can be written."""
        row = RunRow(
            run_id=run_id,
            tenant=tenant,
            subject="user:kim",
            agent="a",
            model="m",
            goal="g",
            state="running",
            created_at=NOW,
        )
        first = JournalEntry(run_id=run_id, tenant=tenant, type="run.started", at=NOW, data={})
        await self.store.create_run(row, first)


OpenDoor = Callable[..., Awaitable[Door]]
Ask = Callable[..., CallRequest]


@pytest.fixture
async def open_door(tmp_path: Path) -> AsyncIterator[OpenDoor]:
    """Open a boundary over some tools; `commits_left` puts its store on a disk that will be full."""
    async with AsyncExitStack() as stack:

        async def opened(
            *tools: FunctionTool[..., Any],
            provider: ToolProvider | None = None,
            commits_left: int | None = None,
            ttl: timedelta = timedelta(days=1),
        ) -> Door:
            registry = ToolRegistry()
            stack.push_async_callback(registry.aclose)
            if tools:
                await registry.add(PythonTools("own", tools))
            if provider is not None:
                await registry.add(provider)
            path = tmp_path / f"{next(_numbers)}.db"
            store = await stack.enter_async_context(await FailingStore.open(path))
            store.commits_left = commits_left
            boundary = Boundary(registry=registry, store=store, approval_ttl=ttl, clock=lambda: NOW)
            stack.push_async_callback(boundary.aclose)
            return Door(boundary=boundary, registry=registry, store=store, path=path)

        yield opened


@pytest.fixture
def ask() -> Ask:
    """A request of the user kim, with a call id of its own unless given one."""

    def request(tool: str, arguments: Json = None, **given: Any) -> CallRequest:
        fields: dict[str, Any] = {"principal": KIM, "call_id": f"c{next(_numbers)}", "origin": "api"}
        return CallRequest(tool=tool, arguments={} if arguments is None else arguments, **{**fields, **given})

    return request
