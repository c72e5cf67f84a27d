"""OpenAI Chat Completions: a scenario as a whole body, as server-sent events, or as an error."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from .scenario import FakeCall, Refusal, Reply

PATH = "/v1/chat/completions"
END = "data: [DONE]\n\n"


def whole(reply: Reply, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls:
        message["tool_calls"] = [
            {k: v for k, v in _call(at, call).items() if k != "index"} for at, call in enumerate(reply.calls)
        ]
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
    body = _head(reply, model, "chat.completion") | {"choices": [choice]}
    return body | ({"usage": _usage(reply)} if reply.usage else {})


def events(reply: Reply, model: str) -> Iterator[dict[str, Any]]:
    for delta in _deltas(reply):
        yield _chunk(reply, model, [{"index": 0, "delta": delta, "finish_reason": None}])
    if finish := _finish(reply):
        yield _chunk(reply, model, [{"index": 0, "delta": {}, "finish_reason": finish}])
    if reply.usage:
        yield _chunk(reply, model, []) | {"usage": _usage(reply)}


def error(refusal: Refusal) -> dict[str, Any]:
    return {"error": {"message": refusal.message, "type": refusal.type, "param": None, "code": refusal.code}}


def _deltas(reply: Reply) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for piece in _pieces(reply.reasoning, reply.piece):
        yield {"reasoning_content": piece}
    for piece in _pieces(reply.text, reply.piece):
        yield {"content": piece}
    for at, call in enumerate(reply.calls):
        yield {"tool_calls": [_call(at, call) | {"function": {"name": call.name, "arguments": ""}}]}
        if not reply.interleaved:
            yield from (_fragment(at, piece) for piece in _pieces(call.arguments, reply.piece))
    if reply.interleaved:
        for row in zip_longest(*(_pieces(call.arguments, reply.piece) for call in reply.calls)):
            yield from (_fragment(at, piece) for at, piece in enumerate(row) if piece is not None)


def _fragment(at: int, piece: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": at, "function": {"arguments": piece}}]}


def _call(at: int, call: FakeCall) -> dict[str, Any]:
    row = {"index": at, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
    return row if call.id is None else row | {"id": call.id}


def _pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)]


def _finish(reply: Reply) -> str | None:
    return ("tool_calls" if reply.calls else "stop") if reply.finish is None else reply.finish or None


def _head(reply: Reply, model: str, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-fake", "object": kind, "created": 1_700_000_000, "model": reply.model or model}


def _chunk(reply: Reply, model: str, choices: list[dict[str, Any]]) -> dict[str, Any]:
    chunk = _head(reply, model, "chat.completion.chunk") | {"choices": choices}
    return chunk | {"usage": _usage(reply)} if reply.running_usage else chunk


def _usage(reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    assert usage is not None
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
