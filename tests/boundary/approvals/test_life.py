"""The life of a request for approval, and that every step is on record everywhere at once."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from daeri.boundary import Vote
from daeri.errors import NotFoundError, RefusedError

if TYPE_CHECKING:
    from tests.boundary.approvals.conftest import Office


async def test_an_approved_call_is_carried_out_with_what_was_stored(office: Office) -> None:
    approval_id = await office.waiting(arguments={"amount": 7})

    approved = await office.desk.approve(approval_id, office.people.lee, "fine")
    outcome = await office.execute(approval_id)

    assert (approved.state, approved.votes) == (
        "approved",
        (Vote(approver="user:lee", verdict="approve", reason="fine", at=office.now),),
    )
    assert (outcome.state, outcome.value, office.ran) == ("succeeded", "paid 7", [7])
    assert office.states() == [("consumed", "succeeded")]
    assert office.audit() == [
        "call.waiting",
        "approval.requested",
        "approval.approved",
        "approval.consumed",
        "call.started",
        "call.succeeded",
    ]


async def test_nothing_runs_before_it_is_approved(office: Office) -> None:
    approval_id = await office.waiting()

    outcome = await office.execute(approval_id)

    assert (outcome.state, outcome.approval_id, office.ran) == ("waiting", approval_id, [])
    assert office.states() == [("pending", "waiting")]


async def test_a_critical_call_needs_two_people(office: Office) -> None:
    approval_id = await office.waiting("erase")

    first = await office.desk.approve(approval_id, office.people.lee)
    still_waiting = await office.execute(approval_id)
    second = await office.desk.approve(approval_id, office.people.park)
    outcome = await office.execute(approval_id)

    assert (first.state, still_waiting.state, second.state) == ("pending", "waiting", "approved")
    assert (outcome.state, [vote.approver for vote in second.votes]) == ("succeeded", ["user:lee", "user:park"])
    assert office.audit()[2:4] == ["approval.voted", "approval.approved"]


async def test_a_rejection_ends_the_call_with_its_reason(office: Office) -> None:
    approval_id = await office.waiting()

    rejected = await office.desk.reject(approval_id, office.people.lee, "too much")
    outcome = await office.execute(approval_id)

    assert rejected.state == "rejected"
    assert (outcome.state, outcome.failure and outcome.failure.kind) == ("denied", "approval_rejected")
    assert outcome.failure is not None
    assert outcome.failure.diagnostic == "user:lee said no: too much"
    assert (office.states(), office.ran) == ([("rejected", "denied")], [])
    assert office.audit()[2:] == ["approval.rejected", "call.denied"]


async def test_one_no_is_enough_after_a_first_yes(office: Office) -> None:
    approval_id = await office.waiting("erase")
    await office.desk.approve(approval_id, office.people.lee)

    await office.desk.reject(approval_id, office.people.park, "not today")

    assert office.states() == [("rejected", "denied")]


async def test_a_rejection_without_a_reason_is_refused(office: Office) -> None:
    approval_id = await office.waiting()

    with pytest.raises(RefusedError) as refused:
        await office.desk.reject(approval_id, office.people.lee, "  ")

    assert (refused.value.rule, office.states()) == ("reason_missing", [("pending", "waiting")])


async def test_the_requester_can_take_a_request_back_also_after_it_was_approved(office: Office) -> None:
    approval_id = await office.approved()

    withdrawn = await office.desk.withdraw(approval_id, office.people.kim, "not needed any more")
    outcome = await office.execute(approval_id)

    assert (withdrawn.state, withdrawn.detail) == ("withdrawn", "not needed any more")
    assert (outcome.state, outcome.failure and outcome.failure.kind) == ("denied", "approval_withdrawn")
    assert office.ran == []


async def test_the_person_takes_back_what_an_agent_asked_for_them(office: Office) -> None:
    approval_id = await office.waiting(principal=office.people.kim.acting_as("bot"))

    assert (await office.desk.withdraw(approval_id, office.people.kim)).state == "withdrawn"


async def test_nobody_takes_back_what_is_somebody_elses(office: Office) -> None:
    approval_id = await office.waiting(principal=office.people.kim.acting_as("bot"))

    for who in (office.people.lee, office.people.lee.acting_as("bot")):
        with pytest.raises(RefusedError) as refused:
            await office.desk.withdraw(approval_id, who)
        assert refused.value.rule == "not_requester"

    assert office.states() == [("pending", "waiting")]


@pytest.mark.parametrize("approved", [False, True])
async def test_what_nobody_decides_or_uses_in_time_expires(office: Office, approved: bool) -> None:
    approval_id = await (office.approved() if approved else office.waiting())

    too_early = await office.desk.expire(office.now + timedelta(minutes=59))
    in_time = await office.desk.expire(office.now + timedelta(hours=1))
    outcome = await office.execute(approval_id)

    assert (too_early, in_time) == (0, 1)
    assert (outcome.state, outcome.failure and outcome.failure.kind) == ("denied", "approval_expired")
    assert (office.states(), office.ran) == ([("expired", "denied")], [])


async def test_hundreds_of_requests_expire_at_once(office: Office) -> None:
    for number in range(230):
        await office.waiting(arguments={"amount": number})

    assert await office.desk.expire(office.now + timedelta(hours=2)) == 230
    assert set(office.states()) == {("expired", "denied")}


async def test_the_journal_of_the_run_shows_decision_and_outcome(office: Office) -> None:
    await office.begin_run()
    approval_id = await office.waiting(
        principal=office.people.kim.acting_as("bot"), run_id="r1", agent="bot", origin="run"
    )

    await office.desk.approve(approval_id, office.people.lee, "fine")
    await office.execute(approval_id)

    told = [(kind, data.get("state"), data.get("by")) for kind, data in office.journal()[2:]]
    assert told == [
        ("call.waiting", "waiting", None),
        ("approval.changed", "approved", "user:lee"),
        ("approval.changed", "consumed", "system"),
        ("call.started", "started", None),
        ("call.succeeded", "succeeded", None),
    ]


async def test_the_journal_of_the_run_shows_a_rejection(office: Office) -> None:
    await office.begin_run()
    approval_id = await office.waiting(run_id="r1", agent="bot", origin="run")

    await office.desk.reject(approval_id, office.people.lee, "no")

    (_, decided), (ended, data) = office.journal()[-2:]
    assert (decided["state"], decided["reason"]) == ("rejected", "no")
    assert (ended, data["failure"]["kind"]) == ("call.denied", "approval_rejected")


async def test_the_audit_record_says_who_decided_and_through_whom(office: Office) -> None:
    approval_id = await office.waiting()

    await office.desk.approve(approval_id, replace(office.people.lee, via="os:root"), "fine")

    (row,) = office.rows("SELECT * FROM audit WHERE kind = 'approval.approved'")
    data = json.loads(row["data"])
    assert (row["actor"], row["subject"]) == ("user:lee", approval_id)
    assert (data["principal"]["via"], data["reason"]) == ("os:root", "fine")
    assert data["digest"] == (await office.show(approval_id)).record.digest


async def test_requests_are_listed_newest_first_by_state_and_tenant(office: Office) -> None:
    first = await office.waiting(arguments={"amount": 1})
    office.now += timedelta(seconds=1)
    second = await office.waiting(arguments={"amount": 2})
    await office.desk.reject(first, office.people.lee, "no")

    auditor = office.people.auditor
    elsewhere = replace(auditor, tenant="other")
    listed = [one.record.approval_id for one in await office.desk.list(auditor)]
    pending = [one.record.approval_id for one in await office.desk.list(auditor, state="pending")]

    assert (listed, pending, list(await office.desk.list(elsewhere))) == ([second, first], [second], [])


async def test_another_tenant_sees_no_request_and_decides_about_none(office: Office) -> None:
    approval_id = await office.waiting()

    with pytest.raises(NotFoundError):
        await office.desk.show(replace(office.people.auditor, tenant="other"), approval_id)
    with pytest.raises(NotFoundError):
        await office.desk.approve(approval_id, replace(office.people.lee, tenant="other"))
    with pytest.raises(NotFoundError):
        await office.desk.show(office.people.auditor, "")
