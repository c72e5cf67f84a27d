"""Search tokens."""

import importlib
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.errors import DefinitionError
from daeri.text import korean_stem, tokenize, words


def test_latin_names_are_split_where_their_words_meet() -> None:
    assert tokenize("word_count files.read x-ray HTTPServer") == [
        "word", "count", "file", "read", "x", "ray", "httpserver", "http", "server",
    ]  # fmt: skip


def test_plurals_meet_their_singulars() -> None:
    assert tokenize("prices boxes entries status class") == ["price", "box", "entry", "status", "class"]


def test_korean_words_lose_particles_and_gain_pairs() -> None:
    assert tokenize("대한민국의 단가를") == ["대한민국", "대한", "한민", "민국", "단가"]


@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("단가를", "단가"), ("확인해서", "확인"), ("검색합니다", "검색"), ("회의에서는", "회의"), ("비를", "비"),
        ("가을", "가을"), ("회의", "회의"), ("마을", "마을"), ("날씨", "날씨"), ("사람이", "사람"), ("제품과", "제품"),
    ],
)  # fmt: skip
def test_a_stem_is_the_word_without_particle_or_ending(word: str, stem: str) -> None:
    assert korean_stem(word) == stem


def test_words_are_whole() -> None:
    assert words("대한민국의 wordCount 7") == ["대한민국", "wordcount", "word", "count", "7"]


def test_width_and_composition_make_no_difference() -> None:
    assert tokenize(unicodedata.normalize("NFD", "단가")) == tokenize("단가")
    assert tokenize("ＡＢＣ１") == ["abc1"]


@given(st.text())
def test_any_text_has_tokens_without_white_space(text: str) -> None:
    assert all(token and not any(char.isspace() for char in token) for token in tokenize(text))


def test_morphemes_are_told_apart_when_asked_for() -> None:
    pytest.importorskip("kiwipiepy")
    assert tokenize("서울의 날씨를 Excel로", morphemes=True) == ["서울", "날씨", "excel"]


def test_without_the_analyser_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kiwipiepy", None)
    importlib.import_module("daeri.text._tokens")._analyser.cache_clear()
    with pytest.raises(DefinitionError, match=r'pip install "daeri\[ko\]"'):
        tokenize("서울", morphemes=True)
