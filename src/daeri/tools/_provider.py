"""The port through which tools come in, whatever they are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from daeri.identity import Principal
from daeri.text import Json, JsonObject, Locale

from ._tool import Tool


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolContext:
    """What a running tool may know of its call. A Python tool asks for it with a parameter of this type."""

    call_id: str
    principal: Principal
    locale: Locale
    report: Callable[[str], None]
    """Say how far the work is; shown live, not kept. Safe to call from any thread."""
    run_id: str | None = None
    idempotency_key: str | None = None
    """The same for every attempt at this call; hand it to a system that can tell repeats.

    A digest over tenant, person, subject, tool and the key that the caller chose (the call id, if none), so that equal
    keys of different people never meet in a system that all of them share.
    """


class ToolProvider(Protocol):
    """A source of tools: lists them and carries them out. Only the boundary's gateway calls `invoke`."""

    @property
    def name(self) -> str:
        """Names the source; every tool of it carries this in `Tool.source`."""
        ...

    async def list_tools(self) -> Sequence[Tool]:
        """All tools of this source."""
        ...

    async def invoke(self, tool: str, arguments: JsonObject, context: ToolContext) -> Json:
        """Carry out one call whose arguments fit the schema; cancelling it stops the work where that can be.

        Raises:
            ToolError: the tool says what went wrong. Any other exception counts as a fault of the tool.
        """
        ...
