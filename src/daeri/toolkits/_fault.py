"""What went wrong in a toolkit, turned into words once the reader's language is known."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from daeri.errors import ToolError
from daeri.text import Locale, message


class Fault(Exception):
    """A toolkit can't do what was asked: a catalogue key below `toolkits`, its values, and the diagnostic."""

    def __init__(self, key: str, diagnostic: str, /, **values: object) -> None:
        self.key = key
        self.diagnostic = diagnostic
        self.values = values
        super().__init__(diagnostic)


@contextmanager
def faults_told_in(locale: Locale) -> Generator[None]:
    """Let every `Fault` inside leave as a `ToolError` in this language."""
    try:
        yield
    except Fault as fault:
        words = message(f"toolkits.{fault.key}", locale, **fault.values)
        raise ToolError(words, diagnostic=fault.diagnostic) from None
