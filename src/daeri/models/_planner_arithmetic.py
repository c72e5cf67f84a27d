"""Sums in words: which expression a goal asks for."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from daeri.text import NumberMention, find_numbers

_OPERAND = r"[-(]*\d[\d,.]*%?\)*"
_WRITTEN = re.compile(rf"(?<![\w.-]){_OPERAND}(?:\s*(?:\*\*|//|[-+*/×÷])\s*{_OPERAND})+(?![A-Za-z_])")
_SPOKEN = {
    "*": re.compile(r"(?<=\d)\s*(?:times|multiplied by|곱하기)\s+(?=\d)", re.I),
    "/": re.compile(r"(?<=\d)\s*(?:divided by|나누기)\s+(?=\d)", re.I),
    "+": re.compile(r"(?<=\d)\s*(?:plus|더하기)\s+(?=\d)", re.I),
    "-": re.compile(r"(?<=\d)\s*(?:minus|빼기)\s+(?=\d)", re.I),
}
_ASKED = re.compile(
    r"calculat|comput|\btotal|\bsum\b|\badd\b|\bplus\b|multipl|\btimes\b|averag|\bmean\b|differen|subtract|\bminus\b|divid"
    r"|how much|% of|percent of|discount|계산|총|합계|합산|합은|더하|더해|곱|나누|나눠|나눈|빼|차이|평균|할인"
    r"|부가세|얼마|(?:\d|[두세네])\s*배(?!송|달)",
    re.I,
)
_MEAN = re.compile(r"averag|\bmean\b|평균", re.I)
_LESS = re.compile(r"differen|subtract|minus|less than|차이|빼|뺀|할인|discount|% off|cheaper", re.I)
_SHARED = re.compile(r"divid|split|\bper person\b|\beach\b|나누|나눠|나눈|당 얼마|1인당", re.I)
_SUM = re.compile(r"\bsum\b|\badd\b|\bplus\b|\btotal|합계|합산|합은|합을|더하|더해|총", re.I)
_MORE = re.compile(
    r"\badd|\bplus\b|\btax|\bVAT\b|includ|increas|surcharge|더하|더해|부가세|세금|포함|인상|수수료|오르|올리", re.I
)
_SHARE_OF = re.compile(r"(?:%|percent)\s*of|의\s*\d[\d.]*\s*(?:%|퍼센트)", re.I)
_TIMES = re.compile(r"multipl|\btimes\b|곱|배\b", re.I)

_SAID = {
    "*": re.compile(r"[*×]|\btimes\b|multipl\w*|곱\w*|(?:\d|[두세네])\s*배(?!송|달)", re.I),
    "/": re.compile(r"\s/\s|÷|divid\w*|split\w*|averag\w*|나누\w*|나눠\w*|나눈\w*|평균", re.I),
    "+": re.compile(r"\s\+\s|\bplus\b|더하\w*|더해\w*|더한\w*", re.I),
    "-": re.compile(r"\s[-−]\s|\bminus\b|subtract\w*|differen\w*|빼\w*|뺀\w*|차이", re.I),
}
"""What says that an expression must have a sign."""
_FACTOR = re.compile(
    r"\b(?:double|triple|twice|half)\b(?:\s+of)?(?=\s+(?:the|that|this|our|its?)\b)|\b(?:doubled|tripled|halved)\b|절반",
    re.I,
)
"""Factors in words, of which no expression here is made."""
_JOINED = re.compile(r"(?<=[가-힣])[와과]\s+[가-힣]+|\band\s+(?:(?:the|an?)\s+)?[a-z]+", re.I)
_TASK = re.compile(r"and\s+(?:calc|comp|mult|add|div|subt|sum|then|tell|giv|show|find|work|what|how|look|check)", re.I)
_QUOTATION = re.compile(r"[\"“][^\"”]*[\"”]")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reckoning:
    """An expression, and the unit of its result."""

    expression: str
    unit: str = ""


def wants_arithmetic(text: str) -> bool:
    """Whether a text asks for a calculation."""
    return bool(_ASKED.search(text)) or written_expression(text) is not None


def written_expression(text: str) -> str | None:
    """The arithmetic that a text spells out in signs."""
    for sign, spoken in _SPOKEN.items():
        text = spoken.sub(sign, text)
    for found in _WRITTEN.finditer(text):
        expression = re.sub(r"\s+", "", found[0]).rstrip(".,").replace("×", "*").replace("÷", "/")
        # dates and telephone numbers look like subtractions
        if expression.count("(") == expression.count(")") and not re.fullmatch(r"\d+(?:-\d+){2,}", expression):
            return expression
    return None


def reckon(text: str, looked_up: Sequence[NumberMention]) -> Reckoning | None:
    """The expression that a text asks for over its own numbers and those looked up; nothing when it is not clear."""
    if not looked_up and (written := written_expression(text)):
        return Reckoning(expression=written)
    mentions = find_numbers(text)
    shares = [one.value for one in mentions if one.unit == "%"]
    plain = [one for one in mentions if one.unit != "%"]
    core = _with_looked_up(text, looked_up, plain) if looked_up else _of_own_numbers(text, plain, alone=not shares)
    if core is None or len(looked_up) + len(mentions) < 2:
        return None
    expression = core.expression
    for share in shares:
        expression = _apply_share(expression, share, text)
    return Reckoning(expression=expression, unit=core.unit)


def left_out(goal: str, expression: str, looked_up: Sequence[NumberMention], asked_with: str) -> list[str]:
    """What a goal says of a calculation that an expression does not hold; `asked_with` is what calls were made with."""
    goal = _QUOTATION.sub(" ", goal)
    mentions = find_numbers(goal)
    held = {Decimal(one) for one in re.findall(r"\d+(?:\.\d+)?", f"{expression} {asked_with}".replace(",", ""))}
    numbers = [one for one in mentions if one.unit != "%" and abs(one.value) not in held and one.text not in asked_with]
    factors = [found[0] for found in _FACTOR.finditer(goal)]
    if not expression and not (numbers and wants_arithmetic(goal)):
        return factors
    # a share of the whole is a factor, whether it is added or taken off
    of_share = any(one.unit == "%" for one in (*mentions, *looked_up))
    spoken: list[str] = []
    for sign, said in _SAID.items():
        found = [one[0].strip() for one in said.finditer(goal)]
        if len(found) > expression.count(sign) and not (of_share and sign in "+-"):
            spoken += found
    if len(looked_up) == 1 and not re.search(r"\d[-+]", expression) and not _SAID["*"].search(goal):
        spoken += [found[0] for found in _JOINED.finditer(goal) if not _TASK.match(found[0])]
    return [*spoken, *factors, *(one.text for one in numbers if one.text not in spoken)]


def _with_looked_up(text: str, looked_up: Sequence[NumberMention], own: Sequence[NumberMention]) -> Reckoning | None:
    if len(looked_up) > 1:
        return _of_own_numbers(text, [*looked_up, *own], alone=True)
    base = looked_up[0]
    if base.unit == "%" or "/" in base.unit:
        return _by_rate(text, base, own[0]) if len(own) == 1 else None
    expression = _plain(base.value)
    for number in own:
        if _is_money(number.unit) and _is_money(base.unit) and number.unit != base.unit:
            return None
        if number.unit and number.unit == base.unit:
            sign = "-" if _LESS.search(text) else "+"
        else:
            sign = "/" if _SHARED.search(text) else "*"
        needs_brackets = sign in "*/" and re.search(r"(?<=\d)[-+]", expression)
        expression = f"({expression})" if needs_brackets else expression
        expression += f"{sign}{_plain(number.value)}"
    return Reckoning(expression=expression, unit=base.unit)


def _by_rate(text: str, rate: NumberMention, whole: NumberMention) -> Reckoning | None:
    if rate.unit == "%":
        return Reckoning(expression=_apply_share(_plain(whole.value), rate.value, text), unit=whole.unit)
    to, _, per = rate.unit.partition("/")
    if whole.unit not in {to, per}:
        return None
    sign, unit = ("*", to) if whole.unit == per else ("/", per)
    return Reckoning(expression=f"{_plain(whole.value)}{sign}{_plain(rate.value)}", unit=unit)


def _of_own_numbers(text: str, numbers: Sequence[NumberMention], *, alone: bool) -> Reckoning | None:
    values = [one.value for one in numbers]
    units = {one.unit for one in numbers}
    unit = numbers[0].unit if len(units) == 1 else ""
    if len(values) == 1 and not alone:
        # so many things and a share of their price: the price is what is missing
        counted_only = unit and not _is_money(unit) and not _SHARE_OF.search(text)
        return None if counted_only else Reckoning(expression=_plain(values[0]), unit=unit)
    if len(values) < 2:
        return None
    if len(units) > 1:
        return _of_priced_things(numbers)
    if _MEAN.search(text):
        return Reckoning(expression=f"({_joined(values, '+')})/{len(values)}", unit=unit)
    if _SHARED.search(text):
        return Reckoning(expression=_joined(values, "/"), unit=unit)
    if _LESS.search(text) and "%" not in text:
        return Reckoning(expression=_joined(sorted(values, reverse=True), "-"), unit=unit)
    if _TIMES.search(text):
        return Reckoning(expression=_joined(values, "*"))
    return Reckoning(expression=_joined(values, "+"), unit=unit) if _SUM.search(text) else None


def _of_priced_things(numbers: Sequence[NumberMention]) -> Reckoning | None:
    """Prices and how many, in pairs: `1,200원 3개, 500원 2개`; anything else mixed is not clear enough."""
    money = {one.unit for one in numbers if _is_money(one.unit)}
    pairs = list(zip(numbers[::2], numbers[1::2], strict=False))
    priced = all(_is_money(one.unit) != _is_money(other.unit) for one, other in pairs)
    if len(money) != 1 or len(numbers) % 2 or not priced:
        return None
    products = [f"{_plain(one.value)}*{_plain(other.value)}" for one, other in pairs]
    return Reckoning(expression="+".join(products), unit=money.pop())


def _is_money(unit: str) -> bool:
    return len(unit) == 3 and unit.isascii() and unit.isupper()


def _apply_share(expression: str, share: Decimal, text: str) -> str:
    whole = f"({expression})" if re.search(r"(?<=\d)[-+]", expression) else expression
    if _SHARE_OF.search(text) or not (_LESS.search(text) or _MORE.search(text)):
        return f"{whole}*{_plain(share)}/100"
    factor = Decimal(1) + (-share if _LESS.search(text) else share) / 100
    return f"{whole}*{_plain(factor)}"


def _joined(values: Sequence[Decimal], sign: str) -> str:
    return sign.join(_plain(value) for value in values)


def _plain(value: Decimal) -> str:
    text = f"{value:f}"
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"({text})" if text.startswith("-") else text
