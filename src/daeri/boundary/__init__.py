"""The one door that every tool call passes."""

from ._boundary import APPROVAL_TTL, Boundary
from ._passage import Observer
from ._policy import BuiltInPolicy, Policy, effective_risk
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
from ._writing import principal_json

__all__ = [
    "APPROVAL_TTL",
    "ApprovalRecord",
    "ApprovalState",
    "AuditEvent",
    "Boundary",
    "BuiltInPolicy",
    "CallChange",
    "CallOutcome",
    "CallRecord",
    "CallRequest",
    "CallState",
    "CallStore",
    "Decision",
    "JournalEntry",
    "Observer",
    "Origin",
    "Policy",
    "Record",
    "StoredCall",
    "Verdict",
    "effective_risk",
    "principal_json",
]
