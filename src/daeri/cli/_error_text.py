"""Errors as one sentence for the person at the command line."""

from __future__ import annotations

from daeri.errors import (
    ConflictError,
    DaeriError,
    DefinitionError,
    ModelError,
    NotFoundError,
    RefusedError,
    SettingsError,
    StoreError,
)
from daeri.text import Locale, message


def error_text(error: DaeriError, locale: Locale) -> str:
    """What happened, to what, and what to do; details of the diagnosis stay in English."""
    match error:
        case SettingsError():
            return message(
                "cli.error.settings",
                locale,
                setting=error.setting,
                value=error.value,
                problem=error.problem.rstrip("."),
                fix=error.fix,
            ).rstrip()
        case DefinitionError():
            return message(
                "cli.error.definition",
                locale,
                subject=error.subject,
                problem=error.problem.rstrip("."),
                fix=error.fix,
            ).rstrip()
        case NotFoundError():
            noun = message(f"cli.noun.{error.noun}", locale) if error.noun in _NOUNS else error.noun
            return message("cli.error.not_found", locale, noun=noun, name=error.name, hint=error.hint).rstrip()
        case ConflictError():
            return message("cli.error.conflict", locale, noun=error.noun, name=error.name, expected=error.expected)
        case RefusedError():
            attempt = message(f"approvals.attempt.{error.attempt}", locale)
            why = message(f"approvals.refused.{error.rule}", locale, why=error.why)
            return message("approvals.refused.sentence", locale, attempt=attempt, name=error.name, why=why)
        case StoreError():
            key = "cli.error.store_reading" if error.reading else "cli.error.store"
            return message(key, locale, action=error.action, cause=error.cause)
        case ModelError():
            return f"{message(f'model_failed.{error.kind}', locale)} ({error.detail})"
        case _:
            return message("cli.error.other", locale, detail=error)


_NOUNS = frozenset({"agent", "approval request", "principal", "run", "tool"})
