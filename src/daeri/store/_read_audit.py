"""Reading the audit record, and verifying it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from threading import Event
from typing import Literal

from daeri.boundary import Checkpoint, VerifyingKey

from ._chain import CHAIN, AuditRow
from ._decode import AUDIT_COLUMNS, CHECKPOINT_COLUMNS, audit_row, stored_checkpoint
from ._reader import Reader
from ._verify import AuditReport, verify

_AUDIT = f"SELECT {AUDIT_COLUMNS} FROM audit WHERE "
# the kinds spelled out as the partial index has them: a parameter alone would not let SQLite use it
_LAST_RULES = (
    "chain = ? AND tenant = ? AND kind = ? AND kind IN ('policy.loaded', 'setting.loosened') ORDER BY seq DESC LIMIT 1"
)


class AuditReads:
    """The reading half of a store, for the audit record."""

    def __init__(self, reader: Reader, file: Path, busy_timeout_s: float) -> None:
        self._reader = reader
        self._file = file
        self._busy_timeout_s = busy_timeout_s

    async def audit_of(self, tenant: str, run_id: str) -> Sequence[AuditRow]:
        """What the audit record says about a run, as it is stored."""
        return await self._reader.all(
            audit_row, _AUDIT + "tenant = ? AND run_id = ? ORDER BY chain, seq", tenant, run_id
        )

    async def last_audit(self, tenant: str, limit: int) -> Sequence[AuditRow]:
        """The newest rows of a tenant, oldest of them first."""
        newest = await self._reader.all(
            audit_row, _AUDIT + "chain = ? AND tenant = ? ORDER BY seq DESC LIMIT ?", CHAIN, tenant, limit
        )
        return newest[::-1]

    async def last_rules(self, tenant: str, kind: Literal["policy.loaded", "setting.loosened"]) -> AuditRow | None:
        """The newest row that says which rules are in force, or which settings loosen them."""
        return await self._reader.first(audit_row, _AUDIT + _LAST_RULES, CHAIN, tenant, kind)

    async def audit_after(self, tenant: str, seq: int, limit: int = 1000) -> Sequence[AuditRow]:
        """The rows of a tenant that come after row `seq`."""
        return await self._reader.all(
            audit_row,
            _AUDIT + "chain = ? AND seq > ? AND tenant = ? ORDER BY seq LIMIT ?",
            CHAIN,
            seq,
            tenant,
            limit,
        )

    async def audit_head(self) -> AuditRow | None:
        """The last row of the chain, whoever's it is."""
        return await self._reader.first(audit_row, _AUDIT + "chain = ? ORDER BY seq DESC LIMIT 1", CHAIN)

    async def last_checkpoint(self) -> Checkpoint | None:
        """The checkpoint that vouches for most of the chain."""
        return await self._reader.first(
            stored_checkpoint,
            f"SELECT {CHECKPOINT_COLUMNS} FROM audit_checkpoints WHERE chain = ? ORDER BY seq DESC LIMIT 1",
            CHAIN,
        )

    async def data_version(self) -> int:
        """A number that is another one after anybody has written anything to the file."""
        ((version,),) = await self._reader.rows("PRAGMA data_version")
        return version

    async def verify_audit(
        self, key: VerifyingKey | None, kept_outside: Iterable[Checkpoint | None] = ()
    ) -> AuditReport:
        """Follow the whole chain and compare it with its checkpoints; see `AuditFault`.

        `kept_outside` are checkpoints from beyond the database, none newer than this moment, and `None` for what should
        be one and is not.

        Raises:
            StoreError: the record can't be read.
        """
        stop = Event()
        try:
            return await asyncio.to_thread(verify, self._file, self._busy_timeout_s, key, kept_outside, stop)
        finally:
            stop.set()
