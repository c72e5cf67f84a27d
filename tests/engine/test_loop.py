from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from daeri.engine import BlockCompleted, TextDraft
from daeri.models import CallAnswer, Usage
from daeri.tools import tool

if TYPE_CHECKING:
    from tests.engine.conftest import Lab


@tool(read_only=True)
def price(item: str) -> int:
    """Price of an item."""
    return {"pen": 24, "cap": 7}[item]


async def test_a_tool_turn_is_followed_by_the_answer(lab: Lab) -> None:
    model = lab.Model(lab.calls(lab.call("price", {"item": "pen"})), lab.says("24 dollars."))
    result = await lab.run(model, price)
    assert (result.status, result.reason, result.answer, result.answer_kind) == (
        "succeeded",
        "answered",
        "24 dollars.",
        "model",
    )
    assert [(call.tool, call.arguments, call.state, call.shown) for call in result.calls] == [
        ("price", {"item": "pen"}, "succeeded", "24")
    ]


async def test_the_model_gets_its_reply_and_the_result_back_as_one_block(lab: Lab) -> None:
    asked = lab.calls(lab.call("price", {"item": "pen"}))
    model = lab.Model(asked, lab.says("24 dollars."))
    await lab.run(model, price)
    [first, second] = model.requests
    assert first.blocks == ()
    assert [(block.reply, block.answers) for block in second.blocks] == [
        (asked, (CallAnswer(call=asked.calls[0], content="24"),))
    ]


async def test_steps_usage_and_cost_add_up_over_the_turns(lab: Lab) -> None:
    model = lab.Model(lab.calls(lab.call("price", {"item": "pen"})), lab.says("24 dollars."))
    result = await lab.run(model, price)
    assert (result.steps, result.usage, str(result.cost)) == (2, Usage(input_tokens=200, output_tokens=20), "0.02")


async def test_the_cost_is_unknown_when_the_price_of_one_turn_is(lab: Lab) -> None:
    asked = lab.calls(lab.call("price", {"item": "pen"}))
    result = await lab.run(lab.Model(asked, lab.says("24 dollars.", cost=None)), price)
    assert result.cost is None


async def test_the_calls_of_one_turn_run_at_the_same_time(lab: Lab) -> None:
    barrier = asyncio.Barrier(3)

    @tool(read_only=True)
    async def meet(place: int) -> int:
        """Wait for the others."""
        await barrier.wait()
        return place

    asked = lab.calls(*(lab.call("meet", {"place": place}) for place in range(3)))
    result = await lab.run(lab.Model(asked, lab.says("All met.")), meet)
    assert [call.state for call in result.calls] == ["succeeded"] * 3


async def test_results_go_back_in_call_order_whatever_order_they_finish_in(lab: Lab) -> None:
    ready = [asyncio.Event() for _ in range(4)]
    ready[3].set()
    finished: list[int] = []

    @tool(read_only=True)
    async def countdown(place: int) -> str:
        """The last one finishes first."""
        await ready[place].wait()
        finished.append(place)
        if place:
            ready[place - 1].set()
        return f"place {place}"

    asked = lab.calls(*(lab.call("countdown", {"place": place}) for place in range(4)))
    model = lab.Model(asked, lab.says("Done."))
    result = await lab.run(model, countdown)
    assert finished == [3, 2, 1, 0]
    places = [f"place {place}" for place in range(4)]
    assert [answer.content for answer in model.requests[1].blocks[0].answers] == places
    [block] = [event.body for event in await lab.journal(result.run_id) if isinstance(event.body, BlockCompleted)]
    assert [(answer.call_id, answer.content) for answer in block.answers] == [
        (f"{result.run_id}.1.{place}", places[place]) for place in range(4)
    ]


async def test_one_failing_call_leaves_the_others_of_its_turn_alone(lab: Lab) -> None:
    asked = lab.calls(lab.call("price", {"item": "yacht"}), lab.call("price", {"item": "cap"}))
    model = lab.Model(asked, lab.says("The cap is 7."))
    result = await lab.run(model, price)
    assert [call.state for call in result.calls] == ["failed", "succeeded"]
    answers = model.requests[1].blocks[0].answers
    assert [answer.failed for answer in answers] == [True, False]
    assert "KeyError" in answers[0].content
    assert (result.status, result.answer) == ("succeeded", "The cap is 7.")


async def test_text_beside_calls_is_a_draft_and_never_released(lab: Lab) -> None:
    asked = lab.calls(lab.call("price", {"item": "pen"}), text="It will be 99 dollars.")
    run = await lab.start(lab.Model(asked, lab.says("24 dollars.")), price)
    drafts = [event.body.text async for event in run.events() if isinstance(event.body, TextDraft)]
    result = await lab.result(run)
    assert drafts == ["It will be 99 dollars.", "24 dollars."]
    assert result.answer == "24 dollars."
    released = [event.data["text"] for event in await lab.stored(run.run_id) if event.type == "answer.released"]
    assert released == ["24 dollars."]


async def test_after_an_empty_reply_the_model_is_told_once_and_may_still_answer(lab: Lab) -> None:
    model = lab.Model(lab.says(""), lab.says("Here it is."))
    result = await lab.run(model)
    assert (result.status, result.answer, result.steps) == ("succeeded", "Here it is.", 2)
    assert [bool(request.notice) for request in model.requests] == [False, True]
    assert "empty" in model.requests[1].notice


async def test_a_reply_of_only_reasoning_is_told_apart_from_an_empty_one(lab: Lab) -> None:
    model = lab.Model(lab.says("", reasoning="Let me think."), lab.says("Here it is."))
    result = await lab.run(model)
    assert "reasoning" in model.requests[1].notice
    assert (result.status, result.answer) == ("succeeded", "Here it is.")


async def test_reasoning_never_becomes_the_answer(lab: Lab) -> None:
    model = lab.Model(lab.says("", reasoning="It is 42."), lab.says("", reasoning="It is 42."))
    result = await lab.run(model)
    assert (result.status, result.reason, result.answer_kind) == ("failed", "model_failed", "apology")
    assert "42" not in result.answer


async def test_two_empty_replies_in_a_row_end_in_an_honest_sentence(lab: Lab) -> None:
    result = await lab.run(lab.Model(lab.says(""), lab.says(" \n")))
    assert (result.status, result.reason) == ("failed", "model_failed")
    assert result.answer == "The model gave no usable answer. Please try again or put the question differently."
    assert result.detail.startswith("unusable_reply")


async def test_an_empty_reply_long_after_another_is_told_again(lab: Lab) -> None:
    model = lab.Model(
        lab.says(""), lab.calls(lab.call("price", {"item": "pen"})), lab.says(""), lab.says("24 dollars.")
    )
    result = await lab.run(model, price)
    assert [bool(request.notice) for request in model.requests] == [False, True, False, True]
    assert result.answer == "24 dollars."


async def test_an_answer_that_the_output_limit_cut_says_so(lab: Lab) -> None:
    result = await lab.run(lab.Model(lab.says("The price is 2", finish="length")))
    assert (result.status, result.answer) == (
        "succeeded",
        "The price is 2\n[The answer was cut off by the output limit.]",
    )


async def test_a_goal_in_korean_gets_the_fixed_texts_in_korean(lab: Lab) -> None:
    result = await lab.run(lab.Model(lab.says(""), lab.says("")), goal="단가를 확인해 주세요.")
    assert result.answer == "모델이 쓸 수 있는 답을 주지 않았습니다. 다시 시도하거나 질문을 바꿔 주세요."


async def test_surrogates_in_goal_arguments_and_results_never_reach_the_record(lab: Lab) -> None:
    @tool(read_only=True)
    def echo(text: str) -> str:
        """Say it back, and a broken letter too."""
        return text + "\ud800"

    model = lab.Model(lab.calls(lab.call("echo", '{"text": "a\\udc00"}')), lab.says("ok"))
    result = await lab.run(model, echo, goal="broken \ud83d goal")
    assert model.requests[0].goal == "broken \ufffd goal"
    assert [(call.arguments, call.shown) for call in result.calls] == [({"text": "a\ufffd"}, "a\ufffd\ufffd")]
    assert await lab.refolded(result.run_id) == result
