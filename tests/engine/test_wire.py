"""What the engine's turns look like to a provider: through the real client, over a real connection."""

from __future__ import annotations

import asyncio
import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pydantic_ai.models
import pytest

from daeri.engine import Limits, TextDraft
from daeri.models import Model, ModelSettings, build_model
from daeri.tools import tool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from tests.engine.conftest import Lab
    from tests.fake_provider.server import FakeProvider


@tool(name="notes.write", read_only=True)
def note(text: str) -> str:
    """Give a text back."""
    return text


@pytest.fixture(scope="module")
def running_provider() -> Iterator[FakeProvider]:
    tests = str(Path(__file__).resolve().parents[1])
    sys.path.insert(0, tests)
    server = importlib.import_module("fake_provider.server")
    sys.path.remove(tests)
    with server.FakeProvider().in_thread() as provider:
        yield provider


@pytest.fixture
def provider(running_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> FakeProvider:
    monkeypatch.setattr(pydantic_ai.models, "ALLOW_MODEL_REQUESTS", True)
    running_provider.reset()
    return running_provider


@pytest.fixture
async def model(provider: FakeProvider) -> AsyncGenerator[Model]:
    settings = ModelSettings(
        reference="openai-compatible:fake-model", base_url=provider.base_url, api_key="sk-test", timeout_s=5
    )
    model, _ = await build_model(settings, {})
    yield model
    await model.close()


def unanswered(body: dict[str, object]) -> list[str]:
    """Calls without their result, and results without their call, in a request as it was sent."""
    odd: list[str] = []
    waiting: list[str] = []
    for message in messages_of(body):
        if message["role"] == "tool":
            (waiting.remove if message["tool_call_id"] in waiting else odd.append)(message["tool_call_id"])
        else:
            odd += waiting
            waiting = [call["id"] for call in message.get("tool_calls", ())]
    return odd + waiting


def messages_of(body: dict[str, object]) -> list[dict[str, Any]]:
    return cast("list[dict[str, Any]]", body["messages"])


async def test_no_request_ever_holds_a_call_without_its_result_however_much_is_trimmed(
    lab: Lab, provider: FakeProvider, model: Model
) -> None:
    def asks(*texts: str) -> object:
        # a provider that gives every call of every turn the same id
        calls = tuple(provider.Call(name="notes__write", arguments=f'{{"text": "{text}"}}') for text in texts)
        return provider.Reply(text="Writing.", calls=calls)

    broken = provider.Reply(calls=(provider.Call(name="notes__write", arguments='{"text": "cu'),), finish="length")
    turns = [asks("a", "b"), broken, provider.Reply(), asks("c" * 9000), asks("d", "e", "f"), asks("g")]
    provider.will(*cast("list[Any]", turns), provider.Reply(text="Written."))
    result = await lab.run(model, note, limits=Limits(max_context_blocks=2))
    assert (result.status, result.answer) == ("succeeded", "Written.")
    assert len(provider.seen) == 7
    assert [unanswered(seen.body) for seen in provider.seen] == [[]] * 7
    shown = [sum(message["role"] == "tool" for message in messages_of(seen.body)) for seen in provider.seen]
    assert shown == [0, 2, 3, 3, 2, 4, 4]


async def test_calls_that_a_provider_gives_one_id_all_run_and_all_get_their_result(
    lab: Lab, provider: FakeProvider, model: Model
) -> None:
    calls = tuple(provider.Call(name="notes__write", arguments=f'{{"text": "{text}"}}') for text in "abc")
    provider.will(provider.Reply(calls=calls), provider.Reply(text="abc"))
    result = await lab.run(model, note)
    assert [call.shown for call in result.calls] == ["a", "b", "c"]
    assert [message["content"] for message in messages_of(provider.seen[1].body) if message["role"] == "tool"] == [
        "a",
        "b",
        "c",
    ]


async def test_cancelling_a_run_hangs_up_on_the_provider(lab: Lab, provider: FakeProvider, model: Model) -> None:
    provider.will(provider.Reply(text="A long answer that nobody waits for.", stop_at=4))
    run = await lab.start(model, note)
    async for event in run.events():
        if isinstance(event.body, TextDraft):
            break
    result = await lab.cancel(run)
    assert await asyncio.to_thread(provider.seen[0].gone.wait, 10)
    assert (result.status, result.usage.estimated) == ("cancelled", True)


async def test_a_stream_that_was_torn_is_taken_up_again_from_its_beginning(
    lab: Lab, provider: FakeProvider, model: Model
) -> None:
    provider.will(provider.Reply(text="Half an answer", cut_after=3), provider.Reply(text="A whole answer."))
    result = await lab.run(model, note)
    assert (result.status, result.answer, result.usage.estimated) == ("succeeded", "A whole answer.", True)
    assert "model.failed" in await lab.names(result.run_id)


async def test_a_rate_limit_over_http_is_waited_out(lab: Lab, provider: FakeProvider, model: Model) -> None:
    provider.will(provider.Refusal(status=429, headers={"retry-after": "0"}), provider.Reply(text="Hello!"))
    result = await lab.run(model, note)
    assert (result.status, result.answer) == ("succeeded", "Hello!")
    [failed] = [event for event in await lab.stored(result.run_id) if event.type == "model.failed"]
    assert (failed.data["kind"], failed.data["attempt"]) == ("rate_limit", 1)
