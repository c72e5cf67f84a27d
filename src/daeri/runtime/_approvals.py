"""Requests for approval as the settings want them: who is told, and what an agent may still use."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager

from daeri.boundary import OutboxStore, Webhook, WebhookCourier
from daeri.engine import Agent
from daeri.errors import SettingsError
from daeri.settings import MASK, Settings

_LAST_ROUND_S = 5.0
"""How long closing may take to deliver what has just been written; whoever opens next delivers the rest."""
_GIVING_UP_S = 1.0

_log = logging.getLogger(__name__)


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
        await asyncio.wait({task}, timeout=_GIVING_UP_S)
        await _at_most(_LAST_ROUND_S, courier.deliver_due())
        await _at_most(_GIVING_UP_S, courier.aclose())


async def _at_most(seconds: float, work: Coroutine[None, None, object]) -> None:
    """Do it for as long, and whatever comes of it stays here: who closes has results that must not be lost for this."""
    task = asyncio.create_task(work, name="webhooks-end")
    done, _ = await asyncio.wait({task}, timeout=seconds)
    if not done:
        task.cancel()
        done, _ = await asyncio.wait({task}, timeout=_GIVING_UP_S)
    for ended in done:
        if not ended.cancelled() and (problem := ended.exception()) is not None:
            _log.warning("the outbox was not delivered to its end: %s", type(problem).__name__)


def allow_list_of(agents: Mapping[str, Agent]) -> Callable[[str], frozenset[str] | None]:
    """What agents may use now; one that is not known here, be it deleted or of another process, may use nothing."""

    def allow_list(name: str) -> frozenset[str] | None:
        agent = agents.get(name)
        if agent is None:
            return frozenset()
        return None if "*" in agent.tools else frozenset(agent.tools)

    return allow_list
