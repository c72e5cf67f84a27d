"""The functions and constants that expressions may name."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from .._fault import Fault
from ._numbers import MAX_DIGITS, Number, add, keep, power, round_half_away, settled

_Apply: TypeAlias = Callable[[Sequence[Number]], Number]


@dataclass(frozen=True, kw_only=True, slots=True)
class Function:
    """A function of expressions, and how many arguments it takes."""

    apply: _Apply
    fewest: int = 1
    most: int = 1

    @property
    def takes(self) -> str:
        """The number of arguments in words."""
        if self.most > 2:
            return f"at least {self.fewest} argument"
        return "1 argument" if self.most == 1 else f"{self.fewest} or {self.most} arguments"


CONSTANTS: dict[str, Number] = {
    "pi": Number(Fraction("3.14159265358979323846264338327950288419716939937510582097494"), exact=False),
    "e": Number(Fraction("2.71828182845904523536028747135266249775724709369995957496697"), exact=False),
}
"""To the working precision."""


def total(numbers: Sequence[Number]) -> Number:
    """The sum of all."""
    result = Number(Fraction(0))
    for number in numbers:
        result = add(result, number)
    return result


def _average(numbers: Sequence[Number]) -> Number:
    result = total(numbers)
    return keep(result.value / len(numbers), exact=result.exact)


def _round(numbers: Sequence[Number]) -> Number:
    number, places = numbers[0], numbers[1].value if len(numbers) > 1 else Fraction(0)
    if places.denominator != 1 or abs(places) > MAX_DIGITS:
        raise Fault(
            "calculator.places",
            f"the second argument of 'round' is the number of decimal places: a whole number up to {MAX_DIGITS}",
        )
    return keep(round_half_away(settled(number), int(places)), exact=number.exact)


def _root(numbers: Sequence[Number]) -> Number:
    return power(numbers[0], Number(Fraction(1, 2)))


def _cut(to_whole: Callable[[Fraction], int]) -> _Apply:
    return lambda numbers: keep(Fraction(to_whole(settled(numbers[0]))), exact=numbers[0].exact)


def _pick(choose: Callable[[Sequence[Fraction]], Fraction]) -> _Apply:
    return lambda numbers: Number(choose([n.value for n in numbers]), exact=all(n.exact for n in numbers))


_ANY = 1_000

FUNCTIONS: dict[str, Function] = {
    "abs": Function(apply=lambda numbers: Number(abs(numbers[0].value), exact=numbers[0].exact)),
    "avg": Function(apply=_average, most=_ANY),
    "ceil": Function(apply=_cut(math.ceil)),
    "floor": Function(apply=_cut(math.floor)),
    "max": Function(apply=_pick(max), most=_ANY),
    "min": Function(apply=_pick(min), most=_ANY),
    "round": Function(apply=_round, most=2),
    "sqrt": Function(apply=_root),
    "sum": Function(apply=total, most=_ANY),
}
"""By name."""
