import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from daeri.errors import NotFoundError
from daeri.store import SqliteStore
from daeri.tools import Annotations, Tool

SEND = Tool(
    name="mail.send",
    description="메일을 보냅니다",
    input_schema={"type": "object", "properties": {"to": {"type": "string"}}},
    annotations=Annotations(open_world=True),
    scopes=frozenset({"mail:send", "mail:read"}),
    risk="high",
    consequences="A mail goes out.",
)


async def test_a_definition_is_found_by_its_hash(store: SqliteStore) -> None:
    await store.record_definitions([SEND], tenant="acme", actor="os:kim")

    assert await store.definition(SEND.definition_hash) == {
        "name": "mail.send",
        "description": "메일을 보냅니다",
        "input_schema": {"type": "object", "properties": {"to": {"type": "string"}}},
        "output_schema": None,
        "annotations": {"read_only": False, "destructive": False, "idempotent": False, "open_world": True},
        "scopes": ["mail:read", "mail:send"],
        "risk": "high",
        "source": "python",
        "consequences": "A mail goes out.",
        "tags": [],
        "trusted": False,
        "fallback": None,
    }


async def test_an_unchanged_catalogue_is_not_written_again(store: SqliteStore) -> None:
    await store.record_definitions([SEND, SEND], tenant="acme", actor="os:kim")
    before = store.transactions

    await store.record_definitions([SEND], tenant="acme", actor="os:kim")
    await store.record_definitions([], tenant="acme", actor="os:kim")

    assert store.transactions == before


async def test_a_changed_tool_leaves_its_old_definition_where_calls_refer_to_it(store: SqliteStore) -> None:
    changed = replace(SEND, description="Sends a mail.")
    await store.record_definitions([SEND], tenant="acme", actor="os:kim")

    await store.record_definitions([changed], tenant="acme", actor="os:kim")

    assert (await store.definition(SEND.definition_hash))["description"] == "메일을 보냅니다"
    assert (await store.definition(changed.definition_hash))["description"] == "Sends a mail."


async def test_a_hash_that_was_never_offered_is_not_found(store: SqliteStore) -> None:
    with pytest.raises(NotFoundError, match="no tool definition 'sha256:0'"):
        await store.definition("sha256:0")


@pytest.fixture
def told(rows: Callable[..., Sequence[tuple[Any, ...]]]) -> Callable[[], list[tuple[str, str, dict[str, Any]]]]:
    """What the audit record says about tools: kind, name, data."""

    def read() -> list[tuple[str, str, dict[str, Any]]]:
        found = rows("SELECT kind, subject, data FROM audit WHERE kind LIKE 'tool.%' ORDER BY seq")
        return [(kind, subject, json.loads(data)) for kind, subject, data in found]

    return read


Told = Callable[[], list[tuple[str, str, dict[str, Any]]]]


async def test_a_new_tool_and_every_change_of_its_definition_are_audited_once(store: SqliteStore, told: Told) -> None:
    changed = replace(SEND, description="Sends a mail.")

    for offered in (SEND, SEND, changed, changed, SEND):
        await store.record_definitions([offered], tenant="acme", actor="os:kim")

    before, after = SEND.definition_hash, changed.definition_hash
    assert told() == [
        ("tool.defined", "mail.send", {"definition_hash": before, "source": "python"}),
        ("tool.changed", "mail.send", {"definition_hash": after, "source": "python", "was": before}),
        ("tool.changed", "mail.send", {"definition_hash": before, "source": "python", "was": after}),
    ]


async def test_taking_a_tool_out_of_use_and_back_is_audited_once_for_each_change(
    store: SqliteStore, told: Told
) -> None:
    for enabled in (True, False, False, True):
        await store.record_definitions([replace(SEND, enabled=enabled)], tenant="acme", actor="os:kim")
    await store.record_definitions([replace(SEND, name="mail.read", enabled=False)], tenant="acme", actor="os:kim")

    assert [(kind, name) for kind, name, _ in told()] == [
        ("tool.defined", "mail.send"),
        ("tool.disabled", "mail.send"),
        ("tool.enabled", "mail.send"),
        ("tool.defined", "mail.read"),
        ("tool.disabled", "mail.read"),
    ]


async def test_a_tool_that_is_not_offered_for_a_while_is_not_new_when_it_comes_back(
    store: SqliteStore, told: Told
) -> None:
    for offered in ([SEND], [], [SEND]):
        await store.record_definitions(offered, tenant="acme", actor="os:kim")

    assert [kind for kind, _, _ in told()] == ["tool.defined"]


async def test_of_processes_that_start_together_one_says_what_is_new(path: Path, told: Told) -> None:
    tools = [replace(SEND, name=f"mail.{number}") for number in range(20)]
    stores = [await SqliteStore.open(path) for _ in range(4)]

    await asyncio.gather(*(store.record_definitions(tools, tenant="acme", actor="os:kim") for store in stores))

    for store in stores:
        await store.aclose()
    assert sorted(name for _, name, _ in told()) == sorted(tool.name for tool in tools)
