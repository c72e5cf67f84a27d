"""Delivering the outbox to a webhook: signed, tried again with growing waits, given up in the end; at least once.

Each message is one POST of JSON with these headers:

    Daeri-Message-Id   the same at every attempt, for the receiver to tell a repetition
    Daeri-Timestamp    seconds since 1970-01-01 UTC at this attempt, for the receiver to turn down old recordings
    Daeri-Signature    v1=HMAC-SHA256 in hexadecimal, with the shared secret, over the timestamp, a full stop, the body

Any 2xx answer means that the message has arrived. Redirects are not followed. The order of messages is not kept.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from daeri.errors import StoreError
from daeri.text import canonical_json

from ._records import AuditEvent, OutboxChange, OutboxStore, Record, StoredMessage

if TYPE_CHECKING:
    import httpx2

_log = logging.getLogger(__name__)

_AT_ONCE = 16
_POLL_S = 1.0
_FIRST_WAIT_S = 5.0
_LONGEST_WAIT_S = 3600.0
_MOST_DOUBLINGS = 16


@dataclass(frozen=True, kw_only=True, slots=True)
class Webhook:
    """Where messages go."""

    url: str
    secret: str
    timeout_s: float = 10.0
    max_attempts: int = 10
    """After so many a message is a dead letter: it stays in the outbox with its last error, and nobody tries again."""


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """The value of `Daeri-Signature`; a receiver computes it too and compares in constant time."""
    return "v1=" + hmac.new(secret.encode(), timestamp.encode() + b"." + body, hashlib.sha256).hexdigest()


class WebhookCourier:
    """Delivers what is due, over one client."""

    def __init__(
        self,
        store: OutboxStore,
        webhook: Webhook,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._store = store
        self._webhook = webhook
        self._clock = clock
        self._jitter = jitter
        self._client: httpx2.AsyncClient | None = None

    async def run(self) -> None:
        """Deliver whatever becomes due, until cancelled."""
        while True:
            try:
                while await self.deliver_due():
                    pass
            except StoreError as error:
                _log.warning("the outbox can't be used: %s", error.cause)
            await asyncio.sleep(_POLL_S)

    async def deliver_due(self) -> int:
        """Try the messages that are due once; says how many arrived.

        Raises:
            StoreError: the outbox could not be read or written; what was sent is sent again.
        """
        due = await self._store.due_messages(self._clock(), _AT_ONCE)
        return sum(await asyncio.gather(*(self._deliver(message) for message in due)))

    async def aclose(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()

    async def _deliver(self, stored: StoredMessage) -> bool:
        error = await self._post(stored)
        now, attempts = self._clock(), stored.attempts + 1
        message_id = stored.message.message_id
        if error is None:
            done = OutboxChange(message_id=message_id, state="delivered", attempts=attempts, next_at=now)
            await self._store.commit([done])
            return True
        if attempts >= self._webhook.max_attempts:
            dead = OutboxChange(message_id=message_id, state="dead", attempts=attempts, next_at=now, error=error)
            await self._store.commit([dead, _given_up(stored, attempts, error, now)])
            return False
        wait = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** min(stored.attempts, _MOST_DOUBLINGS))
        # between half and the whole of the wait, so that many senders don't come back at once
        next_at = now + timedelta(seconds=wait * (0.5 + self._jitter() / 2))
        later: Record = OutboxChange(
            message_id=message_id, state="pending", attempts=attempts, next_at=next_at, error=error
        )
        await self._store.commit([later])
        return False

    async def _post(self, stored: StoredMessage) -> str | None:
        """Why a message did not arrive; nothing if it did."""
        try:
            status = await self._status_of_post(stored)
        except Exception as error:  # whatever it is, this message did not arrive, and no other must suffer from it
            _log.warning("message %s did not arrive: %s", stored.message.message_id, type(error).__name__)
            return type(error).__name__  # its words may quote the address, which may hold a key
        return None if 200 <= status < 300 else f"HTTP {status}"

    async def _status_of_post(self, stored: StoredMessage) -> int:
        body = canonical_json(stored.message.payload).encode()
        timestamp = str(int(self._clock().timestamp()))
        headers = {
            "Content-Type": "application/json",
            "Daeri-Message-Id": stored.message.message_id,
            "Daeri-Timestamp": timestamp,
            "Daeri-Signature": signature(self._webhook.secret, timestamp, body),
        }
        if self._client is None:
            import httpx2  # takes longer to load than all else here, and most processes send nothing

            self._client = httpx2.AsyncClient(timeout=self._webhook.timeout_s)
        return (await self._client.post(self._webhook.url, content=body, headers=headers)).status_code


def _given_up(stored: StoredMessage, attempts: int, error: str, at: datetime) -> AuditEvent:
    return AuditEvent(
        tenant=stored.message.tenant,
        kind="webhook.dead",
        actor="system",
        at=at,
        subject=stored.message.message_id,
        data={"kind": stored.message.kind, "attempts": attempts, "error": error},
    )
