from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from daeri.errors import ToolError
from daeri.identity import Principal
from daeri.tools import tool

if TYPE_CHECKING:
    from tests.engine.conftest import Lab

    from daeri.text import Locale

READER = Principal(tenant="acme", subject="kim", scopes=frozenset({"stock:read"}))


@tool(read_only=True, scopes=["stock:read"])
def stock(sku: str) -> int:
    """Pieces in stock."""
    if sku != "pen":
        raise ToolError("The stock system knows no such thing.", diagnostic=f"SELECT for {sku!r} gave 0 rows")
    return 12


@tool(scopes=["stock:write"])
def order(sku: str) -> str:
    """Order something."""
    return f"ordered {sku}"


async def test_an_answer_without_calls_is_released(lab: Lab) -> None:
    result = await lab.run(lab.Model(lab.says("Hello!")), stock)
    assert (result.status, result.answer, result.answer_kind) == ("succeeded", "Hello!", "model")


async def test_when_no_call_succeeded_the_words_of_the_model_are_not_released(lab: Lab) -> None:
    model = lab.Model(lab.calls(lab.call("stock", {"sku": "yacht"})), lab.says("We have 99 yachts."))
    result = await lab.run(model, stock)
    assert (result.status, result.reason, result.answer_kind) == ("refused", "no_evidence", "refusal")
    assert "99" not in result.answer
    released = [event.data["text"] for event in await lab.stored(result.run_id) if event.type == "answer.released"]
    assert released == [result.answer]


async def test_a_refusal_gives_the_reason_in_words_for_people_not_the_diagnostic(lab: Lab) -> None:
    model = lab.Model(lab.calls(lab.call("stock", {"sku": "yacht"})), lab.says("None."))
    result = await lab.run(model, stock)
    assert result.answer == (
        "I can't answer this: I looked it up, but nothing I tried succeeded, and I don't guess.\n"
        "- The stock system knows no such thing."
    )


async def test_a_refusal_names_each_reason_once(lab: Lab) -> None:
    asked = lab.calls(lab.call("stock", {}), lab.call("stock", {"sku": 1}), lab.call("gone", {}))
    result = await lab.run(lab.Model(asked, lab.says("None.")), stock)
    assert result.answer.splitlines()[1:] == [
        "- A tool was asked for with the wrong details.",
        "- A tool was asked for that is not available here.",
    ]


async def test_when_all_calls_were_denied_the_reason_is_that(lab: Lab) -> None:
    model = lab.Model(lab.calls(lab.call("order", {"sku": "pen"})), lab.says("Ordered."))
    result = await lab.run(model, stock, order, principal=READER)
    assert (result.status, result.reason) == ("refused", "denied")
    assert result.answer.endswith("- You don't have the right to do this. Ask an administrator for it.")


async def test_a_denial_beside_a_failure_is_no_evidence(lab: Lab) -> None:
    asked = lab.calls(lab.call("order", {"sku": "pen"}), lab.call("stock", {"sku": "yacht"}))
    result = await lab.run(lab.Model(asked, lab.says("Ordered.")), stock, order, principal=READER)
    assert (result.status, result.reason) == ("refused", "no_evidence")


async def test_a_denied_call_never_runs_and_names_the_scope_to_the_model(lab: Lab) -> None:
    model = lab.Model(lab.calls(lab.call("order", {"sku": "pen"})), lab.says("Ordered."))
    result = await lab.run(model, stock, order, principal=READER)
    [call] = result.calls
    assert (call.state, call.decision and call.decision.verdict) == ("denied", "deny")
    assert "stock:write" in model.requests[1].blocks[0].answers[0].content
    assert "call.started" not in await lab.names(result.run_id)


async def test_one_success_among_failures_is_enough(lab: Lab) -> None:
    asked = lab.calls(lab.call("stock", {"sku": "yacht"}), lab.call("stock", {"sku": "pen"}))
    result = await lab.run(lab.Model(asked, lab.says("12 pens.")), stock)
    assert (result.status, result.answer) == ("succeeded", "12 pens.")


@pytest.mark.parametrize(
    ("locale", "words"), [("ko", "추측으로 답하지 않습니다"), ("en", "I don't guess")], ids=["ko", "en"]
)
async def test_a_refusal_speaks_the_language_of_the_person(lab: Lab, locale: Locale, words: str) -> None:
    model = lab.Model(lab.calls(lab.call("stock", {})), lab.says("None."))
    result = await lab.run(model, stock, locale=locale)
    assert words in result.answer
