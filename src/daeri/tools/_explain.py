"""From the many errors of a validator to the one problem that is worth telling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from daeri.text import JsonObject

from ._names import closest_names
from ._pointer import json_pointer, resolve_pointer
from ._problem import SchemaProblem, expectation, found, name_list, place, repair_hint, type_names

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_ALTERNATIVES = ("anyOf", "oneOf")
_UNKNOWN = ("additionalProperties", "unevaluatedProperties")
_CHOICES = ("const", "enum")
_GUESSED = 5
"""Of how many unknown names it is said which one was probably meant."""


def explain(errors: Sequence[ValidationError], schema: JsonObject) -> SchemaProblem:
    """The problem to repair first: nearest to the top; inside alternatives, from the one that was most likely meant."""
    error = min(errors, key=_rank)
    keyword = error.kind.name
    if keyword in _ALTERNATIVES:
        return _explain_alternatives(error, schema)
    if keyword == "required" or keyword in _UNKNOWN:
        return _explain_properties(errors, error.instance_path, schema)
    if keyword == "propertyNames":
        inner = cast("ValidationError", error.kind.value)
        wanted = expectation(inner.kind.name, inner.kind.value)
        return _mismatch(error, wanted, what=f"the property name {inner.instance!r}")
    return _mismatch(error, expectation(keyword, error.kind.value))


def _rank(error: ValidationError) -> tuple[int, int]:
    keyword = error.kind.name
    if keyword == "required" or keyword in _UNKNOWN:
        return len(error.instance_path), 0
    # choices say more than the type that they all have
    return len(error.instance_path), 1 if keyword in _CHOICES else 2


def _mismatch(error: ValidationError, expected: str, *, what: str | None = None) -> SchemaProblem:
    path = json_pointer(error.instance_path)
    return SchemaProblem(
        path=path,
        message=f"At {place(path)}: found {what or found(error.instance)}, expected {expected}.",
        expected=expected,
        hint=repair_hint(error.kind.name, error.kind.value, error.instance),
    )


def _explain_properties(
    errors: Sequence[ValidationError], instance_path: Sequence[str | int], schema: JsonObject
) -> SchemaProblem:
    here = [error for error in errors if error.instance_path == instance_path]
    missing = [cast("str", error.kind.value) for error in here if error.kind.name == "required"]
    unknown = list(chain.from_iterable(error.kind.value for error in here if error.kind.name in _UNKNOWN))
    sources = [error for error in here if error.kind.name == "required" or error.kind.name in _UNKNOWN]
    known = _known_properties(sources, schema)
    path = json_pointer(instance_path)
    complaints: list[str] = []
    if missing:
        complaints.append("missing " + ", ".join(f"`{name}`{_type_note(known.get(name))}" for name in missing))
    if unknown:
        complaints.append(f"unknown {name_list(unknown)}")
    return SchemaProblem(
        path=path,
        message=f"At {place(path)}: {'; '.join(complaints)}.",
        expected=f"the properties {name_list(list(known))}" if known else "no properties",
        hint=_property_hint(unknown, missing, list(known)),
    )


def _property_hint(unknown: Sequence[str], missing: Sequence[str], known: Sequence[str]) -> str:
    if not unknown:
        return ""
    guesses: list[str] = []
    for name in unknown[:_GUESSED]:
        # a missing one first: most unknown names are misspellings of it
        near = closest_names(name, missing, 1) or closest_names(name, known, 1)
        if near:
            guesses.append(f"Did you mean `{near[0]}` instead of `{name}`?")
    listing = f"Known properties: {name_list(known)}." if known else "It takes no properties."
    return " ".join([*guesses, listing])


def _type_note(schema: Any) -> str:
    if isinstance(schema, Mapping):
        kind = cast("Mapping[str, Any]", schema).get("type")
        if isinstance(kind, str):
            return f" ({kind})"
    return ""


def _known_properties(errors: Sequence[ValidationError], schema: JsonObject) -> dict[str, Any]:
    known: dict[str, Any] = {}
    for error in errors:
        try:
            holder = resolve_pointer(schema, json_pointer(error.schema_path[:-1]))
        except LookupError:
            continue
        if isinstance(holder, Mapping) and isinstance(properties := holder.get("properties"), Mapping):
            known |= properties
    return known


def _explain_alternatives(error: ValidationError, schema: JsonObject) -> SchemaProblem:
    branches = [list(branch) for branch in error.kind.value if branch]
    depth = len(error.instance_path)
    if not branches:
        return _mismatch(error, expectation("oneOf", None))
    entered = [branch for branch in branches if not _refuses_whole(branch, depth)]
    if not entered:
        return _mismatch_of_all(error, [_first(branch) for branch in branches])
    untagged = [branch for branch in entered if not _tag_errors(branch, depth)]
    if not untagged and (tags := _shared_tag(entered, depth)):
        return _mismatch_of_all(tags[0], tags)
    return explain(min(untagged or entered, key=len), schema)


def _refuses_whole(branch: Sequence[ValidationError], depth: int) -> bool:
    return any(len(e.instance_path) == depth and e.kind.name in ("type", *_CHOICES) for e in branch)


def _tag_errors(branch: Sequence[ValidationError], depth: int) -> list[ValidationError]:
    return [e for e in branch if len(e.instance_path) == depth + 1 and e.kind.name in _CHOICES]


def _shared_tag(branches: Sequence[Sequence[ValidationError]], depth: int) -> list[ValidationError]:
    tags = [error for branch in branches for error in _tag_errors(branch, depth)]
    return tags if len({tuple(error.instance_path) for error in tags}) == 1 else []


def _first(branch: Sequence[ValidationError]) -> ValidationError:
    return min(branch, key=_rank)


def _mismatch_of_all(error: ValidationError, causes: Sequence[ValidationError]) -> SchemaProblem:
    types = list(chain.from_iterable(cause.kind.value for cause in causes if cause.kind.name == "type"))
    options: list[Any] = []
    for cause in causes:
        if cause.kind.name == "enum":
            options += cause.kind.value
        elif cause.kind.name == "const":
            options.append(cause.kind.value)
    others = [
        expectation(cause.kind.name, cause.kind.value) for cause in causes if cause.kind.name not in ("type", *_CHOICES)
    ]
    wanted = [expectation("enum", options)] if options else []
    wanted += [type_names(list(dict.fromkeys(types)))] if types else []
    expected = " or ".join(dict.fromkeys([*wanted, *others]))
    path = json_pointer(error.instance_path)
    hints = [repair_hint("enum", options, error.instance), repair_hint("type", types, error.instance)]
    return SchemaProblem(
        path=path,
        message=f"At {place(path)}: found {found(error.instance)}, expected {expected}.",
        expected=expected,
        hint=next((hint for hint in hints if hint), ""),
    )
