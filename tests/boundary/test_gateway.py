"""Whatever a tool does, its call ends as data, in time, with exactly one terminal record."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from daeri.boundary import Boundary, CallOutcome
from daeri.errors import Failure, ToolError
from daeri.identity import Principal
from daeri.store import SqliteStore
from daeri.text import Json, JsonObject
from daeri.tools import PythonTools, Tool, ToolContext, ToolRegistry, tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, Door, OpenDoor


class Fixed:
    """A foreign source of tools whose one tool gives what it is told to."""

    name = "foreign"

    def __init__(self, give: Callable[[], Any], output_schema: JsonObject | None = None) -> None:
        self._give = give
        self._tool = Tool(
            name="foreign.get",
            description="",
            input_schema={"type": "object"},
            output_schema=output_schema,
            source=self.name,
        )

    async def list_tools(self) -> Sequence[Tool]:
        return [self._tool]

    async def invoke(self, tool: str, arguments: JsonObject, context: ToolContext) -> Json:
        return self._give()


class Follower:
    """Keeps the progress that it is told of."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, str]] = []

    def recorded(self, entry: object, seq: int) -> None: ...

    def tool_progress(self, call_id: str, tool: str, text: str) -> None:
        self.told.append((call_id, tool, text))


class Rude(BaseException):
    """What nobody should raise."""


class Unreadable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Forgetful(ToolError):
    def __init__(self) -> None:  # a subclass that forgets its base
        Exception.__init__(self, "forgot")


def _raising(error: BaseException) -> Callable[[], NoReturn]:
    def give() -> NoReturn:
        raise error

    return give


def _nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


async def _ended(door: Door, outcome: CallOutcome) -> Failure:
    """Its failure, once the record agrees with the answer."""
    assert outcome.failure is not None
    assert outcome.value is None
    assert door.states() == [outcome.state]
    assert door.audit_kinds() == ["call.started", f"call.{outcome.state}"]
    return outcome.failure


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ValueError("no such row"), "foreign.get raised ValueError: no such row"),
        (SystemExit(3), "foreign.get raised SystemExit: 3"),
        (Rude("out"), "foreign.get raised Rude: out"),
        (GeneratorExit("gone"), "foreign.get raised GeneratorExit: gone"),
        (BaseExceptionGroup("many", [Rude("one")]), "foreign.get raised BaseExceptionGroup: many (1 sub-exception)"),
        (RecursionError("too deep"), "foreign.get raised RecursionError: too deep"),
        (asyncio.CancelledError(), "foreign.get cancelled itself"),
        (TimeoutError("its own"), "foreign.get raised TimeoutError: its own"),
        (Unreadable(), "foreign.get raised Unreadable: (its text can't be read: RuntimeError)"),
        (Forgetful(), "forgot"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
async def test_whatever_a_tool_raises_is_a_tool_error_without_words_for_people(
    open_door: OpenDoor, ask: Ask, error: BaseException, says: str
) -> None:
    door = await open_door(provider=Fixed(_raising(error)))

    failure = await _ended(door, await door.boundary.call(ask("foreign.get")))

    assert failure == Failure(kind="tool_error", diagnostic=says)
    assert door.states() == ["failed"]


async def test_a_tool_that_cancels_its_own_task_cancels_nobody_else(open_door: OpenDoor, ask: Ask) -> None:
    @tool
    async def give_up() -> str:
        """Give up."""
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)
        return "never"

    door = await open_door(give_up)

    failure = await _ended(door, await door.boundary.call(ask("give_up")))

    assert failure == Failure(kind="tool_error", diagnostic="give_up cancelled itself")


async def test_words_for_people_come_only_from_a_tool_error(open_door: OpenDoor, ask: Ask) -> None:
    error = ToolError("잔액이 부족합니다.", diagnostic="account 7: balance 3 < 5")
    door = await open_door(provider=Fixed(_raising(error)))

    failure = await _ended(door, await door.boundary.call(ask("foreign.get")))

    assert failure == Failure(
        kind="tool_error", diagnostic="account 7: balance 3 < 5", user_message="잔액이 부족합니다."
    )


async def test_words_of_a_tool_are_cut_and_scrubbed(open_door: OpenDoor, ask: Ask) -> None:
    error = ToolError("a\ud800b" + "x" * 1_000_000, diagnostic="c\0d" + "y" * 1_000_000)
    door = await open_door(provider=Fixed(_raising(error)))

    failure = await _ended(door, await door.boundary.call(ask("foreign.get")))

    assert failure.user_message is not None
    assert failure.user_message.startswith("a\ufffdb")
    assert failure.diagnostic.startswith("c\ufffdd")
    assert max(len(failure.user_message), len(failure.diagnostic)) <= 2_000


async def test_sys_exit_in_a_thread_is_a_tool_error(open_door: OpenDoor, ask: Ask) -> None:
    @tool
    def leave() -> str:
        """Leave."""
        sys.exit(7)

    door = await open_door(leave)

    assert (await _ended(door, await door.boundary.call(ask("leave")))).kind == "tool_error"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (float("nan"), "a finite number"),
        ({"a": [float("inf")]}, "a finite number"),
        (10**5000, "digits"),
        (_nested(100_000), "nested more than 64 deep"),
        ("x" * 25_000_001, "more than 25,000,000 bytes"),
        (b"bytes", "a Python bytes"),
        (object(), "a Python object"),
        ({1: 2}, "a key that is not a string"),
        ({"k" * 100_000: float("nan")}, "characters cut"),
    ],
    ids=["nan", "infinity", "digits", "abyss", "huge", "bytes", "object", "key", "long key"],
)
async def test_a_result_that_is_no_json_or_beyond_every_limit_breaks_the_contract(
    open_door: OpenDoor, ask: Ask, value: Any, says: str
) -> None:
    door = await open_door(provider=Fixed(lambda: value))

    failure = await _ended(door, await door.boundary.call(ask("foreign.get")))

    assert failure.kind == "contract_violation"
    assert says in failure.diagnostic


async def test_a_result_that_breaks_its_output_contract_names_the_place(open_door: OpenDoor, ask: Ask) -> None:
    schema: JsonObject = {"type": "object", "properties": {"rows": {"type": "array", "items": {"type": "integer"}}}}
    door = await open_door(provider=Fixed(lambda: {"rows": [1, "two"]}, schema))

    failure = await _ended(door, await door.boundary.call(ask("foreign.get")))

    assert (failure.kind, failure.path) == ("contract_violation", "/rows/1")


async def test_a_python_result_that_breaks_its_return_type_is_a_failed_call(open_door: OpenDoor, ask: Ask) -> None:
    @tool
    async def count() -> list[int]:
        """Count."""
        made: Any = [1, "two"]
        return made

    door = await open_door(count)

    failure = await _ended(door, await door.boundary.call(ask("count")))

    assert (failure.kind, failure.path) == ("contract_violation", "/1")


async def test_a_python_result_that_can_not_be_written_as_json_breaks_the_contract(
    open_door: OpenDoor, ask: Ask
) -> None:
    @tool
    async def ratio() -> float:
        """Divide by nothing."""
        return float("nan")

    door = await open_door(ratio)

    failure = await _ended(door, await door.boundary.call(ask("ratio")))

    assert (failure.kind, failure.user_message) == ("contract_violation", None)


async def test_lone_surrogates_and_nul_in_a_result_are_replaced(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(provider=Fixed(lambda: {"a\ud800": ["b\0"]}, {"type": "object"}))
    request = ask("foreign.get")

    outcome = await door.boundary.call(request)

    assert outcome.value == {"a\ufffd": ["b\ufffd"]}
    assert await door.boundary.result_of("acme", request.call_id) == outcome.value


async def test_none_is_a_result_like_any_other(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(provider=Fixed(lambda: None))
    request = ask("foreign.get")

    assert (await door.boundary.call(request)).state == "succeeded"
    assert await door.boundary.result_of("acme", request.call_id) is None


@pytest.mark.parametrize(
    ("marks", "state"), [({"read_only": True}, "failed"), ({"idempotent": True}, "failed"), ({}, "unknown")]
)
async def test_a_timeout_is_a_failure_if_the_call_can_be_repeated_and_else_unknown(
    open_door: OpenDoor, ask: Ask, marks: dict[str, Any], state: str
) -> None:
    @tool(timeout_s=0.01, **marks)
    async def hang() -> str:
        """Hang."""
        await asyncio.Event().wait()
        return "never"

    door = await open_door(hang)

    outcome = await door.boundary.call(ask("hang"))

    assert await _ended(door, outcome) == Failure(kind="timeout", diagnostic="hang did not finish within 0.01 s")
    assert outcome.state == state


async def test_a_tool_is_cancelled_when_its_time_is_over(open_door: OpenDoor, ask: Ask) -> None:
    cancelled = asyncio.Event()

    @tool(timeout_s=0.01)
    async def hang() -> str:
        """Hang."""
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return "never"

    door = await open_door(hang)

    await door.boundary.call(ask("hang"))

    assert cancelled.is_set()


async def test_a_tool_that_ignores_its_cancellation_holds_up_neither_its_call_nor_closing(
    open_door: OpenDoor, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daeri.boundary._gateway._CANCEL_GRACE_S", 0.01)
    let_go = asyncio.Event()

    @tool(timeout_s=0.01)
    async def stubborn() -> str:
        """Stay."""
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    door = await open_door(stubborn)

    outcome = await door.boundary.call(ask("stubborn"))
    await door.boundary.aclose()
    let_go.set()

    assert outcome.state == "unknown"
    assert door.states() == ["unknown"]


async def test_closing_cancels_again_what_swallowed_one_cancellation(
    open_door: OpenDoor, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("daeri.boundary._gateway._CANCEL_GRACE_S", 0.01)
    ended = asyncio.Event()

    @tool(timeout_s=0.01)
    async def slow_to_learn() -> str:
        """Swallow the first cancellation."""
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return "never"

    door = await open_door(slow_to_learn)
    await door.boundary.call(ask("slow_to_learn"))

    await door.boundary.aclose()

    assert ended.is_set()


async def test_a_blocking_function_that_can_not_be_stopped_does_not_hold_up_its_call(
    open_door: OpenDoor, ask: Ask
) -> None:
    let_go = threading.Event()

    @tool(timeout_s=0.01, read_only=True)
    def block() -> str:
        """Block."""
        let_go.wait()
        return "late"

    door = await open_door(block)

    outcome = await door.boundary.call(ask("block"))
    let_go.set()

    assert (outcome.state, outcome.failure and outcome.failure.kind) == ("failed", "timeout")


async def test_a_tool_knows_its_call_and_reports_its_progress(open_door: OpenDoor, ask: Ask) -> None:
    follower = Follower()

    @tool
    def work(context: ToolContext) -> list[str | None]:
        """Work in a thread."""
        context.report("half\0way")
        return [context.call_id, context.run_id, context.locale, context.principal.subject]

    door = await open_door(work)

    outcome = await door.boundary.call(ask("work", call_id="c1", locale="ko"), observer=follower)

    assert outcome.value == ["c1", None, "ko", "user:kim"]
    assert follower.told == [("c1", "work", "half\ufffdway")]


def test_a_thread_that_outlives_the_event_loop_can_still_report_its_progress(tmp_path: Path, ask: Ask) -> None:
    let_go, over = threading.Event(), threading.Event()
    finished: list[str] = []

    @tool(timeout_s=0.01)
    def outlive(context: ToolContext) -> str:
        """Report when nobody listens any more."""
        let_go.wait()
        try:
            context.report("late")
            finished.append("all of it")
        finally:
            over.set()
        return "late"

    async def main() -> None:
        registry = ToolRegistry()
        await registry.add(PythonTools("own", [outlive]))
        async with await SqliteStore.open(tmp_path / "daeri.db") as store:
            boundary = Boundary(registry=registry, store=store)
            await boundary.call(ask("outlive"), observer=Follower())
            await boundary.aclose()
        await registry.aclose()

    asyncio.run(main())
    let_go.set()
    assert over.wait(30)

    assert finished == ["all of it"]


async def test_no_two_callers_have_the_same_key_for_the_system_behind_a_tool(open_door: OpenDoor, ask: Ask) -> None:
    @tool
    async def key(context: ToolContext) -> str | None:
        """Give the key."""
        return context.idempotency_key

    @tool
    async def other(context: ToolContext) -> str | None:
        """Give the key."""
        return context.idempotency_key

    door = await open_door(key, other)
    kim, lee, twin = (
        Principal(tenant=tenant, subject=subject)
        for tenant, subject in (("acme", "user:kim"), ("acme", "user:lee"), ("rival", "user:kim"))
    )
    callers = [kim, lee, twin, *(who.acting_as("bot") for who in (kim, lee, twin)), kim.acting_as("helper")]
    asks = [ask("key", principal=who, idempotency_key="k7") for who in callers]
    asks += [ask("key", call_id="k7"), ask("other", call_id="k9"), ask("key", idempotency_key="k8")]

    keys = [(await door.boundary.call(one)).value for one in asks]

    assert len(set(keys)) == len(keys) == 10
    assert all(isinstance(one, str) and one.startswith("sha256:") for one in keys)


_PROGRAM = """
import asyncio, json, sys, time
from daeri.boundary import Boundary, CallRequest
from daeri.identity import Principal
from daeri.store import SqliteStore
from daeri.tools import PythonTools, ToolRegistry, tool

@tool(timeout_s=0.05)
def block() -> str:
    "Block for good."
    time.sleep(3600)
    return "never"

async def main(path):
    registry = ToolRegistry()
    await registry.add(PythonTools("own", [block]))
    async with await SqliteStore.open(path) as store:
        boundary = Boundary(registry=registry, store=store)
        request = CallRequest(
            principal=Principal(tenant="t", subject="s"), tool="block", arguments={}, call_id="c", origin="cli"
        )
        outcome = await boundary.call(request)
        await boundary.aclose()
    await registry.aclose()
    print(json.dumps([outcome.state, outcome.failure.kind]))

asyncio.run(main(sys.argv[1]))
"""


def test_a_process_ends_although_a_tool_still_blocks_in_a_thread(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(tmp_path / "daeri.db")], capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout) == ["unknown", "timeout"]
