"""The built-in policy: always on, and never loosened by anything that is added on top."""

from __future__ import annotations

from typing import Protocol

from daeri.identity import Principal, missing_scopes
from daeri.text import JsonObject
from daeri.tools import RISKS, Risk, Tool

from ._records import Decision, Verdict

_VERDICTS: tuple[Verdict, ...] = ("allow", "require_approval", "deny")
"""From the mildest to the strictest."""
_APPROVALS: dict[Risk, int] = {"low": 0, "medium": 0, "high": 1, "critical": 2}


class Policy(Protocol):
    """Says what may happen to a call whose tool is known and whose arguments fit."""

    def decide(self, principal: Principal, tool: Tool, arguments: JsonObject) -> Decision:
        """Allow, deny or require approval, with the rules that spoke."""
        ...


class BuiltInPolicy:
    """Missing scope: deny. Risk `high`: one approval, `critical`: two. Destructive, not idempotent: at least `high`."""

    def decide(self, principal: Principal, tool: Tool, arguments: JsonObject) -> Decision:
        """Weigh scopes first, then risk; the arguments don't matter to these rules."""
        risk = effective_risk(tool)
        if missing := missing_scopes(tool.scopes, principal.scopes):
            return Decision(
                verdict="deny",
                rules=("scope.missing",),
                reasons=(f"{principal.subject} lacks the scope{'s' if len(missing) > 1 else ''} {', '.join(missing)}",),
                risk=risk,
            )
        if needed := _APPROVALS[risk]:
            rules = [f"risk.{risk}"] if risk == tool.risk else ["risk.destructive", f"risk.{risk}"]
            people = "one person" if needed == 1 else "two different people"
            reason = f"a tool of risk {risk} needs the approval of {people}"
            return Decision(
                verdict="require_approval", rules=tuple(rules), reasons=(reason,), approvals_needed=needed, risk=risk
            )
        return Decision(verdict="allow", rules=("scope.held", f"risk.{risk}"), reasons=(), risk=risk)


class PolicyOnTop:
    """The built-in policy and one more: the stricter decision holds."""

    def __init__(self, added: Policy) -> None:
        self._built_in = BuiltInPolicy()
        self._added = added

    def decide(self, principal: Principal, tool: Tool, arguments: JsonObject) -> Decision:
        """Ask both; when they are equally strict, the built-in one speaks."""
        floor = self._built_in.decide(principal, tool, arguments)
        return max(floor, self._added.decide(principal, tool, arguments), key=_strictness)


def _strictness(decision: Decision) -> tuple[int, int]:
    return _VERDICTS.index(decision.verdict), decision.approvals_needed


def effective_risk(tool: Tool) -> Risk:
    """The declared risk, raised to `high` for a tool that destroys and can't safely be repeated."""
    marks = tool.annotations
    if marks.destructive and not marks.idempotent:
        floor: Risk = "high"
        return max((tool.risk, floor), key=RISKS.index)
    return tool.risk
