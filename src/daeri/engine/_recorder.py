"""Writes the events of one run and hands them on, in the order of the journal."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from contextlib import suppress
from datetime import datetime

from daeri.boundary import JournalEntry
from daeri.errors import StoreError
from daeri.models import Usage

from ._events import LiveEvent, RunEvent, RunEventBody, RunStarted, ToolProgress
from ._journal import decode_event, encode_body
from ._ports import JournalEvent, RunRow, RunState, RunStore
from ._progress import Progress

_WRITE_LIMIT_S = 10.0
"""How long a cancelled run may wait for what it is writing."""


class Feed:
    """The events of one run for anybody who follows it in this process."""

    def __init__(self) -> None:
        self._kept: list[RunEvent] = []
        self._followers: list[asyncio.Queue[RunEvent | None]] = []
        self._closed = False

    def publish(self, event: RunEvent) -> None:
        """Give an event to everybody who follows; journalled ones also to those who come later."""
        if event.seq is not None:
            self._kept.append(event)
        for queue in self._followers:
            queue.put_nowait(event)

    def close(self) -> None:
        """Nothing comes any more."""
        self._closed = True
        for queue in self._followers:
            queue.put_nowait(None)

    async def follow(self) -> AsyncGenerator[RunEvent]:
        """All journalled events so far, then everything as it happens, until the run ends or waits."""
        queue: asyncio.Queue[RunEvent | None] = asyncio.Queue()
        for event in self._kept:
            queue.put_nowait(event)
        if self._closed:
            queue.put_nowait(None)
        self._followers.append(queue)
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            self._followers.remove(queue)


class Recorder:
    """The one writer of a run's events; it is also the boundary's observer for the calls of the run."""

    def __init__(self, *, run_id: str, tenant: str, store: RunStore, clock: Callable[[], datetime], feed: Feed) -> None:
        self.progress = Progress(run_id)
        self.broken_off: Usage | None = None
        """What a reply that was cancelled has cost all the same: in no event until the last one."""
        self._run_id = run_id
        self._tenant = tenant
        self._store = store
        self._clock = clock
        self._feed = feed
        self._next = 1
        self._early: dict[int, RunEvent] = {}

    def entry(self, body: RunEventBody) -> JournalEntry:
        """An event as the store takes it."""
        event = RunEvent(run_id=self._run_id, at=self._clock(), body=body)
        return JournalEntry(
            run_id=self._run_id, tenant=self._tenant, type=event.name, at=event.at, data=encode_body(body)
        )

    @property
    def begun(self) -> bool:
        """Whether the run is on record."""
        return self._next > 1

    async def begin(self, run: RunRow, started: RunStarted) -> None:
        """Write the run and the first event of its journal."""
        await _in_spite_of_cancel(self._begin(run, started))

    async def write(self, *bodies: RunEventBody, state: RunState | None = None) -> None:
        """Write events, and the new state of the run if it has one, in one transaction; then hand them on.

        Whoever is cancelled meanwhile learns of it when they are on record: the store writes them either way.
        """
        await _in_spite_of_cancel(self._write(bodies, state))

    async def _begin(self, run: RunRow, started: RunStarted) -> None:
        first = self.entry(started)
        await self._store.create_run(run, first)
        self._arrived(RunEvent(run_id=self._run_id, at=first.at, seq=1, body=started))

    async def _write(self, bodies: Sequence[RunEventBody], state: RunState | None) -> None:
        entries = [self.entry(body) for body in bodies]
        numbers = await self._store.append(entries, state=state)
        for body, entry, seq in zip(bodies, entries, numbers, strict=True):
            self._arrived(RunEvent(run_id=self._run_id, at=entry.at, seq=seq, body=body))

    def live(self, body: LiveEvent) -> None:
        """Hand on an event that the journal doesn't keep."""
        self._feed.publish(RunEvent(run_id=self._run_id, at=self._clock(), body=body))

    def recorded(self, entry: JournalEntry, seq: int) -> None:
        """An event that the boundary wrote for this run."""
        stored = JournalEvent(seq=seq, type=entry.type, at=entry.at, data=entry.data)
        self._arrived(decode_event(self._run_id, stored))

    def tool_progress(self, call_id: str, tool: str, text: str) -> None:
        """A running tool says how far it is."""
        self.live(ToolProgress(call_id=call_id, tool=tool, text=text))

    async def catch_up(self) -> None:
        """Hand on what others wrote into the journal of this run meanwhile, a decision about a request for example."""
        if not self._early:
            return
        with suppress(StoreError):  # it is on record, and readers of the journal will find it there
            for stored in await self._store.events(self._tenant, self._run_id, after=self._next - 1):
                if stored.seq >= self._next:
                    self._arrived(decode_event(self._run_id, stored))

    def close(self) -> None:
        """Hand on what is still held back, and end the feed."""
        for seq in sorted(self._early):
            self._hand_on(self._early.pop(seq))
        self._feed.close()

    def _arrived(self, event: RunEvent) -> None:
        # concurrent calls are acknowledged in any order; followers get the order of the journal
        self._early[event.seq or 0] = event
        while (ready := self._early.pop(self._next, None)) is not None:
            self._next += 1
            self._hand_on(ready)

    def _hand_on(self, event: RunEvent) -> None:
        self.progress.apply(event.body)
        self._feed.publish(event)


async def _in_spite_of_cancel(work: Coroutine[None, None, None]) -> None:
    """Finish the work before a cancellation takes effect."""
    writing = asyncio.ensure_future(work)
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await settled(writing, _WRITE_LIMIT_S)
        raise


async def settled(work: asyncio.Future[None], limit_s: float) -> None:
    """Wait until the work is done or the time is up, however often the waiting task is cancelled."""
    deadline = asyncio.get_running_loop().time() + limit_s
    while not work.done() and (left := deadline - asyncio.get_running_loop().time()) > 0:
        with suppress(asyncio.CancelledError):
            await asyncio.wait({work}, timeout=left)
    if work.done() and not work.cancelled():
        work.exception()  # looked at, so that asyncio doesn't complain; the cancellation goes first
