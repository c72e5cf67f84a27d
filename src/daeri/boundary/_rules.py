"""Rules of the settings: they tighten, per tool, tag or tenant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from daeri.tools import Risk

from ._policy import PolicyQuestion, approvals_for, people, strictest
from ._records import Decision
from ._selector import Selector


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyRule:
    """A rule that makes the calls it selects riskier, asks for approvals, or denies."""

    name: str
    """Decisions name it `settings.NAME`."""
    selector: Selector
    risk: Risk | None = None
    """The risk is at least this."""
    approvals: int = 0
    """At least so many people must approve."""
    deny: bool = False
    reason: str = ""


class RulePolicy:
    """All rules that select a call speak; the strictest of them decides."""

    def __init__(self, rules: Iterable[PolicyRule]) -> None:
        self._rules = tuple(rules)

    @property
    def rules(self) -> Sequence[PolicyRule]:
        """The rules, in their order."""
        return self._rules

    def decide(self, question: PolicyQuestion) -> Decision:
        """Allow without a word when no rule selects the call."""
        spoken = [_decision(rule) for rule in self._rules if rule.selector.selects(question)]
        return strictest(spoken) if spoken else Decision(verdict="allow", rules=(), reasons=())


def _decision(rule: PolicyRule) -> Decision:
    risk: Risk = rule.risk or "low"
    rules = (f"settings.{rule.name}",)
    words = f": {rule.reason}" if rule.reason else ""
    if rule.deny:
        return Decision(verdict="deny", rules=rules, reasons=(f"rule {rule.name!r} denies it{words}",), risk=risk)
    needed = max(rule.approvals, approvals_for(risk))
    if not needed:
        return Decision(verdict="allow", rules=rules, reasons=(), risk=risk)
    reason = f"rule {rule.name!r} needs the approval of {people(needed)}{words}"
    return Decision(verdict="require_approval", rules=rules, reasons=(reason,), approvals_needed=needed, risk=risk)
