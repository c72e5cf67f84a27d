"""Cedar types of JSON Schemas, and values in these types.

What Cedar has no type for (unions, maps, what refers to itself) is left out, so that a policy which speaks of it does
not pass the check at start. Numbers become decimals of four places, and one with more is refused: rounded, it could
pass a cap that it is above. Arrays become sets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias, cast

from daeri.text import Json, JsonObject

CedarType: TypeAlias = JsonObject
"""A type as Cedar's JSON schema format writes it."""

STRING: CedarType = {"type": "String"}
LONG: CedarType = {"type": "Long"}
BOOLEAN: CedarType = {"type": "Boolean"}
DECIMAL: CedarType = {"type": "Extension", "name": "decimal"}
STRINGS: CedarType = {"type": "Set", "element": STRING}

_BY_NAME = {"string": STRING, "integer": LONG, "boolean": BOOLEAN, "number": DECIMAL}
_BY_CLASS: dict[type, CedarType] = {str: STRING, int: LONG, bool: BOOLEAN, float: DECIMAL}
_NO_NAMES = ("__entity", "__extn", "__expr")
"""Cedar reads a record with one of these as something else."""
_MAX_DEPTH = 8
_LONG_LIMIT = 2**63
_PLACES = Decimal("0.0001")
_DECIMAL_LIMIT = Decimal(10) ** 15


class UnfitError(ValueError):
    """A value that its Cedar type can't hold."""


def record_of(schema: JsonObject) -> CedarType:
    """The record type of arguments with this schema."""
    found = _Reading(schema).record(schema, _MAX_DEPTH, ())
    return {"type": "Record", "attributes": {}} if found is None else found


def left_out(schema: JsonObject) -> Sequence[str]:
    """The arguments that Cedar has no type for."""
    known, properties = record_of(schema)["attributes"], schema.get("properties")
    if not isinstance(known, Mapping) or not isinstance(properties, Mapping):
        return []
    return [name for name in properties if name not in known]


def value_in(kind: CedarType, value: Json) -> Json:
    """A value as Cedar's JSON writes it in this type.

    Raises:
        UnfitError: the type can't hold it.
    """
    match kind["type"]:
        case "String" if isinstance(value, str):
            return value
        case "Boolean" if isinstance(value, bool):
            return value
        case "Long" if isinstance(value, int | float) and not isinstance(value, bool):
            return _long(value)
        case "Extension" if isinstance(value, int | float) and not isinstance(value, bool):
            return _decimal(value)
        case "Set" if isinstance(value, Sequence) and not isinstance(value, str):
            element = cast("CedarType", kind["element"])
            return [value_in(element, item) for item in value if item is not None]
        case "Record" if isinstance(value, Mapping):
            attributes = cast("Mapping[str, CedarType]", kind["attributes"])
            given = {name: value.get(name) for name in attributes}
            return {name: value_in(attributes[name], item) for name, item in given.items() if item is not None}
        case _:
            return _unfit(kind)


def _decimal(value: float) -> str:
    exact = Decimal(str(value))
    if abs(exact) >= _DECIMAL_LIMIT:
        _unfit(DECIMAL)
    shown = exact.quantize(_PLACES)
    if shown != exact:
        raise UnfitError("a number of the call has more than four decimal places, which policies can't compare")
    return f"{shown:f}"


def _long(value: float) -> int:
    if value != int(value) or not -_LONG_LIMIT <= value < _LONG_LIMIT:
        return _unfit(LONG)
    return int(value)


def _unfit(kind: CedarType) -> int:
    raise UnfitError(f"a value does not fit the Cedar type {kind.get('name', kind['type'])}")


class _Reading:
    """One schema document on its way into a type."""

    def __init__(self, document: JsonObject) -> None:
        self._document = document

    def record(self, schema: JsonObject, depth: int, seen: tuple[str, ...]) -> CedarType | None:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            return None
        required = schema.get("required")
        wanted = required if isinstance(required, Sequence) else ()
        attributes: dict[str, Json] = {}
        for name, inner in properties.items():
            kind = None if name in _NO_NAMES else self._type(inner, depth - 1, seen)
            if kind is not None:
                attributes[name] = {**kind, "required": name in wanted and not self._may_be_null(inner)}
        return {"type": "Record", "attributes": attributes}

    def _type(self, schema: Json, depth: int, seen: tuple[str, ...]) -> CedarType | None:
        if not isinstance(schema, Mapping) or depth <= 0:
            return None
        reference = schema.get("$ref")
        if isinstance(reference, str):
            target = None if reference in seen else self._target(reference)
            return self._type(target, depth, (*seen, reference))
        for word in ("anyOf", "oneOf", "allOf"):
            choices = schema.get(word)
            if isinstance(choices, Sequence):
                return self._common([self._type(one, depth, seen) for one in choices if not _is_null(one)])
        if "enum" in schema or "const" in schema:
            return _type_of_values(schema)
        return self._named(schema, _names(schema), depth, seen)

    def _named(self, schema: JsonObject, names: Sequence[str], depth: int, seen: tuple[str, ...]) -> CedarType | None:
        if names == ["object"]:
            return self.record(schema, depth, seen)
        if names == ["array"]:
            element = self._type(schema.get("items"), depth - 1, seen)
            return None if element is None else {"type": "Set", "element": element}
        return self._common([_BY_NAME.get(name) for name in names])

    def _common(self, kinds: Sequence[CedarType | None]) -> CedarType | None:
        first = kinds[0] if kinds else None
        if all(kind == first for kind in kinds):
            return first
        return DECIMAL if all(kind in (LONG, DECIMAL) for kind in kinds) else None

    def _target(self, reference: str) -> Json:
        place: Json = self._document
        if not reference.startswith("#/"):
            return None
        for step in reference[2:].split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            place = place.get(name) if isinstance(place, Mapping) else None
        return place

    def _may_be_null(self, schema: Json) -> bool:
        if not isinstance(schema, Mapping):
            return True
        reference = schema.get("$ref")
        if isinstance(reference, str):
            target = self._target(reference)
            return not isinstance(target, Mapping) or "$ref" in target or self._may_be_null(target)
        options = [schema.get(word) for word in ("anyOf", "oneOf", "allOf")]
        if any(_is_null(one) for some in options if isinstance(some, Sequence) for one in some):
            return True
        values = schema.get("enum")
        return _is_null(schema) or (isinstance(values, Sequence) and any(value is None for value in values))


def _names(schema: JsonObject) -> list[str]:
    named = schema.get("type")
    names = [named] if isinstance(named, str) else named if isinstance(named, Sequence) else []
    return [name for name in names if isinstance(name, str) and name != "null"]


def _is_null(schema: Json) -> bool:
    if not isinstance(schema, Mapping):
        return False
    named = schema.get("type")
    return named == "null" or (isinstance(named, Sequence) and not isinstance(named, str) and "null" in named)


def _type_of_values(schema: JsonObject) -> CedarType | None:
    listed = schema.get("enum")
    values = listed if isinstance(listed, Sequence) else [schema.get("const")]
    kinds = {type(value) for value in values if value is not None}
    return _BY_CLASS.get(kinds.pop()) if len(kinds) == 1 else None
