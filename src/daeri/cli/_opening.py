"""What commands have in common when they start: settings, tools named on the command line."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, redirect_stdout
from pathlib import Path

from daeri.identity import Principal
from daeri.runtime import DATABASE, Daeri, local_principal, principal_named
from daeri.settings import Settings, load_settings
from daeri.store import SqliteStore
from daeri.text import Locale

from ._language import shell_locale


def read_settings(lang: Locale | None) -> Settings:
    """The settings of the working directory; from here on the log is shown when they say `debug`, else dropped.

    Raises:
        SettingsError: a setting is wrong.
    """
    settings = load_settings(overrides={"lang": lang})
    log = logging.getLogger("daeri")
    log.handlers = [logging.StreamHandler(sys.stderr) if settings.debug else logging.NullHandler()]
    log.setLevel(logging.DEBUG)
    log.propagate = False
    return settings


def acting_principal(settings: Settings, as_name: str | None) -> Principal:
    """As whom the command line acts: the user of the operating system, or the principal that `--as` names.

    Raises:
        NotFoundError: the settings declare none of this name.
    """
    return local_principal(settings) if as_name is None else principal_named(settings, as_name)


def locale_of(settings: Settings) -> Locale:
    """The language that the command line speaks."""
    return settings.lang or shell_locale()


def tool_references(settings: Settings, given: Sequence[str]) -> list[str]:
    """Tool files of the command line as seen from the project, where those of the settings are seen from too."""
    base = settings.project or Path.cwd()
    return [os.path.relpath(Path.cwd() / name, base) if name.endswith(".py") else name for name in given]


@asynccontextmanager
async def open_daeri(settings: Settings, tool_modules: Sequence[str]) -> AsyncGenerator[Daeri]:
    """Daeri with the tools of the settings and of the command line.

    Until it is closed, what tools print goes to stderr: stdout is for the answer.
    """
    with redirect_stdout(sys.stderr):
        async with Daeri.open(settings, tool_modules=tool_references(settings, tool_modules)) as daeri:
            yield daeri


@asynccontextmanager
async def open_store(settings: Settings) -> AsyncGenerator[SqliteStore]:
    """The record alone: it can be read when tools or agents can't be loaded."""
    async with await SqliteStore.open(settings.home / DATABASE) as store:
        yield store
