"""Facts in files: a key, other names for it, a value, and where it stands."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import cast

from ._decode import decode

FACT_FILES = (".toml", ".json", ".csv")
"""Endings of the files that facts are read from."""

_MAX_BYTES = 10_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """One stored fact."""

    key: str
    value: str
    source: str
    """The file, and in it the line (`prices.csv:3`) or the path of keys (`prices.toml#prices.unit`)."""
    aliases: tuple[str, ...] = ()


def load_facts(path: Path) -> list[Fact]:
    """All facts of one file.

    TOML and JSON: every value is a fact under its key; a table with a `value` is one, with `aliases` if it has any;
    any other table groups facts. CSV: columns `key`, `value` and, if wanted, `aliases` separated by `|`.

    Raises:
        ValueError: the file can't be understood; the text says why.
        OSError: it can't be read.
    """
    text = _text(path)
    match path.suffix.lower():
        case ".toml":
            return list(_facts_in(tomllib.loads(text, parse_float=Decimal), path.name))
        case ".json":
            return list(_facts_in(_json_table(text), path.name))
        case ".csv":
            return list(_facts_in_rows(text, path.name))
        case other:
            raise ValueError(
                f"facts are read from {', '.join(FACT_FILES)}, not from {other or 'a file without ending'}"
            )


def _text(path: Path) -> str:
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"more than {_MAX_BYTES:,} bytes")
    decoded = decode(data)
    if decoded is None:
        raise ValueError("no text in UTF-8, UTF-16 or CP949")
    return decoded.text


def _json_table(text: str) -> Mapping[str, object]:
    table: object = json.loads(text, parse_float=Decimal)
    if not isinstance(table, dict):
        raise ValueError("the outermost value must be an object of keys and values")
    return cast("dict[str, object]", table)


def _facts_in(table: Mapping[str, object], file: str, above: str = "") -> Iterator[Fact]:
    for key, value in table.items():
        where = f"{above}{key}"
        if not isinstance(value, dict):
            yield Fact(key=key, value=_words(value), source=f"{file}#{where}")
            continue
        inner = cast("dict[str, object]", value)
        if "value" in inner and not isinstance(inner["value"], dict):
            aliases = inner.get("aliases", [])
            yield Fact(
                key=key, value=_words(inner["value"]), source=f"{file}#{where}", aliases=_aliases(aliases, where)
            )
        else:
            yield from _facts_in(inner, file, f"{where}.")


def _facts_in_rows(text: str, file: str) -> Iterator[Fact]:
    rows = csv.DictReader(io.StringIO(text), strict=True)
    try:
        if not {"key", "value"} <= {*(rows.fieldnames or [])}:
            raise ValueError("the first line must name the columns: key,value or key,value,aliases")
        for row in rows:
            key, value, aliases = row.get("key"), row.get("value"), row.get("aliases") or ""
            if not key or value is None:
                raise ValueError(f"line {rows.line_num}: a row needs a key and a value")
            names = tuple(name.strip() for name in aliases.split("|") if name.strip())
            yield Fact(key=key.strip(), value=value.strip(), source=f"{file}:{rows.line_num}", aliases=names)
    except csv.Error as error:
        raise ValueError(f"line {rows.reader.line_num}: {error}") from error


def _aliases(value: object, where: str) -> tuple[str, ...]:
    names = cast("list[object]", value) if isinstance(value, list) else [value]
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"`{where}.aliases` must be a list of texts")
    return tuple(str(name) for name in names)


def _words(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(_words(item) for item in cast("list[object]", value))
    if isinstance(value, dict):
        return "; ".join(f"{key}: {_words(item)}" for key, item in cast("dict[str, object]", value).items())
    if value is None or isinstance(value, bool):
        return {None: "", True: "true", False: "false"}[value]
    return f"{value:f}" if isinstance(value, Decimal) else str(value)
