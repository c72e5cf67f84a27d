"""Long text, cut where everybody can see it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """A text that fits, and how many characters were left out of it."""

    text: str
    omitted: int


def cut_middle(text: str, limit: int, *, note: str = "") -> Cut:
    """At most `limit` characters: head and tail with a mark between them that says how much is missing.

    `note` goes into the mark, for example where the whole text is kept. A limit too small for the mark keeps the head.
    """
    if len(text) <= limit:
        return Cut(text=text, omitted=0)
    mark = _mark(len(text), len(text), note)
    room = limit - len(mark)
    if room <= 0:
        return Cut(text=text[: max(limit, 0)], omitted=len(text) - max(limit, 0))
    head = (room + 1) // 2
    tail = room - head
    omitted = len(text) - head - tail
    return Cut(text=text[:head] + _mark(omitted, len(text), note) + text[len(text) - tail :], omitted=omitted)


def _mark(omitted: int, total: int, note: str) -> str:
    detail = f"; {note}" if note else ""
    return f"\n[... {omitted:,} of {total:,} characters cut{detail} ...]\n"
