"""Bulkheads: a slow tool fills its own places and its own queue, and nobody else's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from daeri.errors import Failure

_FIRST_GUESS_S = 1.0
"""How long a call holds its place, until one has shown it."""
_WEIGHT = 0.2
"""Of the newest call in the average."""


class Bulkhead:
    """The places of one tool, and the queue before them."""

    def __init__(self, tool: str, places: int, queue: int, now: Callable[[], float]) -> None:
        self._tool = tool
        self._places = places
        self._queue = queue
        self._now = now
        self._free = asyncio.Semaphore(places)
        self._waiting = 0
        self._usual_s = _FIRST_GUESS_S

    async def enter(self, timeout_s: float) -> float | Failure:
        """Take a place, waiting in the queue if there is room: when it was taken, or why there is none."""
        if not self._free.locked():
            # never waits
            await self._free.acquire()
            return self._now()
        if self._waiting >= self._queue:
            return self._full()
        self._waiting += 1
        try:
            async with asyncio.timeout(timeout_s):
                await self._free.acquire()
        except TimeoutError:
            return self._failure(f"none became free within {timeout_s:g} s")
        finally:
            self._waiting -= 1
        return self._now()

    def leave(self, since: float) -> None:
        """Give up the place that was taken then."""
        self._usual_s += _WEIGHT * (self._now() - since - self._usual_s)
        self._free.release()

    def _full(self) -> Failure:
        queue = f", and {self._waiting} more calls wait" if self._queue else ""
        return self._failure(f"all {self._places} places are taken{queue}")

    def _failure(self, why: str) -> Failure:
        return Failure(
            kind="unavailable",
            diagnostic=f"{self._tool} was not called: {why}",
            retry_after_s=self._usual_s * (self._waiting + 1) / self._places,
        )
