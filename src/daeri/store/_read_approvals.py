"""Reading requests for approval, and messages that wait to be delivered."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from daeri.boundary import ApprovalState, StoredApproval, StoredMessage
from daeri.errors import NotFoundError

from ._decode import APPROVAL_COLUMNS, MESSAGE_COLUMNS, stored_approval, stored_message
from ._reader import Reader
from ._time import to_micros
from ._values import clean

_APPROVALS = f"SELECT {APPROVAL_COLUMNS} FROM approvals WHERE "


class ApprovalReads:
    """The reading half of a store, for what waits: for people, and for other systems."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    async def pending_approval(self, tenant: str, digest: str) -> StoredApproval | None:
        """The pending request with this digest that was made outside runs, if any."""
        return await self._reader.first(
            stored_approval,
            _APPROVALS + "tenant = ? AND digest = ? AND state = 'pending' AND run_id IS NULL",
            tenant,
            digest,
        )

    async def find_approval(self, tenant: str, approval_id: str) -> StoredApproval | None:
        """The request with this id, or whose id begins so if that is only one."""
        found = await self._reader.all(
            stored_approval,
            _APPROVALS + "tenant = ?1 AND approval_id >= ?2 AND approval_id < ?2 || char(1114111)"
            " ORDER BY approval_id LIMIT 2",
            tenant,
            approval_id,
        )
        if not found or not approval_id:
            return None
        exact = found[0].record.approval_id == clean(approval_id)
        return found[0] if exact or len(found) == 1 else None

    async def approvals(
        self, tenant: str, *, state: ApprovalState | None = None, limit: int = 50, before: str | None = None
    ) -> Sequence[StoredApproval]:
        """Requests of a tenant, newest first; `before` is the id that the last page ended with.

        Raises:
            NotFoundError: no request `before` in this tenant.
        """
        where, values = "tenant = ?", [tenant]
        if state is not None:
            where += " AND state = ?"
            values.append(state)
        if before is not None:
            known = "SELECT created_at, approval_id FROM approvals WHERE tenant = ? AND approval_id = ?"
            if not await self._reader.rows(known, tenant, before):
                raise NotFoundError("approval request", before)
            where += f" AND (created_at, approval_id) < ({known})"
            values += [tenant, before]
        return await self._reader.all(
            stored_approval,
            f"{_APPROVALS} {where} ORDER BY created_at DESC, approval_id DESC LIMIT ?",
            *values,
            limit,
        )

    async def approvals_of(self, tenant: str, run_id: str) -> Sequence[StoredApproval]:
        """All requests of a run, oldest first."""
        return await self._reader.all(
            stored_approval, _APPROVALS + "tenant = ? AND run_id = ? ORDER BY created_at, rowid", tenant, run_id
        )

    async def expired_approvals(self, now: datetime, limit: int = 100) -> Sequence[StoredApproval]:
        """Requests of all tenants that are pending or approved although their time is over."""
        return await self._reader.all(
            stored_approval,
            _APPROVALS + "state IN ('pending', 'approved') AND expires_at <= ? ORDER BY expires_at LIMIT ?",
            to_micros(now),
            limit,
        )

    async def due_messages(self, now: datetime, limit: int = 100) -> Sequence[StoredMessage]:
        """Messages of all tenants that are to be delivered now, oldest first."""
        return await self._reader.all(
            stored_message,
            f"SELECT {MESSAGE_COLUMNS} FROM outbox WHERE state = 'pending' AND next_at <= ?"
            " ORDER BY next_at, at, rowid LIMIT ?",
            to_micros(now),
            limit,
        )
