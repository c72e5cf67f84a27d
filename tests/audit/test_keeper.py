"""The record is signed while Daeri works and when it closes."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import pytest

from daeri.boundary import AUDIT_KINDS, ApprovalState, AuditEvent, CallState
from daeri.runtime import KEYS
from daeri.store import SqliteStore

if TYPE_CHECKING:
    from tests.audit.conftest import Home

NewEvent = Callable[..., AuditEvent]
NEVER = 3600.0


def put_in_the_way(path: Path) -> None:
    path.write_text("in the way", "utf-8")


def is_there(path: Path) -> bool:
    return path.exists()


async def last_signed(store: SqliteStore) -> int:
    last = await store.last_checkpoint()
    return last.seq if last else 0


async def until_signed(store: SqliteStore, seq: int) -> None:
    """Ask again and again whether everything up to a row is signed."""
    async with asyncio.timeout(30):
        signed = 0
        while signed < seq:
            signed = await last_signed(store)


async def test_closing_signs_what_was_written(home: "Home", new_event: NewEvent) -> None:
    async with await home.open() as store:
        async with home.keeper(store).keeping():
            await store.commit([new_event(1), new_event(2)])
            assert await last_signed(store) == 0
        assert await last_signed(store) == 3

    report = await home.verify()
    assert (report.rows, report.signed, report.faults) == (3, 3, ())
    assert home.rows()[-1].kind == "audit.checkpoint"


async def test_closing_signs_nothing_when_nothing_was_written(signed: "Home", home: "Home") -> None:
    for each, signed_up_to in ((signed, 12), (home, 0)):
        async with await each.open() as store:
            async with each.keeper(store).keeping():
                pass
            assert await last_signed(store) == signed_up_to
            assert len(each.rows()) == signed_up_to
    assert not is_there(home.folder / KEYS)


async def test_rows_that_a_crash_left_unsigned_are_signed_by_whoever_closes_next(
    home: "Home", new_event: NewEvent
) -> None:
    async with await home.open() as store:
        await store.commit([new_event()])

    async with await home.open() as store:
        async with home.keeper(store).keeping():
            pass
        assert await last_signed(store) == 2


async def test_a_long_lived_process_signs_after_so_many_rows(home: "Home", new_event: NewEvent) -> None:
    async with await home.open() as store, home.keeper(store).keeping(look_s=0.01, sign_rows=3, sign_s=NEVER):
        await store.commit([new_event(1), new_event(2), new_event(3)])
        await until_signed(store, 3)


async def test_a_long_lived_process_signs_after_some_time(home: "Home", new_event: NewEvent) -> None:
    async with await home.open() as store, home.keeper(store).keeping(look_s=0.01, sign_rows=1000, sign_s=0.02):
        await store.commit([new_event()])
        await until_signed(store, 1)


async def test_not_being_able_to_sign_stops_nothing_and_is_said(
    home: "Home", new_event: NewEvent, caplog: pytest.LogCaptureFixture
) -> None:
    async with await home.open() as store:
        put_in_the_way(home.folder / KEYS)
        async with home.keeper(store).keeping():
            await store.commit([new_event()])

    assert [(line.name, line.levelname) for line in caplog.records] == [("daeri.runtime._audit", "WARNING")]
    report = await home.verify()
    assert (report.rows, report.signed, report.faults) == (1, 0, ())


async def test_two_that_sign_at_once_leave_a_record_that_is_whole(home: "Home", new_event: NewEvent) -> None:
    async with await home.open() as one, await home.open() as other:
        for number in range(10):
            await one.commit([new_event(number)])
            await asyncio.gather(home.keeper(one).checkpoint(), home.keeper(other).checkpoint())

    report = await home.verify()
    assert report.faults == ()
    assert report.signed == report.rows


async def test_a_record_that_is_signed_is_not_signed_again(signed: "Home") -> None:
    async with await signed.open() as store:
        before = await store.last_checkpoint()
        again = await signed.keeper(store).checkpoint()

    assert again == before
    assert len(signed.rows()) == 12


def test_every_state_of_calls_and_approvals_has_a_kind_of_audit_event() -> None:
    calls = {f"call.{state}" for state in get_args(CallState)}
    approvals = {f"approval.{state}" for state in get_args(ApprovalState) if state != "pending"}

    assert calls | approvals <= AUDIT_KINDS.keys()
