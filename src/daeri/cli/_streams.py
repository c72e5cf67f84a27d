"""The three standard streams, which may be closed, full, or of an encoding that lacks most letters."""

from __future__ import annotations

import contextlib
import os
import sys
from io import TextIOWrapper
from typing import TextIO


def open_streams() -> bool:
    """Make all three usable; gives whether stdout was there.

    A stream that is closed becomes the null device: a database that took its number would be written to by a `print`.
    """
    stdout_is_there = sys.__stdout__ is not None
    # In this order each one gets the number that is missing.
    if sys.__stdin__ is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115 - as long as the process lives
    if sys.__stdout__ is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - likewise
    if sys.__stderr__ is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - likewise
    _forgive()
    return stdout_is_there


def _forgive() -> None:
    # A letter that a terminal can't show must not end the run.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
            if stream is sys.stdout:
                sys.stdout = _Stdout(sys.stdout)


def tell(text: str) -> None:
    """Print a line on stderr; when it can't be written there, nobody can be told."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def fault_of_stdout() -> OSError | None:
    """Why what was printed could not be written out, if it could not."""
    return _fault_of(sys.stdout)


def abandon_streams() -> None:
    """Drop what can't be written out: the interpreter would complain when it flushes at its end."""
    for stream in (sys.stdout, sys.stderr):
        if _fault_of(stream) is not None:
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, stream.fileno())
            os.close(null)


class _Stdout(TextIOWrapper):
    """Standard output that remembers why it could not be written: the text is gone then, and a second try succeeds."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(
            stream.buffer, encoding=stream.encoding, errors="replace", line_buffering=bool(stream.line_buffering)
        )
        self._kept = stream  # it would close what it shares with this one when it is dropped
        self.fault: OSError | None = None

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as fault:
            self.fault = fault
            raise

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as fault:
            self.fault = fault
            raise


def _fault_of(stream: TextIO) -> OSError | None:
    try:
        stream.flush()
    except OSError as fault:
        return fault
    return stream.fault if isinstance(stream, _Stdout) else None
