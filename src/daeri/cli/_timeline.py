"""The timeline of a run: blocks, calls, arguments, decisions, results as shown, usage, cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from daeri.engine import (
    AnswerReleased,
    CallSummary,
    ModelReplied,
    RunEvent,
    RunResult,
    RunRow,
    RunStarted,
    UnknownEvent,
)
from daeri.text import Locale, message

from ._lines import Trail, call_line, duration, event_line, one_line, printable, summary_line
from ._shapes import json_text

_INDENT = "    "


def timeline(row: RunRow, events: Sequence[RunEvent], result: RunResult, locale: Locale) -> list[str]:
    """All lines, from the goal to the sums."""
    trail = Trail()
    lines = _heading(row, locale)
    for event in events:
        lines += _lines_of(event, trail, locale, row.created_at)
    for call in trail.rest():
        lines += _call_lines(call, locale)
    return [printable(line) for line in [*lines, "", summary_line(result, locale)]]


def _heading(row: RunRow, locale: Locale) -> list[str]:
    pairs = [
        ("run", row.run_id),
        ("goal", row.goal),
        ("agent", row.agent),
        ("model", row.model),
        ("person", row.subject),
        ("started", _clock(row.created_at)),
    ]
    if row.ended_at is not None:
        pairs.append(("ended", f"{_clock(row.ended_at)} · {_span(row.created_at, row.ended_at)}"))
    return [f"{message(f'cli.column.{name}', locale)}: {one_line(value, 2_000)}" for name, value in pairs]


def _clock(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M:%S %z}"


def _span(began: datetime, at: datetime) -> str:
    return duration((at - began).total_seconds() * 1000)


def _lines_of(event: RunEvent, trail: Trail, locale: Locale, began: datetime) -> list[str]:
    calls = [line for call in trail.apply(event.body) for line in _call_lines(call, locale)]
    match event.body:
        case RunStarted():
            tools = ", ".join(event.body.tools) or "-"
            return [f"{message('cli.column.tools', locale)}: {tools}"]
        case ModelReplied():
            return ["", *_turn_lines(event.body, locale, _span(began, event.at))]
        case AnswerReleased():
            return ["", f"{message('cli.show.answer', locale)}:", *_indented(event.body.text)]
        case UnknownEvent():
            return [message("cli.show.unknown_event", locale, name=event.body.name)]
        case _:
            own = event_line(event.body, locale)
            return [own, *calls] if own is not None else calls


def _turn_lines(event: ModelReplied, locale: Locale, after: str) -> list[str]:
    usage, cost = event.reply.usage, event.reply.cost
    head = message(
        "cli.show.turn",
        locale,
        step=event.step,
        input=f"{usage.input_tokens:,}",
        output=f"{usage.output_tokens:,}",
        cost=message("cli.cost.unknown", locale) if cost is None else f"${cost.normalize():f}",
    )
    return [f"{head} · +{after}", *_indented(event.reply.text)]


def _call_lines(call: CallSummary, locale: Locale) -> list[str]:
    lines = [f"  {call_line(call, locale)}"]
    lines.append(f"{_INDENT}{message('cli.show.arguments', locale)}: {json_text(call.arguments, indent=None)}")
    if call.decision is not None:
        decision = call.decision
        rules = ", ".join(decision.rules) or "-"
        lines.append(f"{_INDENT}{message('cli.show.decision', locale, risk=decision.risk, rules=rules)}")
        lines += [f"{_INDENT * 2}{reason}" for reason in decision.reasons]
    if call.shown:
        lines += [f"{_INDENT}{message('cli.show.result', locale)}:", *_indented(call.shown, _INDENT * 2)]
    return lines


def _indented(text: str, indent: str = _INDENT) -> list[str]:
    return [f"{indent}{line}" for line in printable(text).splitlines()]
