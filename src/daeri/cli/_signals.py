"""What ends a command from outside."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stopped_like_ctrl_c() -> Generator[None]:
    """Within it SIGTERM, which service managers and `kill` send, does what Ctrl-C does."""

    def terminated(_: int, frame: FrameType | None) -> None:
        # Asked for at that moment: the event loop and a run that is being shown each have their own answer to Ctrl-C.
        on_ctrl_c = signal.getsignal(signal.SIGINT)
        if not callable(on_ctrl_c):  # a job in the background of a shell ignores Ctrl-C, but not this
            raise KeyboardInterrupt
        on_ctrl_c(signal.SIGINT, frame)

    before = signal.signal(signal.SIGTERM, terminated)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
