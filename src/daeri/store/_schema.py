"""The tables, for the DDL of both dialects. Only migrations and their tests import this: it loads SQLAlchemy.

Times are integers: microseconds since 1970-01-01 UTC. JSON is text, so that what was hashed is what is stored. Every
table but the catalogue starts with the tenant.
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

calls = Table(
    "calls",
    metadata,
    _text("tenant"),
    _text("call_id"),
    _text("run_id", optional=True),
    _text("agent", optional=True),
    _text("subject"),
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
)

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
    PrimaryKeyConstraint("tenant", "approval_id"),
    ForeignKeyConstraint(["tenant", "call_id"], ["calls.tenant", "calls.call_id"]),
    Index(None, "tenant", "run_id"),
    Index(None, "tenant", "state"),
)

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
