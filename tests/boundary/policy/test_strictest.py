from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from hypothesis import given
from hypothesis import strategies as st

from daeri.boundary import BuiltInPolicy, Decision, PolicyQuestion, StrictestPolicy, Verdict, strictest
from daeri.identity import Principal
from daeri.tools import RISKS

if TYPE_CHECKING:
    from tests.boundary.policy.conftest import AskFor, MakeTool

ORDER = ("allow", "require_approval", "deny")
DECISIONS = st.builds(
    Decision,
    verdict=st.sampled_from(get_args(Verdict)),
    rules=st.lists(st.sampled_from("abcdef"), max_size=3).map(tuple),
    reasons=st.lists(st.sampled_from("uvwxyz"), max_size=3).map(tuple),
    approvals_needed=st.integers(0, 4),
    risk=st.sampled_from(RISKS),
)


class Says:
    """A layer with one answer for everything."""

    def __init__(self, decision: Decision) -> None:
        self._decision = decision

    def decide(self, question: PolicyQuestion) -> Decision:
        return self._decision


class Broken:
    def decide(self, question: PolicyQuestion) -> Decision:
        raise RuntimeError("password=hunter2")


@given(st.lists(DECISIONS, min_size=1, max_size=5), DECISIONS)
def test_no_layer_loosens_what_the_others_say(layers: list[Decision], added: Decision) -> None:
    before, after = strictest(layers), strictest([*layers, added])

    assert ORDER.index(after.verdict) >= ORDER.index(before.verdict)
    assert after.verdict != before.verdict or after.approvals_needed >= before.approvals_needed
    assert RISKS.index(after.risk) >= RISKS.index(before.risk)


@given(st.lists(DECISIONS, min_size=1, max_size=5))
def test_every_rule_and_reason_that_spoke_is_kept(layers: list[Decision]) -> None:
    decided = strictest(layers)

    assert set(decided.rules) == {rule for layer in layers for rule in layer.rules}
    assert set(decided.reasons) == {reason for layer in layers for reason in layer.reasons}
    assert len(decided.rules) == len(set(decided.rules))


@given(st.lists(DECISIONS, min_size=1, max_size=5))
def test_an_approval_is_always_by_somebody_and_a_denial_by_nobody(layers: list[Decision]) -> None:
    decided = strictest(layers)

    assert (decided.approvals_needed >= 1) == (decided.verdict == "require_approval")


def test_what_decided_is_named_first() -> None:
    mild = Decision(verdict="allow", rules=("mild",), reasons=())
    strict = Decision(verdict="deny", rules=("strict",), reasons=("because",))

    assert strictest([mild, strict]).rules == ("strict", "mild")


def test_without_any_policy_nothing_is_allowed(question: AskFor) -> None:
    assert StrictestPolicy([]).decide(question()).verdict == "deny"


def test_a_layer_that_breaks_denies_and_its_words_stay_out_of_the_record(question: AskFor) -> None:
    allows = Says(Decision(verdict="allow", rules=("fine",), reasons=()))

    decided = StrictestPolicy([allows, Broken()]).decide(question())

    assert (decided.verdict, decided.rules) == ("deny", ("policy.error", "fine"))
    assert decided.reasons == ("Broken could not decide: RuntimeError",)


def test_a_loosened_tool_needs_fewer_approvals_and_the_decision_says_why(question: AskFor, make_tool: MakeTool) -> None:
    floor = BuiltInPolicy({"pay": "medium"})

    loosened = floor.decide(question(make_tool("pay", risk="critical")))
    other = floor.decide(question(make_tool("pay.all", risk="critical")))

    assert (loosened.verdict, loosened.risk) == ("allow", "medium")
    assert loosened.rules == ("scope.held", "setting.loosened", "risk.medium")
    assert (other.verdict, other.approvals_needed) == ("require_approval", 2)


def test_loosening_never_gives_a_scope_and_never_raises_a_risk(question: AskFor, make_tool: MakeTool) -> None:
    floor = BuiltInPolicy({"pay": "high"})
    nobody = Principal(tenant="acme", subject="user:lee")

    assert floor.decide(question(make_tool("pay", risk="critical"), principal=nobody)).verdict == "deny"
    assert floor.decide(question(make_tool("pay", risk="low"))).verdict == "allow"
