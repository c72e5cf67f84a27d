"""What goes over the wire to a Chat Completions server: order, pairs, names, settings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from daeri.models import (
    Block,
    CallAnswer,
    Model,
    ModelCall,
    ModelReply,
    ModelRequest,
    ModelSettings,
    ToolSpec,
    build_model,
)
from daeri.text import Json

if TYPE_CHECKING:
    from tests.fake_provider.server import FakeProvider
    from tests.models.conftest import Build, Turn

LOOKUP = ToolSpec(
    name="knowledge.lookup",
    description="Looks up a value.",
    input_schema={"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
)
CALL = ModelCall(id="call_1", name="knowledge.lookup", arguments='{"key": "단가"}')


def block(*calls: ModelCall, text: str = "", raw: Json = None, answers: Sequence[CallAnswer] | None = None) -> Block:
    given_answers = [CallAnswer(call=call, content=f"answer to {call.name}") for call in calls]
    reply = ModelReply(text=text, calls=calls, raw=raw)
    return Block(reply=reply, answers=tuple(given_answers if answers is None else answers))


async def test_instructions_goal_blocks_and_notice_go_in_this_order(
    provider: FakeProvider, build: Build, turn: Turn
) -> None:
    second = ModelCall(id="call_2", name="calculator", arguments='{"expression": "24*7"}')
    request = ModelRequest(
        instructions="Be terse.",
        goal="What do 7 cost?",
        omitted="2 older steps are left out.",
        blocks=(block(CALL, second, text="Looking."),),
        notice="Answer now.",
        tools=(LOOKUP,),
    )
    assert await _sent(provider, await build(), turn, request) == [
        {"role": "system", "content": "Be terse."},
        {"role": "user", "content": "What do 7 cost?\n\n2 older steps are left out."},
        {
            "role": "assistant",
            "content": "Looking.",
            "tool_calls": [
                _tool_call("call_1", "knowledge__lookup", '{"key":"단가"}'),
                _tool_call("call_2", "calculator", '{"expression":"24*7"}'),
            ],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": "answer to knowledge.lookup"},
        {"role": "tool", "tool_call_id": "call_2", "content": "answer to calculator"},
        {"role": "user", "content": "Answer now."},
    ]


async def test_a_notice_without_blocks_joins_the_goal(provider: FakeProvider, build: Build, turn: Turn) -> None:
    request = ModelRequest(instructions="", goal="What?", notice="Your last reply was empty.")
    assert await _sent(provider, await build(), turn, request) == [
        {"role": "user", "content": "What?\n\nYour last reply was empty."}
    ]


async def test_a_block_without_calls_is_followed_by_a_user_turn(
    provider: FakeProvider, build: Build, turn: Turn
) -> None:
    request = ModelRequest(instructions="", goal="g", blocks=(block(text="draft 1"), block(text="draft 2")), notice="n")
    sent = await _sent(provider, await build(), turn, request)
    assert [(one["role"], one["content"]) for one in sent] == [
        ("user", "g"),
        ("assistant", "draft 1"),
        ("user", "Go on."),
        ("assistant", "draft 2"),
        ("user", "n"),
    ]


async def test_a_block_that_says_nothing_is_left_out(provider: FakeProvider, build: Build, turn: Turn) -> None:
    empty = Block(reply=ModelReply(reasoning="Hm."), answers=())
    request = ModelRequest(instructions="", goal="g", blocks=(empty,))
    assert await _sent(provider, await build(), turn, request) == [{"role": "user", "content": "g"}]


# What a stored message may turn out to be: missing, of a release that we don't know, of another reply, no reply at all.
STRANGE: list[Json] = [None, "nonsense", {"kind": "response", "parts": []}, {"kind": "request", "parts": []}]

calls_strategy = st.builds(
    ModelCall,
    id=st.sampled_from(["", "a", "b", "call_1", "\ud800"]),
    name=st.sampled_from(["look.up", "계산", "x", ""]),
    arguments=st.sampled_from(["", "{}", '{"a": 1}', "[1]", '{"a": ', '{"a": NaN}', '{"a": "\\ud800"}', "null"]),
)


@st.composite
def blocks_strategy(draw: st.DrawFn) -> Block:
    calls = draw(st.lists(calls_strategy, max_size=3))
    answered = draw(st.lists(st.sampled_from([*calls, CALL]), max_size=4))
    raw = draw(st.sampled_from(STRANGE))
    return block(
        *calls,
        text=draw(st.sampled_from(["", " ", "t\ud800"])),
        raw=raw,
        answers=[CallAnswer(call=call, content="r", failed=True) for call in answered],
    )


@hypothesis_settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(blocks=st.lists(blocks_strategy(), max_size=4))
async def test_whatever_the_blocks_hold_every_call_has_one_return_and_every_return_a_call(
    provider: FakeProvider, build: Build, turn: Turn, blocks: list[Block]
) -> None:
    request = ModelRequest(instructions="i", goal="g", blocks=tuple(blocks), notice="n")
    messages = await _sent(provider, await build(), turn, request)
    open_ids: list[str] = []
    used: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_ids.pop(0)
            continue
        assert open_ids == []
        open_ids = [call["id"] for call in message.get("tool_calls", [])]
        assert used.isdisjoint(open_ids)
        used.update(open_ids)
        for call in message.get("tool_calls", []):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
    assert open_ids == []
    assert messages[-1]["role"] in ("user", "tool")
    assert len(used) == sum(len(one.reply.calls) for one in blocks)


async def test_a_failed_answer_is_marked_as_one(provider: FakeProvider, build: Build, turn: Turn) -> None:
    failed = block(CALL, answers=[CallAnswer(call=CALL, content="단가가 없음", failed=True)])
    sent = await _sent(provider, await build(), turn, ModelRequest(instructions="", goal="g", blocks=(failed,)))
    assert json.loads(sent[-1]["content"]) == {"error": "단가가 없음"}


async def test_reasoning_goes_back_in_the_field_it_came_in(provider: FakeProvider, build: Build, turn: Turn) -> None:
    model = await build()
    provider.will(provider.Reply(reasoning="Look it up.", calls=(provider.Call(name="look", id="c1"),)))
    stored = json.loads(json.dumps((await turn(model)).raw))
    call = ModelCall(id="c1", name="look", arguments="{}")
    sent = await _sent(
        provider, model, turn, ModelRequest(instructions="", goal="g", blocks=(block(call, raw=stored),))
    )
    assert sent[1]["reasoning_content"] == "Look it up."
    assert sent[1]["tool_calls"] == [_tool_call("c1", "look", "{}")]


async def test_a_cut_off_call_is_shown_again_as_an_object_that_parses(
    provider: FakeProvider, build: Build, turn: Turn
) -> None:
    model = await build()
    provider.will(provider.Reply(calls=(provider.Call(name="look", arguments='{"key": "un'),), finish="length"))
    reply = await turn(model)
    answered = Block(reply=reply, answers=(CallAnswer(call=reply.calls[0], content="cut off", failed=True),))
    sent = await _sent(provider, model, turn, ModelRequest(instructions="", goal="g", blocks=(answered,)))
    assert json.loads(sent[1]["tool_calls"][0]["function"]["arguments"]) == {"_malformed_arguments": '{"key": "un'}


async def test_tools_are_offered_under_names_that_apis_accept(provider: FakeProvider, build: Build, turn: Turn) -> None:
    strict = ToolSpec(name="단가", description="\ud800", input_schema=LOOKUP.input_schema, strict=True)
    await _sent(provider, await build(), turn, ModelRequest(instructions="", goal="g", tools=(LOOKUP, strict)))
    first, second = cast("list[dict[str, Any]]", provider.seen[-1].body["tools"])
    assert first == {
        "type": "function",
        "function": {
            "name": "knowledge__lookup",
            "description": "Looks up a value.",
            "parameters": LOOKUP.input_schema,
        },
    }
    assert second["function"]["name"].startswith("tool-")
    assert (second["function"]["strict"], second["function"]["description"]) == (True, "\ufffd")


async def test_lone_surrogates_never_get_out(provider: FakeProvider, build: Build, turn: Turn) -> None:
    call = ModelCall(id="c", name="look", arguments="{}")
    answered = block(call, text="\ud800", answers=[CallAnswer(call=call, content="r\x00\ud800")])
    request = ModelRequest(
        instructions="i\ud800", goal="g\ud800", omitted="o\ud800", notice="n\ud800", blocks=(answered,)
    )
    sent = await _sent(provider, await build(), turn, request)
    assert [one["content"] for one in sent] == ["i\ufffd", "g\ufffd\n\no\ufffd", "\ufffd", "r\ufffd\ufffd", "n\ufffd"]


@pytest.mark.parametrize(
    ("reference", "name"), [("openai:gpt-4o", "max_completion_tokens"), ("openai-compatible:m", "max_tokens")]
)
async def test_the_smaller_output_limit_holds_under_the_name_that_the_server_knows(
    provider: FakeProvider, build: Build, turn: Turn, reference: str, name: str
) -> None:
    model = await build(reference, ModelSettings(api_key="sk-test-0", max_output_tokens=900, temperature=0.2))
    await _sent(provider, model, turn, ModelRequest(instructions="", goal="g", max_output_tokens=1_000))
    assert (provider.seen[-1].body[name], provider.seen[-1].body["temperature"]) == (900, 0.2)


@pytest.mark.parametrize(
    ("reference", "effort"),
    [("openai:gpt-6-luna", "none"), ("openai:gpt-5-mini", None), ("openai:gpt-5.4-mini", None)],
)
async def test_reasoning_is_switched_off_where_tools_need_it(
    provider: FakeProvider, build: Build, turn: Turn, reference: str, effort: str | None
) -> None:
    model = await build(reference)
    await _sent(provider, model, turn, ModelRequest(instructions="", goal="g", tools=(LOOKUP,)))
    assert provider.seen[-1].body.get("reasoning_effort") == effort
    await _sent(provider, model, turn, ModelRequest(instructions="", goal="g"))
    assert "reasoning_effort" not in provider.seen[-1].body


async def test_another_server_gets_neither_the_key_nor_the_account_of_openai(
    provider: FakeProvider, build: Build, turn: Turn, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, "sk-of-openai-000")
    model = await build("openai-compatible:m", ModelSettings())
    await _sent(provider, model, turn, ModelRequest(instructions="", goal="g"))
    assert "sk-of-openai-000" not in str(provider.seen[-1].headers)
    assert provider.seen[-1].headers["authorization"] == "Bearer not-needed"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_loopback_servers_are_reached_past_the_proxy_of_the_environment(
    provider: FakeProvider, turn: Turn, monkeypatch: pytest.MonkeyPatch, unused_port: int, host: str
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{unused_port}")
    settings = ModelSettings(reference="openai-compatible:m", base_url=f"http://{host}:{provider.port}/v1")
    model, _ = await build_model(settings, {})
    assert await _sent(provider, model, turn, ModelRequest(instructions="", goal="g"))
    await model.close()


async def _sent(provider: FakeProvider, model: Model, turn: Turn, request: ModelRequest) -> list[dict[str, Any]]:
    provider.will(provider.Reply(text="ok"))
    await turn(model, request)
    assert provider.seen[-1].path == "/v1/chat/completions"
    return cast("list[dict[str, Any]]", provider.seen[-1].body["messages"])


def _tool_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}
