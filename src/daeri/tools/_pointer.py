"""JSON Pointers (RFC 6901): how a place inside a JSON value is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from daeri.text import Json


def json_pointer(path: Iterable[str | int]) -> str:
    """`/items/0/a~1b` for `["items", 0, "a/b"]`; the whole value is the empty text."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)


def resolve_pointer(document: Json, pointer: str) -> Json:
    """The value at a place.

    Raises:
        LookupError: there is nothing.
    """
    value = document
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping):
            value = value[key]
        elif isinstance(value, Sequence) and not isinstance(value, str) and key.isdecimal():
            value = value[int(key)]
        else:
            raise LookupError(pointer)
    return value
