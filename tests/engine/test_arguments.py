from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from daeri.engine import CallEvent, CallSummary
from daeri.tools import tool

if TYPE_CHECKING:
    from tests.engine.conftest import Lab

    from daeri.models import Finish

TOOLS_RUN: list[str] = []


@tool(name="orders.create")
def create(sku: str, count: int = 1) -> str:
    """Order something."""
    TOOLS_RUN.append(sku)
    return f"{count} x {sku}"


@tool(name="orders.ping")
def ping() -> str:
    """No arguments at all."""
    TOOLS_RUN.append("ping")
    return "pong"


@pytest.fixture(autouse=True)
def nothing_run() -> None:
    TOOLS_RUN.clear()


async def tried(
    lab: Lab, arguments: str, *, name: str = "orders.create", finish: Finish = "calls"
) -> tuple[CallSummary, str]:
    """The call as recorded, and what the model was shown for it in its next turn."""
    model = lab.Model(lab.calls(lab.call(name, arguments), finish=finish), lab.says("I could not."))
    result = await lab.run(model, create, ping)
    [answer] = model.requests[1].blocks[0].answers
    assert await lab.refolded(result.run_id) == result
    return result.calls[0], answer.content


async def test_malformed_json_is_named_with_its_place(lab: Lab) -> None:
    call, shown = await tried(lab, '{"sku": pen}')
    assert (call.state, call.failure and call.failure.kind) == ("failed", "malformed_arguments")
    assert shown.startswith("ERROR malformed_arguments: the arguments are not valid JSON: line 1, column 9")
    assert shown.endswith("Send the arguments again as one valid JSON object.")
    assert call.arguments == '{"sku": pen}'
    assert TOOLS_RUN == []


@pytest.mark.parametrize("arguments", ['{"sku": "pe', '{"sku"', '{"sku": "pen", "count": ', "{"])
async def test_arguments_that_the_output_limit_cut_get_a_message_of_their_own(lab: Lab, arguments: str) -> None:
    call, shown = await tried(lab, arguments, finish="length")
    assert call.failure is not None
    assert call.failure.kind == "truncated_arguments"
    assert shown.startswith("ERROR truncated_arguments")
    assert "Send less" in shown
    assert TOOLS_RUN == []


async def test_a_call_that_was_cut_before_its_arguments_began_does_not_run(lab: Lab) -> None:
    call, _ = await tried(lab, "", name="orders.ping", finish="length")
    assert call.failure is not None
    assert call.failure.kind == "truncated_arguments"
    assert TOOLS_RUN == []


async def test_unfinished_arguments_without_an_output_limit_are_malformed(lab: Lab) -> None:
    call, _ = await tried(lab, '{"sku": "pe', finish="calls")
    assert call.failure is not None
    assert call.failure.kind == "malformed_arguments"


async def test_a_complete_call_of_a_reply_that_was_cut_runs(lab: Lab) -> None:
    asked = lab.calls(
        lab.call("orders.create", {"sku": "pen"}), lab.call("orders.create", '{"sku": "c'), finish="length"
    )
    result = await lab.run(lab.Model(asked, lab.says("One pen.")), create)
    assert [call.state for call in result.calls] == ["succeeded", "failed"]
    assert TOOLS_RUN == ["pen"]


async def test_an_unknown_tool_is_answered_with_the_closest_name(lab: Lab) -> None:
    call, shown = await tried(lab, '{"sku": "pen"}', name="order.create")
    assert (call.state, call.failure and call.failure.kind) == ("denied", "unknown_tool")
    assert "there is no tool 'order.create'; did you mean orders.create?" in shown
    assert "Use only the tools that you were offered." in shown


@pytest.mark.parametrize(
    ("arguments", "path", "words"),
    [
        ({"sku": "pen", "colour": "red"}, "", "`colour`"),
        ({"count": 2}, "", "`sku`"),
        ({"sku": "pen", "count": "two"}, "/count", "an integer"),
        ({"sku": None}, "/sku", "a string"),
    ],
    ids=["extra", "missing", "ill typed", "null"],
)
async def test_arguments_that_do_not_fit_the_schema_are_named_with_their_place(
    lab: Lab, arguments: dict[str, object], path: str, words: str
) -> None:
    call, shown = await tried(lab, json.dumps(arguments))
    assert call.failure is not None
    assert (call.state, call.failure.kind, call.failure.path) == ("failed", "invalid_arguments", path)
    assert shown.startswith("ERROR invalid_arguments")
    assert words in shown
    assert call.arguments == arguments
    assert TOOLS_RUN == []


async def test_extra_missing_and_ill_typed_arguments_read_differently(lab: Lab) -> None:
    texts = ['{"sku": "pen", "colour": "red"}', '{"count": 2}', '{"sku": 1}', '{"sku": pen}', "[1]"]
    model = lab.Model(lab.calls(*(lab.call("orders.create", text) for text in texts)), lab.says("No."))
    await lab.run(model, create)
    assert len({answer.content for answer in model.requests[1].blocks[0].answers}) == len(texts)


@pytest.mark.parametrize("arguments", ["[1, 2]", "7", '"pen"', "null", "true"])
async def test_arguments_that_are_json_but_no_object_are_refused(lab: Lab, arguments: str) -> None:
    call, shown = await tried(lab, arguments)
    assert call.failure is not None
    assert call.failure.kind == "invalid_arguments"
    assert "must be a JSON object" in shown
    assert call.arguments == json.loads(arguments)


@pytest.mark.parametrize(
    "arguments",
    ['{"sku": NaN}', '{"sku": 1e999}', '{"sku": "a", "sku": "b"}', '{"sku": "a"} trailing', "9" * 5000],
    ids=["nan", "infinity", "duplicate key", "trailing", "huge integer"],
)
async def test_json_that_parsers_read_differently_is_malformed(lab: Lab, arguments: str) -> None:
    call, _ = await tried(lab, arguments)
    assert call.failure is not None
    assert call.failure.kind == "malformed_arguments"


@pytest.mark.parametrize("depth", [70, 300, 600, 100_000])
async def test_arguments_nested_too_deeply_are_refused(lab: Lab, depth: int) -> None:
    call, shown = await tried(lab, '{"sku":' * depth + "1" + "}" * depth)
    assert call.failure is not None
    assert call.failure.kind in ("invalid_arguments", "malformed_arguments")
    assert "nested" in shown


async def test_empty_arguments_are_an_empty_object(lab: Lab) -> None:
    call, shown = await tried(lab, "  ", name="orders.ping")
    assert (call.state, call.arguments, shown) == ("succeeded", {}, "pong")


async def test_every_refused_call_is_in_the_journal_with_its_kind(lab: Lab) -> None:
    texts = ["{", '{"colour": 1}', "[]"]
    asked = lab.calls(*(lab.call("orders.create", text) for text in texts), lab.call("nothing.here", {}))
    result = await lab.run(lab.Model(asked, lab.says("No.")), create)
    bodies = [event.body for event in await lab.journal(result.run_id)]
    assert sorted(body.failure.kind for body in bodies if isinstance(body, CallEvent) and body.failure) == [
        "invalid_arguments",
        "invalid_arguments",
        "malformed_arguments",
        "unknown_tool",
    ]


async def test_a_strict_tool_gets_the_default_of_an_optional_argument_and_no_null(lab: Lab) -> None:
    @tool(strict=True)
    def book(room: str, floor: int = 3) -> str:
        """Book a room."""
        return f"{room} on {floor}"

    model = lab.Model(lab.calls(lab.call("book", {"room": "A", "floor": None})), lab.says("Booked."))
    result = await lab.run(model, book)
    assert model.requests[0].tools[0].strict
    assert [(call.arguments, call.shown) for call in result.calls] == [({"room": "A", "floor": 3}, "A on 3")]
