"""JSON values, their one canonical form, and digests over it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"
    """A JSON value, read-only. Narrow with `isinstance(value, Mapping)`; test for `str` before `Sequence`."""
else:
    # pydantic would walk the recursive alias value by value; what we hold as Json was parsed from JSON already
    Json = Any
JsonObject: TypeAlias = Mapping[str, Json]


def canonical_json(value: Json) -> str:
    """The one text of a JSON value: keys sorted by code point, no white space, `1.0` written as `1`.

    Strings stay as they are: two Unicode forms of the same letter are two values, because a tool would see two.

    Raises:
        ValueError: the value holds NaN or an infinity, which JSON has no text for.
    """
    return json.dumps(_plain(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def digest(value: Json) -> str:
    """`sha256:` and the hexadecimal hash of the canonical form."""
    # surrogatepass: a hash must not fail on text that slipped past an inlet
    return "sha256:" + hashlib.sha256(canonical_json(value).encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: Json) -> Json:
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
