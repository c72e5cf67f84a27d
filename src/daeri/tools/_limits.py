"""Limits on a JSON value that comes from outside, checked before anything else looks at it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from ._json_text import MAX_INTEGER_DIGITS
from ._pointer import json_pointer
from ._problem import SchemaProblem, place

MAX_BYTES = 1_000_000
MAX_DEPTH = 64
_TOO_LARGE = 10**MAX_INTEGER_DIGITS

_Path: TypeAlias = "tuple[str | int, ...]"


def check_limits(value: object, *, max_bytes: int = MAX_BYTES, max_depth: int = MAX_DEPTH) -> SchemaProblem | None:
    """What about a value breaks a limit, or is no JSON at all (NaN, a date, a key that is no text); else nothing.

    Bytes are counted as UTF-8 JSON without white space, escapes left out. Depth counts objects and arrays inside each
    other. Never recurses, so that depth is no danger to the check itself.
    """
    size = 0
    waiting: list[tuple[_Path, object]] = [((), value)]
    while waiting:
        path, item = waiting.pop()
        problem = _own_problem(path, item, max_depth)
        if problem:
            return problem
        size += _own_size(item)
        if size > max_bytes:
            return _problem((), f"more than {max_bytes:,} bytes of JSON", f"at most {max_bytes:,} bytes")
        waiting.extend(_children(path, item))
    return None


def _children(path: _Path, item: object) -> Iterator[tuple[_Path, object]]:
    if isinstance(item, Mapping):
        for key, child in cast("Mapping[Any, object]", item).items():
            yield (*path, key), child
    elif isinstance(item, Sequence) and not isinstance(item, str):
        for index, child in enumerate(cast("Sequence[object]", item)):
            yield (*path, index), child


def _own_problem(path: _Path, item: object, max_depth: int) -> SchemaProblem | None:
    if isinstance(item, str) or item is None:
        return None
    if isinstance(item, int):
        if abs(item) >= _TOO_LARGE:
            return _problem(
                path, "an integer of more digits than anybody reads", f"at most {MAX_INTEGER_DIGITS} digits"
            )
        return None
    if isinstance(item, float):
        return None if math.isfinite(item) else _problem(path, str(item), "a finite number")
    if isinstance(item, bytes | bytearray) or not isinstance(item, Mapping | Sequence):
        return _problem(path, f"a Python {type(item).__name__}", "a JSON value")
    if len(path) >= max_depth:
        return _problem(path[:3], f"values nested more than {max_depth} deep", f"at most {max_depth} levels")
    if isinstance(item, Mapping) and any(not isinstance(key, str) for key in cast("Mapping[object, object]", item)):
        return _problem(path, "a key that is not a string", "string keys")
    return None


def _own_size(item: object) -> int:
    if isinstance(item, str):
        return len(item.encode("utf-8", "surrogatepass")) + 2
    if isinstance(item, Mapping):
        keys = cast("Mapping[str, object]", item)
        return 1 + sum(len(key.encode("utf-8", "surrogatepass")) + 4 for key in keys)
    if isinstance(item, Sequence):
        return 1 + len(cast("Sequence[object]", item))
    return len(str(item)) if isinstance(item, int | float) else 4


def _problem(path: _Path, what: str, expected: str) -> SchemaProblem:
    pointer = json_pointer(path)
    return SchemaProblem(
        path=pointer, message=f"At {place(pointer)}: found {what}, expected {expected}.", expected=expected
    )
