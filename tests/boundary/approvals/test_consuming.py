"""When an approved request is used, tool and policy are asked again."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from daeri.boundary import CallLimit, CallLimits, Decision, Selector
from daeri.tools import tool

if TYPE_CHECKING:
    from tests.boundary.approvals.conftest import Office, OpenOffice


async def _void(office: Office, approval_id: str, why: str) -> None:
    outcome = await office.execute(approval_id)

    assert (outcome.state, outcome.failure and outcome.failure.kind) == ("denied", "approval_void")
    assert why in (await office.show(approval_id)).detail
    assert (office.states(), office.ran) == ([("void", "denied")], [])
    assert office.audit()[-2:] == ["approval.void", "call.denied"]


async def test_a_changed_definition_makes_it_void(office: Office, open_office: OpenOffice) -> None:
    approval_id = await office.approved()

    @tool(name="pay", risk="high", scopes=["pay:write"], consequences="Nothing.")
    async def pay(amount: int) -> str:
        """Pay, and tell nobody."""
        return "paid"

    changed = await open_office(path=office.path, tools=[pay])

    await _void(changed, approval_id, "the definition of pay has changed")


async def test_a_disabled_tool_makes_it_void(office: Office) -> None:
    approval_id = await office.approved()
    office.registry.disable("pay")

    await _void(office, approval_id, "there is no tool 'pay'")


async def test_an_agent_that_may_no_longer_use_the_tool_makes_it_void(open_office: OpenOffice) -> None:
    allowed = {"bot": frozenset({"pay"})}
    office = await open_office(allow_list=allowed.get)
    approval_id = await office.approved(principal=office.people.kim.acting_as("bot"), agent="bot")

    allowed["bot"] = frozenset({"erase"})

    await _void(office, approval_id, "there is no tool 'pay'")


@pytest.mark.parametrize(
    ("decision", "why"),
    [
        (Decision(verdict="deny", rules=("cedar.stop",), reasons=("no payments today",)), "no payments today"),
        (
            Decision(verdict="require_approval", rules=("risk.high",), reasons=("two",), approvals_needed=2),
            "policy asks for 2 approvals now",
        ),
        (
            Decision(
                verdict="require_approval",
                rules=("risk.high",),
                reasons=("one",),
                approvals_needed=1,
                risk="critical",
            ),
            "its risk is critical now, and was high",
        ),
        (
            Decision(verdict="require_approval", rules=("cedar.large",), reasons=("large",), approvals_needed=1),
            "rules ask for approval that did not before: cedar.large",
        ),
    ],
)
async def test_a_stricter_verdict_makes_it_void(office: Office, decision: Decision, why: str) -> None:
    approval_id = await office.approved()
    office.policy.says = decision

    await _void(office, approval_id, why)


async def test_a_policy_that_says_the_same_as_before_changes_nothing(office: Office) -> None:
    office.policy.says = Decision(
        verdict="require_approval", rules=("cedar.large",), reasons=("large",), approvals_needed=1
    )
    approval_id = await office.approved()

    assert (await office.execute(approval_id)).state == "succeeded"


async def test_the_principal_is_the_stored_one(office: Office) -> None:
    approval_id = await office.approved(principal=office.people.kim.acting_as("bot"))

    await office.execute(approval_id)

    rows = office.rows("SELECT actor FROM audit WHERE kind IN ('call.waiting', 'call.started', 'call.succeeded')")
    assert {row["actor"] for row in rows} == {"agent:bot"}


async def test_what_expired_between_approval_and_use_does_not_run(office: Office) -> None:
    approval_id = await office.approved()
    office.now += timedelta(hours=1)

    outcome = await office.execute(approval_id)

    assert (outcome.failure and outcome.failure.kind, office.ran) == ("approval_expired", [])


async def test_using_it_again_gives_the_recorded_outcome(office: Office) -> None:
    approval_id = await office.approved()
    first = await office.execute(approval_id)

    second = await office.execute(approval_id)

    assert (second.state, second.value, second.call_id) == (first.state, first.value, first.call_id)
    assert office.ran == [5]


async def test_what_people_approved_runs_however_many_calls_run_already(open_office: OpenOffice) -> None:
    limits = CallLimits([CallLimit(name="none", selector=Selector(), per=(), concurrent=0)])
    office = await open_office(limits=limits)
    approval_id = await office.approved()

    outcome = await office.execute(approval_id)

    assert (outcome.state, office.ran) == ("succeeded", [5])


async def test_an_approved_call_that_runs_takes_a_place_among_the_running_calls(open_office: OpenOffice) -> None:
    entered, finish = asyncio.Event(), asyncio.Event()

    @tool(risk="high", scopes=["pay:write"])
    async def pay(amount: int) -> str:
        """Pay, and take time for it."""
        entered.set()
        await finish.wait()
        return f"paid {amount}"

    @tool(read_only=True)
    async def look(amount: int) -> int:
        """Look."""
        return amount

    limits = CallLimits([CallLimit(name="narrow", selector=Selector(), per=(), concurrent=1)])
    office = await open_office(tools=[pay, look], limits=limits)
    approval_id = await office.approved()

    async with asyncio.timeout(30):
        paying = asyncio.create_task(office.execute(approval_id))
        await entered.wait()
        refused = await office.ask("look")
        finish.set()
        paid = await paying
    afterwards = await office.ask("look")

    assert (refused.state, refused.failure and refused.failure.kind) == ("denied", "rate_limited")
    assert (paid.state, afterwards.state) == ("succeeded", "succeeded")
