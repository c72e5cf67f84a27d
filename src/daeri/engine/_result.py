"""How a run stands, folded from its journal."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from daeri.boundary import CallState, Decision
from daeri.errors import Failure
from daeri.models import Usage
from daeri.text import Json

from ._events import AnswerKind, EndReason
from ._ports import RunState


@dataclass(frozen=True, kw_only=True, slots=True)
class CallSummary:
    """One call of a run, as far as it has come."""

    call_id: str
    tool: str
    arguments: Json
    state: CallState
    decision: Decision | None = None
    failure: Failure | None = None
    shown: str = ""
    """The result as the model saw it; the full one is in the store under the call id."""
    approval_id: str | None = None
    elapsed_ms: float | None = None
    repeats: str | None = None
    """The call from whose record this one was answered; nothing ran."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """A run that ended or waits."""

    run_id: str
    status: RunState
    answer: str
    """Released text; empty while the run waits."""
    answer_kind: AnswerKind | None
    reason: EndReason | None
    """Why it ended; `None` while it waits."""
    steps: int
    calls: tuple[CallSummary, ...]
    usage: Usage
    cost: Decimal | None
    model: str
    detail: str = ""
    approvals: tuple[str, ...] = field(default=())
    """Approval requests that it waits for."""
    unknown_calls: tuple[str, ...] = field(default=())
    """Calls that may have taken effect and have no outcome on record: a person has to settle them."""
