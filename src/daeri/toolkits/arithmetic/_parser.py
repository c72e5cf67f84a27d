"""Tokens to steps: operator precedence with a cursor; the steps come in the order in which a stack runs them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NoReturn

from .._fault import Fault
from ._functions import CONSTANTS, FUNCTIONS
from ._tokens import Token, syntax_fault, tokenize

MAX_DEPTH = 60
"""Brackets, signs and powers inside one another."""

StepKind = Literal["number", "constant", "negate", "percent", "binary", "call"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One move of the stack: push a number, or replace the `count` newest values by one."""

    kind: StepKind
    text: str
    position: int
    count: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Formula:
    """An expression that was read: its canonical text and the steps to its value."""

    text: str
    steps: tuple[Step, ...]


# How tightly the operator holds what stands on its left, and on its right.
_BINARY = {"+": (10, 11), "-": (10, 11), "*": (20, 21), "/": (20, 21), "//": (20, 21), "%": (20, 21), "**": (41, 40)}
_SIGN = 30
_OPERAND = "a number, a function or '('"


def parse(expression: str) -> Formula:
    """Read `expression`.

    Powers bind tighter than a sign before them (`-2 ** 2` is -4) and group from the right. `%` is a remainder when a
    number, a name or `(` follows, otherwise it divides what stands before it by 100: `10%` is 0.1, and `200 + 10%` is
    200.1 as in plain maths.

    Raises:
        Fault: it can't be read, or is too long or too deep.
    """
    parser = _Parser(tokenize(expression))
    parser.expression(0)
    if parser.here.kind != "end":
        parser.refuse("an operator or the end")
    return Formula(text="".join(parser.text), steps=tuple(parser.steps))


class _Parser:
    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self.steps: list[Step] = []
        self.text: list[str] = []

    @property
    def here(self) -> Token:
        return self._tokens[self._at]

    def refuse(self, expected: str) -> NoReturn:
        raise syntax_fault(self.here.position, f"expected {expected}, found {self.here}")

    def expression(self, strength: int) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Fault(
                "calculator.too_complex",
                f"position {self.here.position}: more than {MAX_DEPTH} levels of brackets, signs and powers",
            )
        self._operand()
        while self._continues(strength):
            pass
        self._depth -= 1

    def _continues(self, strength: int) -> bool:
        sign = self.here
        if sign.text == "%" and not self._operand_follows():
            self._take("%")
            self._step("percent", sign, 1)
            return True
        left, right = _BINARY.get(sign.text, (-1, -1))
        if sign.kind != "sign" or left < strength:
            return False
        self._take(f" {sign.text} ")
        self.expression(right)
        self._step("binary", sign, 2)
        return True

    def _operand(self) -> None:
        token = self.here
        if token.kind == "number":
            self._take(token.text)
            self._step("number", token)
        elif token.kind == "name":
            self._name(token)
        elif token.text == "(":
            self._take("(")
            self.expression(0)
            self._close("an operator or ')'")
        elif token.text in {"+", "-"}:
            self._take("-" if token.text == "-" else "")
            self.expression(_SIGN)
            if token.text == "-":
                self._step("negate", token, 1)
        else:
            self.refuse(_OPERAND)

    def _name(self, name: Token) -> None:
        if name.text in CONSTANTS:
            self._take(name.text)
            self._step("constant", name)
            return
        function = FUNCTIONS.get(name.text)
        if function is None:
            known = ", ".join(sorted({*FUNCTIONS, *CONSTANTS}))
            raise syntax_fault(name.position, f"{name.text!r} is not known; expected a number or one of {known}")
        self._take(name.text)
        if self.here.text != "(":
            self.refuse(f"'(' after {name.text!r}")
        count = self._arguments()
        if not function.fewest <= count <= function.most:
            raise syntax_fault(name.position, f"{name.text!r} takes {function.takes}, got {count}")
        self._step("call", name, count)

    def _arguments(self) -> int:
        self._take("(")
        if self.here.text == ")":
            self._take(")")
            return 0
        self.expression(0)
        count = 1
        while self.here.text == ",":
            self._take(", ")
            self.expression(0)
            count += 1
        self._close("an operator, ',' or ')'")
        return count

    def _close(self, expected: str) -> None:
        if self.here.text != ")":
            self.refuse(expected)
        self._take(")")

    def _operand_follows(self) -> bool:
        after = self._tokens[self._at + 1]
        return after.kind in {"number", "name"} or after.text == "("

    def _take(self, canonical: str) -> None:
        self.text.append(canonical)
        self._at += 1

    def _step(self, kind: StepKind, token: Token, count: int = 0) -> None:
        self.steps.append(Step(kind=kind, text=token.text, position=token.position, count=count))
