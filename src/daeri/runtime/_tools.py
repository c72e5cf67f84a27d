"""The tools that there are: the toolkits, the modules that are named, and tools given as objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from daeri.errors import NotFoundError, SettingsError
from daeri.settings import Settings
from daeri.toolkits import ToolkitConfig, builtin_tools
from daeri.tools import FunctionTool, PythonTools, ToolRegistry, load_tools


async def registry_of(
    settings: Settings, tools: Iterable[FunctionTool[..., Any]], tool_modules: Sequence[str]
) -> ToolRegistry:
    """The toolkits, the tools that the settings name, and those given on top.

    Raises:
        SettingsError: a setting about tools is wrong.
        DefinitionError: a tool can't be used.
    """
    registry = ToolRegistry()
    kits = settings.toolkits
    await registry.add(
        builtin_tools(
            ToolkitConfig(
                file_roots=kits.file_roots,
                knowledge_files=kits.knowledge_files,
                document_folders=kits.document_folders,
                morphemes=kits.morphemes,
            )
        )
    )
    named = (_in_project(name, settings.project) for name in [*settings.tools.modules, *tool_modules])
    for reference in dict.fromkeys(named):
        loaded = load_tools(reference, root=settings.project)
        if loaded.functions:
            await registry.add(PythonTools(reference, loaded.functions))
        for provider in loaded.providers:
            await registry.add(provider)
    if given := tuple(tools):
        await registry.add(PythonTools("given", given))
    for name in settings.tools.disabled:
        _disable(registry, name)
    return registry


def _in_project(reference: str, project: Path | None) -> str:
    """A file by its place in the project: named twice it is one, and its tools are the same on every machine."""
    base = (project or Path.cwd()).resolve()
    file = (base / reference).resolve()
    if not reference.endswith(".py") or not file.is_relative_to(base):
        return reference
    return file.relative_to(base).as_posix()


def _disable(registry: ToolRegistry, name: str) -> None:
    try:
        registry.disable(name)
    except NotFoundError as error:
        raise SettingsError("tools.disabled", name, "there is no tool of this name", error.hint) from None
