from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from daeri.errors import DefinitionError
from daeri.tools import Resilience, StaticAnswer, Tool, tool

if TYPE_CHECKING:
    from fractions import Fraction


def definition_problem(function: Callable[..., Any], **options: Any) -> str:
    with pytest.raises(DefinitionError) as caught:
        tool(**options)(function)
    return str(caught.value)


def test_what_governs_a_tool_is_declared_where_it_is_defined() -> None:
    @tool(
        name="pay.send",
        description="Send money.",
        scopes=["pay:send"],
        risk="high",
        destructive=True,
        idempotent=True,
        open_world=True,
        timeout_s=5,
        tags=["money"],
        trusted=True,
        consequences="Money leaves the account.",
    )
    def send(to: str) -> None:
        raise AssertionError(to)

    made = send.tool
    assert (made.name, made.description, made.scopes, made.risk) == (
        "pay.send",
        "Send money.",
        frozenset({"pay:send"}),
        "high",
    )
    marks = made.annotations
    assert (marks.read_only, marks.destructive, marks.idempotent, marks.open_world) == (False, True, True, True)
    assert (made.timeout_s, made.tags, made.trusted) == (5, frozenset({"money"}), True)
    assert made.consequences == "Money leaves the account."
    assert made.output_schema is None


def test_a_parameter_that_can_not_be_offered_is_named_with_what_to_do() -> None:
    def many(*items: str) -> None: ...
    def options(**settings: str) -> None: ...
    def bare(x: str) -> None: ...
    def opaque(good: int, handle: threading.Lock) -> None: ...
    def callback(then: Callable[[], None]) -> None: ...
    def absent(share: Fraction) -> None: ...

    del bare.__annotations__["x"]
    assert "parameter `*items` takes any number" in definition_problem(many)
    assert "parameter `**settings` takes any number" in definition_problem(options)
    assert "parameter `x` has no type annotation. Write `x: str`" in definition_problem(bare)
    assert "parameter `handle` can't be described" in definition_problem(opaque)
    assert "parameter `then` can't be described" in definition_problem(callback)
    assert "annotation of parameter `share` can't be resolved" in definition_problem(absent)


def test_a_function_that_can_not_be_a_tool_is_refused_with_what_to_do() -> None:
    def opaque_result() -> threading.Event: ...
    def stream() -> Iterator[int]:
        yield 1

    assert "the result can't be described" in definition_problem(opaque_result)
    assert "Make it async to stream them, or return a list" in definition_problem(stream)
    assert "not a function" in definition_problem(functools.partial(stream))


def test_a_method_is_a_tool_once_it_is_bound() -> None:
    class Account:
        def close(self, now: bool) -> None: ...

    assert "Decorate the bound method" in definition_problem(Account.close)
    assert tool(Account().close).tool.input_schema["required"] == ["now"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scopes": "pay:send"}, "Write scopes=['pay:send']"),
        ({"tags": "money"}, "Write tags=['money']"),
        ({"risk": "extreme"}, "unknown risk 'extreme'"),
        ({"timeout_s": 0}, "above 0"),
        ({"read_only": True, "destructive": True}, "exclude each other"),
        ({"strict": True}, "strict=True, but `/properties/table` of the schema allows properties of any name"),
        ({"name": "no spaces"}, "the name is not valid"),
        ({"name": "a..b"}, "the name is not valid"),
        ({"name": "x" * 129}, "the name is not valid"),
        ({"name": "\u1100\u1161"}, "not in Unicode form NFC"),
    ],
)
def test_an_option_that_cannot_work_is_refused(options: dict[str, Any], words: str) -> None:
    def put(table: dict[str, str]) -> None:
        raise AssertionError(table)

    assert words in definition_problem(put, **options)


def test_a_korean_name_is_as_good_as_any() -> None:
    @tool(name="급여.조회")
    def salary(이름: str) -> str:
        return 이름

    assert salary.tool.name == "급여.조회"
    assert salary.tool.input_schema["required"] == ["이름"]


DECLARED = Tool(name="pay", description="Pay.", input_schema={"type": "object"})


@pytest.mark.parametrize(
    "changed",
    [
        {"tags": frozenset({"money"})},
        {"trusted": True},
        {"risk": "high"},
        {"resilience": Resilience(fallback="pay.last")},
        {"resilience": Resilience(fallback=StaticAnswer(value="pay.last"))},
        {"resilience": Resilience(fallback=StaticAnswer(value=None))},
    ],
    ids=str,
)
def test_what_governs_a_tool_or_answers_for_it_is_part_of_its_definition(changed: dict[str, Any]) -> None:
    assert replace(DECLARED, **changed).definition_hash != DECLARED.definition_hash


@pytest.mark.parametrize(
    "tuned", [{"timeout_s": 5.0}, {"enabled": False}, {"strict": True}, {"resilience": Resilience(attempts=9)}], ids=str
)
def test_how_patiently_a_tool_is_run_is_no_part_of_its_definition(tuned: dict[str, Any]) -> None:
    assert replace(DECLARED, **tuned).definition_hash == DECLARED.definition_hash


def test_a_tool_as_fallback_is_not_an_answer_of_the_same_words() -> None:
    tool_of_the_name = replace(DECLARED, resilience=Resilience(fallback="x"))
    answer = replace(DECLARED, resilience=Resilience(fallback=StaticAnswer(value="x")))

    assert tool_of_the_name.definition_hash != answer.definition_hash
