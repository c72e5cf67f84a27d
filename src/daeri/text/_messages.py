"""Messages to people: one catalogue per language, the same keys in each."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import cast

from ._locale import Locale

_PARTICLES = {
    "은/는": ("은", "는"),
    "이/가": ("이", "가"),
    "을/를": ("을", "를"),
    "과/와": ("과", "와"),
    "으로/로": ("으로", "로"),
}
_PARTICLE_MARK = re.compile(r"(\S)\((은/는|이/가|을/를|과/와|으로/로)\)")
# Final sounds of the digits 0-9 as read in Korean (영 일 이 삼 사 오 육 칠 팔 구); 1, 7 and 8 end in ㄹ.
_DIGIT_FINALS = {"0": 21, "1": 8, "3": 16, "6": 1, "7": 8, "8": 8}
_RIEUL = 8


@cache
def catalogue(locale: Locale) -> Mapping[str, str]:
    """All messages of one language by their dotted key, from the files `<room>.<locale>.toml`."""
    rows: dict[str, str] = {}
    for source in sorted(files("daeri.text").joinpath("messages").iterdir(), key=lambda file: file.name):
        if source.name.endswith(f".{locale}.toml"):
            rows |= _flatten(tomllib.loads(source.read_text("utf-8")))
    return rows


def message(key: str, locale: Locale, **values: object) -> str:
    """The message `key` in `locale`, with `{name}` places filled and Korean particles fitted (`{tool}(을/를)`).

    Raises:
        KeyError: no such key, or a place without a value.
    """
    return fit_particles(catalogue(locale)[key].format_map(values))


def fit_particles(text: str) -> str:
    """Korean text with each `(은/는)`-like mark replaced by the form that fits the sound before it."""
    return _PARTICLE_MARK.sub(lambda found: found[1] + _particle(found[1], found[2]), text)


def _particle(before: str, pair: str) -> str:
    with_final, without = _PARTICLES[pair]
    final = _final_sound(before)
    if final is None:
        return f"{with_final}({without})"
    if pair == "으로/로" and final == _RIEUL:
        return without
    return with_final if final else without


def _final_sound(char: str) -> int | None:
    if "가" <= char <= "힣":
        return (ord(char) - ord("가")) % 28
    return _DIGIT_FINALS.get(char, 0) if char.isdigit() else None


def _flatten(table: Mapping[str, object], prefix: str = "") -> dict[str, str]:
    rows: dict[str, str] = {}
    for name, value in table.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict):
            rows |= _flatten(cast("dict[str, object]", value), f"{key}.")
        else:
            rows[key] = str(value)
    return rows
