"""Everything that can go wrong, in one tree.

    DaeriError
    ├── SettingsError      a setting is missing or wrong; raised at start, never at the first request
    ├── DefinitionError    a tool, agent or schema definition can't be used
    ├── NotFoundError      no such record, or none that this principal may see
    ├── ConflictError      the record is no longer in the state that the change expects
    ├── RefusedError       somebody tried what the rules don't let them; the attempt is on record
    ├── StoreError         a record could not be written or read
    ├── ToolError          raised by a tool: what happened, in words that people may read
    └── ModelError         a model could not answer (`kind` says why, `retryable` what may be done)

Failures of calls are data, not exceptions: `Failure` carries them to the model and into the record.
Each error builds its own sentence: what happened, to what, and what to do next.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

__all__ = [
    "ERROR_KINDS",
    "ConflictError",
    "DaeriError",
    "DefinitionError",
    "ErrorKind",
    "Failure",
    "ModelError",
    "ModelErrorKind",
    "NotFoundError",
    "RefusedError",
    "SettingsError",
    "StoreError",
    "ToolError",
]

ErrorKind = Literal[
    # provider side
    "contract_violation",
    "transport",
    "timeout",
    "tool_error",
    "circuit_open",
    # our side
    "unknown_tool",
    "malformed_arguments",
    "truncated_arguments",
    "invalid_arguments",
    "not_implemented",
    "unavailable",
    "internal",
    # policy
    "denied",
    "rate_limited",
    "approval_rejected",
    "approval_expired",
    "approval_withdrawn",
    "approval_void",
    # control
    "cancelled",
]
"""Why a call did not succeed. People get the fixed text of the kind (`text` catalogue, `failure.<kind>`)."""

ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Why a call did not succeed, as data."""

    kind: ErrorKind
    diagnostic: str
    """For the model, the log and the console; never shown to people as an answer. Holds no secrets."""
    path: str | None = None
    """JSON Pointer (RFC 6901) of the value at fault, for `invalid_arguments` and `contract_violation`."""
    user_message: str | None = None
    """Words that the tool's author wrote for people; without them people get the fixed text of `kind`."""
    retry_after_s: float | None = None
    """Seconds after which the same call may be admitted, for `rate_limited`, `circuit_open` and `unavailable`."""


class DaeriError(Exception):
    """Base of every error that Daeri raises on purpose."""


class SettingsError(DaeriError):
    """A setting is missing or wrong."""

    def __init__(self, setting: str, value: object, problem: str, fix: str) -> None:
        self.setting = setting
        self.value = value
        self.problem = problem
        self.fix = fix
        super().__init__(f"setting `{setting}` = {value!r}: {problem}. {fix}")


class DefinitionError(DaeriError):
    """A tool, agent or schema definition can't be used."""

    def __init__(self, subject: str, problem: str, fix: str = "") -> None:
        self.subject = subject
        self.problem = problem
        self.fix = fix
        super().__init__(f"{subject}: {problem}." + (f" {fix}" if fix else ""))


class NotFoundError(DaeriError):
    """No such record, or none that this principal may see: the two look the same from outside."""

    def __init__(self, noun: str, name: str, hint: str = "") -> None:
        self.noun = noun
        self.name = name
        self.hint = hint
        super().__init__(f"no {noun} {name!r}." + (f" {hint}" if hint else ""))


class ConflictError(DaeriError):
    """The record is no longer in the state that the change expects."""

    def __init__(self, noun: str, name: str, expected: str) -> None:
        self.noun = noun
        self.name = name
        self.expected = expected
        super().__init__(f"{noun} {name!r} is no longer {expected}; read it again before you change it.")


class RefusedError(DaeriError):
    """Somebody tried what the rules don't let them; the attempt is on record."""

    def __init__(self, attempt: str, noun: str, name: str, rule: str, why: str) -> None:
        self.attempt = attempt
        self.noun = noun
        self.name = name
        self.rule = rule
        """Which rule stood in the way, such as `own_request`."""
        self.why = why
        super().__init__(f"you can't {attempt} {noun} {name!r}: {why}.")


class StoreError(DaeriError):
    """A record could not be written, and nothing of the change was kept; or it could not be read (`reading`)."""

    def __init__(self, action: str, cause: str, *, reading: bool = False) -> None:
        self.action = action
        self.cause = cause
        self.reading = reading
        advice = (
            "Nothing was changed; restore the file from a backup, or choose another folder for it."
            if reading
            else "Nothing of it was kept; check the disk and run `daeri doctor`."
        )
        super().__init__(f"could not {action}: {cause}. {advice}")


class ToolError(DaeriError):
    """Raised by a tool to say what went wrong.

    `user_message` reaches people as it is; `diagnostic` only the model, the log and the console.
    """

    def __init__(self, user_message: str, *, diagnostic: str | None = None) -> None:
        self.user_message = user_message
        self.diagnostic = diagnostic or user_message
        super().__init__(self.diagnostic)


ModelErrorKind = Literal[
    "rate_limit",
    "overloaded",
    "server",
    "connection",
    "timeout",
    "context_overflow",
    "authentication",
    "quota",
    "bad_request",
    "unusable_reply",
]
"""Why a model could not answer. `unusable_reply` is a reply that holds nothing to act on."""

_RETRYABLE: frozenset[ModelErrorKind] = frozenset({"rate_limit", "overloaded", "server", "connection", "timeout"})


class ModelError(DaeriError):
    """A model could not answer."""

    def __init__(
        self,
        kind: ModelErrorKind,
        model: str,
        detail: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        self.kind: ModelErrorKind = kind
        self.model = model
        self.detail = detail
        self.status = status
        self.retry_after_s = retry_after_s
        super().__init__(f"model {model!r}: {kind.replace('_', ' ')}: {detail}")

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed a little later."""
        return self.kind in _RETRYABLE
