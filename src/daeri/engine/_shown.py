"""What a model is shown as the result of a call: the texts of this file are prompts, version 1."""

from __future__ import annotations

import json
from collections.abc import Mapping

from daeri.boundary import CallOutcome
from daeri.errors import ErrorKind, Failure
from daeri.text import Json, cut_middle

from ._events import Answered

_ADVICE: Mapping[ErrorKind, str] = {
    "unknown_tool": "Use only the tools that you were offered.",
    "malformed_arguments": "Send the arguments again as one valid JSON object.",
    "truncated_arguments": "The output limit cut your arguments off. Send less: shorter values, or several calls.",
    "invalid_arguments": "Correct the arguments as said and call again.",
    "denied": "Do not try again: the person lacks the right. Say so, or go on without it.",
    "timeout": "You may try once more, or go on without it.",
    "contract_violation": "The tool broke its own output contract; its result can't be used.",
    "rate_limited": "Go on without it for now; a later call may be admitted.",
    "circuit_open": "The system behind it is failing; go on without it.",
    "unavailable": "Go on without it for now.",
    "approval_rejected": "Do not try again: a person said no. Say so, or go on without it.",
    "approval_expired": "Nobody approved it in time. Say so, or go on without it.",
    "cancelled": "It was stopped.",
}
_LEAST_CHARS = 200
"""Below this, a cut would have no room for the mark that says so."""
_REPEAT_NUDGE = (
    "[You made this same call before and this is its recorded result; nothing ran again. "
    "Use it, or call with other arguments. Asking a third time in a row ends the run.]"
)


def answer_for(outcome: CallOutcome, limit: int) -> Answered:
    """The outcome as the model sees it, at most `limit` characters, and never fewer than the mark of a cut needs."""
    limit = max(limit, _LEAST_CHARS)
    if outcome.failure is not None:
        return Answered(
            call_id=outcome.call_id, content=cut_middle(_failure_text(outcome.failure), limit).text, failed=True
        )
    cut = cut_middle(value_text(outcome.value), limit, note=f"the full result is on record as {outcome.call_id}")
    content = cut.text
    if stand_in := outcome.effort.fallback:
        content = f"{content}\n[{outcome.tool} failed; this is what {stand_in} answered instead. Say so.]"
    return Answered(call_id=outcome.call_id, content=content, omitted_chars=cut.omitted)


def repeated_answer(call_id: str, original: Answered) -> Answered:
    """The answer of an earlier call given again, with a nudge."""
    return Answered(
        call_id=call_id,
        content=f"{original.content}\n{_REPEAT_NUDGE}",
        failed=original.failed,
        omitted_chars=original.omitted_chars,
    )


def value_text(value: Json) -> str:
    """A result as text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _failure_text(failure: Failure) -> str:
    place = f" (at {failure.path})" if failure.path else ""
    said = f" {failure.user_message}" if failure.user_message and failure.user_message != failure.diagnostic else ""
    advice = _ADVICE.get(failure.kind, "")
    return f"ERROR {failure.kind}{place}: {failure.diagnostic}.{said} {advice}".rstrip()
