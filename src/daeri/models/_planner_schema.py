"""Tools as the planner reads them: their parameters, and what is written about them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from daeri.errors import DefinitionError
from daeri.text import Json, JsonObject
from daeri.tools import SchemaValidator

from ._port import ToolSpec

_NAME_SIGNS = re.compile(r"[._-]+")
_EXAMPLE = re.compile(r"(?:such as|like|e\.g\.|for example|예:|예를 들어)\s*[^,.()\n]+", re.I)
_EXPRESSION = re.compile(r"expression|formula|수식|산술식|계산식", re.I)
ASKS_FOR_TOPIC = re.compile(
    r"(?:^|_)(?:query|key|keyword|keywords|term|topic|search|question|q|item)$|검색어|항목|주제", re.I
)


def parameters(tool: ToolSpec) -> dict[str, JsonObject]:
    """The parameters of a tool, each with its schema, references followed."""
    found = tool.input_schema.get("properties")
    if not isinstance(found, Mapping):
        return {}
    return {name: plain_schema(schema, tool.input_schema) for name, schema in found.items()}


def required(tool: ToolSpec) -> list[str]:
    """The names of the parameters that must be given."""
    return strings(tool.input_schema.get("required"))


def described(schema: JsonObject) -> str:
    """What is written about a parameter."""
    text = schema.get("description")
    return text if isinstance(text, str) else ""


def written_about(tool: ToolSpec) -> str:
    """Everything that is written about a tool: its names, what it does, what it takes."""
    texts = [_NAME_SIGNS.sub(" ", tool.name), tool.description]
    for name, schema in parameters(tool).items():
        texts += [_NAME_SIGNS.sub(" ", name), described(schema), *strings(schema.get("enum"))]
    return "\n".join(texts)


def without_examples(text: str) -> str:
    """A description without its examples: a goal may hold the same words as what it is about."""
    return _EXAMPLE.sub("", text)


def expression_parameter(tool: ToolSpec) -> str | None:
    """The parameter that takes an arithmetic expression, if the tool has one."""
    for name, schema in parameters(tool).items():
        if schema.get("type") == "string" and _EXPRESSION.search(f"{name} {described(schema)}"):
            return name
    return None


def looks_up(tool: ToolSpec) -> bool:
    """Whether a tool answers questions about anything: all that it needs is what to look for."""
    needed = required(tool)
    schema = parameters(tool).get(needed[0]) if len(needed) == 1 else None
    if schema is None or schema.get("type") != "string" or "enum" in schema or not takes_any_words(schema):
        return False
    return bool(ASKS_FOR_TOPIC.search(needed[0]) or ASKS_FOR_TOPIC.search(described(schema)))


def takes_any_words(schema: JsonObject) -> bool:
    """Whether a string parameter leaves open what form its value has."""
    return "format" not in schema and "pattern" not in schema


def strings(value: Json) -> list[str]:
    """The strings in a list; none in anything else."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        return []
    return [item for item in value if isinstance(item, str)]


def plain_schema(schema: Json, root: JsonObject) -> JsonObject:
    """A schema with its reference followed, and of alternatives the first that is not null."""
    whole = _referred(schema, root)
    for keyword in ("anyOf", "oneOf"):
        variants = whole.get(keyword)
        if isinstance(variants, Sequence) and not isinstance(variants, str):
            real = next((one for one in variants if isinstance(one, Mapping) and one.get("type") != "null"), None)
            return {**_referred(real, root), **{key: value for key, value in whole.items() if key != keyword}}
    kind = whole.get("type")
    if isinstance(kind, Sequence) and not isinstance(kind, str):
        return {**whole, "type": next((one for one in kind if one != "null"), None)}
    return whole


def _referred(schema: Json, root: JsonObject) -> JsonObject:
    """A schema, or the definition that it refers to; what stands beside the reference goes before it."""
    if not isinstance(schema, Mapping):
        return {}
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    definitions = root.get("$defs")
    target = definitions.get(name) if isinstance(definitions, Mapping) else None
    if not isinstance(target, Mapping):
        return schema
    return {**target, **{key: value for key, value in schema.items() if key != "$ref"}}


def fits(tool: ToolSpec, arguments: JsonObject) -> bool:
    """Whether arguments fit the schema of a tool."""
    return valid(tool.input_schema, arguments)


def valid(schema: JsonObject, value: Json) -> bool:
    """Whether a value fits a schema; nothing fits one that can't be used."""
    try:
        return SchemaValidator(schema).accepts(value)
    except DefinitionError:
        return False
