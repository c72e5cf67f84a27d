from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal, NotRequired
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator, BaseModel, Field
from typing_extensions import TypedDict

from daeri.errors import ToolError
from daeri.text import Json
from daeri.tools import ArgumentsError, FunctionTool, PythonTools, ResultError, SchemaValidator, ToolContext, tool

if TYPE_CHECKING:
    pass


class Currency(Enum):
    KRW = "KRW"
    USD = "USD"


@dataclass
class Line:
    """One line of an order."""

    sku: str
    count: int = 1


class Address(TypedDict):
    city: str
    zip: NotRequired[str]


class Customer(BaseModel):
    title: str
    email: str | None = None


def even(number: int) -> int:
    if number % 2:
        raise ValueError("must be even")
    return number


class Promise(TypedDict):
    price: Decimal
    moment: datetime
    clock: time
    span: timedelta


@tool
async def echo(
    amount: Decimal = Decimal(1),
    day: date | None = None,
    moment: datetime | None = None,
    clock: time | None = None,
    span: timedelta | None = None,
    line: Line | None = None,
) -> Any:
    return [type(value).__name__ for value in (amount, day, moment, clock, span, line)]


@tool
async def promised(price: Decimal, moment: datetime, clock: time, span: timedelta) -> Promise:
    return Promise(price=price, moment=moment, clock=clock, span=span)


@tool
def everything(
    text: str,
    count: int,
    price: Decimal,
    ratio: float,
    exact: bool,
    currency: Currency,
    mode: Literal["fast", "slow"],
    line: Line,
    lines: list[Line],
    address: Address,
    customer: Customer,
    day: date,
    moment: datetime,
    clock: time,
    span: timedelta,
    key: UUID,
    either: int | str,
    small: Annotated[int, Field(ge=1, le=9, description="One digit.")],
    table: dict[str, float],
    pair: tuple[int, str],
    maybe: str | None = None,
    *,
    note: str = "none",
) -> list[str]:
    """Take one of each kind."""
    given = (text, count, price, ratio, exact, currency, mode, line, lines[0], address, customer, day, moment)
    return [type(value).__name__ for value in (*given, clock, span, key, either, small, table, pair, maybe, note)]


ALL: dict[str, Any] = {
    "text": "가",
    "count": 1,
    "price": "12.50",
    "ratio": 0.5,
    "exact": True,
    "currency": "KRW",
    "mode": "fast",
    "line": {"sku": "a"},
    "lines": [{"sku": "a", "count": 2}],
    "address": {"city": "서울"},
    "customer": {"title": "Dr"},
    "day": "2026-03-31",
    "moment": "2026-03-31T09:30:00",
    "clock": "09:30:00",
    "span": "PT90M",
    "key": "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    "either": "x",
    "small": 3,
    "table": {"a": 1.5},
    "pair": [1, "b"],
}


def properties_of(made: FunctionTool[..., Any]) -> dict[str, Any]:
    found: Any = made.tool.input_schema["properties"]
    return found


async def test_every_kind_of_annotation_reaches_the_function_as_its_python_type(context: ToolContext) -> None:
    assert SchemaValidator(everything.tool.input_schema).problem(ALL) is None
    assert await everything.invoke(ALL, context) == [
        *("str", "int", "Decimal", "float", "bool", "Currency", "str", "Line", "Line", "dict", "Customer", "date"),
        *("datetime", "time", "timedelta", "UUID", "str", "int", "dict", "tuple", "NoneType", "str"),
    ]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("text", 1),
        ("count", "1"),
        ("count", 1.5),
        ("price", "ten"),
        ("ratio", "half"),
        ("exact", "yes"),
        ("currency", "EUR"),
        ("mode", "medium"),
        ("line", {"count": 1}),
        ("line", {"sku": "a", "colour": "red"}),
        ("lines", {}),
        ("address", {}),
        ("customer", {"title": None}),
        ("day", "31.3.2026"),
        ("day", "2026-02-30"),
        ("moment", "yesterday"),
        ("clock", "25:00:00"),
        ("span", "an hour"),
        ("key", "1234"),
        ("either", None),
        ("small", 10),
        ("table", {"a": "b"}),
        ("pair", [1]),
        ("maybe", 1),
        ("unknown", 1),
    ],
)
def test_the_schema_refuses_what_is_not_of_the_kind(name: str, wrong: Json) -> None:
    problem = SchemaValidator(everything.tool.input_schema).problem({**ALL, name: wrong})
    assert problem is not None
    assert name in str(problem)


def test_titles_that_only_repeat_names_are_left_out_and_properties_called_title_are_not() -> None:
    @tool
    def send(title: str, customer: Customer, cost: Annotated[int, Field(title="Won")]) -> Customer:
        return customer

    assert send.tool.input_schema == {
        "$defs": {
            "Customer": {
                "properties": {
                    "title": {"type": "string"},
                    "email": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                },
                "required": ["title"],
                "type": "object",
            }
        },
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string"},
            "customer": {"$ref": "#/$defs/Customer"},
            "cost": {"title": "Won", "type": "integer"},
        },
        "required": ["title", "customer", "cost"],
        "type": "object",
    }
    assert send.tool.output_schema is not None
    assert "title" not in send.tool.output_schema


@given(
    st.dictionaries(
        st.sampled_from(["amount", "day", "moment", "clock", "span", "line", "odd"]),
        st.from_regex(r"\A[+-]?[0-9.eE+-]{1,8}\Z")
        | st.from_regex(r"\A[0-9]{4}-[01][0-9]-[0-3][0-9]([T ][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{1,7})?Z?)?\Z")
        | st.from_regex(r"\A-?P([0-9]{1,4}[YMWD]){0,2}(T[0-9]{1,4}(\.[0-9]{1,7})?[HMS])?\Z")
        | st.integers()
        | st.fixed_dictionaries({"sku": st.text(), "count": st.integers()}),
    )
)
def test_whatever_the_schema_accepts_can_be_converted(arguments: dict[str, Json]) -> None:
    if SchemaValidator(echo.tool.input_schema).problem(arguments) is None:
        written = asyncio.run(echo.invoke(arguments, _context()))
        kinds = ("Decimal", "date", "datetime", "time", "timedelta", "Line")
        assert isinstance(written, list)
        assert all(kind in (wanted, "NoneType") for kind, wanted in zip(written, kinds, strict=True))


def _context() -> ToolContext:
    from daeri.identity import Principal

    return ToolContext(call_id="c", principal=Principal(tenant="t", subject="s"), locale="en", report=lambda _: None)


async def test_a_tool_can_still_be_called_like_the_function_it_was() -> None:
    @tool
    async def double(number: int) -> int:
        """Double it."""
        return number * 2

    assert await double(21) == 42
    assert double.__doc__ == "Double it."


async def test_the_context_is_given_and_not_offered(context: ToolContext) -> None:
    @tool
    def who(greeting: str, call: ToolContext | None = None) -> str:
        return f"{greeting} {call.principal.subject if call else 'nobody'}"

    assert list(properties_of(who)) == ["greeting"]
    assert await who.invoke({"greeting": "hi"}, context) == "hi kim"
    assert who("hi") == "hi nobody"


async def test_positional_only_and_awkwardly_named_parameters_are_passed_right(context: ToolContext) -> None:
    @tool
    def odd(
        _x: int, schema: int, /, model_config: int, from_: Annotated[int, Field(alias="from")], *, json: int
    ) -> str:
        return f"{_x}{schema}{model_config}{from_}{json}"

    assert list(properties_of(odd)) == ["_x", "schema", "model_config", "from", "json"]
    assert await odd.invoke({"_x": 1, "schema": 2, "model_config": 3, "from": 4, "json": 5}, context) == "12345"


async def test_a_default_is_used_fresh_for_every_call(context: ToolContext) -> None:
    @tool
    def collect(item: str, into: list[str] = []) -> list[str]:  # noqa: B006 - what a careless author writes
        into.append(item)
        return into

    assert await collect.invoke({"item": "a"}, context) == ["a"]
    assert await collect.invoke({"item": "b"}, context) == ["b"]


async def test_a_default_that_json_has_no_words_for_is_used_and_not_shown(context: ToolContext) -> None:
    @tool
    def use(limit: Any = object) -> bool:
        return limit is object

    assert properties_of(use) == {"limit": {}}
    assert await use.invoke({}, context) is True


async def test_sync_functions_run_in_threads_with_the_callers_context_variables(context: ToolContext) -> None:
    tenant = contextvars.ContextVar("tenant", default="none")

    @tool
    def where() -> dict[str, bool | str]:
        return {"main": threading.current_thread() is threading.main_thread(), "tenant": tenant.get()}

    tenant.set("acme")
    provider = PythonTools("python", [where])
    assert await where.invoke({}, context) == {"main": False, "tenant": "acme"}
    assert await provider.invoke("where", {}, context) == {"main": False, "tenant": "acme"}
    await provider.aclose()


async def test_a_sync_wrapper_around_an_async_function_is_awaited(context: ToolContext) -> None:
    async def work() -> str:
        return "done"

    @tool
    @functools.wraps(work)
    def wrapped() -> Any:
        return work()

    assert await wrapped.invoke({}, context) == "done"


@pytest.mark.parametrize("asynchronous", [False, True])
async def test_a_tool_that_exits_is_a_fault_of_the_tool_alone(asynchronous: bool, context: ToolContext) -> None:
    def leave() -> None:
        raise SystemExit(3)

    async def leave_async() -> None:
        raise SystemExit(3)

    made = tool(leave_async) if asynchronous else tool(leave)
    with pytest.raises(RuntimeError, match=r"sys\.exit\(3\)"):
        await made.invoke({}, context)


async def test_a_validator_of_the_functions_own_types_may_refuse(context: ToolContext) -> None:
    @tool
    def take(numbers: list[Annotated[int, AfterValidator(even)]]) -> int:
        return len(numbers)

    with pytest.raises(ArgumentsError) as caught:
        await take.invoke({"numbers": [2, 3]}, context)
    assert caught.value.problem.path == "/numbers/1"
    assert "must be even" in caught.value.diagnostic
    assert isinstance(caught.value, ToolError)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Decimal("1E+3"), "1E+3"),
        (datetime(2026, 3, 31, 9, tzinfo=UTC), "2026-03-31T09:00:00Z"),
        (Line(sku="a"), {"sku": "a", "count": 1}),
        (Currency.USD, "USD"),
        ({1: {"a"}}, {"1": ["a"]}),
        (None, None),
    ],
)
async def test_a_result_is_written_as_json(value: object, written: Json, context: ToolContext) -> None:
    @tool
    def give() -> Any:
        return value

    assert give.tool.output_schema is None
    assert await give.invoke({}, context) == written


@pytest.mark.parametrize(
    "value",
    [object(), float("nan"), [float("inf")], b"\xff", [10**5000]],
    ids=["object", "nan", "inf", "bytes", "huge"],
)
async def test_a_result_that_json_has_no_words_for_is_a_clear_fault(value: object, context: ToolContext) -> None:
    @tool
    def give() -> Any:
        return value

    with pytest.raises(ResultError, match="result of tool 'give' can't be written as JSON"):
        await give.invoke({}, context)


@given(
    st.decimals(allow_nan=False, allow_infinity=False),
    st.datetimes(),
    st.times(),
    st.timedeltas(),
)
def test_what_the_annotation_promises_fits_its_contract(
    price: Decimal, moment: datetime, clock: time, span: timedelta
) -> None:
    given = {"price": str(price), "moment": str(moment), "clock": str(clock), "span": span.total_seconds()}
    written = asyncio.run(promised.invoke(given, _context()))
    assert promised.tool.output_schema is not None
    assert SchemaValidator(promised.tool.output_schema).problem(written) is None


async def test_a_result_that_breaks_the_annotation_is_left_for_the_contract_check(context: ToolContext) -> None:
    @tool
    def count() -> int:
        wrong: Any = "many"
        return wrong

    assert count.tool.output_schema == {"type": "integer"}
    assert await count.invoke({}, context) == "many"
