"""What is on disk, and when: the start before the tool runs, the end before anybody is answered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, cast

import pytest

from daeri.boundary import JournalEntry
from daeri.errors import NotFoundError, StoreError
from daeri.identity import Principal
from daeri.store import GENESIS, AuditRow
from daeri.text import digest
from daeri.tools import tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, Door, OpenDoor


@tool
async def greet(name: str) -> str:
    """Greet."""
    return f"안녕하세요 {name}"


async def test_while_the_tool_runs_its_call_is_started_on_disk_with_decision_journal_and_audit(
    open_door: OpenDoor, ask: Ask
) -> None:
    seen: dict[str, object] = {}

    @tool
    async def look() -> str:
        """Look at the disk."""
        (row,) = door.rows("SELECT state, decision, started_at, ended_at, arguments FROM calls")
        seen.update(row, audit=door.audit_kinds(), journal=door.journal_types())
        return "looked"

    door = await open_door(look)
    await door.begin_run()

    await door.boundary.call(ask("look", run_id="r1"))

    assert json.loads(str(seen.pop("decision")))["verdict"] == "allow"
    assert seen.pop("started_at")
    assert seen == {
        "state": "started",
        "ended_at": None,
        "arguments": "{}",
        "audit": ["call.started"],
        "journal": ["run.started", "call.requested", "call.started"],
    }


async def test_when_the_answer_comes_outcome_journal_and_audit_are_on_disk(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(greet)
    await door.begin_run()
    request = ask("greet", {"name": "Kim"}, run_id="r1")

    outcome = await door.boundary.call(request)

    (row,) = door.rows("SELECT state, result_digest, elapsed_ms, ended_at FROM calls")
    assert (row["state"], row["result_digest"], row["elapsed_ms"]) == (
        "succeeded",
        digest("안녕하세요 Kim"),
        outcome.elapsed_ms,
    )
    assert row["ended_at"]
    assert door.audit_kinds() == ["call.started", "call.succeeded"]
    assert door.journal_types() == ["run.started", "call.requested", "call.started", "call.succeeded"]
    assert await door.boundary.result_of("acme", request.call_id) == outcome.value


async def test_a_call_outside_runs_has_no_journal_but_is_audited(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(greet)

    await door.boundary.call(ask("greet", {"name": "Kim"}))

    assert (door.journal_types(), door.audit_kinds()) == ([], ["call.started", "call.succeeded"])


async def test_the_audit_record_says_who_what_why_but_holds_arguments_and_results_only_as_digests(
    open_door: OpenDoor, ask: Ask
) -> None:
    door = await open_door(greet)
    kim = Principal(tenant="acme", subject="user:kim").acting_as("bot")
    request = ask("greet", {"name": "주민등록번호"}, principal=kim, agent="bot", origin="mcp", idempotency_key="k1")

    await door.boundary.call(request)

    started, ended = door.rows("SELECT actor, subject, data FROM audit ORDER BY seq")
    said = json.loads(started["data"])
    assert (started["actor"], started["subject"]) == ("agent:bot", request.call_id)
    assert said["principal"]["on_behalf_of"]["subject"] == "user:kim"
    assert (said["origin"], said["agent"], said["idempotency_key_digest"]) == ("mcp", "bot", digest("k1"))
    assert "idempotency_key" not in said
    assert said["arguments_digest"] == digest({"name": "주민등록번호"})
    assert json.loads(ended["data"])["result_digest"] == digest("안녕하세요 주민등록번호")
    assert "주민등록번호" not in started["data"] + ended["data"]


@pytest.mark.parametrize("arguments", [{"name": "Kim", "age": "주민등록번호"}, {"name": "주민등록번호", "age": 1}])
async def test_the_audit_record_names_kind_and_place_of_a_failure_but_quotes_nothing(
    open_door: OpenDoor, ask: Ask, arguments: dict[str, object]
) -> None:
    @tool
    async def refuse(name: str, age: int) -> str:
        """Refuse."""
        raise ValueError(f"nobody is called {name}")

    door = await open_door(refuse)

    outcome = await door.boundary.call(ask("refuse", arguments))

    assert outcome.failure is not None
    data = door.rows("SELECT data FROM audit ORDER BY seq DESC LIMIT 1")[0]["data"]
    assert json.loads(data)["failure"]["kind"] == outcome.failure.kind
    assert "주민등록번호" not in data


@tool
async def pay(m: dict[str, int], to: str = "") -> str:
    """Pay."""
    return to


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("pay", {"m": {"4111-1111": "x"}}, "/m/*"),
        ("pay", {"m": {}, "4111-1111": 1}, ""),
        ("pay", {"m": {}, "to": 4111}, "/to"),
    ],
)
async def test_of_a_place_the_audit_record_holds_only_names_that_the_tool_declares(
    open_door: OpenDoor, ask: Ask, name: str, arguments: dict[str, object], said: str
) -> None:
    door = await open_door(pay)

    await door.boundary.call(ask(name, arguments))

    (row,) = door.rows("SELECT data FROM audit")
    assert json.loads(row["data"])["failure"] == {"kind": "invalid_arguments", "path": said}
    assert "4111" not in row["data"]


async def test_of_a_result_too(open_door: OpenDoor, ask: Ask) -> None:
    @tool
    async def look() -> dict[str, int]:
        """Look."""
        return cast("dict[str, int]", {"4111-1111": "x"})

    door = await open_door(look)

    outcome = await door.boundary.call(ask("look"))

    assert outcome.failure is not None
    assert outcome.failure.kind == "contract_violation"
    assert "4111" not in str(door.rows("SELECT data FROM audit"))


@pytest.mark.parametrize(("name", "kept"), [("급여.조회", True), ("pay to 4111-1111", False), ("x" * 129, False)])
async def test_what_is_no_name_of_a_tool_is_on_the_audit_record_only_as_a_digest(
    open_door: OpenDoor, ask: Ask, name: str, kept: bool
) -> None:
    door = await open_door()

    outcome = await door.boundary.call(ask(name))

    assert outcome.failure is not None
    assert outcome.failure.kind == "unknown_tool"
    (row,) = door.rows("SELECT data FROM audit")
    assert json.loads(row["data"])["tool"] == (name if kept else digest(name))
    assert (name in row["data"]) == kept


async def test_audit_rows_chain(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(greet)

    for arguments in ({"name": "Kim"}, {"nobody": 1}, {"name": "Lee"}):
        await door.boundary.call(ask("greet", arguments))

    rows = [AuditRow(**row) for row in door.rows("SELECT * FROM audit ORDER BY seq")]
    assert [row.seq for row in rows] == [1, 2, 3, 4, 5]
    assert [row.prev_hash for row in rows] == [GENESIS, *(row.hash for row in rows[:-1])]
    assert [row.hash for row in rows] == [row.expected_hash() for row in rows]


async def test_where_argument_values_came_from_is_on_record(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(greet)

    await door.boundary.call(ask("greet", {"name": "Kim"}, sources={"/name": "user"}))

    assert json.loads(door.rows("SELECT sources FROM calls")[0]["sources"]) == {"/name": "user"}


async def test_if_the_start_cannot_be_written_the_tool_does_not_run(open_door: OpenDoor, ask: Ask) -> None:
    ran: list[str] = []

    @tool
    async def act() -> str:
        """Act."""
        ran.append("act")
        return "done"

    door = await open_door(act, commits_left=0)

    with pytest.raises(StoreError, match="disk is full"):
        await door.boundary.call(ask("act"))
    assert (ran, door.states()) == ([], [])


async def test_a_call_of_a_run_that_is_not_on_record_does_not_run(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(greet)

    with pytest.raises(StoreError, match="refers to a record that this tenant does not have"):
        await door.boundary.call(ask("greet", {"name": "Kim"}, run_id="nosuch"))
    assert (door.states(), door.audit_kinds()) == ([], [])


async def test_if_the_outcome_cannot_be_written_that_is_an_error_and_the_call_stays_started(
    open_door: OpenDoor, ask: Ask
) -> None:
    door = await open_door(greet, commits_left=1)

    with pytest.raises(StoreError, match="disk is full"):
        await door.boundary.call(ask("greet", {"name": "Kim"}))
    assert (door.states(), door.audit_kinds()) == (["started"], ["call.started"])


@pytest.mark.parametrize("arguments", [{"name": 1}, {"name": "Kim"}])
async def test_a_denial_or_refusal_that_cannot_be_written_is_not_answered(
    open_door: OpenDoor, ask: Ask, arguments: dict[str, object]
) -> None:
    door = await open_door(greet, commits_left=0)

    with pytest.raises(StoreError):
        await door.boundary.call(ask("greet", arguments, allowed_tools=frozenset({"other"})))


async def test_records_of_tenants_are_apart_even_under_one_call_id(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(greet)
    other = Principal(tenant="other", subject="user:kim")

    ours = await door.boundary.call(ask("greet", {"name": "Kim"}, call_id="same"))
    theirs = await door.boundary.call(ask("greet", {"name": "Lee"}, call_id="same", principal=other))

    assert (ours.value, theirs.value) == ("안녕하세요 Kim", "안녕하세요 Lee")
    assert await door.boundary.result_of("other", "same") == "안녕하세요 Lee"
    assert {row["tenant"] for row in door.rows("SELECT tenant FROM audit")} == {"acme", "other"}


async def test_a_result_cannot_be_read_from_another_tenant(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(greet)
    await door.boundary.call(ask("greet", {"name": "Kim"}, call_id="c1"))

    with pytest.raises(NotFoundError):
        await door.boundary.result_of("other", "c1")


class Follower:
    """Writes down what it is told, and what was on disk at that moment."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self.told: list[tuple[str, int, bool]] = []
        self.progress: list[str] = []

    def recorded(self, entry: JournalEntry, seq: int) -> None:
        self.told.append((entry.type, seq, entry.type in self._door.journal_types()))

    def tool_progress(self, call_id: str, tool: str, text: str) -> None:
        self.progress.append(f"{tool}: {text}")


async def test_an_observer_is_told_of_journal_events_with_their_numbers_once_they_are_on_disk(
    open_door: OpenDoor, ask: Ask
) -> None:
    door = await open_door(greet)
    await door.begin_run()
    follower = Follower(door)

    await door.boundary.call(ask("greet", {"name": "Kim"}, run_id="r1"), observer=follower)

    assert follower.told == [("call.requested", 2, True), ("call.started", 3, True), ("call.succeeded", 4, True)]
