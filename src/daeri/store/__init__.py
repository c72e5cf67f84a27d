"""The record of all that happened, on disk: the only room with SQL."""

from ._chain import CHAIN, GENESIS, AuditRow, chain_hash
from ._store import BUSY_TIMEOUT_S, SqliteStore
from ._verify import AuditFault, AuditReport, FaultKind, verify_absent

__all__ = [
    "BUSY_TIMEOUT_S",
    "CHAIN",
    "GENESIS",
    "AuditFault",
    "AuditReport",
    "AuditRow",
    "FaultKind",
    "SqliteStore",
    "chain_hash",
    "verify_absent",
]
