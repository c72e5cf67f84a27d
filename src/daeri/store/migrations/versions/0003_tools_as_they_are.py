"""Tools as they were offered last, so that a change of one is noticed.

A file that already knows definitions takes the newest of each name for the last one that was offered.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_LAST_OFFERED = """
INSERT INTO tools (name, definition_hash, enabled, since)
SELECT name, definition_hash, 1, first_seen FROM (
    SELECT name, definition_hash, first_seen, row_number() OVER (
        PARTITION BY name ORDER BY first_seen DESC, definition_hash
    ) AS place FROM tool_definitions
) AS known WHERE place = 1
"""


_RULES = sa.text("kind IN ('policy.loaded', 'setting.loosened')")


def upgrade() -> None:
    """Add the table and fill it, and an index on what every start asks the audit record for."""
    op.create_index("ix_audit_rules", "audit", ["tenant", "kind", "seq"], sqlite_where=_RULES, postgresql_where=_RULES)
    op.create_table(
        "tools",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("definition_hash", sa.Text, nullable=False),
        sa.Column("enabled", sa.Integer, nullable=False),
        sa.Column("since", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_tools"),
        sa.ForeignKeyConstraint(
            ["definition_hash"], ["tool_definitions.definition_hash"], name="fk_tools_tool_definitions"
        ),
    )
    op.execute(_LAST_OFFERED)
