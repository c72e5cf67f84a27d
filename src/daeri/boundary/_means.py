"""What a call needs on its way, and who may follow it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from daeri.errors import Failure
from daeri.text import JsonObject
from daeri.tools import Tool, ToolRegistry, closest_names

from ._gateway import Gateway
from ._limits import CallLimits
from ._policy import Policy, PolicyQuestion
from ._records import ApprovalStore, CallRequest, JournalEntry


class Observer(Protocol):
    """Follows a call while it happens."""

    def recorded(self, entry: JournalEntry, seq: int) -> None:
        """A journal event of the call is on disk."""
        ...

    def tool_progress(self, call_id: str, tool: str, text: str) -> None:
        """The running tool says how far it is."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Means:
    """What a call needs on its way."""

    registry: ToolRegistry
    store: ApprovalStore
    policy: Policy
    gateway: Gateway
    approval_ttl: timedelta
    clock: Callable[[], datetime]
    limits: CallLimits = field(default_factory=CallLimits)
    allow_list: Callable[[str], frozenset[str] | None] = lambda agent: None
    """What an agent may use as it is now, by its name; `None` where it is not known or may use all."""
    notify: bool = False
    """Whether what happens to requests for approval goes to the outbox."""
    writing: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    """What is being written down, be its caller cancelled or not."""

    def resolve(self, request: CallRequest) -> Tool | Failure:
        """The tool, if it is known, enabled and visible to who asks; the three look the same from outside."""
        tool = self.registry.find(request.tool, request.principal, request.allowed_tools)
        if tool is not None:
            return tool
        visible = self.registry.visible_to(request.principal, request.allowed_tools)
        names = closest_names(request.tool, [tool.name for tool in visible])
        hint = f"; did you mean {', '.join(names)}?" if names else ""
        return Failure(kind="unknown_tool", diagnostic=f"there is no tool {request.tool!r}{hint}")

    def question(self, request: CallRequest, tool: Tool, arguments: JsonObject) -> PolicyQuestion:
        """A call whose tool is known and whose arguments fit, as policy is asked about it."""
        return PolicyQuestion(
            principal=request.principal,
            tool=tool,
            arguments=arguments,
            origin=request.origin,
            at=self.clock(),
            agent=request.agent,
            run_id=request.run_id,
            sources=request.sources,
        )
