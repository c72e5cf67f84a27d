"""The provider of tools that are Python functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from daeri.errors import DefinitionError, NotFoundError
from daeri.text import Json, JsonObject

from ._function import FunctionTool
from ._provider import ToolContext
from ._threads import WorkerThreads
from ._tool import Tool


class PythonTools:
    """Python functions as one source of tools; the sync ones share its threads."""

    def __init__(self, name: str, tools: Iterable[FunctionTool[..., Any]], *, max_threads: int = 16) -> None:
        self._name = name
        self._tools: dict[str, FunctionTool[..., Any]] = {}
        self._threads = WorkerThreads(f"tools-{name}", max_threads)
        for function_tool in tools:
            other = self._tools.setdefault(function_tool.tool.name, function_tool)
            if other is not function_tool:
                raise DefinitionError(
                    f"tool {function_tool.tool.name!r}",
                    f"{_origin(other)} and {_origin(function_tool)} both have this name",
                    "Give one of them another, `@tool(name=...)`.",
                )

    @property
    def name(self) -> str:
        """Names the source."""
        return self._name

    async def list_tools(self) -> Sequence[Tool]:
        """All of them, in the order given."""
        return [replace(function_tool.tool, source=self._name) for function_tool in self._tools.values()]

    async def invoke(self, tool: str, arguments: JsonObject, context: ToolContext) -> Json:
        """Run the function.

        Raises:
            NotFoundError: no such tool here.
        """
        function_tool = self._tools.get(tool)
        if function_tool is None:
            raise NotFoundError("tool", tool)
        return await function_tool.invoke(arguments, context, threads=self._threads)

    async def aclose(self) -> None:
        """Let the threads go; what still runs in them runs to its end, unwatched."""
        self._threads.close()


def _origin(function_tool: FunctionTool[..., Any]) -> str:
    return f"{function_tool.__module__}.{getattr(function_tool, '__qualname__', '?')}"
