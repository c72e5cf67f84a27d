"""`daeri tools`: which tools there are, and what governs them.

`--json` prints a list of tools, or one: `{"name", "description", "risk", "scopes", "source", "enabled", "read_only",
"destructive", "idempotent", "open_world", "trusted", "strict", "timeout_s", "tags", "consequences", "definition_hash",
"input_schema", "output_schema"}`.
"""

from __future__ import annotations

import asyncio

from daeri.settings import Settings
from daeri.text import Locale, message
from daeri.tools import Tool

from ._exit import ExitCode
from ._lines import printable
from ._opening import locale_of, open_daeri, read_settings
from ._shapes import json_text, print_json, tool_object
from ._table import print_table


def print_tools(modules: list[str], *, as_json: bool, lang: Locale | None) -> int:
    """Print all tools."""
    return asyncio.run(_list(read_settings(lang), modules, as_json=as_json))


def print_tool(name: str, modules: list[str], *, as_json: bool, lang: Locale | None) -> int:
    """Print one tool.

    Raises:
        NotFoundError: there is none of this name.
    """
    return asyncio.run(_show(read_settings(lang), name, modules, as_json=as_json))


async def _list(settings: Settings, modules: list[str], *, as_json: bool) -> int:
    locale = locale_of(settings)
    async with open_daeri(settings, modules) as daeri:
        tools = daeri.registry.tools()
    if as_json:
        print_json([tool_object(tool) for tool in tools])
        return ExitCode.SUCCEEDED
    columns = ("name", "risk", "scopes", "source", "description")
    rows = [[_name(tool, locale), tool.risk, _scopes(tool), tool.source, _first_line(tool)] for tool in tools]
    print_table([message(f"cli.column.{column}", locale) for column in columns], rows)
    return ExitCode.SUCCEEDED


async def _show(settings: Settings, name: str, modules: list[str], *, as_json: bool) -> int:
    async with open_daeri(settings, modules) as daeri:
        tool = daeri.registry.get(name)
    if as_json:
        print_json(tool_object(tool))
    else:
        print("\n".join(_details(tool, locale_of(settings))))
    return ExitCode.SUCCEEDED


def _name(tool: Tool, locale: Locale) -> str:
    return tool.name if tool.enabled else f"{tool.name} ({message('cli.tool.disabled', locale)})"


def _scopes(tool: Tool) -> str:
    return ", ".join(sorted(tool.scopes)) or "-"


def _first_line(tool: Tool) -> str:
    return tool.description.strip().partition("\n")[0]


def _details(tool: Tool, locale: Locale) -> list[str]:
    marks = tool.annotations
    named = {
        "read_only": marks.read_only,
        "destructive": marks.destructive,
        "idempotent": marks.idempotent,
        "open_world": marks.open_world,
        "trusted": tool.trusted,
        "strict": tool.strict,
    }
    values = {
        "name": _name(tool, locale),
        "description": tool.description.strip(),
        "risk": tool.risk,
        "scopes": _scopes(tool),
        "marks": ", ".join(name for name, is_set in named.items() if is_set) or "-",
        "consequences": tool.consequences or "-",
        "timeout": f"{tool.timeout_s:g} s",
        "source": tool.source,
        "hash": tool.definition_hash,
        "arguments": json_text(tool.input_schema),
        "result": "-" if tool.output_schema is None else json_text(tool.output_schema),
    }
    return [f"{message(f'cli.column.{name}', locale)}: {printable(value)}" for name, value in values.items()]
