"""Live progress of a run on stderr: plain lines, or a moving display when a person looks on."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Protocol

from daeri.engine import RunEvent, TextDraft, TextRestarted, ToolProgress
from daeri.text import Locale, message

from ._lines import Trail, call_head, call_line, event_line, one_line, printable
from ._streams import tell

if TYPE_CHECKING:
    from rich.console import RenderableType

_DRAFT_LINES = 8
_DRAFT_CHARS = 4_000


class Progress(Protocol):
    """Shows a run to the person at the terminal."""

    def note(self, text: str) -> None:
        """Print a line of its own."""
        ...

    def follow(self, event: RunEvent) -> None:
        """Show an event of the run."""
        ...

    def close(self) -> None:
        """Leave nothing that moves."""
        ...


def open_progress(locale: Locale) -> Progress:
    """A moving display when stderr is a terminal, else plain lines without control codes."""
    return LiveProgress(locale) if sys.stderr.isatty() else PlainProgress(locale)


class PlainProgress:
    """One line per finished call, and what went wrong in between."""

    def __init__(self, locale: Locale) -> None:
        self._locale: Locale = locale
        self._trail = Trail()

    def note(self, text: str) -> None:
        """Print a line of its own."""
        tell(printable(text))

    def follow(self, event: RunEvent) -> None:
        """Print the lines that the event is worth."""
        for line in lines_of(event, self._trail, self._locale):
            self.note(line)

    def close(self) -> None:
        """Nothing moves here."""


class LiveProgress:
    """The same lines, and below them what goes on at the moment: calls under way, text as it is written."""

    def __init__(self, locale: Locale) -> None:
        from rich.console import Console
        from rich.live import Live
        from rich.spinner import Spinner

        self._locale: Locale = locale
        self._trail = Trail()
        self._draft = ""
        self._reports: dict[str, str] = {}
        self._console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._spinner = Spinner("dots")
        self._live = Live(get_renderable=self._render, console=self._console, transient=True, refresh_per_second=12)
        self._live.start()

    def note(self, text: str) -> None:
        """Print a line above what moves."""
        self._console.print(printable(text), soft_wrap=True)

    def follow(self, event: RunEvent) -> None:
        """Show an event of the run."""
        match event.body:
            case TextDraft():
                self._draft += event.body.text
            case TextRestarted():
                self._draft = ""
            case ToolProgress():
                self._reports[event.body.call_id] = event.body.text
            case _:
                lines = lines_of(event, self._trail, self._locale)
                self._draft = "" if event.name == "model.replied" else self._draft
                for line in lines:
                    self.note(line)

    def close(self) -> None:
        """Take away what moves and give the cursor back."""
        self._live.stop()

    def _render(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        running = [
            self._running_line(call.call_id, call_head(call.tool, call.arguments)) for call in self._trail.running
        ]
        doing = "; ".join(running) or message("cli.progress.thinking", self._locale)
        self._spinner.update(text=Text(doing))
        draft = printable(self._draft[-_DRAFT_CHARS:]).splitlines()[-_DRAFT_LINES:]
        return Group(*(Text(line, style="dim") for line in draft), self._spinner)

    def _running_line(self, call_id: str, head: str) -> str:
        report = self._reports.get(call_id)
        return f"{head}: {one_line(report, 60)}" if report else head


def lines_of(event: RunEvent, trail: Trail, locale: Locale) -> list[str]:
    """The lines that an event is worth: finished calls, failed attempts, turns left out."""
    lines = [call_line(call, locale) for call in trail.apply(event.body)]
    own = event_line(event.body, locale)
    return lines if own is None else [own, *lines]
