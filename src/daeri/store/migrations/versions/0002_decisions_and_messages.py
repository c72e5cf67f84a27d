"""Decisions of approval requests, messages to other systems, idempotency keys that hold, signed audit checkpoints.

The first release kept idempotency keys without looking at them and made a request for every ask. Where the new rules
allow one, the oldest call keeps its key and the newest request goes on waiting.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_REPEATED_KEYS = """
UPDATE calls SET idempotency_key = NULL WHERE (tenant, call_id) IN (
    SELECT tenant, call_id FROM (
        SELECT tenant, call_id, row_number() OVER (
            PARTITION BY tenant, subject, idempotency_key ORDER BY requested_at, call_id
        ) AS place FROM calls WHERE idempotency_key IS NOT NULL
    ) AS keyed WHERE place > 1
)
"""
_REPEATED_REQUESTS = """
UPDATE approvals SET state = 'void', detail = 'an identical request is waiting', version = 1, closed_at = created_at
WHERE (tenant, approval_id) IN (
    SELECT tenant, approval_id FROM (
        SELECT tenant, approval_id, row_number() OVER (
            PARTITION BY tenant, digest ORDER BY created_at DESC, approval_id DESC
        ) AS place FROM approvals WHERE state = 'pending' AND run_id IS NULL
    ) AS pending WHERE place > 1
)
"""
_THEIR_CALLS = """
UPDATE calls SET state = 'denied', ended_at = requested_at,
    failure = '{"kind":"approval_void","diagnostic":"an identical request is waiting"}'
WHERE state = 'waiting' AND (tenant, call_id) IN (SELECT tenant, call_id FROM approvals WHERE state = 'void')
"""


def upgrade() -> None:
    """Add what is new, after making room for it."""
    _keep_keys()
    _extend_approvals()
    _create_votes()
    _create_outbox()
    _create_checkpoints()


def _keep_keys() -> None:
    keyed = sa.text("idempotency_key IS NOT NULL")
    op.execute(_REPEATED_KEYS)
    op.create_index(
        "ix_calls_idempotency_key",
        "calls",
        ["tenant", "subject", "idempotency_key"],
        unique=True,
        sqlite_where=keyed,
        postgresql_where=keyed,
    )


def _extend_approvals() -> None:
    undecided, ending = sa.text("state = 'pending' AND run_id IS NULL"), sa.text("state IN ('pending', 'approved')")
    op.add_column("approvals", sa.Column("version", sa.Integer(), nullable=False, server_default="0"))
    op.add_column("approvals", sa.Column("detail", sa.Text(), nullable=False, server_default=""))
    op.add_column("approvals", sa.Column("closed_at", sa.BigInteger(), nullable=True))
    op.execute(_REPEATED_REQUESTS)
    op.execute(_THEIR_CALLS)
    op.create_index(
        op.f("ix_approvals_tenant_created_at_approval_id"), "approvals", ["tenant", "created_at", "approval_id"]
    )
    op.create_index(
        "ix_approvals_pending_digest",
        "approvals",
        ["tenant", "digest"],
        unique=True,
        sqlite_where=undecided,
        postgresql_where=undecided,
    )
    op.create_index("ix_approvals_ending", "approvals", ["expires_at"], sqlite_where=ending, postgresql_where=ending)


def _create_votes() -> None:
    op.create_table(
        "approval_votes",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("approver", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant", "approval_id"],
            ["approvals.tenant", "approvals.approval_id"],
            name=op.f("fk_approval_votes_approvals"),
        ),
        sa.PrimaryKeyConstraint("tenant", "approval_id", "approver", name=op.f("pk_approval_votes")),
    )


def _create_outbox() -> None:
    waiting = sa.text("state = 'pending'")
    op.create_table(
        "outbox",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("message_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("next_at", sa.BigInteger(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("message_id", name=op.f("pk_outbox")),
    )
    op.create_index("ix_outbox_due", "outbox", ["next_at"], sqlite_where=waiting, postgresql_where=waiting)


def _create_checkpoints() -> None:
    op.create_table(
        "audit_checkpoints",
        sa.Column("chain", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.Text(), nullable=False),
        sa.Column("signature", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("chain", "seq", name=op.f("pk_audit_checkpoints")),
    )
