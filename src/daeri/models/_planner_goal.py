"""A goal taken apart: what stands in it that an argument could be made of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

from daeri.text import find_numbers, korean_stem, words

from ._planner_words import is_filler, is_generic, known

_QUOTED = re.compile(r"[\"“”「『]([^\"“”」』]+)[\"”“」』]|(?<!\w)['‘]([^'‘’]+)['’](?![A-Za-z])")
_AFTER_COLON = re.compile(r"(?<=\S):\s+(\S.*)$|(?<=[가-힣]):(\S.*)$", re.S)
_URL = re.compile(r"https?://[^\s\"'<>]*[\w/]", re.A)
_YEAR = re.compile(r"(?<![\d.,-])([12]\d{3})(?![\d.,-]\d|\d)")
_DATE = re.compile(r"(?<!\d)([12]\d{3})(?:[-./]|년\s*)(\d{1,2})(?:[-./]|월\s*)(\d{1,2})(?!\d)")
_EMAIL = re.compile(r"[\w.+-]+@[A-Za-z\d-]+(?:\.[A-Za-z\d-]+)+", re.A)
_PATH = re.compile(r"(?<![\w@.])(?:[\w.-]+/)*[\w-]+(?:\.[A-Za-z0-9]{1,8})+(?![\w@])|(?:[\w.-]+/)+[\w.-]+")
_IDENTIFIER = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z_]*[-_#]?\d[A-Za-z0-9_-]*|(?<![\w-])\d+(?:-\d+)+(?!\w)", re.A)
_PROPER = re.compile(r"(?<=\s)[A-Z][\w-]*(?:\s+[A-Z][\w-]*)*", re.A)
_WORD = re.compile(r"[^\s,.?!;:()\"'“”‘’]+(?:[.'-][^\s,.?!;:()\"'“”‘’]+)*")
_TOPIC_AFTER = re.compile(r"\b(?:for|about|named|called|regarding)\s+([^,.?!;]+)", re.I)
_LOOKED_UP = re.compile(
    r"(?:^|(?<=\s))((?:[^\s,]*[^\s,지면고서는은을를의에]\s+)?[^\s,]+)[을를]\s*(?:확인|조회|검색|찾)"
)
_LONG_PIECE = 200
_LONG_TOPIC = 4
"""Words of a topic from which on it is rather a sentence."""
_TOPIC_BEFORE = re.compile(r"([^,.?!;]+?)\s*(?:에 대한|에 대해|에 관한|에 관해|관련|이라는|라는)(?:\s|$)")
_FROM_TO = re.compile(
    r"\bfrom\s+(\S+?)\s+to\s+([^\s,.?!;]+)|([가-힣A-Za-z]+)에서\s+([가-힣A-Za-z]+?)(?:까지|으로|로)(?![가-힣])", re.I
)
_PLACE = re.compile(r"\S+에서(?=\s)")

Span = tuple[int, int]


@dataclass(kw_only=True)
class Source:
    """A part of the goal from which arguments are taken, each piece at most once."""

    text: str
    used: list[Span] = field(default_factory=list["Span"])

    def take(self, found: tuple[str, Span] | None) -> str | None:
        """Mark a piece as used."""
        if found is None:
            return None
        self.used.append(found[1])
        return found[0]

    def free(self, span: Span) -> bool:
        """Whether no part of the span has been used."""
        return _free(span, self.used)

    def first(self, pieces: Iterator[tuple[str, Span]]) -> tuple[str, Span] | None:
        """The first piece that is still free."""
        return next((piece for piece in pieces if self.free(piece[1])), None)

    def quoted(self) -> Iterator[tuple[str, Span]]:
        """What stands in quotation marks."""
        for found in _QUOTED.finditer(self.text):
            yield (found[1] or found[2]).strip(), found.span()

    def after_colon(self) -> Iterator[tuple[str, Span]]:
        """All that follows a colon."""
        for found in _AFTER_COLON.finditer(self.text):
            yield (found[1] or found[2]).strip(), found.span(1 if found[1] else 2)

    def dates(self) -> Iterator[tuple[str, Span]]:
        """Full dates, in ISO form; a day without a year is none."""
        for found in _DATE.finditer(self.text):
            try:
                yield date(int(found[1]), int(found[2]), int(found[3])).isoformat(), found.span()
            except ValueError:
                continue

    def years(self) -> Iterator[tuple[str, Span]]:
        """Numbers that may be years."""
        return ((found[1], found.span()) for found in _YEAR.finditer(self.text))

    def urls(self) -> Iterator[tuple[str, Span]]:
        """Addresses of web pages."""
        return _matches(_URL, self.text)

    def emails(self) -> Iterator[tuple[str, Span]]:
        """E-mail addresses."""
        return _matches(_EMAIL, self.text)

    def paths(self) -> Iterator[tuple[str, Span]]:
        """File names and paths."""
        return _matches(_PATH, self.text)

    def identifiers(self) -> Iterator[tuple[str, Span]]:
        """Names with digits in them, such as `ORD-1001`."""
        dates = [span for _, span in self.dates()]
        for text, span in _matches(_IDENTIFIER, self.text):
            if not any(start <= span[0] < end for start, end in dates):
                yield text, span

    def matching(self, pattern: str) -> Iterator[tuple[str, Span]]:
        """Pieces that fit a pattern as a whole."""
        try:
            wanted = re.compile(pattern)
        except re.error:
            return
        # first with Hangul in them (`12가3456`), then without the particles that stick to them
        for letters in (re.U, re.A):
            for piece in re.finditer(r"[\w.:/@#+-]+", self.text, letters):
                if len(piece[0]) <= _LONG_PIECE and wanted.search(piece[0]):
                    yield piece[0], piece.span()

    def proper_names(self) -> Iterator[tuple[str, Span]]:
        """Capitalised words inside of the text."""
        return ((name, span) for name, span in _matches(_PROPER, self.text) if not is_filler(name))

    def ends(self) -> Iterator[tuple[str, Span]]:
        """Both ends of `from A to B`, `A에서 B까지`."""
        for found in _FROM_TO.finditer(self.text):
            first = 1 if found[1] else 3
            yield found[first], found.span(first)
            yield found[first + 1], found.span(first + 1)

    def after_name(self, name: str, known_words: frozenset[str]) -> Iterator[tuple[str, Span]]:
        """A word that follows the name of what it is: `repository webshop`."""
        for found in re.finditer(rf"\b{re.escape(name)}\s+([A-Za-z][\w-]*)", self.text, re.I | re.A):
            if not _is_said_of_tool(found[1], known_words):
                yield found[1], found.span(1)

    def topic(self, known_words: frozenset[str]) -> tuple[str, Span] | None:
        """The phrase that remains when what the tool is called and how people ask are taken away."""
        for pattern in (_TOPIC_AFTER, _TOPIC_BEFORE):
            found = pattern.search(self.text)
            if found and (phrase := self._phrase(found.span(1), known_words)):
                return phrase
        phrase = self._phrase((0, len(self.text)), known_words)
        if phrase and len(phrase[0].split()) >= _LONG_TOPIC and (found := _LOOKED_UP.search(self.text)):
            return phrase if _is_said_of_tool(found[1], known_words) else (found[1], found.span(1))
        return phrase

    def _phrase(self, within: Span, known_words: frozenset[str]) -> tuple[str, Span] | None:
        counted = [(one.start, one.end) for one in find_numbers(self.text) if one.unit]
        runs: list[list[re.Match[str]]] = [[]]
        for word in _WORD.finditer(self.text, *within):
            joins = bool(runs[-1]) and is_filler(word[0])
            taken = not _free(word.span(), [*self.used, *counted]) or self._is_place(word, known_words)
            if taken or (not joins and _is_said_of_tool(word[0], known_words)):
                runs.append([])
            else:
                runs[-1].append(word)
        trimmed = [_trimmed(run) for run in runs]
        best = max(trimmed, key=len)
        if not best:
            return None
        span = (best[0].start(), best[-1].end())
        return _without_particle(self.text[span[0] : span[1]]), span

    def _is_place(self, word: re.Match[str], known_words: frozenset[str]) -> bool:
        return bool(_PLACE.match(self.text, word.start())) and known(korean_stem(word[0]), known_words)


def _free(span: Span, used: Sequence[Span]) -> bool:
    return all(span[1] <= start or span[0] >= end for start, end in used)


def _is_said_of_tool(word: str, known_words: frozenset[str]) -> bool:
    parts = words(word)
    return all(is_generic(part) or known(part, known_words) or is_filler(part) for part in parts)


def _trimmed(run: Sequence[re.Match[str]]) -> list[re.Match[str]]:
    kept = list(run)
    while kept and is_filler(kept[-1][0]):
        kept.pop()
    return kept


def _without_particle(phrase: str) -> str:
    head, space, last = phrase.rpartition(" ")
    return head + space + re.sub(r"[가-힣]+$", lambda found: korean_stem(found[0]), last)


def _matches(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, Span]]:
    return ((found[0], found.span()) for found in pattern.finditer(text))
