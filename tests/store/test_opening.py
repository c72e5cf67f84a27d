"""The file and its revision."""

import asyncio
import sqlite3
import subprocess
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from stat import S_IMODE
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from sqlalchemy.dialects import postgresql
from sqlalchemy.schema import CreateIndex, CreateTable

from daeri.errors import StoreError
from daeri.store import SqliteStore
from daeri.store._file import HEAD
from daeri.store._migrate import configuration
from daeri.store._schema import metadata

Worker = Callable[..., subprocess.Popen[str]]
Rows = Callable[..., Sequence[tuple[Any, ...]]]


def made(path: Path, text: str = "") -> Path:
    path.parent.mkdir(exist_ok=True)
    if text:
        path.write_text(text, encoding="utf-8")
    return path


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def modes(folder: Path) -> dict[str, int]:
    return {file.name: S_IMODE(file.stat().st_mode) for file in (folder, *folder.iterdir())}


def said_by(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate()
    assert process.returncode == 0
    return output.strip()


async def test_only_the_owner_may_read_what_is_stored(path: Path) -> None:
    async with await SqliteStore.open(path) as store:
        await store.check()

        assert modes(path.parent) == {
            "home": 0o700,
            "daeri.db": 0o600,
            "daeri.db-wal": 0o600,
            "daeri.db-shm": 0o600,
        }


async def test_a_path_may_hold_any_character(tmp_path: Path) -> None:
    odd = tmp_path / "50% ?#값&'" / "daeri db?.db"

    async with await SqliteStore.open(str(odd)) as store:
        assert await store.check() == []

    assert modes(odd.parent)["daeri db?.db"] == 0o600


async def test_the_file_is_written_ahead_and_synchronously(path: Path, rows: Rows) -> None:
    async with await SqliteStore.open(path):
        assert rows("PRAGMA journal_mode") == [("wal",)]


async def test_a_fresh_store_is_empty_and_sound(store: SqliteStore) -> None:
    tables = [table.name for table in metadata.sorted_tables]

    assert await store.counts() == dict.fromkeys(tables, 0)
    assert await store.check() == []
    assert await store.counts() == dict.fromkeys(tables, 0)


def test_only_a_file_that_needs_migrating_loads_the_migration_packages(worker: Worker) -> None:
    assert said_by(worker("open_and_name_imports")) == "alembic sqlalchemy"
    assert said_by(worker("open_and_name_imports")) == ""


def test_migrations_give_the_tables_of_the_schema(path: Path, worker: Worker) -> None:
    said_by(worker("open_and_name_imports"))
    engine = create_engine(f"sqlite:///{path}")

    with engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
    engine.dispose()

    assert differences == []


def test_the_newest_revision_is_the_one_that_the_store_looks_for() -> None:
    assert ScriptDirectory.from_config(configuration()).get_heads() == [HEAD]


def test_the_tables_can_be_made_on_postgresql() -> None:
    dialect = postgresql.dialect()

    statements = [str(CreateTable(table).compile(dialect=dialect)) for table in metadata.sorted_tables]
    statements += [str(CreateIndex(i).compile(dialect=dialect)) for t in metadata.sorted_tables for i in t.indexes]

    assert len(statements) == 23
    assert all(statement.strip().startswith("CREATE") for statement in statements)
    assert any("elapsed_ms DOUBLE PRECISION" in statement for statement in statements)
    assert any("WHERE state IN ('requested'" in statement for statement in statements)


def test_the_migrations_can_be_printed_for_postgresql() -> None:
    printed = StringIO()
    config = configuration()
    config.output_buffer = printed
    config.set_main_option("dialect_name", "postgresql")

    command.upgrade(config, HEAD, sql=True)

    for table in metadata.sorted_tables:
        assert f"CREATE TABLE {table.name} (" in printed.getvalue()


async def test_a_database_of_a_newer_release_is_refused(path: Path, rows: Rows) -> None:
    async with await SqliteStore.open(path):
        pass
    rows("UPDATE alembic_version SET version_num = '9999'")

    with pytest.raises(StoreError, match="revision '9999' was written by a newer release; upgrade daeri"):
        await SqliteStore.open(path)


async def test_a_database_of_something_else_is_refused_and_left_alone(path: Path, rows: Rows) -> None:
    made(path)
    rows("CREATE TABLE recipes (name TEXT)")

    with pytest.raises(StoreError, match="tables of something else"):
        await SqliteStore.open(path)

    assert rows("SELECT name FROM sqlite_master") == [("recipes",)]


async def test_what_is_no_database_is_refused_and_left_alone(path: Path) -> None:
    made(path, "not a database " * 100)

    with pytest.raises(StoreError, match="file is not a database"):
        await SqliteStore.open(path)

    assert text_of(path) == "not a database " * 100


async def test_a_place_where_no_file_can_be_made_is_an_error(tmp_path: Path) -> None:
    made(tmp_path / "file", "in the way")

    with pytest.raises(StoreError, match="could not open"):
        await SqliteStore.open(tmp_path / "file" / "daeri.db")


async def test_a_migration_that_can_not_get_the_lock_is_an_error_and_leaves_nothing(path: Path, rows: Rows) -> None:
    made(path)
    rows("PRAGMA journal_mode = WAL")
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")

    with pytest.raises(StoreError, match="database is locked"):
        await SqliteStore.open(path, busy_timeout_s=0.05)

    holder.execute("ROLLBACK")
    holder.close()
    assert rows("SELECT name FROM sqlite_master") == []


async def test_opening_waits_for_another_process_that_is_just_making_the_file(path: Path) -> None:
    maker = sqlite3.connect(made(path), isolation_level=None)
    maker.execute("BEGIN IMMEDIATE")
    # SQLite refuses at once to switch the journal of a file that is being written.
    asyncio.get_running_loop().call_later(0.2, maker.execute, "ROLLBACK")

    async with await SqliteStore.open(path) as store:
        assert await store.check() == []

    maker.close()
