"""Every statement that writes, for any number of rows at once: a batch costs a handful of steps, not one per row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

Row: TypeAlias = tuple[Any, ...]
"""Values as sqlite3 binds them: text, integers, floats, `None`."""

# Few sizes, so that all of them stay in the connection's cache of prepared statements.
ROWS_AT_ONCE = (64, 16, 4, 1)


@dataclass(frozen=True, kw_only=True, eq=False, slots=True)
class Statement:
    """One way to write rows of one table."""

    noun: str
    """What a row is, for errors."""
    name_at: int
    """Index of the value that names a row, for errors."""
    head: str
    width: int
    tail: str = ""
    must_be: Callable[[Row], str] | None = None
    """What the row to be changed has to be, for errors; `None` where no row has to be found."""


Written: TypeAlias = tuple[Statement, Row]
"""A row and the way to write it."""


@cache
def sql(statement: Statement, rows: int) -> str:
    """The text of a statement for so many rows."""
    one = "(" + ",".join("?" * statement.width) + ")"
    return statement.head + ",".join([one] * rows) + statement.tail


def _insert(noun: str, table: str, columns: str, *, name_at: int, if_new: bool = False) -> Statement:
    names = columns.split()
    verb = "INSERT OR IGNORE" if if_new else "INSERT"
    return Statement(
        noun=noun, name_at=name_at, head=f"{verb} INTO {table} ({', '.join(names)}) VALUES ", width=len(names)
    )


DEFINITION = _insert(
    "tool definition", "tool_definitions", "definition_hash name source definition first_seen", name_at=0, if_new=True
)
RUN = _insert("run", "runs", "tenant run_id subject agent model goal state kind created_at ended_at", name_at=1)
RUN_STATE = Statement(
    noun="run",
    name_at=1,
    head="UPDATE runs SET state = new.column3, ended_at = coalesce(new.column4, ended_at) FROM (VALUES ",
    width=4,
    tail=") AS new WHERE runs.tenant = new.column1 AND runs.run_id = new.column2",
)
PAYLOAD = _insert("payload", "payloads", "tenant digest body size created_at", name_at=1, if_new=True)
CALL = _insert(
    "call",
    "calls",
    "tenant call_id run_id agent subject person tool definition_hash arguments arguments_digest origin state decision"
    " failure approval_id idempotency_key sources requested_at started_at ended_at",
    name_at=1,
)
CALL_CHANGE = Statement(
    noun="call",
    name_at=1,
    head="UPDATE calls SET state = new.column4, failure = new.column5,"
    " result_digest = coalesce(new.column6, result_digest), elapsed_ms = coalesce(new.column7, elapsed_ms),"
    " started_at = coalesce(new.column8, started_at), ended_at = coalesce(new.column9, ended_at) FROM (VALUES ",
    width=9,
    tail=") AS new WHERE calls.tenant = new.column1 AND calls.call_id = new.column2 AND calls.state = new.column3",
    must_be=lambda row: str(row[2]),
)
APPROVAL = _insert(
    "approval request",
    "approvals",
    "tenant approval_id call_id run_id agent tool definition_hash arguments digest principal approvals_needed risk"
    " rules reasons consequences state created_at expires_at",
    name_at=1,
)
APPROVAL_CHANGE = Statement(
    noun="approval request",
    name_at=1,
    head="UPDATE approvals SET state = new.column4, version = approvals.version + 1, detail = new.column5,"
    " closed_at = coalesce(new.column6, closed_at) FROM (VALUES ",
    width=6,
    tail=") AS new WHERE approvals.tenant = new.column1 AND approvals.approval_id = new.column2"
    " AND approvals.version = new.column3",
    must_be=lambda row: f"at version {row[2]}",
)
VOTE = _insert("vote of", "approval_votes", "tenant approval_id version approver verdict reason at", name_at=3)
OUTBOX = _insert("message", "outbox", "tenant message_id kind payload state attempts at next_at error", name_at=1)
OUTBOX_CHANGE = Statement(
    noun="message",
    name_at=0,
    head="UPDATE outbox SET state = new.column2, attempts = new.column3, next_at = new.column4, error = new.column5"
    " FROM (VALUES ",
    width=5,
    tail=") AS new WHERE outbox.message_id = new.column1 AND outbox.state <> 'delivered'",
)
EVENT = _insert("journal event of run", "events", "tenant run_id version type at data seq", name_at=1)
AUDIT = _insert("audit event", "audit", "tenant at kind actor subject run_id data chain seq prev_hash hash", name_at=4)

TOOL = _insert("tool", "tools", "name definition_hash enabled since", name_at=0)
TOOL_CHANGE = Statement(
    noun="tool",
    name_at=0,
    head="UPDATE tools SET definition_hash = new.column4, enabled = new.column5, since = new.column6 FROM (VALUES ",
    width=6,
    tail=") AS new WHERE tools.name = new.column1 AND tools.definition_hash = new.column2"
    " AND tools.enabled = new.column3",
    must_be=lambda row: f"defined as {row[1]}",
)
CHECKPOINT = _insert("checkpoint", "audit_checkpoints", "chain seq hash at key_id signature", name_at=1, if_new=True)

PROBE_END = Statement(
    noun="probe",
    name_at=0,
    head="DELETE FROM tool_definitions WHERE definition_hash IN (VALUES ",
    width=1,
    tail=")",
)

IN_ORDER = (
    DEFINITION,
    TOOL,
    TOOL_CHANGE,
    RUN,
    RUN_STATE,
    PAYLOAD,
    CALL,
    CALL_CHANGE,
    APPROVAL,
    APPROVAL_CHANGE,
    VOTE,
    OUTBOX,
    OUTBOX_CHANGE,
    EVENT,
    AUDIT,
    CHECKPOINT,
    PROBE_END,
)
"""Parents before the rows that refer to them."""
