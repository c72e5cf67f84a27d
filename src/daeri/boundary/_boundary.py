"""The one door: every call of every caller passes `Boundary.call`, and nothing else reaches the gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

from daeri.errors import Failure, NotFoundError
from daeri.identity import Principal
from daeri.text import Json
from daeri.tools import Tool, ToolRegistry

from ._approvals import ApprovalDesk
from ._asked_before import outcome_of
from ._attempts import Pace
from ._breaker import BreakerState
from ._gateway import Gateway
from ._limits import CallLimits
from ._means import Means, Observer
from ._passage import Passage
from ._policy import BuiltInPolicy, Policy, StrictestPolicy
from ._records import ApprovalStore, CallOutcome, CallRequest

APPROVAL_TTL = timedelta(days=7)
_LAST_WRITES_LIMIT_S = 10.0


class Boundary:
    """Resolve, validate, decide, record, carry out, check, record: then answer.

    A `policy` comes on top of the built-in one (`floor`, when settings loosen it) and can only be stricter.
    `allow_list` says what an agent may use by the time that one of its calls is approved. With `notify`, every step of
    a request for approval leaves a message in the outbox.
    """

    def __init__(
        self,
        *,
        registry: ToolRegistry,
        store: ApprovalStore,
        policy: Policy | None = None,
        floor: BuiltInPolicy | None = None,
        limits: CallLimits | None = None,
        approval_ttl: timedelta = APPROVAL_TTL,
        allow_list: Callable[[str], frozenset[str] | None] = lambda agent: None,
        notify: bool = False,
        pace: Pace | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._means = Means(
            registry=registry,
            store=store,
            policy=StrictestPolicy([floor or BuiltInPolicy(), *([] if policy is None else [policy])]),
            gateway=Gateway(pace),
            approval_ttl=approval_ttl,
            clock=clock,
            limits=limits or CallLimits(),
            allow_list=allow_list,
            notify=notify,
        )
        self.approvals = ApprovalDesk(self._means)
        """Where people decide about calls that wait."""

    def visible_tools(self, principal: Principal, allowed: frozenset[str] | None = None) -> Sequence[Tool]:
        """The tools that exist for this principal and allow-list, in a stable order."""
        return self._means.registry.visible_to(principal, allowed)

    async def call(self, request: CallRequest, *, observer: Observer | None = None) -> CallOutcome:
        """Put one call through the door.

        Whatever goes wrong with the call itself is in the outcome. Asking again with a call id, an idempotency key or
        the request for approval that is on record gives that call's outcome and runs nothing; so does, outside runs,
        an equal ask without a key while the first one waits for approval.

        Raises:
            ConflictError: the call id is on record for another tool, other arguments, somebody else or another run;
                or the key or the request for approval for another tool or other arguments.
            NotFoundError: it names a request for approval that is not its own.
            StoreError: the record could not be written. Before the tool ran: it did not run. After it: the call
                stays `started` on record, its outcome is unknown.
        """
        return await Passage(self._means, request, observer).run()

    async def reject(self, request: CallRequest, failure: Failure, *, observer: Observer | None = None) -> CallOutcome:
        """Record a call that its caller could not even read (malformed arguments, for example); nothing runs."""
        return await Passage(self._means, request, observer).end_before_start("failed", failure)

    async def outcome_of(self, tenant: str, call_id: str) -> CallOutcome:
        """How a call stands, from the record.

        Raises:
            NotFoundError: no such call.
        """
        call = await self._means.store.find_call(tenant, call_id)
        if call is None:
            raise NotFoundError("call", call_id)
        return await outcome_of(self._means.store, call)

    async def result_of(self, tenant: str, call_id: str) -> Json:
        """The full result of a call that succeeded.

        Raises:
            NotFoundError: no such call, or it has no result.
        """
        return await self._means.store.result_of(tenant, call_id)

    def breakers(self) -> Sequence[BreakerState]:
        """How the circuits of the tools and upstreams stand that were called so far."""
        return self._means.gateway.breakers()

    async def aclose(self) -> None:
        """Stop tools whose calls are over, and wait for what cancelled calls still write down."""
        await self._means.gateway.aclose()
        if self._means.writing:
            await asyncio.wait(self._means.writing, timeout=_LAST_WRITES_LIMIT_S)
