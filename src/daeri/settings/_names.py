"""The names of settings: dotted in `daeri.toml`, one environment name each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast, get_args, get_origin

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from ._section import Section
from ._tree import Settings

SettingKind = Literal["value", "list", "table", "secret"]
"""How its text in the environment is read: as it stands, as a list (`a,b` or JSON), as a JSON object; `secret`: as it
stands, and never shown."""

_SHORT_NAMES = {"model.reference": "DAERI_MODEL"}


@dataclass(frozen=True, kw_only=True, slots=True)
class SettingRow:
    """One setting, as documentation and diagnostics show it."""

    name: str
    """Dotted, as in `daeri.toml`: `limits.max_steps` is `max_steps` in the table `[limits]`."""
    env: str
    kind: SettingKind
    default: str
    description: str
    structured: bool
    """Whether it holds tables, each with names of its own."""


@cache
def settings_table() -> tuple[SettingRow, ...]:
    """Every setting, in the order of the tree."""
    rows: list[SettingRow] = []
    for name, field in Settings.model_fields.items():
        section = field.annotation
        if isinstance(section, type) and issubclass(section, Section):
            rows += [_row(f"{name}.{key}", inner) for key, inner in section.model_fields.items()]
        elif name != "sources":
            rows.append(_row(name, field))
    return tuple(rows)


@cache
def setting_names() -> frozenset[str]:
    """Every dotted name."""
    return frozenset(row.name for row in settings_table())


def find_row(name: str) -> SettingRow | None:
    """The setting with this dotted name, or that a name inside it belongs to (`model.prices.NAME`)."""
    return next((row for row in settings_table() if name == row.name or name.startswith(f"{row.name}.")), None)


def _row(name: str, field: FieldInfo) -> SettingRow:
    default: object = field.get_default(call_default_factory=True, validated_data={})
    return SettingRow(
        name=name,
        env=_SHORT_NAMES.get(name, "DAERI_" + name.replace(".", "_").upper()),
        kind=_kind(field.annotation),
        default=_default_text(default),
        description=field.description or "",
        structured=any(isinstance(held, type) and issubclass(held, Section) for held in get_args(field.annotation)),
    )


def _kind(annotation: object) -> SettingKind:
    if SecretStr in (annotation, *get_args(annotation)):
        return "secret"
    if get_origin(annotation) is dict:
        return "table"
    return "list" if get_origin(annotation) is tuple else "value"


def _default_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | dict):
        return ", ".join(str(item) for item in cast("Iterable[object]", value))
    return str(value)
