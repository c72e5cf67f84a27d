"""The one door that every tool call passes."""

from ._approvals import ApprovalDesk
from ._attempts import Pace
from ._audit_kinds import AUDIT_KINDS
from ._boundary import APPROVAL_TTL, Boundary
from ._breaker import BreakerState
from ._checkpoints import PUBLIC_KEY, Checkpoint, SigningKey, VerifyingKey, append_line
from ._fallback import STATIC_ANSWER, check_fallbacks
from ._limits import CallLimit, CallLimits, LimitPart, OverLimit
from ._means import Observer
from ._policy import BuiltInPolicy, Policy, PolicyQuestion, StrictestPolicy, effective_risk, strictest
from ._records import (
    ApprovalChange,
    ApprovalRecord,
    ApprovalState,
    ApprovalStore,
    AuditEvent,
    CallChange,
    CallOutcome,
    CallRecord,
    CallRequest,
    CallState,
    CallStore,
    Decision,
    Effort,
    JournalEntry,
    Origin,
    OutboxChange,
    OutboxMessage,
    OutboxStore,
    Record,
    StoredApproval,
    StoredCall,
    StoredMessage,
    Verdict,
    Vote,
)
from ._rules import PolicyRule, RulePolicy
from ._selector import Selector
from ._webhooks import Webhook, WebhookCourier, signature
from ._writing import decision_json, failure_json, principal_json

__all__ = [
    "APPROVAL_TTL",
    "AUDIT_KINDS",
    "PUBLIC_KEY",
    "STATIC_ANSWER",
    "ApprovalChange",
    "ApprovalDesk",
    "ApprovalRecord",
    "ApprovalState",
    "ApprovalStore",
    "AuditEvent",
    "Boundary",
    "BreakerState",
    "BuiltInPolicy",
    "CallChange",
    "CallLimit",
    "CallLimits",
    "CallOutcome",
    "CallRecord",
    "CallRequest",
    "CallState",
    "CallStore",
    "Checkpoint",
    "Decision",
    "Effort",
    "JournalEntry",
    "LimitPart",
    "Observer",
    "Origin",
    "OutboxChange",
    "OutboxMessage",
    "OutboxStore",
    "OverLimit",
    "Pace",
    "Policy",
    "PolicyQuestion",
    "PolicyRule",
    "Record",
    "RulePolicy",
    "Selector",
    "SigningKey",
    "StoredApproval",
    "StoredCall",
    "StoredMessage",
    "StrictestPolicy",
    "Verdict",
    "VerifyingKey",
    "Vote",
    "Webhook",
    "WebhookCourier",
    "append_line",
    "check_fallbacks",
    "decision_json",
    "effective_risk",
    "failure_json",
    "principal_json",
    "signature",
    "strictest",
]
