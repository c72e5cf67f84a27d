"""Nulls that a writer put where nothing was meant to be: most models spell "not given" that way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from daeri.text import Json

if TYPE_CHECKING:
    from jsonschema_rs import ValidationError

_Path: TypeAlias = "tuple[str | int, ...]"

_ALTERNATIVES = ("anyOf", "oneOf")
_OF_NAMES = ("properties", "patternProperties")
_OF_ANY_NAME = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_OF_ITEMS = ("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains")
_BY_PRESENCE = ("dependentSchemas", "dependencies")


def drop_absent(value: Json, errors_of: Callable[[Json], Sequence[ValidationError]]) -> Json:
    """The value without the nulls that the schema refuses and that can be left out.

    Such a null is the value of a declared, optional property. Whatever the schema accepts stays: a value without errors
    comes back as the same object. A null that is missed when it goes stays too, and is then refused as the null it is.
    """
    errors = errors_of(value)
    missed: set[_Path] = set()
    while absent := _absent(errors) - missed:
        shorter = _without(value, absent)
        left = errors_of(shorter)
        wanted = _missed(absent, errors, left)
        if wanted:
            missed |= wanted
        else:
            value, errors = shorter, left
    return value


def _absent(errors: Iterable[ValidationError]) -> set[_Path]:
    found: set[_Path] = set()
    for error in errors:
        found |= _absent_behind(error)
    return found


def _absent_behind(error: ValidationError) -> set[_Path]:
    """The nulls that one error is about, if it is about nothing else."""
    path = tuple(error.instance_path)
    if error.instance is None:
        return {path} if path and _is_declared(error.evaluation_path) else set()
    if error.kind.name not in _ALTERNATIVES:
        return set()
    branches: Sequence[Sequence[ValidationError]] = error.kind.value
    for branch in branches:
        if found := _absent_in_whole(branch):
            return found
    return set()


def _absent_in_whole(branch: Sequence[ValidationError]) -> set[_Path]:
    found: set[_Path] = set()
    for error in branch:
        part = _absent_behind(error)
        if not part:
            # an alternative that fails for another reason too was not the one that was meant
            return set()
        found |= part
    return found


def _is_declared(schema_path: Sequence[str | int]) -> bool:
    """Whether the schema describes the place by the name of a property, not as one entry among any."""
    last, index = "", 0
    while index < len(schema_path):
        keyword = schema_path[index]
        if keyword in _OF_NAMES or keyword in _OF_ANY_NAME or keyword in _OF_ITEMS:
            last = str(keyword)
        # what follows these is a name, even if it looks like a keyword
        index += 2 if keyword in _OF_NAMES or keyword in _BY_PRESENCE else 1
    return last == "properties"


def _missed(absent: set[_Path], before: Iterable[ValidationError], after: Iterable[ValidationError]) -> set[_Path]:
    known = {(tuple(error.instance_path), error.kind.name) for error in before}
    missed: set[_Path] = set()
    for error in after:
        place, keyword = tuple(error.instance_path), error.kind.name
        if keyword == "required" and (path := (*place, cast("str", error.kind.value))) in absent:
            missed.add(path)
        elif keyword in _ALTERNATIVES or (place, keyword) not in known:
            missed |= {path for path in absent if path[: len(place)] == place}
    return missed


def _without(value: Json, absent: set[_Path], at: _Path = ()) -> Json:
    if isinstance(value, Mapping):
        return {key: _without(item, absent, (*at, key)) for key, item in value.items() if (*at, key) not in absent}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_without(item, absent, (*at, index)) for index, item in enumerate(value)]
    return value
