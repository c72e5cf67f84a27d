from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.boundary import BuiltInPolicy, Decision, PolicyQuestion, PolicyRule, RulePolicy, Selector, StrictestPolicy
from daeri.identity import Principal
from daeri.tools import RISKS

if TYPE_CHECKING:
    from tests.boundary.policy.conftest import AskFor, MakeTool

ORDER = ("allow", "require_approval", "deny")
RULES = st.builds(
    PolicyRule,
    name=st.sampled_from(["one", "two"]),
    selector=st.builds(
        Selector,
        tool=st.sampled_from([None, "pay", "pay.*", "*", "other"]),
        tag=st.sampled_from([None, "money", "mail"]),
        tenant=st.sampled_from([None, "acme", "globex"]),
    ),
    risk=st.sampled_from([None, *RISKS]),
    approvals=st.integers(0, 3),
    deny=st.booleans(),
)


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        (Selector(tool="pay.send"), {"pay.send"}),
        (Selector(tool="pay.*"), {"pay.send", "pay.undo"}),
        (Selector(tool="*"), {"pay.send", "pay.undo", "payroll", "mail.send"}),
        (Selector(tag="money"), {"pay.send", "payroll"}),
        (Selector(tool="pay.*", tag="money"), {"pay.send"}),
        (Selector(tenant="acme"), {"pay.send", "pay.undo", "payroll", "mail.send"}),
        (Selector(tenant="globex"), set[str]()),
        (Selector(tool="mail.*", tenant="globex"), set[str]()),
    ],
)
def test_a_rule_is_about_exactly_the_calls_that_it_names(
    selector: Selector, names: set[str], question: AskFor, make_tool: MakeTool
) -> None:
    tags = {"pay.send": "money", "payroll": "money"}
    tools = [make_tool(n, tags=frozenset({tags.get(n, "x")})) for n in ("pay.send", "pay.undo", "payroll", "mail.send")]
    policy = RulePolicy([PolicyRule(name="r", selector=selector, deny=True)])

    assert {tool.name for tool in tools if policy.decide(question(tool)).verdict == "deny"} == names


def test_a_raised_risk_asks_as_many_people_as_a_declared_one(question: AskFor) -> None:
    everything = Selector(tool="*")
    policy = RulePolicy([PolicyRule(name="r", selector=everything, risk="critical", reason="month end")])

    assert policy.decide(question()) == Decision(
        verdict="require_approval",
        rules=("settings.r",),
        reasons=("rule 'r' needs the approval of two different people: month end",),
        approvals_needed=2,
        risk="critical",
    )


def test_all_rules_that_select_a_call_are_named_and_the_strictest_decides(question: AskFor) -> None:
    everything = Selector(tool="*")
    policy = RulePolicy(
        [
            PolicyRule(name="asks", selector=everything, approvals=1),
            PolicyRule(name="asks more", selector=everything, approvals=3),
            PolicyRule(name="other", selector=Selector(tool="mail"), deny=True),
        ]
    )

    decided = policy.decide(question())

    assert (decided.verdict, decided.approvals_needed) == ("require_approval", 3)
    assert decided.rules == ("settings.asks more", "settings.asks")


def test_a_rule_for_a_tenant_leaves_the_others_alone(question: AskFor) -> None:
    policy = RulePolicy([PolicyRule(name="r", selector=Selector(tenant="globex"), deny=True)])
    globex = Principal(tenant="globex", subject="user:kim", scopes=frozenset({"pay:send"}))

    assert policy.decide(question()) == Decision(verdict="allow", rules=(), reasons=())
    assert policy.decide(question(principal=globex)).verdict == "deny"


@given(rules=st.lists(RULES, max_size=4), risk=st.sampled_from(RISKS), held=st.booleans())
def test_rules_never_loosen_the_built_in_policy(
    rules: list[PolicyRule], risk: str, held: bool, question: AskFor, make_tool: MakeTool
) -> None:
    who = Principal(tenant="acme", subject="u", scopes=frozenset({"pay:send"} if held else set()))
    asked: PolicyQuestion = question(make_tool("pay", risk=risk, tags=frozenset({"money"})), principal=who)
    floor = BuiltInPolicy().decide(asked)

    decided = StrictestPolicy([BuiltInPolicy(), RulePolicy(rules)]).decide(asked)

    assert ORDER.index(decided.verdict) >= ORDER.index(floor.verdict)
    assert decided.verdict == "deny" or decided.approvals_needed >= floor.approvals_needed
    assert set(floor.rules) <= set(decided.rules)
