"""The vocabulary of the audit record: every kind of event, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

AUDIT_KINDS: Mapping[str, str] = MappingProxyType(
    {
        "call.requested": "a call was asked for and written down",
        "call.waiting": "policy wants a person to decide about a call",
        "call.started": "a call was allowed and is carried out from here on",
        "call.attempted": "an attempt at a call failed and is followed by another",
        "call.succeeded": "a call ended with a result",
        "call.failed": "a call ended without a result",
        "call.unknown": "nobody can say whether a call had its effect",
        "call.denied": "a call was refused: by policy, by a limit, by a person, or because its time was over",
        "call.cancelled": "a call was taken back before it ended",
        "approval.requested": "a request for approval began to wait",
        "approval.voted": "one of several approvers agreed; the request still waits",
        "approval.approved": "a request has all the approvals it needs",
        "approval.rejected": "an approver said no",
        "approval.expired": "the time of a request was over before it was used",
        "approval.withdrawn": "the requester took a request back",
        "approval.void": "a request no longer fits: its tool or the policy has changed",
        "approval.consumed": "an approved request was used; what it approved runs now",
        "approval.refused": "somebody tried to decide about a request without the right to",
        "webhook.dead": "a message to another system was given up after all attempts",
        "policy.loaded": "a set of policies came into force",
        "policy.refused": "a set of policies could not be used; the one before it stays, and at start nothing starts",
        "tool.defined": "a tool was offered with a definition that is new here",
        "tool.changed": "the definition of a tool is no longer the one that was offered last",
        "tool.disabled": "a tool was taken out of use",
        "tool.enabled": "a tool that was out of use can be used again",
        "setting.loosened": "a setting allows what the built-in rules would not",
        "audit.exported": "a run left Daeri with its journal, its calls and their results",
        "audit.refused": "somebody without the right to it asked to read the audit record",
        "audit.checkpoint": "the chain up to and with this event was signed",
    }
)
"""Kind to meaning. Kinds are added, never renamed: what is in the chain stays as it is."""
