"""Cutting off the end of the record, and what signatures say about it."""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from daeri.boundary import PUBLIC_KEY, AuditEvent, Checkpoint
from daeri.errors import StoreError
from daeri.runtime import KEYS

if TYPE_CHECKING:
    from tests.audit.conftest import Home

CUT = "DELETE FROM audit WHERE seq > 9"
CUT_CHECKPOINTS = "DELETE FROM audit_checkpoints WHERE seq > 9"


def kept_elsewhere(file: Path) -> Path:
    return Path(shutil.copy(file, file.with_name(f"kept-{file.name}")))


def lines_of(file: Path) -> list[str]:
    return file.read_text("utf-8").splitlines(keepends=True)


def write(file: Path, text: str) -> None:
    file.write_text(text, "utf-8")


def remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink()


async def test_a_tail_that_was_cut_off_is_missed_by_the_checkpoint_in_the_table(signed: "Home") -> None:
    remove(signed.checkpoints)
    signed.sql(CUT)

    report = await signed.verify()

    assert [(fault.kind, fault.seq) for fault in report.faults] == [("cut", 10)]
    assert "the record ends with row 9" in report.faults[0].detail
    assert (report.rows, report.signed) == (9, 6)


async def test_a_tail_that_was_cut_off_with_its_checkpoint_is_missed_by_the_file(signed: "Home") -> None:
    signed.sql(CUT, CUT_CHECKPOINTS)

    report = await signed.verify()

    assert [(fault.kind, fault.seq) for fault in report.faults] == [("cut", 10)]


async def test_a_record_that_was_emptied_is_missed(signed: "Home") -> None:
    signed.sql("DELETE FROM audit", "DELETE FROM audit_checkpoints")

    report = await signed.verify()

    assert [(fault.kind, fault.seq) for fault in report.faults] == [("cut", 1)]


async def test_going_on_after_a_cut_does_not_hide_it(signed: "Home", new_event: Callable[..., AuditEvent]) -> None:
    signed.sql(CUT, CUT_CHECKPOINTS)
    async with await signed.open() as store:
        await store.commit([new_event(number) for number in range(50, 60)])
        await signed.keeper(store).checkpoint()

    report = await signed.verify()

    assert [(fault.kind, fault.seq) for fault in report.faults] == [("rewritten", 12)]


async def test_only_a_copy_kept_elsewhere_misses_what_was_cut_from_record_table_and_file(signed: "Home") -> None:
    copy = kept_elsewhere(signed.checkpoints)
    signed.sql(CUT, CUT_CHECKPOINTS)
    write(signed.checkpoints, lines_of(signed.checkpoints)[0])

    assert (await signed.verify()).faults == ()
    report = await signed.verify(checkpoints=copy)
    assert [(fault.kind, fault.seq) for fault in report.faults] == [("cut", 10)]


async def test_only_a_key_kept_elsewhere_tells_a_record_that_was_signed_anew(
    signed: "Home", new_event: Callable[..., AuditEvent]
) -> None:
    key = kept_elsewhere(signed.folder / KEYS / PUBLIC_KEY).rename(signed.folder / "kept.pem")
    signed.sql("DELETE FROM audit", "DELETE FROM audit_checkpoints")
    remove(signed.checkpoints)
    remove(signed.folder / KEYS)
    async with await signed.open() as store:
        await store.commit([new_event()])
        await signed.keeper(store).checkpoint()

    assert (await signed.verify()).faults == ()
    report = await signed.verify(key=key)
    assert [(fault.kind, fault.seq) for fault in report.faults] == [("signature", 2)]


@pytest.mark.parametrize(
    "forgery",
    [
        "seq = 11, hash = (SELECT hash FROM audit WHERE audit.seq = 11)",
        "hash = 'other'",
        "at = at + 1",
        "at = 'never'",
        "at = 9223372036854775807",
        "signature = 'AAAA'",
        "signature = '?'",
        "signature = x'00'",
        "key_id = '0000000000000000'",
        "chain = 'other'",
        "chain = CAST(x'ff' AS TEXT)",
    ],
)
async def test_a_checkpoint_that_was_changed_is_found(signed: "Home", forgery: str) -> None:
    signed.sql(f"UPDATE audit_checkpoints SET {forgery} WHERE seq = 12")

    report = await signed.verify()

    assert [fault.kind for fault in report.faults] == ["signature"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"seq":12', '"seq":13'),
        ('"seq":12', '"seq":"12"'),
        ('"seq":12', '"seq":1e999'),
        ('"seq":12', '"sequence":12'),
        ('"chain":"main"', '"chain":7'),
        ('{"at"', '{"more":1,"at"'),
        ('"signature":"', '"signature":"A'),
        ("daeri.audit-checkpoint.1", "daeri.audit-checkpoint.2"),
        ('{"at"', '[]}{"at"'),
    ],
)
async def test_a_line_that_was_changed_is_found(signed: "Home", old: str, new: str) -> None:
    first, second = lines_of(signed.checkpoints)
    assert old in second
    write(signed.checkpoints, first + second.replace(old, new))

    report = await signed.verify()

    assert [fault.kind for fault in report.faults] == ["signature"]


async def test_a_line_that_a_crash_has_left_unfinished_is_no_fault_and_does_not_swallow_the_next(
    signed: "Home", new_event: Callable[..., AuditEvent]
) -> None:
    first, second = lines_of(signed.checkpoints)
    write(signed.checkpoints, first + second[: len(second) // 2])
    async with await signed.open() as store:
        await store.commit([new_event()])
        await signed.keeper(store).checkpoint()

    report = await signed.verify()

    assert (report.faults, report.kept_outside, report.checkpoints) == ((), 2, 3)


async def test_signatures_without_a_key_to_check_them_are_a_fault(signed: "Home") -> None:
    remove(signed.folder / KEYS)

    report = await signed.verify()

    assert [(fault.kind, fault.seq) for fault in report.faults] == [("key", 6)]


async def test_files_that_are_named_have_to_be_there(signed: "Home") -> None:
    nowhere = signed.folder / "nowhere"

    with pytest.raises(StoreError, match="nowhere"):
        await signed.verify(key=nowhere)
    with pytest.raises(StoreError, match="nowhere"):
        await signed.verify(checkpoints=nowhere)
    with pytest.raises(StoreError, match=r"audit-checkpoints\.jsonl"):
        await signed.verify(key=signed.checkpoints)


async def test_a_record_without_checkpoints_is_whole_and_says_that_nothing_is_signed(
    home: "Home", new_event: Callable[..., AuditEvent]
) -> None:
    async with await home.open() as store:
        await store.commit([new_event()])

    report = await home.verify()

    assert (report.rows, report.signed, report.checkpoints, report.faults) == (1, 0, 0, ())


async def test_an_empty_record_is_whole(home: "Home") -> None:
    report = await home.verify()

    assert (report.rows, report.head, report.faults) == (0, "0" * 64, ())


def test_a_checkpoint_is_the_same_after_a_trip_through_its_line() -> None:
    made = Checkpoint(
        chain="main", seq=7, hash="ab", at=datetime(2026, 11, 30, 9, tzinfo=UTC), key_id="k", signature="c2ln"
    )

    assert Checkpoint.from_line(made.as_line()) == made
    assert made.as_line() == (
        '{"at":"2026-11-30T09:00:00.000000+00:00","chain":"main","format":"daeri.audit-checkpoint.1","hash":"ab",'
        '"key_id":"k","seq":7,"signature":"c2ln"}'
    )
