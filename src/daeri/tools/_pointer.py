"""JSON Pointers (RFC 6901): how a place inside a JSON value is written, and how a local `$ref` is followed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import unquote

from daeri.text import Json, JsonObject


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


def follow_ref(schema: Json, root: JsonObject) -> Json:
    """A schema, with a chain of local `$ref`s followed to its end; keywords beside a `$ref` are left behind.

    Raises:
        LookupError: a reference leads nowhere, outside of `root`, or around in a circle.
    """
    seen: set[str] = set()
    while isinstance(schema, Mapping) and isinstance(ref := schema.get("$ref"), str):
        if ref in seen or not ref.startswith("#"):
            raise LookupError(ref)
        seen.add(ref)
        schema = resolve_pointer(root, unquote(ref[1:]))
    return schema
