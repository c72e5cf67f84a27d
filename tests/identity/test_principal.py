from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from daeri.identity import Principal, granted

_words = st.sampled_from(["a", "b", "c"])
_names = st.lists(_words, min_size=1, max_size=3).map(":".join)
_scopes = _names | _names.map(lambda name: f"{name}:*") | st.just("*")
_held = st.frozensets(_scopes, max_size=4)


def _person(scopes: frozenset[str]) -> Principal:
    return Principal(tenant="acme", subject="user:kim", scopes=scopes, roles=frozenset({"approver"}))


@given(caller=_held, agent=_held, scope=_names)
def test_an_agent_has_exactly_the_scopes_that_both_it_and_its_caller_have(
    caller: frozenset[str], agent: frozenset[str], scope: str
) -> None:
    acting = _person(caller).acting_as("helper", agent)

    assert granted(scope, acting.scopes) == (granted(scope, caller) and granted(scope, agent))


@given(caller=_held, agent=_held, further=_held, scope=_scopes)
def test_no_chain_of_agents_is_wider_than_any_of_its_links(
    caller: frozenset[str], agent: frozenset[str], further: frozenset[str], scope: str
) -> None:
    acting = _person(caller).acting_as("first", agent).acting_as("second", further)

    if granted(scope, acting.scopes):
        assert all(granted(scope, held) for held in (caller, agent, further))


@given(caller=_held, limit=_held, scope=_names)
def test_a_restricted_principal_has_exactly_what_it_had_within_the_limit(
    caller: frozenset[str], limit: frozenset[str], scope: str
) -> None:
    narrower = _person(caller).restricted_to(limit)

    assert granted(scope, narrower.scopes) == (granted(scope, caller) and granted(scope, limit))


def test_a_wide_scope_meets_a_narrow_one_in_the_narrow_one() -> None:
    acting = _person(frozenset({"records:*", "mail:send"})).acting_as("helper", ["records:hr:*", "mail:*", "pay:all"])

    assert acting.scopes == {"records:hr:*", "mail:send"}


def test_an_agent_without_a_limit_of_its_own_has_its_callers_scopes() -> None:
    assert _person(frozenset({"a:b"})).acting_as("helper").scopes == {"a:b"}


def test_an_agent_that_is_granted_nothing_has_nothing() -> None:
    assert _person(frozenset({"*"})).acting_as("helper", []).scopes == frozenset()


def test_an_agent_never_inherits_roles_so_it_can_never_approve() -> None:
    assert _person(frozenset()).acting_as("helper").roles == frozenset()


def test_an_agent_names_itself_and_the_person_it_acts_for() -> None:
    person = _person(frozenset())

    acting = person.acting_as("first").acting_as("second")

    assert (acting.tenant, acting.subject, acting.kind) == ("acme", "agent:second", "agent")
    assert acting.person == person


def test_a_restricted_principal_is_otherwise_the_same() -> None:
    person = _person(frozenset({"a:b"}))

    assert person.restricted_to(["*"]) == person
