"""The calls of one turn: each through the door or answered from the record, all at once, answered in call order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from daeri.boundary import Boundary, CallOutcome, CallRequest
from daeri.errors import Failure
from daeri.identity import Principal
from daeri.models import ModelCall, ModelReply
from daeri.text import Json, Locale
from daeri.tools import JsonTextError, parse_json

from ._events import Answered, BlockCompleted, CallRepeated
from ._progress import Signature, call_id_of, signature_of
from ._recorder import Recorder
from ._shown import answer_for, repeated_answer


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """For whom and with what the calls of a run are made."""

    run_id: str
    agent: str
    principal: Principal
    allowed_tools: frozenset[str] | None
    read_only: frozenset[str]
    """Names of the tools that change nothing."""
    locale: Locale
    max_output_chars: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnOutcome:
    """How the calls of a turn ended."""

    approvals: tuple[str, ...] = ()
    """Approval requests that calls of this turn wait for."""
    unknown: tuple[str, ...] = ()
    """Calls of which nobody knows whether they took effect."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Planned:
    call_id: str
    call: ModelCall
    of: str | None = None
    """The call from whose record this one is answered."""
    reason: Literal["same_arguments", "same_provider_id"] = "same_arguments"


class CallTurn:
    """Makes the calls of one model reply."""

    def __init__(self, *, boundary: Boundary, recorder: Recorder, caller: Caller) -> None:
        self._boundary = boundary
        self._recorder = recorder
        self._caller = caller
        self._own: dict[str, Answered] = {}

    async def make(self, step: int, reply: ModelReply) -> TurnOutcome:
        """Make all calls; the block is complete unless a call waits or its outcome is unknown.

        Raises:
            StoreError: the record could not be written; calls still under way were cancelled.
        """
        planned = self._plan(step, reply)
        cut_off = reply.finish == "length"
        tasks: dict[str, asyncio.Task[CallOutcome]] = {}
        try:
            async with asyncio.TaskGroup() as group:
                for item in planned:
                    if item.of is None:
                        tasks[item.call_id] = group.create_task(self._carried(item, cut_off))
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from failures
        return await self._settle(step, planned, {call_id: task.result() for call_id, task in tasks.items()})

    def _plan(self, step: int, reply: ModelReply) -> list[_Planned]:
        first_in_turn: dict[Signature, str] = {}
        planned: list[_Planned] = []
        for index, call in enumerate(reply.calls):
            call_id = call_id_of(self._caller.run_id, step, index)
            signature = signature_of(call.name, call.arguments)
            item = self._from_record(call, call_id, signature)
            if item is None and (twin := first_in_turn.get(signature)):
                item = _Planned(call_id=call_id, call=call, of=twin)
            item = item or _Planned(call_id=call_id, call=call)
            # never an answer that is itself only given again: that one isn't on record yet
            first_in_turn.setdefault(signature, item.of or call_id)
            planned.append(item)
        return planned

    def _from_record(self, call: ModelCall, call_id: str, signature: Signature) -> _Planned | None:
        progress = self._recorder.progress
        first = progress.first_with(call.provider_id, signature)
        if first is not None and first != call_id and (known := progress.calls.get(first)):
            root = progress.calls[known.repeats] if known.repeats else known
            # some servers begin their ids anew each turn: a look-up after a change is no repeat then
            stale = root.tool in self._caller.read_only and progress.effects_since(root.call_id, self._caller.read_only)
            if root.state == "succeeded" and not stale:
                return _Planned(call_id=call_id, call=call, of=root.call_id, reason="same_provider_id")
        earlier = progress.latest_success(signature)
        if earlier is not None and not progress.effects_since(earlier.call_id, self._caller.read_only):
            return _Planned(call_id=call_id, call=call, of=earlier.call_id)
        return None

    def shown(self, call_id: str) -> str:
        """What the model is or would be shown for a call that ended, its block complete or not."""
        return self._own[call_id].content if call_id in self._own else ""

    async def _carried(self, item: _Planned, cut_off: bool) -> CallOutcome:
        outcome = await self._through_the_door(item, cut_off)
        self._own[item.call_id] = answer_for(outcome, self._caller.max_output_chars)
        return outcome

    async def _through_the_door(self, item: _Planned, cut_off: bool) -> CallOutcome:
        arguments = _read_arguments(item.call, cut_off=cut_off)
        if isinstance(arguments, Failure):
            request = self._request(item, item.call.arguments)
            return await self._boundary.reject(request, arguments, observer=self._recorder)
        return await self._boundary.call(self._request(item, arguments), observer=self._recorder)

    def _request(self, item: _Planned, arguments: Json) -> CallRequest:
        caller = self._caller
        return CallRequest(
            principal=caller.principal,
            tool=item.call.name,
            arguments=arguments,
            call_id=item.call_id,
            origin="run",
            run_id=caller.run_id,
            agent=caller.agent,
            allowed_tools=caller.allowed_tools,
            locale=caller.locale,
        )

    async def _settle(self, step: int, planned: Sequence[_Planned], outcomes: Mapping[str, CallOutcome]) -> TurnOutcome:
        repeats = [
            CallRepeated(call_id=item.call_id, tool=item.call.name, of=item.of, reason=item.reason)
            for item in planned
            if item.of is not None
        ]
        approvals = tuple(o.approval_id for o in outcomes.values() if o.state == "waiting" and o.approval_id)
        unknown = tuple(o.call_id for o in outcomes.values() if o.state in ("unknown", "started"))
        if approvals or unknown:
            if repeats:
                await self._recorder.write(*repeats)
            return TurnOutcome(approvals=approvals, unknown=unknown)
        answers = self._answers(planned)
        await self._recorder.write(*repeats, BlockCompleted(step=step, answers=answers))
        return TurnOutcome()

    def _answers(self, planned: Sequence[_Planned]) -> tuple[Answered, ...]:
        return tuple(
            self._own[item.call_id] if item.of is None else repeated_answer(item.call_id, self._answer_of(item.of))
            for item in planned
        )

    def _answer_of(self, call_id: str) -> Answered:
        if call_id in self._own:
            return self._own[call_id]
        known = self._recorder.progress.calls[call_id]
        return Answered(call_id=call_id, content=known.shown, failed=known.state != "succeeded")


def _read_arguments(call: ModelCall, *, cut_off: bool) -> Json | Failure:
    text = call.arguments.strip()
    if cut_off and not text:
        return Failure(kind="truncated_arguments", diagnostic="the reply ends before the arguments begin")
    try:
        return parse_json(text or "{}")
    except JsonTextError as error:
        if cut_off and error.truncated:
            return Failure(kind="truncated_arguments", diagnostic=f"the arguments end in the middle: {error}")
        return Failure(kind="malformed_arguments", diagnostic=f"the arguments are not valid JSON: {error}")
