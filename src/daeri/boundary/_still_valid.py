"""Whether an approved request may still be used: the same ask, the same tool, and no stricter policy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from daeri.errors import Failure
from daeri.text import JsonObject, digest
from daeri.tools import RISKS, Tool

from ._check import argument_failure
from ._means import Means
from ._records import ApprovalRecord, CallRequest, Decision, StoredApproval, StoredCall
from ._writing import binding


@dataclass(frozen=True, kw_only=True, slots=True)
class Valid:
    """What is carried out."""

    tool: Tool
    arguments: JsonObject
    decision: Decision


def still_valid(means: Means, approval: StoredApproval, call: StoredCall, request: CallRequest) -> Valid | str:
    """What may be carried out now, or why nothing may."""
    record, arguments = approval.record, request.arguments
    if not isinstance(arguments, Mapping) or not _is_what_was_approved(record, call):
        return "the stored request is not the one that was asked for"
    votes = {vote.approver for vote in approval.votes if vote.verdict == "approve"}
    if len(votes) < record.approvals_needed:
        return "it has fewer votes than it needs"
    tool = means.resolve(request)
    if isinstance(tool, Failure):
        return tool.diagnostic
    if tool.definition_hash != record.definition_hash:
        return f"the definition of {tool.name} has changed"
    if failure := argument_failure(tool, arguments, means.registry.validators):
        return failure.diagnostic
    decision = means.policy.decide(means.question(request, tool, arguments))
    return _stricter(record, decision, len(votes)) or Valid(tool=tool, arguments=arguments, decision=decision)


def _is_what_was_approved(record: ApprovalRecord, call: StoredCall) -> bool:
    bound = binding(
        tenant=record.tenant,
        principal=record.principal,
        tool=record.tool,
        definition_hash=record.definition_hash,
        arguments=record.arguments,
        idempotency_key=call.record.idempotency_key,
    )
    asked = call.record
    return (
        bound == record.digest
        and asked.arguments_digest == digest(record.arguments) == digest(asked.arguments)
        and (asked.tool, asked.definition_hash) == (record.tool, record.definition_hash)
        and (asked.subject, asked.approval_id) == (record.principal.get("subject"), record.approval_id)
    )


def _stricter(record: ApprovalRecord, decision: Decision, votes: int) -> str | None:
    """How policy is stricter than what the approvers were shown."""
    reasons = "; ".join(decision.reasons)
    if decision.verdict == "deny":
        return f"policy denies it now: {reasons}"
    if decision.verdict == "allow":
        return None
    if decision.approvals_needed > votes:
        return f"policy asks for {decision.approvals_needed} approvals now: {reasons}"
    if RISKS.index(decision.risk) > RISKS.index(record.risk):
        return f"its risk is {decision.risk} now, and was {record.risk}"
    if added := [rule for rule in decision.rules if rule not in record.rules]:
        return f"rules ask for approval that did not before: {', '.join(added)}"
    return None
