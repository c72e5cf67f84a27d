"""Values as columns hold them: text without what SQLite can't hold, JSON as text, times as integers."""

from __future__ import annotations

import json
from datetime import datetime

import orjson

from daeri.text import Json, canonical_json, scrub, scrub_text

from ._time import to_micros


def clean(text: str) -> str:
    """The text without what SQLite can't hold."""
    return text if text.isascii() and "\0" not in text else scrub_text(text)


def clean_or_none(text: str | None) -> str | None:
    """`clean` for a column that may be empty."""
    return None if text is None else clean(text)


def micros_or_none(at: datetime | None) -> int | None:
    """`to_micros` for a column that may be empty."""
    return None if at is None else to_micros(at)


def json_text(value: Json) -> str:
    """JSON as short as it gets, in the order given.

    Raises:
        ValueError: a value that JSON has no text for.
    """
    try:
        raw = orjson.dumps(value)
    except TypeError:
        # Lone surrogates, integers beyond 64 bits, mappings that are not dicts: rare, and the slow way takes them.
        return json.dumps(scrub(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return json_text(scrub(value)) if _holds_nul(raw) else raw.decode()


def canonical_text(value: Json) -> tuple[str, bytes]:
    """Canonical JSON, and the bytes that its digest is taken of.

    Raises:
        ValueError: a value that JSON has no text for.
    """
    text = canonical_json(value)
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return canonical_text(scrub(value))
    return canonical_text(scrub(value)) if _holds_nul(raw) else (text, raw)


def _holds_nul(raw: bytes) -> bool:
    # Removing escaped backslashes first tells the escape of NUL from the six characters that look like it.
    return b"\\u0000" in raw and b"\\u0000" in raw.replace(b"\\\\", b"")
