"""Threads for functions that block: bounded in number, never in the way of the process's end."""

from __future__ import annotations

import asyncio
import contextvars
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class WorkerThreads:
    """Up to `limit` daemon threads that share one queue; further work waits its turn.

    Daemon threads because a blocking function can't be stopped: after Ctrl-C the process must not wait for it.
    """

    def __init__(self, name: str, limit: int) -> None:
        self._name = name
        self._limit = limit
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._started = 0
        self._busy = 0
        self._closed = False

    async def run(self, function: Callable[[], T]) -> T:
        """The function's result, worked out in a thread that sees the caller's context variables.

        Cancelling it gives up waiting; work that has not begun then never begins.
        """
        future: Future[T] = Future()
        self._submit(partial(_work, future, partial(contextvars.copy_context().run, function)))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """No new work; threads end as soon as what they do is done."""
        with self._lock:
            self._closed = True
            for _ in range(self._started):
                self._queue.put(None)

    def _submit(self, job: Callable[[], None]) -> None:
        with self._lock:
            if self._closed:
                raise RuntimeError(f"the threads of {self._name!r} are closed")
            self._busy += 1
            self._queue.put(job)
            if self._busy > self._started and self._started < self._limit:
                self._started += 1
                threading.Thread(target=self._serve, name=f"{self._name}-{self._started}", daemon=True).start()

    def _serve(self) -> None:
        while (job := self._queue.get()) is not None:
            job()
            with self._lock:
                self._busy -= 1


def _work(future: Future[Any], function: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(function())
    except StopIteration as error:
        # asyncio refuses to carry it, and the waiting task would hang
        future.set_exception(RuntimeError(f"raised {error!r}"))
    except Exception as error:
        future.set_exception(error)
    except BaseException as error:  # SystemExit in a thread must not end the event loop
        future.set_exception(RuntimeError(f"stopped with {error!r}"))
