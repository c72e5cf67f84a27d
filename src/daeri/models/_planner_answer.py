"""What the planner says: from results only, and always what it is not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from itertools import pairwise

from daeri.text import Json, Locale, cut_middle, format_number, message

from ._planner_arguments import TEXT_FIELDS
from ._planner_facts import Fact
from ._planner_plan import Plan
from ._planner_schema import described, parameters
from ._port import ToolSpec

_ERROR_MARK = re.compile(r"^ERROR \w+(?: \(at [^)]*\))?: ")
_LISTED = 10
_LONG = 1200
_SHORT = 120
_EMPTY: tuple[Json, ...] = (None, "", [], {})
_PLACES = frozenset({"start", "end", "score"})
"""Where a passage stands and how well it fits: for machines."""


def about_itself(tools: Sequence[ToolSpec], locale: Locale) -> str:
    """What the planner is, and what it may call."""
    return f"{message('planner.self', locale)}\n{_offer(tools, locale)}"


def not_understood(tools: Sequence[ToolSpec], locale: Locale) -> str:
    """That no tool fits, and which there are."""
    return f"{message('planner.not_understood', locale)}\n{_offer(tools, locale)}"


def missing(tool: ToolSpec, names: Sequence[str], facts: Sequence[Fact], locale: Locale) -> str:
    """Which parameters of a tool are missing, with what is written about them."""
    schemas = parameters(tool)
    notes = [(name, described(schemas.get(name, {}))) for name in names]
    listed = "; ".join(f"{name} ({note})" if note else name for name, note in notes)
    said = message("planner.missing", locale, tool=tool.name, parameters=listed)
    return "\n".join((said, *_trail("planner.so_far", facts, locale)))


def not_reckoned(dropped: Sequence[str], facts: Sequence[Fact], locale: Locale) -> str:
    """Which parts of the goal no calculation was made of."""
    said = message("planner.not_reckoned", locale, parts=", ".join(f"“{part}”" for part in dropped))
    return "\n".join((said, *_trail("planner.so_far", facts, locale)))


def failure(fact: Fact, facts: Sequence[Fact], locale: Locale) -> str:
    """Which call failed and why, as the call says it."""
    reason = cut_middle(_ERROR_MARK.sub("", str(fact.value)).strip(), _LONG).text or "?"
    said = message("planner.failed", locale, call=_call(fact), reason=reason)
    return "\n".join((said, *_trail("planner.so_far", facts, locale)))


def answer(facts: Sequence[Fact], newest: Sequence[Fact], unit: str | None, plan: Plan, locale: Locale) -> str:
    """The newest results, and all calls that they come from. `unit` belongs to a number that was calculated."""
    number = None if unit is None else _calculated(newest[-1])
    if number is not None:
        said = message("planner.result", locale, answer=format_number(number, unit or "", locale))
    else:
        said = "\n".join(_shown(fact, locale) for fact in newest)
    planned = {step.tool.name for step in plan.steps}
    remarks = [
        ("planner.uncalculated", plan.uncalculated),
        ("planner.unjudged", plan.guessed or newest[-1].tool not in planned),
    ]
    said_of_it = [message(key, locale) for key, holds in remarks if holds]
    return "\n".join((said, *said_of_it, *_taken(facts, locale), *_trail("planner.evidence", facts, locale)))


def _taken(facts: Sequence[Fact], locale: Locale) -> Iterator[str]:
    """The names that were taken for those that the goal says."""
    for failed, found in pairwise(facts):
        for name, asked in failed.arguments.items():
            taken = found.arguments.get(name)
            if failed.failed and found.tool == failed.tool and taken != asked and taken in failed.alternatives():
                yield message("planner.taken", locale, asked=str(asked), taken=str(taken))


def _shown(fact: Fact, locale: Locale) -> str:
    found = [value for _, value in _lists(fact.value)]
    if found and not any(found):
        return message("planner.nothing", locale)
    body = next((value for name in TEXT_FIELDS if isinstance(value := _own(fact.value, name), str)), None)
    text = body or "\n".join(_lines(fact.value, tuple(fact.arguments.values()), locale))
    return cut_middle(text.strip(), _LONG).text or message("planner.empty", locale)


def _lists(value: Json) -> list[tuple[str, Sequence[Json]]]:
    """The lists that stand directly in a result, of which the first is what it is about."""
    if isinstance(value, Mapping):
        named = value.items()
        return [(key, inner) for key, inner in named if isinstance(inner, Sequence) and not isinstance(inner, str)][:1]
    return [("", value)] if isinstance(value, Sequence) and not isinstance(value, str) else []


def _own(value: Json, name: str) -> Json:
    return value.get(name) if isinstance(value, Mapping) else None


def _calculated(fact: Fact) -> Decimal | None:
    value = fact.value.get("result", fact.value.get("value")) if isinstance(fact.value, Mapping) else fact.value
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() and not isinstance(value, bool) else None


def _lines(value: Json, asked: Sequence[Json], locale: Locale) -> Iterator[str]:
    """A result as short lines; what the call was asked with is not said again, unless nothing else is there."""
    if isinstance(value, Mapping):
        told = {key: inner for key, inner in value.items() if inner not in asked and key not in _PLACES} or value
        flat = {key: inner for key, inner in told.items() if _is_flat(inner) and inner not in _EMPTY}
        for key in (key for key, inner in told.items() if not _is_flat(inner)):
            yield f"{key}:"
            yield from _lines(told[key], (), locale)
        if flat:
            yield ", ".join(f"{key}: {_inline(inner, locale)}" for key, inner in flat.items())
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value[:_LISTED]:
            yield from (f"- {line}" for line in _lines(inner, (), locale))
    else:
        yield _inline(value, locale)


def _is_flat(value: Json) -> bool:
    if isinstance(value, Mapping):
        return False
    if isinstance(value, Sequence) and not isinstance(value, str):
        return all(not isinstance(inner, Mapping | Sequence) or isinstance(inner, str) for inner in value)
    return True


def _inline(value: Json, locale: Locale) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return ", ".join(_inline(inner, locale) for inner in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = Decimal(str(value))
        return format_number(number, "", locale) if number.is_finite() else str(value)
    return json.dumps(value, ensure_ascii=False)


def _trail(key: str, facts: Sequence[Fact], locale: Locale) -> list[str]:
    calls = "; ".join(_call(fact) for fact in facts if not fact.failed)
    return [message(key, locale, calls=calls)] if calls else []


def _call(fact: Fact) -> str:
    arguments = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in fact.arguments.items())
    shown = f"{fact.tool}({arguments if len(arguments) <= _SHORT else arguments[: _SHORT - 1] + '…'})"
    if fact.failed:
        return shown
    number = fact.number()
    return f"{shown} → {number.text}" if number else shown


def _offer(tools: Sequence[ToolSpec], locale: Locale) -> str:
    if not tools:
        return message("planner.nothing_offered", locale)
    lines = [f"- {tool.name}: {tool.description.strip().partition(chr(10))[0]}" for tool in tools[:_LISTED]]
    if len(tools) > _LISTED:
        lines.append(message("planner.more", locale, count=len(tools) - _LISTED))
    return "\n".join((message("planner.offered", locale), *lines))
