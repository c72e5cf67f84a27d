"""The hash chain of the audit record: pure functions that a verifier can run over exported rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

CHAIN = "main"
"""The chain that a SQLite database holds: one writer at a time, so one chain."""
GENESIS = "0" * 64
"""`prev_hash` of the first row of a chain."""

_FORMAT = b"daeri.audit.1"
_ABSENT = b"\xff\xff\xff\xff"


def chain_hash(
    prev_hash: str,
    chain: str,
    seq: int,
    tenant: str,
    at: int,
    kind: str,
    actor: str,
    subject: str,
    run_id: str | None,
    data: str,
) -> str:
    """The hash of one audit row, in hexadecimal.

    SHA-256 over the ASCII label `daeri.audit.1` and then, in the order of the parameters, every field as the length of
    its UTF-8 text in four bytes (big-endian) and the text itself. Integers are written in decimal. An absent `run_id`
    is the four bytes `ff ff ff ff` and nothing after them, so it differs from an empty one. `at` is in microseconds
    since 1970-01-01 UTC; `data` is the JSON text exactly as it is stored.
    """
    parts = [_FORMAT]
    for text in (prev_hash, chain, str(seq), tenant, str(at), kind, actor, subject, run_id, data):
        if text is None:
            parts.append(_ABSENT)
        else:
            raw = text.encode()
            parts += (len(raw).to_bytes(4, "big"), raw)
    return hashlib.sha256(b"".join(parts)).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditRow:
    """One row of the audit record, exactly as it is stored."""

    chain: str
    seq: int
    """1, 2, 3 … within the chain, without gaps."""
    prev_hash: str
    hash: str
    tenant: str
    at: int
    """Microseconds since 1970-01-01 UTC."""
    kind: str
    actor: str
    subject: str
    run_id: str | None
    data: str
    """JSON text."""

    def expected_hash(self) -> str:
        """What `hash` must be for this content after `prev_hash`."""
        return chain_hash(
            self.prev_hash,
            self.chain,
            self.seq,
            self.tenant,
            self.at,
            self.kind,
            self.actor,
            self.subject,
            self.run_id,
            self.data,
        )
