"""How far a run has come: the fold of its journal that the loop itself works from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from daeri.models import Block, CallAnswer, ModelReply, Usage
from daeri.text import canonical_json
from daeri.tools import JsonTextError, parse_json

from ._events import (
    AnswerKind,
    AnswerReleased,
    BlockCompleted,
    CallEvent,
    CallRepeated,
    ModelFailed,
    ModelReplied,
    RunEnded,
    RunEvent,
    RunEventBody,
    RunStarted,
    RunWaiting,
)
from ._journal import decode_event
from ._ports import JournalEvent, RunRow
from ._result import CallSummary, RunResult

Signature = tuple[str, str]
"""Tool and canonical arguments: what makes two calls the same."""


def call_id_of(run_id: str, step: int, index: int) -> str:
    """Our own id of a call, by its position; what a provider calls it is only a label."""
    return f"{run_id}.{step}.{index}"


def signature_of(tool: str, arguments: str) -> Signature:
    """Tool and canonical arguments of a call as a model wrote it; text that is no usable JSON stands for itself."""
    text = arguments.strip() or "{}"
    try:
        return tool, canonical_json(parse_json(text))
    except (JsonTextError, RecursionError):
        return tool, text


@dataclass(slots=True)
class _Span:
    tool: str
    began: int
    ended: int | None = None


class Progress:
    """What the events so far add up to. `apply` is the only way in, live and from the journal alike."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.steps = 0
        self.blocks: list[Block] = []
        self.turns: list[tuple[Signature, ...]] = []
        """The calls of each turn so far, as signatures."""
        self.calls: dict[str, CallSummary] = {}
        self.usage = Usage()
        self.known_cost = Decimal(0)
        self.cost_is_known = True
        self.priced = True
        """Whether the price of every reply so far is known; a limit on cost can't be kept otherwise."""
        self.answer = ""
        self.answer_kind: AnswerKind | None = None
        self.ended: RunEnded | None = None
        self.waiting: RunWaiting | None = None
        self._reply: ModelReply | None = None
        self._provider_ids: dict[tuple[str, Signature], str] = {}
        self._signatures: dict[str, Signature] = {}
        self._spans: dict[str, _Span] = {}
        self._clock = 0

    def apply(self, body: RunEventBody) -> None:
        """Take one event in; live-only and unknown events change nothing."""
        match body:
            case RunStarted():
                self.ended = self.waiting = None
            case ModelReplied():
                self._replied(body)
            case ModelFailed(usage=Usage() as usage):
                self._spend(usage, None)
            case CallEvent():
                self._call_changed(body)
            case CallRepeated():
                self._repeated(body)
            case BlockCompleted():
                self._completed(body)
            case AnswerReleased():
                self.answer, self.answer_kind = body.text, body.kind
            case RunWaiting():
                self.waiting = body
            case RunEnded():
                self.ended, self.usage = body, body.usage
                self.cost_is_known = body.cost is not None
            case _:
                pass

    @property
    def over(self) -> bool:
        """Whether the run ended or waits."""
        return self.ended is not None or self.waiting is not None

    @property
    def cost(self) -> Decimal | None:
        """US dollars so far; `None` when the price of any turn is unknown."""
        return self.known_cost if self.cost_is_known else None

    def times_in_a_row(self, signature: Signature) -> int:
        """In how many turns without a break, up to the last one, this call was asked for."""
        count = 0
        for turn in reversed(self.turns):
            if signature not in turn:
                break
            count += 1
        return count

    def latest_success(self, signature: Signature) -> CallSummary | None:
        """The latest call with this signature that ran and succeeded."""
        for call in reversed(self.calls.values()):
            ran = call.repeats is None and call.state == "succeeded"
            if ran and self._signatures.get(call.call_id) == signature:
                return call
        return None

    def first_with(self, provider_id: str, signature: Signature) -> str | None:
        """Our id of the first call that came with this provider id and signature."""
        return self._provider_ids.get((provider_id, signature))

    def effects_since(self, call_id: str, read_only: frozenset[str]) -> bool:
        """Whether a call of a tool that isn't read-only was under way at or after the start of `call_id`."""
        own = self._spans.get(call_id)
        return own is not None and any(
            other is not own and other.tool not in read_only and (other.ended is None or other.ended > own.began)
            for other in self._spans.values()
        )

    def result(self, row: RunRow) -> RunResult:
        """The run as people see it."""
        ended, waiting = self.ended, self.waiting
        return RunResult(
            run_id=self.run_id,
            status=ended.state if ended else waiting.state if waiting else row.state,
            answer=self.answer,
            answer_kind=self.answer_kind,
            reason=ended.reason if ended else None,
            steps=self.steps,
            calls=tuple(self.calls.values()),
            usage=self.usage,
            cost=self.cost if self.steps else None,
            model=row.model,
            detail=ended.detail if ended else "",
            approvals=waiting.approvals if waiting and not ended else (),
            unknown_calls=tuple(call.call_id for call in self.calls.values() if _nobody_knows(call, over=self.over)),
        )

    def _replied(self, event: ModelReplied) -> None:
        self.steps += 1
        self._reply = event.reply
        turn = tuple(signature_of(call.name, call.arguments) for call in event.reply.calls)
        for index, (call, signature) in enumerate(zip(event.reply.calls, turn, strict=True)):
            own = call_id_of(self.run_id, event.step, index)
            # what was recorded of the call may differ from what the model wrote: scrubbed, optional nulls left out
            self._signatures[own] = signature
            if call.provider_id:
                self._provider_ids.setdefault((call.provider_id, signature), own)
        self.turns.append(turn)
        self.priced = self.priced and event.reply.cost is not None
        self._spend(event.reply.usage, event.reply.cost)

    def _spend(self, usage: Usage, cost: Decimal | None) -> None:
        self.usage += usage
        if cost is None:
            self.cost_is_known = False
        else:
            self.known_cost += cost

    def _call_changed(self, event: CallEvent) -> None:
        self._clock += 1
        if event.state == "started":
            self._spans[event.call_id] = _Span(tool=event.tool, began=self._clock)
        elif span := self._spans.get(event.call_id):
            span.ended = self._clock
        known = self.calls.get(event.call_id)
        if known is None:
            known = CallSummary(call_id=event.call_id, tool=event.tool, arguments=event.arguments, state=event.state)
        self.calls[event.call_id] = replace(
            known,
            state=event.state,
            decision=event.decision or known.decision,
            failure=event.failure or known.failure,
            approval_id=event.approval_id or known.approval_id,
            elapsed_ms=event.elapsed_ms if event.elapsed_ms is not None else known.elapsed_ms,
        )

    def _repeated(self, event: CallRepeated) -> None:
        if original := self.calls.get(event.of):
            self.calls[event.call_id] = replace(original, call_id=event.call_id, repeats=event.of, elapsed_ms=None)

    def _completed(self, event: BlockCompleted) -> None:
        if self._reply is None:
            return
        for answer in event.answers:
            if known := self.calls.get(answer.call_id):
                self.calls[answer.call_id] = replace(known, shown=answer.content)
        answers = tuple(
            CallAnswer(call=call, content=answer.content, failed=answer.failed)
            for call, answer in zip(self._reply.calls, event.answers, strict=False)
        )
        self.blocks.append(Block(reply=self._reply, answers=answers))
        self._reply = None


def _nobody_knows(call: CallSummary, *, over: bool) -> bool:
    return call.repeats is None and (call.state == "unknown" or (over and call.state == "started"))


def fold_events(run_id: str, events: Sequence[RunEvent]) -> Progress:
    """The progress that these events add up to."""
    progress = Progress(run_id)
    for event in events:
        progress.apply(event.body)
    return progress


def fold_run(events: Sequence[JournalEvent], run: RunRow) -> RunResult:
    """A run as it stands, from its journal alone."""
    return fold_events(run.run_id, [decode_event(run.run_id, event) for event in events]).result(run)
