"""Languages and messages."""

import string

import pytest

from daeri.text import Locale, catalogue, detect_locale, fit_particles, locale_from_environment, message


@pytest.mark.parametrize(
    ("text", "default", "locale"),
    [
        ("price of 단가", "en", "ko"),
        ("price", "ko", "en"),
        ("12 + 3", "ko", "ko"),
        ("ㅋㅋ", "en", "ko"),
        ("", "en", "en"),
    ],
)
def test_hangul_decides_the_language(text: str, default: Locale, locale: Locale) -> None:
    assert detect_locale(text, default) == locale


@pytest.mark.parametrize(
    ("environment", "locale"),
    [
        ({"LANG": "ko_KR.UTF-8"}, "ko"),
        ({"DAERI_LANG": "en", "LANG": "ko_KR.UTF-8"}, "en"),
        ({"LC_ALL": "", "LC_MESSAGES": "ko"}, "ko"),
        ({"LANG": "C.UTF-8"}, "en"),
        ({}, "en"),
    ],
)
def test_the_shell_decides_without_a_text(environment: dict[str, str], locale: Locale) -> None:
    assert locale_from_environment(environment) == locale


def test_both_catalogues_have_the_same_keys_and_places() -> None:
    def places(text: str) -> set[str]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    korean, english = catalogue("ko"), catalogue("en")
    assert set(korean) == set(english)
    assert {key: places(text) for key, text in korean.items()} == {key: places(text) for key, text in english.items()}


@pytest.mark.parametrize(
    ("marked", "fitted"),
    [
        ("단가(을/를)", "단가를"), ("가격(을/를)", "가격을"), ("서울(으로/로)", "서울로"),
        ("부산(으로/로)", "부산으로"),
        ("회의(이/가)", "회의가"), ("3(은/는)", "3은"), ("2(과/와)", "2와"),
        ("lookup(을/를)", "lookup을(를)"), ("2(와/과)", "2(와/과)"),
    ],
)  # fmt: skip
def test_particles_fit_the_sound_before_them(marked: str, fitted: str) -> None:
    assert fit_particles(marked) == fitted


def test_a_message_without_its_values_is_an_error() -> None:
    key = next(key for key, text in sorted(catalogue("en").items()) if "{" in text)
    with pytest.raises(KeyError):
        message(key, "en")
