"""Kill, full disk, a lock that another process holds: what was acknowledged stays, what was refused leaves nothing."""

import subprocess
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import IO, Any

import pytest

from daeri.boundary import CallRecord, JournalEntry
from daeri.errors import StoreError
from daeri.store import SqliteStore

Worker = Callable[..., subprocess.Popen[str]]
Rows = Callable[..., Sequence[tuple[Any, ...]]]


def lines(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 20_000] = b"\xaa" * 20_000
    path.write_bytes(content)


def move(path: Path, target: Path) -> bool:
    """Whether nothing is left at the old place."""
    path.rename(target)
    return not path.exists()


def exists(path: Path) -> bool:
    return path.exists()


def test_after_a_kill_every_acknowledged_unit_is_there_and_whole(
    worker: Worker, rows: Rows, audit_is_whole: Callable[[], int]
) -> None:
    acknowledged: dict[str, int] = {}
    for kill, acks in enumerate((1, 37, 150, 400, 90)):
        process = worker("write_for_ever", f"p{kill}")
        output = lines(process.stdout)
        said = [output.readline() for _ in range(acks)]
        process.kill()
        said += [line for line in output if line.endswith("\n")]
        acknowledged |= {call_id: int(seq) for call_id, seq in (line.split() for line in said)}

        stored = dict(rows("SELECT json_extract(data, '$.call_id'), seq FROM events WHERE type = 'call.succeeded'"))
        assert acknowledged.items() <= stored.items()
        assert sorted(seq for (seq,) in rows("SELECT seq FROM events")) == list(range(1, len(stored) + 2))
        # A unit is whole: its call, its result, its event and its audit event.
        assert rows("SELECT count(*) FROM calls WHERE state = 'succeeded'") == [(len(stored),)]
        assert rows("SELECT count(*) FROM payloads") == [(len(stored),)]
        assert audit_is_whole() == len(stored)
    assert len(acknowledged) >= 678


def test_two_processes_that_start_on_a_new_file_share_one_journal(
    worker: Worker, rows: Rows, audit_is_whole: Callable[[], int]
) -> None:
    both = [worker("write_some", name, "200") for name in ("a", "b")]
    assert [lines(process.stdout).readline() for process in both] == ["ready\n", "ready\n"]
    for process in both:
        lines(process.stdin).write("go\n")
        lines(process.stdin).flush()

    numbers = [[int(line) for line in lines(process.stdout)] for process in both]

    assert [process.wait() for process in both] == [0, 0]
    assert sorted(numbers[0] + numbers[1]) == list(range(2, 402))
    assert rows("SELECT count(*), max(seq) FROM events") == [(401, 401)]
    assert audit_is_whole() == 400


def test_a_full_disk_is_an_error_that_keeps_nothing_and_passes(worker: Worker, rows: Rows) -> None:
    process = worker("fill_the_disk")

    said = list(lines(process.stdout))

    assert process.wait() == 0
    assert said[0].startswith("refused ")
    assert said[1:] == ["kept (2,)\n"]
    assert rows("SELECT seq FROM events ORDER BY seq") == [(1,), (2,)]


async def test_a_lock_held_too_long_is_an_error_that_keeps_nothing_and_passes(
    path: Path,
    worker: Worker,
    new_run: Callable[..., Any],
    entry: Callable[..., JournalEntry],
    call: Callable[..., CallRecord],
) -> None:
    async with await SqliteStore.open(path, busy_timeout_s=0.05) as store:
        await store.create_run(new_run("r1"), entry("r1"))
        holder = worker("hold_the_lock")
        assert lines(holder.stdout).readline() == "held\n"

        with pytest.raises(StoreError, match="database is locked"):
            await store.commit([call("c1"), entry("r1")])
        assert await store.check() == ["database is locked"]
        assert len(await store.events("acme", "r1")) == 1

        holder.communicate("done\n")
        assert await store.commit([call("c1"), entry("r1")]) == (2,)
        assert await store.check() == []


async def test_a_file_that_is_gone_is_not_made_anew(
    path: Path,
    new_run: Callable[..., Any],
    entry: Callable[..., JournalEntry],
    held: Callable[[], AbstractContextManager[None]],
) -> None:
    async with await SqliteStore.open(path, busy_timeout_s=0.05) as store:
        await store.create_run(new_run("r1"), entry("r1"))
        with held(), pytest.raises(StoreError, match="database is locked"):
            await store.append([entry("r1")])
        elsewhere = path.with_name("elsewhere.db")
        assert move(path, elsewhere)

        with pytest.raises(StoreError, match="unable to open"):
            await store.append([entry("r1")])

        assert not exists(path)
        assert move(elsewhere, path)
        assert await store.append([entry("r1")]) == (2,)


async def test_a_damaged_file_is_reported_by_the_check(
    path: Path, new_run: Callable[..., Any], entry: Callable[..., JournalEntry]
) -> None:
    async with await SqliteStore.open(path) as store:
        await store.create_run(new_run("r1"), entry("r1"))
        await store.append([entry("r1", text="x" * 500) for _ in range(200)])
        assert await store.check() == []
    damage(path)

    async with await SqliteStore.open(path) as store:
        assert await store.check() != []
