"""What a tool would assume is written into the arguments, so that all who decide about a call see it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.text import Json, JsonObject
from daeri.tools import SchemaValidator, with_defaults

PAGE: JsonObject = {
    "type": "object",
    "properties": {"limit": {"type": "integer", "default": 500}, "sort": {"type": "string", "default": "날짜"}},
}
LIST_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "limit": {"type": "integer", "maximum": 1000, "default": 500},
        "page": {"$ref": "#/$defs/page"},
        "size": {"$ref": "#/$defs/size"},
        "sort": {"anyOf": [{"$ref": "#/$defs/page"}, {"type": "null"}], "default": None},
        "pages": {"type": "array", "items": {"$ref": "#/$defs/page"}},
        "wrong": {"type": "integer", "default": "many"},
        "currency": {"type": "string", "default": "KRW"},
        "amount": {"type": "integer"},
        "rate": {"type": "integer", "default": 1},
        "tree": {"$ref": "#/$defs/tree"},
        "elsewhere": {"$ref": "#anchor"},
    },
    "dependentRequired": {"currency": ["amount"]},
    "not": {"required": ["amount", "rate"]},
    "$defs": {
        "page": PAGE,
        "size": {"type": "object", "properties": {"width": {"default": 7}}, "default": {}},
        "tree": {"type": "object", "properties": {"below": {"$ref": "#/$defs/tree", "default": {}}}},
        "anchored": {"$anchor": "anchor", "default": 1},
    },
}
VALIDATOR = SchemaValidator(LIST_SCHEMA)
ALWAYS: JsonObject = {"limit": 500, "size": {"width": 7}}


def filled(arguments: JsonObject) -> JsonObject:
    return with_defaults(arguments, LIST_SCHEMA, VALIDATOR.accepts)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({}, {**ALWAYS, "rate": 1}),
        ({"limit": 3}, {"limit": 3, "size": {"width": 7}, "rate": 1}),
        ({"page": {}}, {**ALWAYS, "rate": 1, "page": {"limit": 500, "sort": "날짜"}}),
        ({"sort": {"limit": 2}}, {**ALWAYS, "rate": 1, "sort": {"limit": 2, "sort": "날짜"}}),
        ({"sort": None}, {**ALWAYS, "rate": 1, "sort": None}),
        (
            {"pages": [{}, {"limit": 1}]},
            {**ALWAYS, "rate": 1, "pages": [{"limit": 500, "sort": "날짜"}, {"limit": 1, "sort": "날짜"}]},
        ),
        ({"amount": 3}, {**ALWAYS, "amount": 3, "currency": "KRW"}),
        ({"tree": {}}, {**ALWAYS, "rate": 1, "tree": {}}),
    ],
    ids=["nothing", "given", "nested", "optional", "null", "list", "what goes together", "endless"],
)
def test_what_is_left_out_is_written_as_the_tool_would_take_it(written: JsonObject, meant: JsonObject) -> None:
    assert VALIDATOR.accepts(written)
    assert filled(written) == meant


@pytest.mark.parametrize("refused", [{"limit": "x"}, {"limit": 1001}, {"currency": "USD"}])
def test_what_is_refused_stays_as_it_was_written(refused: JsonObject) -> None:
    assert filled(refused) is refused


def test_a_missing_argument_is_not_saved_by_its_default() -> None:
    schema: JsonObject = {"type": "object", "properties": {"to": {"default": "kim"}}, "required": ["to"]}
    arguments: JsonObject = {}

    assert with_defaults(arguments, schema, SchemaValidator(schema).accepts) is arguments


def test_the_schema_is_not_shared_with_the_arguments() -> None:
    schema: Any = {"type": "object", "properties": {"to": {"default": ["kim"]}}}

    made: Any = with_defaults({}, schema, SchemaValidator(schema).accepts)
    made["to"].append("lee")

    assert schema["properties"]["to"]["default"] == ["kim"]


def test_a_default_that_multiplies_is_left_out() -> None:
    wide: dict[str, Json] = {"d15": {}}
    for n in range(15):
        wide[f"d{n}"] = {"properties": {name: {"$ref": f"#/$defs/d{n + 1}", "default": {}} for name in "ab"}}
    schema: JsonObject = {"properties": {"top": {"$ref": "#/$defs/d0", "default": {}}}, "$defs": wide}
    arguments: JsonObject = {}

    assert with_defaults(arguments, schema, SchemaValidator(schema).accepts) is arguments


def test_a_long_list_costs_a_few_checks_and_not_one_for_each_item() -> None:
    checks: list[Json] = []

    def accepts(value: Json) -> bool:
        checks.append(value)
        return VALIDATOR.accepts(value)

    made = with_defaults({"pages": [{} for _ in range(2_000)]}, LIST_SCHEMA, accepts)

    assert made["pages"] == [{"limit": 500, "sort": "날짜"}] * 2_000
    assert len(checks) < 25


def contains(longer: Json, shorter: Json) -> bool:
    if isinstance(longer, Mapping) and isinstance(shorter, Mapping):
        return all(key in longer and contains(longer[key], shorter[key]) for key in shorter)
    if isinstance(longer, list) and isinstance(shorter, list):
        return len(longer) == len(shorter) and all(map(contains, longer, shorter))
    return longer == shorter


OBJECTS = st.deferred(lambda: st.dictionaries(st.sampled_from(["limit", "sort", "width", "below"]), VALUES, max_size=3))
VALUES: st.SearchStrategy[Json] = st.deferred(
    lambda: st.none() | st.integers(0, 2) | st.just("x") | OBJECTS | st.lists(OBJECTS, max_size=2)
)
PROPERTIES: Any = LIST_SCHEMA["properties"]
ARGUMENTS: st.SearchStrategy[JsonObject] = st.dictionaries(st.sampled_from(sorted(PROPERTIES)), VALUES, max_size=4)


@given(ARGUMENTS)
def test_accepted_stays_accepted_nothing_is_overwritten_and_a_second_time_adds_nothing(arguments: JsonObject) -> None:
    made = filled(arguments)

    assert VALIDATOR.accepts(made) == VALIDATOR.accepts(arguments)
    assert contains(made, arguments)
    assert filled(made) is made
