"""What a running tool says: handed on within bounds, and remembered a little in case it breaks off."""

from __future__ import annotations

from collections.abc import Callable

from ._faults import words

_MAX_REPORTS = 10_000
_MAX_CHARS = 1_000_000
"""Of all that one attempt may have shown live."""
_KEPT_CHARS = 1_000
"""Of the newest of it, kept for the diagnostic of a failure."""


class Heard:
    """The reports and chunks of one attempt; they may come from any thread, and late."""

    def __init__(self, report: Callable[[str], None], now: Callable[[], float]) -> None:
        self.latest = now()
        """When the last sign of life came."""
        self._report = report
        self._now = now
        self._number = 0
        self._chars = 0
        self._newest = ""
        self._over = False

    def take(self, text: str) -> None:
        """Hand one text on, unless the attempt is over or has shown too much already."""
        if self._over:
            return
        self.latest = self._now()
        self._number += 1
        self._newest = (self._newest + text)[-_KEPT_CHARS:]
        room = _MAX_CHARS - self._chars
        self._chars += len(text)
        if self._number < _MAX_REPORTS and len(text) < room:
            self._report(text)
        elif self._number == _MAX_REPORTS or 0 < room <= len(text):
            self._report("[it says more than is shown live]")

    def close(self) -> None:
        """Nothing that comes later is heard."""
        self._over = True

    def breaking_off(self, diagnostic: str) -> str:
        """The diagnostic of the failure, with what had arrived before it."""
        if not self._number:
            return diagnostic
        pieces = "1 piece" if self._number == 1 else f"{self._number:,} pieces"
        return words(f"{diagnostic}; until then {pieces} had arrived, at the end: {self._newest}")
