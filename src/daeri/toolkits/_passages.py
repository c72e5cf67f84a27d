"""Documents cut into passages that one can cite: text, heading, and where it stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

FULL = 600
"""Characters from which on a passage takes no further paragraph."""
LONGEST = 1_200
"""A longer paragraph is cut, at the end of a sentence or line where there is one."""

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_BREAK = re.compile(r"[.!?。！？][\"'”’)\]]*\s+|\n")


@dataclass(frozen=True, kw_only=True, slots=True)
class Passage:
    """A part of a document; `text` is what stands from `start` to `end` in it."""

    text: str
    start: int
    end: int
    heading: str
    """The headings above it, outermost first, joined by ` > `."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Paragraph:
    start: int
    end: int
    heading: str


def passages(text: str) -> list[Passage]:
    """The passages of a Markdown or plain text, in order; only headings and white space are in none of them."""
    found: list[Passage] = []
    group: list[_Paragraph] = []
    for paragraph in _paragraphs(text):
        full = group and paragraph.end - group[0].start > LONGEST
        if group and (full or group[-1].end - group[0].start >= FULL or group[0].heading != paragraph.heading):
            found.append(_passage(text, group))
            group = []
        group.append(paragraph)
    if group:
        found.append(_passage(text, group))
    return found


def _passage(text: str, group: list[_Paragraph]) -> Passage:
    start, end = group[0].start, group[-1].end
    return Passage(text=text[start:end], start=start, end=end, heading=group[0].heading)


def _paragraphs(text: str) -> Iterator[_Paragraph]:
    headings: list[tuple[int, str]] = []
    fence = ""
    start = at = 0
    for line in text.splitlines(keepends=True):
        heading = None if fence else _HEADING.match(line.rstrip())
        if heading or (not fence and not line.strip()):
            yield from _trimmed(text, start, at, headings)
            start = at + len(line)
        if heading:
            level = len(heading[1])
            headings = [(depth, name) for depth, name in headings if depth < level] + [(level, heading[2])]
        fence = _fence_after(line, fence)
        at += len(line)
    yield from _trimmed(text, start, at, headings)


def _fence_after(line: str, fence: str) -> str:
    mark = _FENCE.match(line)
    if mark is None:
        return fence
    return "" if fence == mark[1] else fence or mark[1]


def _trimmed(text: str, start: int, end: int, headings: list[tuple[int, str]]) -> Iterator[_Paragraph]:
    heading = " > ".join(name for _, name in headings)
    while start < end:
        stop = _stop(text, start, end)
        part = text[start:stop]
        if body := part.strip():
            begin = start + part.index(body)
            yield _Paragraph(start=begin, end=begin + len(body), heading=heading)
        start = stop


def _stop(text: str, start: int, end: int) -> int:
    if end - start <= LONGEST:
        return end
    breaks = [found.end() for found in _BREAK.finditer(text, start + LONGEST // 2, start + LONGEST)]
    return breaks[-1] if breaks else start + LONGEST
