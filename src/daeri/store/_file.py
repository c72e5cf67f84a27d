"""The database file: made private, opened the same way everywhere, brought to the revision that this release needs."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from daeri.errors import StoreError

HEAD = "0004"
"""The newest revision; `migrations/versions` ends with it."""

_RETRY_S = 0.01


def connect(path: Path, busy_timeout_s: float) -> sqlite3.Connection:
    """A connection in autocommit mode, for one thread at a time. The file has to be there."""
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw",
        uri=True,
        timeout=busy_timeout_s,
        isolation_level=None,
        check_same_thread=False,
    )
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def prepare(file: Path, busy_timeout_s: float) -> Path:
    """Create the file if it is missing, and migrate it if it is of an older revision; gives its absolute path.

    Raises:
        StoreError: the file can't be created or read, is not ours, or is of a newer release.
    """
    path = file.absolute()
    try:
        _create(path)
        connection = connect(path, busy_timeout_s)
        try:
            _use_wal(connection, busy_timeout_s)
            found = _revision(connection)
        finally:
            connection.close()
    except (OSError, sqlite3.Error) as problem:
        raise StoreError(f"open {str(path)!r}", str(problem), reading=True) from problem
    if found != HEAD:
        # SQLAlchemy and Alembic take longer to import than everything else here; few starts need them.
        from ._migrate import migrate

        migrate(path, busy_timeout_s)
    return path


def _create(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # SQLite gives the files beside the database the same rights as the database has.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))


def _use_wal(connection: sqlite3.Connection, busy_timeout_s: float) -> None:
    """Switch to a write-ahead log. SQLite doesn't wait for another process that switches at the same moment."""
    deadline = time.monotonic() + busy_timeout_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_S)
        else:
            return


def _revision(connection: sqlite3.Connection) -> str | None:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "alembic_version" in tables:
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return row[0] if row else None
    if tables:
        raise sqlite3.DatabaseError("the file holds tables of something else; choose another path")
    return None
