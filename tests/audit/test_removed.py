"""Checkpoints that were removed, and a record that is not there at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from daeri.boundary import AuditEvent
from daeri.errors import StoreError
from daeri.runtime import KEYS, verify_audit

if TYPE_CHECKING:
    from tests.audit.conftest import Home

NewEvent = Callable[..., AuditEvent]


def remove_checkpoints(home: Home) -> None:
    home.sql("DELETE FROM audit_checkpoints")
    home.checkpoints.unlink()


def remove_keys(home: Home) -> None:
    for file in (home.folder / KEYS).iterdir():
        file.unlink()


async def test_removing_all_checkpoints_is_found(signed: Home) -> None:
    remove_checkpoints(signed)

    assert [(fault.kind, fault.seq) for fault in (await signed.verify()).faults] == [("removed", 6)]


async def test_removing_the_key_too_hides_nothing(signed: Home) -> None:
    remove_checkpoints(signed)
    remove_keys(signed)

    assert [fault.kind for fault in (await signed.verify()).faults] == ["removed"]


async def test_signing_again_does_not_hide_that_checkpoints_were_removed(signed: Home, new_event: NewEvent) -> None:
    remove_checkpoints(signed)
    async with await signed.open() as store:
        await store.commit([new_event()])
        await signed.keeper(store).checkpoint()

    assert [(fault.kind, fault.seq) for fault in (await signed.verify()).faults] == [("removed", 6)]


async def test_removing_the_last_checkpoint_from_both_places_is_found(signed: Home) -> None:
    signed.sql("DELETE FROM audit_checkpoints WHERE seq = 12")
    first, _ = signed.checkpoints.read_text("utf-8").splitlines(keepends=True)
    signed.checkpoints.write_text(first, "utf-8")

    assert [(fault.kind, fault.seq) for fault in (await signed.verify()).faults] == [("removed", 12)]


async def test_one_of_the_two_places_is_enough(signed: Home) -> None:
    in_table, in_file = signed, signed.copy(signed.folder.parent / "other")
    in_table.checkpoints.unlink()
    in_file.sql("DELETE FROM audit_checkpoints")

    assert ((await in_table.verify()).faults, (await in_file.verify()).faults) == ((), ())


async def test_a_key_that_has_signed_nothing_is_a_fault(home: Home, signed: Home, new_event: NewEvent) -> None:
    async with await home.open() as store:
        await store.commit([new_event()])
        report = await verify_audit(store, home.folder, key_file=signed.folder / KEYS / "audit-ed25519.pub.pem")

    assert [fault.kind for fault in report.faults] == ["removed"]


async def test_a_checkpoint_that_a_crash_has_prevented_is_made_good_by_the_next_one(
    home: Home, new_event: NewEvent
) -> None:
    async with await home.open() as store:
        for seq in (1, 3):
            await store.commit([new_event()])
            home.checkpoints.mkdir()  # the row gets on record, its checkpoint does not
            with pytest.raises(StoreError, match="add a checkpoint"):
                await home.keeper(store).checkpoint()
            home.checkpoints.rmdir()
            assert [fault.kind for fault in (await home.verify()).faults] == ["removed"]
            assert len(home.rows()) == seq + 1
        await home.keeper(store).checkpoint()

    assert (await home.verify()).faults == ()


@pytest.mark.parametrize("line", ["garbage", "{}", "null", "\0\0\0", '{"at', "{'at': 1}"])
async def test_a_line_that_no_crash_leaves_is_a_fault(signed: Home, line: str) -> None:
    first, second = signed.checkpoints.read_text("utf-8").splitlines(keepends=True)
    signed.checkpoints.write_text(f"{first}{line}\n{second}", "utf-8")

    faults = [fault.kind for fault in (await signed.verify()).faults]

    assert faults == ([] if line == '{"at' else ["signature"])


async def test_a_record_that_is_not_there_although_it_was_signed_is_a_fault(signed: Home) -> None:
    report = await verify_audit(None, signed.folder)

    assert [(fault.kind, fault.seq) for fault in report.faults] == [("cut", 1)]
    assert (report.rows, report.kept_outside) == (0, 2)


async def test_a_key_without_a_record_is_a_fault(signed: Home) -> None:
    signed.checkpoints.unlink()

    assert [fault.kind for fault in (await verify_audit(None, signed.folder)).faults] == ["removed"]


async def test_nothing_at_all_is_no_fault(home: Home) -> None:
    assert (await verify_audit(None, home.folder)).faults == ()
