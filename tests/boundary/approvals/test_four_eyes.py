"""Who may decide, and that every attempt of somebody who may not is refused and on record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from daeri.errors import RefusedError
from daeri.identity import Principal

if TYPE_CHECKING:
    from tests.boundary.approvals.conftest import Office, People

Who = Callable[["People"], Principal]

_REFUSED: list[tuple[str, Who]] = [
    ("own_request", lambda people: replace(people.kim, scopes=frozenset({"*"}), roles=frozenset({"approver"}))),
    ("own_request", lambda people: replace(people.lee, subject="agent:bot", kind="agent", on_behalf_of=people.kim)),
    ("own_request", lambda people: replace(people.lee, on_behalf_of=people.kim)),
    ("not_a_person", lambda people: people.lee.acting_as("helper")),
    ("not_a_person", lambda people: replace(people.lee, kind="agent")),
    ("not_a_person", lambda people: replace(people.lee, kind="service")),
    ("not_a_person", lambda people: replace(people.lee, on_behalf_of=people.park)),
    ("role_missing", lambda people: replace(people.lee, roles=frozenset({"admin", "operator", "user", "auditor"}))),
    ("scope_missing", lambda people: replace(people.lee, scopes=frozenset())),
    ("scope_missing", lambda people: replace(people.lee, scopes=frozenset({"pay:*", "approve:erase"}))),
    ("scope_missing", lambda people: replace(people.lee, scopes=frozenset({"approve", "approve:tag:people"}))),
]


@pytest.mark.parametrize(("rule", "who"), _REFUSED)
@pytest.mark.parametrize("attempt", ["approve", "reject"])
async def test_who_may_not_decide_is_refused_and_audited(office: Office, attempt: str, rule: str, who: Who) -> None:
    approval_id = await office.waiting()
    decider = who(office.people)

    with pytest.raises(RefusedError) as refused:
        await (
            office.desk.approve(approval_id, decider)
            if attempt == "approve"
            else office.desk.reject(approval_id, decider, "no")
        )

    assert (refused.value.rule, refused.value.attempt) == (rule, attempt)
    assert office.refusals() == [(decider.subject, rule)]
    assert office.states() == [("pending", "waiting")]


@pytest.mark.parametrize("scope", ["approve:pay", "approve:tag:money", "approve:tag:*", "approve:*", "*"])
async def test_the_tool_or_one_of_its_tags_is_enough_of_a_scope(office: Office, scope: str) -> None:
    approval_id = await office.waiting()

    approved = await office.desk.approve(approval_id, replace(office.people.lee, scopes=frozenset({scope})))

    assert approved.state == "approved"


async def test_the_person_an_agent_acts_for_does_not_decide(office: Office) -> None:
    boss = replace(office.people.lee, scopes=frozenset({"*"}))
    approval_id = await office.waiting(principal=boss.acting_as("bot"))

    with pytest.raises(RefusedError) as refused:
        await office.desk.approve(approval_id, boss)

    assert refused.value.rule == "own_request"


async def test_who_sat_at_the_machine_does_not_decide_about_what_was_asked_through_them(office: Office) -> None:
    approval_id = await office.waiting(principal=replace(office.people.kim, via="os:root"))
    same_person = replace(office.people.lee, subject="os:root")

    with pytest.raises(RefusedError) as refused:
        await office.desk.approve(approval_id, same_person)

    assert refused.value.rule == "own_request"


async def test_one_person_gives_one_vote(office: Office) -> None:
    approval_id = await office.waiting("erase")
    await office.desk.approve(approval_id, office.people.lee)

    with pytest.raises(RefusedError) as refused:
        await office.desk.approve(approval_id, office.people.lee)

    assert refused.value.rule == "already_voted"
    assert office.states() == [("pending", "waiting")]


async def test_a_request_whose_tool_is_gone_is_decided_by_its_name_alone(office: Office) -> None:
    approval_id = await office.waiting()
    office.tamper("UPDATE approvals SET tool = 'gone'")
    by_tag = replace(office.people.lee, scopes=frozenset({"approve:tag:money"}))

    with pytest.raises(RefusedError) as refused:
        await office.desk.approve(approval_id, by_tag)

    assert refused.value.rule == "scope_missing"
    rejected = await office.desk.reject(
        approval_id, replace(by_tag, scopes=frozenset({"approve:gone"})), "there is no such tool"
    )
    assert rejected.state == "rejected"
