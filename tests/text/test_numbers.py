"""Numbers in Korean and English text."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from daeri.text import Locale, find_numbers, format_number

UNITS = ["", "USD", "KRW", "EUR", "JPY", "GBP", "%", "kg", "km/h", "개", "명", "시간", "개월", "건", "마리"]


def found(text: str) -> list[tuple[Decimal, str]]:
    return [(mention.value, mention.unit) for mention in find_numbers(text)]


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("1,234.5", "1234.5", ""),
        (".5", "0.5", ""),
        ("2.5e3", "2500", ""),
        ("-3도", "-3", "도"),
        ("3만 5천원", "35000", "KRW"),
        ("12억", "1200000000", ""),
        ("1억 2,000만 원", "120000000", "KRW"),
        ("1.2천", "1200", ""),
        ("1.2천만", "12000000", ""),
        ("3천5백만", "35000000", ""),
        ("3만 5000원", "35000", "KRW"),
        ("10만명", "100000", "명"),
        ("삼만오천원", "35000", "KRW"),
        ("백만 원", "1000000", "KRW"),
        ("₩5,000", "5000", "KRW"),
        ("$24", "24", "USD"),
        ("-$5.50", "-5.5", "USD"),
        ("$-3", "-3", "USD"),
        ("USD 24", "24", "USD"),
        ("24 USD", "24", "USD"),
        ("24달러입니다", "24", "USD"),
        ("$1.5M", "1500000", "USD"),
        ("2 million dollars", "2000000", "USD"),
        ("12.5%", "12.5", "%"),
        ("3퍼센트", "3", "%"),
        ("7개의 가격", "7", "개"),
        ("seven items", "7", "개"),
        ("a dozen", "12", ""),
        ("one hour", "1", "시간"),
        ("일곱 개", "7", "개"),
        ("스물다섯 명", "25", "명"),
        ("세 시간", "3", "시간"),
        ("3개월", "3", "개월"),
        ("5kg", "5", "kg"),
        ("90 km/h", "90", "km/h"),
        ("a 7-day pass", "7", "일"),
    ],
)
def test_a_number_is_read_with_its_unit(text: str, value: str, unit: str) -> None:
    assert found(text) == [(Decimal(value), unit)]


@pytest.mark.parametrize(
    "text",
    [
        "A-7", "ORD-1001", "v2.1", "1.2.3", "2026-08-30", "2026-08-30T09:15:00Z", "2026년 8월 30일", "8월 30일",
        "Aug 30, 2026", "30 August", "10:30", "010-1234-5678", "#12", "report2.pdf", "2.pdf", "7b2c", "3D", "1st",
        "a7@b.com", "word_2", "which one", "한국", "3분의 1", "9" * 101,
    ],
)  # fmt: skip
def test_dates_versions_and_identifiers_are_no_numbers(text: str) -> None:
    assert found(text) == []


def test_numbers_come_in_the_order_of_the_text_with_their_places() -> None:
    text = "단가 $24, 제품 7개, 부가세 10%"
    assert [(text[one.start : one.end], one.text) for one in find_numbers(text)] == [
        ("$24", "$24"),
        ("7개", "7개"),
        ("10%", "10%"),
    ]


def test_neighbouring_korean_numbers_stay_apart() -> None:
    assert found("3천5백만 1.2천만, 3만 5만") == [
        (Decimal(35000000), ""),
        (Decimal(12000000), ""),
        (Decimal(30000), ""),
        (Decimal(50000), ""),
    ]


def test_a_minus_between_numbers_is_no_sign() -> None:
    assert [value for value, _ in found("3-5개, 24 - 7, (-3)")] == [3, 5, 24, 7, -3]


@pytest.mark.parametrize(
    ("value", "unit", "korean", "english"),
    [
        ("168", "USD", "168달러", "$168"),
        ("12.5", "USD", "12.50달러", "$12.50"),
        ("-5", "USD", "-5달러", "-$5"),
        ("1234", "KRW", "1,234원", "₩1,234"),
        ("12.50", "%", "12.5%", "12.5%"),
        ("7", "개", "7개", "7"),
        ("1", "시간", "1시간", "1 hour"),
        ("3", "시간", "3시간", "3 hours"),
        ("2", "마리", "2마리", "2"),
        ("1E+3", "", "1,000", "1,000"),
        ("1E+60", "", "1e+60", "1e+60"),
    ],
)
def test_a_number_is_written_as_people_write_it(value: str, unit: str, korean: str, english: str) -> None:
    assert (format_number(Decimal(value), unit, "ko"), format_number(Decimal(value), unit, "en")) == (korean, english)


@given(
    value=st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30, places=30)
    | st.integers(-(10**80), 10**80).map(Decimal),
    unit=st.sampled_from(UNITS),
    locale=st.sampled_from(["ko", "en"]),
)
def test_what_is_written_is_read_back(value: Decimal, unit: str, locale: Locale) -> None:
    mentions = find_numbers(format_number(value, unit, locale))
    nameless = locale == "en" and unit in {"개", "건", "마리"}
    assert [(one.value, one.unit) for one in mentions] == [(value, "" if nameless else unit)]


@given(st.text())
def test_any_text_can_be_searched_and_every_mention_quotes_it(text: str) -> None:
    for mention in find_numbers(text):
        assert text[mention.start : mention.end] == mention.text
