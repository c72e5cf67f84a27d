"""The person at the start of the chain, for every call: keys and ids are theirs, not those of the agent between.

Of a call that an agent made outside runs nobody can say any more for whom: its person stays empty.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_KEYED = sa.text("idempotency_key IS NOT NULL")
_PEOPLE = """
UPDATE calls SET person = CASE WHEN subject LIKE 'agent:%' THEN coalesce(
    (SELECT runs.subject FROM runs WHERE runs.tenant = calls.tenant AND runs.run_id = calls.run_id), ''
) ELSE subject END
"""


def upgrade() -> None:
    """Add the column, fill it, and let the index of the keys tell people apart."""
    op.add_column("calls", sa.Column("person", sa.Text, nullable=False, server_default=""))
    op.execute(_PEOPLE)
    op.drop_index("ix_calls_idempotency_key", "calls")
    op.create_index(
        "ix_calls_idempotency_key",
        "calls",
        ["tenant", "person", "subject", "idempotency_key"],
        unique=True,
        sqlite_where=_KEYED,
        postgresql_where=_KEYED,
    )
