"""Fixed texts for people when a run has no answer of the model to release."""

from __future__ import annotations

from collections.abc import Iterable

from daeri.errors import ErrorKind, Failure, ModelError
from daeri.text import Locale, cut_middle, message

from ._events import EndReason
from ._result import CallSummary

_FINDING_CHARS = 300


def refusal(failures: Iterable[Failure], locale: Locale) -> str:
    """Why there is no answer, by kind of failure, when calls were made and none succeeded."""
    reasons: dict[str, None] = {}
    for failure in failures:
        reasons[failure.user_message or message(f"failure.{failure.kind}", locale)] = None
    lines = "\n".join(f"- {reason}" for reason in reasons)
    return f"{message('refusal.no_evidence', locale)}\n{lines}"


def stopped(reason: EndReason, calls: Iterable[CallSummary], locale: Locale, **values: object) -> str:
    """That a limit or guard ended the run, and what was found so far."""
    found = [_finding(call) for call in calls if call.state == "succeeded" and call.repeats is None]
    head = message(f"stopped.{reason}", locale, **values)
    if not found:
        return f"{head}\n{message('stopped.nothing_found', locale)}"
    return "\n".join([head, message("stopped.found", locale), *found])


def apology(error: ModelError, locale: Locale) -> str:
    """That the model could not answer, and what can be done."""
    return message(f"model_failed.{error.kind}", locale)


def only_denied(failures: Iterable[Failure]) -> bool:
    """Whether policy alone stood in the way."""
    policy: frozenset[ErrorKind] = frozenset({"denied", "approval_rejected", "approval_expired"})
    kinds = [failure.kind for failure in failures]
    return bool(kinds) and all(kind in policy for kind in kinds)


def _finding(call: CallSummary) -> str:
    shown = " ".join(cut_middle(call.shown, _FINDING_CHARS).text.split())
    return f"- {call.tool}: {shown}"
