"""`daeri approvals`: the calls that wait for a person, and what people decide about them.

`--json` prints a request, or a list of them: `{"approval_id", "state", "call_id", "call_state",
"call_failure", "tool", "arguments", "requester", "on_behalf_of", "via", "agent", "run_id", "risk", "rules", "reasons",
"consequences", "approvals_needed", "votes": [{"approver", "verdict", "reason", "at"}], "definition_hash", "digest",
"detail", "created_at", "expires_at", "closed_at"}`. `approve` prints `{"approval", "call"}`; `call` is what
`daeri tools call --json` prints.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal, TypeAlias, get_args

from daeri.boundary import ApprovalState, CallOutcome, StoredApproval, StoredCall
from daeri.errors import NotFoundError
from daeri.identity import Principal
from daeri.runtime import Daeri
from daeri.settings import Settings
from daeri.text import Locale, message

from ._call import show_outcome
from ._exit import ExitCode, UsageError, exit_code_of_call
from ._lines import for_people, printable
from ._opening import acting_principal, locale_of, open_daeri, read_settings
from ._shapes import approval_object, json_text, outcome_object, print_json, requester_of
from ._signals import stopped_like_ctrl_c
from ._table import print_table

_Standing: TypeAlias = tuple[StoredApproval, StoredCall | None]
"""A request and the call that waits, or waited, for it."""


def print_approvals(
    modules: list[str], *, state: str | None, limit: int, as_json: bool, as_name: str | None, lang: Locale | None
) -> int:
    """Print the newest requests.

    Raises:
        UsageError: there is no such state.
    """
    settings = read_settings(lang)
    locale = locale_of(settings)
    found = asyncio.run(_list(settings, modules, _state(state, locale), limit, as_name))
    if as_json:
        reader = acting_principal(settings, as_name)
        print_json([approval_object(approval, call, reader) for approval, call in found])
    elif not found:
        print(message("approvals.none", locale))
    else:
        columns = ("approval", "state", "tool", "risk", "requester", "votes", "call", "expires")
        heads = [message(f"approvals.column.{column}", locale) for column in columns]
        print_table(heads, [_row(approval, call, locale) for approval, call in found])
    return ExitCode.SUCCEEDED


def print_approval(
    approval_id: str, modules: list[str], *, as_json: bool, as_name: str | None, lang: Locale | None
) -> int:
    """Print one request with everything that whoever decides has to know.

    Raises:
        NotFoundError: no such request, or more than one.
    """
    settings = read_settings(lang)
    approval, call = asyncio.run(_show(settings, approval_id, modules, as_name))
    if as_json:
        print_json(approval_object(approval, call, acting_principal(settings, as_name)))
    else:
        print("\n".join(_details(approval, call, locale_of(settings))))
    return ExitCode.SUCCEEDED


def approve_call(
    approval_id: str, modules: list[str], *, reason: str, as_json: bool, as_name: str | None, lang: Locale | None
) -> int:
    """Approve a request, and carry its call out once it has all the approvals that it needs.

    Raises:
        NotFoundError: no such request, or its tool is not known here.
        RefusedError: who approves may not.
    """
    settings = read_settings(lang)
    locale = locale_of(settings)
    principal = acting_principal(settings, as_name)
    with stopped_like_ctrl_c():
        approval, call, outcome = asyncio.run(_approve(settings, approval_id, modules, reason, principal))
    if as_json:
        print_json({"approval": approval_object(approval, call, principal), "call": outcome_object(outcome, principal)})
    else:
        print(printable(_standing(approval, locale)), file=sys.stderr)
        if approval.state != "pending":
            show_outcome(outcome, settings)
    return exit_code_of_call(outcome)


def close_approval(
    how: Literal["reject", "withdraw"],
    approval_id: str,
    modules: list[str],
    *,
    reason: str,
    as_json: bool,
    as_name: str | None,
    lang: Locale | None,
) -> int:
    """Reject a request, or take it back.

    Raises:
        NotFoundError: no such request.
        RefusedError: who does it may not.
    """
    settings = read_settings(lang)
    approval, call = asyncio.run(_close(settings, how, approval_id, modules, reason, as_name))
    if as_json:
        print_json(approval_object(approval, call, acting_principal(settings, as_name)))
    else:
        print(printable(_standing(approval, locale_of(settings))))
    return ExitCode.SUCCEEDED


async def _list(
    settings: Settings, modules: list[str], state: ApprovalState | None, limit: int, as_name: str | None
) -> Sequence[_Standing]:
    principal = acting_principal(settings, as_name)
    async with open_daeri(settings, modules) as daeri:
        await daeri.boundary.approvals.expire(datetime.now(UTC))
        found = await daeri.boundary.approvals.list(principal, state=state, limit=limit)
        return [await _standing_of(daeri, approval) for approval in found]


async def _show(settings: Settings, approval_id: str, modules: list[str], as_name: str | None) -> _Standing:
    principal = acting_principal(settings, as_name)
    async with open_daeri(settings, modules) as daeri:
        await daeri.boundary.approvals.expire(datetime.now(UTC))
        return await _standing_of(daeri, await daeri.boundary.approvals.show(principal, approval_id))


async def _standing_of(daeri: Daeri, approval: StoredApproval) -> _Standing:
    return approval, await daeri.store.find_call(approval.record.tenant, approval.record.call_id)


async def _approve(
    settings: Settings, approval_id: str, modules: list[str], reason: str, principal: Principal
) -> tuple[StoredApproval, StoredCall | None, CallOutcome]:
    locale = locale_of(settings)
    async with open_daeri(settings, modules) as daeri:
        desk = daeri.boundary.approvals
        try:
            approval = await desk.show(principal, approval_id)
        except NotFoundError:
            # who may not see it may not approve it either: the desk refuses, and writes the attempt down
            approval = await desk.approve(approval_id, principal, reason)
        else:
            _check_tool(daeri, approval, locale)
            if not _left_over(approval, principal):
                approval = await desk.approve(approval.record.approval_id, principal, reason)
        outcome = await desk.execute(principal.tenant, approval.record.approval_id, locale=locale)
        return *await _standing_of(daeri, await desk.show(principal, approval.record.approval_id)), outcome


def _left_over(approval: StoredApproval, principal: Principal) -> bool:
    """Whether a process that had this approval ended before it could carry the call out."""
    return approval.state == "approved" and any(vote.approver == principal.subject for vote in approval.votes)


def _check_tool(daeri: Daeri, approval: StoredApproval, locale: Locale) -> None:
    """What this process doesn't know it can't carry out; better said before anything is decided."""
    try:
        daeri.registry.get(approval.record.tool)
    except NotFoundError as error:
        raise NotFoundError("tool", approval.record.tool, message("approvals.tool_not_here", locale)) from error


async def _close(
    settings: Settings,
    how: Literal["reject", "withdraw"],
    approval_id: str,
    modules: list[str],
    reason: str,
    as_name: str | None,
) -> _Standing:
    principal = acting_principal(settings, as_name)
    async with open_daeri(settings, modules) as daeri:
        desk = daeri.boundary.approvals
        if how == "reject":
            return await _standing_of(daeri, await desk.reject(approval_id, principal, reason))
        return await _standing_of(daeri, await desk.withdraw(approval_id, principal, reason))


def _state(text: str | None, locale: Locale) -> ApprovalState | None:
    for state in get_args(ApprovalState):
        if state == text:
            return state
    if text is None:
        return None
    raise UsageError(message("cli.error.state", locale, state=text, states=", ".join(get_args(ApprovalState))))


def _row(approval: StoredApproval, call: StoredCall | None, locale: Locale) -> list[str]:
    record = approval.record
    votes = f"{len(approval.votes)}/{record.approvals_needed}"
    requester, _ = requester_of(record.principal)
    expires = f"{record.expires_at.astimezone():%Y-%m-%d %H:%M}"
    return [
        record.approval_id,
        approval.state,
        record.tool,
        record.risk,
        requester,
        votes,
        _call_state(call, locale),
        expires,
    ]


def _call_state(call: StoredCall | None, locale: Locale) -> str:
    return "-" if call is None else message(f"cli.state.{call.state}", locale)


def _standing(approval: StoredApproval, locale: Locale) -> str:
    return message(
        f"approvals.standing.{approval.state}",
        locale,
        approval=approval.record.approval_id,
        tool=approval.record.tool,
        votes=len(approval.votes),
        needed=approval.record.approvals_needed,
        detail=approval.detail,
    )


def _details(approval: StoredApproval, call: StoredCall | None, locale: Locale) -> list[str]:
    record = approval.record
    requester, person = requester_of(record.principal)
    pairs = [
        ("approval", record.approval_id),
        ("state", approval.state),
        ("requester", requester),
        ("person", person),
        ("agent", record.agent or "-"),
        ("tool", record.tool),
        ("arguments", json_text(record.arguments)),
        ("risk", record.risk),
        ("rules", ", ".join(record.rules) or "-"),
        ("reasons", "; ".join(record.reasons) or "-"),
        ("consequences", record.consequences or "-"),
        ("expires", f"{record.expires_at.astimezone():%Y-%m-%d %H:%M:%S}"),
        ("votes", f"{len(approval.votes)}/{record.approvals_needed}"),
        ("call", f"{record.call_id} · {_call_state(call, locale)}"),
    ]
    lines = [f"{message(f'approvals.column.{name}', locale)}: {value}" for name, value in pairs]
    for vote in approval.votes:
        at = f"{vote.at.astimezone():%Y-%m-%d %H:%M:%S}"
        said = message(f"approvals.vote.{vote.verdict}", locale, approver=vote.approver, at=at)
        lines.append(f"  {said}" + (f": {vote.reason}" if vote.reason else ""))
    if approval.detail:
        lines.append(f"{message('approvals.column.detail', locale)}: {approval.detail}")
    if call is not None and call.failure is not None:
        lines.append(f"  {for_people(call.failure, locale)} ({call.failure.kind})")
    return [printable(line) for line in lines]
