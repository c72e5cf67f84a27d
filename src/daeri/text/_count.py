"""How many tokens a text costs, without asking a provider."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ._scrub import scrub_text

if TYPE_CHECKING:
    from bpe_openai import Encoding

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
def _encoding() -> Encoding:
    # half a second and tens of megabytes: only for those who count
    from bpe_openai import get_encoding

    return get_encoding("o200k_base")
