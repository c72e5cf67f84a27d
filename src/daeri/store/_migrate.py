"""Bringing a database to the newest revision. Loads SQLAlchemy and Alembic: import it only when there is work."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, Engine, NullPool, create_engine, event
from sqlalchemy.exc import DBAPIError

from daeri.errors import StoreError

from ._file import HEAD, connect


def configuration() -> Config:
    """Alembic's settings, without a file."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config


def migrate(path: Path, busy_timeout_s: float) -> None:
    """Apply every missing migration in one transaction; processes that start together wait for each other.

    Raises:
        StoreError: a migration failed, or the database is of a newer release.
    """
    config = configuration()
    engine = _engine(path, busy_timeout_s)
    try:
        with engine.begin() as connection:
            _refuse_newer(connection, config, path)
            config.attributes["connection"] = connection
            command.upgrade(config, HEAD)
    except (DBAPIError, CommandError, sqlite3.Error) as problem:
        raise StoreError(f"migrate {str(path)!r}", str(problem)) from problem
    finally:
        engine.dispose()


def _engine(path: Path, busy_timeout_s: float) -> Engine:
    engine = create_engine("sqlite://", creator=lambda: connect(path, busy_timeout_s), poolclass=NullPool)

    @event.listens_for(engine, "begin")
    def _lock(connection: Connection) -> None:
        # The driver is in autocommit mode, so that DDL is part of the transaction and the lock is held from the start.
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def _refuse_newer(connection: Connection, config: Config, path: Path) -> None:
    if not connection.dialect.has_table(connection, "alembic_version"):
        return
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    for (stored,) in connection.exec_driver_sql("SELECT version_num FROM alembic_version"):
        if stored not in known:
            raise StoreError(
                f"open {str(path)!r}",
                f"revision {stored!r} was written by a newer release; upgrade daeri",
                reading=True,
            )
