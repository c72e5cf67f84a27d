"""Text from outside, made safe to store, hash and send: no lone surrogates, no NUL."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from ._json import Json

_UNSAFE = re.compile("[\x00\ud800-\udfff]")


def scrub_text(text: str) -> str:
    """Lone surrogates and NUL replaced by U+FFFD; neither survives UTF-8, SQLite or a model API."""
    return _UNSAFE.sub("\ufffd", text)


def scrub(value: Json) -> Json:
    """A JSON value with every string in it scrubbed, keys included."""
    return cast("Json", _scrub(value))


def _scrub(value: Any) -> Any:
    # the concrete types first: asking the abstract ones is several times slower
    if isinstance(value, str):
        return scrub_text(value)
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, dict | Mapping):
        return {scrub_text(str(key)): _scrub(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | Sequence):
        return [_scrub(item) for item in cast("Sequence[Any]", value)]
    return value
