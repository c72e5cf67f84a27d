"""The toolkit `documents`: searching passages of Markdown and text files."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from typing_extensions import TypedDict

from daeri.text import RankedIndex, tokenize

from ._decode import decode
from ._passages import Passage, passages
from ._roots import Place, Roots, read_head
from ._stamp import Stamp, stamp

DOCUMENT_FILES = (".md", ".markdown", ".txt")
"""Endings of the files that are searched."""
MAX_PASSAGES = 20
"""Most passages of one answer."""

_MAX_BYTES = 10_000_000


class FoundPassage(TypedDict):
    """A passage of a document; `text` is what stands from character `start` to `end` of the file's text."""

    source: str
    heading: str
    text: str
    start: int
    end: int
    score: float


class FoundPassages(TypedDict):
    """The best passages first, and how many documents were searched and skipped."""

    passages: list[FoundPassage]
    documents: int
    skipped: list[str]
    """Files that could not be read as text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Document:
    place: Place
    stamp: Stamp
    passages: list[Passage] | None
    """None when the file holds no text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Index:
    documents: dict[str, _Document]
    entries: list[tuple[str, Passage]]
    ranking: RankedIndex


class DocumentIndex:
    """Passages of all documents in some folders; built at the first search, renewed when files change."""

    def __init__(self, folders: Sequence[Path], *, morphemes: bool) -> None:
        self._roots = Roots(folders)
        self._tokenizer = partial(tokenize, morphemes=morphemes)
        self._lock = threading.Lock()
        self._index: _Index | None = None

    def search(self, query: str, limit: int) -> FoundPassages:
        """The best passages that share a word with `query`: at most `limit`, and none when nothing does."""
        index = self._renewed()
        hits = index.ranking.search(query, min(limit, MAX_PASSAGES))
        return FoundPassages(
            passages=[_found(*index.entries[at], score) for at, score in hits],
            documents=sum(document.passages is not None for document in index.documents.values()),
            skipped=[name for name, document in index.documents.items() if document.passages is None],
        )

    def _renewed(self) -> _Index:
        with self._lock:
            held = self._index.documents if self._index else {}
            documents = {
                place.name: document for place in self._roots.files(DOCUMENT_FILES) if (document := _read(place, held))
            }
            if self._index is None or documents != held:
                self._index = self._build(documents)
            return self._index

    def _build(self, documents: dict[str, _Document]) -> _Index:
        entries = [(name, passage) for name, document in documents.items() for passage in document.passages or ()]
        texts = [f"{name}\n{passage.heading}\n{passage.text}" for name, passage in entries]
        return _Index(documents=documents, entries=entries, ranking=RankedIndex(texts, tokenizer=self._tokenizer))


def _read(place: Place, held: dict[str, _Document]) -> _Document | None:
    try:
        now = stamp(place.root.joinpath(*place.parts))
        before = held.get(place.name)
        if before is not None and before.stamp == now:
            return before
        head = read_head(place, _MAX_BYTES)
    except FileNotFoundError:
        return None
    except OSError:
        return _Document(place=place, stamp=(0, 0, 0), passages=None)
    decoded = decode(head[0]) if head is not None and head[1] <= _MAX_BYTES else None
    return _Document(place=place, stamp=now, passages=passages(decoded.text) if decoded else None)


def _found(source: str, passage: Passage, score: float) -> FoundPassage:
    return FoundPassage(
        source=source,
        heading=passage.heading,
        text=passage.text,
        start=passage.start,
        end=passage.end,
        score=round(score, 4),
    )
