"""What the boundary is asked, what it answers, and what it has the store write down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from daeri.errors import Failure
from daeri.identity import Principal
from daeri.text import Json, JsonObject, Locale
from daeri.tools import Risk

Origin = Literal["run", "program", "mcp", "api", "cli"]
CallState = Literal["requested", "waiting", "started", "succeeded", "failed", "unknown", "denied", "cancelled"]
Verdict = Literal["allow", "deny", "require_approval"]
ApprovalState = Literal["pending", "approved", "rejected", "expired", "withdrawn", "void", "consumed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRequest:
    """One attempt to use a tool. Rights come from `principal` alone; nothing in `arguments` can widen them."""

    principal: Principal
    tool: str
    arguments: Json
    call_id: str
    """Unique per tenant and chosen by the caller, so that asking twice with one id can't run twice."""
    origin: Origin
    run_id: str | None = None
    agent: str | None = None
    allowed_tools: frozenset[str] | None = None
    """The allow-list of the agent: anything else is invisible to this call. `None`: all."""
    idempotency_key: str | None = None
    """Chosen by the caller, per person and subject: a second ask with it gets the outcome of the first."""
    approval_id: str | None = None
    """An earlier request for approval of the same caller: the ask gets its outcome, and nothing new begins."""
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where argument values came from, by JSON Pointer; carried and recorded, not yet weighed."""
    locale: Locale = "en"


@dataclass(frozen=True, kw_only=True, slots=True)
class Decision:
    """What policy said, and which rules spoke."""

    verdict: Verdict
    rules: tuple[str, ...]
    reasons: tuple[str, ...]
    approvals_needed: int = 0
    risk: Risk = "low"


@dataclass(frozen=True, kw_only=True, slots=True)
class Effort:
    """What it took to carry a call out."""

    attempts: int = 0
    """How often the tool was asked; 0: a circuit was open, no place was free, or it never came so far."""
    last_attempt_ms: float | None = None
    """Of the last attempt alone; those before it have events of their own."""
    fallback: str | None = None
    """The tool that answered instead, or `static answer`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallOutcome:
    """How a call stands when `Boundary.call` returns: it succeeded, failed, is denied, or waits.

    Asked again while it runs, or after a crash, it is `started` and has no outcome.
    """

    call_id: str
    tool: str
    state: CallState
    decision: Decision | None = None
    value: Json = None
    """The result, for `succeeded`."""
    failure: Failure | None = None
    """Why not, for `failed`, `denied`, `unknown`, `cancelled` and `started`."""
    approval_id: str | None = None
    """The request that a person must decide, for `waiting`."""
    elapsed_ms: float = 0.0
    effort: Effort = field(default_factory=Effort, compare=False)
    """Only who carried the call out is told; of a recorded outcome, its journal and audit events say it."""


# What the store is asked to write. One `commit` is one transaction: all of its records or none.


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRecord:
    """The row of a call, written first when it is requested."""

    call_id: str
    tenant: str
    subject: str
    person: str
    """Who stands at the start of the chain: an agent of one name acts for many, and none gets another's outcome."""
    tool: str
    definition_hash: str | None
    arguments: Json
    arguments_digest: str
    origin: Origin
    state: CallState
    at: datetime
    run_id: str | None = None
    agent: str | None = None
    idempotency_key: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    decision: Decision | None = None
    failure: Failure | None = None
    approval_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CallChange:
    """A later state of a call. Writing it fails with `ConflictError` unless the row is still in state `was`."""

    call_id: str
    tenant: str
    was: CallState
    state: CallState
    at: datetime
    result: Json = None
    has_result: bool = False
    result_digest: str | None = None
    failure: Failure | None = None
    elapsed_ms: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ApprovalRecord:
    """A call that waits for a person, bound to exactly what will be shown and run."""

    approval_id: str
    tenant: str
    call_id: str
    tool: str
    definition_hash: str
    arguments: Json
    digest: str
    """Over tenant, principal, tool, definition hash and canonical arguments."""
    principal: JsonObject
    """The requester as it was: subject, kind, scopes, roles, on whose behalf."""
    approvals_needed: int
    risk: Risk
    rules: tuple[str, ...]
    reasons: tuple[str, ...]
    consequences: str
    state: ApprovalState
    created_at: datetime
    expires_at: datetime
    run_id: str | None = None
    agent: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Vote:
    """What one person decided about a request."""

    approver: str
    verdict: Literal["approve", "reject"]
    reason: str
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class ApprovalChange:
    """A later state of a request, with the vote that led to it.

    Writing it fails with `ConflictError` unless the row still has `version`; it raises the version by one.
    """

    approval_id: str
    tenant: str
    version: int
    state: ApprovalState
    at: datetime
    vote: Vote | None = None
    detail: str = ""
    """Why, for `withdrawn` and `void`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredApproval:
    """A request as it stands in the record."""

    record: ApprovalRecord
    state: ApprovalState
    version: int
    votes: tuple[Vote, ...]
    detail: str
    closed_at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class OutboxMessage:
    """Something to tell another system, kept in the transaction of what it tells; delivered at least once."""

    message_id: str
    tenant: str
    kind: str
    payload: JsonObject
    at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class OutboxChange:
    """What became of an attempt to deliver a message."""

    message_id: str
    state: Literal["pending", "delivered", "dead"]
    attempts: int
    next_at: datetime
    error: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredMessage:
    """A message as it stands in the outbox."""

    message: OutboxMessage
    state: Literal["pending", "delivered", "dead"]
    attempts: int
    next_at: datetime
    error: str


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEvent:
    """One security-relevant fact; the store adds its place in the hash chain."""

    tenant: str
    kind: str
    """`call.requested`, `call.succeeded`, `call.denied` …"""
    actor: str
    at: datetime
    subject: str
    """What it is about: a call id, an approval id."""
    data: JsonObject
    run_id: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalEntry:
    """One event for the journal of a run; the store gives it the next sequence number."""

    run_id: str
    tenant: str
    type: str
    at: datetime
    data: JsonObject


Record: TypeAlias = (
    CallRecord | CallChange | ApprovalRecord | ApprovalChange | OutboxMessage | OutboxChange | AuditEvent | JournalEntry
)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredCall:
    """A call as it stands in the record."""

    record: CallRecord
    state: CallState
    failure: Failure | None
    result_digest: str | None
    elapsed_ms: float | None
    ended_at: datetime | None


class CallStore(Protocol):
    """Where the boundary writes. Returning means that the records are on disk."""

    async def commit(self, records: Sequence[Record]) -> Sequence[int]:
        """Write all records in one transaction.

        Returns:
            The journal sequence numbers given to the `JournalEntry` records, in order.

        Raises:
            ConflictError: a call id that exists already, or a change from a state that is past.
            StoreError: the disk or the database refused; nothing was written.
        """
        ...

    async def find_call(self, tenant: str, call_id: str) -> StoredCall | None:
        """The call with this id, if any."""
        ...

    async def result_of(self, tenant: str, call_id: str) -> Json:
        """The full result of a call that succeeded.

        Raises:
            NotFoundError: no such call, or it has no result.
        """
        ...

    async def find_keyed_call(self, tenant: str, person: str, subject: str, idempotency_key: str) -> StoredCall | None:
        """The call that `subject` made for `person` with this idempotency key, if any."""
        ...

    async def pending_approval(self, tenant: str, digest: str) -> StoredApproval | None:
        """The pending request with this digest that was made outside runs, if any."""
        ...


class ApprovalStore(CallStore, Protocol):
    """Where requests for approval are read."""

    async def find_approval(self, tenant: str, approval_id: str) -> StoredApproval | None:
        """The request with this id, or whose id begins so if that is only one."""
        ...

    async def approvals(
        self, tenant: str, *, state: ApprovalState | None = None, limit: int = 50, before: str | None = None
    ) -> Sequence[StoredApproval]:
        """Requests of a tenant, newest first; `before` is the id that the last page ended with."""
        ...

    async def expired_approvals(self, now: datetime, limit: int = 100) -> Sequence[StoredApproval]:
        """Requests of all tenants that are pending or approved although their time is over."""
        ...


class OutboxStore(CallStore, Protocol):
    """Where messages to other systems wait."""

    async def due_messages(self, now: datetime, limit: int = 100) -> Sequence[StoredMessage]:
        """Messages of all tenants that are to be delivered now, oldest first."""
        ...
