"""Daeri: agents that act through one governed door, with evidence, on the record."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ._version import __version__

if TYPE_CHECKING:
    from .engine import Agent, Limits, Run, RunEvent, RunResult
    from .errors import (
        ConflictError,
        DaeriError,
        DefinitionError,
        Failure,
        ModelError,
        NotFoundError,
        SettingsError,
        StoreError,
        ToolError,
    )
    from .identity import Principal
    from .runtime import Daeri
    from .settings import Settings, load_settings
    from .tools import ToolContext, tool

# Loaded at first use, so that `daeri --help` and `from daeri import tool` stay quick.
_ROOMS = {
    "Agent": "engine",
    "ConflictError": "errors",
    "Daeri": "runtime",
    "DaeriError": "errors",
    "DefinitionError": "errors",
    "Failure": "errors",
    "Limits": "engine",
    "ModelError": "errors",
    "NotFoundError": "errors",
    "Principal": "identity",
    "Run": "engine",
    "RunEvent": "engine",
    "RunResult": "engine",
    "Settings": "settings",
    "SettingsError": "errors",
    "StoreError": "errors",
    "ToolContext": "tools",
    "ToolError": "errors",
    "load_settings": "settings",
    "tool": "tools",
}

__all__ = [
    "Agent",
    "ConflictError",
    "Daeri",
    "DaeriError",
    "DefinitionError",
    "Failure",
    "Limits",
    "ModelError",
    "NotFoundError",
    "Principal",
    "Run",
    "RunEvent",
    "RunResult",
    "Settings",
    "SettingsError",
    "StoreError",
    "ToolContext",
    "ToolError",
    "__version__",
    "load_settings",
    "tool",
]


def __getattr__(name: str) -> object:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_ROOMS[name]}", __name__), name)
