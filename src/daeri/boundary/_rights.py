"""Who may decide about a request for approval: the rule of four eyes, roles and scopes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

from daeri.identity import Principal, Role, granted

from ._people import people_behind, principal_of, subjects_of
from ._records import StoredApproval

Attempt = Literal["approve", "reject", "withdraw"]
Refusal: TypeAlias = tuple[str, str]
"""The rule that stands in the way, and why."""
_SEES_ALL: frozenset[Role] = frozenset({"auditor", "operator", "admin"})


def refusal(
    attempt: Attempt, approval: StoredApproval, who: Principal, reason: str, tags: Iterable[str]
) -> Refusal | None:
    """What stands in the way of an attempt; nothing if `who` may."""
    found = _not_theirs(approval, who) if attempt == "withdraw" else _not_approver(approval, who, tags)
    return found or _not_now(attempt, approval, who, reason)


def may_see(approval: StoredApproval, who: Principal, tags: Iterable[str]) -> bool:
    """Whether `who`, of the tenant of the request, may know of it: it holds all arguments of the call."""
    if not who.roles.isdisjoint(_SEES_ALL):
        return True
    requester = principal_of(approval.record.principal)
    return not set(subjects_of(requester)).isdisjoint(subjects_of(who)) or _not_approver(approval, who, tags) is None


def approve_scopes(tool: str, tags: Iterable[str]) -> Iterable[str]:
    """The scopes of which an approver needs one; `approve:*` grants all of them."""
    return (f"approve:{tool}", *(f"approve:tag:{tag}" for tag in sorted(tags)))


def _not_theirs(approval: StoredApproval, who: Principal) -> Refusal | None:
    if who.person.subject in _requesters(approval):
        return None
    return "not_requester", "only its requester, or the person it was made for, can take it back"


def _not_approver(approval: StoredApproval, who: Principal, tags: Iterable[str]) -> Refusal | None:
    if _requesters(approval).intersection(subjects_of(who)):
        return "own_request", "nobody decides about a request that they made or that was made for them"
    if who.kind != "user" or who.on_behalf_of is not None:
        return "not_a_person", "only a person who acts for nobody else decides"
    if "approver" not in who.roles:
        return "role_missing", f"{who.subject} lacks the role approver"
    wanted = tuple(approve_scopes(approval.record.tool, tags))
    if not any(granted(scope, who.scopes) for scope in wanted):
        return "scope_missing", f"{who.subject} has none of the scopes {', '.join(wanted)}"
    return None


def _not_now(attempt: Attempt, approval: StoredApproval, who: Principal, reason: str) -> Refusal | None:
    over = approval.state != "pending" and (attempt != "withdraw" or approval.state != "approved")
    if over:
        return "not_pending", f"it is {approval.state}"
    if attempt == "approve" and any(vote.approver == who.subject for vote in approval.votes):
        return "already_voted", f"{who.subject} has voted; it takes another person"
    if attempt == "reject" and not reason:
        return "reason_missing", "who says no says why"
    return None


def _requesters(approval: StoredApproval) -> frozenset[str]:
    return people_behind(principal_of(approval.record.principal))
