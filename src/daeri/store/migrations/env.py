"""Alembic's entry point: runs migrations on the connection that `store._migrate` hands over, or prints them as SQL."""

from alembic import context

from daeri.store._schema import metadata

if context.is_offline_mode():
    context.configure(dialect_name=context.config.get_main_option("dialect_name"), target_metadata=metadata)
else:
    context.configure(connection=context.config.attributes["connection"], target_metadata=metadata)

with context.begin_transaction():
    context.run_migrations()
