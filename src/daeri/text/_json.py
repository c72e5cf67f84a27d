"""JSON values, their one canonical form, and digests over it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
    """A JSON value, read-only. Narrow with `isinstance(value, Mapping)`; test for `str` before `Sequence`."""
else:
    # pydantic would walk the recursive alias value by value; what we hold as Json was parsed from JSON already
    Json = Any
JsonObject: TypeAlias = Mapping[str, Json]


_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical_json(value: Json) -> str:
    """The one text of a JSON value: keys sorted by code point, no white space, `1.0` written as `1`.

    Strings stay as they are: two Unicode forms of the same letter are two values, because a tool would see two.

    Raises:
        ValueError: the value holds NaN or an infinity, which JSON has no text for.
    """
    return _ENCODER.encode(_plain(value))


def digest(value: Json) -> str:
    """`sha256:` and the hexadecimal hash of the canonical form."""
    return digest_of_text(canonical_json(value))


def digest_of_text(canonical: str) -> str:
    """The digest of a value that is in its canonical form already."""
    # surrogatepass: a hash must not fail on text that slipped past an inlet
    return "sha256:" + hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: Json) -> Json:
    # the concrete types first: asking the abstract ones is several times slower
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value.is_integer() else value
    if isinstance(value, dict | Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value]
