"""How units share transactions, and what a unit that fails does to the others."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from daeri.boundary import AuditEvent, CallChange, CallRecord, JournalEntry
from daeri.errors import ConflictError, StoreError
from daeri.store import SqliteStore

Held = Callable[[], AbstractContextManager[None]]
Call = Callable[..., CallRecord]
Entry = Callable[..., JournalEntry]
Fact = Callable[..., AuditEvent]


async def handed_over() -> None:
    """Let every task that was just made hand its unit to the writer."""
    await asyncio.sleep(0)


async def test_units_that_wait_for_the_disk_together_share_a_transaction(
    store: SqliteStore, run_id: str, held: Held, entry: Entry, audit_is_whole: Callable[[], int], fact: Fact
) -> None:
    before = store.transactions
    with held():
        commits = [asyncio.create_task(store.commit([entry(run_id, n=n), fact()])) for n in range(200)]
        await handed_over()

    numbers = [number for (number,) in await asyncio.gather(*commits)]

    assert numbers == list(range(2, 202))
    assert store.transactions - before <= 3
    assert audit_is_whole() == 200


async def test_one_caller_alone_gets_a_transaction_of_its_own(store: SqliteStore, run_id: str, entry: Entry) -> None:
    before = store.transactions

    for _ in range(3):
        await store.append([entry(run_id)])

    assert store.transactions - before == 3


async def test_a_unit_in_conflict_is_undone_alone(
    store: SqliteStore, run_id: str, held: Held, call: Call, entry: Entry, fact: Fact, audit_is_whole: Callable[[], int]
) -> None:
    with held():
        commits = [
            asyncio.create_task(store.commit([entry(run_id, n=n), fact(), call(f"c{n // 2}", run_id=run_id)]))
            for n in range(60)
        ]
        await handed_over()

    outcomes = await asyncio.gather(*commits, return_exceptions=True)

    assert [isinstance(outcome, ConflictError) for outcome in outcomes] == [bool(n % 2) for n in range(60)]
    assert [outcome for outcome in outcomes if not isinstance(outcome, BaseException)] == [(n,) for n in range(2, 32)]
    events = await store.events("acme", run_id, after=1)
    assert [(event.seq, event.data) for event in events] == [(n + 2, {"n": 2 * n}) for n in range(30)]
    assert len(await store.calls_of("acme", run_id)) == 30
    assert audit_is_whole() == 30


async def test_two_steps_of_one_call_in_one_transaction_are_taken_in_order(
    store: SqliteStore, held: Held, call: Call, change: Callable[..., CallChange]
) -> None:
    await store.commit([call("c1", "requested")])
    with held():
        commits = [
            asyncio.create_task(store.commit([change("c1", "requested", "started")])),
            asyncio.create_task(store.commit([change("c1", "started", "succeeded", result=1, has_result=True)])),
            asyncio.create_task(store.commit([change("c1", "started", "failed")])),
        ]
        await handed_over()

    outcomes = await asyncio.gather(*commits, return_exceptions=True)

    assert outcomes[:2] == [(), ()]
    assert isinstance(outcomes[2], ConflictError)
    assert await store.result_of("acme", "c1") == 1


async def test_a_value_that_can_not_be_stored_does_not_touch_the_others_of_its_transaction(
    store: SqliteStore, run_id: str, held: Held, entry: Entry, call: Call, change: Callable[..., CallChange]
) -> None:
    impossible = [
        entry("nowhere"),
        change(result=float("inf"), has_result=True),
        change(elapsed_ms=10**400),
        change(elapsed_ms=Decimal(1)),
        change(state="\ud800"),
    ]
    await store.commit([call()])
    with held():
        commits = [
            asyncio.create_task(store.commit(unit))
            for unit in ([entry(run_id)], *([record] for record in impossible), [entry(run_id)])
        ]
        await handed_over()

    first, *refused, last = await asyncio.gather(*commits, return_exceptions=True)

    assert (first, last) == ((2,), (3,))
    assert [type(outcome) for outcome in refused] == [StoreError] * len(impossible)


async def test_what_was_handed_over_is_written_though_its_caller_is_cancelled(
    store: SqliteStore, run_id: str, held: Held, entry: Entry, call: Call
) -> None:
    with held():
        commit = asyncio.create_task(store.commit([call("c1", run_id=run_id), entry(run_id, n=1)]))
        await handed_over()
        commit.cancel()
        with pytest.raises(asyncio.CancelledError):
            await commit

    assert await store.append([entry(run_id, n=2)]) == (3,)
    assert [event.data for event in await store.events("acme", run_id, after=1)] == [{"n": 1}, {"n": 2}]
    assert [stored.record.call_id for stored in await store.calls_of("acme", run_id)] == ["c1"]


async def test_closing_writes_what_was_handed_over_and_refuses_the_rest(
    path: Path, held: Held, new_run: Callable[..., Any], entry: Entry, rows: Callable[..., Sequence[tuple[Any, ...]]]
) -> None:
    store = await SqliteStore.open(path)
    await store.create_run(new_run("r1"), entry("r1"))
    with held():
        commits = [asyncio.create_task(store.append([entry("r1")])) for _ in range(600)]
        await handed_over()
        closing = asyncio.create_task(store.aclose())
        await handed_over()
        with pytest.raises(StoreError, match="the store is closed"):
            await store.append([entry("r1")])
    await closing

    assert [await commit for commit in commits] == [(n,) for n in range(2, 602)]
    assert rows("SELECT max(seq), count(*) FROM events") == [(601, 601)]
    with pytest.raises(StoreError):
        await store.events("acme", "r1")
    await store.aclose()


async def test_callers_beyond_the_bound_wait_and_are_served(
    store: SqliteStore, run_id: str, held: Held, entry: Entry
) -> None:
    with held():
        commits = [asyncio.create_task(store.append([entry(run_id)])) for _ in range(5000)]
        await handed_over()
        commits[-1].cancel()  # still waits for room, so it has handed over nothing

    outcomes = await asyncio.gather(*commits, return_exceptions=True)

    assert sorted(outcome for outcome in outcomes if isinstance(outcome, tuple)) == [(n,) for n in range(2, 5001)]
    assert isinstance(outcomes[-1], asyncio.CancelledError)


def test_callers_on_two_event_loops_share_a_store(path: Path, new_run: Callable[..., Any], entry: Entry) -> None:
    async def append(store: SqliteStore) -> list[int]:
        return [number for _ in range(50) for number in await store.append([entry("r1")])]

    async def both() -> list[int]:
        async with await SqliteStore.open(path) as store:
            await store.create_run(new_run("r1"), entry("r1"))
            elsewhere = asyncio.to_thread(asyncio.run, append(store))
            here, there = await asyncio.gather(append(store), elsewhere)
            return sorted(here + there)

    assert asyncio.run(both()) == list(range(2, 102))
