"""The toolkit `text`: counting words, characters, lines and sentences."""

from __future__ import annotations

import re
import unicodedata

from typing_extensions import TypedDict

_PARAGRAPH_END = re.compile(r"\n\s*\n")
# Closing quotes and brackets belong to the sentence before them; a point inside 3.14 ends nothing.
_SENTENCE_END = re.compile(r"[.!?…。！？]+[\"'”’)\]」』》〉]*(?=\s|$)|(?<=[。！？])")


class TextSize(TypedDict):
    """How long a text is."""

    words: int
    """Words between white space (Korean: eojeol); signs alone are none."""
    characters: int
    """Unicode characters, Hangul counted by syllable."""
    characters_without_spaces: int
    lines: int
    sentences: int


def measure(text: str) -> TextSize:
    """The size of `text`; an empty text has none of anything."""
    composed = unicodedata.normalize("NFC", text)
    return TextSize(
        words=sum(_says_something(word) for word in composed.split()),
        characters=len(composed),
        characters_without_spaces=sum(not char.isspace() for char in composed),
        lines=len(composed.splitlines()),
        sentences=sum(
            _says_something(sentence)
            for paragraph in _PARAGRAPH_END.split(composed)
            for sentence in _SENTENCE_END.split(paragraph)
        ),
    )


def _says_something(part: str) -> bool:
    return any(char.isalnum() for char in part)
