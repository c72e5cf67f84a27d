"""Bytes to text: the encodings that files of Korean companies come in."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from typing import Literal

Encoding = Literal["utf-8", "utf-16", "cp949"]

_BOMS: tuple[tuple[bytes, str, Encoding], ...] = (
    (codecs.BOM_UTF8, "utf-8", "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16"),
)
_KOREAN = re.compile("[가-힣\u3131-\u318e]")
_FOREIGN = re.compile("[^\x00-\x7f]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Decoded:
    """The text of a file, with line feeds at line ends and without a byte order mark, and its encoding."""

    text: str
    encoding: Encoding


def decode(data: bytes, *, complete: bool = True) -> Decoded | None:
    """The text in `data`, or None when it is no text or in an encoding that is not supported.

    `complete=False` says that `data` is the head of something longer: half a character at its end is left out.
    """
    for bom, codec, encoding in _BOMS:
        if data.startswith(bom):
            return _decoded(data[len(bom) :], codec, encoding, complete)
    return _decoded(data, "utf-8", "utf-8", complete) or _decoded(data, "cp949", "cp949", complete)


def _decoded(data: bytes, codec: str, encoding: Encoding, complete: bool) -> Decoded | None:
    try:
        text = codecs.getincrementaldecoder(codec)().decode(data, complete)
    except UnicodeDecodeError:
        return None
    if "\0" in text or (encoding == "cp949" and not _reads_as_korean(text)):
        return None
    return Decoded(text=text.replace("\r\n", "\n").replace("\r", "\n"), encoding=encoding)


def _reads_as_korean(text: str) -> bool:
    # Most byte pairs mean something in CP949: Latin-1 text and binary data pass the codec, but not as mostly Hangul.
    return len(_KOREAN.findall(text)) * 2 > len(_FOREIGN.findall(text))
