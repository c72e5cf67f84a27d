"""Every statement that writes, for any number of rows at once: a batch costs a handful of steps, not one per row."""

from __future__ import annotations

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
    was_at: int | None = None
    """Index of the state that the row to be changed must be in; `None` where no row has to be found."""


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
    "tenant call_id run_id agent subject tool definition_hash arguments arguments_digest origin state decision failure"
    " approval_id idempotency_key sources requested_at started_at ended_at",
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
    was_at=2,
)
APPROVAL = _insert(
    "approval request",
    "approvals",
    "tenant approval_id call_id run_id agent tool definition_hash arguments digest principal approvals_needed risk"
    " rules reasons consequences state created_at expires_at",
    name_at=1,
)
EVENT = _insert("journal event of run", "events", "tenant run_id version type at data seq", name_at=1)
AUDIT = _insert("audit event", "audit", "tenant at kind actor subject run_id data chain seq prev_hash hash", name_at=4)

PROBE_END = Statement(
    noun="probe",
    name_at=0,
    head="DELETE FROM tool_definitions WHERE definition_hash IN (VALUES ",
    width=1,
    tail=")",
)

IN_ORDER = (DEFINITION, RUN, RUN_STATE, PAYLOAD, CALL, CALL_CHANGE, APPROVAL, EVENT, AUDIT, PROBE_END)
"""Parents before the rows that refer to them."""
