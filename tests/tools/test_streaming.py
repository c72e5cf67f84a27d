"""An async generator function as a tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from pydantic import BaseModel, Field

from daeri.errors import DefinitionError
from daeri.text import Json
from daeri.tools import FunctionTool, NotSentError, Resilience, ResultError, ToolContext, UpstreamError, tool


class Row(BaseModel):
    number: int = Field(serialization_alias="no")


@tool
async def words(text: str) -> AsyncIterator[str]:
    """Say it word by word."""
    for word in text.split():
        yield word


@tool
async def rows(count: int) -> AsyncGenerator[Row, None]:
    """Give rows."""
    for number in range(count):
        yield Row(number=number)


@tool
async def anything(values: list[Any]) -> AsyncIterable[Any]:
    """Give them back."""
    for value in values:
        yield value


async def _heard(
    made: FunctionTool[..., Any], arguments: dict[str, Json], context: ToolContext
) -> tuple[Json, list[str]]:
    told: list[str] = []
    return await made.invoke(arguments, replace(context, report=told.append)), told


async def test_text_chunks_are_joined_and_each_is_reported(context: ToolContext) -> None:
    assert await _heard(words, {"text": "오늘 날씨 맑음"}, context) == ("오늘날씨맑음", ["오늘", "날씨", "맑음"])


async def test_other_chunks_are_a_list_and_are_reported_as_json(context: ToolContext) -> None:
    assert await _heard(rows, {"count": 2}, context) == ([{"no": 0}, {"no": 1}], ['{"no": 0}', '{"no": 1}'])


@pytest.mark.parametrize(
    ("values", "result"),
    [(["a", "b"], "ab"), (["a", 1], ["a", 1]), ([1, 2], [1, 2]), ([], []), ([""], "")],
    ids=str,
)
async def test_without_a_promise_the_result_is_text_if_all_chunks_are(
    context: ToolContext, values: list[Json], result: Json
) -> None:
    assert (await _heard(anything, {"values": values}, context))[0] == result


async def test_an_empty_stream_is_an_empty_text_or_list_as_promised(context: ToolContext) -> None:
    assert await _heard(words, {"text": ""}, context) == ("", [])
    assert await _heard(rows, {"count": 0}, context) == ([], [])


def test_the_contract_is_about_the_whole_result() -> None:
    assert words.tool.output_schema == {"type": "string"}
    assert rows.tool.output_schema is not None
    assert rows.tool.output_schema["type"] == "array"
    assert anything.tool.output_schema is None


async def test_called_directly_it_is_still_the_generator_that_it_was() -> None:
    assert [word async for word in words("a b")] == ["a", "b"]


@pytest.mark.parametrize("chunk", [float("nan"), object(), {1, object()}], ids=["nan", "object", "set"])
async def test_a_chunk_that_is_no_json_ends_the_stream(context: ToolContext, chunk: object) -> None:
    closed: list[bool] = []

    @tool
    async def stream() -> AsyncIterator[Any]:
        """Stream."""
        try:
            yield chunk
            yield "never reached"
        finally:
            closed.append(True)

    with pytest.raises(ResultError):
        await _heard(stream, {}, context)

    assert closed == [True]


async def test_a_chunk_that_is_not_the_promised_text_is_no_result(context: ToolContext) -> None:
    @tool
    async def stream() -> AsyncIterator[str]:
        """Stream."""
        number: Any = 1
        yield number

    with pytest.raises(ResultError, match="not the text that its annotation promises"):
        await _heard(stream, {}, context)


async def test_a_stream_without_end_is_given_up(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("daeri.tools._stream.MAX_STREAM_CHARS", 100)

    @tool
    async def stream() -> AsyncIterator[str]:
        """Stream."""
        while True:
            yield "x"

    with pytest.raises(ResultError, match="goes on after 100 characters"):
        await _heard(stream, {}, context)


async def test_others_have_their_turn_while_a_stream_never_waits(context: ToolContext) -> None:
    ticks: list[int] = []

    async def other() -> None:
        while True:
            ticks.append(1)
            await asyncio.sleep(0)

    ticking = asyncio.create_task(other())
    await _heard(words, {"text": "a " * 100}, context)
    ticking.cancel()

    assert len(ticks) >= 100


async def test_cancelling_closes_the_stream(context: ToolContext) -> None:
    begun, closed = asyncio.Event(), asyncio.Event()

    @tool
    async def stream() -> AsyncIterator[str]:
        """Stream."""
        try:
            begun.set()
            await asyncio.Event().wait()
            yield "never"
        finally:
            closed.set()

    streaming = asyncio.create_task(stream.invoke({}, context))
    await begun.wait()
    streaming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await streaming

    assert closed.is_set()


def test_an_annotation_that_hides_the_stream_is_refused() -> None:
    async def stream() -> AsyncIterator[str]:
        yield "a"

    stream.__annotations__["return"] = str

    with pytest.raises(DefinitionError, match="AsyncIterator"):
        tool(stream)


@pytest.mark.parametrize("error", [ConnectionResetError("reset"), TimeoutError("late"), UpstreamError("down")], ids=str)
async def test_what_says_that_the_system_is_away_leaves_the_tool_as_an_upstream_error(
    context: ToolContext, error: Exception
) -> None:
    @tool
    def act() -> str:
        """Act."""
        raise error

    with pytest.raises(UpstreamError) as caught:
        await act.invoke({}, context)

    assert not isinstance(caught.value, NotSentError)


@pytest.mark.parametrize(
    "fields",
    [
        {"attempts": 0},
        {"attempts": 11},
        {"first_wait_s": 0},
        {"idle_timeout_s": -1},
        {"breaker_reset_s": float("inf")},
        {"breaker_failures": -1},
        {"max_concurrent": 0},
        {"max_queued": 5},
    ],
    ids=str,
)
def test_limits_that_make_no_sense_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(DefinitionError, match=next(iter(fields))):
        Resilience(**fields)
