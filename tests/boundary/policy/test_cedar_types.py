"""What Cedar sees of arguments: any that fit the tool fit the Cedar schema too, and as what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daeri.errors import DefinitionError

if TYPE_CHECKING:
    from tests.boundary.policy.conftest import AskFor, LoadCedar, MakeTool

# A schema with values that fit it.
_Case = tuple[Any, st.SearchStrategy[Any]]

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = st.one_of(st.sampled_from(["to", "이름", "a.b", 'a"b', "a b", "if", "__extn", "in", ""]), TEXT)
TREE: dict[str, Any] = {"below": [{"below": []}]}
LEAVES: list[_Case] = [
    ({"type": "string"}, TEXT),
    ({"type": "integer"}, st.integers(-(2**63), 2**63 - 1) | st.just(5.0)),
    ({"type": "number"}, st.integers(-(10**14), 10**14) | st.integers(-(10**14), 10**14).map(lambda n: n / 10_000)),
    ({"type": "boolean"}, st.booleans()),
    ({"type": ["string", "null"]}, TEXT | st.none()),
    ({"enum": ["a", "b"]}, st.sampled_from(["a", "b"])),
    ({"enum": ["a", None]}, st.sampled_from(["a", None])),
    ({"const": 3}, st.just(3)),
    ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, st.integers(-9, 9) | st.none()),
    ({"anyOf": [{"type": "integer"}, {"type": "number"}]}, st.integers(-9, 9) | st.just(0.5)),
    ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, st.integers(-9, 9) | TEXT),
    ({"$ref": "#/$defs/place"}, st.fixed_dictionaries({"city": TEXT}, optional={"floor": st.integers(0, 9)})),
    ({"$ref": "#/$defs/tree"}, st.just(TREE)),
    ({"type": "object", "additionalProperties": {"type": "string"}}, st.dictionaries(TEXT, TEXT, max_size=2)),
    ({}, st.none() | st.booleans() | TEXT),
    (True, st.integers()),
]
DEFS = {
    "place": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "floor": {"type": "integer"}},
        "required": ["city"],
    },
    "tree": {"type": "object", "properties": {"below": {"type": "array", "items": {"$ref": "#/$defs/tree"}}}},
}


def _arrays(case: _Case) -> _Case:
    schema, values = case
    return {"type": "array", "items": schema}, st.lists(values, max_size=3)


def _object(fields: dict[str, tuple[_Case, bool]]) -> _Case:
    schema = {
        "type": "object",
        "properties": {name: case[0] for name, (case, _) in fields.items()},
        "required": [name for name, (_, required) in fields.items() if required],
    }
    present = {name: case[1] for name, (case, required) in fields.items() if required}
    optional = {name: case[1] for name, (case, required) in fields.items() if not required}
    return schema, st.fixed_dictionaries(present, optional=optional)


def _objects(cases: st.SearchStrategy[_Case]) -> st.SearchStrategy[_Case]:
    return st.dictionaries(NAMES, st.tuples(cases, st.booleans()), max_size=4).map(_object)


CASES = st.recursive(st.sampled_from(LEAVES), lambda inner: inner.map(_arrays) | _objects(inner), max_leaves=6)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(case=_objects(CASES), data=st.data())
def test_whatever_fits_the_tool_fits_its_cedar_schema(
    case: _Case, data: st.DataObject, cedar: LoadCedar, question: AskFor, make_tool: MakeTool
) -> None:
    schema, values = case
    tool = make_tool(input_schema={**schema, "$defs": DEFS})
    policy = cedar('@id("never") forbid(principal, action, resource) when { context.origin == "nowhere" };', [tool])

    assert policy.decide(question(tool, {**data.draw(values), "undeclared": 1})).rules == ()


@pytest.mark.parametrize(
    ("schema", "value", "condition"),
    [
        ({"type": "string"}, "a", 'context.args.x == "a"'),
        ({"type": "integer"}, 7.0, "context.args.x == 7"),
        ({"type": "number"}, 0.25, 'context.args.x == decimal("0.25")'),
        ({"type": "number"}, 3, 'context.args.x == decimal("3.0")'),
        ({"type": "number"}, -1.0001, 'context.args.x == decimal("-1.0001")'),
        ({"type": "number"}, 1e-4, 'context.args.x == decimal("0.0001")'),
        ({"type": "boolean"}, True, "context.args.x"),
        ({"type": "array", "items": {"type": "string"}}, ["a", "b", "a"], 'context.args.x == ["b", "a"]'),
        ({"$ref": "#/$defs/place"}, {"city": "서울", "floor": 3}, 'context.args.x.city == "서울"'),
        ({"enum": ["ko", "en"]}, "ko", 'context.args.x like "k*"'),
    ],
)
def test_values_are_seen_in_cedars_own_types(
    schema: dict[str, Any], value: object, condition: str, cedar: LoadCedar, question: AskFor, make_tool: MakeTool
) -> None:
    tool = make_tool(input_schema={"type": "object", "properties": {"x": schema}, "required": ["x"], "$defs": DEFS})
    policy = cedar(f'@id("seen") forbid(principal, action, resource) when {{ {condition} }};', [tool])

    assert policy.decide(question(tool, {"x": value})).rules == ("cedar.seen",)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        {"$ref": "#/$defs/nowhere"},
        {},
    ],
)
def test_what_cedar_has_no_type_for_is_listed_and_can_not_be_spoken_of(
    schema: dict[str, Any], cedar: LoadCedar, make_tool: MakeTool
) -> None:
    tool = make_tool(input_schema={"type": "object", "properties": {"x": schema, "y": {"type": "string"}}})

    assert cedar("", [tool]).unseen == {"pay": ["x"]}
    with pytest.raises(DefinitionError, match="not found"):
        cedar('forbid(principal, action == Daeri::Action::"pay", resource) when { context.args.x == "a" };', [tool])


def test_an_argument_that_may_be_left_out_must_be_asked_for_first(cedar: LoadCedar, make_tool: MakeTool) -> None:
    tool = make_tool(input_schema={"type": "object", "properties": {"x": {"type": "integer"}}})

    with pytest.raises(DefinitionError, match="optional attribute"):
        cedar("forbid(principal, action, resource) when { context.args.x > 1 };", [tool])
    cedar("forbid(principal, action, resource) when { context.args has x && context.args.x > 1 };", [tool])


@pytest.mark.parametrize("amount", [1000.00004, 1000.00005, 999.99999, -1e-7, 10**15 + 0.5, 10**400])
def test_a_number_that_would_have_to_be_rounded_is_denied_whatever_policy_says(
    amount: float, cedar: LoadCedar, question: AskFor, make_tool: MakeTool
) -> None:
    tool = make_tool(input_schema={"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]})
    cap = 'forbid(principal, action == Daeri::Action::"pay", resource)'
    policy = cedar(f'{cap} when {{ context.args.x.greaterThan(decimal("1000.0")) }};', [tool])

    decision = policy.decide(question(tool, {"x": amount}))

    assert (decision.verdict, decision.rules) == ("deny", ("cedar.error",))
    assert "decimal" in decision.reasons[0]
    assert str(amount) not in decision.reasons[0]
