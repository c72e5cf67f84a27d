"""What a turn used and what it cost; estimates where nobody reports."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, TypeAlias

from daeri.text import canonical_json, count_tokens

from ._port import ModelRequest, Usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

PriceTable: TypeAlias = Mapping[str, tuple[Decimal, Decimal]]
"""US dollars per million input and output tokens, by the name of the model. Cached tokens count as input tokens."""

_MILLION = Decimal(1_000_000)


def estimate_usage(request: ModelRequest, text_so_far: str) -> Usage:
    """What a turn has probably used: for a stream that was interrupted, and for servers that report nothing."""
    return Usage(
        input_tokens=count_tokens("\n".join(_sent_texts(request))),
        output_tokens=count_tokens(text_so_far),
        estimated=True,
    )


def _sent_texts(request: ModelRequest) -> list[str]:
    texts = [request.instructions, request.goal, request.omitted, request.notice]
    for block in request.blocks:
        reply = block.reply
        texts += [reply.text, reply.reasoning, *(call.name + call.arguments for call in reply.calls)]
        texts += [answer.content for answer in block.answers]
    for tool in request.tools:
        texts += [tool.name, tool.description, canonical_json(tool.input_schema)]
    return [text for text in texts if text]


def reported_usage(response: ModelResponse) -> Usage | None:
    """What the provider reported, in our terms; `None` when it reported nothing."""
    usage = response.usage
    if usage.unmeasured_requests or not (usage.input_tokens or usage.output_tokens):
        return None
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cache_read_tokens,
        reasoning_tokens=usage.details.get("reasoning_tokens", 0),
    )


def cost_of(response: ModelResponse, usage: Usage, prices: PriceTable, name: str) -> Decimal | None:
    """US dollars: by our own table for the configured or the reported name, else by list prices; `None` if unknown."""
    price = prices.get(name) or prices.get(response.model_name or "")
    if price is not None:
        return (usage.input_tokens * price[0] + usage.output_tokens * price[1]) / _MILLION
    return None if usage.estimated else _list_price(response)


def _list_price(response: ModelResponse) -> Decimal | None:
    if not response.model_name:
        return None
    try:
        return response.cost().total_price
    except (LookupError, ValueError):
        # an unknown name, or counts that contradict each other
        return None
