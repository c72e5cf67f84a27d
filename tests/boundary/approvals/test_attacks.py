"""Attacks on approvals: each case says what must happen."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from daeri.errors import RefusedError

if TYPE_CHECKING:
    from tests.boundary.approvals.conftest import Office

_TAMPERINGS = [
    ("UPDATE approvals SET arguments = ?", '{"amount":5000}'),
    ("UPDATE calls SET arguments = ?", '{"amount":5000}'),
    ("UPDATE calls SET arguments_digest = ?", "sha256:0"),
    ("UPDATE approvals SET digest = ?", "sha256:0"),
    ("UPDATE approvals SET tool = ?", "erase"),
    ("UPDATE calls SET tool = ?", "erase"),
    ("UPDATE approvals SET definition_hash = ?", "sha256:0"),
    ("UPDATE calls SET subject = ?", "user:choi"),
    ("UPDATE calls SET approval_id = ?", "apr_other"),
    (
        "UPDATE approvals SET principal = ?",
        json.dumps({"tenant": "acme", "subject": "user:kim", "kind": "user", "scopes": ["*"], "roles": ["admin"]}),
    ),
]


@pytest.mark.parametrize(("sql", "value"), _TAMPERINGS)
async def test_approve_one_thing_and_run_another_is_void(office: Office, sql: str, value: str) -> None:
    approval_id = await office.approved()
    office.tamper(sql, value)

    await office.execute(approval_id)

    assert (office.ran, (await office.show(approval_id)).state) == ([], "void")
    assert "the stored request is not the one that was asked for" in (await office.show(approval_id)).detail


async def test_an_approval_written_into_the_file_without_votes_is_void(office: Office) -> None:
    approval_id = await office.waiting()
    office.tamper("UPDATE approvals SET state = 'approved'")

    await office.execute(approval_id)

    assert (office.ran, office.states()) == ([], [("void", "denied")])
    assert (await office.show(approval_id)).detail == "it has fewer votes than it needs"


async def test_fewer_approvals_than_policy_wants_written_into_the_file_make_it_void(office: Office) -> None:
    approval_id = await office.waiting("erase")
    office.tamper("UPDATE approvals SET approvals_needed = 1")
    await office.desk.approve(approval_id, office.people.lee)

    await office.execute(approval_id)

    assert (office.ran, office.states()) == ([], [("void", "denied")])


async def test_approving_twice_counts_once_and_runs_once(office: Office) -> None:
    approval_id = await office.approved()
    await office.execute(approval_id)

    for again in (office.people.lee, office.people.park):
        with pytest.raises(RefusedError) as refused:
            await office.desk.approve(approval_id, again)
        assert refused.value.rule == "not_pending"
    await office.execute(approval_id)

    assert (office.ran, office.refusals()) == ([5], [("user:lee", "not_pending"), ("user:park", "not_pending")])


async def test_approving_ones_own_request_is_refused(office: Office) -> None:
    approval_id = await office.waiting()
    own = replace(office.people.kim, roles=frozenset({"approver"}), scopes=frozenset({"*"}))

    with pytest.raises(RefusedError):
        await office.desk.approve(approval_id, own)

    assert (office.refusals(), office.states()) == ([("user:kim", "own_request")], [("pending", "waiting")])


async def test_approving_what_has_expired_is_refused_and_it_stays_over(office: Office) -> None:
    approval_id = await office.waiting()
    office.now += timedelta(hours=1)

    with pytest.raises(RefusedError) as refused:
        await office.desk.approve(approval_id, office.people.lee)
    outcome = await office.execute(approval_id)

    assert (refused.value.rule, refused.value.why) == ("not_pending", "it is expired")
    assert (outcome.state, office.ran, office.states()) == ("denied", [], [("expired", "denied")])


async def test_an_agent_acting_for_the_requester_does_not_approve(office: Office) -> None:
    approval_id = await office.waiting()
    deputy = replace(office.people.lee, subject="agent:bot", kind="agent", on_behalf_of=office.people.kim)

    with pytest.raises(RefusedError) as refused:
        await office.desk.approve(approval_id, deputy)

    assert refused.value.rule == "own_request"


async def test_replaying_a_request_that_was_used_runs_nothing(office: Office) -> None:
    approval_id = await office.approved()
    await office.execute(approval_id)

    replayed = [await office.execute(approval_id), await office.ask(approval_id=approval_id)]

    assert [outcome.value for outcome in replayed] == ["paid 5", "paid 5"]
    assert office.ran == [5]


async def test_a_used_request_set_back_to_approved_in_the_file_does_not_run_again(office: Office) -> None:
    approval_id = await office.approved()
    await office.execute(approval_id)
    office.tamper("UPDATE approvals SET state = 'approved'")

    await office.execute(approval_id)

    assert office.ran == [5]


async def test_rejecting_or_withdrawing_what_was_used_changes_nothing(office: Office) -> None:
    approval_id = await office.approved()
    await office.execute(approval_id)

    with pytest.raises(RefusedError):
        await office.desk.reject(approval_id, office.people.park, "too late")
    with pytest.raises(RefusedError):
        await office.desk.withdraw(approval_id, office.people.kim)

    assert office.states() == [("consumed", "succeeded")]


async def test_a_reason_can_not_smuggle_what_the_record_can_not_hold(office: Office) -> None:
    approval_id = await office.waiting()

    rejected = await office.desk.reject(approval_id, office.people.lee, "no\x00\ud800" + "x" * 5_000)

    assert rejected.state == "rejected"
    assert len(rejected.votes[0].reason) < 2_500
