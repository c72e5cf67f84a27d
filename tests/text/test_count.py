"""Token counts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.text import count_tokens


def test_tokens_of_a_known_text() -> None:
    assert (count_tokens(""), count_tokens("hello world"), count_tokens("<|endoftext|>") > 1) == (0, 2, True)


@given(st.text(alphabet=st.characters(codec=None)))
def test_any_text_can_be_counted(text: str) -> None:
    assert 0 <= count_tokens(text) <= 4 * len(text)


@pytest.mark.parametrize("piece", ["가나다 ", "word "])
def test_huge_texts_are_scaled_from_their_ends(piece: str) -> None:
    count, exact = count_tokens(piece * 1_000_000), 1_000_000 * count_tokens(piece * 1000) / 1000
    assert abs(count - exact) < exact / 50
