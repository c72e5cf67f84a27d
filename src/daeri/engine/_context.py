"""What a model turn may see of the run: the newest blocks that fit, each of them whole."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from daeri.models import Block, CallAnswer, ModelCall, ToolSpec
from daeri.text import count_tokens, cut_middle

from ._agent import Limits

_OVERHEAD_TOKENS = 12
"""What a message costs beside its text; an estimate on the safe side."""
_LEAST_CHARS = 200
"""Below this, cutting an answer further shows nothing any more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Window:
    """The blocks of one model turn."""

    blocks: tuple[Block, ...]
    omitted: int = 0
    reason: Literal["block_count", "token_budget", "overflow"] = "block_count"

    @property
    def line(self) -> str:
        """What stands in for the blocks left out; empty when none were."""
        if not self.omitted:
            return ""
        steps = "1 earlier step was" if self.omitted == 1 else f"{self.omitted} earlier steps were"
        return f"[{steps} left out here to save space; their results are on record but not shown.]"


class Context:
    """Chooses the window and remembers what each block weighs."""

    def __init__(self, *, instructions: str, goal: str, tools: Sequence[ToolSpec], limits: Limits) -> None:
        self._limits = limits
        schemas = json.dumps([[tool.name, tool.description, tool.input_schema] for tool in tools], ensure_ascii=False)
        fixed = sum(count_tokens(text) + _OVERHEAD_TOKENS for text in (instructions, goal, schemas))
        self._room = max(limits.context_tokens - fixed, 0)
        self._weights: list[int] = []

    def window(self, blocks: Sequence[Block]) -> Window:
        """The newest of `blocks` that fit count and budget; the very newest always, cut visibly if it must be."""
        for block in blocks[len(self._weights) :]:
            self._weights.append(block_tokens(block))
        if not blocks:
            return Window(blocks=())
        newest = blocks[-1] if self._weights[-1] <= self._room else fit_block(blocks[-1], self._room)
        left = self._room - min(self._weights[-1], self._room)
        kept = [newest]
        reason: Literal["block_count", "token_budget"] = "block_count"
        for block, weight in zip(reversed(blocks[:-1]), reversed(self._weights[:-1]), strict=True):
            if len(kept) >= self._limits.max_context_blocks:
                break
            if weight > left:
                reason = "token_budget"
                break
            kept.append(block)
            left -= weight
        kept.reverse()
        return Window(blocks=tuple(kept), omitted=len(blocks) - len(kept), reason=reason)

    def shorter(self, window: Window) -> Window | None:
        """The window for a model that found it too long: without its oldest block, or its only block cut to half.

        The room stays as small for the turns that follow. `None` when there is no block to take anything from.
        """
        if not window.blocks:
            return None
        taken = sum(block_tokens(block) for block in window.blocks)
        if len(window.blocks) == 1:
            self._room = min(self._room, taken // 2)
            return replace(window, blocks=(fit_block(window.blocks[0], self._room),), reason="overflow")
        self._room = min(self._room, taken - block_tokens(window.blocks[0]))
        return Window(blocks=window.blocks[1:], omitted=window.omitted + 1, reason="overflow")


def block_tokens(block: Block) -> int:
    """An estimate of the tokens that a block takes."""
    reply = block.reply
    texts = [json.dumps(reply.raw, ensure_ascii=False)] if reply.raw is not None else [reply.text, reply.reasoning]
    if reply.raw is None:
        texts += [call.name + call.arguments for call in reply.calls]
    texts += [answer.content for answer in block.answers]
    return sum(count_tokens(text) + _OVERHEAD_TOKENS for text in texts if text)


def fit_block(block: Block, room: int) -> Block:
    """The block cut until it takes at most `room` tokens, or as small as it gets; every cut is marked."""
    whole = block.answers
    limit = max((len(answer.content) for answer in whole), default=0)
    while block_tokens(block) > room and limit > _LEAST_CHARS:
        limit = max(limit // 2, _LEAST_CHARS)
        # always from the whole text: a cut of a cut would say too little of what is missing
        block = replace(block, answers=tuple(_cut_answer(answer, limit) for answer in whole))
    if block_tokens(block) > room:
        block = _cut_reply(block)
    return block


def _cut_answer(answer: CallAnswer, limit: int) -> CallAnswer:
    return replace(answer, content=cut_middle(answer.content, limit).text)


def _cut_reply(block: Block) -> Block:
    """The reply rebuilt from short texts; its provider form is left out because that can't be cut."""
    calls = tuple(_cut_call(call) for call in block.reply.calls)
    reply = replace(
        block.reply, text=cut_middle(block.reply.text, _LEAST_CHARS).text, reasoning="", calls=calls, raw=None
    )
    answers = tuple(replace(answer, call=call) for answer, call in zip(block.answers, calls, strict=True))
    return Block(reply=reply, answers=answers)


def _cut_call(call: ModelCall) -> ModelCall:
    if len(call.arguments) <= _LEAST_CHARS:
        return call
    # still a JSON object: model APIs refuse a history whose arguments are none
    cut = {"_cut": cut_middle(call.arguments, _LEAST_CHARS).text}
    return replace(call, arguments=json.dumps(cut, ensure_ascii=False))
