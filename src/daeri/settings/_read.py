"""Reading the layers: `daeri.toml`, `.env`, the environment, overrides."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from pydantic_settings import DotEnvSettingsSource

from daeri.errors import SettingsError
from daeri.text import Locale, message

from ._names import SettingRow, setting_names, settings_table
from ._problems import unknown_setting, wrong_setting
from ._tree import Settings

PROJECT_FILE = "daeri.toml"
_PREFIX = "DAERI_"
_PLACE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$")

Values = dict[str, object]


def find_project_file(start: Path) -> Path | None:
    """The nearest `daeri.toml` in `start` or a folder above it."""
    folder = start.resolve()
    return next((file for at in (folder, *folder.parents) if (file := at / PROJECT_FILE).is_file()), None)


def read_toml(file: Path, locale: Locale) -> tuple[Values, list[SettingsError]]:
    """The values of a `daeri.toml`, and an error per unknown name.

    Raises:
        SettingsError: the file is not TOML in UTF-8, or can't be read.
    """
    text = _read_text(file, locale)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = _PLACE.search(str(error))
        line = (found and found[1]) or len(text.splitlines())
        raise SettingsError(
            PROJECT_FILE,
            f"{file}:{line}",
            message("settings.problem.not_toml", locale, detail=_PLACE.sub("", str(error))),
            message("settings.fix.not_toml", locale),
        ) from None
    return values, _check_names(values, locale)


def read_env_file(file: Path, locale: Locale) -> Mapping[str, str]:
    """The names and texts of a `.env`.

    Raises:
        SettingsError: the file is not UTF-8 or can't be read.
    """
    _read_text(file, locale)
    source = DotEnvSettingsSource(Settings, env_file=file, env_file_encoding="utf-8-sig", case_sensitive=True)
    return {name: text for name, text in source.env_vars.items() if text is not None}


def from_environment(texts: Mapping[str, str], locale: Locale) -> tuple[Values, list[SettingsError]]:
    """The values of all `DAERI_` names, and an error per wrong one; empty texts count as unset."""
    values: Values = {}
    errors: list[SettingsError] = []
    rows = {row.env: row for row in settings_table()}
    for env, text in texts.items():
        if not env.startswith(_PREFIX) or not text.strip():
            continue
        row = rows.get(env)
        if row is None:
            errors.append(unknown_setting("", text, locale, env=env))
            continue
        try:
            _put(values, row.name, _decode(row, text))
        except ValueError:
            errors.append(wrong_setting(row.name, text, "not_json", locale))
    return values, errors


def from_overrides(overrides: Mapping[str, object], locale: Locale) -> tuple[Values, list[SettingsError]]:
    """The values of dotted names; `None` counts as unset."""
    values: Values = {}
    errors: list[SettingsError] = []
    for name, value in overrides.items():
        if value is None:
            continue
        if name in setting_names():
            _put(values, name, value)
        else:
            errors.append(unknown_setting(name, value, locale))
    return values, errors


def _read_text(file: Path, locale: Locale) -> str:
    try:
        return file.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        detail = error.strerror if isinstance(error, OSError) else "UTF-8"
        raise SettingsError(
            file.name,
            str(file),
            message("settings.problem.unreadable", locale, detail=detail),
            message("settings.fix.unreadable", locale),
        ) from None


def _decode(row: SettingRow, text: str) -> object:
    if row.kind == "table" or (row.kind == "list" and text.lstrip().startswith("[")):
        return json.loads(text)
    if row.kind == "list":
        return [part.strip() for part in text.split(",") if part.strip()]
    return text


def _put(values: Values, name: str, value: object) -> None:
    *sections, key = name.split(".")
    table = values
    for section in sections:
        table = cast("Values", table.setdefault(section, {}))
    table[key] = value


def _check_names(values: Mapping[str, object], locale: Locale, prefix: str = "") -> list[SettingsError]:
    """An error per name that the tree doesn't have, and per section that is no table.

    Layers are merged before they are checked, and a section that is no table would vanish in that.
    """
    errors: list[SettingsError] = []
    for key, value in values.items():
        name = f"{prefix}{key}"
        if name in setting_names():
            continue
        if not any(known.startswith(f"{name}.") for known in setting_names()):
            errors.append(unknown_setting(name, value, locale))
        elif isinstance(value, dict):
            errors += _check_names(cast("Values", value), locale, f"{name}.")
        else:
            errors.append(wrong_setting(name, value, "table", locale))
    return errors
