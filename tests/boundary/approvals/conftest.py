"""A desk over a real registry and a real database file, a clock that tests turn, and people who ask and decide."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from daeri.boundary import (
    ApprovalDesk,
    Boundary,
    CallOutcome,
    CallRequest,
    Decision,
    JournalEntry,
    PolicyQuestion,
    StoredApproval,
)
from daeri.engine import RunRow
from daeri.identity import Principal
from daeri.store import SqliteStore
from daeri.text import Json
from daeri.tools import FunctionTool, PythonTools, ToolRegistry, tool

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
TTL = timedelta(hours=1)

_numbers = count(1)


class People:
    """Who asks and who decides."""

    kim = Principal(tenant="acme", subject="user:kim", scopes=frozenset({"pay:*"}), roles=frozenset({"user"}))
    lee = Principal(tenant="acme", subject="user:lee", scopes=frozenset({"approve:*"}), roles=frozenset({"approver"}))
    auditor = Principal(tenant="acme", subject="user:auditor", roles=frozenset({"auditor"}))
    park = Principal(tenant="acme", subject="user:park", scopes=frozenset({"approve:*"}), roles=frozenset({"approver"}))


class Swing:
    """A policy that lets everything through until a test says otherwise."""

    def __init__(self) -> None:
        self.says = Decision(verdict="allow", rules=(), reasons=())

    def decide(self, question: PolicyQuestion) -> Decision:
        return self.says


@dataclass(kw_only=True)
class Office:
    """A boundary with its desk, what tools did, and what is on disk."""

    boundary: Boundary
    registry: ToolRegistry
    store: SqliteStore
    path: Path
    policy: Swing
    ran: list[Any]
    now: datetime = NOW
    people: People = field(default_factory=People)

    @property
    def desk(self) -> ApprovalDesk:
        return self.boundary.approvals

    def request(self, name: str = "pay", arguments: Json = None, **given: Any) -> CallRequest:
        fields: dict[str, Any] = {"principal": self.people.kim, "call_id": f"c{next(_numbers)}", "origin": "api"}
        chosen: Json = {"amount": 5} if arguments is None else arguments
        return CallRequest(tool=name, arguments=chosen, **{**fields, **given})

    async def ask(self, name: str = "pay", arguments: Json = None, **given: Any) -> CallOutcome:
        return await self.boundary.call(self.request(name, arguments, **given))

    async def waiting(self, name: str = "pay", arguments: Json = None, **given: Any) -> str:
        """A call that waits; gives the id of its request for approval."""
        outcome = await self.ask(name, arguments, **given)
        assert outcome.state == "waiting"
        assert outcome.approval_id is not None
        return outcome.approval_id

    async def approved(self, name: str = "pay", arguments: Json = None, **given: Any) -> str:
        """A call that lee has approved."""
        approval_id = await self.waiting(name, arguments, **given)
        assert (await self.desk.approve(approval_id, self.people.lee)).state == "approved"
        return approval_id

    async def execute(self, approval_id: str) -> CallOutcome:
        return await self.desk.execute("acme", approval_id)

    async def show(self, approval_id: str) -> StoredApproval:
        return await self.desk.show(self.people.auditor, approval_id)

    def rows(self, sql: str, *values: str) -> list[dict[str, Any]]:
        """What another process sees."""
        with closing(sqlite3.connect(self.path)) as connection:
            connection.row_factory = sqlite3.Row
            return [dict(row) for row in connection.execute(sql, values)]

    def tamper(self, sql: str, *values: str) -> None:
        """Change the file behind the back of the store."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            assert connection.execute(sql, values).rowcount == 1

    def states(self) -> list[tuple[str, str]]:
        """Of each request: its own state and that of its call."""
        sql = (
            "SELECT a.state AS approval, c.state AS call FROM approvals a JOIN calls c USING (tenant, call_id)"
            " ORDER BY a.rowid"
        )
        return [(row["approval"], row["call"]) for row in self.rows(sql)]

    def audit(self) -> list[str]:
        return [row["kind"] for row in self.rows("SELECT kind FROM audit ORDER BY seq")]

    def refusals(self) -> list[tuple[str, str]]:
        """Who was refused by which rule."""
        rows = self.rows("SELECT actor, data FROM audit WHERE kind = 'approval.refused' ORDER BY seq")
        return [(row["actor"], json.loads(row["data"])["rule"]) for row in rows]

    def journal(self) -> list[tuple[str, dict[str, Any]]]:
        return [(row["type"], json.loads(row["data"])) for row in self.rows("SELECT * FROM events ORDER BY seq")]

    async def begin_run(self, run_id: str = "r1") -> None:
        row = RunRow(
            run_id=run_id,
            tenant="acme",
            subject="user:kim",
            agent="bot",
            model="m",
            goal="g",
            state="running",
            created_at=NOW,
        )
        await self.store.create_run(
            row, JournalEntry(run_id=run_id, tenant="acme", type="run.started", at=NOW, data={})
        )


OpenOffice = Callable[..., Awaitable[Office]]


def _tools(ran: list[Any]) -> list[FunctionTool[..., Any]]:
    @tool(risk="high", scopes=["pay:write"], tags=["money"], consequences="The money leaves the account.")
    async def pay(amount: int) -> str:
        """Pay."""
        ran.append(amount)
        return f"paid {amount}"

    @tool(risk="critical")
    async def erase(amount: int) -> str:
        """Erase."""
        ran.append(amount)
        return "erased"

    return [pay, erase]


@pytest.fixture
async def open_office(tmp_path: Path) -> AsyncIterator[OpenOffice]:
    """Open a boundary over a file; `path` opens the same file a second time, as another process would."""
    async with AsyncExitStack() as stack:

        async def opened(
            *, path: Path | None = None, tools: Sequence[FunctionTool[..., Any]] | None = None, **given: Any
        ) -> Office:
            ran: list[Any] = []
            registry = ToolRegistry()
            stack.push_async_callback(registry.aclose)
            await registry.add(PythonTools("own", _tools(ran) if tools is None else tools))
            file = path or tmp_path / f"{next(_numbers)}.db"
            store = await stack.enter_async_context(await SqliteStore.open(file))
            policy = Swing()
            boundary = Boundary(
                registry=registry,
                store=store,
                policy=policy,
                approval_ttl=TTL,
                clock=lambda: office.now,
                **given,
            )
            stack.push_async_callback(boundary.aclose)
            office = Office(boundary=boundary, registry=registry, store=store, path=file, policy=policy, ran=ran)
            return office

        yield opened


@pytest.fixture
async def office(open_office: OpenOffice) -> Office:
    return await open_office()
