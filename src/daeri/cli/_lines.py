"""What happens in a run, as single lines for people: pure functions over events and calls."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from daeri.engine import (
    ApprovalChanged,
    BlockCompleted,
    CallAttempted,
    CallEvent,
    CallRepeated,
    CallSummary,
    ContextTrimmed,
    ModelFailed,
    RunEnded,
    RunEventBody,
    RunResult,
    RunWaiting,
)
from daeri.errors import ErrorKind, Failure
from daeri.text import Json, Locale, cut_middle, message

_OWN_WORDS: frozenset[ErrorKind] = frozenset(
    {
        "unknown_tool",
        "malformed_arguments",
        "truncated_arguments",
        "invalid_arguments",
        "denied",
        "rate_limited",
        "approval_rejected",
        "approval_expired",
        "approval_withdrawn",
        "approval_void",
    }
)
"""Kinds whose diagnostic was written before any tool ran: no exception's words are in it."""

ARGUMENT_CHARS = 60
RESULT_CHARS = 72

# Escape sequences in a result or an answer must not reach the terminal: they could rewrite what it shows.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """Text without control characters and marks that turn its direction; line breaks and tabs stay."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def one_line(text: str, limit: int) -> str:
    """Text on one line, at most `limit` characters."""
    flat = " ".join(printable(text).split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def own_words(failure: Failure) -> str | None:
    """The diagnostic, if people may read it: words of Daeri and its policies, and not those of an exception."""
    return failure.diagnostic if failure.kind in _OWN_WORDS else None


def for_people(failure: Failure, locale: Locale) -> str:
    """What the author of the tool wrote for people, else the fixed text of the kind."""
    return failure.user_message or message(f"failure.{failure.kind}", locale)


def call_head(tool: str, arguments: Json) -> str:
    """`knowledge.lookup("단가")`: one argument by its value, several with their names."""
    if isinstance(arguments, Mapping):
        values = [(name, _value(value)) for name, value in arguments.items()]
        inner = values[0][1] if len(values) == 1 else ", ".join(f"{name}={value}" for name, value in values)
    else:
        inner = "" if arguments is None else _value(arguments)
    return f"{one_line(tool, ARGUMENT_CHARS)}({one_line(inner, ARGUMENT_CHARS)})"


def duration(ms: float) -> str:
    """Milliseconds below a second, else seconds."""
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.1f} s"


def call_line(call: CallSummary, locale: Locale) -> str:
    """A call with its decision, its outcome and its time."""
    head = call_head(call.tool, call.arguments)
    if call.repeats is not None:
        return f"{head} → {message('cli.call.repeated', locale)}"
    parts = [head]
    if call.decision is not None:
        parts.append(message(f"cli.verdict.{call.decision.verdict}", locale))
    parts.append(outcome_text(call, locale))
    line = " → ".join(parts)
    return line if call.elapsed_ms is None else f"{line} · {duration(call.elapsed_ms)}"


def outcome_text(call: CallSummary, locale: Locale) -> str:
    """How a call stands: its result in short, or why there is none."""
    if call.state == "succeeded":
        return one_line(_essence(call.shown), RESULT_CHARS) or message("cli.state.succeeded", locale)
    state = message(f"cli.state.{call.state}", locale)
    if call.state == "cancelled":
        return state
    if call.state == "denied" and call.decision is not None and call.decision.reasons:
        return f"{state}: {one_line('; '.join(call.decision.reasons), RESULT_CHARS * 2)}"
    if call.failure is not None:
        why = one_line(call.failure.diagnostic, RESULT_CHARS * 2)
        return f"{state} ({call.failure.kind}): {why}"
    return f"{state} ({call.approval_id})" if call.approval_id else state


def event_line(body: RunEventBody, locale: Locale) -> str | None:
    """The line for an event that is worth one and concerns no call."""
    match body:
        case ModelFailed(retry_in_s=None):
            return message("cli.event.model_failed", locale, detail=one_line(body.detail, RESULT_CHARS * 2))
        case ModelFailed():
            detail = one_line(body.detail, RESULT_CHARS * 2)
            seconds = f"{body.retry_in_s:.1f}"
            return message("cli.event.model_retry", locale, attempt=body.attempt, detail=detail, seconds=seconds)
        case ApprovalChanged():
            line = message(f"approvals.event.{body.state}", locale, approval=body.approval_id, by=body.by)
            return f"{line}: {one_line(body.reason, RESULT_CHARS * 2)}" if body.reason else line
        case CallAttempted():
            why = one_line(body.failure.diagnostic, RESULT_CHARS * 2)
            seconds = f"{body.retry_in_s:.1f}"
            return message(
                "cli.event.attempted", locale, tool=body.tool, attempt=body.number, detail=why, seconds=seconds
            )
        case ContextTrimmed():
            return message("cli.event.trimmed", locale, count=body.omitted)
        case _:
            return None


def summary_line(result: RunResult, locale: Locale) -> str:
    """How a run ended, with its sums and its id."""
    tokens = result.usage.input_tokens + result.usage.output_tokens
    cost = message("cli.cost.unknown", locale) if result.cost is None else f"${result.cost.normalize():f}"
    return message(
        "cli.summary",
        locale,
        state=message(f"cli.state.{result.status}", locale),
        steps=result.steps,
        calls=len(result.calls),
        tokens=f"{tokens:,}",
        cost=cost,
        run=result.run_id,
    )


class Trail:
    """The calls of a run as events tell of them; gives each when there is nothing more to come for it."""

    def __init__(self) -> None:
        self._calls: dict[str, CallSummary] = {}
        self._open: dict[str, None] = {}

    @property
    def running(self) -> list[CallSummary]:
        """Calls under way, in the order in which they were requested; may be asked for from another thread."""
        return [
            call for call_id in list(self._open) if (call := self._calls[call_id]).state in ("requested", "started")
        ]

    def rest(self) -> list[CallSummary]:
        """The calls that are not finished when the events end, as in a run whose process died."""
        return self._close(list(self._open))

    def apply(self, body: RunEventBody) -> list[CallSummary]:
        """Take an event in; the calls that are finished by it, in call order."""
        match body:
            case CallEvent():
                self._change(body)
            case CallRepeated():
                original = self._calls.get(body.of)
                arguments = None if original is None else original.arguments
                self._add(
                    CallSummary(
                        call_id=body.call_id, tool=body.tool, arguments=arguments, state="succeeded", repeats=body.of
                    )
                )
            case BlockCompleted():
                for answer in body.answers:
                    if known := self._calls.get(answer.call_id):
                        self._calls[answer.call_id] = replace(known, shown=answer.content)
                return self._close([answer.call_id for answer in body.answers])
            case RunWaiting() | RunEnded():
                return self.rest()
            case _:
                pass
        return []

    def _change(self, event: CallEvent) -> None:
        known = self._calls.get(event.call_id) or CallSummary(
            call_id=event.call_id, tool=event.tool, arguments=event.arguments, state=event.state
        )
        self._add(
            replace(
                known,
                state=event.state,
                decision=event.decision or known.decision,
                failure=event.failure or known.failure,
                approval_id=event.approval_id or known.approval_id,
                elapsed_ms=known.elapsed_ms if event.elapsed_ms is None else event.elapsed_ms,
            )
        )

    def _add(self, call: CallSummary) -> None:
        self._calls[call.call_id] = call
        self._open[call.call_id] = None

    def _close(self, call_ids: list[str]) -> list[CallSummary]:
        closed = [call_id for call_id in call_ids if call_id in self._open]
        for call_id in closed:
            del self._open[call_id]
        return [self._calls[call_id] for call_id in closed]


def _value(value: Json) -> str:
    return cut_middle(json.dumps(value, ensure_ascii=False), 1_000).text


def _essence(shown: str) -> str:
    """Of an object that names its `value` or `result`, that; it is what a person looks for first."""
    try:
        value: object = json.loads(shown)
    except ValueError:
        return shown
    if isinstance(value, dict):
        for name in ("value", "result"):
            if isinstance(inner := cast("dict[str, object]", value).get(name), str | int | float):
                return str(inner)
    return shown
