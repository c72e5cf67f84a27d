"""The audit record of an installation: signed while Daeri works, checked when somebody asks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from daeri.boundary import PUBLIC_KEY, AuditEvent, Checkpoint, SigningKey, VerifyingKey, append_line
from daeri.errors import StoreError
from daeri.store import CHAIN, AuditReport, SqliteStore, verify_absent
from daeri.text import Json

CHECKPOINTS = "audit-checkpoints.jsonl"
KEYS = "keys"

LOOK_S = 5.0
SIGN_ROWS = 1000
SIGN_S = 300.0

_SIGNING_S = 0.5
_BEGINNING = '{"at":"'

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Watch:
    look_s: float
    sign_rows: int
    sign_s: float


class AuditKeeper:
    """Signs the audit chain of one store, so that a tail that is cut off is missed."""

    def __init__(self, store: SqliteStore, home: Path, *, tenant: str, actor: str, via: str | None = None) -> None:
        """`via` is who sits at the machine when `actor` is somebody that they act as."""
        self._store = store
        self._home = home
        self._tenant = tenant
        self._actor = actor
        self._via = via
        self._signing = asyncio.Lock()

    @asynccontextmanager
    async def keeping(
        self, *, look_s: float = LOOK_S, sign_rows: int = SIGN_ROWS, sign_s: float = SIGN_S
    ) -> AsyncGenerator[AuditKeeper]:
        """Sign now and then while the block runs, and once more when it ends, if the chain has grown.

        Every `look_s` it is looked whether the chain has grown by `sign_rows`, or at all for `sign_s`.
        Not being able to sign stops nothing: the rows are on record, and the next checkpoint vouches for them too.
        """
        over = asyncio.Event()
        watch = _Watch(look_s=look_s, sign_rows=sign_rows, sign_s=sign_s)
        task = asyncio.create_task(self._sign_now_and_then(watch, over), name="daeri-audit-keeper")
        try:
            yield self
        finally:
            over.set()
            await task

    async def checkpoint(self) -> Checkpoint | None:
        """Sign the chain as it is; gives the last checkpoint if it holds still, and nothing for an empty record.

        Raises:
            StoreError: the key can't be used, or the checkpoint can't be kept.
        """
        async with self._signing:
            last = await self._store.last_checkpoint()
            head = await self._store.audit_head()
            if head is None or (last is not None and last.seq == head.seq):
                return last
            return await self._sign(0 if last is None else last.seq)

    async def _sign(self, signed: int) -> Checkpoint:
        key = await asyncio.to_thread(SigningKey.of, self._home / KEYS)
        data: dict[str, Json] = {"key_id": key.public.key_id, "signed_before": signed}
        if self._via is not None:
            data["via"] = self._via
        await self._store.commit(
            [
                AuditEvent(
                    tenant=self._tenant,
                    kind="audit.checkpoint",
                    actor=self._actor,
                    at=datetime.now(UTC),
                    subject=CHAIN,
                    data=data,
                )
            ]
        )
        head = await self._store.audit_head()
        if head is None:
            raise StoreError("sign the audit record", "its rows have just been removed")
        checkpoint = key.sign(head.chain, head.seq, head.hash, datetime.now(UTC))
        # The file first: what the table knows is in the file as well.
        await asyncio.to_thread(append_line, self._home / CHECKPOINTS, checkpoint)
        await self._store.keep_checkpoint(checkpoint)
        return checkpoint

    async def _sign_now_and_then(self, watch: _Watch, over: asyncio.Event) -> None:
        clock = asyncio.get_running_loop().time
        signed_at = clock()
        while not over.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(watch.look_s):
                    await over.wait()
            if not over.is_set() and await self._due(watch, clock() - signed_at):
                await self._sign_or_say_so()
                signed_at = clock()
        await self._sign_or_say_so()

    async def _due(self, watch: _Watch, since_s: float) -> bool:
        try:
            last, head = await self._store.last_checkpoint(), await self._store.audit_head()
        except StoreError:
            return True  # signing meets the same trouble, and says so
        grown = (head.seq if head else 0) - (last.seq if last else 0)
        return grown >= watch.sign_rows or (grown > 0 and since_s >= watch.sign_s)

    async def _sign_or_say_so(self) -> None:
        try:
            await self.checkpoint()
        except StoreError as problem:
            _log.warning("the audit record could not be signed: %s", problem)


async def verify_audit(
    store: SqliteStore | None, home: Path, *, key_file: Path | None = None, checkpoints_file: Path | None = None
) -> AuditReport:
    """Check the whole audit record with the public key and the checkpoints of this installation.

    Without a store there is no record; what was signed tells whether there should be one.
    Copies that were kept elsewhere, named here, make the check hold against whoever owns the installation.

    Raises:
        StoreError: the record or a file that was named can't be read.
    """
    key = await asyncio.to_thread(_public_key, home, key_file)
    kept, named = checkpoints_file or home / CHECKPOINTS, checkpoints_file is not None
    if store is None:
        return await asyncio.to_thread(lambda: verify_absent(key, _lines(kept, _size(kept, must_exist=named))))
    report = await _verify(store, key, kept, must_exist=named)
    if any(fault.kind == "removed" for fault in report.faults):
        # Between the row that says so and the checkpoint itself: somebody may have been signing at that moment.
        await asyncio.sleep(_SIGNING_S)
        report = await _verify(store, key, kept, must_exist=named)
    return report


async def _verify(store: SqliteStore, key: VerifyingKey | None, kept: Path, *, must_exist: bool) -> AuditReport:
    size = await asyncio.to_thread(_size, kept, must_exist=must_exist)
    return await store.verify_audit(key, _lines(kept, size))


def _public_key(home: Path, named: Path | None) -> VerifyingKey | None:
    file = named or home / KEYS / PUBLIC_KEY
    return VerifyingKey.read(file) if named or file.exists() else None


def _size(file: Path, *, must_exist: bool) -> int:
    try:
        return file.stat().st_size
    except OSError as problem:
        if not must_exist:
            return 0
        raise StoreError(f"read {str(file)!r}", str(problem)) from problem


def _is_torn(text: str) -> bool:
    """Whether a crash in the middle of writing may have left this: the beginning of a line, which says nothing."""
    return not text.endswith("}") and _BEGINNING.startswith(text[: len(_BEGINNING)])


def _lines(file: Path, size: int) -> Iterator[Checkpoint | None]:
    """The checkpoints in the first `size` bytes; `None` for a line that is none."""
    if size == 0:
        return
    try:
        with file.open("rb") as lines:
            for line in lines:
                size -= len(line)
                if size < 0:
                    return
                text = line.decode("utf-8", "replace").strip()
                if not _is_torn(text):
                    yield Checkpoint.from_line(text)
    except OSError as problem:
        raise StoreError(f"read {str(file)!r}", str(problem)) from problem
