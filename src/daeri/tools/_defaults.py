"""Defaults of a schema, written into the arguments: what a tool would assume is seen by all who decide about it."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import cast

from daeri.text import Json, JsonObject

from ._pointer import resolve_pointer
from ._tool import Tool
from ._validate import ToolValidators

_MAX_NESTED = 16
"""Defaults one inside the other."""
_MAX_EXPANDED = 1_000
"""Defaults inside one default, at any depth."""


class _EndlessError(Exception):
    """A default that holds itself, or more than anybody meant."""


def settled(tool: Tool, arguments: JsonObject, validators: ToolValidators) -> JsonObject:
    """Arguments as they are decided on, digested, recorded and carried out: no null for "not given", all defaults."""
    validator = validators.arguments(tool)
    return with_defaults(validator.normalise(arguments), tool.input_schema, validator.accepts)


def with_defaults(arguments: JsonObject, schema: JsonObject, accepts: Callable[[Json], bool]) -> JsonObject:
    """Arguments with the defaults of what they leave out, in nested objects and in the objects of lists too.

    Never overwrites; what is refused stays as it is and stays refused. A default that is null is left out, and so is
    one with which the arguments would no longer be accepted. With nothing to add, the same object comes back.

    Args:
        arguments: What was given.
        schema: The schema of the arguments; references are resolved inside it.
        accepts: Whether arguments fit it.
    """
    every = _Filling(schema)
    filled = every.object(arguments)
    if filled is arguments or not accepts(arguments):
        return arguments
    return filled if accepts(filled) else _as_many_as_fit(arguments, schema, list(every.used), accepts)


def _as_many_as_fit(
    arguments: JsonObject, schema: JsonObject, defaults: Sequence[int], accepts: Callable[[Json], bool]
) -> JsonObject:
    # by default and not by place: otherwise a long list would cost a check for each of its items
    kept: list[int] = []
    filled, added = arguments, True
    while added:
        added = False
        for one in defaults:
            longer = filled if one in kept else _Filling(schema, [*kept, one]).object(arguments)
            if longer is not filled and accepts(longer):
                kept.append(one)
                filled, added = longer, True
    return filled


class _Filling:
    """One pass over arguments; a default is known by the identity of the schema that declares it."""

    def __init__(self, document: JsonObject, only: Collection[int] | None = None) -> None:
        self._document = document
        self._only = only
        self._expanded = 0
        self.used: dict[int, None] = {}
        """The defaults that were written, in order."""

    def object(self, arguments: JsonObject) -> JsonObject:
        return cast("JsonObject", self._fill(arguments, self._document, ()))

    def _fill(self, value: Json, schema: Json, within: tuple[int, ...]) -> Json:
        if not isinstance(value, Mapping | Sequence) or isinstance(value, str):
            return value
        for part in self._parts(schema):
            value = (
                self._mapping(value, part, within) if isinstance(value, Mapping) else self._list(value, part, within)
            )
        return value

    def _mapping(self, value: JsonObject, schema: JsonObject, within: tuple[int, ...]) -> JsonObject:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            return value
        changed: dict[str, Json] = {}
        for name, inner in properties.items():
            given = value.get(name)
            made = self._fill(given, inner, within) if name in value else self._default(inner, within)
            if made is not given:
                changed[name] = made
        return {**value, **changed} if changed else value

    def _list(self, value: Sequence[Json], schema: JsonObject, within: tuple[int, ...]) -> Sequence[Json]:
        items = schema.get("items")
        if not isinstance(items, Mapping):
            return value
        made = [self._fill(item, items, within) for item in value]
        return made if any(new is not old for new, old in zip(made, value, strict=True)) else value

    def _default(self, schema: Json, within: tuple[int, ...]) -> Json:
        declared = next((part["default"] for part in self._parts(schema) if "default" in part), None)
        if declared is None or (self._only is not None and id(schema) not in self._only):
            return None
        self._expanded = self._expanded + 1 if within else 0
        if id(schema) in within or len(within) == _MAX_NESTED or self._expanded > _MAX_EXPANDED:
            raise _EndlessError
        known = dict(self.used)
        self.used[id(schema)] = None
        try:
            return self._fill(copy.deepcopy(declared), schema, (*within, id(schema)))
        except _EndlessError:
            self.used = known
            if within:
                raise
            return None

    def _parts(self, schema: Json) -> Iterator[JsonObject]:
        """The schema and all that hold along with it: behind references, in `allOf`, as the one choice besides null."""
        waiting, seen = [schema], set[int]()
        while waiting:
            part = waiting.pop(0)
            if not isinstance(part, Mapping) or id(part) in seen:
                continue
            seen.add(id(part))
            yield part
            waiting += self._joined(part)

    def _joined(self, part: JsonObject) -> Iterator[Json]:
        reference = part.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            with contextlib.suppress(LookupError):
                yield resolve_pointer(self._document, reference[1:])
        for word in ("allOf", "anyOf", "oneOf"):
            listed = part.get(word)
            choices = [one for one in listed if one != {"type": "null"}] if isinstance(listed, Sequence) else []
            if word == "allOf" or len(choices) == 1:
                yield from choices
