"""What is wrong with a value, in words that tell a model how to repair it."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ._formats import EXAMPLES

_SHOWN_CHARS = 80
_SHOWN_NAMES = 20
_COMPARED_CHARS = 200
_TYPES = {
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
    "null": "null",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class SchemaProblem:
    """The one thing about a value that is best repaired first."""

    path: str
    """JSON Pointer of the place; empty for the whole value."""
    message: str
    """What was found there and what is wanted, as a sentence."""
    expected: str = ""
    """What is wanted, alone: `an integer`, `one of "a", "b"`."""
    hint: str = ""
    """What to do, where that can be guessed."""

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


def place(path: str) -> str:
    """How a sentence names a place."""
    return f"`{path}`" if path else "the top level"


def found(value: Any) -> str:
    """How a sentence names a value: its kind, and itself where it is short."""
    if isinstance(value, str):
        return f"the string {shown(value)}"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, Sequence):
        return f"an array of {len(cast('Sequence[Any]', value))} items"
    return shown(value) if value is None or isinstance(value, bool) else f"the number {shown(value)}"


def shown(value: Any) -> str:
    """A value as JSON, cut when it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}…"


def name_list(names: Sequence[str]) -> str:
    """Names in backticks; a long list is cut and says so."""
    text = ", ".join(f"`{name}`" for name in names[:_SHOWN_NAMES])
    left = len(names) - _SHOWN_NAMES
    return text if left <= 0 else f"{text} and {left} more"


def expectation(keyword: str, limit: Any) -> str:
    """What a schema keyword wants, as a noun phrase; `limit` is its value."""
    describe = _EXPECTED.get(keyword)
    return describe(limit) if describe else f"a value that satisfies `{keyword}`"


def type_names(types: Sequence[str]) -> str:
    """`an integer or null`."""
    # null last: it reads as the exception
    ordered = sorted(types, key=lambda name: (name == "null", name))
    return " or ".join(_TYPES.get(name, name) for name in ordered)


def repair_hint(keyword: str, limit: Any, value: Any) -> str:
    """What a writer most likely meant, for mistakes that are often made; else nothing."""
    if not isinstance(value, str):
        return ""
    if keyword == "enum":
        near = _closest(value, [option for option in cast("list[Any]", limit) if isinstance(option, str)])
        return f"Did you mean {shown(near)}?" if near else ""
    if keyword == "type":
        return _type_hint(cast("list[str]", limit), value)
    return ""


def _closest(value: str, options: Sequence[str]) -> str | None:
    if len(value) > _COMPARED_CHARS:
        return None
    folded = {option.casefold(): option for option in options}
    near = difflib.get_close_matches(value.casefold(), folded, n=1, cutoff=0.6)
    return folded[near[0]] if near else None


def _type_hint(types: Sequence[str], text: str) -> str:
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if isinstance(inner, dict | list) and {"object", "array"} & set(types):
        return "Send the value itself, not a string that holds its JSON text."
    if isinstance(inner, int | float) and {"integer", "number", "boolean"} & set(types):
        return f"Write it without quotes: {shown(inner)}."
    return ""


def _format(name: str) -> str:
    example = EXAMPLES.get(name)
    return f"a {name}" + (f" such as {example}" if example else "")


_EXPECTED: dict[str, Callable[[Any], str]] = {
    "type": type_names,
    "enum": lambda options: "one of " + ", ".join(shown(option) for option in options[:_SHOWN_NAMES]),
    "const": shown,
    "format": _format,
    "pattern": lambda pattern: f"a string that matches the pattern {pattern}",
    "minimum": lambda limit: f"at least {limit}",
    "maximum": lambda limit: f"at most {limit}",
    "exclusiveMinimum": lambda limit: f"more than {limit}",
    "exclusiveMaximum": lambda limit: f"less than {limit}",
    "multipleOf": lambda step: f"a multiple of {step}",
    "minLength": lambda limit: f"at least {limit} characters",
    "maxLength": lambda limit: f"at most {limit} characters",
    "minItems": lambda limit: f"at least {limit} items",
    "maxItems": lambda limit: f"at most {limit} items",
    "additionalItems": lambda limit: f"at most {limit} items",
    "unevaluatedItems": lambda _: "no further items",
    "uniqueItems": lambda _: "items that all differ",
    "minProperties": lambda limit: f"at least {limit} properties",
    "maxProperties": lambda limit: f"at most {limit} properties",
    "falseSchema": lambda _: "nothing: no value is allowed here",
    "oneOf": lambda _: "a value that fits exactly one of the alternatives",
    "not": lambda _: "a value other than that",
}
