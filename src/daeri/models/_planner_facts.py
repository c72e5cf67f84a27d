"""What the planner has found out so far: the calls of earlier turns, read back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import cast

from daeri.text import Json, JsonObject, NumberMention, find_numbers

from ._port import CallAnswer, ModelRequest

_DID_YOU_MEAN = re.compile(r"did you mean:?\s*(?P<names>[^?\n]+)", re.I)
_NO_QUANTITY = re.compile(
    r"(?:^|_)(?:id|date|time|source|score|start|end|year|line|bytes|offset|version|code|phone)$|_at$", re.I
)
_EQUALS = frozenset({"=", "은", "는", "is", "equals"})
_LINE = 60
_MAIN = ("value", "result", "total", "amount", "price", "rate", "balance", "quantity", "count")


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """One call of this run and what came of it."""

    tool: str
    arguments: JsonObject
    value: Json
    """The result; text that is no JSON stays text."""
    failed: bool

    def number(self) -> NumberMention | None:
        """The number that the result is about, if one stands out; a list or a long text is about more."""
        values = list(self.value.values()) if isinstance(self.value, Mapping) else [self.value]
        if any(len(value) > _LINE if isinstance(value, str) else isinstance(value, Sequence) for value in values):
            return None
        numbers = list(self._numbers())
        for name in _MAIN:
            for key, number in numbers:
                if key == name:
                    return number
        return numbers[0][1] if numbers else None

    def _numbers(self) -> Iterator[tuple[str, NumberMention]]:
        for key, value in leaves(self.value):
            if _NO_QUANTITY.search(key) or value in self.arguments.values() or isinstance(value, bool):
                continue
            if isinstance(value, int | float):
                yield key, _mention(str(value))
            elif isinstance(value, str) and (mention := _only_number(value)):
                yield key, mention

    def field(self, name: str) -> Json:
        """The result's value of this name, wherever it stands."""
        return next((value for key, value in leaves(self.value) if key == name), None)

    def alternatives(self) -> list[str]:
        """What the error suggests instead."""
        found = _DID_YOU_MEAN.search(self.value) if isinstance(self.value, str) else None
        return [name.strip(" '\"`.") for name in re.split(r",|\bor\b", found["names"])] if found else []


def facts_of(request: ModelRequest) -> list[Fact]:
    """The calls of all blocks in their order."""
    return [_fact(answer) for block in request.blocks for answer in block.answers]


def leaves(value: Json, key: str = "") -> Iterator[tuple[str, Json]]:
    """Every value that is neither an object nor a list, with the name that it goes by."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from leaves(inner, name)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value:
            yield from leaves(inner, key)
    else:
        yield key, value


def _fact(answer: CallAnswer) -> Fact:
    arguments = _read(answer.call.arguments)
    return Fact(
        tool=answer.call.name,
        arguments=arguments if isinstance(arguments, Mapping) else {},
        # an error is a sentence even where it looks like JSON
        value=answer.content if answer.failed else _read(answer.content),
        failed=answer.failed,
    )


def _read(text: str) -> Json:
    """The JSON value that a text starts with; a remark of the engine may follow it."""
    try:
        value = cast("Json", json.JSONDecoder().raw_decode(text.lstrip())[0])
    except (ValueError, RecursionError):
        return text
    return value


def _only_number(text: str) -> NumberMention | None:
    """The one number of a text, or the rate that it states (`1달러 = 1,380원`, with the unit `KRW/USD`)."""
    mentions = find_numbers(text)
    match mentions:
        case [one]:
            return one
        case [one, other] if one.value == 1 and text[one.end : other.start].strip() in _EQUALS:
            return replace(other, unit=f"{other.unit}/{one.unit}")
        case _:
            return None


def _mention(text: str) -> NumberMention:
    return NumberMention(value=Decimal(text), unit="", start=0, end=len(text), text=text)
