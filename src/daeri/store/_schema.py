"""The tables, for the DDL of both dialects. Only migrations and their tests import this: it loads SQLAlchemy.

Times are integers: microseconds since 1970-01-01 UTC. JSON is text, so that what was hashed is what is stored. Every
row belongs to a tenant, but for the catalogue and the signatures over the audit chain, which all tenants share.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(referred_table_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _text(name: str, *, optional: bool = False) -> Column[str]:
    return Column(name, Text, nullable=optional)


def _time(name: str, *, optional: bool = False) -> Column[int]:
    return Column(name, BigInteger, nullable=optional)


runs = Table(
    "runs",
    metadata,
    _text("tenant"),
    _text("run_id"),
    _text("subject"),
    _text("agent"),
    _text("model"),
    _text("goal"),
    _text("state"),
    _text("kind"),
    _time("created_at"),
    _time("ended_at", optional=True),
    PrimaryKeyConstraint("tenant", "run_id"),
    Index(None, "tenant", "created_at", "run_id"),
)

events = Table(
    "events",
    metadata,
    _text("tenant"),
    _text("run_id"),
    Column("seq", BigInteger, nullable=False),
    Column("version", Integer, nullable=False),
    _text("type"),
    _time("at"),
    _text("data"),
    PrimaryKeyConstraint("tenant", "run_id", "seq"),
    ForeignKeyConstraint(["tenant", "run_id"], ["runs.tenant", "runs.run_id"]),
)

payloads = Table(
    "payloads",
    metadata,
    _text("tenant"),
    _text("digest"),
    _text("body"),
    Column("size", BigInteger, nullable=False),
    _time("created_at"),
    PrimaryKeyConstraint("tenant", "digest"),
)

_OPEN = text("state IN ('requested', 'waiting', 'started', 'unknown')")
_KEYED = text("idempotency_key IS NOT NULL")

calls = Table(
    "calls",
    metadata,
    _text("tenant"),
    _text("call_id"),
    _text("run_id", optional=True),
    _text("agent", optional=True),
    _text("subject"),
    # Empty for calls of agents from before it was kept: nobody has this name, so nobody gets their outcomes.
    Column("person", Text, nullable=False, server_default=""),
    _text("tool"),
    _text("definition_hash", optional=True),
    _text("arguments"),
    _text("arguments_digest"),
    _text("origin"),
    _text("state"),
    _text("decision", optional=True),
    _text("failure", optional=True),
    _text("approval_id", optional=True),
    _text("result_digest", optional=True),
    _text("idempotency_key", optional=True),
    _text("sources"),
    Column("elapsed_ms", Double, nullable=True),
    _time("requested_at"),
    _time("started_at", optional=True),
    _time("ended_at", optional=True),
    PrimaryKeyConstraint("tenant", "call_id"),
    ForeignKeyConstraint(["tenant", "result_digest"], ["payloads.tenant", "payloads.digest"]),
    Index(None, "tenant", "run_id"),
    # Calls that are over, nearly all of them, stay out of the index that sweeps look through.
    Index("ix_calls_open", "tenant", "state", sqlite_where=_OPEN, postgresql_where=_OPEN),
    Index(
        "ix_calls_idempotency_key",
        "tenant",
        "person",
        "subject",
        "idempotency_key",
        unique=True,
        sqlite_where=_KEYED,
        postgresql_where=_KEYED,
    ),
)

_UNDECIDED = text("state = 'pending' AND run_id IS NULL")
_ENDING = text("state IN ('pending', 'approved')")

approvals = Table(
    "approvals",
    metadata,
    _text("tenant"),
    _text("approval_id"),
    _text("call_id"),
    _text("run_id", optional=True),
    _text("agent", optional=True),
    _text("tool"),
    _text("definition_hash"),
    _text("arguments"),
    _text("digest"),
    _text("principal"),
    Column("approvals_needed", Integer, nullable=False),
    _text("risk"),
    _text("rules"),
    _text("reasons"),
    _text("consequences"),
    _text("state"),
    _time("created_at"),
    _time("expires_at"),
    Column("version", Integer, nullable=False, server_default="0"),
    Column("detail", Text, nullable=False, server_default=""),
    _time("closed_at", optional=True),
    PrimaryKeyConstraint("tenant", "approval_id"),
    ForeignKeyConstraint(["tenant", "call_id"], ["calls.tenant", "calls.call_id"]),
    Index(None, "tenant", "run_id"),
    Index(None, "tenant", "state"),
    Index(None, "tenant", "created_at", "approval_id"),
    # The same ask from outside runs attaches to the one that waits; two at once must not both begin to wait.
    Index(
        "ix_approvals_pending_digest",
        "tenant",
        "digest",
        unique=True,
        sqlite_where=_UNDECIDED,
        postgresql_where=_UNDECIDED,
    ),
    Index("ix_approvals_ending", "expires_at", sqlite_where=_ENDING, postgresql_where=_ENDING),
)

approval_votes = Table(
    "approval_votes",
    metadata,
    _text("tenant"),
    _text("approval_id"),
    Column("version", Integer, nullable=False),
    _text("approver"),
    _text("verdict"),
    _text("reason"),
    _time("at"),
    PrimaryKeyConstraint("tenant", "approval_id", "approver"),
    ForeignKeyConstraint(["tenant", "approval_id"], ["approvals.tenant", "approvals.approval_id"]),
)

_WAITING = text("state = 'pending'")

outbox = Table(
    "outbox",
    metadata,
    _text("tenant"),
    _text("message_id"),
    _text("kind"),
    _text("payload"),
    _text("state"),
    Column("attempts", Integer, nullable=False),
    _time("at"),
    _time("next_at"),
    _text("error"),
    PrimaryKeyConstraint("message_id"),
    Index("ix_outbox_due", "next_at", sqlite_where=_WAITING, postgresql_where=_WAITING),
)

_RULES = text("kind IN ('policy.loaded', 'setting.loosened')")

audit = Table(
    "audit",
    metadata,
    _text("chain"),
    Column("seq", BigInteger, nullable=False),
    _text("prev_hash"),
    _text("hash"),
    _text("tenant"),
    _time("at"),
    _text("kind"),
    _text("actor"),
    _text("subject"),
    _text("run_id", optional=True),
    _text("data"),
    PrimaryKeyConstraint("chain", "seq"),
    Index(None, "tenant", "run_id"),
    # What every start asks for; calls, nearly all rows, stay out of it.
    Index("ix_audit_rules", "tenant", "kind", "seq", sqlite_where=_RULES, postgresql_where=_RULES),
)

audit_checkpoints = Table(
    "audit_checkpoints",
    metadata,
    _text("chain"),
    Column("seq", BigInteger, nullable=False),
    _text("hash"),
    _time("at"),
    _text("key_id"),
    _text("signature"),
    PrimaryKeyConstraint("chain", "seq"),
)

tool_definitions = Table(
    "tool_definitions",
    metadata,
    _text("definition_hash"),
    _text("name"),
    _text("source"),
    _text("definition"),
    _time("first_seen"),
    PrimaryKeyConstraint("definition_hash"),
)

tools = Table(
    "tools",
    metadata,
    _text("name"),
    _text("definition_hash"),
    Column("enabled", Integer, nullable=False),
    _time("since"),
    PrimaryKeyConstraint("name"),
    ForeignKeyConstraint(["definition_hash"], ["tool_definitions.definition_hash"]),
)
