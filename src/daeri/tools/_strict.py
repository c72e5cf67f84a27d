"""The strict form of a schema, which some model APIs can enforce while a model writes, and the way back.

Strict means: every object is closed, every property required; what was optional may be null instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from daeri.errors import DefinitionError
from daeri.text import Json, JsonObject

from ._pointer import json_pointer
from ._validate import SchemaValidator

_PLAIN_TYPES = frozenset({"string", "number", "integer", "boolean", "null"})
_ANNOTATIONS = ("description",)
# keywords that the strict dialect has no words for, and that change what a value may be
_UNSUPPORTED = (
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "allOf",
    "not",
    "if",
    "prefixItems",
    "contains",
)
# keywords without a say in the matter, or checked by us afterwards
_DROPPED = frozenset(
    {
        *("$schema", "$id", "$comment", "title", "default", "examples", "deprecated", "readOnly", "writeOnly"),
        *("discriminator", "uniqueItems", "minProperties", "maxProperties", "minLength", "maxLength"),
    }
)
_Path = tuple[str | int, ...]


class StrictSchemaError(ValueError):
    """A schema that has no strict form: it leaves the shape of some value open."""

    def __init__(self, path: _Path, reason: str) -> None:
        self.path = json_pointer(path)
        self.reason = reason
        super().__init__(f"`{self.path or '/'}` of the schema {reason}")


def strict_schema(schema: JsonObject) -> JsonObject:
    """The strict form of an object schema.

    Raises:
        StrictSchemaError: there is none.
    """
    if schema.get("type") != "object":
        raise StrictSchemaError((), "is not an object with properties")
    made = _strict(schema, ())
    try:
        SchemaValidator(made)
    except DefinitionError:
        raise StrictSchemaError(
            (), "refers to a place that its strict form moves; put that part into `$defs`"
        ) from None
    return made


def _strict(schema: Json, path: _Path) -> JsonObject:
    if not isinstance(schema, Mapping) or not schema:
        raise StrictSchemaError(path, "allows any value")
    for keyword in _UNSUPPORTED:
        if keyword in schema:
            raise StrictSchemaError(path, f"uses `{keyword}`")
    made: dict[str, Json] = {key: value for key, value in schema.items() if key not in _DROPPED}
    for container in ("$defs", "definitions"):
        if isinstance(definitions := schema.get(container), Mapping):
            made[container] = {name: _strict(item, (*path, container, name)) for name, item in definitions.items()}
    if "$ref" in schema:
        return _alone(made)
    alternatives = schema.get("anyOf", schema.get("oneOf"))
    if isinstance(alternatives, Sequence) and not isinstance(alternatives, str):
        made.pop("oneOf", None)
        made["anyOf"] = [_strict(branch, (*path, "anyOf", index)) for index, branch in enumerate(alternatives)]
        return made
    return _strict_typed(schema, made, path)


def _alone(schema: dict[str, Json]) -> JsonObject:
    # the strict dialects allow nothing beside a $ref
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    return {"anyOf": [{"$ref": schema["$ref"]}], **beside} if beside else schema


def _strict_typed(schema: JsonObject, made: dict[str, Json], path: _Path) -> JsonObject:
    types = _types(schema)
    if "enum" in schema or "const" in schema:
        return made
    if not types:
        raise StrictSchemaError(path, "allows any value")
    if "object" in types:
        made |= _closed(schema, path)
    if "array" in types:
        made["items"] = _strict(schema.get("items"), (*path, "items"))
    return made


def _closed(schema: JsonObject, path: _Path) -> dict[str, Json]:
    properties = schema.get("properties", {})
    extra = schema.get("additionalProperties")
    if extra not in (None, False) or (not properties and extra is not False):
        raise StrictSchemaError(path, "allows properties of any name")
    required = _required(schema)
    made: dict[str, Json] = {}
    for name, item in cast("JsonObject", properties).items():
        strict = _strict(item, (*path, "properties", name))
        made[name] = strict if name in required else _nullable(strict)
    return {"properties": made, "required": list(made), "additionalProperties": False}


def _nullable(schema: JsonObject) -> JsonObject:
    types = _types(schema)
    if "null" in types and "enum" not in schema and "const" not in schema:
        return schema
    branches = schema.get("anyOf")
    if isinstance(branches, Sequence) and not isinstance(branches, str):
        return {**schema, "anyOf": [*branches, *([] if {"type": "null"} in branches else [{"type": "null"}])]}
    if types and types <= _PLAIN_TYPES and "enum" not in schema and "const" not in schema:
        return {**schema, "type": [*sorted(types), "null"]}
    outside = {key: schema[key] for key in _ANNOTATIONS if key in schema}
    inside = {key: value for key, value in schema.items() if key not in outside}
    return {"anyOf": [inside, {"type": "null"}], **outside}


def _types(schema: JsonObject) -> frozenset[str]:
    kind = schema.get("type")
    return frozenset({kind} if isinstance(kind, str) else cast("Iterable[str]", kind or ()))


def _required(schema: JsonObject) -> frozenset[str]:
    return frozenset(cast("Iterable[str]", schema.get("required", ())))
