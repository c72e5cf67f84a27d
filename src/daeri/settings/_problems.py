"""Wrong settings, in words that say which, why, and what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from daeri.errors import SettingsError
from daeri.text import Locale, message

from ._names import find_row, setting_names, settings_table

MASK = "********"
_MAX_SHOWN = 120
_PASSWORD_IN_ADDRESS = re.compile(r"//[^/@\s]*@")
_SECRET_NAME = re.compile("key|secret|token|passw|credential|auth", re.IGNORECASE)
_PROBLEMS = {
    "int_parsing": "whole_number",
    "int_type": "whole_number",
    "int_from_float": "whole_number",
    "int_parsing_size": "whole_number",
    "float_parsing": "number",
    "float_type": "number",
    "decimal_parsing": "number",
    "decimal_type": "number",
    "bool_parsing": "boolean",
    "bool_type": "boolean",
    "string_type": "text",
    "path_type": "text",
    "tuple_type": "list",
    "list_type": "list",
    "dict_type": "table",
    "model_type": "table",
    "model_attributes_type": "table",
    "literal_error": "choice",
    "greater_than": "range",
    "greater_than_equal": "range",
    "less_than": "range",
    "less_than_equal": "range",
    "finite_number": "range",
    "string_pattern_mismatch": "pattern",
    "string_too_short": "empty",
    "missing": "missing_value",
}


def unknown_setting(name: str, value: object, locale: Locale, *, env: str | None = None) -> SettingsError:
    """There is no setting `name` (or no environment name `env`); names the closest one."""
    known = [row.env for row in settings_table()] if env else sorted(setting_names())
    close = difflib.get_close_matches(env or name, known, n=1, cutoff=0.7)
    return SettingsError(
        env or name,
        MASK if _SECRET_NAME.search(env or name) else shown(env or name, value),
        message("settings.problem.unknown", locale),
        message("settings.fix.unknown_similar", locale, name=close[0])
        if close
        else message("settings.fix.unknown", locale),
    )


def wrong_setting(name: str, value: object, problem: str, locale: Locale, **places: object) -> SettingsError:
    """The setting `name` has a value with the catalogue's `problem`; secrets are masked."""
    fix = places.pop("fix", problem)
    return SettingsError(
        label(name),
        shown(name, value),
        message(f"settings.problem.{problem}", locale, **places),
        message(f"settings.fix.{fix}", locale, name=name, **places),
    )


def first_of(errors: Sequence[SettingsError], locale: Locale) -> SettingsError:
    """The first error, which also says how many more settings are wrong."""
    first, more = errors[0], len({error.setting for error in errors}) - 1
    if not more:
        return first
    rest = message("settings.more_one" if more == 1 else "settings.more", locale, count=more)
    return SettingsError(first.setting, first.value, first.problem, f"{first.fix} {rest}")


def from_validation(error: ValidationError, locale: Locale) -> list[SettingsError]:
    """What pydantic found, one error per setting; unknown names were found when the layers were read."""
    found: dict[str, SettingsError] = {}
    for detail in error.errors(include_url=False):
        # an entry of a list is counted from 1, as people do
        place = ".".join(str(part + 1 if isinstance(part, int) else part) for part in detail["loc"])
        row = find_row(place)
        structured = row is not None and row.structured
        if detail["type"] == "extra_forbidden":
            if structured:
                found.setdefault(place, unknown_setting(place, detail["input"], locale))
            continue
        name = place if structured else row.name if row else str(detail["loc"][0])
        found.setdefault(name, _from_detail(name, detail, locale))
    return list(found.values())


def label(name: str) -> str:
    """Both names of a setting: dotted, and in the environment."""
    row = find_row(name)
    return f"{row.name} ({row.env})" if row and (row.name == name or not row.structured) else name


def shown(name: str, value: object) -> object:
    """A value as it may be printed: secrets and tables that may hold them masked, long texts cut."""
    row = find_row(name)
    if (row and row.kind == "secret") or (row is None and not isinstance(value, str | int | float)):
        return MASK
    if isinstance(value, str):
        value = _PASSWORD_IN_ADDRESS.sub(f"//{MASK}@", value)
        return value if len(value) <= _MAX_SHOWN else value[:_MAX_SHOWN] + "…"
    return value


def _from_detail(name: str, detail: ErrorDetails, locale: Locale) -> SettingsError:
    kind, context = detail["type"], detail.get("ctx", {})
    if name == "model.prices" and kind != "dict_type":
        return wrong_setting(name, detail["input"], "pair", locale)
    if kind == "value_error":
        return wrong_setting(name, detail["input"], str(context["error"]), locale)
    problem = _PROBLEMS.get(kind, "invalid")
    if problem == "choice":
        return wrong_setting(name, detail["input"], problem, locale, allowed=_choices(context))
    if problem == "range":
        return wrong_setting(name, detail["input"], problem, locale, allowed=_range(context, locale))
    return wrong_setting(name, detail["input"], problem, locale, detail=detail["msg"])


def _choices(context: Mapping[str, object]) -> str:
    return ", ".join(re.findall("'([^']*)'", str(context["expected"])))


def _range(context: Mapping[str, object], locale: Locale) -> str:
    for bound in ("ge", "gt", "le", "lt"):
        if bound in context:
            return message(f"settings.range.{bound}", locale, bound=f"{float(str(context[bound])):g}")
    return message("settings.range.finite_number", locale)
