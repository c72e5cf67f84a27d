"""Choices that were written on an array, and were meant for its items."""

from __future__ import annotations

import importlib
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.errors import DefinitionError
from daeri.text import Json, JsonObject
from daeri.tools import SchemaValidator, Tool, ToolContext, ToolRegistry


class Source:
    """One tool with the given schema."""

    name = "source"

    def __init__(self, schema: JsonObject) -> None:
        self._schema = schema

    async def list_tools(self) -> list[Tool]:
        return [Tool(name="paint", description="Paint it.", input_schema=self._schema, source=self.name)]

    async def invoke(self, tool: str, arguments: JsonObject, context: ToolContext) -> Json:
        raise AssertionError(tool)


async def registered(schema: JsonObject) -> Tool:
    registry = ToolRegistry()
    await registry.add(Source(schema))
    return registry.get("paint")


def of_property(schema: JsonObject) -> JsonObject:
    return {"type": "object", "properties": {"colours": schema}}


REPAIRED: list[tuple[JsonObject, JsonObject]] = [
    (
        {"type": "array", "items": {"type": "string"}, "enum": ["red", "blue"], "description": "Which."},
        {"type": "array", "items": {"type": "string", "enum": ["red", "blue"]}, "description": "Which."},
    ),
    ({"type": "array", "enum": [1, None]}, {"type": "array", "items": {"enum": [1, None]}}),
    (
        {"type": "array", "items": {"enum": ["red"]}, "enum": ["red", "blue"]},
        {"type": "array", "items": {"allOf": [{"enum": ["red"]}, {"enum": ["red", "blue"]}]}},
    ),
    (
        {"type": "array", "items": {"type": "array", "enum": ["red"]}},
        {"type": "array", "items": {"type": "array", "items": {"enum": ["red"]}}},
    ),
    (
        {"anyOf": [{"type": "array", "enum": ["red"]}, {"type": "null"}]},
        {"anyOf": [{"type": "array", "items": {"enum": ["red"]}}, {"type": "null"}]},
    ),
]


@pytest.mark.parametrize(("written", "meant"), REPAIRED)
async def test_choices_on_an_array_are_moved_to_its_items(written: JsonObject, meant: JsonObject) -> None:
    tool = await registered(of_property(written))
    assert tool.input_schema == of_property(meant)


LEFT_ALONE: list[JsonObject] = [
    {"type": "array", "enum": [["red"], ["red", "blue"]]},
    {"type": "array", "enum": ["red", []]},
    {"type": "string", "enum": ["red"]},
    {"enum": ["red"]},
    {"type": ["array", "null"], "enum": ["red", None]},
    {"type": "array", "items": False, "enum": ["red"]},
    {"not": {"type": "array", "enum": ["red"]}},
    {"type": "object", "default": {"type": "array", "enum": ["red"]}},
    {"type": "object", "properties": {"enum": {"type": "array"}, "type": {"type": "string"}}},
]


@pytest.mark.parametrize("schema", LEFT_ALONE)
async def test_other_choices_stay_where_they_are(schema: JsonObject) -> None:
    written = of_property(schema)
    assert (await registered(written)).input_schema is written


async def test_the_definition_hash_is_that_of_the_schema_that_everybody_sees() -> None:
    slip, right = [await registered(of_property(schema)) for schema in REPAIRED[0]]
    assert slip.definition_hash == right.definition_hash


async def test_a_schema_of_bottomless_depth_is_a_definition_error() -> None:
    deep: dict[str, Any] = {"type": "array"}
    for _ in range(5_000):
        deep = {"type": "array", "items": deep}
    with pytest.raises(DefinitionError) as caught:
        await registered(of_property(deep))
    assert "tool 'paint', schema of its arguments: " in str(caught.value)
    assert "nested more than 128 deep" in str(caught.value)


CHOICES = st.lists(st.sampled_from(["red", "blue", 1, None, ["red"]]), min_size=1, max_size=3, unique_by=str)
SCHEMAS = st.fixed_dictionaries(
    {"enum": CHOICES},
    optional={
        "type": st.sampled_from(["array", "string", ["array"], ["array", "null"]]),
        "items": st.sampled_from([{}, {"type": "string"}, {"enum": ["red"]}, {"$ref": "#/$defs/Colour"}, True, False]),
    },
)
COLOURS = st.lists(st.sampled_from(["red", "blue", "green", 1, None]), max_size=2) | st.sampled_from(["red", None, 1])


@given(SCHEMAS, COLOURS)
def test_what_was_accepted_before_still_is_and_items_are_always_of_the_choices(schema: JsonObject, value: Json) -> None:
    document = {**of_property(schema), "$defs": {"Colour": {"type": "string"}}}
    repaired = importlib.import_module("daeri.tools._enum_on_array").enum_to_items(document)
    before, after = (SchemaValidator(made).accepts({"colours": value}) for made in (document, repaired))
    assert after or not before
    if after and not before:
        assert isinstance(value, list)
        assert all(item in cast("list[Json]", schema["enum"]) for item in value)
