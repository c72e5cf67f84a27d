"""Characters to tokens: signs of many keyboards become one, thousands separators go."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from .._fault import Fault

MAX_LENGTH = 1_000
"""Characters of one expression."""

TokenKind = Literal["number", "name", "sign", "end"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """One word of an expression; `position` counts characters from 1."""

    kind: TokenKind
    text: str
    position: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text)


# One character for one character, so that positions in the diagnostic are those of the text as it was written.
_SAME_SIGNS = {full: full - 0xFEE0 for full in range(0xFF01, 0xFF5F)} | {
    ord(written): ord(plain)
    for plain, others in {"*": "×∙·⋅∗ㆍ", "/": "÷∕", "-": "−–—‐‑", " ": "\u3000\u00a0\u2009\u202f"}.items()
    for written in others
}
_WORD = re.compile(
    r"(?P<number>(?:[1-9][0-9]{0,2}(?:,[0-9]{3}(?![0-9]))+|[0-9]+)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?"
    r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z]+)"
    r"|(?P<sign>\*\*|//|[-+*/%^(),])"
)
_CURRENCY = frozenset("$₩€£¥￦")


def syntax_fault(position: int, problem: str) -> Fault:
    """The fault of an expression that can't be read, and where."""
    return Fault("calculator.syntax", f"position {position}: {problem}", position=position)


def tokenize(expression: str) -> list[Token]:
    """The tokens of `expression`, closed by one of kind `end`.

    Raises:
        Fault: too long, a character that has no meaning here, or a comma that could mean two things.
    """
    if len(expression) > MAX_LENGTH:
        raise Fault(
            "calculator.too_complex",
            f"the expression has {len(expression):,} characters; at most {MAX_LENGTH:,} are allowed",
        )
    text = expression.translate(_SAME_SIGNS)
    tokens: list[Token] = []
    in_call: list[bool] = []
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        found = _WORD.match(text, position)
        if found is None or found.lastgroup is None:
            raise syntax_fault(position + 1, _unknown(expression[position]))
        token = _token(found, in_call)
        _follow_brackets(token, tokens, in_call)
        tokens.append(token)
        position = found.end()
    tokens.append(Token(kind="end", text="", position=len(text) + 1))
    return tokens


def _token(found: re.Match[str], in_call: list[bool]) -> Token:
    word, position = found.group(), found.start() + 1
    if found["name"] is not None:
        return Token(kind="name", text=word.lower(), position=position)
    if found["sign"] is not None:
        return Token(kind="sign", text="**" if word == "^" else word, position=position)
    if "," in word and in_call and in_call[-1]:
        first = word.partition(",")[0]
        raise syntax_fault(
            position + len(first),
            f"inside a function {word!r} could be one number or several; "
            f"write {word.replace(',', ', ')} for several, {word.replace(',', '')} for one",
        )
    return Token(kind="number", text=word.replace(",", ""), position=position)


def _follow_brackets(token: Token, before: list[Token], in_call: list[bool]) -> None:
    if token.text == "(":
        in_call.append(bool(before) and before[-1].kind == "name")
    elif token.text == ")" and in_call:
        in_call.pop()


def _unknown(char: str) -> str:
    if char in _CURRENCY or char.isalpha():
        return f"{char!r} has no meaning here; write numbers without currencies, units or words"
    return f"{char!r} has no meaning here; expected a number, a function, an operator or a bracket"
