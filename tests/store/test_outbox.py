"""Messages to other systems wait in the record until they are delivered or given up."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from daeri.boundary import AuditEvent, CallRecord, OutboxChange, OutboxMessage, StoredMessage
from daeri.errors import ConflictError
from daeri.store import SqliteStore

AT = datetime(2026, 11, 30, 9, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def told(message_id: str = "m1", *, at: datetime = AT, tenant: str = "acme") -> OutboxMessage:
    return OutboxMessage(
        message_id=message_id, tenant=tenant, kind="approval.requested", payload={"approval": "a1", "n": 1.0}, at=at
    )


def tried(message_id: str = "m1", **given: Any) -> OutboxChange:
    fields: dict[str, Any] = {"state": "pending", "attempts": 1, "next_at": AT + MINUTE, "error": "HTTP 503"}
    return OutboxChange(message_id=message_id, **{**fields, **given})


async def due(store: SqliteStore, now: datetime, limit: int = 100) -> list[str]:
    return [stored.message.message_id for stored in await store.due_messages(now, limit)]


async def test_a_message_is_due_at_once_and_read_back_as_it_was_told(store: SqliteStore) -> None:
    await store.commit([told()])

    assert await store.due_messages(AT) == [
        StoredMessage(message=told(), state="pending", attempts=0, next_at=AT, error="")
    ]
    assert await due(store, AT - MINUTE) == []


async def test_messages_of_all_tenants_are_due_oldest_first(store: SqliteStore) -> None:
    await store.commit([told("m1"), told("m2", at=AT - MINUTE, tenant="other"), told("m3"), told("m4", at=AT + MINUTE)])

    assert await due(store, AT) == ["m2", "m1", "m3"]
    assert await due(store, AT, 2) == ["m2", "m1"]


async def test_a_failed_attempt_puts_the_message_off(store: SqliteStore) -> None:
    await store.commit([told()])

    await store.commit([tried()])

    assert await due(store, AT) == []
    assert await store.due_messages(AT + MINUTE) == [
        StoredMessage(message=told(), state="pending", attempts=1, next_at=AT + MINUTE, error="HTTP 503")
    ]


@pytest.mark.parametrize("state", ["delivered", "dead"])
async def test_what_is_delivered_or_given_up_is_never_due(store: SqliteStore, state: str) -> None:
    await store.commit([told(), told("m2")])

    await store.commit([tried(state=state, next_at=AT)])

    assert await due(store, AT + MINUTE) == ["m2"]


async def test_what_one_process_has_delivered_another_can_not_put_off(store: SqliteStore) -> None:
    await store.commit([told()])

    await store.commit([tried(state="delivered", error="")])
    await store.commit([tried(state="pending", attempts=2)])

    assert await due(store, AT + 60 * MINUTE) == []


async def test_what_was_given_up_can_be_tried_again(store: SqliteStore) -> None:
    await store.commit([told(), tried(state="dead")])

    await store.commit([tried(state="pending", next_at=AT)])

    assert await due(store, AT) == ["m1"]


async def test_a_message_is_kept_only_with_what_it_tells(
    store: SqliteStore, call: Callable[..., CallRecord], fact: Callable[..., AuditEvent]
) -> None:
    await store.commit([call("c1")])

    with pytest.raises(ConflictError, match="call 'c1'"):
        await store.commit([call("c1"), told()])
    await store.commit([fact(), told()])
    with pytest.raises(ConflictError, match="message 'm1' is no longer new"):
        await store.commit([told()])

    assert await due(store, AT) == ["m1"]
