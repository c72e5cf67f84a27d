"""Nulls that stand for "not given" leave the arguments before anything looks at them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.text import Json, JsonObject
from daeri.tools import SchemaValidator

CHILD: JsonObject = {"$ref": "#/properties/root/properties/children/items"}
ORDER: JsonObject = {
    "type": "object",
    "properties": {
        "to": {"type": "string"},
        "amount": {"type": "integer"},
        "note": {"type": ["string", "null"]},
        "currency": {"enum": ["KRW", "USD"]},
        "items": {"type": "array", "items": {"type": "integer"}},
        "labels": {"type": "object", "additionalProperties": {"type": "string"}},
        "limit": {"allOf": [{"type": "integer"}, {"minimum": 0}]},
        "never": False,
        "root": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "children": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"name": {"type": "string"}, "children": {"type": "array", "items": CHILD}},
                        "required": ["name"],
                    },
                },
            },
        },
        "payee": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"kind": {"const": "person"}, "phone": {"type": "string"}},
                    "required": ["kind"],
                },
                {
                    "type": "object",
                    "properties": {"kind": {"const": "firm"}, "number": {"type": "integer"}},
                    "required": ["kind", "number"],
                },
            ]
        },
        "contact": {
            "type": "object",
            "properties": {"mail": {"type": "string"}, "phone": {"type": "string"}},
            "anyOf": [{"required": ["mail"]}, {"required": ["phone"]}],
        },
        "account": {
            "type": "object",
            "properties": {"iban": {"type": "string"}, "bank": {"type": "string"}},
            "dependentRequired": {"iban": ["bank"]},
        },
    },
    "required": ["to"],
    "additionalProperties": False,
}
VALIDATOR = SchemaValidator(ORDER)
PERSON: JsonObject = {"kind": "person"}
FIRM: JsonObject = {"kind": "firm"}


def root(node: Json) -> JsonObject:
    return {"children": [node]}


def tree(node: Json) -> JsonObject:
    return {"root": root(node)}


def parent(node: Json) -> Json:
    return {"name": "a", "children": [node]}


LEFT_OUT: list[tuple[str, JsonObject, JsonObject]] = [
    ("an optional value", {"amount": None}, {}),
    ("a choice", {"currency": None}, {}),
    ("a property that is called like a keyword", {"items": None}, {}),
    ("a value of combined schemas", {"limit": None}, {}),
    ("a property that must not be there", {"never": None}, {}),
    ("a value behind a reference", tree({"name": "a", "children": None}), tree({"name": "a"})),
    ("a value behind recursion", tree(parent({"name": "b", "children": None})), tree(parent({"name": "b"}))),
    ("a value in the alternative that is meant", {"payee": {**PERSON, "phone": None}}, {"payee": PERSON}),
    ("one of two of which one is needed", {"contact": {"mail": "x", "phone": None}}, {"contact": {"mail": "x"}}),
    ("what needs another that is left out", {"account": {"iban": None, "bank": None}}, {"account": {}}),
    ("beside another mistake", {"amount": None, "currency": "krw"}, {"currency": "krw"}),
]  # fmt: skip


@pytest.mark.parametrize(("written", "meant"), [case[1:] for case in LEFT_OUT], ids=[case[0] for case in LEFT_OUT])
def test_a_null_that_can_be_left_out_is_left_out(written: JsonObject, meant: JsonObject) -> None:
    assert VALIDATOR.normalise({"to": "kim", **written}) == {"to": "kim", **meant}


KEPT: list[tuple[str, JsonObject, str | None]] = [
    ("a null that is allowed", {"note": None}, None),
    ("a required value", {"to": None}, "/to"),
    ("an unknown name", {"odd": None}, ""),
    ("an item of a list", {"items": [None]}, "/items/0"),
    ("an entry of a map", {"labels": {"a": None}}, "/labels/a"),
    ("a required value behind a reference", tree(parent({"name": None})), "/root/children/0/children/0/name"),
    ("a required value of the alternative that is meant", {"payee": {**FIRM, "number": None}}, "/payee/number"),
    ("both of two of which one is needed", {"contact": {"mail": None, "phone": None}}, "/contact/mail"),
    ("what another value needs", {"account": {"iban": "x", "bank": None}}, "/account/bank"),
]  # fmt: skip


@pytest.mark.parametrize(("written", "path"), [case[1:] for case in KEPT], ids=[case[0] for case in KEPT])
def test_a_null_that_is_meant_or_missed_stays(written: JsonObject, path: str | None) -> None:
    arguments = {"to": "kim", **written}
    kept = VALIDATOR.normalise(arguments)
    assert kept == arguments
    problem = VALIDATOR.problem(kept)
    assert (problem and problem.path) == path


def test_leaving_one_out_may_turn_another_into_one() -> None:
    chained = SchemaValidator(
        {
            "properties": {"a": {"type": "string"}, "b": {}},
            "if": {"required": ["a"]},
            "else": {"properties": {"b": {"type": "string"}}},
        }
    )
    assert chained.normalise({"a": None, "b": None}) == {}


def test_arguments_of_very_many_values_stay_as_they_are() -> None:
    many: dict[str, Json] = {"to": "kim", "items": [1] * 10_000, "amount": None}
    assert VALIDATOR.normalise(many) is many
    problem = VALIDATOR.problem(many)
    assert problem is not None
    assert problem.path == "/amount"


def test_what_is_no_json_is_left_for_the_check_to_refuse() -> None:
    odd: dict[str, Any] = {"to": {"kim"}, "amount": None}
    assert VALIDATOR.normalise(odd) is odd
    assert not VALIDATOR.accepts(odd)


def test_read_only_mappings_are_read_too() -> None:
    assert VALIDATOR.normalise(MappingProxyType({"to": "kim", "amount": None})) == {"to": "kim"}


LEAVES: st.SearchStrategy[Json] = st.none() | st.integers(0, 3) | st.sampled_from(["KRW", "person", "firm"])
NAMES = st.sampled_from(
    [
        "to",
        "amount",
        "note",
        "items",
        "labels",
        "root",
        "name",
        "children",
        "payee",
        "kind",
        "phone",
        "number",
        "contact",
    ]
)


def nested(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=4)


VALUES = st.recursive(LEAVES, nested, max_leaves=8)
ARGUMENTS = st.dictionaries(NAMES, VALUES, max_size=5)


def filled(value: Json, names: Sequence[str]) -> Json:
    return {**dict.fromkeys(names), **value} if isinstance(value, Mapping) else value


def nulls_only(longer: Json, shorter: Json) -> bool:
    """Whether one value is the other without some properties that are null."""
    if isinstance(longer, Mapping) and isinstance(shorter, Mapping):
        gone = longer.keys() - shorter.keys()
        return (
            shorter.keys() <= longer.keys()
            and all(longer[key] is None for key in gone)
            and all(nulls_only(longer[key], shorter[key]) for key in shorter)
        )
    if isinstance(longer, list) and isinstance(shorter, list):
        pairs = zip(longer, shorter, strict=False)
        return len(longer) == len(shorter) and all(nulls_only(left, right) for left, right in pairs)
    return longer == shorter


@given(ARGUMENTS)
def test_nothing_but_nulls_goes_and_a_second_time_nothing_goes(arguments: JsonObject) -> None:
    made = VALIDATOR.normalise(arguments)
    assert nulls_only(arguments, made)
    assert VALIDATOR.normalise(made) == made
    assert ("to" in made) == ("to" in arguments)


@given(ARGUMENTS.map(lambda arguments: {**arguments, "to": "kim"}))
def test_what_fits_comes_back_as_it_is(arguments: JsonObject) -> None:
    made = VALIDATOR.normalise(arguments)
    if VALIDATOR.accepts(arguments):
        assert made is arguments
    if VALIDATOR.accepts(made):
        assert VALIDATOR.normalise(made) is made


NODES: st.SearchStrategy[Json] = st.deferred(
    lambda: st.fixed_dictionaries({"name": st.just("a")}, optional={"children": st.lists(NODES, max_size=2)})
)
GIVEN: dict[str, st.SearchStrategy[Json]] = {
    "amount": st.integers(),
    "note": st.none() | st.text(),
    "currency": st.sampled_from(["KRW", "USD"]),
    "root": st.builds(root, NODES),
}
MEANT: st.SearchStrategy[JsonObject] = st.fixed_dictionaries({"to": st.just("kim")}, optional=GIVEN)


def with_nulls(value: Json) -> Json:
    if isinstance(value, Mapping):
        inner = {name: with_nulls(item) for name, item in value.items()}
        return filled(inner, ["children"]) if "name" in inner else inner
    return [with_nulls(item) for item in value] if isinstance(value, list) else value


@given(MEANT)
def test_nulls_for_all_that_is_not_given_come_to_what_was_meant(meant: JsonObject) -> None:
    written = {name: with_nulls(item) for name, item in meant.items()}
    assert VALIDATOR.normalise({"amount": None, "currency": None, "items": None, **written}) == meant
