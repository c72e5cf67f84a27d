from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest

from daeri.boundary import JournalEntry
from daeri.engine import JournalEvent, RunRow
from daeri.errors import ConflictError, NotFoundError
from daeri.store import SqliteStore

NewRun = Callable[..., RunRow]
Entry = Callable[..., JournalEntry]


async def test_a_run_begins_with_its_first_event(store: SqliteStore, new_run: NewRun, entry: Entry) -> None:
    run, first = new_run("r1"), entry("r1", type="run.started", goal="보고서")

    await store.create_run(run, first)

    assert await store.run("acme", "r1") == run
    assert await store.events("acme", "r1") == [
        JournalEvent(seq=1, type="run.started", at=first.at, data={"goal": "보고서"}, version=1)
    ]


async def test_a_run_id_that_exists_is_a_conflict(
    store: SqliteStore, run_id: str, new_run: NewRun, entry: Entry
) -> None:
    with pytest.raises(ConflictError, match="run 'r1' is no longer new"):
        await store.create_run(new_run(run_id, goal="another"), entry(run_id))

    assert len(await store.events("acme", run_id)) == 1


async def test_events_and_the_new_state_are_written_together(store: SqliteStore, run_id: str, entry: Entry) -> None:
    ended = entry(run_id, type="run.ended", at=entry().at + timedelta(seconds=9))

    assert await store.append([entry(run_id), entry(run_id)], state="waiting_approval") == (2, 3)
    waiting = await store.run("acme", run_id)
    assert await store.append([ended], state="succeeded") == (4,)
    over = await store.run("acme", run_id)

    assert (waiting.state, waiting.ended_at) == ("waiting_approval", None)
    assert (over.state, over.ended_at) == ("succeeded", ended.at)


async def test_appending_nothing_changes_nothing(store: SqliteStore, run_id: str) -> None:
    before = store.transactions

    assert await store.append([], state="failed") == ()

    assert store.transactions == before


async def test_the_journal_is_read_from_any_number(store: SqliteStore, run_id: str, entry: Entry) -> None:
    await store.append([entry(run_id, n=n) for n in range(100)])

    assert [event.seq for event in await store.events("acme", run_id, after=97)] == [98, 99, 100, 101]
    assert await store.events("acme", run_id, after=101) == []


async def test_events_of_another_release_are_given_as_they_are(
    store: SqliteStore, run_id: str, entry: Entry, rows: Callable[..., Sequence[tuple[Any, ...]]]
) -> None:
    at = entry().at
    rows(
        "INSERT INTO events (tenant, run_id, seq, version, type, at, data)"
        " SELECT tenant, run_id, 2, 7, 'thought.transferred', at, '{\"to\":[1]}' FROM events"
    )

    assert await store.events("acme", run_id, after=1) == [
        JournalEvent(seq=2, type="thought.transferred", at=at, data={"to": [1]}, version=7)
    ]
    assert await store.append([entry(run_id)]) == (3,)


async def test_a_run_is_found_by_the_beginning_of_its_id(store: SqliteStore, new_run: NewRun, entry: Entry) -> None:
    for run_id in ("abc", "abcdef", "abd", "x%_'"):
        await store.create_run(new_run(run_id), entry(run_id))

    assert [(await store.run("acme", given)).run_id for given in ("abc", "abcd", "abd", "x%")] == [
        "abc",
        "abcdef",
        "abd",
        "x%_'",
    ]
    with pytest.raises(NotFoundError, match="Several ids begin so"):
        await store.run("acme", "ab")
    for missing in ("abce", "%", "", "\ud800"):
        with pytest.raises(NotFoundError, match="no run"):
            await store.run("acme", missing)


async def test_runs_are_paged_newest_first_even_when_they_began_at_once(
    store: SqliteStore, new_run: NewRun, entry: Entry
) -> None:
    start = entry().at
    for number in range(10):
        run = new_run(
            f"r{number}", at=start + timedelta(seconds=number // 3), state="failed" if number % 2 else "running"
        )
        await store.create_run(run, entry(run.run_id))

    pages: list[list[str]] = [[]]
    while page := await store.runs("acme", limit=4, before=pages[-1][-1] if pages[-1] else None):
        pages.append([run.run_id for run in page])

    assert pages[1:] == [["r9", "r8", "r7", "r6"], ["r5", "r4", "r3", "r2"], ["r1", "r0"]]
    assert [run.run_id for run in await store.runs("acme", limit=2, state="failed", before="r7")] == ["r5", "r3"]
    with pytest.raises(NotFoundError, match="no run 'r77'"):
        await store.runs("acme", before="r77")


async def test_numbers_follow_what_is_stored_whatever_another_process_did(
    store: SqliteStore, run_id: str, entry: Entry, rows: Callable[..., Sequence[tuple[Any, ...]]]
) -> None:
    assert await store.append([entry(run_id), entry(run_id)]) == (2, 3)
    rows("DELETE FROM events WHERE seq > 1")

    assert await store.append([entry(run_id)]) == (2,)
