"""Whoever asks for whatever: nothing runs that may not, and whatever ran has exactly one end on record."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daeri.boundary import Boundary, CallOutcome, CallRequest, effective_risk
from daeri.errors import ConflictError, ToolError
from daeri.identity import Principal, missing_scopes
from daeri.store import SqliteStore
from daeri.text import Json, JsonObject
from daeri.tools import RISKS, Annotations, Tool, ToolContext, ToolRegistry

T = TypeVar("T")
Behaviour: TypeAlias = Literal["result", "misfit", "error", "crash", "exit", "hang"]
Moment: TypeAlias = Literal["asked", "reached its tool"]
_BEHAVIOURS: tuple[Behaviour, ...] = ("result", "misfit", "error", "crash", "exit", "hang")
_ENDS = {"succeeded", "failed", "unknown", "cancelled"}


@dataclass
class Lab:
    """A source of tools that behave as told and remembers every call that reached it."""

    behaviours: dict[str, Behaviour]
    tools: Sequence[Tool]
    name: str = "lab"
    executed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Tenant and call id."""
    reached: defaultdict[tuple[str, str], asyncio.Event] = field(default_factory=lambda: defaultdict(asyncio.Event))

    async def list_tools(self) -> Sequence[Tool]:
        return self.tools

    async def invoke(self, tool: str, arguments: JsonObject, context: ToolContext) -> Json:
        call = (context.principal.tenant, context.call_id)
        self.executed.append(call)
        self.reached[call].set()
        await asyncio.sleep(0)
        match self.behaviours[tool]:
            case "result":
                return {"ok": True}
            case "misfit":
                return {"ok": "yes"}
            case "error":
                raise ToolError("no")
            case "crash":
                raise ZeroDivisionError
            case "exit":
                raise SystemExit(1)
            case "hang":
                await asyncio.Event().wait()


@dataclass(frozen=True)
class Asked:
    request: CallRequest
    cancel: tuple[Moment, int] | None = None
    """From when on, and how many turns of the event loop later."""


def _often(usual: T, *others: T) -> st.SearchStrategy[T]:
    """Mostly what lets a call pass: a call that is stopped early proves nothing about what comes later."""
    return st.sampled_from([usual] * 3 * len(others) + [*others])


_marks = st.sampled_from(
    [
        Annotations(),
        Annotations(read_only=True),
        Annotations(idempotent=True),
        Annotations(destructive=True),
        Annotations(destructive=True, idempotent=True),
    ]
)


@st.composite
def _labs(draw: st.DrawFn) -> Lab:
    names = ["t0", "t1", "t2", "t3"]
    tools = [
        Tool(
            name=name,
            description="",
            input_schema={"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False},
            output_schema={"type": "object", "properties": {"ok": {"type": "boolean"}}},
            annotations=draw(_marks),
            scopes=draw(_often(frozenset[str](), frozenset({"a:read"}), frozenset({"a:write", "b:read"}))),
            risk=draw(_often("low", *RISKS)),
            enabled=draw(_often(True, False)),
            timeout_s=0.02,
            source="lab",
        )
        for name in names
    ]
    return Lab(behaviours={name: draw(st.sampled_from(_BEHAVIOURS)) for name in names}, tools=tools)


_principals = st.builds(
    Principal,
    tenant=st.sampled_from(["acme", "other"]),
    subject=st.sampled_from(["user:kim", "user:lee"]),
    scopes=_often(frozenset({"*"}), frozenset({"a:*"}), frozenset({"b:read", "a:write"}), frozenset[str]()),
)
_FITTING: tuple[JsonObject, ...] = ({}, {"n": 1}, {"n": 2})
_arguments: st.SearchStrategy[Json] = _often({}, *_FITTING[1:], {"n": "x"}, {"m": 1}, [1], None)
_requests = st.builds(
    CallRequest,
    principal=_principals | _principals.map(lambda person: person.acting_as("bot", ["a:*"])),
    tool=st.sampled_from(["t0", "t1", "t2", "t3"] * 3 + ["t4"]),
    arguments=_arguments,
    call_id=st.sampled_from([f"c{number}" for number in range(12)]),
    origin=st.just("api"),
    allowed_tools=_often(None, frozenset({"t0", "t1"}), frozenset[str]()),
)
_sure = st.builds(Asked, _requests)
_moments: st.SearchStrategy[tuple[Moment, int]] = st.tuples(
    st.sampled_from(["asked", "reached its tool"]), st.integers(0, 12)
)
_cancelled_or_not = st.builds(Asked, _requests, st.none() | _moments)


async def _ask(boundary: Boundary, lab: Lab, asked: Asked) -> CallOutcome | BaseException:
    calling = asyncio.ensure_future(boundary.call(asked.request))
    if asked.cancel is not None:
        moment, turns = asked.cancel
        call = (asked.request.principal.tenant, asked.request.call_id)
        if moment == "reached its tool":
            reached = asyncio.ensure_future(lab.reached[call].wait())
            await asyncio.wait({calling, reached}, return_when=asyncio.FIRST_COMPLETED)
            reached.cancel()
        for _ in range(turns):
            await asyncio.sleep(0)
        calling.cancel()
    (outcome,) = await asyncio.gather(calling, return_exceptions=True)
    return outcome


@dataclass(frozen=True)
class Seen:
    outcomes: list[CallOutcome | BaseException]
    calls: list[dict[str, Any]]
    audit: Counter[tuple[str, str, str]]
    """Tenant, call id and kind."""


def _play(empty: Path, lab: Lab, asks: Sequence[Asked]) -> Seen:
    """All asks at once through a fresh door; then what is on disk."""

    async def through(path: Path) -> list[CallOutcome | BaseException]:
        registry = ToolRegistry()
        await registry.add(lab)
        async with await SqliteStore.open(path) as store:
            boundary = Boundary(registry=registry, store=store)
            outcomes = await asyncio.gather(*(_ask(boundary, lab, asked) for asked in asks))
            await boundary.aclose()
        return outcomes

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "daeri.db"
        shutil.copy(empty, path)
        outcomes = asyncio.run(through(path))
        with closing(sqlite3.connect(path)) as connection:
            connection.row_factory = sqlite3.Row
            calls = [dict(row) for row in connection.execute("SELECT * FROM calls")]
            audit = Counter(
                (row["tenant"], row["subject"], row["kind"]) for row in connection.execute("SELECT * FROM audit")
            )
    return Seen(outcomes, calls, audit)


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file without rows."""
    path = tmp_path_factory.mktemp("empty") / "daeri.db"

    async def make() -> None:
        async with await SqliteStore.open(path):
            pass

    asyncio.run(make())
    return path


def _may_run(lab: Lab, row: dict[str, Any], asks: Sequence[Asked]) -> bool:
    """Whether some ask with this id was allowed to run, worked out apart from the boundary."""
    for asked in asks:
        request = asked.request
        if (request.principal.tenant, request.call_id) != (row["tenant"], row["call_id"]):
            continue
        tool = next((tool for tool in lab.tools if tool.name == request.tool), None)
        visible = tool is not None and (request.allowed_tools is None or tool.name in request.allowed_tools)
        fits = request.arguments in _FITTING
        if tool is None or not visible or not tool.enabled or not fits:
            continue
        if not missing_scopes(tool.scopes, request.principal.scopes) and effective_risk(tool) in ("low", "medium"):
            return True
    return False


@settings(max_examples=60, deadline=None)
@given(lab=_labs(), asks=st.lists(_sure, min_size=1, max_size=16))
def test_executions_are_the_started_calls_each_once_and_each_with_one_end(
    empty: Path, lab: Lab, asks: list[Asked]
) -> None:
    seen = _play(empty, lab, asks)

    started = [(row["tenant"], row["call_id"]) for row in seen.calls if row["started_at"] is not None]
    assert sorted(lab.executed) == sorted(started)
    for row in seen.calls:
        kinds = {kind: n for (tenant, call, kind), n in seen.audit.items() if (tenant, call) == _id(row)}
        before = {"call.started": 1} if row["started_at"] is not None else {}
        assert kinds == {**before, f"call.{row['state']}": 1}
        assert row["state"] in (_ENDS if before else {"denied", "failed", "waiting"})


@settings(max_examples=60, deadline=None)
@given(lab=_labs(), asks=st.lists(_cancelled_or_not, min_size=1, max_size=16))
def test_no_denied_waiting_or_misfitting_call_ever_runs_and_none_runs_twice_whenever_it_is_cancelled(
    empty: Path, lab: Lab, asks: list[Asked]
) -> None:
    seen = _play(empty, lab, asks)

    rows = {_id(row): row for row in seen.calls}
    assert max(Counter(lab.executed).values(), default=0) <= 1
    for executed in lab.executed:
        assert rows[executed]["started_at"] is not None
        assert _may_run(lab, rows[executed], asks)
    for call, row in rows.items():
        ends = [
            n for (tenant, name, kind), n in seen.audit.items() if (tenant, name) == call and kind != "call.started"
        ]
        assert ends == [1]
        if row["state"] == "cancelled" and call in lab.executed:
            assert _tool(lab, row).annotations.repeatable


@settings(max_examples=40, deadline=None)
@given(lab=_labs(), asks=st.lists(_sure, min_size=1, max_size=16))
def test_an_outcome_is_what_the_record_says_or_a_conflict(empty: Path, lab: Lab, asks: list[Asked]) -> None:
    seen = _play(empty, lab, asks)

    rows = {_id(row): row for row in seen.calls}
    for asked, outcome in zip(asks, seen.outcomes, strict=True):
        if isinstance(outcome, BaseException):
            assert isinstance(outcome, ConflictError)
            continue
        # an ask may be given the outcome of an equal call that waits
        row = rows[(asked.request.principal.tenant, outcome.call_id)]
        assert outcome.tool == row["tool"]
        assert outcome.state in {row["state"], "started"}
        if outcome.state not in {"started", "succeeded", "waiting"}:
            assert outcome.failure is not None
            assert outcome.failure.kind == json.loads(row["failure"])["kind"]


def _id(row: dict[str, Any]) -> tuple[str, str]:
    return row["tenant"], row["call_id"]


def _tool(lab: Lab, row: dict[str, Any]) -> Tool:
    return next(tool for tool in lab.tools if tool.name == row["tool"])
