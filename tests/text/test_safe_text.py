"""Scrubbing and cutting."""

from hypothesis import given
from hypothesis import strategies as st

from daeri.text import Json, cut_middle, scrub, scrub_text


@given(st.text(alphabet=st.characters(codec=None)))
def test_scrubbed_text_is_storable_and_as_long(text: str) -> None:
    clean = scrub_text(text)
    clean.encode()
    assert "\x00" not in clean
    assert len(clean) == len(text)


def test_every_string_of_a_value_is_scrubbed() -> None:
    value: Json = {"a\x00": ["\ud800", 1, None, {"b": "ok"}]}
    assert scrub(value) == {"a�": ["�", 1, None, {"b": "ok"}]}


def test_a_text_that_fits_is_left_alone() -> None:
    cut = cut_middle("short", 5)
    assert (cut.text, cut.omitted) == ("short", 0)


def test_a_cut_says_how_much_is_missing_and_where_the_rest_is() -> None:
    cut = cut_middle("a" * 500 + "z" * 500, 200, note="see call c1")
    assert len(cut.text) <= 200
    assert cut.text.startswith("aaa")
    assert cut.text.endswith("zzz")
    assert f"[... {cut.omitted:,} of 1,000 characters cut; see call c1 ...]" in cut.text


@given(st.text(max_size=300), st.integers(-3, 200))
def test_a_cut_never_exceeds_its_limit_and_counts_what_it_left_out(text: str, limit: int) -> None:
    cut = cut_middle(text, limit)
    assert len(cut.text) <= max(limit, 0) or cut.text == text
    assert 0 <= cut.omitted <= len(text)
    assert (cut.omitted == 0) == (cut.text == text)
