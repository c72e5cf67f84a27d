"""The record of all that happened, on disk: the only room with SQL."""

from ._chain import CHAIN, GENESIS, AuditRow, chain_hash
from ._store import BUSY_TIMEOUT_S, SqliteStore

__all__ = ["BUSY_TIMEOUT_S", "CHAIN", "GENESIS", "AuditRow", "SqliteStore", "chain_hash"]
