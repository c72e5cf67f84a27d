"""What commands have in common when they start: settings, tools named on the command line, the event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from daeri.text import Locale

from ._language import shell_locale

if TYPE_CHECKING:
    from daeri.runtime import Daeri
    from daeri.settings import Settings
    from daeri.store import SqliteStore


def read_settings(lang: Locale | None) -> Settings:
    """The settings of the working directory.

    Raises:
        SettingsError: a setting is wrong.
    """
    from daeri.settings import load_settings

    return load_settings(overrides={"lang": lang})


def locale_of(settings: Settings) -> Locale:
    """The language that the command line speaks."""
    return settings.lang or shell_locale()


def tool_references(settings: Settings, given: Sequence[str]) -> list[str]:
    """Tool files of the command line as seen from the project, where those of the settings are seen from too."""
    base = settings.project or Path.cwd()
    return [os.path.relpath(Path.cwd() / name, base) if name.endswith(".py") else name for name in given]


@asynccontextmanager
async def open_daeri(settings: Settings, tool_modules: Sequence[str] | None) -> AsyncGenerator[Daeri]:
    """Daeri with the tools of the settings and of the command line."""
    from daeri.runtime import Daeri

    async with Daeri.open(settings, tool_modules=tool_references(settings, tool_modules or ())) as daeri:
        yield daeri


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncGenerator[SqliteStore]:
    """The record alone: it can be read when tools or agents can't be loaded."""
    from daeri.runtime import DATABASE
    from daeri.store import SqliteStore

    async with await SqliteStore.open(settings.home / DATABASE) as store:
        yield store


def run_async(work: Coroutine[Any, Any, int]) -> int:
    """Run a command's coroutine to its exit code."""
    return asyncio.run(work)
