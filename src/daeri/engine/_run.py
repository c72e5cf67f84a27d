"""A run under way: follow it, wait for it, cancel it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from types import TracebackType

from daeri.errors import StoreError
from daeri.models import ModelChoice
from daeri.text import Locale, message

from ._events import AnswerReleased, EndReason, JournaledEvent, RunEvent
from ._loop import Loop, run_ended
from ._ports import RunRow, RunState
from ._recorder import Feed, Recorder, settled
from ._result import RunResult

_log = logging.getLogger(__name__)
_LAST_WRITE_LIMIT_S = 10.0
"""How long a run that is over may take to write that down."""


class Run:
    """One run in this process. As a context manager it is cancelled when its block is left before it is over."""

    def __init__(
        self, row: RunRow, loop: Loop, *, recorder: Recorder, feed: Feed, locale: Locale, choice: ModelChoice | None
    ) -> None:
        self._row = row
        self._loop = loop
        self._recorder = recorder
        self._feed = feed
        self._locale: Locale = locale
        self.model_choice = choice
        """Which model and why, for people; `None` when the caller brought its own."""
        self._lost: StoreError | None = None
        self._begun = asyncio.Event()
        self._task = asyncio.create_task(self._drive(), name=f"run {row.run_id}")

    @property
    def run_id(self) -> str:
        """The id under which everything of it is on record."""
        return self._row.run_id

    @property
    def done(self) -> bool:
        """Whether it ended or waits."""
        return self._task.done()

    def events(self) -> AsyncGenerator[RunEvent]:
        """All journalled events from the first one, then everything as it happens, until it ended or waits."""
        return self._feed.follow()

    async def result(self) -> RunResult:
        """How it ended, or for what it waits.

        Raises:
            StoreError: the record could not be written; what ran until then is on record as far as it got.
        """
        await asyncio.shield(self._task)
        if self._lost is not None:
            raise self._lost
        return self._recorder.progress.result(self._row)

    async def cancel(self) -> RunResult:
        """Stop model and tools at once; its journal says so. A run that is over stays as it is."""
        await self.stop()
        return await self.result()

    async def __aenter__(self) -> Run:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Cancel it if it is under way, and wait until its journal says so."""
        if not self.done:
            self._task.cancel()
            await asyncio.wait({self._task})

    def when_done(self, callback: Callable[[Run], object]) -> None:
        """Call back once it ended or waits."""
        self._task.add_done_callback(lambda _: callback(self))

    async def begun(self) -> None:
        """Wait until the run is under way; who is cancelled meanwhile has cancelled the run."""
        try:
            await self._begun.wait()
        except asyncio.CancelledError:
            await self.stop()
            raise

    async def _drive(self) -> None:
        self._begun.set()
        try:
            await asyncio.sleep(0)  # who started it gets to follow it before the first event
            await self._loop.run()
        except asyncio.CancelledError:
            if not self._recorder.progress.over:  # the end may have been on its way to the disk
                await self._write_end("cancelled", "cancelled")
        except StoreError as error:
            self._lose(error)
        except Exception as error:
            _log.exception("run %s stopped by a fault of ours", self.run_id)
            await self._write_end("failed", "internal", f"{type(error).__name__}: {error}")
        finally:
            await settled(asyncio.ensure_future(self._recorder.catch_up()), _LAST_WRITE_LIMIT_S)
            self._recorder.close()

    async def _last_writes(self, ended: Sequence[JournaledEvent], state: RunState) -> None:
        await self._loop.withdraw()
        await self._recorder.write(*ended, state=state)

    async def _write_end(self, state: RunState, reason: EndReason, detail: str = "") -> None:
        ended: list[JournaledEvent] = [run_ended(self._recorder, state, reason, detail)]
        if reason == "internal":
            ended.insert(0, AnswerReleased(text=message("model_failed.internal", self._locale), kind="apology"))
        writing = asyncio.ensure_future(self._last_writes(ended, state))
        await settled(writing, _LAST_WRITE_LIMIT_S)
        if not writing.done() or writing.cancelled():
            self._lose(StoreError("write the end of the run", f"not done within {_LAST_WRITE_LIMIT_S:g} s"))
        elif error := writing.exception():
            self._lose(error if isinstance(error, StoreError) else StoreError("write the end of the run", str(error)))

    def _lose(self, error: StoreError) -> None:
        self._lost = error
        _log.error("run %s stopped because the record could not be written: %s", self.run_id, error.cause)
