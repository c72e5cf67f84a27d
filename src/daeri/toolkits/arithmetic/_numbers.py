"""Numbers that are exact for as long as that is affordable, and that know when they no longer are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal, DivisionByZero, InvalidOperation, Overflow, Underflow
from fractions import Fraction

from .._fault import Fault

MAX_DIGITS = 1_000
"""Digits before the point, zeros after it before the first other digit, and digits of an exact result."""
MAX_EXPONENT = 100_000
SHOWN_DIGITS = 28
"""Significant digits of a result that had to be rounded."""

_MAX_BITS = int(MAX_DIGITS * 3.3219280948873623)
_LARGEST = Fraction(10) ** MAX_DIGITS
_WORKING_DIGITS = 60
# What two rounded numbers agree on; below it, a difference between them is the noise of their rounding.
_SURE_DIGITS = 45


@dataclass(frozen=True, slots=True)
class Number:
    """A rational number, and whether it is the true value or one rounded to the working precision."""

    value: Fraction
    exact: bool = True


def keep(value: Fraction, *, exact: bool) -> Number:
    """`value` as it is carried on: rounded when it was already, or when its fraction grows too long.

    Raises:
        Fault: larger, or nearer to zero, than is supported.
    """
    if abs(value) >= _LARGEST or (value and abs(value) * _LARGEST < 1):
        raise too_large()
    longest = max(value.numerator.bit_length(), value.denominator.bit_length())
    if exact and longest <= _MAX_BITS:
        return Number(value)
    return Number(Fraction(_decimal(value, _WORKING_DIGITS)), exact=False)


def too_large() -> Fault:
    """The fault of a number that is outside what is supported."""
    return Fault(
        "calculator.too_large",
        f"a result is outside 1e-{MAX_DIGITS} to 1e{MAX_DIGITS}, or an exponent above {MAX_EXPONENT:,}",
    )


def add(left: Number, right: Number) -> Number:
    """The sum; what remains of two rounded numbers that cancel each other out is zero."""
    total = left.value + right.value
    exact = left.exact and right.exact
    if not exact and abs(total) * 10**_SURE_DIGITS < max(abs(left.value), abs(right.value)):
        return Number(Fraction(0), exact=False)
    return keep(total, exact=exact)


def power(base: Number, exponent: Number) -> Number:
    """`base ** exponent`, exact when the true value is rational and short enough.

    Raises:
        Fault: no real result, a zero base with a negative exponent, or too large.
    """
    value, times = base.value, exponent.value
    if abs(times) > MAX_EXPONENT:
        raise too_large()
    if value == 0 and times < 0:
        raise division_by_zero()
    if value < 0 and times.denominator != 1:
        raise Fault("calculator.no_real_result", f"no real result: a negative number to the power of {times}")
    exact = base.exact and exponent.exact
    if value == 0 or times == 0:
        return Number(Fraction(0 if times else 1), exact=exact)
    root = _root(value, times.denominator) if exact else None
    if root is not None and (_bits(root) - 1) * abs(times.numerator) <= _MAX_BITS:
        return keep(root**times.numerator, exact=True)
    return _rounded_power(value, times)


def division_by_zero() -> Fault:
    """The fault of dividing by zero."""
    return Fault("calculator.division_by_zero", "division by zero")


def settled(number: Number) -> Fraction:
    """The value to cut to whole numbers: 1.99…9 that comes from rounding counts as the 2 it stands for."""
    return number.value if number.exact else Fraction(_decimal(number.value, _SURE_DIGITS))


def round_half_away(value: Fraction, places: int) -> Fraction:
    """Commercial rounding: a half goes away from zero."""
    scale = Fraction(10) ** places
    whole = (abs(value) * scale * 2 + 1) // 2
    return Fraction(whole if value >= 0 else -whole) / scale


def written(number: Number) -> tuple[str, bool]:
    """The decimal text, and whether it is the exact value.

    A finite decimal is written in full; all else has `SHOWN_DIGITS` significant digits.
    """
    places = _places(number.value.denominator)
    if number.exact and places is not None and places <= MAX_DIGITS:
        digits = f"{abs(number.value.numerator) * 10**places // number.value.denominator:0{places + 1}d}"
        whole, fraction = digits[: len(digits) - places], digits[len(digits) - places :]
        sign = "-" if number.value < 0 else ""
        return sign + whole + (f".{fraction}" if fraction else ""), True
    rounded = _decimal(number.value, SHOWN_DIGITS)
    if rounded == 0:
        return "0", False
    plain = -SHOWN_DIGITS < rounded.adjusted() < SHOWN_DIGITS
    return (f"{rounded.normalize():f}" if plain else str(rounded.normalize())), False


def _rounded_power(value: Fraction, times: Fraction) -> Number:
    context = Context(prec=_WORKING_DIGITS + 10, Emax=MAX_DIGITS, Emin=-MAX_DIGITS, traps=[Overflow, Underflow])
    try:
        size = context.power(_decimal(abs(value), context.prec), _decimal(times, context.prec))
    except (Overflow, Underflow):
        raise too_large() from None
    odd = value < 0 and times.numerator % 2 == 1
    return keep(-Fraction(size) if odd else Fraction(size), exact=False)


def _root(value: Fraction, degree: int) -> Fraction | None:
    if degree == 1:
        return value
    top, bottom = _whole_root(value.numerator, degree), _whole_root(value.denominator, degree)
    return None if top is None or bottom is None else Fraction(top, bottom)


def _whole_root(number: int, degree: int) -> int | None:
    if number == 1:
        return 1
    if degree >= number.bit_length():
        return None
    if degree == 2:
        guess = math.isqrt(number)
    else:
        context = Context(prec=len(str(number)) // degree + 5)
        guess = int(context.power(Decimal(number), context.divide(Decimal(1), Decimal(degree))).to_integral_value())
    return guess if guess**degree == number else None


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _places(denominator: int) -> int | None:
    """Decimal places of a finite decimal; None when it never ends."""
    counts: list[int] = []
    for prime in (2, 5):
        count = 0
        while denominator % prime == 0:
            denominator //= prime
            count += 1
        counts.append(count)
    return max(counts) if denominator == 1 else None


def _decimal(value: Fraction, digits: int) -> Decimal:
    context = Context(prec=digits, rounding=ROUND_HALF_UP, traps=[InvalidOperation, DivisionByZero])
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
