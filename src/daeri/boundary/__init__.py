"""The one door that every tool call passes."""

from ._records import (
    ApprovalRecord,
    ApprovalState,
    AuditEvent,
    CallChange,
    CallOutcome,
    CallRecord,
    CallRequest,
    CallState,
    CallStore,
    Decision,
    JournalEntry,
    Origin,
    Record,
    StoredCall,
    Verdict,
)

__all__ = [
    "ApprovalRecord",
    "ApprovalState",
    "AuditEvent",
    "CallChange",
    "CallOutcome",
    "CallRecord",
    "CallRequest",
    "CallState",
    "CallStore",
    "Decision",
    "JournalEntry",
    "Origin",
    "Record",
    "StoredCall",
    "Verdict",
]
