"""What the engine has stored: runs and their journals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from daeri.boundary import JournalEntry
from daeri.text import JsonObject

RunState = Literal[
    "queued", "running", "waiting_approval", "waiting_input", "succeeded", "refused", "failed", "cancelled"
]
RunKind = Literal["agent", "call"]
ENDED: frozenset[RunState] = frozenset({"succeeded", "refused", "failed", "cancelled"})


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRow:
    """The row of a run: what a list of runs shows. Everything else is a fold of the journal."""

    run_id: str
    tenant: str
    subject: str
    agent: str
    model: str
    goal: str
    state: RunState
    created_at: datetime
    kind: RunKind = "agent"
    ended_at: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class JournalEvent:
    """One event as it was stored. Types and envelope versions that this release doesn't know are kept and ignored."""

    seq: int
    """1, 2, 3 … within the run, without gaps."""
    type: str
    at: datetime
    data: JsonObject
    version: int = 1
    """Version of the envelope."""


class RunStore(Protocol):
    """Where the engine writes. Returning means that it is on disk."""

    async def create_run(self, run: RunRow, first: JournalEntry) -> None:
        """Write the run and the first event of its journal in one transaction.

        Raises:
            ConflictError: the run id exists.
            StoreError: nothing was written.
        """
        ...

    async def append(self, entries: Sequence[JournalEntry], *, state: RunState | None = None) -> Sequence[int]:
        """Write events of one run, and its new state if it has one, in one transaction; gives their numbers.

        Raises:
            StoreError: nothing was written.
        """
        ...

    async def run(self, tenant: str, run_id: str) -> RunRow:
        """The run with this id, or whose id begins so if that is only one.

        Raises:
            NotFoundError: none such in this tenant.
        """
        ...

    async def runs(
        self, tenant: str, *, limit: int = 50, state: RunState | None = None, before: str | None = None
    ) -> Sequence[RunRow]:
        """Runs of a tenant, newest first; `before` is the run id that the last page ended with."""
        ...

    async def events(self, tenant: str, run_id: str, *, after: int = 0) -> Sequence[JournalEvent]:
        """The journal of a run from the event after number `after`."""
        ...
