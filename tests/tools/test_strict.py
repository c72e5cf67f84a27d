from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.text import Json, JsonObject
from daeri.tools import SchemaValidator, StrictSchemaError, strict_schema, tool


@dataclass
class Node:
    """A tree."""

    label: str
    weight: int | None = None
    children: list[Node] | None = None


@tool(strict=True)
def grow(
    root: Node,
    other: Node | None = None,
    depth: int = 3,
    mode: Literal["fast", "slow"] = "fast",
    price: Decimal = Decimal(0),
    day: date | None = None,
    only: Literal["one"] = "one",
    tags: list[str] = [],  # noqa: B006 - what a careless author writes
) -> None:
    """Grow it."""


SCHEMA = grow.tool.input_schema
STRICT = strict_schema(SCHEMA)


def node(weight: int | None, children: list[Json] | None, given: set[str]) -> Json:
    fields: dict[str, Json] = {"weight": weight, "children": children}
    return {"label": "a", **{name: value for name, value in fields.items() if name in given}}


def parents(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    given = st.sets(st.sampled_from(["weight", "children"]))
    return st.builds(node, st.none() | st.integers(), st.none() | st.lists(inner, max_size=2), given)


LEAF: Json = {"label": "leaf"}
NODES = st.recursive(st.just(LEAF), parents, max_leaves=4)
OPTIONAL: dict[str, st.SearchStrategy[Json]] = {
    "other": st.none() | NODES,
    "depth": st.integers(),
    "mode": st.sampled_from(["fast", "slow"]),
    "price": st.integers() | st.sampled_from(["1.5", "-2"]),
    "day": st.none() | st.just("2026-03-31"),
    "only": st.just("one"),
    "tags": st.lists(st.text(), max_size=2),
}
ARGUMENTS: st.SearchStrategy[dict[str, Json]] = st.fixed_dictionaries({"root": NODES}, optional=OPTIONAL)
NODE_FIELDS = ("label", "weight", "children")
FIELDS = ("root", "other", "depth", "mode", "price", "day", "only", "tags")


def node_as_strict(value: Any) -> Any:
    if value is None:
        return None
    children = value.get("children")
    filled = {name: value.get(name) for name in NODE_FIELDS}
    return {**filled, "children": None if children is None else [node_as_strict(child) for child in children]}


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}  # pyright: ignore[reportUnknownVariableType] - JSON
    if isinstance(value, list):
        return [without_nulls(item) for item in value]  # pyright: ignore[reportUnknownVariableType] - JSON
    return value


@given(ARGUMENTS)
def test_what_is_written_strictly_comes_back_as_what_was_meant(arguments: dict[str, Json]) -> None:
    assert SchemaValidator(SCHEMA).problem(arguments) is None
    written: dict[str, Json] = {name: arguments.get(name) for name in FIELDS}
    written |= {name: node_as_strict(arguments.get(name)) for name in ("root", "other")}
    assert SchemaValidator(STRICT).problem(written) is None

    back = SchemaValidator(SCHEMA).normalise(written)
    assert SchemaValidator(SCHEMA).problem(back) is None
    assert without_nulls(back) == without_nulls(arguments)
    # nulls stay only where the author allows them
    assert {name for name in back if back[name] is None} <= {"other", "day"}


def objects_in(schema: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if isinstance(schema, dict):
        items: dict[str, Any] = schema  # pyright: ignore[reportUnknownVariableType] - JSON
        found += [items] if items.get("type") == "object" else []
        for value in items.values():
            found += objects_in(value)
    elif isinstance(schema, list):
        for value in schema:  # pyright: ignore[reportUnknownVariableType] - JSON
            found += objects_in(value)
    return found


def test_every_object_is_closed_and_every_property_required() -> None:
    found = objects_in(STRICT)
    assert len(found) == 2
    for item in found:
        assert item["additionalProperties"] is False
        assert item["required"] == list(item["properties"])


def test_what_was_optional_may_be_null_instead() -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "word": {"type": "string", "default": "x", "description": "A word."},
            "kind": {"enum": ["a", "b"], "type": "string"},
            "box": {"type": "object", "properties": {"n": {"type": "integer"}}, "description": "A box."},
            "either": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
            "free": {"type": ["integer", "null"]},
        },
    }
    assert strict_schema(schema)["properties"] == {
        "word": {"type": ["string", "null"], "description": "A word."},
        "kind": {"anyOf": [{"enum": ["a", "b"], "type": "string"}, {"type": "null"}]},
        "box": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"n": {"type": ["integer", "null"]}},
                    "required": ["n"],
                    "additionalProperties": False,
                },
                {"type": "null"},
            ],
            "description": "A box.",
        },
        "either": {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]},
        "free": {"type": ["integer", "null"]},
    }


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "object"}, "`/` of the schema allows properties of any name"),
        (
            {"type": "object", "properties": {"a": {"type": "object"}}},
            "`/properties/a` of the schema allows properties",
        ),
        ({"type": "object", "properties": {"a": {}}}, "`/properties/a` of the schema allows any value"),
        ({"type": "object", "properties": {"a": {"description": "What?"}}}, "`/properties/a` of the schema allows any"),
        ({"type": "object", "properties": {"a": {"type": "array"}}}, "`/properties/a/items` of the schema allows any"),
        (
            {"type": "object", "properties": {"a": {"not": {"type": "null"}}}},
            "`/properties/a` of the schema uses `not`",
        ),
        ({"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}, "properties of any name"),
        ({"type": "array"}, "is not an object with properties"),
    ],
)
def test_a_schema_that_leaves_something_open_has_no_strict_form(schema: dict[str, Any], words: str) -> None:
    with pytest.raises(StrictSchemaError) as caught:
        strict_schema(schema)
    assert words in str(caught.value)


def test_a_reference_to_a_place_that_the_strict_form_moves_has_none() -> None:
    tree: JsonObject = {
        "type": "object",
        "properties": {
            "children": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"children": {"type": "array", "items": {"$ref": "#/properties/children/items"}}},
                },
            }
        },
    }
    with pytest.raises(StrictSchemaError) as caught:
        strict_schema(tree)
    assert "refers to a place that its strict form moves" in str(caught.value)
    required = strict_schema({**tree, "required": ["children"]})
    assert SchemaValidator(required).accepts({"children": [{"children": [{"children": None}]}]})


def test_a_tool_without_parameters_is_strict_already() -> None:
    @tool(strict=True)
    def now() -> str:
        """Say the time."""
        raise AssertionError

    assert strict_schema(now.tool.input_schema)["required"] == []
