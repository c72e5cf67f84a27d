"""The JSON that commands print.

`daeri run --json`, and `daeri runs show --json`:

    {"run_id", "status", "answer", "answer_kind", "reason", "detail", "steps", "model", "model_reason",
     "calls": [{"call_id", "tool", "arguments", "state", "decision", "failure", "result", "elapsed_ms", "approval_id",
                "repeats"}],
     "usage": {"input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens", "estimated"},
     "cost", "approvals": [id], "unknown_calls": [id]}

`status` is the state of the run; `decision` is `{"verdict", "rules", "reasons", "approvals_needed", "risk"}` and
`failure` is `{"kind", "diagnostic", "path", "user_message"}`, or null. `result` is the text that the model was shown.
`cost` is US dollars as decimal text, or null when the price of a turn is unknown. `run`
adds `model_reason`; `runs show` adds `goal`, `agent` and `created_at`.

`daeri runs list --json`: a list of `{"run_id", "state", "kind", "agent", "model", "goal", "subject", "created_at",
"ended_at"}`.
"""

from __future__ import annotations

import json
import sys
from codecs import lookup
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import TextIO, cast

from daeri.boundary import CallOutcome, StoredApproval, StoredCall
from daeri.engine import CallSummary, RunResult, RunRow
from daeri.errors import Failure
from daeri.identity import Principal, Role
from daeri.text import JsonObject
from daeri.tools import Tool

from ._lines import own_words

_READS_DIAGNOSTICS: frozenset[Role] = frozenset({"operator", "auditor", "admin"})


def print_json(value: object, *, indent: int | None = 2, to: TextIO | None = None) -> None:
    """Print exactly one JSON value, on stdout unless told otherwise; escaped where the stream would lose letters."""
    stream = sys.stdout if to is None else to
    text = json_text(value, indent=indent)
    if not _is_safe(text, stream.encoding):
        text = json.dumps(value, indent=indent, default=_plain)
    print(text, file=stream, flush=True)


def json_text(value: object, *, indent: int | None = 2) -> str:
    """A value as JSON; decimals and times as text, sets as lists."""
    return json.dumps(value, ensure_ascii=False, indent=indent, default=_plain)


def run_object(result: RunResult) -> dict[str, object]:
    """A run that ended or waits."""
    return {
        "run_id": result.run_id,
        "status": result.status,
        "answer": result.answer,
        "answer_kind": result.answer_kind,
        "reason": result.reason,
        "detail": result.detail,
        "steps": result.steps,
        "model": result.model,
        "calls": [call_object(call) for call in result.calls],
        "usage": asdict(result.usage),
        "cost": None if result.cost is None else f"{result.cost:f}",
        "approvals": list(result.approvals),
        "unknown_calls": list(result.unknown_calls),
    }


def call_object(call: CallSummary) -> dict[str, object]:
    """One call of a run."""
    return {
        "call_id": call.call_id,
        "tool": call.tool,
        "arguments": call.arguments,
        "state": call.state,
        "decision": None if call.decision is None else asdict(call.decision),
        "failure": None if call.failure is None else asdict(call.failure),
        "result": call.shown or None,
        "elapsed_ms": call.elapsed_ms,
        "approval_id": call.approval_id,
        "repeats": call.repeats,
    }


def outcome_object(outcome: CallOutcome, reader: Principal) -> dict[str, object]:
    """One call outside runs, with its whole result, and as much of its failure as `reader` may know."""
    return {
        "call_id": outcome.call_id,
        "tool": outcome.tool,
        "state": outcome.state,
        "result": outcome.value,
        "failure": None if outcome.failure is None else _failure_object(outcome.failure, reader),
        "decision": None if outcome.decision is None else asdict(outcome.decision),
        "approval_id": outcome.approval_id,
        "elapsed_ms": outcome.elapsed_ms,
        "fallback": outcome.effort.fallback,
    }


def approval_object(approval: StoredApproval, call: StoredCall | None, reader: Principal) -> dict[str, object]:
    """A request for approval, with everything that whoever decides has to know, and how its call stands."""
    record = approval.record
    requester, person = requester_of(record.principal)
    return {
        "approval_id": record.approval_id,
        "state": approval.state,
        "call_id": record.call_id,
        "call_state": None if call is None else call.state,
        "call_failure": None if call is None or call.failure is None else _failure_object(call.failure, reader),
        "tool": record.tool,
        "arguments": record.arguments,
        "requester": requester,
        "on_behalf_of": person,
        "via": record.principal.get("via"),
        "agent": record.agent,
        "run_id": record.run_id,
        "risk": record.risk,
        "rules": list(record.rules),
        "reasons": list(record.reasons),
        "consequences": record.consequences,
        "approvals_needed": record.approvals_needed,
        "votes": [asdict(vote) for vote in approval.votes],
        "definition_hash": record.definition_hash,
        "digest": record.digest,
        "detail": approval.detail,
        "created_at": record.created_at,
        "expires_at": record.expires_at,
        "closed_at": approval.closed_at,
    }


def requester_of(principal: JsonObject) -> tuple[str, str]:
    """Who asked, and the person at the start of the chain."""
    person = principal
    while isinstance(behalf := person.get("on_behalf_of"), Mapping):
        person = behalf
    return str(principal["subject"]), str(person["subject"])


def row_object(row: RunRow) -> dict[str, object]:
    """One line of the list of runs."""
    return {
        "run_id": row.run_id,
        "state": row.state,
        "kind": row.kind,
        "agent": row.agent,
        "model": row.model,
        "goal": row.goal,
        "subject": row.subject,
        "created_at": row.created_at.isoformat(),
        "ended_at": None if row.ended_at is None else row.ended_at.isoformat(),
    }


def tool_object(tool: Tool) -> JsonObject:
    """A tool: what a model is offered, and what governs it."""
    marks = tool.annotations
    return {
        "name": tool.name,
        "description": tool.description,
        "risk": tool.risk,
        "scopes": sorted(tool.scopes),
        "source": tool.source,
        "enabled": tool.enabled,
        "read_only": marks.read_only,
        "destructive": marks.destructive,
        "idempotent": marks.idempotent,
        "open_world": marks.open_world,
        "trusted": tool.trusted,
        "strict": tool.strict,
        "timeout_s": tool.timeout_s,
        "tags": sorted(tool.tags),
        "consequences": tool.consequences,
        "definition_hash": tool.definition_hash,
        "input_schema": tool.input_schema,
        "output_schema": tool.output_schema,
    }


def _failure_object(failure: Failure, reader: Principal) -> dict[str, object]:
    if reader.roles.isdisjoint(_READS_DIAGNOSTICS):
        return {**asdict(failure), "diagnostic": own_words(failure)}
    return asdict(failure)


def _is_safe(text: str, encoding: str | None) -> bool:
    """Whether readers get the text as it is: JSON is read as UTF-8, and half a surrogate pair is no UTF-8."""
    if text.isascii():
        return True
    if encoding is not None and lookup(encoding).name != "utf-8":
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return sorted(map(str, cast("frozenset[object]", value))) if isinstance(value, frozenset) else str(value)
