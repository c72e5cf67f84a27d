"""One turn of a model, with everything that can go wrong on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception, stop_after_attempt, wait_random_exponential

from daeri.errors import ModelError
from daeri.models import Model, ModelReply, ModelRequest, ReasoningDelta, TextDelta, Usage, estimate_usage

from ._context import Window
from ._events import ContextTrimmed, ModelFailed, ReasoningDraft, TextDraft, TextRestarted
from ._recorder import Recorder


@dataclass(frozen=True, kw_only=True, slots=True)
class RetryPolicy:
    """How often and how long a failing model is tried again."""

    attempts: int = 4
    """In all, the first included."""
    first_wait_s: float = 0.5
    """Upper bound of the first wait; it doubles with each attempt, and the real wait is drawn below it."""
    longest_wait_s: float = 30.0
    """Upper bound of any wait of ours; a provider that asks for more than `patience_s` is given up."""
    patience_s: float = 120.0


class ModelTurn:
    """Takes the turns of one run with one model."""

    def __init__(self, *, model: Model, recorder: Recorder, retry: RetryPolicy) -> None:
        self._model = model
        self._recorder = recorder
        self._retry = retry
        self._drafted = ""
        self._received = ""
        """Text and reasoning of the stream under way: what it has cost so far."""

    async def take(
        self,
        step: int,
        window: Window,
        request_for: Callable[[Window], ModelRequest],
        shorter: Callable[[Window], Window | None],
    ) -> ModelReply:
        """The reply to the request that `request_for` makes of a window; of a `shorter` one if that was too long.

        Raises:
            ModelError: every attempt failed, or the first failure was final. Each attempt is in the journal.
        """
        if window.omitted:
            await self._trimmed(step, window)
        try:
            return await self._attempts(step, request_for(window))
        except ModelError as error:
            less = shorter(window) if error.kind == "context_overflow" else None
            if less is None:
                raise
        await self._trimmed(step, less)
        return await self._attempts(step, request_for(less))

    async def _attempts(self, step: int, request: ModelRequest) -> ModelReply:
        policy = self._retry
        backoff = wait_random_exponential(multiplier=policy.first_wait_s, max=policy.longest_wait_s)

        def wait(state: RetryCallState) -> float:
            asked = _error_of(state).retry_after_s or 0.0
            return max(asked, backoff(state))

        async def note(state: RetryCallState) -> None:
            await self._failed(step, state.attempt_number, request, _error_of(state), retry_in_s=state.upcoming_sleep)

        retrying = AsyncRetrying(
            stop=stop_after_attempt(policy.attempts),
            wait=wait,
            retry=retry_if_exception(self._worth_another),
            before_sleep=note,
            reraise=True,
        )
        number = 0
        try:
            async for attempt in retrying:
                number = attempt.retry_state.attempt_number
                with attempt:
                    return await self._stream(step, request)
        except ModelError as error:
            await self._failed(step, number, request, error, retry_in_s=None)
            raise
        raise AssertionError("retrying ends by returning or raising")

    async def _stream(self, step: int, request: ModelRequest) -> ModelReply:
        if self._drafted:
            self._recorder.live(TextRestarted(step=step))
        self._drafted = self._received = ""
        try:
            async with aclosing(self._model.stream(request)) as events:
                async for event in events:
                    if isinstance(event, ModelReply):
                        self._drafted = ""
                        return event
                    self._drafts(step, event)
        except asyncio.CancelledError:
            self._recorder.broken_off = self._cost_so_far(request)
            raise
        raise ModelError("unusable_reply", self._model.name, "the stream ended without a reply")

    def _drafts(self, step: int, delta: TextDelta | ReasoningDelta) -> None:
        self._received += delta.text
        if isinstance(delta, TextDelta):
            self._drafted += delta.text
            self._recorder.live(TextDraft(step=step, text=delta.text))
        else:
            self._recorder.live(ReasoningDraft(step=step, text=delta.text))

    def _cost_so_far(self, request: ModelRequest) -> Usage | None:
        return estimate_usage(request, self._received) if self._received else None

    async def _failed(
        self, step: int, attempt: int, request: ModelRequest, error: ModelError, *, retry_in_s: float | None
    ) -> None:
        await self._recorder.write(
            ModelFailed(
                step=step,
                attempt=attempt,
                kind=error.kind,
                detail=error.detail,
                retry_in_s=retry_in_s,
                usage=self._cost_so_far(request),
            )
        )

    async def _trimmed(self, step: int, window: Window) -> None:
        await self._recorder.write(
            ContextTrimmed(step=step, kept=len(window.blocks), omitted=window.omitted, reason=window.reason)
        )

    def _worth_another(self, error: BaseException) -> bool:
        return (
            isinstance(error, ModelError) and error.retryable and (error.retry_after_s or 0.0) <= self._retry.patience_s
        )


def _error_of(state: RetryCallState) -> ModelError:
    error = state.outcome.exception() if state.outcome else None
    assert isinstance(error, ModelError), "only model errors are retried"
    return error
