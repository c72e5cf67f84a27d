"""The request that a person will decide: bound to exactly what will be shown and run."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.boundary import ApprovalRecord, CallRecord, CallRequest, Decision
from daeri.boundary._writing import approval_record
from daeri.identity import Principal
from daeri.text import Json, JsonObject, digest
from daeri.tools import Tool, tool

if TYPE_CHECKING:
    from tests.boundary.conftest import Ask, Door, OpenDoor

ran: list[str] = []


@tool(risk="high", scopes=["records:read"], consequences="The money leaves the account at once.")
async def pay(account: str, amount: int) -> str:
    """Pay."""
    ran.append(account)
    return "paid"


@tool(risk="critical")
async def erase(everything: bool) -> str:
    """Erase."""
    ran.append("erase")
    return "erased"


@tool(destructive=True)
async def remove(number: int) -> str:
    """Remove a record."""
    ran.append("remove")
    return "removed"


async def _waiting(door: Door, request: CallRequest) -> dict[str, Any]:
    outcome = await door.boundary.call(request)
    assert (outcome.state, outcome.failure, outcome.value) == ("waiting", None, None)
    (row,) = door.rows("SELECT * FROM approvals WHERE approval_id = ?", str(outcome.approval_id))
    return row


@pytest.mark.parametrize(
    ("name", "arguments", "needed", "risk"),
    [
        ("pay", {"account": "1", "amount": 5}, 1, "high"),
        ("erase", {"everything": True}, 2, "critical"),
        ("remove", {"number": 1}, 1, "high"),
    ],
)
async def test_a_risky_call_waits_on_record_and_does_not_run(
    open_door: OpenDoor, ask: Ask, name: str, arguments: JsonObject, needed: int, risk: str
) -> None:
    ran.clear()
    door = await open_door(pay, erase, remove)

    row = await _waiting(door, ask(name, arguments))

    assert (row["state"], row["approvals_needed"], row["risk"], ran) == ("pending", needed, risk, [])
    assert door.states() == ["waiting"]
    assert door.audit_kinds() == ["call.waiting", "approval.requested"]


async def test_the_request_shows_who_what_why_and_what_will_happen(open_door: OpenDoor, ask: Ask) -> None:
    door = await open_door(pay, ttl=timedelta(hours=2))
    await door.begin_run()
    kim = Principal(tenant="acme", subject="user:kim", scopes=frozenset({"records:*"}), roles=frozenset({"user"}))
    arguments: JsonObject = {"amount": 5, "account": "계좌 110-" + "9" * 5_000}
    request = ask("pay", arguments, principal=kim.acting_as("bot"), run_id="r1", agent="bot")

    row = await _waiting(door, request)

    assert json.loads(row["arguments"]) == arguments
    assert json.loads(row["principal"]) == {
        "tenant": "acme",
        "subject": "agent:bot",
        "kind": "agent",
        "scopes": ["records:*"],
        "roles": [],
        "on_behalf_of": {
            "tenant": "acme",
            "subject": "user:kim",
            "kind": "user",
            "scopes": ["records:*"],
            "roles": ["user"],
        },
    }
    assert (row["call_id"], row["run_id"], row["agent"]) == (request.call_id, "r1", "bot")
    assert json.loads(row["rules"]) == ["risk.high"]
    assert json.loads(row["reasons"]) == ["a tool of risk high needs the approval of one person"]
    assert row["consequences"] == "The money leaves the account at once."
    assert row["definition_hash"] == door.registry.get("pay").definition_hash
    assert row["expires_at"] - row["created_at"] == 2 * 3600 * 1_000_000
    assert door.journal_types() == ["run.started", "call.requested", "call.waiting"]


async def test_the_stored_digest_is_over_tenant_principal_tool_definition_and_arguments(
    open_door: OpenDoor, ask: Ask
) -> None:
    door = await open_door(pay)

    row = await _waiting(door, ask("pay", {"account": "1", "amount": 5}))

    assert row["digest"] == digest(
        {
            "tenant": "acme",
            "principal": json.loads(row["principal"]),
            "tool": "pay",
            "definition_hash": row["definition_hash"],
            "arguments": {"amount": 5, "account": "1"},
        }
    )


async def test_asking_again_with_the_call_id_gives_the_same_request_and_makes_no_second(
    open_door: OpenDoor, ask: Ask
) -> None:
    door = await open_door(pay)
    request = ask("pay", {"account": "1", "amount": 5})

    first = await door.boundary.call(request)
    second = await door.boundary.call(request)

    assert second == first
    assert len(door.rows("SELECT 1 FROM approvals")) == 1


_texts = st.text(max_size=3)
_json = st.dictionaries(_texts, st.none() | st.booleans() | st.integers() | _texts | st.lists(_texts), max_size=4)
_principals = st.builds(
    Principal,
    tenant=st.sampled_from(["acme", "other"]),
    subject=st.sampled_from(["user:kim", "user:lee"]),
    kind=st.sampled_from(["user", "service"]),
    scopes=st.frozensets(st.sampled_from(["a:b", "c:d"])),
    roles=st.frozensets(st.sampled_from(["user", "admin"])),
    on_behalf_of=st.none() | st.builds(Principal, tenant=st.just("acme"), subject=st.sampled_from(["x", "y"])),
)
_tools = st.builds(
    Tool,
    name=st.sampled_from(["pay", "send"]),
    description=st.sampled_from(["Pay.", "Pay more."]),
    input_schema=st.just({"type": "object"}),
    consequences=st.sampled_from(["", "Money leaves."]),
)
_asked = st.tuples(_principals, _tools, _json)


def _approval(asked: tuple[Principal, Tool, dict[str, Json]]) -> ApprovalRecord:
    from datetime import UTC, datetime

    principal, wanted, arguments = asked
    now = datetime(2026, 11, 30, tzinfo=UTC)
    request = CallRequest(principal=principal, tool=wanted.name, arguments=arguments, call_id="c1", origin="api")
    record = CallRecord(
        call_id="c1",
        tenant=principal.tenant,
        subject=principal.subject,
        person=principal.person.subject,
        tool=wanted.name,
        definition_hash=wanted.definition_hash,
        arguments=arguments,
        arguments_digest=digest(arguments),
        origin="api",
        state="waiting",
        at=now,
    )
    decision = Decision(verdict="require_approval", rules=("r",), reasons=("why",), approvals_needed=1, risk="high")
    return approval_record(request, record, "apr_1", wanted, decision, now + timedelta(days=1))


@given(first=_asked, second=_asked)
def test_any_change_of_who_what_or_with_which_arguments_changes_the_digest(
    first: tuple[Principal, Tool, dict[str, Json]], second: tuple[Principal, Tool, dict[str, Json]]
) -> None:
    def bound(asked: tuple[Principal, Tool, dict[str, Json]]) -> tuple[object, ...]:
        principal, wanted, arguments = asked
        return principal, wanted.definition_hash, digest(arguments)

    assert (_approval(first).digest == _approval(second).digest) == (bound(first) == bound(second))


@given(_asked)
def test_the_order_of_keys_does_not_change_the_digest(asked: tuple[Principal, Tool, dict[str, Json]]) -> None:
    principal, wanted, arguments = asked
    turned = dict(reversed(arguments.items()))

    assert _approval((principal, wanted, turned)).digest == _approval(asked).digest
