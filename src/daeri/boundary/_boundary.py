"""The one door: every call of every caller passes `Boundary.call`, and nothing else reaches the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from daeri.errors import Failure
from daeri.identity import Principal
from daeri.text import Json
from daeri.tools import Tool, ToolRegistry

from ._gateway import Gateway
from ._passage import Means, Observer, Passage
from ._policy import BuiltInPolicy, Policy, PolicyOnTop
from ._records import CallOutcome, CallRequest, CallStore

APPROVAL_TTL = timedelta(days=7)
_LAST_WRITES_LIMIT_S = 10.0


class Boundary:
    """Resolve, validate, decide, record, carry out, check, record: then answer.

    A `policy` comes on top of the built-in one and can only be stricter.
    """

    def __init__(
        self,
        *,
        registry: ToolRegistry,
        store: CallStore,
        policy: Policy | None = None,
        approval_ttl: timedelta = APPROVAL_TTL,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._means = Means(
            registry=registry,
            store=store,
            policy=BuiltInPolicy() if policy is None else PolicyOnTop(policy),
            gateway=Gateway(),
            approval_ttl=approval_ttl,
            clock=clock,
        )

    def visible_tools(self, principal: Principal, allowed: frozenset[str] | None = None) -> Sequence[Tool]:
        """The tools that exist for this principal and allow-list, in a stable order."""
        return self._means.registry.visible_to(principal, allowed)

    async def call(self, request: CallRequest, *, observer: Observer | None = None) -> CallOutcome:
        """Put one call through the door.

        Whatever goes wrong with the call itself is in the outcome. Asking again with a call id that is on record
        gives that call's outcome and runs nothing.

        Raises:
            ConflictError: the call id is on record for another tool, other arguments, somebody else or another run.
            StoreError: the record could not be written. Before the tool ran: it did not run. After it: the call
                stays `started` on record, its outcome is unknown.
        """
        return await Passage(self._means, request, observer).run()

    async def reject(self, request: CallRequest, failure: Failure, *, observer: Observer | None = None) -> CallOutcome:
        """Record a call that its caller could not even read (malformed arguments, for example); nothing runs."""
        return await Passage(self._means, request, observer).end_before_start("failed", failure)

    async def result_of(self, tenant: str, call_id: str) -> Json:
        """The full result of a call that succeeded.

        Raises:
            NotFoundError: no such call, or it has no result.
        """
        return await self._means.store.result_of(tenant, call_id)

    async def aclose(self) -> None:
        """Stop tools whose calls are over, and wait for what cancelled calls still write down."""
        await self._means.gateway.aclose()
        if self._means.writing:
            await asyncio.wait(self._means.writing, timeout=_LAST_WRITES_LIMIT_S)
