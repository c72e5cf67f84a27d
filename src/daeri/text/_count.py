"""How many tokens a text costs, without asking a provider."""

from __future__ import annotations

import warnings
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from ._scrub import scrub_text


class _Encoding(Protocol):
    """The part of `bpe_openai.Encoding` used here; the package has no stubs."""

    def encode_ordinary(self, text: str) -> list[int]: ...


_PIECE = 200_000
"""Characters encoded at once; the encoder refuses a million."""
_COUNTED = 1_000_000
"""Characters counted exactly; what is longer is counted in head and tail, and scaled."""


def count_tokens(text: str) -> int:
    """Tokens of `text` in the o200k vocabulary: exact up to a million characters, above that scaled from both ends."""
    if len(text) <= _COUNTED:
        return _count(text)
    half = _COUNTED // 2
    counted = _count(text[:half]) + _count(text[-half:])
    return round(counted * len(text) / _COUNTED)


def _count(text: str) -> int:
    encoding = _encoding()
    pieces = (text[at : at + _PIECE] for at in range(0, len(text), _PIECE))
    return sum(len(encoding.encode_ordinary(scrub_text(piece))) for piece in pieces)


@cache
def _encoding() -> _Encoding:
    # half a second and tens of megabytes: only for those who count
    with warnings.catch_warnings():
        # it reads its own vocabulary through a call that the standard library is giving up
        warnings.simplefilter("ignore", DeprecationWarning)
        return cast("_Encoding", import_module("bpe_openai").get_encoding("o200k_base"))
