"""Runs and their journals, calls, approvals, the audit record, the tool catalogue.

Forward only, like every migration here: what is on the record is not taken back.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create every table."""
    _create_runs()
    _create_calls()
    _create_approvals()
    _create_audit()
    _create_catalogue()


def _create_runs() -> None:
    op.create_table(
        "runs",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("agent", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("goal", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("tenant", "run_id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_tenant_created_at_run_id"), "runs", ["tenant", "created_at", "run_id"])
    op.create_table(
        "events",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("data", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["tenant", "run_id"], ["runs.tenant", "runs.run_id"], name=op.f("fk_events_runs")),
        sa.PrimaryKeyConstraint("tenant", "run_id", "seq", name=op.f("pk_events")),
    )


def _create_calls() -> None:
    open_calls = sa.text("state IN ('requested', 'waiting', 'started', 'unknown')")
    op.create_table(
        "payloads",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "digest", name=op.f("pk_payloads")),
    )
    op.create_table(
        "calls",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("agent", sa.Text(), nullable=True),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("definition_hash", sa.Text(), nullable=True),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("arguments_digest", sa.Text(), nullable=False),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("decision", sa.Text(), nullable=True),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("approval_id", sa.Text(), nullable=True),
        sa.Column("result_digest", sa.Text(), nullable=True),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("sources", sa.Text(), nullable=False),
        sa.Column("elapsed_ms", sa.Double, nullable=True),
        sa.Column("requested_at", sa.BigInteger(), nullable=False),
        sa.Column("started_at", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant", "result_digest"], ["payloads.tenant", "payloads.digest"], name=op.f("fk_calls_payloads")
        ),
        sa.PrimaryKeyConstraint("tenant", "call_id", name=op.f("pk_calls")),
    )
    op.create_index("ix_calls_open", "calls", ["tenant", "state"], sqlite_where=open_calls, postgresql_where=open_calls)
    op.create_index(op.f("ix_calls_tenant_run_id"), "calls", ["tenant", "run_id"])


def _create_approvals() -> None:
    op.create_table(
        "approvals",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("call_id", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("agent", sa.Text(), nullable=True),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("definition_hash", sa.Text(), nullable=False),
        sa.Column("arguments", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("principal", sa.Text(), nullable=False),
        sa.Column("approvals_needed", sa.Integer(), nullable=False),
        sa.Column("risk", sa.Text(), nullable=False),
        sa.Column("rules", sa.Text(), nullable=False),
        sa.Column("reasons", sa.Text(), nullable=False),
        sa.Column("consequences", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "call_id"], ["calls.tenant", "calls.call_id"], name=op.f("fk_approvals_calls")
        ),
        sa.PrimaryKeyConstraint("tenant", "approval_id", name=op.f("pk_approvals")),
    )
    op.create_index(op.f("ix_approvals_tenant_run_id"), "approvals", ["tenant", "run_id"])
    op.create_index(op.f("ix_approvals_tenant_state"), "approvals", ["tenant", "state"])


def _create_audit() -> None:
    op.create_table(
        "audit",
        sa.Column("chain", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("prev_hash", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("data", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("chain", "seq", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_tenant_run_id"), "audit", ["tenant", "run_id"])


def _create_catalogue() -> None:
    op.create_table(
        "tool_definitions",
        sa.Column("definition_hash", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("definition", sa.Text(), nullable=False),
        sa.Column("first_seen", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("definition_hash", name=op.f("pk_tool_definitions")),
    )
