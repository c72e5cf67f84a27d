"""The catalogue of all tools of all providers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace

from daeri.errors import DefinitionError, NotFoundError
from daeri.identity import Principal

from ._enum_on_array import enum_to_items
from ._limits import check_limits
from ._names import allows, check_name, closest_names
from ._provider import ToolProvider
from ._search import ToolIndex
from ._tool import Tool
from ._validate import ToolValidators

_MAX_SCHEMA_DEPTH = 128


class ToolRegistry:
    """All tools by their unique names, in the order of their names."""

    def __init__(self) -> None:
        self.validators = ToolValidators()
        """What checks the arguments and results of these tools."""
        self._providers: dict[str, ToolProvider] = {}
        self._tools: dict[str, Tool] = {}
        self._index: ToolIndex[Tool] | None = None

    async def add(self, provider: ToolProvider) -> None:
        """Take in every tool of a provider, or none.

        A schema that puts the choices for items on their array is taken as it was meant, and everybody sees it so: the
        validator, the model, the definition hash.

        Raises:
            DefinitionError: a name that is taken or not valid, or a schema that can't be used.
        """
        if provider.name in self._providers:
            raise DefinitionError(f"tool source {provider.name!r}", "there is one of this name", "Rename one of them.")
        fresh: dict[str, Tool] = {}
        for listed in await provider.list_tools():
            _check_size(listed)
            tool = _with_usable_choices(listed)
            self._check(tool, provider, fresh)
            fresh[tool.name] = tool
        self._providers[provider.name] = provider
        self._tools = dict(sorted({**self._tools, **fresh}.items()))
        self._index = None

    def tools(self) -> Sequence[Tool]:
        """All tools, the disabled ones too, by name."""
        return tuple(self._tools.values())

    def get(self, name: str) -> Tool:
        """The tool of this name, enabled or not.

        Raises:
            NotFoundError: there is none; its hint names similar ones among all tools, so it is for operators only.
        """
        if name not in self._tools:
            near = closest_names(name, self._tools)
            raise NotFoundError("tool", name, f"Did you mean {' or '.join(near)}?" if near else "")
        return self._tools[name]

    def provider_of(self, name: str) -> ToolProvider:
        """The provider that carries out the tool of this name.

        Raises:
            NotFoundError: there is no such tool.
        """
        return self._providers[self.get(name).source]

    def enable(self, name: str) -> None:
        """Let the tool be used again.

        Raises:
            NotFoundError: there is no such tool.
        """
        self._set_enabled(name, True)

    def disable(self, name: str) -> None:
        """Take the tool out of use; for everybody it is then as if it did not exist.

        Raises:
            NotFoundError: there is no such tool.
        """
        self._set_enabled(name, False)

    def find(self, name: str, principal: Principal, allowed: Collection[str] | None = None) -> Tool | None:
        """The tool of this name if it exists for this principal and allow-list, as `visible_to` says."""
        tool = self._tools.get(name)
        return tool if tool is not None and _is_visible(tool, allowed) else None

    def visible_to(self, principal: Principal, allowed: Collection[str] | None = None) -> Sequence[Tool]:
        """The enabled tools that the allow-list lets through, by name.

        Scopes play no part: who sees a tool without having its scope is told so when calling it. So far every
        `principal` sees the same tools.
        """
        return tuple(tool for tool in self._tools.values() if _is_visible(tool, allowed))

    def search(self, query: str, limit: int = 5, *, allowed: Collection[str] | None = None) -> Sequence[Tool]:
        """The enabled tools that fit a question in Korean or English, best first."""
        if self._index is None:
            self._index = ToolIndex(self.tools())
        hits = [tool for tool, _ in self._index.search(query, len(self._tools))]
        return [tool for tool in hits if tool.enabled and allows(allowed, tool.name)][:limit]

    async def aclose(self) -> None:
        """Close every provider that can be closed, the last one first; one that fails doesn't keep the others open."""
        async with AsyncExitStack() as stack:
            for provider in self._providers.values():
                close = getattr(provider, "aclose", None)
                if close is not None:
                    stack.push_async_callback(close)

    def _set_enabled(self, name: str, enabled: bool) -> None:
        self._tools[name] = replace(self.get(name), enabled=enabled)
        self._index = None

    def _check(self, tool: Tool, provider: ToolProvider, fresh: Mapping[str, Tool]) -> None:
        check_name(tool.name)
        subject = f"tool {tool.name!r}"
        if tool.source != provider.name:
            raise DefinitionError(subject, f"it says it comes from {tool.source!r}, but {provider.name!r} lists it")
        other = fresh.get(tool.name) or self._tools.get(tool.name)
        if other is not None:
            raise DefinitionError(
                subject, f"both {other.source!r} and {provider.name!r} have a tool of this name", "Rename one of them."
            )
        if tool.input_schema.get("type") != "object":
            raise DefinitionError(subject, "the schema of its arguments is not of type object")
        self.validators.arguments(tool)
        self.validators.result(tool)


def _check_size(tool: Tool) -> None:
    for part, schema in (("arguments", tool.input_schema), ("result", tool.output_schema)):
        problem = check_limits(schema, max_depth=_MAX_SCHEMA_DEPTH)
        if problem:
            raise DefinitionError(f"tool {tool.name!r}, schema of its {part}", problem.message.rstrip("."))


def _with_usable_choices(tool: Tool) -> Tool:
    schema = enum_to_items(tool.input_schema)
    return tool if schema is tool.input_schema else replace(tool, input_schema=schema)


def _is_visible(tool: Tool, allowed: Collection[str] | None) -> bool:
    return tool.enabled and allows(allowed, tool.name)
