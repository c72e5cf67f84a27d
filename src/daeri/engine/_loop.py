"""The loop: model turn, calls, block, next turn, until there is an answer, a wait or a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal

from daeri.boundary import Boundary
from daeri.errors import Failure, ModelError, NotFoundError, RefusedError
from daeri.models import Model, ModelReply, ModelRequest, ToolSpec, Usage
from daeri.text import Locale, message

from ._agent import Agent, Limits
from ._calls import Caller, CallTurn, TurnOutcome
from ._context import Context, Window
from ._events import AnswerKind, AnswerReleased, EndReason, ModelReplied, RunEnded, RunWaiting
from ._model_turn import ModelTurn, RetryPolicy
from ._ports import RunState
from ._progress import signature_of
from ._recorder import Recorder
from ._texts import apology, only_denied, refusal, stopped

_REPEATS_THAT_END = 3
_EMPTY_NOTICE = "Your last reply was empty. Call a tool or write the answer."
_REASONING_NOTICE = "Your last reply held only reasoning. Call a tool or write the answer."


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What one run is to do, and with what."""

    goal: str
    agent: Agent
    model: Model
    limits: Limits
    locale: Locale
    specs: Sequence[ToolSpec]
    caller: Caller


class Loop:
    """Drives one run to its end or to a wait."""

    def __init__(self, task: Task, *, boundary: Boundary, recorder: Recorder, retry: RetryPolicy) -> None:
        self._task = task
        self._recorder = recorder
        self._progress = recorder.progress
        self._approvals = boundary.approvals
        self._model = ModelTurn(model=task.model, recorder=recorder, retry=retry)
        self._calls = CallTurn(boundary=boundary, recorder=recorder, caller=task.caller)
        self._context = Context(
            instructions=task.agent.instructions, goal=task.goal, tools=task.specs, limits=task.limits
        )
        self._notice = ""

    async def run(self) -> None:
        """Run until the journal says that the run ended or waits.

        Raises:
            StoreError: the record could not be written, so nothing more is done.
        """
        limits = self._task.limits
        clock = asyncio.timeout(limits.max_seconds)
        try:
            async with clock:
                while not await self._step():
                    pass
        except TimeoutError:
            if not clock.expired():
                raise
            if not self._progress.over:  # the end may have been on its way to the disk
                await self._stop("max_seconds", limit=f"{limits.max_seconds:g}")

    async def withdraw(self) -> None:
        """Take back what the run asks people to approve: it is ending, and nothing would come of their answer.

        Raises:
            StoreError: the record could not be written.
        """
        for call in list(self._progress.calls.values()):
            if call.state == "waiting" and call.approval_id is not None:
                # decided meanwhile: then it stands as decided
                with suppress(RefusedError, NotFoundError):
                    await self._approvals.withdraw(call.approval_id, self._task.caller.principal, "the run ended")

    async def _step(self) -> bool:
        """One model turn and its calls; whether the run is over or waits."""
        if reached := self._limit_reached():
            reason, limit = reached
            await self._stop(reason, limit=limit)
            return True
        step = self._progress.steps + 1
        try:
            window = self._context.window(self._progress.blocks)
            reply = await self._model.take(step, window, self._request, self._context.shorter)
        except ModelError as error:
            await self._give_up(error)
            return True
        await self._recorder.write(ModelReplied(step=step, reply=reply, input_blocks=len(window.blocks)))
        if reply.calls:
            return await self._make_calls(step, reply)
        if reply.text.strip():
            await self._answer(reply)
            return True
        return await self._unusable(reply)

    def _request(self, window: Window) -> ModelRequest:
        task = self._task
        return ModelRequest(
            instructions=task.agent.instructions,
            goal=task.goal,
            blocks=window.blocks,
            omitted=window.line,
            notice=self._notice,
            tools=task.specs,
            locale=task.locale,
            max_output_tokens=task.limits.max_output_tokens,
        )

    async def _make_calls(self, step: int, reply: ModelReply) -> bool:
        self._notice = ""
        for call in reply.calls:
            if self._progress.times_in_a_row(signature_of(call.name, call.arguments)) >= _REPEATS_THAT_END:
                await self._stop("repeated_call", tool=call.name)
                return True
        outcome = await self._calls.make(step, reply)
        if outcome.unknown or outcome.approvals:
            await self._wait(outcome)
            return True
        return False

    async def _answer(self, reply: ModelReply) -> None:
        """Release the model's words, unless calls were made and none of them succeeded: then refuse."""
        failures = self._failures()
        if failures is not None:
            reason: EndReason = "denied" if only_denied(failures) else "no_evidence"
            text = refusal(failures, self._task.locale)
            await self._end("refused", reason, text=text, kind="refusal")
            return
        text = reply.text.strip()
        if reply.finish in ("length", "filtered"):
            mark = "cut_off" if reply.finish == "length" else "filtered"
            text = f"{text}\n{message(f'stopped.{mark}', self._task.locale)}"
        await self._end("succeeded", "answered", text=text, kind="model")

    def _failures(self) -> list[Failure] | None:
        """Why each call failed, when there were calls and none succeeded."""
        calls = self._progress.calls.values()
        if not calls or any(call.state == "succeeded" for call in calls):
            return None
        return [call.failure for call in calls if call.failure]

    async def _unusable(self, reply: ModelReply) -> bool:
        """A reply without text and calls: say so to the model once, then give up."""
        if self._notice:
            detail = "two replies in a row without text or calls"
            await self._give_up(ModelError("unusable_reply", self._task.model.name, detail))
            return True
        self._notice = _REASONING_NOTICE if reply.reasoning.strip() else _EMPTY_NOTICE
        return False

    def _limit_reached(self) -> tuple[EndReason, int | Decimal] | None:
        limits, progress = self._task.limits, self._progress
        if progress.steps >= limits.max_steps:
            return "max_steps", limits.max_steps
        if progress.usage.input_tokens + progress.usage.output_tokens >= limits.max_tokens:
            return "max_tokens", limits.max_tokens
        if limits.max_cost is None:
            return None
        if progress.known_cost >= limits.max_cost:
            return "max_cost", limits.max_cost
        return None if progress.priced else ("unknown_price", limits.max_cost)

    async def _stop(self, reason: EndReason, **values: object) -> None:
        # the calls of an unfinished turn have no block yet from which to tell what they found
        calls = [
            replace(call, shown=call.shown or self._calls.shown(call.call_id)) for call in self._progress.calls.values()
        ]
        text = stopped(reason, calls, self._task.locale, **values)
        await self._end("failed", reason, text=text, kind="limit")

    async def _give_up(self, error: ModelError) -> None:
        text = apology(error, self._task.locale)
        await self._end("failed", "model_failed", text=text, kind="apology", detail=f"{error.kind}: {error.detail}")

    async def _wait(self, outcome: TurnOutcome) -> None:
        state: RunState = "waiting_input" if outcome.unknown else "waiting_approval"
        waiting = RunWaiting(state=state, approvals=outcome.approvals, unknown_calls=outcome.unknown)
        await self._recorder.write(waiting, state=state)

    async def _end(self, state: RunState, reason: EndReason, *, text: str, kind: AnswerKind, detail: str = "") -> None:
        await self.withdraw()
        ended = run_ended(self._recorder, state, reason, detail)
        await self._recorder.write(AnswerReleased(text=text, kind=kind), ended, state=state)


def run_ended(recorder: Recorder, state: RunState, reason: EndReason, detail: str = "") -> RunEnded:
    """The last event of a run, with its sums."""
    progress, broken_off = recorder.progress, recorder.broken_off
    return RunEnded(
        state=state,
        reason=reason,
        detail=detail,
        steps=progress.steps,
        usage=progress.usage + (broken_off or Usage()),
        cost=progress.cost if progress.steps and broken_off is None else None,
    )
