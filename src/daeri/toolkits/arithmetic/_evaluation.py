"""Steps to a value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from .._fault import Fault
from ._functions import CONSTANTS, FUNCTIONS
from ._numbers import MAX_DIGITS, Number, add, division_by_zero, keep, power, settled, too_large, written
from ._parser import Step, parse


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """The value of an expression in decimal digits, and the expression in its one canonical form."""

    expression: str
    text: str
    exact: bool
    """False when `text` was rounded, or anything on the way to it."""


def evaluate(expression: str) -> Result:
    """The value of `expression`.

    Raises:
        Fault: it can't be read, has no value, or costs more than is allowed.
    """
    formula = parse(expression)
    stack: list[Number] = []
    for step in formula.steps:
        taken = stack[len(stack) - step.count :]
        del stack[len(stack) - step.count :]
        try:
            stack.append(_run(step, taken))
        except Fault as fault:
            raise Fault(fault.key, f"position {step.position}: {fault.diagnostic}", **fault.values) from None
    text, exact = written(stack[-1])
    return Result(expression=formula.text, text=text, exact=exact)


def _run(step: Step, taken: list[Number]) -> Number:
    match step.kind:
        case "number":
            return _literal(step.text)
        case "constant":
            return CONSTANTS[step.text]
        case "negate":
            return _negative(taken[0])
        case "percent":
            return keep(taken[0].value / 100, exact=taken[0].exact)
        case "binary":
            return _BINARY[step.text](taken[0], taken[1])
        case "call":
            return FUNCTIONS[step.text].apply(taken)


def _literal(text: str) -> Number:
    exponent = text.lower().partition("e")[2].lstrip("+-")
    # Before the number is built: 1e999999999 would fill the memory.
    if len(exponent.lstrip("0")) > len(str(MAX_DIGITS)):
        raise too_large()
    return keep(Fraction(text), exact=True)


def _negative(number: Number) -> Number:
    return Number(-number.value, exact=number.exact)


def _product(left: Number, right: Number) -> Number:
    return keep(left.value * right.value, exact=left.exact and right.exact)


def _quotient(left: Number, right: Number) -> Number:
    return keep(left.value / _divisor(right), exact=left.exact and right.exact)


def _whole_quotient(left: Number, right: Number) -> Number:
    exact = left.exact and right.exact
    return keep(Fraction(settled(Number(left.value / _divisor(right), exact=exact)) // 1), exact=exact)


def _remainder(left: Number, right: Number) -> Number:
    return add(left, _negative(_product(right, _whole_quotient(left, right))))


def _divisor(number: Number) -> Fraction:
    if number.value == 0:
        raise division_by_zero()
    return number.value


_BINARY: dict[str, Callable[[Number, Number], Number]] = {
    "+": add,
    "-": lambda left, right: add(left, _negative(right)),
    "*": _product,
    "/": _quotient,
    "//": _whole_quotient,
    "%": _remainder,
    "**": power,
}
