"""A right call, made wrong in one place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from daeri.text import Json, JsonObject

_UNKNOWN = "zz_not_a_parameter"
_WRONG: dict[str, Json] = {
    "string": 12345,
    "integer": "not-a-number",
    "number": "not-a-number",
    "boolean": "yes!",
    "array": "x",
    "object": "x",
}
_WORDS = {
    "string": "expected a string",
    "integer": "expected an integer",
    "number": "expected a number",
    "boolean": "expected true or false",
    "array": "expected an array",
    "object": "expected an object",
}


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """A wrong call, where the fault is, and what a refusal of it has to say."""

    kind: str
    arguments: JsonObject
    path: str
    words: Sequence[str]


def mutants_of(schema: JsonObject, arguments: JsonObject) -> Iterator[Mutant]:
    """Every mutant of a call that the schema accepts."""
    properties: Any = schema.get("properties", {})
    required: Any = schema.get("required", [])
    for name in required:
        yield from _of_required(name, properties.get(name, {}), arguments)
    yield Mutant(
        kind="unknown_argument",
        arguments={**arguments, _UNKNOWN: 1},
        path="",
        words=[f"unknown `{_UNKNOWN}`", _first_known(properties)],
    )
    for name, value in arguments.items():
        yield from _of_value(name, value, properties.get(name, {}), arguments)


def _of_required(name: str, schema: Mapping[str, Any], arguments: JsonObject) -> Iterator[Mutant]:
    if name not in arguments:
        return
    rest = {other: value for other, value in arguments.items() if other != name}
    note = f" ({schema['type']})" if "type" in schema else ""
    yield Mutant(kind="missing_required", arguments=rest, path="", words=[f"missing `{name}`{note}"])
    if isinstance(schema.get("type"), str):
        yield _changed(arguments, "null_for_required", name, None, ["found null", _wanted(schema)])


def _of_value(name: str, value: Json, schema: Mapping[str, Any], arguments: JsonObject) -> Iterator[Mutant]:
    kind = schema.get("type")
    if isinstance(kind, str):
        yield _changed(arguments, "wrong_type", name, _WRONG[kind], [_wanted(schema)])
    if kind == "integer":
        yield _changed(arguments, "bool_for_integer", name, True, ["found true", _wanted(schema)])
        yield _changed(arguments, "fraction_for_integer", name, 5.5, ["found the number 5.5", _wanted(schema)])
        quoted = [_wanted(schema)] if "enum" in schema else [_wanted(schema), "Write it without quotes: 5."]
        yield _changed(arguments, "numeric_string_for_integer", name, "5", quoted)
    if "enum" in schema:
        yield _changed(arguments, "bad_enum", name, "zz_not_in_enum", [_wanted(schema)])
    if kind == "array" and isinstance(value, Sequence) and value:
        yield from _of_items(name, value, schema.get("items", {}), arguments)
    if kind == "object" and schema.get("properties") and isinstance(value, Mapping):
        words = [f"unknown `{_UNKNOWN}`", _first_known(schema["properties"])]
        yield _changed(arguments, "unknown_nested", name, {**value, _UNKNOWN: 1}, words)


def _of_items(name: str, value: Sequence[Json], items: Mapping[str, Any], arguments: JsonObject) -> Iterator[Mutant]:
    kind = items.get("type") or ("string" if "enum" in items else None)
    if kind is None:
        return
    made = _changed(arguments, "wrong_item_type", name, [*value, _WRONG[kind]], [_wanted(items)])
    yield replace(made, path=f"{made.path}/{len(value)}")


def _changed(arguments: JsonObject, kind: str, name: str, value: Json, words: Sequence[str]) -> Mutant:
    path = "/" + name.replace("~", "~0").replace("/", "~1")
    return Mutant(kind=kind, arguments={**arguments, name: value}, path=path, words=words)


def _wanted(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return f"expected one of {json.dumps(schema['enum'][0], ensure_ascii=False)[:80]}"
    return _WORDS[schema["type"]]


def _first_known(properties: Mapping[str, Any]) -> str:
    return f"Known properties: `{next(iter(properties))}`" if properties else "It takes no properties."
