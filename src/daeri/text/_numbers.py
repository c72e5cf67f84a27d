"""Numbers with their units, found in Korean and English text and written for people."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal

from ._locale import Locale
from ._units import COUNTERS, CURRENCY_SIGNS, CURRENCY_WORDS, KOREAN_UNITS, LATIN_UNITS, MEASURES

_LONGEST = 100
"""Characters of a number; what is longer is data, and would cost time to reckon with."""
_EXACT = Context(prec=200)
# fmt: off
_SMALL = {"십": 10, "백": 100, "천": 1000}
_LARGE = {"만": 10**4, "억": 10**8, "조": 10**12}
_SCALES = {
    "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "k": 10**3, "m": 10**6, "b": 10**9,
}
_SINO = {"영": 0, "일": 1, "이": 2, "삼": 3, "사": 4, "오": 5, "육": 6, "칠": 7, "팔": 8, "구": 9}
_ENGLISH = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
    "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}
_NATIVE_ONES = {
    "한": 1, "하나": 1, "두": 2, "둘": 2, "세": 3, "셋": 3, "네": 4, "넷": 4,
    "다섯": 5, "여섯": 6, "일곱": 7, "여덟": 8, "아홉": 9,
}
_NATIVE_TENS = {
    "열": 10, "스물": 20, "스무": 20, "서른": 30, "마흔": 40,
    "쉰": 50, "예순": 60, "일흔": 70, "여든": 80, "아흔": 90,
}
# fmt: on


def _any_of(words: Iterable[str]) -> str:
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_NO_NUMBER = "|".join(
    (
        r"\d{4}[-./]\d{1,2}[-./]\d{1,2}(?:[T ]\d{1,2}:[\d:.]+(?:Z|[+-][\d:]+)?)?",  # 2026-08-30T09:00Z
        r"\d{1,2}/\d{1,2}/\d{4}",
        r"[12]\d{3}년(?:\s*\d{1,2}월)?(?:\s*\d{1,2}일)?|\d{1,2}월(?:\s*\d{1,2}일)?",
        rf"(?<![A-Za-z]){_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?(?!\d)",  # Aug 30th, 2026
        rf"\d{{1,2}}(?:st|nd|rd|th)?\s{_MONTH}(?:,?\s\d{{4}})?(?![A-Za-z\d])",
        r"\d+분의\s?\d+",
        r"\d{1,2}:\d{2}(?::\d{2})?",
        r"\d+(?:\.\d+){2,}",  # versions, addresses
        r"\d+(?:-\d+){2,}",  # telephone and account numbers
        r"\#\d+",
    )
)
_DIGITS = r"(?>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)"
_SECTION = rf"(?:(?:{_DIGITS}[십백천]+)+{_DIGITS}?|{_DIGITS})"
_REST = rf"(?:\s?(?:{_DIGITS}[십백천]+(?![만억조]))+|\d+|\s\d+(?=\s?원))?"
_COMPOSITE = (
    rf"{_SECTION}(?:조(?:\s?{_SECTION}억)?(?:\s?{_SECTION}만)?|억(?:\s?{_SECTION}만)?|만){_REST}"
    rf"|(?:{_DIGITS}[십백천]+)+\d*"
)
_SINO_DIGIT, _SINO_ANY = "".join(_SINO), "".join((*_SINO, *_SMALL, *_LARGE))
_SINO_NUMBER = rf"[{_SINO_DIGIT}]{{0,4}}[십백천만억][{_SINO_ANY}]{{0,20}}(?=\s?(?:원|달러|유로|엔|퍼센트))"
_NATIVE = rf"(?:{_any_of(_NATIVE_TENS)})(?:{_any_of(_NATIVE_ONES)})?|{_any_of(_NATIVE_ONES)}"
_SCALE = r"(?i:thousand|million|billion|trillion)(?![A-Za-z])|(?<=\d)[kKMB](?![A-Za-z])"

_PARTICLE_STARTS = "은는이가을를의에도만로으와과까부마정당씩쯤입인짜어예였보랑하"

_SCAN = re.compile(
    rf"""
    {_NO_NUMBER}
    |
    (?P<sign> (?<![\w)\]]) [-−+] )?
    (?: (?P<prefix> {_any_of(CURRENCY_SIGNS)} | (?<![A-Za-z_]) (?:{_any_of(CURRENCY_WORDS)}) ) \s? (?P<inner>[-−])? )?
    (?: (?P<composite> {_COMPOSITE} ) | (?P<digits> {_DIGITS} ) (?: [eE] (?P<power> [-+]?\d{{1,4}} ) (?![\d.]) )? )
    (?: \s? (?P<scale> {_SCALE} ) )?
    |
    (?<![가-힣]) (?P<native> {_NATIVE} ) (?=\s?(?:{_any_of(KOREAN_UNITS)}))
    |
    (?<![가-힣]) (?P<sino> {_SINO_NUMBER} )
    |
    (?<![A-Za-z_-]) (?P<english> (?i: {_any_of(_ENGLISH)} | (?:(?:an?|one)\s)?dozen ) ) (?![A-Za-z_-])
    |
    [A-Za-z_][A-Za-z_0-9]*+ (?:[-_./@]+[A-Za-z0-9_]+)*+  # A-7, v2.1, report_2.pdf
    """,
    re.VERBOSE,
)
_UNIT = re.compile(
    rf"""
    \s? (?P<korean> {_any_of(KOREAN_UNITS)} ) (?! [가-힣] (?<! [{_PARTICLE_STARTS}] ) )
    | \s? (?P<same> % | (?: {_any_of(MEASURES)} ) (?![A-Za-z]) )
    | [\s-]? (?P<latin> (?i: {_any_of(LATIN_UNITS)} ) ) (?![A-Za-z])
    """,
    re.VERBOSE,
)
_CONTINUED = re.compile(r"[A-Za-z_@\d]|\.\d|-[A-Za-z]|\.[a-z]{2,5}(?![a-z])")


@dataclass(frozen=True, kw_only=True, slots=True)
class NumberMention:
    """A number as a text states it: what it is worth, of what, and where it stands."""

    value: Decimal
    unit: str
    """Empty, an ISO currency code, `%`, a measure (`kg`) or a Korean counter (`개`, also for "items")."""
    start: int
    end: int
    text: str


def find_numbers(text: str) -> list[NumberMention]:
    """All numbers of a text with their units, in order; dates, times, versions and identifiers are none."""
    return [mention for found in _SCAN.finditer(text) if (mention := _read(text, found)) is not None]


def format_number(value: Decimal, unit: str, locale: Locale) -> str:
    """A number as people of `locale` write it; `find_numbers` reads it back to the same value and unit.

    English has no word for some Korean counters: they are left out there (`7개` is `7`).
    """
    digits = _digits(value, cents=unit in {"USD", "EUR", "GBP"})
    if unit in CURRENCY_WORDS:
        return digits + CURRENCY_WORDS[unit][0] if locale == "ko" else _with_sign(digits, unit)
    if unit == "" or unit == "%" or unit in MEASURES:
        return digits + unit
    if locale == "ko":
        return digits + unit
    plural, singular = (*COUNTERS.get(unit, ("", "")), "")[:2]
    if unit == "개" or not plural:
        return digits
    return f"{digits} {singular if value == 1 and singular else plural}"


def _with_sign(digits: str, unit: str) -> str:
    sign = next(sign for sign, code in CURRENCY_SIGNS.items() if code == unit)
    return f"-{sign}{digits[1:]}" if digits.startswith("-") else sign + digits


def _digits(value: Decimal, *, cents: bool) -> str:
    if value and abs(value.adjusted()) > 40:
        return f"{value:e}"
    plain = f"{value:,f}"
    if "." not in plain:
        return plain
    plain = plain.rstrip("0").rstrip(".")
    whole, _, fraction = plain.partition(".")
    return f"{whole}.{fraction}0" if cents and len(fraction) == 1 else plain


def _read(text: str, found: re.Match[str]) -> NumberMention | None:
    """The mention that starts at a hit of the scan, or nothing when the hit only looks like a number."""
    value = _value(found)
    if value is None:
        return None
    unit, end = _unit_after(text, found.end())
    if found["prefix"]:
        # "$5 items": the sign in front is the unit, the noun is not part of the number
        unit, end = _currency(found["prefix"]), found.end()
    if end == found.end() and _CONTINUED.match(text, end):
        return None
    needs_unit = found["native"] or found["sino"] or (found["english"] or "").lower() == "one"
    if needs_unit and not unit:
        return None
    return NumberMention(value=value, unit=unit, start=found.start(), end=end, text=text[found.start() : end])


def _value(found: re.Match[str]) -> Decimal | None:
    if found["native"]:
        return Decimal(_native_value(found["native"]))
    if found["english"]:
        return Decimal(_english_value(found["english"].lower()))
    if composite := found["sino"] or found["composite"]:
        value = _composite_value(composite)
    elif found["digits"] and len(found["digits"]) <= _LONGEST:
        value = Decimal(found["digits"].replace(",", "") + (f"e{found['power']}" if found["power"] else ""))
    else:
        return None
    if scale := found["scale"]:
        if len(scale) == 1 and not found["prefix"]:
            return None
        value = _EXACT.multiply(value, Decimal(_SCALES[scale.lower()]))
    # not `-value`, which rounds
    return value.copy_negate() if found["sign"] or found["inner"] else value


def _composite_value(text: str) -> Decimal:
    total, section, current = Decimal(0), Decimal(0), None
    for part in re.findall(rf"{_DIGITS}|\S", text):
        if part in _SMALL:
            section = _EXACT.add(
                section, _EXACT.multiply(Decimal(1) if current is None else current, Decimal(_SMALL[part]))
            )
            current = None
        elif part in _LARGE:
            section = _EXACT.add(section, current or Decimal(0)) or Decimal(1)
            total = _EXACT.add(total, _EXACT.multiply(section, Decimal(_LARGE[part])))
            section, current = Decimal(0), None
        else:
            current = Decimal(_SINO[part]) if part in _SINO else Decimal(part.replace(",", ""))
    return _EXACT.add(_EXACT.add(total, section), current or Decimal(0))


def _native_value(text: str) -> int:
    tens = next((word for word in _NATIVE_TENS if text.startswith(word)), "")
    return _NATIVE_TENS.get(tens, 0) + _NATIVE_ONES.get(text[len(tens) :], 0)


def _english_value(text: str) -> int:
    if text.endswith("dozen"):
        return 12
    return _ENGLISH[text]


def _unit_after(text: str, at: int) -> tuple[str, int]:
    found = _UNIT.match(text, at)
    if found is None:
        return "", at
    if found["korean"]:
        return KOREAN_UNITS[found["korean"]], found.end()
    return found["same"] or LATIN_UNITS[found["latin"].lower()], found.end()


def _currency(prefix: str) -> str:
    return CURRENCY_SIGNS.get(prefix, prefix)
