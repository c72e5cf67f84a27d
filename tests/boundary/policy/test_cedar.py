"""Cedar policies as they decide, from files in a folder."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import cedarpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daeri.boundary import Boundary, BuiltInPolicy, Decision, StrictestPolicy
from daeri.errors import DefinitionError
from daeri.identity import Principal
from daeri.tools import RISKS, tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, OpenDoor
    from tests.boundary.policy.conftest import AskFor, LoadCedar, MakeTool

NO_BIG = """
@id("no-big") @reason("above the limit of the bank")
forbid(principal, action == Daeri::Action::"pay", resource) when { context.args.amount > 1000 };
"""
NOTHING = Decision(verdict="allow", rules=(), reasons=())


def _answer_always(monkeypatch: pytest.MonkeyPatch, answer: dict[str, object]) -> None:
    def answered(*_asked: object) -> cedarpy.AuthzResult:
        return cedarpy.AuthzResult(answer)

    monkeypatch.setattr(cedarpy, "is_authorized", answered)


def test_a_forbid_denies_what_it_names_with_its_id_and_reason(cedar: LoadCedar, question: AskFor) -> None:
    policy = cedar(NO_BIG)

    assert policy.decide(question(arguments={"to": "lee", "amount": 1001})) == Decision(
        verdict="deny",
        rules=("cedar.no-big",),
        reasons=("policy 'no-big' denies it: above the limit of the bank",),
    )


def test_everything_else_is_permitted_without_a_word(cedar: LoadCedar, question: AskFor, make_tool: MakeTool) -> None:
    policy = cedar(NO_BIG, [make_tool(), make_tool("other")])

    assert policy.decide(question(arguments={"to": "lee", "amount": 1000})) == NOTHING
    assert policy.decide(question(make_tool("other"), {"to": "lee", "amount": 9999})) == NOTHING


def test_a_forbid_on_all_tools_holds_for_each(cedar: LoadCedar, question: AskFor, make_tool: MakeTool) -> None:
    tools = [make_tool(), make_tool("급여.조회"), make_tool("files.read-only")]
    policy = cedar('@id("closed") forbid(principal, action in Daeri::Action::"*", resource);', tools)

    assert {policy.decide(question(one)).rules for one in tools} == {("cedar.closed",)}


def test_tools_and_arguments_with_korean_names_are_named_as_they_are(
    cedar: LoadCedar, question: AskFor, make_tool: MakeTool
) -> None:
    schema = {"type": "object", "properties": {"이름": {"type": "string"}}}
    salary = make_tool("급여.조회", input_schema=schema)
    policy = cedar(
        '@id("own") forbid(principal, action == Daeri::Action::"급여.조회", resource)'
        ' unless { context.args has "이름" && context.args["이름"] == "김" };',
        [salary],
    )

    verdicts = [policy.decide(question(salary, given)).verdict for given in ({"이름": "김"}, {"이름": "이"}, {})]

    assert verdicts == ["allow", "deny", "deny"]


@pytest.mark.parametrize(
    ("condition", "verdict"),
    [
        ('principal.tenant == "acme"', "deny"),
        ('principal.scopes.contains("pay:send")', "deny"),
        ('principal.roles.contains("admin")', "allow"),
        ('principal.person == "user:kim"', "deny"),
        ("principal is Daeri::User", "deny"),
        ("principal is Daeri::Agent", "allow"),
        ('resource.risk == "low" && resource.risk_level == 0', "deny"),
        ("resource.read_only", "allow"),
        ('resource.tags.contains("money")', "deny"),
        ('context.origin == "api"', "deny"),
        ("context has agent", "allow"),
        ('context.at > datetime("2026-11-30T08:59:59Z")', "deny"),
        ('context.at.offset(duration("9h")).toTime() >= duration("18h")', "deny"),
    ],
)
def test_policies_see_who_asks_what_the_tool_is_and_how_it_is_called(
    condition: str, verdict: str, cedar: LoadCedar, question: AskFor, make_tool: MakeTool
) -> None:
    pay = make_tool(tags=frozenset({"money"}))
    policy = cedar(f"forbid(principal, action, resource) when {{ {condition} }};", [pay])

    assert policy.decide(question(pay, at=datetime(2026, 11, 30, 9, tzinfo=UTC))).verdict == verdict


def test_an_agent_is_seen_as_an_agent_with_the_roles_of_its_person(cedar: LoadCedar, question: AskFor) -> None:
    kim = Principal(tenant="acme", subject="user:kim", scopes=frozenset({"*"}), roles=frozenset({"admin"}))
    policy = cedar(
        "forbid(principal is Daeri::Agent, action, resource)"
        ' unless { principal.person_roles.contains("admin") && principal.person == "user:kim" };'
    )
    lee = Principal(tenant="acme", subject="user:lee", scopes=frozenset({"*"}), roles=frozenset({"admin"}))

    assert policy.decide(question(principal=kim.acting_as("clerk"))).verdict == "allow"
    assert policy.decide(question(principal=lee.acting_as("clerk"))).verdict == "deny"


@pytest.mark.parametrize(("annotation", "needed"), [("@require_approval", 1), ('@require_approval("2")', 2)])
def test_a_forbid_that_asks_needs_so_many_approvals(
    annotation: str, needed: int, cedar: LoadCedar, question: AskFor
) -> None:
    policy = cedar(f'@id("ask") {annotation} forbid(principal, action, resource);')

    decided = policy.decide(question())

    assert (decided.verdict, decided.approvals_needed, decided.rules) == ("require_approval", needed, ("cedar.ask",))


def test_a_denial_outweighs_an_ask_and_both_are_named(cedar: LoadCedar, question: AskFor) -> None:
    policy = cedar(
        '@id("ask") @require_approval forbid(principal, action, resource);\n'
        '@id("no") forbid(principal, action, resource);'
    )

    decided = policy.decide(question())

    assert (decided.verdict, decided.rules) == ("deny", ("cedar.no", "cedar.ask"))


def test_a_log_only_policy_changes_nothing_and_says_what_it_would_have_done(cedar: LoadCedar, question: AskFor) -> None:
    policy = cedar('@id("trial") @mode("log_only") @reason("from 2027") forbid(principal, action, resource);')

    assert policy.decide(question()) == Decision(
        verdict="allow",
        rules=("log_only.cedar.trial",),
        reasons=("policy 'trial' would deny: from 2027 (log only)",),
    )


def test_a_policy_that_fails_on_a_call_denies_it_and_quotes_no_argument(cedar: LoadCedar, question: AskFor) -> None:
    policy = cedar('@id("sum") forbid(principal, action, resource) when { context.args.amount + 1 > 9 };')

    decided = policy.decide(question(arguments={"to": "lee", "amount": 2**63 - 1}))

    assert (decided.verdict, decided.rules) == ("deny", ("cedar.error",))
    assert decided.reasons == ("Cedar: policy 'sum' (all.cedar:1) failed on it",)


def test_a_log_only_policy_that_fails_lets_the_call_through(cedar: LoadCedar, question: AskFor) -> None:
    policy = cedar(
        '@id("sum") @mode("log_only") forbid(principal, action, resource) when { context.args.amount + 1 > 9 };'
    )

    decided = policy.decide(question(arguments={"to": "lee", "amount": 2**63 - 1}))

    assert (decided.verdict, decided.rules) == ("allow", ("log_only.cedar.error",))


def test_a_value_that_cedar_can_not_hold_is_denied_rather_than_hidden(cedar: LoadCedar, question: AskFor) -> None:
    decided = cedar(NO_BIG).decide(question(arguments={"to": "lee", "amount": 2**70}))

    assert (decided.verdict, decided.rules) == ("deny", ("cedar.error",))


def test_a_tool_that_is_not_the_one_that_was_checked_is_denied(
    cedar: LoadCedar, question: AskFor, make_tool: MakeTool
) -> None:
    policy = cedar(NO_BIG)

    assert policy.decide(question(make_tool("new"))).rules == ("cedar.error",)
    assert policy.decide(question(make_tool(description="changed"))).rules == ("cedar.error",)


def test_without_the_canary_denying_nothing_starts(cedar: LoadCedar, monkeypatch: pytest.MonkeyPatch) -> None:
    entities: Any = cedarpy.Entities
    build = entities.from_json_str

    def build_without_schema(text: str, *_schema: object) -> object:
        return build(text)

    # what cedarpy takes without a word: then no action is in any group, and every forbid on a group is gone
    monkeypatch.setattr(entities, "from_json_str", build_without_schema)

    with pytest.raises(DefinitionError, match="a forbid on all tools does not deny 'pay'"):
        cedar(NO_BIG)


@pytest.mark.parametrize("decision", ["NoDecision", "Deny"])
def test_whatever_is_not_an_explicit_allow_denies(
    decision: str, cedar: LoadCedar, question: AskFor, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = cedar(NO_BIG)
    _answer_always(monkeypatch, {"decision": decision, "diagnostics": {}})

    assert policy.decide(question()).verdict == "deny"


def test_an_allow_with_errors_denies(cedar: LoadCedar, question: AskFor, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = cedar(NO_BIG)
    _answer_always(monkeypatch, {"decision": "Allow", "diagnostics": {"errors": ["something"]}})

    assert policy.decide(question()).verdict == "deny"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    risk=st.sampled_from(RISKS),
    held=st.booleans(),
    amount=st.integers(0, 2000),
    limit=st.integers(0, 2000),
    mode=st.sampled_from(["", "@require_approval", '@mode("log_only")']),
)
def test_the_built_in_floor_denies_and_asks_whatever_cedar_permits_and_the_forbid_holds_exactly_where_it_says(
    risk: str, held: bool, amount: int, limit: int, mode: str, cedar: LoadCedar, question: AskFor, make_tool: MakeTool
) -> None:
    pay = make_tool(risk=risk)
    policy = cedar(f"{mode} forbid(principal, action, resource) when {{ context.args.amount > {limit} }};", [pay])
    who = Principal(tenant="acme", subject="u", scopes=frozenset({"pay:send"} if held else set()))
    asked = question(pay, {"to": "lee", "amount": amount}, principal=who)
    floor = BuiltInPolicy().decide(asked)

    decided = StrictestPolicy([BuiltInPolicy(), policy]).decide(asked)

    applies = {"": "deny", "@require_approval": "require_approval"}.get(mode, "allow") if amount > limit else "allow"
    order = ("allow", "require_approval", "deny")
    assert order.index(decided.verdict) == max(order.index(floor.verdict), order.index(applies))
    assert set(floor.rules) <= set(decided.rules)


async def test_at_the_door_a_forbidden_call_is_denied_and_recorded_with_its_rule(
    cedar: LoadCedar, open_door: OpenDoor, ask: Ask
) -> None:
    @tool(name="pay")
    async def pay(to: str, amount: int) -> str:
        """Pay."""
        return f"{to} got {amount}"

    door = await open_door(pay)
    policy = cedar(NO_BIG, door.registry.tools())
    boundary = Boundary(registry=door.registry, store=door.store, policy=policy)

    small = await boundary.call(ask("pay", {"to": "lee", "amount": 5}))
    big = await boundary.call(ask("pay", {"to": "lee", "amount": 5000}))

    assert (small.state, big.state) == ("succeeded", "denied")
    assert big.failure is not None
    assert big.failure.kind == "denied"
    decision = door.rows("SELECT decision FROM calls ORDER BY rowid DESC")[0]["decision"]
    assert '"cedar.no-big"' in decision
