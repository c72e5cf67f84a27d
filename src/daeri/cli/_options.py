"""Options that several commands share, and wrong usage."""

from __future__ import annotations

from typing import Annotated

import typer

from daeri.text import Locale

from ._exit import ExitCode

AsJson = Annotated[bool, typer.Option("--json", help="cli.option.json")]
Lang = Annotated[Locale | None, typer.Option("--lang", metavar="ko|en", help="cli.option.lang")]
ToolModules = Annotated[list[str] | None, typer.Option("--tools", metavar="MODULE|FILE", help="cli.option.tools")]


class UsageError(typer.TyperException):
    """The command can't be used like this."""

    exit_code = ExitCode.USAGE
