"""Cedar policies with what their annotations say."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cedarpy

from ._binding import misfits
from ._text import PolicyText, line_of_error

_MAX_APPROVALS = 9


@dataclass(frozen=True, kw_only=True, slots=True)
class CedarRule:
    """One `forbid`: it denies, or asks; or, in log-only mode, is only recorded as one that would have."""

    name: str
    """Its `@id`, else its file and line; decisions name it `cedar.NAME`."""
    source: PolicyText
    approvals: int
    """0: it denies; else so many people may let the call through."""
    log_only: bool
    reason: str
    policy: Any
    """In Cedar's JSON format."""

    @property
    def place(self) -> str:
        """File and line."""
        return f"{self.source.file.name}:{self.source.line}"


def rules_of(texts: Sequence[PolicyText]) -> Sequence[CedarRule]:
    """All policies, parsed.

    Raises:
        DefinitionError: one is not Cedar, not a `forbid`, or has an annotation that can't be used.
    """
    rules: dict[str, CedarRule] = {}
    for text in texts:
        rule = _rule(text)
        if rule.name in rules:
            first = rules[rule.name].place
            raise text.fault(f'@id("{rule.name}") is that of {first} too', "Give each policy an id of its own.")
        rules[rule.name] = rule
    return list(rules.values())


def check_against(schema: cedarpy.Schema, rule: CedarRule) -> None:
    """Check one policy with the schema of the tools.

    Raises:
        DefinitionError: it names a tool, an argument or a fact that is not there, or compares what can't be compared.
    """
    found = misfits(rule.source.text, schema)
    if not found:
        return
    more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
    raise rule.source.fault(
        f"{found[0]}{more}", "Compare it with the schema: `daeri policy check --schema` prints what there is."
    )


def _rule(text: PolicyText) -> CedarRule:
    policy = _parsed(text)
    notes: dict[str, str | None] = policy.get("annotations", {})
    if policy["effect"] == "permit":
        raise text.fault(
            "a permit adds nothing, because what the built-in rules allow is permitted already",
            "Write what is not allowed: forbid (...) unless { ... };",
        )
    return CedarRule(
        name=notes.get("id") or f"{text.file.name}:{text.line}",
        source=text,
        approvals=_approvals(text, notes),
        log_only=_log_only(text, notes),
        reason=notes.get("reason") or "",
        policy=policy,
    )


def _parsed(text: PolicyText) -> Any:
    problem = _problem(text.text)
    if problem is not None:
        raise text.fault(problem, line=line_of_error(text, problem, _problem))
    found = json.loads(cedarpy.policies_to_json_str(text.text))
    if found["templates"]:
        raise text.fault("is a template; nothing fills its ?places here", "Name the principal or the resource.")
    (policy,) = found["staticPolicies"].values()
    return policy


def _problem(text: str) -> str | None:
    try:
        cedarpy.PolicySet.from_str(text)
    except ValueError as error:
        return str(error)
    return None


def _approvals(text: PolicyText, notes: dict[str, str | None]) -> int:
    if "require_approval" not in notes:
        return 0
    number = notes["require_approval"] or "1"
    if not (number.isdecimal() and number.isascii() and 1 <= int(number) <= _MAX_APPROVALS):
        raise text.fault(f'@require_approval("{number}") is no number of people', f"Write 1 to {_MAX_APPROVALS}.")
    return int(number)


def _log_only(text: PolicyText, notes: dict[str, str | None]) -> bool:
    mode = notes.get("mode", "enforce")
    if mode not in ("enforce", "log_only"):
        raise text.fault(f'@mode("{mode or ""}") is no mode', 'Write @mode("log_only") or @mode("enforce").')
    return mode == "log_only"
