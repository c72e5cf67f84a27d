"""Policies: what each may say, how their answers become one, and the built-in one that nothing on top can loosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from daeri.identity import Principal, missing_scopes
from daeri.text import JsonObject
from daeri.tools import RISKS, Risk, Tool

from ._records import Decision, Origin, Verdict

_VERDICTS: tuple[Verdict, ...] = ("allow", "require_approval", "deny")
"""From the mildest to the strictest."""
_APPROVALS: dict[Risk, int] = {"low": 0, "medium": 0, "high": 1, "critical": 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyQuestion:
    """A call whose tool is known and whose arguments fit: may it happen?"""

    principal: Principal
    tool: Tool
    arguments: JsonObject
    origin: Origin
    at: datetime
    agent: str | None = None
    run_id: str | None = None
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    """Where argument values came from, by JSON Pointer."""


class Policy(Protocol):
    """Says what may happen to a call. Asking leaves nothing behind, so that it can be asked again at any time."""

    def decide(self, question: PolicyQuestion) -> Decision:
        """Allow, deny or require approval, with the rules that spoke."""
        ...


class BuiltInPolicy:
    """Missing scope: deny. Risk `high`: one approval, `critical`: two. Destructive, not idempotent: at least `high`.

    `loosened` names tools that count as no riskier than given; scopes can't be loosened.
    """

    def __init__(self, loosened: Mapping[str, Risk] | None = None) -> None:
        self._loosened: Mapping[str, Risk] = dict(loosened or {})

    def decide(self, question: PolicyQuestion) -> Decision:
        """Weigh scopes first, then risk; the arguments don't matter to these rules."""
        tool, principal = question.tool, question.principal
        risk, causes = self._risk(tool)
        if missing := missing_scopes(tool.scopes, principal.scopes):
            return Decision(
                verdict="deny",
                rules=("scope.missing",),
                reasons=(f"{principal.subject} lacks the scope{'s' if len(missing) > 1 else ''} {', '.join(missing)}",),
                risk=risk,
            )
        rules = (*causes, f"risk.{risk}")
        if needed := approvals_for(risk):
            return Decision(
                verdict="require_approval",
                rules=rules,
                reasons=(f"a tool of risk {risk} needs the approval of {people(needed)}",),
                approvals_needed=needed,
                risk=risk,
            )
        return Decision(verdict="allow", rules=("scope.held", *rules), reasons=(), risk=risk)

    def _risk(self, tool: Tool) -> tuple[Risk, tuple[str, ...]]:
        risk = effective_risk(tool)
        limit = self._loosened.get(tool.name)
        if limit is not None and RISKS.index(limit) < RISKS.index(risk):
            return limit, ("setting.loosened",)
        return risk, () if risk == tool.risk else ("risk.destructive",)


class StrictestPolicy:
    """Several policies as one: none loosens another, and all that spoke are named."""

    def __init__(self, layers: Iterable[Policy]) -> None:
        self._layers = tuple(layers)

    def decide(self, question: PolicyQuestion) -> Decision:
        """Ask all; a layer that fails to answer denies."""
        return strictest(_answer(layer, question) for layer in self._layers)


def strictest(decisions: Iterable[Decision]) -> Decision:
    """Deny beats approval beats allow, the most approvals and the greatest risk hold; whatever decided is named first.

    Without any decision: deny.
    """
    ranked = sorted(decisions, key=_strictness, reverse=True)
    if not ranked:
        return Decision(verdict="deny", rules=("policy.none",), reasons=("no policy has answered",))
    first = ranked[0]
    risks: list[Risk] = [one.risk for one in ranked]
    return Decision(
        verdict=first.verdict,
        rules=tuple(dict.fromkeys(rule for one in ranked for rule in one.rules)),
        reasons=tuple(dict.fromkeys(reason for one in ranked for reason in one.reasons)),
        approvals_needed=max(1, first.approvals_needed) if first.verdict == "require_approval" else 0,
        risk=max(risks, key=RISKS.index),
    )


def effective_risk(tool: Tool) -> Risk:
    """The declared risk, raised to `high` for a tool that destroys and can't safely be repeated."""
    marks = tool.annotations
    if marks.destructive and not marks.idempotent:
        floor: Risk = "high"
        return max((tool.risk, floor), key=RISKS.index)
    return tool.risk


def approvals_for(risk: Risk) -> int:
    """How many people must approve a call of this risk."""
    return _APPROVALS[risk]


def people(number: int) -> str:
    """How many people, in a reason."""
    return {1: "one person", 2: "two different people"}.get(number, f"{number} different people")


def _answer(layer: Policy, question: PolicyQuestion) -> Decision:
    try:
        return layer.decide(question)
    except Exception as error:  # a policy that can't answer must not let the call through, nor go without a record
        reason = f"{type(layer).__name__} could not decide: {type(error).__name__}"
        return Decision(verdict="deny", rules=("policy.error",), reasons=(reason,))


def _strictness(decision: Decision) -> tuple[int, int]:
    return _VERDICTS.index(decision.verdict), decision.approvals_needed
