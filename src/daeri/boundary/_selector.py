"""Which calls a rule or a limit is about."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from daeri.tools import Tool, allows

from ._policy import PolicyQuestion


@dataclass(frozen=True, kw_only=True, slots=True)
class Selector:
    """Calls of a tool, of tools with a tag, in a tenant; what is not given selects all, what is given must all hold."""

    tool: str | None = None
    """A tool's name, or `server.*`, or `*`."""
    tag: str | None = None
    tenant: str | None = None

    def selects(self, question: PolicyQuestion) -> bool:
        """Whether a call is among them."""
        return self.tenant in (None, question.principal.tenant) and self.selects_tool(question.tool)

    def selects_tool(self, tool: Tool) -> bool:
        """Whether calls of this tool can be among them."""
        named = self.tool is None or allows((self.tool,), tool.name)
        return named and (self.tag is None or self.tag in tool.tags)

    def selects_any(self, tools: Iterable[Tool]) -> bool:
        """Whether calls of one of these tools can be among them."""
        return any(self.selects_tool(tool) for tool in tools)
