"""Telling other systems never costs the results of who closes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from daeri.boundary import OutboxMessage, StoredMessage, Webhook
from daeri.runtime import _approvals
from daeri.runtime._approvals import delivering
from daeri.store import SqliteStore

PAST = datetime(2026, 11, 30, tzinfo=UTC)


class Broken(SqliteStore):
    """A store whose outbox fails in a way that nobody has foreseen."""

    async def due_messages(self, now: datetime, limit: int = 100) -> Sequence[StoredMessage]:
        raise ExceptionGroup("several", [RuntimeError("out of order")])


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """A record with one message to deliver."""
    async with await SqliteStore.open(tmp_path / "daeri.db") as opened:
        message = OutboxMessage(message_id="m1", tenant="acme", kind="approval.requested", payload={}, at=PAST)
        await opened.commit([message])
        yield opened


@pytest.mark.parametrize("url", ["http://exa\tmple/", "http://a..b/", "http://127.0.0.1:99999/", "nowhere", "http://"])
async def test_an_address_that_is_none_costs_an_attempt_and_nothing_else(store: SqliteStore, url: str) -> None:
    async with delivering(store, Webhook(url=url, secret="s")):
        result = "kept"

    (later,) = await store.due_messages(datetime.now(UTC) + timedelta(hours=2))
    assert (result, later.state, later.attempts) == ("kept", "pending", 1)
    assert later.error


async def test_a_proxy_that_is_none_costs_an_attempt_and_nothing_else(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://proxy:port")

    async with delivering(store, Webhook(url="http://127.0.0.1:9/", secret="s")):
        pass

    (later,) = await store.due_messages(datetime.now(UTC) + timedelta(hours=2))
    assert (later.state, later.attempts) == ("pending", 1)


async def test_an_outbox_that_breaks_down_does_not_reach_who_closes(tmp_path: Path) -> None:
    webhook = Webhook(url="http://127.0.0.1:9/", secret="s")
    async with await Broken.open(tmp_path / "daeri.db") as store, delivering(store, webhook):
        result = "kept"

    assert result == "kept"


async def test_a_receiver_that_never_answers_does_not_hold_up_who_closes(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_approvals, "_LAST_ROUND_S", 0.1)
    over = asyncio.Event()

    async def never(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    server = await asyncio.start_server(never, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with asyncio.timeout(30):
        async with delivering(store, Webhook(url=f"http://127.0.0.1:{port}/", secret="s", timeout_s=600)):
            pass
    over.set()
    server.close()

    (later,) = await store.due_messages(datetime.now(UTC))
    assert later.attempts == 0
