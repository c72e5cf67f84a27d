"""A file of the first release opens in this one."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from sqlalchemy import create_engine

from daeri.errors import ConflictError
from daeri.store import SqliteStore
from daeri.store._migrate import configuration
from daeri.tools import Tool

Rows = Callable[..., Sequence[tuple[Any, ...]]]

_CALL = (
    "INSERT INTO calls (tenant, call_id, subject, tool, arguments, arguments_digest, origin, state, idempotency_key,"
    " sources, requested_at, failure) VALUES ('acme', ?, 'user:kim', 'mail.send', '{}', 'sha256:0', 'api', ?, ?, '{}',"
    " ?, ?)"
)
_ASK = (
    "INSERT INTO approvals (tenant, approval_id, call_id, run_id, tool, definition_hash, arguments, digest, principal,"
    " approvals_needed, risk, rules, reasons, consequences, state, created_at, expires_at) VALUES ('acme', ?, ?, ?,"
    " 'mail.send', 'sha256:def', '{}', 'sha256:same', '{}', 1, 'high', '[]', '[]', '', 'pending', ?, 9)"
)
_FAILURE = '{"kind":"denied","diagnostic":"no scope","path":null,"user_message":null}'


@pytest.fixture
def old_file(path: Path) -> Path:
    """What the first release left: keys used twice, and one ask that waits three times."""
    path.parent.mkdir()
    engine = create_engine(f"sqlite:///{path}")
    config = configuration()
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    engine.dispose()
    connection = sqlite3.connect(path)
    with connection:
        for number, (state, key) in enumerate(
            [("denied", "k1"), ("started", "k1"), ("waiting", "k2"), ("waiting", None)]
        ):
            connection.execute(_CALL, (f"c{number}", state, key, number, _FAILURE if state == "denied" else None))
        for number, run_id in ((2, None), (3, None), (4, "r1")):
            connection.execute(_ASK, (f"a{number}", f"c{number}", run_id, number))
    connection.close()
    return path


async def test_the_oldest_call_keeps_a_key_that_was_used_twice(old_file: Path) -> None:
    async with await SqliteStore.open(old_file) as store:
        keyed = await store.find_keyed_call("acme", "user:kim", "user:kim", "k1")
        other = await store.find_call("acme", "c1")

    assert keyed is not None
    assert other is not None
    assert (keyed.record.call_id, other.record.idempotency_key, other.state) == ("c0", None, "started")
    assert keyed.failure is not None
    assert (keyed.failure.diagnostic, keyed.failure.retry_after_s) == ("no scope", None)


async def test_the_person_behind_an_old_call_is_its_subject_or_whoever_began_the_run(
    old_file: Path, rows: Rows
) -> None:
    rows(
        "INSERT INTO runs (tenant, run_id, subject, agent, model, goal, state, kind, created_at)"
        " VALUES ('acme', 'r1', 'user:lee', 'bot', 'm', 'g', 'running', 'run', 1)"
    )
    rows("UPDATE calls SET subject = 'agent:bot', run_id = 'r1' WHERE call_id = 'c1'")
    rows("UPDATE calls SET subject = 'agent:bot' WHERE call_id = 'c2'")

    async with await SqliteStore.open(old_file):
        pass

    people = rows("SELECT call_id, person FROM calls ORDER BY call_id")
    assert people == [("c0", "user:kim"), ("c1", "user:lee"), ("c2", ""), ("c3", "user:kim")]


async def test_the_newest_request_for_one_ask_goes_on_waiting(old_file: Path) -> None:
    async with await SqliteStore.open(old_file) as store:
        found = {stored.record.approval_id: stored for stored in await store.approvals("acme")}
        given_up = await store.find_call("acme", "c2")

    assert {name: (stored.state, stored.version) for name, stored in found.items()} == {
        "a2": ("void", 1),
        "a3": ("pending", 0),
        "a4": ("pending", 0),
    }
    assert given_up is not None
    assert given_up.state == "denied"
    assert given_up.failure is not None
    assert given_up.failure.kind == "approval_void"


async def test_the_new_rules_hold_in_an_old_file(old_file: Path, ask: Callable[..., Any]) -> None:
    async with await SqliteStore.open(old_file) as store:
        assert await store.check() == []
        with pytest.raises(ConflictError, match="approval request 'a9'"):
            await store.commit([ask("a9", "c3", digest="sha256:same")])


async def test_a_tool_that_an_old_file_knows_is_not_new(old_file: Path, rows: Rows) -> None:
    tool = Tool(name="mail.send", description="Sends a mail.", input_schema={"type": "object"})
    known = "INSERT INTO tool_definitions VALUES (?, 'mail.send', 'python', '{}', ?)"
    for definition_hash, first_seen in (("sha256:older", 1), ("sha256:last", 2)):
        rows(known, definition_hash, first_seen)

    async with await SqliteStore.open(old_file) as store:
        await store.record_definitions([tool], tenant="acme", actor="os:kim")

    assert rows("SELECT kind, json_extract(data, '$.was') FROM audit") == [("tool.changed", "sha256:last")]
