"""Resolve, validate, decide: what is turned away at the door, and how it looks from outside and on record."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import AfterValidator

from daeri.errors import Failure
from daeri.identity import Principal
from daeri.text import Json, JsonObject
from daeri.tools import ToolContext, tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, OpenDoor


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(name="records.read", scopes=["records:read"])
async def read_record(number: int) -> str:
    """Read a record."""
    return f"record {number}"


@tool(name="records.write", scopes=["records:write", "audit:append"])
async def write_record(number: int) -> str:
    """Write a record."""
    return f"wrote {number}"


def _even(value: int) -> int:
    if value % 2:
        raise ValueError("must be even")
    return value


@tool
async def halve(number: Annotated[int, AfterValidator(_even)]) -> int:
    """Halve an even number."""
    return number // 2


def _nested(depth: int) -> Json:
    value: Json = 1
    for _ in range(depth):
        value = [value]
    return value


async def test_a_call_that_passes_every_step_gives_its_result(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(add)

    outcome = await door.boundary.call(ask("add", {"a": 1, "b": 2}))

    assert (outcome.state, outcome.value, outcome.failure) == ("succeeded", 3, None)
    assert outcome.decision is not None
    assert outcome.decision.verdict == "allow"


async def test_unknown_disabled_and_invisible_tools_look_the_same_from_outside(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(add, read_record, write_record)
    door.registry.disable("records.read")
    allowed = frozenset({"add"})
    requests = [ask("nosuch", allowed_tools=allowed)] + [
        ask(name, {"number": 1}, allowed_tools=allowed) for name in ("records.read", "records.write")
    ]

    outcomes = [await door.boundary.call(request) for request in requests]

    shapes = {
        (o.state, o.decision and o.decision.rules, o.failure and o.failure.diagnostic.replace(o.tool, "NAME"))
        for o in outcomes
    }
    assert shapes == {("denied", ("tool.unknown",), "there is no tool 'NAME'")}


async def test_a_tool_that_does_not_exist_for_the_caller_is_denied_on_record_before_its_arguments_are_looked_at(
    open_door: OpenDoor, ask: Ask
) -> None:
    door = await open_door(read_record)
    door.registry.disable("records.read")

    await door.boundary.call(ask("records.read", {"number": "not a number"}))

    (row,) = door.rows("SELECT state, definition_hash, failure FROM calls")
    assert (row["state"], row["definition_hash"]) == ("denied", None)
    assert json.loads(row["failure"])["kind"] == "unknown_tool"
    assert door.audit_kinds() == ["call.denied"]


async def test_hints_name_only_tools_that_exist_for_the_caller(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(read_record, write_record)

    outcome = await door.boundary.call(ask("records.reed", allowed_tools=frozenset({"records.write"})))

    assert outcome.failure is not None
    assert "records.write" in outcome.failure.diagnostic
    assert "records.read" not in outcome.failure.diagnostic


async def test_a_huge_tool_name_is_cut_in_answer_and_record(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(add)

    outcome = await door.boundary.call(ask("x" * 1_000_000 + "\ud800"))

    assert outcome.failure is not None
    assert len(outcome.failure.diagnostic) < 1_000
    assert len(door.rows("SELECT tool FROM calls")[0]["tool"]) < 1_000


@pytest.mark.parametrize(
    ("arguments", "path"),
    [
        ({"a": 1}, ""),
        ({"a": 1, "b": "two"}, "/b"),
        ({"a": 1, "b": 2, "c": 3}, ""),
        ([1, 2], ""),
        ("a=1", ""),
        (7, ""),
    ],
)
async def test_arguments_that_do_not_fit_fail_and_name_the_place(
    open_door: OpenDoor, ask: Ask, arguments: Json, path: str
) -> None:
    door = await open_door(add)

    outcome = await door.boundary.call(ask("add", arguments))

    assert (outcome.state, outcome.decision) == ("failed", None)
    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.path) == ("invalid_arguments", path)
    assert door.states() == ["failed"]
    assert door.audit_kinds() == ["call.failed"]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (_nested(100), "nested more than 64 deep"),
        (_nested(100_000), "nested more than 64 deep"),
        ("x" * 1_000_001, "more than 1,000,000 bytes"),
        (float("nan"), "a finite number"),
        (float("-inf"), "a finite number"),
        (10**5000, "digits"),
        (b"bytes", "a Python bytes"),
        ({1: "a key that is a number"}, "a key that is not a string"),
        (object(), "a Python object"),
    ],
    ids=["deep", "abyss", "long", "nan", "infinity", "digits", "bytes", "key", "object"],
)
async def test_arguments_beyond_every_limit_fail_as_data_and_stay_out_of_the_record(
    open_door: OpenDoor, ask: Ask, value: Any, says: str
) -> None:
    door = await open_door(add)

    outcome = await door.boundary.call(ask("add", {"a": value, "b": 2}))

    assert outcome.failure is not None
    assert (outcome.state, outcome.failure.kind) == ("failed", "invalid_arguments")
    assert says in outcome.failure.diagnostic
    recorded = json.loads(door.rows("SELECT arguments FROM calls")[0]["arguments"])
    assert recorded == {"left_out": outcome.failure.diagnostic}


async def test_even_for_an_unknown_tool_arguments_beyond_every_limit_are_no_crash(
    open_door: OpenDoor, ask: Ask
) -> None:
    door = await open_door(add)

    outcome = await door.boundary.call(ask("nosuch", {"a": _nested(100_000)}))

    assert (outcome.state, outcome.failure and outcome.failure.kind) == ("denied", "unknown_tool")


async def test_lone_surrogates_and_nul_in_arguments_are_replaced_before_the_tool_sees_them(
    open_door: OpenDoor, ask: Ask
) -> None:
    seen: list[str] = []

    @tool
    async def hear(text: str) -> int:
        """Hear."""
        seen.append(text)
        return len(text)

    door = await open_door(hear)

    await door.boundary.call(ask("hear", {"text": "a\ud800b\0c"}))

    assert seen == ["a\ufffdb\ufffdc"]
    assert json.loads(door.rows("SELECT arguments FROM calls")[0]["arguments"]) == {"text": "a\ufffdb\ufffdc"}


async def test_a_missing_scope_is_denied_with_the_scope_named(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(write_record)
    kim = Principal(tenant="acme", subject="user:kim", scopes=frozenset({"audit:*"}))

    outcome = await door.boundary.call(ask("records.write", {"number": 1}, principal=kim))

    assert outcome.state == "denied"
    assert outcome.failure == Failure(kind="denied", diagnostic="user:kim lacks the scope records:write")
    assert outcome.decision is not None
    assert outcome.decision.rules == ("scope.missing",)


async def test_a_denied_call_is_on_record_with_the_rule_that_spoke(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(write_record)
    await door.begin_run()

    await door.boundary.call(ask("records.write", {"number": 1}, run_id="r1"))

    (row,) = door.rows("SELECT state, decision FROM calls")
    assert (row["state"], json.loads(row["decision"])["rules"]) == ("denied", ["scope.missing"])
    assert door.audit_kinds() == ["call.denied"]
    assert door.journal_types() == ["run.started", "call.requested", "call.denied"]


async def test_a_scope_with_a_star_grants_all_below_it(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(write_record)
    kim = Principal(tenant="acme", subject="user:kim", scopes=frozenset({"records:*", "audit:append"}))

    assert (await door.boundary.call(ask("records.write", {"number": 1}, principal=kim))).state == "succeeded"


async def test_an_agent_is_denied_what_its_caller_may_but_it_may_not(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(read_record)
    kim = Principal(tenant="acme", subject="user:kim", scopes=frozenset({"records:*"}))

    outcome = await door.boundary.call(ask("records.read", {"number": 1}, principal=kim.acting_as("bot", ["mail:*"])))

    assert (outcome.state, outcome.failure and outcome.failure.kind) == ("denied", "denied")


async def test_nothing_in_the_arguments_widens_the_rights_of_the_caller(open_door: OpenDoor, ask: Ask) -> None:
    seen: list[Principal] = []

    @tool(scopes=["records:read"])
    async def who(principal: dict[str, str], context: ToolContext) -> str:
        """Say who asks."""
        seen.append(context.principal)
        return principal["subject"]

    door = await open_door(who)
    claimed: JsonObject = {"principal": {"subject": "user:admin", "scopes": "*"}}
    nobody = Principal(tenant="acme", subject="user:nobody")

    assert (await door.boundary.call(ask("who", claimed, principal=nobody))).state == "denied"
    await door.boundary.call(ask("who", claimed))
    assert [principal.subject for principal in seen] == ["user:kim"]


async def test_arguments_that_a_type_of_the_function_refuses_are_invalid_arguments_too(
    open_door: OpenDoor, ask: Ask
) -> None:
    door = await open_door(halve)

    outcome = await door.boundary.call(ask("halve", {"number": 3}))

    assert outcome.failure is not None
    assert (outcome.failure.kind, outcome.failure.path) == ("invalid_arguments", "/number")


async def test_a_call_that_its_caller_could_not_read_is_on_record_as_failed_and_nothing_ran(
    open_door: OpenDoor, ask: Ask
) -> None:
    door = await open_door(add)
    failure = Failure(kind="malformed_arguments", diagnostic="the arguments are not valid JSON")

    outcome = await door.boundary.reject(ask("add", '{"a": 1,'), failure)

    assert (outcome.state, outcome.failure) == ("failed", failure)
    (row,) = door.rows("SELECT state, arguments FROM calls")
    assert row == {"state": "failed", "arguments": json.dumps('{"a": 1,')}


async def test_visible_tools_are_the_enabled_ones_of_the_allow_list(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(add, read_record, write_record)
    door.registry.disable("records.read")

    names = [tool.name for tool in door.boundary.visible_tools(ask("add").principal, frozenset({"records.*"}))]

    assert names == ["records.write"]
