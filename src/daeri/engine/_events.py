"""The one vocabulary of what happens in a run: what is streamed live and what the journal keeps.

Kept in the journal, each with a sequence number: `run.started`, `model.failed`, `model.replied`, `context.trimmed`,
`call.*` and `approval.changed` (written by the boundary), `call.repeated`, `block.completed`, `answer.released`,
`run.waiting`, `run.ended`.
Live only, gone when nobody listens: `text.draft`, `text.restarted`, `reasoning.draft`, `tool.progress`.

Draft text is what a model writes; released text is what passed every check. Only `answer.released` is an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import ClassVar, Literal, TypeAlias

from daeri.boundary import ApprovalState, CallState, Decision
from daeri.errors import Failure, ModelErrorKind
from daeri.models import ModelReply, Usage
from daeri.text import Json, JsonObject, Locale

from ._ports import RunState

EndReason = Literal[
    "answered",
    "no_evidence",
    "denied",
    "max_steps",
    "max_seconds",
    "max_tokens",
    "max_cost",
    "unknown_price",
    "repeated_call",
    "model_failed",
    "cancelled",
    "internal",
]
"""Why a run ended."""

AnswerKind = Literal["model", "refusal", "limit", "apology"]
"""`model`: the model's words, released. The others are fixed texts of ours."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunStarted:
    """A run begins: everything that is needed to understand it later."""

    type: ClassVar[str] = "run.started"
    goal: str
    agent: str
    instructions: str
    model: str
    model_choice: str = "configured"
    """Why this model."""
    principal: JsonObject
    locale: Locale
    limits: JsonObject
    tools: Mapping[str, str]
    """Offered tools by name, with their definition hashes."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFailed:
    """One attempt at a model turn failed."""

    type: ClassVar[str] = "model.failed"
    step: int
    attempt: int
    kind: ModelErrorKind
    detail: str
    retry_in_s: float | None = None
    """Seconds until the next attempt; `None` when there is none."""
    usage: Usage | None = None
    """An estimate of what the attempt cost all the same, when it broke off in the middle of a reply."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelReplied:
    """One model turn, whole."""

    type: ClassVar[str] = "model.replied"
    step: int
    reply: ModelReply
    input_blocks: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ContextTrimmed:
    """Older blocks were left out of a model turn."""

    type: ClassVar[str] = "context.trimmed"
    step: int
    kept: int
    omitted: int
    reason: Literal["block_count", "token_budget", "overflow"]


@dataclass(frozen=True, kw_only=True, slots=True)
class CallEvent:
    """A call changed its state: `call.requested`, `call.started`, `call.succeeded` … `call.<state>`."""

    type: ClassVar[str] = "call"
    call_id: str
    tool: str
    state: CallState
    arguments: Json = None
    """With `requested` only."""
    decision: Decision | None = None
    failure: Failure | None = None
    approval_id: str | None = None
    elapsed_ms: float | None = None
    result_digest: str | None = None
    attempts: int | None = None
    """How often the tool was asked, if not once."""
    last_attempt_ms: float | None = None
    fallback: str | None = None
    """The tool that answered instead, or `static answer`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallAttempted:
    """One attempt at a call failed and is followed by another."""

    type: ClassVar[str] = "call.attempted"
    call_id: str
    tool: str
    number: int
    failure: Failure
    elapsed_ms: float
    retry_in_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ApprovalChanged:
    """The request for approval that a call waits for was decided, or used, or is over."""

    type: ClassVar[str] = "approval.changed"
    approval_id: str
    call_id: str
    state: ApprovalState
    by: str
    """Whose decision it was; `system` when it was nobody's."""
    reason: str = ""
    votes: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class CallRepeated:
    """The model asked for a call that was made before: answered from the record, nothing ran."""

    type: ClassVar[str] = "call.repeated"
    call_id: str
    tool: str
    of: str
    """The call whose outcome was given."""
    reason: Literal["same_arguments", "same_provider_id"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """What the model is shown for one call of a block."""

    call_id: str
    content: str
    failed: bool = False
    omitted_chars: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class BlockCompleted:
    """All calls of a turn have their answers, in call order."""

    type: ClassVar[str] = "block.completed"
    step: int
    answers: tuple[Answered, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerReleased:
    """The answer, as people get it."""

    type: ClassVar[str] = "answer.released"
    text: str
    kind: AnswerKind


@dataclass(frozen=True, kw_only=True, slots=True)
class RunWaiting:
    """The run stops until a person decides; nothing of it stays in memory."""

    type: ClassVar[str] = "run.waiting"
    state: RunState
    approvals: tuple[str, ...] = ()
    unknown_calls: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnded:
    """The run is over."""

    type: ClassVar[str] = "run.ended"
    state: RunState
    reason: EndReason
    detail: str = ""
    steps: int = 0
    usage: Usage = field(default_factory=Usage)
    """Of all turns, with an estimate for a reply that was cancelled on the way."""
    cost: Decimal | None = None
    """US dollars; `None` when the price of any turn is unknown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TextDraft:
    """A piece of text as the model writes it; may still be withdrawn."""

    type: ClassVar[str] = "text.draft"
    step: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class TextRestarted:
    """The draft text of this step is void: the turn is tried again."""

    type: ClassVar[str] = "text.restarted"
    step: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ReasoningDraft:
    """A piece of the model's visible reasoning."""

    type: ClassVar[str] = "reasoning.draft"
    step: int
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolProgress:
    """A running tool says how far it is."""

    type: ClassVar[str] = "tool.progress"
    call_id: str
    tool: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class UnknownEvent:
    """An event of a release that this one doesn't know; kept, shown raw, otherwise ignored."""

    type: ClassVar[str] = "unknown"
    name: str
    data: JsonObject


JournaledEvent: TypeAlias = (
    RunStarted
    | ModelFailed
    | ModelReplied
    | ContextTrimmed
    | CallEvent
    | CallAttempted
    | ApprovalChanged
    | CallRepeated
    | BlockCompleted
    | AnswerReleased
    | RunWaiting
    | RunEnded
)
LiveEvent: TypeAlias = TextDraft | TextRestarted | ReasoningDraft | ToolProgress
RunEventBody: TypeAlias = JournaledEvent | LiveEvent | UnknownEvent


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEvent:
    """An event of a run, as subscribers and readers of the journal get it."""

    run_id: str
    at: datetime
    body: RunEventBody
    seq: int | None = None
    """Its place in the journal; `None` for live-only events."""

    @property
    def name(self) -> str:
        """The event's type on the wire, such as `model.replied` or `call.started`."""
        if isinstance(self.body, CallEvent):
            return f"call.{self.body.state}"
        if isinstance(self.body, UnknownEvent):
            return self.body.name
        return self.body.type
