"""Asking again: by the request for approval, by a key of one's own, or with an equal ask."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from daeri.boundary import CallLimit, CallLimits, Selector
from daeri.errors import ConflictError, NotFoundError

if TYPE_CHECKING:
    from tests.boundary.approvals.conftest import Office, OpenOffice


async def test_an_equal_ask_attaches_to_the_one_that_waits(office: Office) -> None:
    first = await office.ask(arguments={"amount": 5})
    second = await office.ask(arguments={"amount": 5})

    assert second == first
    assert office.states() == [("pending", "waiting")]


async def test_once_it_is_decided_an_equal_ask_is_a_new_call(office: Office) -> None:
    approval_id = await office.approved()

    again = await office.waiting()
    await office.execute(approval_id)

    assert (again != approval_id, office.ran) == (True, [5])
    assert office.states() == [("consumed", "succeeded"), ("pending", "waiting")]


async def test_an_equal_ask_does_not_attach_to_one_whose_time_is_over(office: Office) -> None:
    first = await office.waiting()
    office.now += timedelta(hours=1)

    second = await office.waiting()

    assert second != first
    assert office.states() == [("expired", "denied"), ("pending", "waiting")]


@pytest.mark.parametrize(
    "other",
    [
        {"arguments": {"amount": 6}},
        {"name": "erase"},
        {"idempotency_key": "k"},
        {"principal": "lee"},
    ],
)
async def test_another_ask_is_another_request(office: Office, other: dict[str, Any]) -> None:
    first = await office.waiting()
    if "principal" in other:
        other = {"principal": replace(office.people.kim, subject="user:choi")}

    assert await office.waiting(**other) != first


async def test_two_equal_asks_of_runs_are_two_requests(office: Office) -> None:
    await office.begin_run("r1")
    await office.begin_run("r2")

    assert await office.waiting(run_id="r1") != await office.waiting(run_id="r2")


async def test_a_hundred_equal_asks_at_once_make_one_request(office: Office) -> None:
    outcomes = await asyncio.gather(*(office.ask() for _ in range(100)))

    assert len({outcome.approval_id for outcome in outcomes}) == 1
    assert office.states() == [("pending", "waiting")]


async def test_two_equal_payments_with_keys_of_their_own_are_two_payments(office: Office) -> None:
    first = await office.approved(idempotency_key="a")
    second = await office.approved(idempotency_key="b")

    await office.execute(first)
    await office.execute(second)

    assert office.ran == [5, 5]


async def test_the_key_gets_the_outcome_of_the_first_ask_with_it(office: Office) -> None:
    approval_id = await office.approved(idempotency_key="a")
    await office.execute(approval_id)

    again = await office.ask(idempotency_key="a")

    assert (again.state, again.value, office.ran) == ("succeeded", "paid 5", [5])


@pytest.mark.parametrize("other", [{"arguments": {"amount": 6}}, {"name": "erase"}])
async def test_the_key_with_another_ask_is_a_conflict(office: Office, other: dict[str, Any]) -> None:
    await office.waiting(idempotency_key="a")

    with pytest.raises(ConflictError):
        await office.ask(idempotency_key="a", **other)


async def test_a_hundred_asks_at_once_with_one_key_make_one_request(office: Office) -> None:
    outcomes = await asyncio.gather(*(office.ask(idempotency_key="a") for _ in range(100)))

    assert len({outcome.call_id for outcome in outcomes}) == 1
    assert office.states() == [("pending", "waiting")]


async def test_somebody_elses_key_is_not_mine(office: Office) -> None:
    first = await office.waiting(idempotency_key="a")

    assert await office.waiting(idempotency_key="a", principal=replace(office.people.kim, subject="user:choi")) != first


async def test_who_came_too_fast_comes_again_with_the_same_key(open_office: OpenOffice) -> None:
    now = 0.0
    limits = CallLimits([CallLimit(name="slow", selector=Selector(), per=(), calls_per_minute=1)], clock=lambda: now)
    office = await open_office(limits=limits)
    await office.ask()

    refused = await office.ask(idempotency_key="a")
    now = 60.0
    admitted = await office.ask(idempotency_key="a")

    assert (refused.state, refused.failure and refused.failure.kind) == ("denied", "rate_limited")
    assert admitted.state == "waiting"


async def test_naming_the_request_gets_its_outcome_and_never_makes_a_new_one(office: Office) -> None:
    approval_id = await office.waiting()
    named = office.request(approval_id=approval_id)

    before = await office.boundary.call(named)
    await office.desk.approve(approval_id, office.people.lee)
    await office.execute(approval_id)
    after = await office.boundary.call(replace(named, call_id="another"))

    assert (before.state, before.approval_id) == ("waiting", approval_id)
    assert (after.state, after.value, office.ran) == ("succeeded", "paid 5", [5])
    assert len(office.states()) == 1


async def test_naming_a_request_that_was_rejected_gets_the_rejection(office: Office) -> None:
    approval_id = await office.waiting()
    await office.desk.reject(approval_id, office.people.lee, "no")

    outcome = await office.ask(approval_id=approval_id)

    assert (outcome.state, outcome.failure and outcome.failure.kind) == ("denied", "approval_rejected")


async def test_naming_a_request_with_other_arguments_is_a_conflict(office: Office) -> None:
    approval_id = await office.waiting()

    with pytest.raises(ConflictError):
        await office.ask(arguments={"amount": 500}, approval_id=approval_id)


async def test_somebody_elses_request_and_one_that_is_not_there_look_the_same(office: Office) -> None:
    approval_id = await office.waiting(principal=office.people.kim.acting_as("bot"))
    somebody = replace(office.people.kim, subject="user:choi").acting_as("bot")

    for name in (approval_id, approval_id[:-1], "apr_nosuch"):
        with pytest.raises(NotFoundError):
            await office.ask(approval_id=name, principal=somebody)
