"""Ranking."""

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.text import RankedIndex

DOCUMENTS = ["휴가 규정과 연차 일수", "출장비 정산 규정", "unit price list", ""]


def test_the_best_text_comes_first() -> None:
    assert [at for at, _ in RankedIndex(DOCUMENTS).search("연차 규정을 알려줘", 5)] == [0, 1]


def test_a_limit_beyond_the_texts_is_no_error() -> None:
    assert len(RankedIndex(DOCUMENTS).search("규정", 1000)) == 2


def test_equal_texts_come_in_their_order() -> None:
    assert [at for at, _ in RankedIndex(["other", "same", "same", "same"]).search("same", 2)] == [1, 2]


@pytest.mark.parametrize("documents", [[], [""], DOCUMENTS])
def test_nothing_is_found_where_no_word_is_shared(documents: list[str]) -> None:
    assert RankedIndex(documents).search("zebra", 5) == []
    assert RankedIndex(documents).search("", 5) == []


def test_another_tokenizer_may_be_used() -> None:
    assert [at for at, _ in RankedIndex(["a,b", "c"], tokenizer=lambda text: text.split(",")).search("b", 1)] == [0]


def test_the_library_stays_silent(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> None:
    with caplog.at_level(logging.DEBUG):
        RankedIndex(DOCUMENTS).search("규정", 2)
    assert (caplog.records, *capfd.readouterr()) == ([], "", "")


@given(st.lists(st.text(max_size=20), max_size=8), st.text(max_size=20), st.integers(-1, 10))
def test_hits_are_positive_ordered_and_within_the_limit(documents: list[str], query: str, limit: int) -> None:
    hits = RankedIndex(documents).search(query, limit)
    assert len(hits) <= max(limit, 0)
    assert hits == sorted(hits, key=lambda hit: (-hit[1], hit[0]))
    assert all(score > 0 for _, score in hits)
