"""Help in the person's language: commands and options carry catalogue keys, replaced when the app is built."""

from __future__ import annotations

from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from daeri.text import Locale, message

from ._language import shell_locale

# The context and the formatter are types that Typer keeps to itself, hence `Any`.


class LocalCommand(TyperCommand):
    """A command whose help speaks the person's language."""

    def get_help_option(self, ctx: Any) -> TyperOption | None:
        """`--help`, described in the person's language."""
        return _described(super().get_help_option(ctx))

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """The line that shows how to call it."""
        _write_usage(ctx, formatter, self.collect_usage_pieces(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments and options."""
        _write_params(ctx, formatter, self.get_params(ctx))


class LocalGroup(TyperGroup):
    """A group of commands whose help speaks the person's language."""

    def get_help_option(self, ctx: Any) -> TyperOption | None:
        """`--help`, described in the person's language."""
        return _described(super().get_help_option(ctx))

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """The line that shows how to call it."""
        _write_usage(ctx, formatter, self.collect_usage_pieces(ctx))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Options, then commands."""
        _write_params(ctx, formatter, self.get_params(ctx))
        with formatter.section(_word("commands")):
            formatter.write_dl([(name, _first_sentence(command.help or "")) for name, command in self.commands.items()])


def localise(command: Any, locale: Locale) -> None:
    """Replace the catalogue keys in the help of a command and all commands below it by their texts."""
    command.help = message(command.help, locale)
    for param in command.params:
        if isinstance(param, TyperArgument | TyperOption) and param.help:
            param.help = message(param.help, locale)
    for below in command.commands.values() if isinstance(command, TyperGroup) else ():
        localise(below, locale)


def _word(key: str) -> str:
    return message(f"cli.help.{key}", shell_locale())


def _described(option: TyperOption | None) -> TyperOption | None:
    if option is not None:
        option.help = _word("help")
    return option


def _write_usage(ctx: Any, formatter: Any, pieces: list[str]) -> None:
    formatter.write_usage(ctx.command_path, " ".join(pieces), prefix=f"{_word('usage')}: ")


def _write_params(ctx: Any, formatter: Any, params: Any) -> None:
    arguments = [(param.metavar or "", param.help or "") for param in params if isinstance(param, TyperArgument)]
    options = [_option_row(ctx, param) for param in params if isinstance(param, TyperOption)]
    for rows, key in ((arguments, "arguments"), (options, "options")):
        if rows:
            with formatter.section(_word(key)):
                formatter.write_dl(rows)


def _option_row(ctx: Any, option: TyperOption) -> tuple[str, str]:
    """Names and text, without the remarks that Typer adds in English."""
    record = option.get_help_record(ctx)
    return (record[0] if record else option.opts[0]), option.help or ""


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].rstrip(".") + "."
