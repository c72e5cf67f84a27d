"""Requests for approval as the settings want them: who is told, and what an agent may still use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress

from daeri.boundary import OutboxStore, Webhook, WebhookCourier
from daeri.engine import Agent
from daeri.errors import SettingsError, StoreError
from daeri.settings import MASK, Settings

_LAST_ROUND_S = 5.0
"""How long closing may take to deliver what has just been written; whoever opens next delivers the rest."""


def webhook_of(settings: Settings) -> Webhook | None:
    """Where messages go, if anywhere.

    Raises:
        SettingsError: there is an address and nothing to sign with.
    """
    own = settings.webhooks
    if own.url is None:
        return None
    secret = own.secret.get_secret_value() if own.secret else ""
    if not secret:
        fix = "Put the secret that the receiver knows in .env as DAERI_WEBHOOKS_SECRET."
        raise SettingsError("webhooks.secret", MASK, "nothing to sign with", fix)
    return Webhook(url=own.url, secret=secret, timeout_s=own.timeout_s, max_attempts=own.max_attempts)


@asynccontextmanager
async def delivering(store: OutboxStore, webhook: Webhook) -> AsyncGenerator[None]:
    """Deliver the outbox in the background, and what is due once more at the end."""
    courier = WebhookCourier(store, webhook)
    task = asyncio.create_task(courier.run(), name="webhooks")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})
        with suppress(StoreError, TimeoutError):
            async with asyncio.timeout(_LAST_ROUND_S):
                await courier.deliver_due()
        await courier.aclose()


def allow_list_of(agents: Mapping[str, Agent]) -> Callable[[str], frozenset[str] | None]:
    """What agents from files may use now; others are known to nobody once their process is gone."""

    def allow_list(name: str) -> frozenset[str] | None:
        agent = agents.get(name)
        return None if agent is None or "*" in agent.tools else frozenset(agent.tools)

    return allow_list
