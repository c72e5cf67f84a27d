"""Questions to policies, and policies from files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from daeri.boundary import PolicyQuestion
from daeri.boundary.cedar import CedarPolicy
from daeri.identity import Principal
from daeri.tools import Tool

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
KIM = Principal(tenant="acme", subject="user:kim", scopes=frozenset({"pay:send"}), roles=frozenset({"user"}))
PAY_SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "amount": {"type": "integer"}},
    "required": ["to", "amount"],
}

MakeTool = Callable[..., Tool]
AskFor = Callable[..., PolicyQuestion]
LoadCedar = Callable[..., CedarPolicy]


def _tool(name: str = "pay", **given: Any) -> Tool:
    fields: dict[str, Any] = {"description": "", "input_schema": PAY_SCHEMA, "scopes": frozenset({"pay:send"})}
    return Tool(name=name, **{**fields, **given})


@pytest.fixture(scope="session")
def make_tool() -> MakeTool:
    """A tool that pays, unless told otherwise."""
    return _tool


@pytest.fixture(scope="session")
def question() -> AskFor:
    """The user kim asks to pay 100, unless told otherwise."""

    def asked(tool: Tool | None = None, arguments: object = None, **given: Any) -> PolicyQuestion:
        fields: dict[str, Any] = {"principal": KIM, "origin": "api", "at": NOW}
        values: Any = {"to": "lee", "amount": 100} if arguments is None else arguments
        return PolicyQuestion(tool=tool or _tool(), arguments=values, **{**fields, **given})

    return asked


@pytest.fixture
def cedar(tmp_path: Path) -> LoadCedar:
    """The policies of a folder with one file, or several by name, over some tools."""

    def loaded(policies: str | dict[str, str], tools: Sequence[Tool] | None = None) -> CedarPolicy:
        for name, text in ({"all.cedar": policies} if isinstance(policies, str) else policies).items():
            (tmp_path / name).write_text(text, "utf-8")
        offered = [_tool()] if tools is None else tools
        return CedarPolicy(tmp_path, lambda: offered)

    return loaded
