"""The audit chain: what a verifier that reads the rows in order can tell."""

import hashlib
from collections.abc import Sequence
from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

from daeri.store import CHAIN, GENESIS, AuditRow, chain_hash

TEXT = st.text(max_size=12)
FACTS = st.tuples(TEXT, st.integers(0, 2**53), TEXT, TEXT, TEXT, st.none() | TEXT, TEXT)


def chained(facts: Sequence[tuple[str, int, str, str, str, str | None, str]]) -> list[AuditRow]:
    rows: list[AuditRow] = []
    for seq, (tenant, at, kind, actor, subject, run_id, data) in enumerate(facts, start=1):
        previous = rows[-1].hash if rows else GENESIS
        rows.append(
            AuditRow(
                chain=CHAIN,
                seq=seq,
                prev_hash=previous,
                hash=chain_hash(previous, CHAIN, seq, tenant, at, kind, actor, subject, run_id, data),
                tenant=tenant,
                at=at,
                kind=kind,
                actor=actor,
                subject=subject,
                run_id=run_id,
                data=data,
            )
        )
    return rows


def holds(rows: Sequence[AuditRow]) -> bool:
    previous = GENESIS
    for seq, row in enumerate(rows, start=1):
        if (row.seq, row.prev_hash, row.hash) != (seq, previous, row.expected_hash()):
            return False
        previous = row.hash
    return True


def test_the_hash_is_the_documented_one() -> None:
    def field(text: str) -> bytes:
        return len(text.encode()).to_bytes(4, "big") + text.encode()

    texts = [field(text) for text in (GENESIS, "main", "7", "acme", "1796029200123456", "call.denied", "김", "c1")]
    expected = hashlib.sha256(b"daeri.audit.1" + b"".join(texts) + b"\xff\xff\xff\xff" + field("{}"))

    found = chain_hash(GENESIS, "main", 7, "acme", 1796029200123456, "call.denied", "김", "c1", None, "{}")

    assert found == expected.hexdigest()


@given(st.lists(FACTS, max_size=6))
def test_an_untouched_chain_holds(facts: list[tuple[str, int, str, str, str, str | None, str]]) -> None:
    assert holds(chained(facts))


@given(st.lists(FACTS, min_size=1, max_size=6), st.data())
def test_an_edit_of_any_field_is_detected(
    facts: list[tuple[str, int, str, str, str, str | None, str]], data: st.DataObject
) -> None:
    rows = chained(facts)
    place = data.draw(st.integers(0, len(rows) - 1))
    name = data.draw(st.sampled_from([field.name for field in fields(AuditRow)]))
    old = getattr(rows[place], name)
    new = data.draw((st.integers(0, 2**53) if isinstance(old, int) else TEXT).filter(lambda value: value != old))

    rows[place] = replace(rows[place], **{name: new})

    assert not holds(rows)


@given(st.lists(FACTS, min_size=2, max_size=6), st.data())
def test_an_edit_with_its_hash_made_to_fit_breaks_the_next_row(
    facts: list[tuple[str, int, str, str, str, str | None, str]], data: st.DataObject
) -> None:
    rows = chained(facts)
    place = data.draw(st.integers(0, len(rows) - 2))
    edited = replace(rows[place], data=rows[place].data + "!")

    rows[place] = replace(edited, hash=edited.expected_hash())

    assert not holds(rows)


@given(st.lists(FACTS, min_size=2, max_size=6), st.data())
def test_a_row_removed_before_the_end_is_detected(
    facts: list[tuple[str, int, str, str, str, str | None, str]], data: st.DataObject
) -> None:
    rows = chained(facts)

    del rows[data.draw(st.integers(0, len(rows) - 2))]

    assert not holds(rows)


@given(st.lists(FACTS, min_size=1, max_size=6), st.data())
def test_a_row_put_in_is_detected(
    facts: list[tuple[str, int, str, str, str, str | None, str]], data: st.DataObject
) -> None:
    rows = chained(facts)
    place = data.draw(st.integers(0, len(rows) - 1))

    rows.insert(place, rows[data.draw(st.integers(0, len(rows) - 1))])

    assert not holds(rows)


@given(st.lists(FACTS, min_size=2, max_size=6), st.data())
def test_two_rows_that_changed_places_are_detected(
    facts: list[tuple[str, int, str, str, str, str | None, str]], data: st.DataObject
) -> None:
    rows = chained(facts)
    one, other = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=2, max_size=2, unique=True))

    rows[one], rows[other] = rows[other], rows[one]

    assert not holds(rows)


@given(TEXT, TEXT, st.integers(1, 11))
def test_text_can_not_move_from_one_field_to_the_next(actor: str, subject: str, shift: int) -> None:
    joined = actor + subject
    moved = (joined[:shift], joined[shift:])

    def hashed(pair: tuple[str, str]) -> str:
        return chain_hash(GENESIS, CHAIN, 1, "acme", 0, "kind", pair[0], pair[1], None, "{}")

    assert (hashed(moved) == hashed((actor, subject))) == (moved == (actor, subject))
