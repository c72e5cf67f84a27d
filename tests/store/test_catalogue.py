from dataclasses import replace

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
    await store.record_definitions([SEND])

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
    }


async def test_an_unchanged_catalogue_is_not_written_again(store: SqliteStore) -> None:
    await store.record_definitions([SEND, SEND])
    before = store.transactions

    await store.record_definitions([SEND])
    await store.record_definitions([])

    assert store.transactions == before


async def test_a_changed_tool_leaves_its_old_definition_where_calls_refer_to_it(store: SqliteStore) -> None:
    changed = replace(SEND, description="Sends a mail.")
    await store.record_definitions([SEND])

    await store.record_definitions([changed])

    assert (await store.definition(SEND.definition_hash))["description"] == "메일을 보냅니다"
    assert (await store.definition(changed.definition_hash))["description"] == "Sends a mail."


async def test_a_hash_that_was_never_offered_is_not_found(store: SqliteStore) -> None:
    with pytest.raises(NotFoundError, match="no tool definition 'sha256:0'"):
        await store.definition("sha256:0")
