"""What became of the tools since they were offered last: definitions that are new, and what the audit record says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from daeri.boundary import AuditEvent
from daeri.text import Json
from daeri.tools import Tool

from ._encode import encode, encode_definition
from ._statements import TOOL, TOOL_CHANGE, Written
from ._time import to_micros

Known: TypeAlias = Mapping[str, tuple[str, bool]]
"""By name: definition hash, and whether the tool was in use."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """When the tools were offered, and who opened the store with them."""

    at: datetime
    tenant: str
    actor: str


def catalogue_rows(tools: Iterable[Tool], known: Known, seen: Seen) -> list[Written]:
    """The rows for all tools that are not as they were; none when nothing has changed.

    Each change expects what `known` says, so that of processes that notice the same one only the first writes it.
    """
    rows: list[Written] = []
    for tool in {tool.name: tool for tool in tools}.values():
        before = known.get(tool.name)
        now = (tool.definition_hash, tool.enabled)
        if before == now:
            continue
        if before is None:
            rows.append((TOOL, (tool.name, *now, to_micros(seen.at))))
        else:
            rows.append((TOOL_CHANGE, (tool.name, *before, *now, to_micros(seen.at))))
        rows.append(encode_definition(tool, seen.at))
        for kind, data in _facts(tool, before):
            event = AuditEvent(
                tenant=seen.tenant, kind=kind, actor=seen.actor, at=seen.at, subject=tool.name, data=data
            )
            rows += encode(event)
    return rows


def _facts(tool: Tool, before: tuple[str, bool] | None) -> Iterable[tuple[str, dict[str, Json]]]:
    definition: dict[str, Json] = {"definition_hash": tool.definition_hash, "source": tool.source}
    was_enabled = True
    if before is None:
        yield "tool.defined", definition
    else:
        was, was_enabled = before
        if was != tool.definition_hash:
            yield "tool.changed", {**definition, "was": was}
    if tool.enabled != was_enabled:
        yield "tool.enabled" if tool.enabled else "tool.disabled", definition
