"""Following the audit chain from its first row, and comparing it with what was signed. Memory stays the same."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Literal, TypeAlias

from daeri.boundary import Checkpoint, VerifyingKey
from daeri.errors import StoreError

from ._chain import CHAIN, GENESIS, AuditRow
from ._decode import AUDIT_COLUMNS, CHECKPOINT_COLUMNS, StoredRow, audit_row, stored_checkpoint
from ._file import connect

FaultKind: TypeAlias = Literal[
    "missing", "edited", "unlinked", "foreign", "cut", "rewritten", "signature", "key", "removed"
]
"""What is wrong.

`missing`: rows are not there. `edited`: what the row says is not what its hash was taken of; it was changed or moved.
`unlinked`: the row does not follow the one before it; something was removed, put in or moved. `foreign`: no row of
Daeri's. `cut`: a signed row is beyond the end. `rewritten`: a row is whole, but not the one that was signed.
`signature`: a checkpoint that this key did not sign. `key`: there are checkpoints, and no key to check them with.
`removed`: a row says that it was signed, or a key is there that signs, and the checkpoint is in neither place.
"""

_PLACE = AUDIT_COLUMNS.split(", ")
_STEPS_BETWEEN_LOOKS = 10_000
_INTEGERS, _OPTIONAL = {"seq", "at"}, {"run_id"}


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditFault:
    """Something in the audit record that is not as it was written."""

    kind: FaultKind
    seq: int
    """The row it is about, by the number that it has or should have."""
    detail: str
    """In English, for the log and the auditor."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditReport:
    """What following the chain found."""

    rows: int
    """Rows of the chain that are whole, from the first on."""
    head: str
    """Hash of the last of them."""
    checkpoints: int
    """In the database."""
    kept_outside: int
    """Checkpoints from beyond the database."""
    signed: int
    """The highest row that a checkpoint vouches for; what comes after could be cut off unseen."""
    faults: tuple[AuditFault, ...]
    """The first bad row comes first."""


def verify(
    path: Path, busy_timeout_s: float, key: VerifyingKey | None, kept_outside: Iterable[Checkpoint | None], stop: Event
) -> AuditReport:
    """Check the whole record on one snapshot, until `stop` is set.

    `kept_outside` are checkpoints from beyond the database, `None` for what should be one and is not. None may be newer
    than the moment of asking, or a row that is written meanwhile looks as if it had been cut off.

    Raises:
        StoreError: the database can't be read.
    """
    try:
        with _snapshot(path, busy_timeout_s, stop) as connection:
            return _report(connection, key, kept_outside)
    except sqlite3.Error as problem:
        raise StoreError("read the audit record", str(problem)) from problem


def verify_absent(key: VerifyingKey | None, kept_outside: Iterable[Checkpoint | None]) -> AuditReport:
    """Check what was signed against a record that is not there."""
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(f"CREATE TABLE audit ({AUDIT_COLUMNS})")
        connection.execute(f"CREATE TABLE audit_checkpoints ({CHECKPOINT_COLUMNS})")
        return _report(connection, key, kept_outside)
    finally:
        connection.close()


def _report(
    connection: sqlite3.Connection, key: VerifyingKey | None, kept_outside: Iterable[Checkpoint | None]
) -> AuditReport:
    announced = _Announced(connection)
    rows, head, broken = _follow(connection, announced)
    signatures = _Signatures(connection, key, announced)
    checkpoints, outside = (sum(signatures.take(each) for each in some) for some in (_stored(connection), kept_outside))
    faults = [*([broken] if broken else []), *signatures.faults()]
    return AuditReport(
        rows=rows,
        head=head,
        checkpoints=checkpoints,
        kept_outside=outside,
        signed=signatures.good,
        faults=tuple(sorted(faults, key=lambda fault: fault.seq)),
    )


@contextmanager
def _snapshot(path: Path, busy_timeout_s: float, stop: Event) -> Generator[sqlite3.Connection]:
    connection = connect(path, busy_timeout_s)
    connection.set_progress_handler(stop.is_set, _STEPS_BETWEEN_LOOKS)
    try:
        connection.text_factory = _text
        connection.execute("BEGIN")
        yield connection
    finally:
        connection.close()


def _text(raw: bytes) -> str:
    # Whoever tampers need not keep to UTF-8; such text is compared, not refused.
    return raw.decode("utf-8", "surrogateescape")


def _follow(connection: sqlite3.Connection, announced: _Announced) -> tuple[int, str, AuditFault | None]:
    rows, head = 0, GENESIS
    for stored in connection.execute(f"SELECT {AUDIT_COLUMNS} FROM audit ORDER BY chain, seq"):
        fault = _fault_of(stored, rows + 1, head)
        if fault is not None:
            return rows, head, fault
        row = audit_row(stored)
        rows, head = rows + 1, row.hash
        if row.kind == "audit.checkpoint":
            announced.note(row)
    return rows, head, None


def _fault_of(stored: StoredRow, due: int, head: str) -> AuditFault | None:
    row = audit_row(stored)
    if not _typed(stored) or row.chain != CHAIN or row.seq < due:
        where = f"a row {row.seq!r} of chain {row.chain!r}, which Daeri does not write like this, was put in"
        return AuditFault(kind="foreign", seq=due, detail=where)
    if row.seq > due:
        gone = f"row {due} is" if row.seq == due + 1 else f"rows {due} to {row.seq - 1} are"
        return AuditFault(kind="missing", seq=due, detail=f"{gone} not there")
    if row.hash != _expected_hash(row):
        return AuditFault(
            kind="edited", seq=due, detail=f"row {due} was changed or moved: its content does not give its hash"
        )
    if row.prev_hash != head:
        return AuditFault(
            kind="unlinked",
            seq=due,
            detail=f"row {due} does not follow row {due - 1}: a row was removed, put in or moved here",
        )
    return None


def _typed(stored: StoredRow) -> bool:
    return all(
        isinstance(value, int if name in _INTEGERS else str) or (value is None and name in _OPTIONAL)
        for name, value in zip(_PLACE, stored, strict=True)
    )


def _expected_hash(row: AuditRow) -> str | None:
    try:
        return row.expected_hash()
    except UnicodeEncodeError:
        return None


class _Announced:
    """What the rows themselves say about checkpoints, so that these can't all be removed unseen."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._last = 0
        self._gone: set[int] = set()

    def note(self, row: AuditRow) -> None:
        """A row that goes before a checkpoint; it names the one before that, which was in place by then."""
        self._last = row.seq
        before = _signed_before(row)
        if before and not self._in_table(before):
            self._gone.add(before)

    def seen(self, seq: int) -> None:
        """A checkpoint of this row is somewhere."""
        self._gone.discard(seq)

    def fault(self, signed: int, checkpoints: int, *, key: bool) -> AuditFault | None:
        """What is missing; a last checkpoint that a crash has prevented is made good by the next one."""
        if self._gone:
            seq = min(self._gone)
            return AuditFault(kind="removed", seq=seq, detail=f"row {seq} was signed, and its checkpoint is not there")
        if self._last > signed:
            said = f"row {self._last} says that it was signed, and no checkpoint reaches so far"
            return AuditFault(kind="removed", seq=self._last, detail=said)
        if key and not checkpoints:
            said = "there is a key that signs, and nothing that it has signed"
            return AuditFault(kind="removed", seq=1, detail=said)
        return None

    def _in_table(self, seq: int) -> bool:
        found = self._connection.execute("SELECT 1 FROM audit_checkpoints WHERE chain = ? AND seq = ?", (CHAIN, seq))
        return found.fetchone() is not None


def _signed_before(row: AuditRow) -> int:
    try:
        before: object = json.loads(row.data)["signed_before"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return 0
    return before if isinstance(before, int) else 0


class _Signatures:
    """Compares one checkpoint after the other with the row it vouches for."""

    def __init__(self, connection: sqlite3.Connection, key: VerifyingKey | None, announced: _Announced) -> None:
        self._connection = connection
        self._key = key
        self._announced = announced
        self._taken = 0
        self._reach = 0
        self._forged: AuditFault | None = None
        self._first_rewritten: int | None = None
        self._last_cut: Checkpoint | None = None
        self._end = connection.execute(
            "SELECT coalesce(max(seq), 0) FROM audit WHERE chain = ? AND typeof(seq) = 'integer'", (CHAIN,)
        ).fetchone()[0]
        self.good = 0

    def take(self, checkpoint: Checkpoint | None) -> int:
        """Look at one more; gives how many that were, to count them."""
        self._taken += 1
        if checkpoint is None or self._key is None or not self._key.made(checkpoint):
            self._forged = self._forged or self._not_signed(checkpoint)
        else:
            self._compare(checkpoint)
        return 1

    def _compare(self, checkpoint: Checkpoint) -> None:
        self._announced.seen(checkpoint.seq)
        self._reach = max(self._reach, checkpoint.seq)
        found = self._connection.execute(
            "SELECT hash FROM audit WHERE chain = ? AND seq = ?", (checkpoint.chain, checkpoint.seq)
        ).fetchone()
        if found is None:
            if self._last_cut is None or self._last_cut.seq < checkpoint.seq:
                self._last_cut = checkpoint
        elif found[0] != checkpoint.hash:
            self._first_rewritten = min(checkpoint.seq, self._first_rewritten or checkpoint.seq)
        else:
            self.good = max(self.good, checkpoint.seq)

    def faults(self) -> Iterator[AuditFault]:
        if self._forged is not None:
            yield self._forged
        if self._first_rewritten is not None:
            signed = f"row {self._first_rewritten} is not the one that was signed"
            yield AuditFault(
                kind="rewritten", seq=self._first_rewritten, detail=f"{signed}; rows up to it were written anew"
            )
        # A signed row that is missing further up is a gap, which following the chain has found.
        if self._last_cut is not None and self._last_cut.seq > self._end:
            signed = f"row {self._last_cut.seq} was signed at {self._last_cut.at.isoformat()}"
            yield AuditFault(
                kind="cut", seq=self._end + 1, detail=f"{signed}, and the record ends with row {self._end}"
            )

        # Without a key, or with a signature that is none, it is said already that nothing can be vouched for.
        if self._forged is None:
            removed = self._announced.fault(self._reach, self._taken, key=self._key is not None)
            if removed is not None:
                yield removed

    def _not_signed(self, checkpoint: Checkpoint | None) -> AuditFault:
        if checkpoint is None:
            return AuditFault(kind="signature", seq=0, detail="a checkpoint was made unreadable")
        if self._key is None:
            return AuditFault(kind="key", seq=checkpoint.seq, detail="there is no public key to check signatures with")
        return AuditFault(
            kind="signature",
            seq=checkpoint.seq,
            detail=f"the checkpoint of row {checkpoint.seq} was not signed with the key {self._key.key_id}",
        )


def _stored(connection: sqlite3.Connection) -> Iterator[Checkpoint | None]:
    for row in connection.execute(f"SELECT {CHECKPOINT_COLUMNS} FROM audit_checkpoints ORDER BY chain, seq"):
        try:
            # By way of its line: that checks what each value is.
            yield Checkpoint.from_line(stored_checkpoint(row).as_line())
        except (TypeError, ValueError, OverflowError):
            yield None
