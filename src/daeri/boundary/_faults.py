"""What a tool raised, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from daeri.errors import Failure, ToolError
from daeri.text import cut_middle, scrub_text
from daeri.tools import ArgumentsError, NotSentError, ResultError, Tool, UpstreamError

_MAX_TEXT_CHARS = 2_000
"""Of what a tool says about its failure."""

Health = Literal["up", "down", "unclear"]
"""What an attempt says of the system behind the tool: it answered; it didn't; neither, as when the tool crashed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fault:
    """Why an attempt gave no result."""

    failure: Failure
    health: Health
    sent: bool = True
    """Whether the system may have been asked for anything."""


def fault_of(tool: Tool, error: BaseException) -> Fault:
    """What an exception that came out of a tool means."""
    if isinstance(error, ToolError):
        return _declared(error)
    # a crash tells of the arguments or of the tool: counted, it would let whoever knows how to provoke it shut out all
    said = words(f"{tool.name} raised {type(error).__name__}: {words(error)}")
    return Fault(failure=Failure(kind="tool_error", diagnostic=said), health="unclear")


def words(said: object) -> str:
    """What somebody said, as a text that can be stored, cut to a length that people read."""
    try:
        text = str(said)
    except Exception as error:  # an exception's own code makes its text, and that may fail like anything else
        text = f"(its text can't be read: {type(error).__name__})"
    return scrub_text(cut_middle(text, _MAX_TEXT_CHARS).text)


def _declared(error: ToolError) -> Fault:
    # a subclass may have forgotten to call the `__init__` of its base
    diagnostic = words(getattr(error, "diagnostic", error))
    said = getattr(error, "user_message", None)
    for_people = words(said) if said else None
    if isinstance(error, ArgumentsError):
        failure = Failure(kind="invalid_arguments", diagnostic=diagnostic, path=error.problem.path)
        return Fault(failure=failure, health="unclear", sent=False)
    if isinstance(error, ResultError):
        failure = Failure(kind="contract_violation", diagnostic=diagnostic, path=error.path)
        return Fault(failure=failure, health="up")
    if isinstance(error, UpstreamError):
        failure = Failure(
            kind="transport",
            diagnostic=diagnostic,
            user_message=for_people,
            retry_after_s=getattr(error, "retry_after_s", None),
        )
        return Fault(failure=failure, health="down", sent=not isinstance(error, NotSentError))
    return Fault(failure=Failure(kind="tool_error", diagnostic=diagnostic, user_message=for_people), health="up")
