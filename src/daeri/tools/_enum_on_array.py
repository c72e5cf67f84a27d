"""A common slip in schemas: the choices for the items of an array, written beside them on the array itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from daeri.text import Json, JsonObject

# not inside `not`, `if` and `contains`: what fits there more often is refused more often outside
_ONE = (
    *("items", "additionalItems", "unevaluatedItems"),
    *("additionalProperties", "unevaluatedProperties"),
    *("then", "else"),
)
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies")


def enum_to_items(schema: JsonObject) -> JsonObject:
    """The schema with every `enum` that stands on an array and lists no array moved to the items of that array.

    As it was written, such an array accepts no value at all. Without such a slip, the same object comes back.
    """
    return cast("JsonObject", _repaired(schema))


def _repaired(schema: Json) -> Json:
    if not isinstance(schema, Mapping):
        return schema
    changed: dict[str, Json] = {}
    for keyword, inner in schema.items():
        repaired = _repaired_below(keyword, inner)
        if repaired is not inner:
            changed[keyword] = repaired
    made = {**schema, **changed} if changed else schema
    return _moved(made) if _has_slip(made) else made


def _repaired_below(keyword: str, inner: Json) -> Json:
    if keyword in _NAMED and isinstance(inner, Mapping):
        items = {name: _repaired(item) for name, item in inner.items()}
        return items if any(items[name] is not inner[name] for name in items) else inner
    if keyword in _MANY and isinstance(inner, Sequence) and not isinstance(inner, str):
        branches = [_repaired(item) for item in inner]
        return branches if any(new is not old for new, old in zip(branches, inner, strict=True)) else inner
    return _repaired(inner) if keyword in _ONE else inner


def _has_slip(schema: JsonObject) -> bool:
    options = schema.get("enum")
    return (
        schema.get("type") in ("array", ["array"])
        and isinstance(options, Sequence)
        and bool(options)
        and all(isinstance(option, str) or not isinstance(option, Sequence) for option in options)
        and isinstance(schema.get("items", {}), Mapping)
    )


def _moved(schema: JsonObject) -> JsonObject:
    made = {keyword: inner for keyword, inner in schema.items() if keyword != "enum"}
    items = cast("JsonObject", made.get("items", {}))
    choices: JsonObject = {"enum": schema["enum"]}
    # beside a `$ref`, the older drafts ignore every other keyword
    stands_alone = "$ref" in items or "enum" in items
    made["items"] = {"allOf": [items, choices]} if stands_alone else {**items, **choices}
    return made
