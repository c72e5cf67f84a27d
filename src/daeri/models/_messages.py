"""A request as the provider library's history, and its response as a reply."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import chain, count
from typing import cast

from pydantic import ValidationError
from pydantic_ai import messages as wire
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, ModelResponsePart
from pydantic_ai.tools import ToolDefinition

from daeri.text import Json, scrub, scrub_text

from ._calls import recorded_arguments, replayable_arguments, unique_ids
from ._names import ToolNames
from ._port import Block, CallAnswer, Finish, ModelCall, ModelReply, ModelRequest, ReasoningDelta, TextDelta, Usage

_NOT_RUN = "This call was not run."
_GO_ON = "Go on."
# The library's own ids for calls that came without one.
_LIBRARY_ID = "pyd_ai_"
_FINISHES: dict[str | None, Finish] = {
    "stop": "stop",
    "tool_call": "calls",
    "length": "length",
    "content_filter": "filtered",
}


def names_of(request: ModelRequest) -> ToolNames:
    """The names of all tools that are offered in the request or were called in its blocks."""
    called = (call.name for block in request.blocks for call in block.reply.calls)
    return ToolNames([*(tool.name for tool in request.tools), *called])


def tool_definitions(request: ModelRequest, names: ToolNames) -> list[ToolDefinition]:
    """The offered tools. `strict` is always said: left open, the library would decide it by the schema."""
    return [
        ToolDefinition(
            name=names.written(tool.name),
            description=scrub_text(tool.description),
            parameters_json_schema=dict(cast("dict[str, object]", scrub(tool.input_schema))),
            strict=tool.strict,
        )
        for tool in request.tools
    ]


def history(request: ModelRequest, names: ToolNames) -> list[ModelMessage]:
    """The request as messages: instructions and goal, then each block as one response and one request.

    Whatever the blocks hold, every call gets exactly one return and every return belongs to a call. A block without
    text and calls is left out: model APIs take no turn that says nothing.
    """
    goal = "\n\n".join(scrub_text(text) for text in (request.goal, request.omitted) if text)
    instructions = scrub_text(request.instructions) or None
    messages: list[ModelMessage] = [wire.ModelRequest(parts=[wire.UserPromptPart(goal)], instructions=instructions)]
    taken: set[str] = set()
    for block in request.blocks:
        if block.reply.calls or block.reply.text.strip():
            messages += _block(block, names, taken)
    return _with_notice(messages, scrub_text(request.notice))


def _with_notice(messages: list[ModelMessage], notice: str) -> list[ModelMessage]:
    """The messages with `notice` as the last word of the last request."""
    last = messages[-1]
    if not notice or not isinstance(last, wire.ModelRequest):
        return messages
    match last.parts:
        case [wire.UserPromptPart(content=str(text))]:
            # One user message, not two in a row: some chat templates insist on turns that alternate.
            said = notice if len(messages) > 1 else f"{text}\n\n{notice}"
            parts = [wire.UserPromptPart(said)]
        case parts:
            parts = [*parts, wire.UserPromptPart(notice)]
    return [*messages[:-1], replace(last, parts=parts)]


def _block(block: Block, names: ToolNames, taken: set[str]) -> list[ModelMessage]:
    calls = block.reply.calls
    ids = [_free_id(call.id, taken) for call in calls]
    response = _response(block.reply, ids, names)
    if not calls:
        return [response, wire.ModelRequest(parts=[wire.UserPromptPart(_GO_ON)])]
    answers: defaultdict[str, list[CallAnswer]] = defaultdict(list)
    for answer in block.answers:
        answers[answer.call.id].append(answer)
    returns = [
        _return(names.written(call.name), call_id, answers[call.id].pop(0) if answers[call.id] else None)
        for call, call_id in zip(calls, ids, strict=True)
    ]
    return [response, wire.ModelRequest(parts=returns)]


def _free_id(call_id: str, taken: set[str]) -> str:
    """The id itself unless a block before used it; derived from it otherwise, so that every turn sends the same one."""
    wanted = scrub_text(call_id) or "call"
    free = next(form for form in chain([wanted], (f"{wanted}_{n}" for n in count(2))) if form not in taken)
    taken.add(free)
    return free


def _return(name: str, call_id: str, answer: CallAnswer | None) -> wire.ToolReturnPart:
    if answer is None:
        return wire.ToolReturnPart(name, _NOT_RUN, tool_call_id=call_id, outcome="interrupted")
    outcome = "failed" if answer.failed else "success"
    return wire.ToolReturnPart(name, scrub_text(answer.content), tool_call_id=call_id, outcome=outcome)


def _response(reply: ModelReply, ids: Sequence[str], names: ToolNames) -> ModelResponse:
    response = _stored_response(reply) or _plain_response(reply)
    position = 0
    parts: list[ModelResponsePart] = []
    for part in response.parts:
        if isinstance(part, wire.ToolCallPart):
            call = reply.calls[position]
            part = replace(part, tool_name=names.written(call.name), tool_call_id=ids[position])
            position += 1
        parts.append(part)
    return replace(response, parts=parts)


def _stored_response(reply: ModelReply) -> ModelResponse | None:
    """The provider's own form of the reply, unless it is missing, of another release, or tells of other calls."""
    if reply.raw is None:
        return None
    try:
        message = ModelMessagesTypeAdapter.validate_python([reply.raw])[0]
    except ValidationError:
        return None
    if isinstance(message, ModelResponse) and len(message.tool_calls) == len(reply.calls):
        return message
    return None


def _plain_response(reply: ModelReply) -> ModelResponse:
    parts: list[ModelResponsePart] = [wire.TextPart(scrub_text(reply.text))] if reply.text else []
    parts += [wire.ToolCallPart(call.name, replayable_arguments(call.arguments), call.id) for call in reply.calls]
    return ModelResponse(parts=parts)


def delta(event: wire.ModelResponseStreamEvent) -> TextDelta | ReasoningDelta | None:
    """What an event of the stream shows of the text, if anything; events that nobody knows yet show nothing."""
    match event:
        case wire.PartStartEvent(part=wire.TextPart(content=text)) if text:
            return TextDelta(text=scrub_text(text))
        case wire.PartDeltaEvent(delta=wire.TextPartDelta(content_delta=text)) if text:
            return TextDelta(text=scrub_text(text))
        case wire.PartStartEvent(part=wire.ThinkingPart(content=text)) if text:
            return ReasoningDelta(text=scrub_text(text))
        case wire.PartDeltaEvent(delta=wire.ThinkingPartDelta(content_delta=text)) if text:
            return ReasoningDelta(text=scrub_text(text))
        case _:
            return None


def reply_of(
    response: ModelResponse, names: ToolNames, taken: set[str], *, usage: Usage, cost: Decimal | None
) -> ModelReply:
    """The response in our terms. Calls get ids that nobody in `taken` uses, in `raw` too."""
    written = response.tool_calls
    provider_ids = [
        "" if part.tool_call_id.startswith(_LIBRARY_ID) else scrub_text(part.tool_call_id) for part in written
    ]
    calls = tuple(
        ModelCall(
            id=call_id,
            name=names.own(scrub_text(part.tool_name)),
            arguments=recorded_arguments(written_arguments(part)),
            provider_id=provider_id,
        )
        for part, provider_id, call_id in zip(written, provider_ids, unique_ids(provider_ids, taken), strict=True)
    )
    finish = _FINISHES.get(response.finish_reason, "other")
    refusal = (response.provider_details or {}).get("refusal")
    return ModelReply(
        text=scrub_text(response.text or (refusal if isinstance(refusal, str) else "")),
        reasoning=scrub_text(response.thinking or ""),
        calls=calls,
        finish="calls" if calls and finish == "stop" else finish,
        usage=usage,
        cost=cost,
        model=scrub_text(response.model_name or ""),
        raw=_raw(response, calls),
    )


def written_arguments(part: wire.ToolCallPart) -> str:
    """The arguments as text, as the model wrote them."""
    if isinstance(part.args, dict):
        return json.dumps(part.args, ensure_ascii=False)
    return part.args or ""


def _raw(response: ModelResponse, calls: Sequence[ModelCall]) -> Json:
    """The response as JSON, safe to be sent again: unique ids, arguments that parse and are not endless."""
    position = 0
    parts: list[ModelResponsePart] = []
    for part in response.parts:
        if isinstance(part, wire.ToolCallPart):
            call = calls[position]
            part = replace(part, args=replayable_arguments(call.arguments), tool_call_id=call.id)
            position += 1
        parts.append(part)
    dumped = cast("list[Json]", ModelMessagesTypeAdapter.dump_python([replace(response, parts=parts)], mode="json"))
    return scrub(dumped[0])
