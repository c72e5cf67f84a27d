"""JSON text from a model or a client, read strictly, with the place of what is wrong in it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from daeri.text import Json

MAX_INTEGER_DIGITS = 1000
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_LITERALS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_CUT_NUMBER = re.compile(r"-|(?:\.\d*)?(?:[eE][+-]?)?")
_CUT_ESCAPE = re.compile(r'\\u?[0-9a-fA-F]{0,4}"?')


class JsonTextError(ValueError):
    """A text that is not one JSON value, or not one that everybody reads alike.

    `truncated` says that the text ends inside an unfinished value: what is there may be right, the rest is missing.
    """

    def __init__(self, text: str, at: int, problem: str, *, truncated: bool = False) -> None:
        self.at = at
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)
        self.problem = problem
        self.truncated = truncated
        super().__init__(f"line {self.line}, column {self.column}: {problem}")


class _UnsafeValueError(ValueError):
    """A value that the standard parser takes and others don't; where it stands is found afterwards."""


def parse_json(text: str) -> Json:
    """The value of a JSON text; stricter than the standard parser.

    Raises:
        JsonTextError: the text is malformed, cut off or nested too deeply, or holds a duplicate key, NaN, an infinity,
            a number too large for a double or an integer of more than a thousand digits.
    """
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _malformed(text, error) from None
    except _UnsafeValueError:
        raise _unsafe(text) from None
    except RecursionError:
        raise JsonTextError(text, 0, "the value is nested too deeply") from None


def _unique(pairs: list[tuple[str, Json]]) -> Json:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _UnsafeValueError
    return value


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise _UnsafeValueError
    return value


def _integer(text: str) -> int:
    if len(text) > MAX_INTEGER_DIGITS:
        raise _UnsafeValueError
    return int(text)


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_float=_finite, parse_int=_integer, parse_constant=_finite)


def _malformed(text: str, error: json.JSONDecodeError) -> JsonTextError:
    rest = text[error.pos :]
    if not text.strip():
        return JsonTextError(text, 0, "the text is empty")
    problem = error.msg[0].lower() + error.msg[1:]
    if _is_cut(text, error, rest):
        return JsonTextError(text, len(text), f"the text ends before the value does ({problem})", truncated=True)
    return JsonTextError(text, error.pos, f"{problem}, found {rest[:20]!r}")


def _is_cut(text: str, error: json.JSONDecodeError, rest: str) -> bool:
    if not rest.strip() or error.msg.startswith("Unterminated string"):
        return True
    if error.msg.startswith("Invalid \\"):
        return bool(_CUT_ESCAPE.fullmatch(text[text.rfind("\\", 0, error.pos + 1) :]))
    if error.msg.startswith("Expecting value"):
        return rest == "-" or any(literal.startswith(rest) for literal in _LITERALS)
    return text[error.pos - 1 : error.pos].isdigit() and bool(_CUT_NUMBER.fullmatch(rest))


@dataclass(slots=True)
class _Scope:
    """An open object or array while a text is scanned for what made it unsafe."""

    is_object: bool
    keys: set[str] = field(default_factory=set[str])
    at_key: bool = True


def _unsafe(text: str) -> JsonTextError:
    scopes: list[_Scope] = []
    for at, token in _tokens(text):
        problem = _step(scopes, token)
        if problem:
            return JsonTextError(text, at, problem)
    return JsonTextError(text, 0, "the value is not safe to read")


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    for found in _TOKEN.finditer(text):
        yield found.start(), found[0]


def _step(scopes: list[_Scope], token: str) -> str | None:
    if token in "{[":
        scopes.append(_Scope(is_object=token == "{"))
    elif token in "}]":
        scopes.pop()
    elif token in ",:":
        scopes[-1].at_key = token == ","
    elif token[0] == '"':
        return _key_problem(scopes[-1], json.loads(token)) if scopes else None
    else:
        return _number_problem(token)
    return None


def _key_problem(scope: _Scope, text: str) -> str | None:
    if not scope.is_object or not scope.at_key:
        return None
    if text in scope.keys:
        return f"the key {text[:80]!r} stands twice in one object"
    scope.keys.add(text)
    return None


def _number_problem(token: str) -> str | None:
    if token in ("true", "false", "null"):
        return None
    if token.lstrip("-").isdigit():
        return f"an integer of {len(token)} digits is too large" if len(token) > MAX_INTEGER_DIGITS else None
    return None if math.isfinite(float(token)) else f"{token[:40]} is not a JSON number"
