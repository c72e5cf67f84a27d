"""Which tools fit a question, by what is written about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Generic, Protocol, TypeVar, cast

from daeri.text import Json, JsonObject, RankedIndex

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_NAME_WEIGHT = 3
_MAX_DEPTH = 6


class Described(Protocol):
    """Anything that can be found like a tool: a `Tool`, or a model's view of one."""

    @property
    def name(self) -> str:
        """As it is called."""
        ...

    @property
    def description(self) -> str:
        """What it does."""
        ...

    @property
    def input_schema(self) -> JsonObject:
        """JSON Schema of what it takes."""
        ...


T = TypeVar("T", bound=Described)


class ToolIndex(Generic[T]):
    """Tools ranked for a question in Korean or English; built once for a set of tools."""

    def __init__(self, tools: Sequence[T]) -> None:
        self._tools = tuple(tools)
        self._index = RankedIndex([tool_text(item) for item in self._tools])

    def search(self, query: str, limit: int = 5) -> list[tuple[T, float]]:
        """The tools that share words with the question, best first, with their scores; equals in their given order."""
        return [(self._tools[position], score) for position, score in self._index.search(query, limit)]


def tool_text(tool: Described) -> str:
    """Everything written about a tool: name (counted three times), description, tags, parameters, allowed values."""
    name = _CAMEL.sub(" ", tool.name)
    spoken = re.sub(r"[._-]+", " ", name)
    tags = cast("frozenset[str]", getattr(tool, "tags", frozenset[str]()))
    parts = [*[spoken] * _NAME_WEIGHT, tool.description, *sorted(tags), *_schema_words(tool.input_schema, 0)]
    return "\n".join(part for part in parts if part)


def _schema_words(schema: Json, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(schema, Mapping):
        yield from _own_words(schema)
        for keyword, inner in schema.items():
            if keyword in ("properties", "$defs"):
                yield from _named_words(cast("JsonObject", inner), depth, names=keyword == "properties")
            elif keyword in ("items", "anyOf", "oneOf", "allOf"):
                yield from _schema_words(inner, depth + 1)
    elif isinstance(schema, Sequence) and not isinstance(schema, str):
        for inner in schema:
            yield from _schema_words(inner, depth + 1)


def _named_words(schemas: JsonObject, depth: int, *, names: bool) -> Iterator[str]:
    for name, schema in schemas.items():
        if names:
            yield re.sub(r"[._-]+", " ", _CAMEL.sub(" ", name))
        yield from _schema_words(schema, depth + 1)


def _own_words(schema: JsonObject) -> Iterator[str]:
    if isinstance(words := schema.get("description"), str):
        yield words
    options = schema.get("enum", [schema.get("const")])
    if isinstance(options, Sequence):
        yield from (option for option in options if isinstance(option, str))
