from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.errors import DefinitionError
from daeri.text import Json, JsonObject
from daeri.tools import SchemaProblem, SchemaValidator, Tool, ToolValidators

TRANSFER: JsonObject = {
    "type": "object",
    "properties": {
        "to": {"type": "string", "minLength": 1},
        "amount": {"type": "integer", "minimum": 1},
        "currency": {"enum": ["KRW", "USD"]},
        "on": {"type": "string", "format": "date"},
        "lines": {"type": "array", "maxItems": 2, "items": {"$ref": "#/$defs/Line"}},
        "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        "ratio": {"exclusiveMinimum": 0, "multipleOf": 0.5},
        "a/b": {"const": 1},
        "payee": {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"kind": {"const": "person"}, "name": {"type": "string"}},
                    "required": ["kind", "name"],
                },
                {
                    "type": "object",
                    "properties": {"kind": {"const": "firm"}, "number": {"type": "integer"}},
                    "required": ["kind", "number"],
                },
            ]
        },
        "labels": {"propertyNames": {"maxLength": 3}},
    },
    "required": ["to", "amount"],
    "additionalProperties": False,
    "$defs": {
        "Line": {
            "type": "object",
            "properties": {"sku": {"type": "string"}},
            "required": ["sku"],
            "additionalProperties": False,
        }
    },
}
GOOD: dict[str, Json] = {"to": "kim", "amount": 1}


def problem_with(changes: dict[str, Json]) -> SchemaProblem:
    problem = SchemaValidator(TRANSFER).problem({**GOOD, **changes})
    assert problem is not None
    return problem


PROBLEMS: list[tuple[dict[str, Json], str, str]] = [
    ({"to": 5}, "/to", "found the number 5, expected a string"),
    ({"to": ""}, "/to", "at least 1 characters"),
    ({"to": None}, "/to", "found null, expected a string"),
    ({"amount": "7"}, "/amount", "expected an integer. Write it without quotes: 7."),
    ({"amount": 1.5}, "/amount", "found the number 1.5, expected an integer"),
    ({"amount": 0}, "/amount", "at least 1"),
    ({"amount": True}, "/amount", "found true, expected an integer"),
    ({"currency": "krw"}, "/currency", 'expected one of "KRW", "USD". Did you mean "KRW"?'),
    ({"on": "31/3/2026"}, "/on", "a date such as 2026-03-31"),
    ({"lines": [{"sku": "a"}, {"sku": 5}]}, "/lines/1/sku", "found the number 5, expected a string"),
    ({"lines": [{}]}, "/lines/0", "missing `sku` (string)"),
    ({"lines": [{}, {}, {}]}, "/lines", "found an array of 3 items, expected at most 2 items"),
    ({"lines": '[{"sku": "a"}]'}, "/lines", "not a string that holds its JSON text"),
    ({"limit": "none"}, "/limit", "expected an integer or null"),
    ({"ratio": 0.3}, "/ratio", "a multiple of 0.5"),
    ({"a/b": 2}, "/a~1b", "expected 1"),
    ({"payee": {"kind": "person", "name": 5}}, "/payee/name", "found the number 5, expected a string"),
    ({"payee": {"kind": "firm"}}, "/payee", "missing `number` (integer)"),
    ({"payee": {"kind": "pet"}}, "/payee/kind", 'expected one of "person", "firm"'),
    ({"payee": []}, "/payee", "found an array of 0 items, expected an object"),
    ({"labels": {"long": 1}}, "/labels", "the property name 'long', expected at most 3 characters"),
    ({"curency": "KRW"}, "", "unknown `curency`. Did you mean `currency` instead of `curency`?"),
]


@pytest.mark.parametrize(("changes", "path", "words"), PROBLEMS)
def test_a_problem_names_the_place_what_was_found_and_what_is_expected(
    changes: dict[str, Json], path: str, words: str
) -> None:
    problem = problem_with(changes)
    assert problem.path == path
    assert words in str(problem)


def test_a_misspelt_name_is_told_together_with_the_missing_one() -> None:
    problem = SchemaValidator(TRANSFER).problem({"to": "kim", "amuont": 1})
    assert str(problem).startswith(
        "At the top level: missing `amount` (integer); unknown `amuont`. Did you mean `amount` instead of `amuont`? "
        "Known properties: `to`, `amount`, "
    )


def test_the_top_level_is_told_before_what_is_deeper() -> None:
    assert problem_with({"lines": [{"sku": 5}], "odd": 1}).path == ""


def test_choices_are_told_rather_than_the_type_that_they_have() -> None:
    problem = SchemaValidator({"type": "string", "enum": ["KRW", "USD"]}).problem(5)
    assert str(problem) == 'At the top level: found the number 5, expected one of "KRW", "USD".'


TREE: JsonObject = {
    "type": "object",
    "properties": {
        "root": {
            "type": "object",
            "properties": {
                "children": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string"},
                            "children": {
                                "type": "array",
                                "items": {"$ref": "#/properties/root/properties/children/items"},
                            },
                        },
                        "required": ["name"],
                        "additionalProperties": False,
                    },
                }
            },
        }
    },
}


def tree_of(depth: int, leaf: Json) -> Json:
    for _ in range(depth):
        leaf = {"name": "a", "children": [leaf]}
    return {"root": {"children": [leaf]}}


@pytest.mark.parametrize("depth", [0, 1, 2, 20])
def test_a_reference_into_properties_that_recurs_is_followed_to_any_depth(depth: int) -> None:
    validator = SchemaValidator(TREE)
    place = "/root/children/0" + "/children/0" * depth

    assert validator.accepts(tree_of(depth, {"name": "leaf"}))

    wrong = validator.problem(tree_of(depth, {"name": 5}))
    assert wrong is not None
    assert wrong.path == f"{place}/name"
    assert "found the number 5, expected a string" in wrong.message

    misspelt = validator.problem(tree_of(depth, {"nmae": "leaf"}))
    assert misspelt is not None
    assert misspelt.path == place
    assert "missing `name` (string)" in misspelt.message
    assert misspelt.hint.startswith("Did you mean `name` instead of `nmae`?")


def test_a_schema_may_refer_to_documents_that_it_is_given() -> None:
    documents: dict[str, Json] = {"https://example.com/sum": {"type": "integer"}}
    validator = SchemaValidator({"$ref": "https://example.com/sum"}, documents=documents)
    assert validator.accepts(1)
    assert not validator.accepts("1")


def test_formats_are_remarks_where_that_is_asked_for() -> None:
    assert not SchemaValidator({"format": "date"}).accepts("tomorrow")
    assert SchemaValidator({"format": "date"}, formats=False).accepts("tomorrow")


def test_of_a_very_large_value_the_first_problem_is_told() -> None:
    problem = SchemaValidator({"items": {"type": "integer"}}).problem(["a"] * 20_000)
    assert problem is not None
    assert problem.path == "/0"
    assert SchemaValidator({"items": {"type": "integer"}}).accepts([1] * 20_000)


def test_names_and_words_of_great_length_are_not_compared() -> None:
    problem = SchemaValidator(TRANSFER).problem({**GOOD, "currency" * 1_000: 1})
    assert problem is not None
    assert problem.hint.startswith("Known properties: ")
    assert problem_with({"currency": "KRW" * 1_000}).hint == ""


def test_a_value_that_fits_has_no_problem() -> None:
    assert SchemaValidator(TRANSFER).problem(GOOD) is None


def test_schemas_and_values_may_be_any_mapping() -> None:
    validator = SchemaValidator(MappingProxyType(TRANSFER))
    assert validator.problem(MappingProxyType(GOOD)) is None
    assert validator.problem(MappingProxyType({"to": "kim", "amount": 0})) is not None


@pytest.mark.parametrize("value", ["2026-03-31T09:30:00", "2026-03-31T09:30:00Z", "2026-03-31T09:30:00.5+09:00"])
def test_a_time_may_leave_its_offset_out(value: str) -> None:
    assert SchemaValidator({"format": "date-time"}).accepts(value)


@pytest.mark.parametrize(
    "value", ["2026-03-31", "2026-02-30T00:00:00", "2026-W01-1T00:00:00", "now", "２026-03-31T09:30:00"]
)
def test_what_is_no_time_is_refused(value: str) -> None:
    assert not SchemaValidator({"format": "date-time"}).accepts(value)


def test_an_older_draft_is_respected() -> None:
    old = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [{"type": "string"}],
        "additionalItems": False,
    }
    assert SchemaValidator(old).accepts(["a"])
    assert not SchemaValidator(old).accepts(["a", "b"])


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "https://example.com/schema.json"}, "nothing is fetched"),
        ({"properties": {"a": {"$ref": "file:///etc/passwd"}}}, "nothing is fetched"),
        ({"$ref": "#/$defs/Absent"}, "'/$defs/Absent' does not exist"),
        ({"properties": {"a": {"type": "text"}}}, "not a usable JSON Schema at properties/a/type"),
        ({"pattern": "("}, "not a usable JSON Schema at pattern"),
        ({"$schema": "https://example.com/mine"}, "Unknown meta-schema"),
    ],
)
def test_a_schema_that_can_not_be_used_is_a_definition_error(schema: dict[str, Any], words: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        SchemaValidator(schema, subject="tool 'x'")
    assert str(caught.value).startswith("tool 'x': ")
    assert words in str(caught.value)


def test_a_pattern_made_to_take_forever_comes_to_an_end() -> None:
    assert not SchemaValidator({"pattern": r"^(?=a)(a+)+$"}).accepts("a" * 60 + "!")


def test_text_that_is_no_unicode_is_a_problem_and_no_crash() -> None:
    problem = SchemaValidator({"type": "integer"}).problem("\ud800")
    assert problem is not None


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list("ab")), inner),
    max_leaves=8,
)
LEAF_SCHEMAS: list[JsonObject] = [
    {"type": "integer"},
    {"type": ["string", "null"]},
    {"const": 1},
    {"enum": ["a", None]},
    {"minLength": 2},
    {"not": {}},
]


def any_of(left: JsonObject, right: JsonObject) -> JsonObject:
    return {"anyOf": [left, right]}


def one_of(left: JsonObject, right: JsonObject) -> JsonObject:
    return {"oneOf": [left, right]}


def array_of(item: JsonObject) -> JsonObject:
    return {"type": "array", "items": item, "uniqueItems": True}


def closed_object(item: JsonObject) -> JsonObject:
    return {"properties": {"a": item}, "additionalProperties": False, "propertyNames": {"const": "a"}}


def open_object(item: JsonObject, other: JsonObject) -> JsonObject:
    return {"properties": {"a": item}, "required": ["b"], "unevaluatedProperties": False, "anyOf": [other, {}]}


def wider(inner: st.SearchStrategy[JsonObject]) -> st.SearchStrategy[JsonObject]:
    return st.one_of(
        st.builds(any_of, inner, inner),
        st.builds(one_of, inner, inner),
        st.builds(array_of, inner),
        st.builds(closed_object, inner),
        st.builds(open_object, inner, inner),
    )


SCHEMAS = st.recursive(st.sampled_from(LEAF_SCHEMAS), wider, max_leaves=6)


@given(SCHEMAS, VALUES)
def test_whatever_is_refused_is_explained(schema: JsonObject, value: Json) -> None:
    problem = SchemaValidator(schema).problem(value)
    assert problem is None or problem.message


def test_validators_are_kept_by_definition_and_the_longest_unused_leave() -> None:
    def made(name: str, **schema: Json) -> Tool:
        return Tool(name=name, description="", input_schema={"type": "object", **schema})

    validators = ToolValidators(max_tools=1)
    first = validators.arguments(made("a"))
    assert validators.arguments(made("a")) is first
    changed = validators.arguments(made("a", minProperties=1))
    assert changed is not first
    assert validators.arguments(made("a")) is first
    validators.arguments(made("b"))
    assert validators.arguments(made("a")) is first
    assert validators.arguments(made("a", minProperties=1)) is not changed


def test_a_tool_that_promises_nothing_has_no_result_validator() -> None:
    quiet = Tool(name="a", description="", input_schema={"type": "object"})
    loud = Tool(name="a", description="", input_schema={"type": "object"}, output_schema={"type": "integer"})
    validators = ToolValidators()
    assert validators.result(quiet) is None
    result = validators.result(loud)
    assert result is not None
    assert not result.accepts("x")
