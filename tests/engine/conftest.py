"""An engine over a real store, registry and boundary; models that do what a test tells them."""

from __future__ import annotations

import asyncio
import itertools
import json
import warnings
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing, closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import pytest

from daeri.boundary import Boundary, JournalEntry, Record
from daeri.engine import (
    Agent,
    Engine,
    JournalEvent,
    Limits,
    RetryPolicy,
    Run,
    RunEvent,
    RunResult,
    RunRow,
    RunState,
    decode_event,
    fold_run,
)
from daeri.errors import ModelError, ModelErrorKind, StoreError
from daeri.identity import Principal
from daeri.models import (
    Finish,
    Model,
    ModelCall,
    ModelEvent,
    ModelReply,
    ModelRequest,
    ReasoningDelta,
    TextDelta,
    Usage,
)
from daeri.store import SqliteStore
from daeri.text import Json, Locale, count_tokens
from daeri.tools import FunctionTool, PythonTools, ToolRegistry

WATCHDOG_S = 30
"""Only a test that hangs ever gets there."""

Turn: TypeAlias = "ModelReply | ModelError | Callable[[ModelRequest], AsyncGenerator[ModelEvent]]"
Hook: TypeAlias = "Callable[[int, Sequence[str]], Awaitable[None]]"
T = TypeVar("T")
AnyTool: TypeAlias = "FunctionTool[..., Any]"


class FakeModel:
    """Takes the turns it was given, one per attempt, and keeps every request."""

    def __init__(self, *turns: Turn) -> None:
        self.turns = list(turns)
        self.requests: list[ModelRequest] = []
        self.streaming = 0
        """Streams that are open."""

    @property
    def name(self) -> str:
        return "fake"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        self.requests.append(request)
        turn = self.turns.pop(0)
        self.streaming += 1
        try:
            if isinstance(turn, ModelError):
                raise turn
            async with aclosing(_pieces(turn) if isinstance(turn, ModelReply) else turn(request)) as events:
                async for event in events:
                    yield event
        finally:
            self.streaming -= 1

    async def close(self) -> None: ...


async def _pieces(reply: ModelReply) -> AsyncGenerator[ModelEvent]:
    if reply.reasoning:
        yield ReasoningDelta(text=reply.reasoning)
    if reply.text:
        yield TextDelta(text=reply.text)
    yield reply


async def _pass(number: int, names: Sequence[str]) -> None: ...


class HookedStore(SqliteStore):
    """The real store; each write is announced to `before`, and to `after` once it is on disk but not yet known to be.

    A hook gets the number of the write and the journal event types in it; what it raises, the writer gets.
    """

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.writes = 0
        self.before: Hook = _pass
        self.after: Hook = _pass

    async def commit(self, records: Sequence[Record]) -> Sequence[int]:
        entries = [record for record in records if isinstance(record, JournalEntry)]
        return await self._hooked(entries, super().commit(records))

    async def append(self, entries: Sequence[JournalEntry], *, state: RunState | None = None) -> Sequence[int]:
        return await self._hooked(entries, super().append(entries, state=state))

    async def create_run(self, run: RunRow, first: JournalEntry) -> None:
        await self._hooked([first], super().create_run(run, first))

    async def _hooked(self, entries: Sequence[JournalEntry], write: Coroutine[Any, Any, T]) -> T:
        self.writes += 1
        number, names = self.writes, [entry.type for entry in entries]
        with closing(write):
            await self.before(number, names)
            # as in the real store, what was handed over gets written whatever becomes of the caller
            written = await asyncio.shield(asyncio.ensure_future(write))
        await self.after(number, names)
        return written


class Lab:
    """One tenant's engine, and short words for what its models say."""

    Model = FakeModel
    principal = Principal(tenant="acme", subject="kim", scopes=frozenset({"*"}))

    def __init__(self, store: HookedStore) -> None:
        self.store = store
        """What was logged, in place of its being printed."""
        self.engines: list[tuple[Engine, Boundary, ToolRegistry]] = []
        self._before = asyncio.all_tasks()
        self._ids = itertools.count(1)

    @property
    def boundary(self) -> Boundary:
        return self.engines[-1][1]

    async def engine(self, *tools: AnyTool, retry: RetryPolicy | None = None) -> Engine:
        registry = ToolRegistry()
        await registry.add(PythonTools("test", tools))
        boundary = Boundary(registry=registry, store=self.store)
        engine = Engine(
            boundary=boundary, store=self.store, retry=retry or RetryPolicy(first_wait_s=0, longest_wait_s=0)
        )
        self.engines.append((engine, boundary, registry))
        return engine

    async def start(
        self,
        model: Model,
        *tools: AnyTool,
        goal: str = "Do it.",
        agent: Agent | None = None,
        limits: Limits | None = None,
        locale: Locale | None = None,
        principal: Principal | None = None,
        retry: RetryPolicy | None = None,
    ) -> Run:
        engine = await self.engine(*tools, retry=retry)
        return await engine.start(
            goal,
            agent=agent or Agent(name="clerk"),
            model=model,
            principal=principal or self.principal,
            limits=limits,
            locale=locale,
        )

    async def run(self, model: Model, *tools: AnyTool, **options: Any) -> RunResult:
        return await self.result(await self.start(model, *tools, **options))

    async def soon(self, work: Awaitable[T]) -> T:
        """What is awaited, with a watchdog for what must not hang."""
        async with asyncio.timeout(WATCHDOG_S):
            return await work

    async def result(self, run: Run) -> RunResult:
        return await self.soon(run.result())

    async def cancel(self, run: Run) -> RunResult:
        return await self.soon(run.cancel())

    async def happens(self, event: asyncio.Event) -> None:
        await self.soon(event.wait())

    async def until(self, run: Run, name: str) -> None:
        """Follow a run up to its first event of this name."""
        async with asyncio.timeout(WATCHDOG_S), aclosing(run.events()) as events:
            async for event in events:
                if event.name == name:
                    return
        raise AssertionError(f"the run is over and had no {name}")

    async def let_others_go_on(self) -> None:
        """Give every task that is ready several turns of the loop."""
        for _ in range(20):
            await asyncio.sleep(0)

    def tasks(self) -> set[asyncio.Task[Any]]:
        """Tasks that came up since the test began, those of the test runner left out."""
        fresh = asyncio.all_tasks() - self._before
        return {task for task in fresh if not str(task.get_coro()).startswith("<coroutine object TestRunner")}

    async def stored(self, run_id: str) -> Sequence[JournalEvent]:
        return await self.store.events("acme", run_id)

    async def journal(self, run_id: str) -> list[RunEvent]:
        return [decode_event(run_id, event) for event in await self.stored(run_id)]

    async def names(self, run_id: str) -> list[str]:
        return [event.type for event in await self.stored(run_id)]

    async def refolded(self, run_id: str) -> RunResult:
        """The run as its journal alone tells it."""
        return fold_run(await self.stored(run_id), await self.store.run("acme", run_id))

    def call(self, name: str, arguments: Json = None, *, id: str = "") -> ModelCall:
        """A call as a model writes it; arguments that are a string stand for themselves."""
        text = arguments if isinstance(arguments, str) else json.dumps({} if arguments is None else arguments)
        return ModelCall(id=id or f"c{next(self._ids)}", name=name, arguments=text, provider_id=id)

    def calls(self, *calls: ModelCall, text: str = "", finish: Finish = "calls") -> ModelReply:
        return replace(self.says(text), calls=calls, finish=finish)

    def says(
        self, text: str, *, reasoning: str = "", finish: Finish = "stop", cost: Decimal | None = Decimal("0.01")
    ) -> ModelReply:
        usage = Usage(input_tokens=100, output_tokens=10)
        return ModelReply(text=text, reasoning=reasoning, finish=finish, usage=usage, cost=cost, model="fake")

    def fails(self, kind: ModelErrorKind, *, retry_after_s: float | None = None) -> ModelError:
        return ModelError(kind, "fake", f"told to fail with {kind}", retry_after_s=retry_after_s)

    def breaks_off(self, *events: ModelEvent, kind: ModelErrorKind = "connection") -> Turn:
        """A stream that gives these events and then fails."""

        async def stream(request: ModelRequest) -> AsyncGenerator[ModelEvent]:
            for event in events:
                yield event
            raise self.fails(kind)

        return stream

    def hangs(self, *events: ModelEvent, reached: asyncio.Event) -> Turn:
        """A stream that gives these events, sets `reached` and then says nothing until it is closed."""

        async def stream(request: ModelRequest) -> AsyncGenerator[ModelEvent]:
            for event in events:
                yield event
            reached.set()
            await asyncio.Event().wait()

        return stream

    def refuse_write(self, number: int) -> None:
        """Let the disk be full at one write."""

        async def refuse(this: int, names: Sequence[str]) -> None:
            if this == number:
                raise StoreError("write to the record", "the disk is full")

        self.store.before = refuse


@pytest.fixture(scope="session", autouse=True)
def token_vocabulary() -> None:
    """Loaded once, with the warning that Python 3.11 has about how the package reads it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        count_tokens("")


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncGenerator[Lab]:
    """Everything closed after the test, and no task left behind."""
    store = await HookedStore.open(tmp_path / "daeri.db")
    lab = Lab(store)
    yield lab
    async with asyncio.timeout(WATCHDOG_S):
        for engine, boundary, registry in lab.engines:
            await engine.aclose()
            await boundary.aclose()
            await registry.aclose()
        await store.aclose()
    assert lab.tasks() == set(), "tasks outlive their run"
