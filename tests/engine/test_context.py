from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from daeri.engine import ContextTrimmed, Limits
from daeri.engine._context import Context, Window, block_tokens, fit_block
from daeri.models import Block, CallAnswer, ModelCall, ModelReply, ToolSpec
from daeri.tools import tool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.engine.conftest import Lab

CUT = "characters cut"
SPEC = ToolSpec(name="note", description="Give a text back.", input_schema={"type": "object"})

lengths = st.integers(0, 3000)
words = st.sampled_from(["word ", "가격은 ", "7, ", "x"])


@st.composite
def texts(draw: st.DrawFn) -> str:
    return (draw(words) * draw(lengths))[: draw(lengths)]


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    calls = tuple(
        ModelCall(id=f"c{index}", name="note", arguments=f'{{"text": "{draw(texts())}"}}')
        for index in range(draw(st.integers(1, 3)))
    )
    answers = tuple(CallAnswer(call=call, content=draw(texts())) for call in calls)
    raw = {"parts": [draw(texts())]} if draw(st.booleans()) else None
    return Block(reply=ModelReply(text=draw(texts()), calls=calls, raw=raw), answers=answers)


@st.composite
def limits(draw: st.DrawFn) -> Limits:
    return Limits(
        max_context_blocks=draw(st.integers(1, 6)),
        context_tokens=draw(st.integers(0, 1000) | st.integers(0, 20_000)),
    )


def window(some: Sequence[Block], given_limits: Limits) -> Window:
    return Context(instructions="Be brief.", goal="Do it.", tools=[SPEC], limits=given_limits).window(some)


some_blocks = st.lists(blocks(), max_size=8)


@given(some_blocks, limits())
@settings(max_examples=60, deadline=None)
def test_every_call_in_the_window_has_its_answer_and_every_answer_its_call(
    some: list[Block], given_limits: Limits
) -> None:
    for block in window(some, given_limits).blocks:
        assert [answer.call for answer in block.answers] == list(block.reply.calls)


@given(some_blocks, limits())
@settings(max_examples=60, deadline=None)
def test_the_window_is_the_newest_blocks_whole_and_no_more_than_allowed(
    some: list[Block], given_limits: Limits
) -> None:
    made = window(some, given_limits)
    assert len(made.blocks) <= given_limits.max_context_blocks
    older = made.blocks[:-1]
    assert list(older) == some[len(some) - len(made.blocks) : -1]


@given(some_blocks, limits())
@settings(max_examples=60, deadline=None)
def test_the_line_that_stands_for_what_was_left_out_is_there_exactly_when_something_was(
    some: list[Block], given_limits: Limits
) -> None:
    made = window(some, given_limits)
    assert made.omitted == len(some) - len(made.blocks)
    assert bool(made.line) == (made.omitted > 0)


@given(some_blocks.filter(bool), limits())
@settings(max_examples=60, deadline=None)
def test_the_newest_block_is_always_there_and_whole_or_visibly_cut(some: list[Block], given_limits: Limits) -> None:
    shown, newest = window(some, given_limits).blocks[-1], some[-1]
    assert len(shown.reply.calls) == len(newest.reply.calls)
    for cut, whole in zip(shown.answers, newest.answers, strict=True):
        assert cut.content == whole.content or CUT in cut.content
        assert cut.call.arguments == whole.call.arguments or CUT in cut.call.arguments
    assert shown.reply.text == newest.reply.text or CUT in shown.reply.text


@given(some_blocks, limits())
@settings(max_examples=60, deadline=None)
def test_more_than_one_block_never_takes_more_tokens_than_there_are(some: list[Block], given_limits: Limits) -> None:
    made = window(some, given_limits)
    if len(made.blocks) > 1:
        assert sum(map(block_tokens, made.blocks)) <= given_limits.context_tokens


@given(blocks(), st.integers(1, 3000))
@settings(max_examples=60, deadline=None)
def test_a_block_is_cut_until_it_fits_or_nothing_long_is_left_of_it(block: Block, tokens: int) -> None:
    made = fit_block(block, tokens)
    long = [answer.content for answer in made.answers if len(answer.content) > 200]
    long += [call.arguments for call in made.reply.calls if len(call.arguments) > 420]
    long += [made.reply.text] if len(made.reply.text) > 200 else []
    assert block_tokens(made) <= tokens or long == []


def test_a_cut_answer_says_how_much_of_the_whole_is_missing() -> None:
    call = ModelCall(id="c", name="note", arguments="{}")
    block = Block(reply=ModelReply(calls=(call,)), answers=(CallAnswer(call=call, content="word " * 2000),))
    [answer] = fit_block(block, 200).answers
    assert "of 10,000 characters cut" in answer.content


def test_without_its_oldest_block_the_window_counts_one_more_as_left_out() -> None:
    context, block = roomy_context(), block_of("x")
    assert context.shorter(Window(blocks=(block, block), omitted=3)) == Window(
        blocks=(block,), omitted=4, reason="overflow"
    )
    assert context.shorter(Window(blocks=())) is None


def test_the_only_block_is_cut_visibly_when_the_model_finds_it_too_long() -> None:
    context = roomy_context()
    window = context.window([block_of("word " * 2000)])
    shorter = context.shorter(window)
    assert shorter is not None
    [cut] = shorter.blocks
    assert "of 10,000 characters cut" in cut.answers[0].content
    assert block_tokens(cut) <= block_tokens(window.blocks[0]) // 2


def test_what_was_too_long_once_is_not_sent_again_in_the_next_turn() -> None:
    context, blocks = roomy_context(), [block_of("word " * 500) for _ in range(4)]
    context.shorter(context.window(blocks))
    assert len(context.window([*blocks, block_of("word " * 500)]).blocks) == 3


def roomy_context() -> Context:
    return Context(instructions="", goal="", tools=(), limits=Limits())


def block_of(content: str) -> Block:
    call = ModelCall(id="c", name="note", arguments="{}")
    return Block(reply=ModelReply(calls=(call,)), answers=(CallAnswer(call=call, content=content),))


@tool(read_only=True)
def note(text: str) -> str:
    """Give a text back."""
    return text


async def test_a_long_run_shows_the_model_only_the_newest_blocks_and_says_so(lab: Lab) -> None:
    model = lab.Model(*(lab.calls(lab.call("note", {"text": text})) for text in "abcd"), lab.says("d"))
    result = await lab.run(model, note, limits=Limits(max_context_blocks=2))
    shown = [[block.answers[0].content for block in request.blocks] for request in model.requests]
    assert shown == [[], ["a"], ["a", "b"], ["b", "c"], ["c", "d"]]
    assert [request.omitted for request in model.requests[:3]] == ["", "", ""]
    assert model.requests[4].omitted.startswith("[2 earlier steps were left out here")
    trimmed = [event.body for event in await lab.journal(result.run_id) if isinstance(event.body, ContextTrimmed)]
    assert trimmed == [
        ContextTrimmed(step=4, kept=2, omitted=1, reason="block_count"),
        ContextTrimmed(step=5, kept=2, omitted=2, reason="block_count"),
    ]


async def test_blocks_leave_for_want_of_tokens_too(lab: Lab) -> None:
    texts = ["first " * 400, "second " * 400]
    model = lab.Model(*(lab.calls(lab.call("note", {"text": text})) for text in texts), lab.says("ok"))
    result = await lab.run(model, note, limits=Limits(context_tokens=1600))
    assert len(model.requests[2].blocks) == 1
    assert model.requests[2].blocks[0].answers[0].content == texts[1]
    [trimmed] = [event.body for event in await lab.journal(result.run_id) if isinstance(event.body, ContextTrimmed)]
    assert trimmed.reason == "token_budget"


async def test_instructions_and_goal_stay_however_small_the_budget(lab: Lab) -> None:
    model = lab.Model(lab.calls(lab.call("note", {"text": "a"})), lab.says("a"))
    await lab.run(model, note, goal="Say a.", limits=Limits(context_tokens=1))
    assert [(request.goal, bool(request.instructions)) for request in model.requests] == [("Say a.", True)] * 2
    assert len(model.requests[1].blocks) == 1


async def test_a_long_result_is_shown_by_head_and_tail_with_a_mark(lab: Lab) -> None:
    text = "HEAD" + "x" * 9992 + "TAIL"
    model = lab.Model(lab.calls(lab.call("note", {"text": text})), lab.says("long"))
    result = await lab.run(model, note)
    [answer] = model.requests[1].blocks[0].answers
    assert len(answer.content) <= 4000
    assert answer.content.startswith("HEAD")
    assert answer.content.endswith("TAIL")
    assert "of 10,000 characters cut" in answer.content
    assert f"the full result is on record as {result.run_id}.1.0" in answer.content


async def test_the_full_result_stays_in_the_store(lab: Lab) -> None:
    text = "x" * 10_000
    result = await lab.run(lab.Model(lab.calls(lab.call("note", {"text": text})), lab.says("long")), note)
    assert await lab.boundary.result_of("acme", result.calls[0].call_id) == text


async def test_the_mark_says_exactly_how_much_was_cut(lab: Lab) -> None:
    run = await lab.start(
        lab.Model(lab.calls(lab.call("note", {"text": "y" * 5000})), lab.says("long")),
        note,
        limits=Limits(max_tool_output_chars=500),
    )
    result = await lab.result(run)
    [block] = [event for event in await lab.stored(run.run_id) if event.type == "block.completed"]
    shown = result.calls[0].shown
    assert f"[... {5000 - shown.count('y'):,} of 5,000 characters cut" in shown
    assert str(5000 - shown.count("y")) in str(block.data)


@pytest.mark.parametrize("limit", [1, 20, 60, 120])
async def test_even_a_tiny_cap_marks_its_cut(lab: Lab, limit: int) -> None:
    model = lab.Model(lab.calls(lab.call("note", {"text": "z" * 5000})), lab.says("long"))
    result = await lab.run(model, note, limits=Limits(max_tool_output_chars=limit))
    assert CUT in result.calls[0].shown


async def test_a_long_failure_is_capped_too(lab: Lab) -> None:
    @tool(read_only=True)
    def fail() -> str:
        """Complain at length."""
        raise RuntimeError("no " * 5000)

    model = lab.Model(lab.calls(lab.call("fail")), lab.says("It failed."))
    await lab.run(model, fail, limits=Limits(max_tool_output_chars=300))
    [answer] = model.requests[1].blocks[0].answers
    assert len(answer.content) <= 300
    assert answer.content.startswith("ERROR tool_error")
