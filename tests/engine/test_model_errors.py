from __future__ import annotations

from typing import TYPE_CHECKING, get_args

import pytest

from daeri.engine import ContextTrimmed, Limits, ModelFailed, RetryPolicy, TextDraft, TextRestarted
from daeri.errors import ModelErrorKind
from daeri.models import ReasoningDelta, TextDelta, Usage
from daeri.text import message
from daeri.tools import tool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.engine.conftest import Lab

    from daeri.engine import RunResult
    from daeri.models import ModelEvent, ModelRequest
    from daeri.text import Locale

RETRYABLE = ("rate_limit", "overloaded", "server", "connection", "timeout")
FINAL = sorted(set(get_args(ModelErrorKind)) - set(RETRYABLE))


@tool(read_only=True)
def note(text: str) -> str:
    """Give a text back."""
    return text


async def failures(lab: Lab, result: RunResult) -> list[ModelFailed]:
    return [event.body for event in await lab.journal(result.run_id) if isinstance(event.body, ModelFailed)]


async def test_a_rate_limit_is_waited_out_as_long_as_the_provider_asks(lab: Lab) -> None:
    model = lab.Model(lab.fails("rate_limit", retry_after_s=0.01), lab.says("Hello!"))
    result = await lab.run(model)
    assert result.status == "succeeded"
    assert await failures(lab, result) == [
        ModelFailed(
            step=1, attempt=1, kind="rate_limit", detail="told to fail with rate_limit", retry_in_s=0.01, usage=None
        )
    ]


@pytest.mark.parametrize("kind", RETRYABLE)
async def test_a_passing_failure_is_tried_again_and_each_attempt_is_on_record(lab: Lab, kind: ModelErrorKind) -> None:
    model = lab.Model(lab.fails(kind), lab.fails(kind), lab.says("Hello!"))
    result = await lab.run(model)
    assert (result.status, result.steps, len(model.requests)) == ("succeeded", 1, 3)
    assert [(failed.kind, failed.attempt, failed.retry_in_s) for failed in await failures(lab, result)] == [
        (kind, 1, 0.0),
        (kind, 2, 0.0),
    ]


@pytest.mark.parametrize("kind", FINAL)
async def test_a_final_failure_is_not_tried_again(lab: Lab, kind: ModelErrorKind) -> None:
    model = lab.Model(lab.fails(kind), lab.says("never asked"))
    result = await lab.run(model)
    assert (result.status, result.reason, len(model.requests)) == ("failed", "model_failed", 1)
    assert [(failed.kind, failed.retry_in_s) for failed in await failures(lab, result)] == [(kind, None)]


async def test_the_waits_double_up_to_their_bound_and_are_drawn_below_it(lab: Lab) -> None:
    retry = RetryPolicy(attempts=6, first_wait_s=0.001, longest_wait_s=0.004)
    result = await lab.run(lab.Model(*(lab.fails("server") for _ in range(6))), retry=retry)
    waits = [failed.retry_in_s for failed in await failures(lab, result)]
    assert waits[-1] is None
    bounds = [0.001, 0.002, 0.004, 0.004, 0.004]
    assert all(wait is not None and 0 <= wait <= bound for wait, bound in zip(waits, bounds, strict=False))


async def test_a_provider_that_asks_for_more_patience_than_we_have_is_given_up(lab: Lab) -> None:
    model = lab.Model(lab.fails("rate_limit", retry_after_s=121), lab.says("never asked"))
    result = await lab.run(model)
    assert (result.status, len(model.requests)) == ("failed", 1)
    assert [failed.retry_in_s for failed in await failures(lab, result)] == [None]


@pytest.mark.parametrize("locale", ["ko", "en"])
@pytest.mark.parametrize("kind", get_args(ModelErrorKind))
async def test_when_all_attempts_fail_the_person_gets_an_honest_sentence(
    lab: Lab, kind: ModelErrorKind, locale: Locale
) -> None:
    result = await lab.run(lab.Model(*(lab.fails(kind) for _ in range(4))), locale=locale)
    assert (result.status, result.answer_kind) == ("failed", "apology")
    assert result.answer == message(f"model_failed.{kind}", locale)
    assert result.detail == f"{kind}: told to fail with {kind}"


async def test_the_last_of_all_attempts_is_on_record_as_final(lab: Lab) -> None:
    model = lab.Model(*(lab.fails("server") for _ in range(4)))
    result = await lab.run(model)
    assert len(model.requests) == 4
    assert [(failed.attempt, failed.retry_in_s) for failed in await failures(lab, result)] == [
        (1, 0.0),
        (2, 0.0),
        (3, 0.0),
        (4, None),
    ]


async def test_drafts_of_a_broken_stream_are_withdrawn(lab: Lab) -> None:
    model = lab.Model(lab.breaks_off(TextDelta(text="The pri"), TextDelta(text="ce")), lab.says("24 dollars."))
    run = await lab.start(model)
    shown = [event.body async for event in run.events() if isinstance(event.body, TextDraft | TextRestarted)]
    assert shown == [
        TextDraft(step=1, text="The pri"),
        TextDraft(step=1, text="ce"),
        TextRestarted(step=1),
        TextDraft(step=1, text="24 dollars."),
    ]
    assert (await lab.result(run)).answer == "24 dollars."


async def test_an_attempt_without_drafts_withdraws_nothing(lab: Lab) -> None:
    run = await lab.start(lab.Model(lab.fails("server"), lab.says("24 dollars.")))
    assert [event async for event in run.events() if isinstance(event.body, TextRestarted)] == []
    await lab.result(run)


@pytest.mark.parametrize("delta", [TextDelta(text="Half an answer"), ReasoningDelta(text="Half a thought")])
async def test_a_stream_that_breaks_off_is_counted_by_an_estimate(lab: Lab, delta: TextDelta | ReasoningDelta) -> None:
    result = await lab.run(lab.Model(lab.breaks_off(delta), lab.says("Whole.")))
    [failed] = await failures(lab, result)
    assert failed.usage is not None
    assert failed.usage.estimated
    assert (failed.usage.input_tokens > 0, failed.usage.output_tokens) == (True, 3)
    assert result.usage == failed.usage + Usage(input_tokens=100, output_tokens=10)
    assert result.cost is None


async def test_an_attempt_that_never_began_costs_nothing(lab: Lab) -> None:
    result = await lab.run(lab.Model(lab.fails("overloaded"), lab.says("Hello!")))
    assert (result.usage, str(result.cost)) == (Usage(input_tokens=100, output_tokens=10), "0.01")


async def test_a_stream_that_ends_without_a_reply_is_an_unusable_one(lab: Lab) -> None:
    async def nothing(request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        yield TextDelta(text="Hm")

    result = await lab.run(lab.Model(nothing))
    assert (result.status, [failed.kind for failed in await failures(lab, result)]) == ("failed", ["unusable_reply"])


async def test_an_overflow_drops_the_oldest_block_and_tries_once(lab: Lab) -> None:
    turns = [lab.calls(lab.call("note", {"text": text})) for text in "ab"]
    model = lab.Model(*turns, lab.fails("context_overflow"), lab.says("ab"))
    result = await lab.run(model, note)
    assert [len(request.blocks) for request in model.requests] == [0, 1, 2, 1]
    assert [answer.content for answer in model.requests[3].blocks[0].answers] == ["b"]
    assert model.requests[3].omitted.startswith("[1 earlier step was left out")
    trimmed = [event.body for event in await lab.journal(result.run_id) if isinstance(event.body, ContextTrimmed)]
    assert trimmed == [ContextTrimmed(step=3, kept=1, omitted=1, reason="overflow")]
    assert result.status == "succeeded"


async def test_a_second_overflow_ends_in_an_honest_sentence(lab: Lab) -> None:
    turns = [lab.calls(lab.call("note", {"text": text})) for text in "abc"]
    model = lab.Model(*turns, lab.fails("context_overflow"), lab.fails("context_overflow"))
    result = await lab.run(model, note)
    assert len(model.requests) == 5
    assert result.answer == "The task became too long for the model. Please split it into smaller parts."


async def test_an_overflow_with_a_single_block_is_tried_once_with_that_block_cut(lab: Lab) -> None:
    model = lab.Model(lab.calls(lab.call("note", {"text": "a"})), lab.fails("context_overflow"))
    result = await lab.run(model, note)
    assert (result.status, len(model.requests)) == ("failed", 3)


async def test_a_fault_in_the_model_code_ends_the_run_with_an_apology_not_a_traceback(
    lab: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    async def faulty(request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        yield TextDelta(text="Hm")
        raise ZeroDivisionError("secret detail")

    result = await lab.run(lab.Model(faulty))
    assert (result.status, result.reason, result.answer_kind) == ("failed", "internal", "apology")
    assert "secret" not in result.answer
    assert result.detail == "ZeroDivisionError: secret detail"
    assert [(line.levelname, result.run_id in line.getMessage()) for line in caplog.records] == [("ERROR", True)]
    assert await lab.refolded(result.run_id) == result


async def test_a_timeout_inside_the_model_code_is_not_taken_for_our_time_limit(lab: Lab) -> None:
    async def slow(request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        yield TextDelta(text="Hm")
        raise TimeoutError

    result = await lab.run(lab.Model(slow), limits=Limits(max_seconds=100))
    assert result.reason == "internal"
