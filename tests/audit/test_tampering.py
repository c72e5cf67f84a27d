"""Whatever is done to the rows with SQLite alone is found, and the first bad row is named."""

import asyncio
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daeri.store import AuditFault, AuditRow

if TYPE_CHECKING:
    from tests.audit.conftest import Home

ROWS, SIGNED = 12, (6, 12)
SEQ = st.integers(1, ROWS)
TEXT_COLUMNS = ("chain", "prev_hash", "hash", "tenant", "kind", "actor", "subject", "run_id", "data")

many = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


@contextmanager
def tampered(home: "Home") -> Generator["Home"]:
    with tempfile.TemporaryDirectory() as folder:
        yield home.copy(Path(folder))


def first_fault(home: "Home") -> AuditFault | None:
    report = asyncio.run(home.verify())
    return report.faults[0] if report.faults else None


def rechained(rows: list[AuditRow], start: int) -> list[AuditRow]:
    """The rows with every hash from `start` made to fit."""
    done = rows[: start - 1]
    for row in rows[start - 1 :]:
        linked = replace(row, seq=len(done) + 1, prev_hash=done[-1].hash if done else "0" * 64)
        done.append(replace(linked, hash=linked.expected_hash()))
    return done


def test_an_untouched_record_is_whole(signed_home: "Home") -> None:
    report = asyncio.run(signed_home.verify())

    assert (report.rows, report.signed, report.checkpoints, report.kept_outside) == (ROWS, ROWS, 2, 2)
    assert report.head == signed_home.rows()[-1].hash
    assert report.faults == ()


@given(seq=SEQ, column=st.sampled_from(TEXT_COLUMNS), value=st.one_of(st.text(max_size=9), st.binary(max_size=9)))
@many
def test_any_other_value_in_a_row_is_found_there(
    signed_home: "Home", seq: int, column: str, value: str | bytes
) -> None:
    with tampered(signed_home) as home:
        if isinstance(value, str):
            value = value.encode("utf-8", "replace").decode()
        home.sql(f"UPDATE audit SET {column} = ? WHERE seq = ?", values=(value, seq))

        fault = first_fault(home)

        changed = value != getattr(signed_home.rows()[seq - 1], column)
        # A row of another chain is sorted elsewhere; where it was, one is missing.
        assert (fault is not None and (fault.seq == seq or column == "chain")) == changed


@given(seq=SEQ, at=st.one_of(st.integers(-(2**62), 2**62), st.floats(allow_nan=False), st.text("가나", min_size=1)))
@many
def test_another_time_is_found(signed_home: "Home", seq: int, at: float | str) -> None:
    with tampered(signed_home) as home:
        home.sql("UPDATE audit SET at = ? WHERE seq = ?", values=(at, seq))

        fault = first_fault(home)

    assert fault is not None
    assert (fault.seq, fault.kind in ("edited", "foreign")) == (seq, True)


@pytest.mark.parametrize("column", [field.name for field in fields(AuditRow) if field.name not in ("seq", "at")])
def test_text_of_the_same_bytes_that_is_no_text_any_more_is_found(signed: "Home", column: str) -> None:
    signed.sql(f"UPDATE audit SET {column} = CAST(coalesce({column}, '') AS BLOB) WHERE seq = 4")

    assert first_fault(signed) is not None


def test_text_that_is_not_utf_8_is_found(signed: "Home") -> None:
    signed.sql("UPDATE audit SET actor = CAST(x'ff00fe' AS TEXT) WHERE seq = 4")

    fault = first_fault(signed)

    assert fault is not None
    assert (fault.kind, fault.seq) == ("edited", 4)


@given(gone=st.sets(SEQ, min_size=1))
@many
def test_of_rows_that_were_removed_the_first_is_named(signed_home: "Home", gone: set[int]) -> None:
    with tampered(signed_home) as home:
        home.sql(f"DELETE FROM audit WHERE seq IN ({', '.join(map(str, gone))})")

        fault = first_fault(home)

    tail = gone == set(range(min(gone), ROWS + 1))
    assert fault is not None
    assert (fault.kind, fault.seq) == ("cut" if tail else "missing", min(gone))


@given(seq=st.integers(1, ROWS - 1), gap=st.integers(1, ROWS - 1))
@many
def test_rows_that_closed_up_over_a_gap_are_found(signed_home: "Home", seq: int, gap: int) -> None:
    last = min(seq + gap - 1, ROWS - 1)
    with tampered(signed_home) as home:
        home.sql(f"DELETE FROM audit WHERE seq BETWEEN {seq} AND {last}", _shifted(seq - last - 1, last))

        fault = first_fault(home)

    assert fault is not None
    assert (fault.kind, fault.seq) == ("edited", seq)


@given(pair=st.lists(SEQ, min_size=2, max_size=2, unique=True))
@many
def test_of_two_rows_that_changed_places_the_first_is_named(signed_home: "Home", pair: list[int]) -> None:
    one, other = sorted(pair)
    with tampered(signed_home) as home:
        home.sql(
            f"UPDATE audit SET seq = -1 WHERE seq = {one}",
            f"UPDATE audit SET seq = {one} WHERE seq = {other}",
            f"UPDATE audit SET seq = {other} WHERE seq = -1",
        )

        fault = first_fault(home)

    assert fault is not None
    assert (fault.kind, fault.seq) == ("edited", one)


@given(seq=SEQ, source=SEQ)
@many
def test_a_row_put_in_between_is_found_where_it_stands(signed_home: "Home", seq: int, source: int) -> None:
    with tampered(signed_home) as home:
        rows = home.rows()
        inserted = replace(rows[source - 1], seq=seq)
        later = [replace(row, seq=row.seq + 1) for row in rows[seq - 1 :]]
        home.replace([*rows[: seq - 1], inserted, *later])

        fault = first_fault(home)

    assert fault is not None
    # The copy of the row whose place it takes is that row; what was moved is the one after it.
    assert fault.seq == (seq + 1 if source == seq else seq)


@pytest.mark.parametrize(
    ("seq", "named"), [(0, 1), (-5, 1), (1.5, 2), ("12a", 13), (b"x", 13), (13, 13), (99, 13), (2**62, 13)]
)
async def test_a_row_put_in_anywhere_else_is_found(signed: "Home", seq: object, named: int) -> None:
    signed.sql(
        "INSERT INTO audit SELECT chain, ?, prev_hash, hash, tenant, at, kind, actor, subject, run_id, data FROM audit"
        " WHERE seq = 12",
        values=(seq,),
    )

    report = await signed.verify()

    assert report.faults[0].seq == named


@pytest.mark.parametrize("chain", ["aaa", "zzz", "", b"main"])
async def test_a_chain_that_daeri_does_not_write_is_found(signed: "Home", chain: object) -> None:
    first = replace(signed.rows()[0], chain="aaa")
    signed.sql(
        "INSERT INTO audit SELECT ?, seq, prev_hash, ?, tenant, at, kind, actor, subject, run_id, data FROM audit"
        " WHERE seq = 1",
        values=(chain, first.expected_hash()),
    )

    report = await signed.verify()

    assert [fault.kind for fault in report.faults] == ["foreign"]


@given(seq=SEQ)
@many
def test_an_edit_whose_hash_was_made_to_fit_breaks_the_next_row_or_a_signature(signed_home: "Home", seq: int) -> None:
    with tampered(signed_home) as home:
        rows = home.rows()
        edited = replace(rows[seq - 1], actor="user:nobody")
        rows[seq - 1] = replace(edited, hash=edited.expected_hash())
        home.replace(rows)

        fault = first_fault(home)

    assert fault is not None
    signed = seq in SIGNED
    assert (fault.kind, fault.seq) == (("rewritten", seq) if signed else ("unlinked", seq + 1))


@given(seq=SEQ)
@many
def test_a_record_that_was_written_anew_from_some_row_on_fails_at_the_next_signature(
    signed_home: "Home", seq: int
) -> None:
    with tampered(signed_home) as home:
        rows = home.rows()
        rows[seq - 1] = replace(rows[seq - 1], actor="user:nobody")
        home.replace(rechained(rows, seq))

        fault = first_fault(home)

    assert fault is not None
    assert (fault.kind, fault.seq) == ("rewritten", next(signed for signed in SIGNED if signed >= seq))


def test_verifying_a_long_record_takes_no_more_memory_than_a_short_one(
    signed: "Home", verifying_peak: Callable[["Home"], int]
) -> None:
    verifying_peak(signed)
    rows = signed.rows()
    short = verifying_peak(signed)

    signed.replace(rechained([*rows, *rows[:5] * 2000], len(rows) + 1))

    assert verifying_peak(signed) < short + 100_000


@pytest.fixture
def verifying_peak() -> Callable[["Home"], int]:
    """Bytes that Python holds at most while it verifies."""
    import tracemalloc

    def peak(home: "Home") -> int:
        tracemalloc.start()
        try:
            report = asyncio.run(home.verify())
            assert not report.faults
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    return peak


def _shifted(by: int, after: int) -> str:
    """Move rows up over a gap; SQLite goes by the key, so that each place is free when it is taken."""
    return f"UPDATE audit SET seq = seq + {by} WHERE seq > {after}"
