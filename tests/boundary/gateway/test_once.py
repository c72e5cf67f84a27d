"""Whatever fails, a call that must not run twice does not, and every call that was started has one end on record."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daeri.boundary import Boundary, CallRequest, Pace
from daeri.errors import ToolError
from daeri.identity import Principal
from daeri.store import SqliteStore
from daeri.text import Json, JsonObject
from daeri.tools import (
    Annotations,
    NotSentError,
    Resilience,
    StaticAnswer,
    Tool,
    ToolContext,
    ToolRegistry,
    UpstreamError,
)

Deed: TypeAlias = Literal["result", "unsent", "sent", "answer", "crash", "misfit", "silence", "exit"]
_DEEDS: tuple[Deed, ...] = ("result", "unsent", "sent", "answer", "crash", "misfit", "silence", "exit")
_ENDS = ("succeeded", "failed", "unknown", "cancelled")


@dataclass
class Lab:
    """Tools that do one deed after the other, and count for each call how often they were truly asked."""

    tools: Sequence[Tool]
    deeds: dict[str, list[Deed]]
    name: str = "lab"
    asked: Counter[str] = field(default_factory=Counter[str])
    took_effect: Counter[str] = field(default_factory=Counter[str])

    async def list_tools(self) -> Sequence[Tool]:
        return self.tools

    async def invoke(self, tool: str, arguments: JsonObject, context: ToolContext) -> Json:
        deeds = self.deeds[tool]
        deed = deeds.pop(0) if len(deeds) > 1 else deeds[0]
        self.asked[context.call_id] += 1
        await asyncio.sleep(0)
        if deed == "unsent":
            raise NotSentError("no connection")
        self.took_effect[context.call_id] += 1
        return await _do(deed)


async def _do(deed: Deed) -> Json:
    match deed:
        case "sent":
            raise UpstreamError("reset")
        case "answer":
            raise ToolError("no")
        case "crash":
            raise ZeroDivisionError
        case "exit":
            raise SystemExit(1)
        case "silence":
            await asyncio.Event().wait()
        case "misfit":
            return {"ok": "yes"}
        case _:
            pass
    return {"ok": True}


@st.composite
def _labs(draw: st.DrawFn) -> Lab:
    names = ("t0", "t1", "t2")
    marks = st.sampled_from([Annotations(), Annotations(read_only=True), Annotations(idempotent=True)])
    limits = st.builds(
        Resilience,
        attempts=st.integers(1, 4),
        first_wait_s=st.just(0.5),
        idle_timeout_s=st.just(0.002),
        max_concurrent=st.sampled_from([None, 1, 2]),
        breaker_failures=st.integers(0, 3),
        upstream=st.sampled_from([None, "erp"]),
        fallback=st.sampled_from([None, "t1", "t2", StaticAnswer(value={"ok": False}), StaticAnswer(value=1)]),
    )
    tools = [
        Tool(
            name=name,
            description="",
            input_schema={"type": "object"},
            output_schema={"type": "object", "properties": {"ok": {"type": "boolean"}}},
            annotations=draw(marks),
            timeout_s=5.0,
            resilience=draw(limits),
            source="lab",
        )
        for name in names
    ]
    deeds = {name: draw(st.lists(st.sampled_from(_DEEDS), min_size=1, max_size=6)) for name in names}
    return Lab(tools=tools, deeds=deeds)


@dataclass(frozen=True)
class Seen:
    calls: list[sqlite3.Row]
    audit: list[sqlite3.Row]


def _play(empty: Path, lab: Lab, asks: Sequence[str], cancelled_after: Sequence[int | None]) -> Seen:
    async def no_pause(seconds: float) -> None:
        await asyncio.sleep(0)

    async def call(boundary: Boundary, number: int, tool: str, turns: int | None) -> None:
        request = CallRequest(
            principal=Principal(tenant="acme", subject="kim"),
            tool=tool,
            arguments={},
            call_id=f"c{number}",
            origin="api",
        )
        calling = asyncio.ensure_future(boundary.call(request))
        if turns is not None:
            for _ in range(turns):
                await asyncio.sleep(0)
            calling.cancel()
        await asyncio.gather(calling, return_exceptions=True)

    async def through(path: Path) -> None:
        registry = ToolRegistry()
        await registry.add(lab)
        async with await SqliteStore.open(path) as store:
            boundary = Boundary(registry=registry, store=store, pace=Pace(sleep=no_pause))
            both = zip(asks, cancelled_after, strict=True)
            await asyncio.gather(*(call(boundary, number, *one) for number, one in enumerate(both)))
            await boundary.aclose()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "daeri.db"
        shutil.copy(empty, path)
        asyncio.run(through(path))
        with closing(sqlite3.connect(path)) as connection:
            connection.row_factory = sqlite3.Row
            return Seen(
                calls=connection.execute("SELECT * FROM calls").fetchall(),
                audit=connection.execute("SELECT * FROM audit ORDER BY seq").fetchall(),
            )


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file without rows."""
    path = tmp_path_factory.mktemp("empty") / "daeri.db"

    async def make() -> None:
        async with await SqliteStore.open(path):
            pass

    asyncio.run(make())
    return path


_names = st.sampled_from(["t0", "t1", "t2"])


@settings(max_examples=80, deadline=None)
@given(
    lab=_labs(),
    asks=st.lists(st.tuples(_names, st.none() | st.integers(0, 40)), min_size=1, max_size=8),
)
def test_what_may_not_be_repeated_takes_effect_at_most_once_and_every_start_has_one_end(
    empty: Path, lab: Lab, asks: list[tuple[str, int | None]]
) -> None:
    seen = _play(empty, lab, [name for name, _ in asks], [turns for _, turns in asks])

    tools = {tool.name: tool for tool in lab.tools}
    for row in seen.calls:
        call_id, tool = row["call_id"], tools[row["tool"]]
        kinds = [event["kind"] for event in seen.audit if event["subject"] == call_id]
        assert kinds[0] == "call.started"
        assert [kind for kind in kinds[1:] if kind != "call.attempted"] == [f"call.{row['state']}"]
        assert kinds[-1] == f"call.{row['state']}"
        assert row["state"] in _ENDS
        assert lab.asked[call_id] <= tool.resilience.attempts
        if not tool.annotations.repeatable:
            assert lab.took_effect[call_id] <= 1


@settings(max_examples=80, deadline=None)
@given(lab=_labs(), asks=st.lists(_names, min_size=1, max_size=8))
def test_what_took_effect_and_whose_end_nobody_saw_is_unknown_and_nothing_else_is(
    empty: Path, lab: Lab, asks: list[str]
) -> None:
    seen = _play(empty, lab, asks, [None] * len(asks))

    tools = {tool.name: tool for tool in lab.tools}
    for row in seen.calls:
        kind = row["failure"] and json.loads(row["failure"])["kind"]
        doubtful = kind in ("transport", "timeout") and not tools[row["tool"]].annotations.repeatable
        assert (row["state"] == "unknown") == (doubtful and lab.took_effect[row["call_id"]] == 1)
        if ".fallback." in row["call_id"]:
            assert tools[row["tool"]].annotations.read_only
    attempts = Counter(event["subject"] for event in seen.audit if event["kind"] == "call.attempted")
    for call_id, number in lab.asked.items():
        assert number - 1 <= attempts[call_id] <= number
