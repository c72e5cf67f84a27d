"""What other systems are told about requests for approval: written down with the step itself, delivered later."""

from __future__ import annotations

import secrets
from datetime import datetime

from daeri.text import Json

from ._people import principal_of
from ._records import ApprovalRecord, OutboxMessage


def notice(kind: str, approval: ApprovalRecord, *, at: datetime, by: str = "", reason: str = "") -> OutboxMessage:
    """A message about one step of a request. It names the arguments by their digest only: they stay here."""
    principal = principal_of(approval.principal)
    payload: dict[str, Json] = {
        "kind": kind,
        "at": at.isoformat(),
        "tenant": approval.tenant,
        "approval_id": approval.approval_id,
        "call_id": approval.call_id,
        "run_id": approval.run_id,
        "tool": approval.tool,
        "agent": approval.agent,
        "requester": principal.subject,
        "on_behalf_of": principal.person.subject,
        "risk": approval.risk,
        "approvals_needed": approval.approvals_needed,
        "reasons": list(approval.reasons),
        "consequences": approval.consequences,
        "digest": approval.digest,
        "expires_at": approval.expires_at.isoformat(),
        "by": by or None,
        "reason": reason or None,
    }
    return OutboxMessage(
        message_id=f"msg_{secrets.token_hex(12)}", tenant=approval.tenant, kind=kind, payload=payload, at=at
    )
