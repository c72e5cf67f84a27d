"""Units of numbers: how they are written in Korean and in English."""

from __future__ import annotations

from collections.abc import Mapping

CURRENCY_SIGNS: Mapping[str, str] = {"$": "USD", "US$": "USD", "₩": "KRW", "€": "EUR", "¥": "JPY", "£": "GBP"}
CURRENCY_WORDS: Mapping[str, tuple[str, ...]] = {
    "USD": ("달러", "dollars", "dollar", "bucks"),
    "KRW": ("원", "won"),
    "EUR": ("유로", "euros", "euro"),
    "JPY": ("엔", "yen"),
    "GBP": ("파운드", "pounds sterling"),
}
MEASURES = ("kg", "mg", "g", "km", "cm", "mm", "m", "ml", "L", "KB", "MB", "GB", "TB", "kWh", "°C", "°F", "km/h", "㎡")
"""Written alike in both languages; recognised with exactly these letters."""

COUNTERS: Mapping[str, tuple[str, ...]] = {
    "개": ("items", "item", "pieces", "piece", "units", "unit", "pcs", "ea"),
    "명": ("people", "persons", "person"),
    "시간": ("hours", "hour", "hrs"),
    "분": ("minutes", "minute", "mins"),
    "초": ("seconds", "second", "secs"),
    "일": ("days", "day"),
    "주": ("weeks", "week"),
    "개월": ("months", "month"),
    "년": ("years", "year"),
    "회": ("times", "time"),
    "권": ("books", "book"),
    "박스": ("boxes", "box"),
    "글자": ("characters", "character"),
    "단어": ("words", "word"),
    "도": ("degrees", "degree"),
}
"""The Korean counter is the unit; the English words (plural and singular first) mean the same."""
# fmt: off
KOREAN_ONLY_COUNTERS = (
    "번", "건", "장", "대", "마리", "병", "잔", "상자", "세트", "켤레", "그루", "통", "팀", "곳", "층", "살",
    "세", "인분", "인", "시", "주일", "달", "가지", "채", "벌", "쪽", "페이지", "배", "자루", "줄", "평",
)
# fmt: on
"""Counters whose English noun depends on what is counted."""

LATIN_UNITS: Mapping[str, str] = {
    **{word: unit for unit, words in CURRENCY_WORDS.items() for word in words if word.isascii()},
    **{word: unit for unit, words in COUNTERS.items() for word in words},
    **{code.lower(): code for code in CURRENCY_WORDS},
    "percent": "%",
}
"""Canonical unit by lower-case English word; `MEASURES` come beside it, letter by letter."""
KOREAN_UNITS: Mapping[str, str] = {
    **{word: unit for unit, words in CURRENCY_WORDS.items() for word in words if not word.isascii()},
    **{unit: unit for unit in (*COUNTERS, *KOREAN_ONLY_COUNTERS)},
    "퍼센트": "%",
    "킬로그램": "kg",
    "그램": "g",
    "킬로미터": "km",
    "센티미터": "cm",
    "미터": "m",
    "리터": "L",
}
"""Canonical unit by Korean word."""
