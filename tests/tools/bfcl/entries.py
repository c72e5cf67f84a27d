"""BFCL v4, single turn: its function documents as tools, and the calls that it holds to be right."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from daeri.text import Json, JsonObject
from daeri.tools import Tool, ToolContext

SOURCE = "bfcl"
_LEFT_OUT = ""
"""Among the allowed values of an optional parameter: the call may leave it out."""
_TYPES = {"dict": "object", "float": "number", "tuple": "array"}
_KEPT = ("description", "default", "enum", "required", "minimum", "maximum", "minItems", "maxItems")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One question's functions and the calls that answer it."""

    id: str
    functions: Sequence[Mapping[str, Any]]
    truth: Sequence[Mapping[str, Mapping[str, Sequence[Any]]]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One call that the ground truth allows."""

    number: int
    """Counts the cases of an entry."""
    tool: str
    arguments: JsonObject
    first_choice: bool
    """Every parameter has the first value that is allowed for it; else one of them has another."""


class Documents:
    """The functions of one entry, as a source of tools. Nobody calls them."""

    name = SOURCE

    def __init__(self, entry: Entry) -> None:
        self._entry = entry

    async def list_tools(self) -> Sequence[Tool]:
        return [
            Tool(
                name=function["name"],
                description=function["description"],
                input_schema={"type": "object", "additionalProperties": False, **_schema(function["parameters"])},
                source=SOURCE,
            )
            for function in self._entry.functions
        ]

    async def invoke(self, tool: str, arguments: JsonObject, context: ToolContext) -> Json:
        raise AssertionError(tool)


def read_entries(path: Path) -> Iterator[Entry]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield Entry(id=row["id"], functions=row["function"], truth=row["ground_truth"] or [])


def cases_of(entry: Entry) -> Iterator[Case]:
    """For each call: first choices everywhere, then each other allowed value alone."""
    required = {function["name"]: function["parameters"].get("required", []) for function in entry.functions}
    number = 0
    for call in entry.truth:
        for tool, allowed in call.items():
            first, others = _choices(allowed, required[tool])
            yield Case(number=number, tool=tool, arguments=first, first_choice=True)
            for name, value in others:
                number += 1
                yield Case(number=number, tool=tool, arguments={**first, name: value}, first_choice=False)
            number += 1


def _choices(
    allowed: Mapping[str, Sequence[Any]], required: Sequence[str]
) -> tuple[dict[str, Json], list[tuple[str, Json]]]:
    first: dict[str, Json] = {}
    others: list[tuple[str, Json]] = []
    for name, values in allowed.items():
        optional = _LEFT_OUT in values and name not in required
        given = [_concrete(value) for value in values if not (optional and value == _LEFT_OUT)]
        if given and not (optional and values[0] == _LEFT_OUT):
            first[name] = given.pop(0)
        others += [(name, value) for value in given]
    return first, others


def _concrete(value: Any) -> Json:
    """A value of which every part is decided: inside objects, the truth lists alternatives again."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {name: _first_of(item) for name, item in fields.items()}
    if isinstance(value, list):
        return [_concrete(item) for item in cast("list[Any]", value)]
    return value


def _first_of(value: Any) -> Json:
    if not isinstance(value, list):
        return value
    alternatives = cast("list[Any]", value)
    given = [item for item in alternatives if item != _LEFT_OUT]
    if given:
        return _concrete(given[0])
    return _LEFT_OUT if alternatives else []


def _schema(document: Mapping[str, Any]) -> JsonObject:
    """BFCL's dialect of types in the words of JSON Schema; objects that name their properties are closed."""
    made: dict[str, Json] = {keyword: document[keyword] for keyword in _KEPT if keyword in document}
    kind = document.get("type", "any")
    if kind != "any":
        made["type"] = _TYPES.get(kind, kind)
    if "properties" in document:
        made["properties"] = {name: _schema(item) for name, item in document["properties"].items()}
        made["additionalProperties"] = False
    for keyword in ("items", "additionalProperties"):
        if keyword in document:
            inner = document[keyword]
            made[keyword] = _schema(cast("dict[str, Any]", inner)) if isinstance(inner, dict) else inner
    return made
