"""Which of many texts fits a question best."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Protocol, cast

from ._tokens import tokenize


class _Scorer(Protocol):
    """The part of `bm25s.BM25` used here; the package has no types."""

    def index(self, corpus: list[list[str]], *, show_progress: bool) -> None: ...
    def get_scores(self, query_tokens_single: list[str]) -> Sequence[float]: ...


class RankedIndex:
    """Texts ranked by BM25 against a query; built once, then read by anybody."""

    def __init__(self, documents: Sequence[str], *, tokenizer: Callable[[str], list[str]] = tokenize) -> None:
        self._tokenizer = tokenizer
        tokens = [tokenizer(document) for document in documents]
        self._known = frozenset(token for document in tokens for token in document)
        self._scorer = _build(tokens) if self._known else None

    def search(self, query: str, limit: int) -> list[tuple[int, float]]:
        """Positions and scores of the best `limit` texts that share a token with the query; equals by position."""
        tokens = [token for token in self._tokenizer(query) if token in self._known]
        if self._scorer is None or not tokens:
            return []
        scores = [float(score) for score in self._scorer.get_scores(tokens)]
        hits = [(at, score) for at, score in enumerate(scores) if score > 0]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[: max(limit, 0)]


def _build(tokens: list[list[str]]) -> _Scorer:
    # numpy comes with it: only for those who search
    module = import_module("bm25s")
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    scorer = cast("_Scorer", module.BM25())
    scorer.index(tokens, show_progress=False)
    return scorer
