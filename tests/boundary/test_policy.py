from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from daeri.boundary import Boundary, BuiltInPolicy, Decision, PolicyQuestion, Verdict, effective_risk
from daeri.identity import Principal
from daeri.text import JsonObject
from daeri.tools import RISKS, Annotations, Risk, Tool, tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, OpenDoor

KIM = Principal(tenant="acme", subject="user:kim", scopes=frozenset({"pay:send"}))


def _ask(tool: Tool, principal: Principal = KIM) -> Decision:
    at = datetime(2026, 11, 30, tzinfo=UTC)
    return BuiltInPolicy().decide(PolicyQuestion(principal=principal, tool=tool, arguments={}, origin="api", at=at))


def _tool(risk: Risk = "low", *, destructive: bool = False, idempotent: bool = False) -> Tool:
    marks = Annotations(destructive=destructive, idempotent=idempotent)
    return Tool(
        name="pay",
        description="",
        input_schema={"type": "object"},
        risk=risk,
        annotations=marks,
        scopes=frozenset({"pay:send"}),
    )


@pytest.mark.parametrize(("risk", "approvals"), [("high", 1), ("critical", 2)])
def test_a_high_risk_needs_one_approval_and_a_critical_one_needs_two(risk: Risk, approvals: int) -> None:
    decision = _ask(_tool(risk))

    assert (decision.verdict, decision.approvals_needed, decision.rules) == (
        "require_approval",
        approvals,
        (f"risk.{risk}",),
    )


@pytest.mark.parametrize("risk", ["low", "medium"])
def test_a_low_or_medium_risk_is_allowed_and_says_by_which_rules(risk: Risk) -> None:
    decision = _ask(_tool(risk))

    assert decision == Decision(verdict="allow", rules=("scope.held", f"risk.{risk}"), reasons=(), risk=risk)


@pytest.mark.parametrize("risk", RISKS)
def test_destructive_and_not_idempotent_is_at_least_high(risk: Risk) -> None:
    assert RISKS.index(effective_risk(_tool(risk, destructive=True))) >= RISKS.index("high")
    assert effective_risk(_tool("critical", destructive=True)) == "critical"


@pytest.mark.parametrize("risk", RISKS)
def test_destructive_and_idempotent_is_not_raised(risk: Risk) -> None:
    assert effective_risk(_tool(risk, destructive=True, idempotent=True)) == risk


def test_a_raised_risk_names_the_rule_that_raised_it() -> None:
    decision = _ask(_tool("low", destructive=True))

    assert (decision.verdict, decision.rules) == ("require_approval", ("risk.destructive", "risk.high"))


@pytest.mark.parametrize("risk", RISKS)
def test_without_the_scope_no_risk_leads_to_an_approval(risk: Risk) -> None:
    nobody = Principal(tenant="acme", subject="user:lee")

    assert _ask(_tool(risk), nobody).verdict == "deny"


class Says:
    """A policy of a company that has one answer for everything."""

    def __init__(self, verdict: Verdict, approvals: int = 0) -> None:
        self._decision = Decision(
            verdict=verdict, rules=("company.rule",), reasons=("we say so",), approvals_needed=approvals
        )

    def decide(self, question: PolicyQuestion) -> Decision:
        return self._decision


@tool(risk="high")
async def pay(amount: int) -> str:
    """Pay."""
    return "paid"


@tool(scopes=["mail:send"])
async def send(to: str) -> str:
    """Send."""
    return "sent"


@tool
async def look() -> str:
    """Look."""
    return "seen"


@pytest.mark.parametrize(
    ("name", "arguments", "added", "state", "rules"),
    [
        ("pay", {"amount": 1}, Says("allow"), "waiting", ("risk.high", "company.rule")),
        ("pay", {"amount": 1}, Says("require_approval", 1), "waiting", ("risk.high", "company.rule")),
        ("pay", {"amount": 1}, Says("require_approval", 2), "waiting", ("company.rule", "risk.high")),
        ("pay", {"amount": 1}, Says("deny"), "denied", ("company.rule", "risk.high")),
        ("send", {"to": "kim"}, Says("allow"), "denied", ("scope.missing", "company.rule")),
        ("send", {"to": "kim"}, Says("require_approval", 1), "denied", ("scope.missing", "company.rule")),
        ("look", {}, Says("require_approval", 1), "waiting", ("company.rule", "scope.held", "risk.low")),
        ("look", {}, Says("deny"), "denied", ("company.rule", "scope.held", "risk.low")),
        ("look", {}, Says("allow"), "succeeded", ("scope.held", "risk.low", "company.rule")),
    ],
)
async def test_a_policy_on_top_can_be_stricter_than_the_built_in_one_and_never_looser(
    open_door: OpenDoor, ask: Ask, name: str, arguments: JsonObject, added: Says, state: str, rules: tuple[str, ...]
) -> None:
    door = await open_door(pay, send, look)
    boundary = Boundary(registry=door.registry, store=door.store, policy=added)

    outcome = await boundary.call(ask(name, arguments))

    assert (outcome.state, outcome.decision and outcome.decision.rules) == (state, rules)
