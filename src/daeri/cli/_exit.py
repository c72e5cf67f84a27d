"""How a command ends: the exit codes of `daeri`, and wrong usage.

0    succeeded
1    failed
2    usage, settings or a definition is wrong
3    refused: there is no evidence for an answer
4    waiting for an approval
5    denied: policy stood in the way
6    waiting for an answer of the person
7    the outcome of a call is unknown; a person has to settle it
130  cancelled
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import typer

from daeri.errors import DaeriError, DefinitionError, NotFoundError, RefusedError, SettingsError, StoreError

if TYPE_CHECKING:
    from daeri.boundary import CallOutcome, CallState
    from daeri.engine import RunResult, RunState


class ExitCode(IntEnum):
    """The exit codes of `daeri`."""

    SUCCEEDED = 0
    FAILED = 1
    USAGE = 2
    REFUSED = 3
    WAITING_APPROVAL = 4
    DENIED = 5
    WAITING_INPUT = 6
    UNKNOWN_OUTCOME = 7
    CANCELLED = 130


class UsageError(typer.TyperException):
    """The command can't be used like this."""

    exit_code = ExitCode.USAGE


_BY_STATE: dict[RunState, ExitCode] = {
    "succeeded": ExitCode.SUCCEEDED,
    "failed": ExitCode.FAILED,
    "refused": ExitCode.REFUSED,
    "waiting_approval": ExitCode.WAITING_APPROVAL,
    "waiting_input": ExitCode.WAITING_INPUT,
    "cancelled": ExitCode.CANCELLED,
}

_BY_CALL_STATE: dict[CallState, ExitCode] = {
    "succeeded": ExitCode.SUCCEEDED,
    "waiting": ExitCode.WAITING_APPROVAL,
    "denied": ExitCode.DENIED,
    "started": ExitCode.UNKNOWN_OUTCOME,
    "unknown": ExitCode.UNKNOWN_OUTCOME,
    "cancelled": ExitCode.CANCELLED,
}


def exit_code_of(result: RunResult) -> ExitCode:
    """The exit code of a run that ended or waits."""
    if result.unknown_calls and result.status != "cancelled":
        return ExitCode.UNKNOWN_OUTCOME
    if result.reason == "denied":
        return ExitCode.DENIED
    return _BY_STATE.get(result.status, ExitCode.FAILED)


def exit_code_of_call(outcome: CallOutcome) -> ExitCode:
    """The exit code of a single call as it stands."""
    if outcome.failure is not None and outcome.failure.kind == "invalid_arguments":
        return ExitCode.USAGE
    return _BY_CALL_STATE.get(outcome.state, ExitCode.FAILED)


def exit_code_of_error(error: DaeriError) -> ExitCode:
    """2 for what the person can correct in the command or the project, 5 for what they may not, 1 for the rest."""
    if isinstance(error, RefusedError):
        return ExitCode.DENIED
    correctable = isinstance(error, SettingsError | DefinitionError | NotFoundError)
    # A folder or file that the operating system refuses is a matter of where `home` points.
    correctable |= isinstance(error, StoreError) and error.reading and isinstance(error.__cause__, OSError)
    return ExitCode.USAGE if correctable else ExitCode.FAILED
