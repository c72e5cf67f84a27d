"""What Chat Completions servers send, as replies: through the real client, over a real connection."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, cast

import pytest
from pydantic_ai.messages import ModelMessagesTypeAdapter

from daeri.models import (
    Block,
    CallAnswer,
    ModelReply,
    ModelRequest,
    ModelSettings,
    ReasoningDelta,
    TextDelta,
    ToolSpec,
    Usage,
)

if TYPE_CHECKING:
    from tests.fake_provider.server import FakeProvider
    from tests.models.conftest import Build, Turn

# bpe-openai reads its vocabulary in a way that Python 3.11 calls old.
pytestmark = pytest.mark.filterwarnings("ignore:open_binary is deprecated:DeprecationWarning")

REQUEST = ModelRequest(
    instructions="Be terse.",
    goal="What do 7 cost?",
    tools=(ToolSpec(name="knowledge.lookup", description="Looks up.", input_schema={"type": "object"}),),
)


async def test_text_comes_in_pieces_and_then_whole(provider: FakeProvider, build: Build) -> None:
    provider.will(provider.Reply(text="168달러입니다. That is all."))
    events = [event async for event in (await build()).stream(REQUEST)]
    pieces = [event.text for event in events if isinstance(event, TextDelta)]
    reply = events[-1]
    assert isinstance(reply, ModelReply)
    assert len(pieces) > 1
    assert "".join(pieces) == reply.text == "168달러입니다. That is all."
    assert (reply.finish, reply.calls, reply.model) == ("stop", (), "fake-model")


async def test_reasoning_text_and_calls_of_one_turn_stay_apart(provider: FakeProvider, build: Build) -> None:
    call = provider.Call(name="knowledge__lookup", arguments='{"key": "단가"}', id="call_a")
    provider.will(provider.Reply(reasoning="Look it up first.", text="One moment.", calls=(call,)))
    events = [event async for event in (await build()).stream(REQUEST)]
    reply = events[-1]
    assert isinstance(reply, ModelReply)
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "Look it up first."
    assert (reply.reasoning, reply.text, reply.finish) == ("Look it up first.", "One moment.", "calls")
    assert [(one.id, one.name, one.arguments) for one in reply.calls] == [
        ("call_a", "knowledge.lookup", '{"key": "단가"}')
    ]


async def test_interleaved_fragments_of_parallel_calls_are_put_together(
    provider: FakeProvider, build: Build, turn: Turn
) -> None:
    calls = [provider.Call(name=f"tool{n}", arguments=json.dumps({"value": str(n) * 30}), id=f"c{n}") for n in range(3)]
    provider.will(provider.Reply(calls=tuple(calls), interleaved=True, piece=3))
    reply = await turn(await build())
    assert [(call.id, call.name, call.arguments) for call in reply.calls] == [
        (call.id, call.name, call.arguments) for call in calls
    ]


@pytest.mark.parametrize("provider_id", ["same", "", None, "x" * 80])
async def test_ids_that_are_no_ids_are_replaced_in_the_stored_message_too(
    provider: FakeProvider, build: Build, turn: Turn, provider_id: str | None
) -> None:
    provider.will(provider.Reply(calls=tuple(provider.Call(name="look", id=provider_id) for _ in range(2))))
    reply = await turn(await build())
    ids = [call.id for call in reply.calls]
    assert len(set(ids)) == 2
    assert all(0 < len(one) <= 64 for one in ids)
    assert [call.provider_id for call in reply.calls] == [provider_id or ""] * 2
    assert [part["tool_call_id"] for part in _raw_calls(reply)] == ids


async def test_an_id_of_an_earlier_block_is_not_used_again(provider: FakeProvider, build: Build, turn: Turn) -> None:
    model = await build()
    provider.will(*[provider.Reply(calls=(provider.Call(name="look", id="call_1"),))] * 2)
    first = await turn(model)
    block = Block(reply=first, answers=(CallAnswer(call=first.calls[0], content="24"),))
    second = await turn(model, ModelRequest(instructions="", goal="x", blocks=(block,)))
    assert second.calls[0].provider_id == "call_1"
    assert second.calls[0].id not in ("", "call_1")


async def test_arguments_cut_off_by_the_output_limit_stay_as_they_came(
    provider: FakeProvider, build: Build, turn: Turn
) -> None:
    provider.will(provider.Reply(calls=(provider.Call(name="look", arguments='{"key": "unit pr'),), finish="length"))
    reply = await turn(await build())
    assert (reply.finish, reply.calls[0].arguments) == ("length", '{"key": "unit pr')
    assert json.loads(_raw_calls(reply)[0]["args"]) == {"_malformed_arguments": '{"key": "unit pr'}


async def test_endless_arguments_are_cut_visibly_and_not_kept_for_later_turns(
    provider: FakeProvider, build: Build, turn: Turn
) -> None:
    arguments = json.dumps({"text": "x" * 300_000})
    provider.will(provider.Reply(calls=(provider.Call(name="save", arguments=arguments),), piece=50_000))
    reply = await turn(await build())
    kept = reply.calls[0].arguments
    assert len(kept) == 200_000
    assert "characters cut" in kept
    with pytest.raises(json.JSONDecodeError):
        json.loads(kept)
    assert len(json.dumps(reply.raw)) < 2_000


async def test_a_huge_text_arrives_whole(provider: FakeProvider, build: Build, turn: Turn) -> None:
    text = "가나다라 " * 100_000
    provider.will(provider.Reply(text=text, piece=50_000))
    assert (await turn(await build())).text == text


@pytest.mark.parametrize("reasoning", ["", "Hm."])
async def test_a_reply_that_says_nothing_is_a_reply(
    provider: FakeProvider, build: Build, turn: Turn, reasoning: str
) -> None:
    provider.will(provider.Reply(reasoning=reasoning))
    reply = await turn(await build())
    assert (reply.text, reply.reasoning, reply.calls, reply.finish) == ("", reasoning, (), "stop")


async def test_lone_surrogates_and_nul_never_get_in(provider: FakeProvider, build: Build, turn: Turn) -> None:
    call = provider.Call(name="look\ud800", arguments='{"a": "\ud800"}', id="id\udfff")
    provider.will(provider.Reply(text="a\ud800b\x00c", reasoning="\udfff", calls=(call,), model="m\ud800"))
    reply = await turn(await build())
    assert (reply.text, reply.reasoning, reply.model) == ("a\ufffdb\ufffdc", "\ufffd", "m\ufffd")
    assert (reply.calls[0].name, reply.calls[0].arguments) == ("look\ufffd", '{"a": "\ufffd"}')
    assert json.dumps(reply.raw, ensure_ascii=False).encode("utf-8")


async def test_the_stored_message_is_stable_bytes_of_the_library(
    provider: FakeProvider, build: Build, turn: Turn
) -> None:
    provider.will(provider.Reply(reasoning="Hm.", text="Yes.", calls=(provider.Call(name="look"),)))
    reply = await turn(await build())
    stored = json.dumps([reply.raw])
    once = ModelMessagesTypeAdapter.dump_json(ModelMessagesTypeAdapter.validate_json(stored))
    assert json.loads(once) == [reply.raw]
    assert ModelMessagesTypeAdapter.dump_json(ModelMessagesTypeAdapter.validate_json(once)) == once


async def test_usage_is_counted_once_and_with_its_parts(provider: FakeProvider, build: Build, turn: Turn) -> None:
    reported = provider.Usage(input_tokens=1_000, output_tokens=200, cached_tokens=600, reasoning_tokens=150)
    provider.will(provider.Reply(text="long enough for several chunks " * 5, usage=reported))
    reply = await turn(await build())
    assert reply.usage == Usage(input_tokens=1_000, output_tokens=200, cached_tokens=600, reasoning_tokens=150)
    assert provider.seen[0].body["stream_options"] == {"include_usage": True}


async def test_usage_that_comes_with_every_chunk_is_not_added_up(
    provider: FakeProvider, build: Build, turn: Turn
) -> None:
    provider.will(provider.Reply(text="long enough for several chunks " * 5, running_usage=True))
    assert (await turn(await build())).usage == Usage(input_tokens=100, output_tokens=20)


@pytest.mark.parametrize("silent", [True, False])
async def test_missing_usage_is_estimated_and_says_so(
    provider: FakeProvider, build: Build, turn: Turn, silent: bool
) -> None:
    usage = None if silent else provider.Usage(input_tokens=0, output_tokens=0)
    provider.will(provider.Reply(text="Seven of them cost 168 dollars.", usage=usage))
    reply = await turn(await build(), REQUEST)
    assert reply.usage.estimated
    assert reply.usage.input_tokens > 5
    assert reply.usage.output_tokens > 5
    assert reply.cost is None


async def test_a_list_price_gives_a_decimal_cost(provider: FakeProvider, build: Build, turn: Turn) -> None:
    provider.will(provider.Reply(text="Hi", usage=provider.Usage(input_tokens=1_000_000, output_tokens=0)))
    reply = await turn(await build("openai:gpt-4o"))
    assert reply.cost == Decimal("2.5")


async def test_a_local_model_with_a_famous_name_has_no_price(provider: FakeProvider, build: Build, turn: Turn) -> None:
    provider.will(provider.Reply(text="Hi", model="gpt-4o"))
    assert (await turn(await build("openai-compatible:gpt-4o"))).cost is None


async def test_the_own_price_table_goes_first(provider: FakeProvider, build: Build, turn: Turn) -> None:
    prices = {"gpt-4o": (Decimal("0.1"), Decimal("0.4"))}
    provider.will(provider.Reply(text="Hi", usage=provider.Usage(input_tokens=500_000, output_tokens=250_000)))
    model = await build("openai:gpt-4o", ModelSettings(api_key="sk-test-000000", prices=prices))
    assert (await turn(model)).cost == Decimal("0.15")


def _raw_calls(reply: ModelReply) -> list[dict[str, str]]:
    raw = cast("dict[str, list[dict[str, str]]]", reply.raw)
    return [part for part in raw["parts"] if part["part_kind"] == "tool-call"]
