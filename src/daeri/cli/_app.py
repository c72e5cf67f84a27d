"""The command `daeri`: its commands, its language, and what becomes of errors.

Exit codes are those of `_exit`. An error is one sentence on stderr in the person's language; the traceback of an
unexpected one is shown with `--debug` or `DAERI_DEBUG=1`.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated

import typer

from daeri._version import __version__
from daeri.errors import DaeriError
from daeri.text import Locale, message

from ._commands import (
    Lang,
    approve,
    call_tool,
    check_policy,
    doctor,
    explain_policy,
    export_run,
    init,
    list_approvals,
    list_runs,
    list_tools,
    reject,
    run,
    show_approval,
    show_run,
    show_tool,
    sign_audit,
    tail_audit,
    verify_audit,
    withdraw,
)
from ._error_text import error_text
from ._exit import ExitCode, exit_code_of_error
from ._help import LocalCommand, LocalGroup, localise
from ._language import shell_locale
from ._streams import abandon_streams, fault_of_stdout, open_streams, tell


def main() -> None:
    """The entry point of the command `daeri`."""
    arguments = sys.argv[1:]
    if open_streams():
        code = _code_of(arguments)
    else:
        tell(message("cli.error.no_stdout", shell_locale(arguments)))
        code = ExitCode.USAGE
    fault = fault_of_stdout()
    if fault is not None:
        code = code or ExitCode.FAILED
        if not isinstance(fault, BrokenPipeError):  # whoever stops reading has seen enough
            tell(message("cli.error.stdout", shell_locale(arguments), cause=fault.strerror or fault))
    abandon_streams()
    sys.exit(code)


def build_app() -> typer.Typer:
    """All commands; help texts are catalogue keys until `localise` has replaced them."""
    app = _group("cli.help.daeri", invoke_without_command=True, callback=_root)
    app.command("run", cls=LocalCommand, help="cli.help.run")(run)
    runs = _group("cli.help.runs")
    runs.command("list", cls=LocalCommand, help="cli.help.runs_list")(list_runs)
    runs.command("show", cls=LocalCommand, help="cli.help.runs_show")(show_run)
    runs.command("export", cls=LocalCommand, help="cli.help.runs_export")(export_run)
    app.add_typer(runs, name="runs")
    tools = _group("cli.help.tools")
    tools.command("list", cls=LocalCommand, help="cli.help.tools_list")(list_tools)
    tools.command("show", cls=LocalCommand, help="cli.help.tools_show")(show_tool)
    tools.command("call", cls=LocalCommand, help="approvals.help.call")(call_tool)
    app.add_typer(tools, name="tools")
    approvals = _group("approvals.help.approvals")
    approvals.command("list", cls=LocalCommand, help="approvals.help.list")(list_approvals)
    approvals.command("show", cls=LocalCommand, help="approvals.help.show")(show_approval)
    approvals.command("approve", cls=LocalCommand, help="approvals.help.approve")(approve)
    approvals.command("reject", cls=LocalCommand, help="approvals.help.reject")(reject)
    approvals.command("withdraw", cls=LocalCommand, help="approvals.help.withdraw")(withdraw)
    app.add_typer(approvals, name="approvals")
    audit = _group("audit.help.audit")
    audit.command("verify", cls=LocalCommand, help="audit.help.verify")(verify_audit)
    audit.command("tail", cls=LocalCommand, help="audit.help.tail")(tail_audit)
    audit.command("checkpoint", cls=LocalCommand, help="audit.help.checkpoint")(sign_audit)
    app.add_typer(audit, name="audit")
    policy = _group("cli.help.policy")
    policy.command("check", cls=LocalCommand, help="cli.help.policy_check")(check_policy)
    policy.command("explain", cls=LocalCommand, help="cli.help.policy_explain")(explain_policy)
    app.add_typer(policy, name="policy")
    app.command("doctor", cls=LocalCommand, help="cli.help.doctor")(doctor)
    app.command("init", cls=LocalCommand, help="cli.help.init")(init)
    return app


def _group(help_key: str, *, invoke_without_command: bool = False, callback: object = None) -> typer.Typer:
    # Plain help: Rich would take longer to load than everything else that `--help` needs.
    return typer.Typer(
        cls=LocalGroup,
        help=help_key,
        invoke_without_command=invoke_without_command,
        callback=callback if callable(callback) else None,
        rich_markup_mode=None,
        add_completion=False,
        suggest_commands=False,
    )


def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="cli.option.version")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="cli.option.debug")] = False,
    lang: Lang = None,
) -> None:
    """What holds for every command."""
    del lang  # `shell_locale` has read it
    if debug:
        os.environ["DAERI_DEBUG"] = "1"
    if version:
        typer.echo(f"daeri {__version__}")
        raise typer.Exit(ExitCode.SUCCEEDED)
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(ExitCode.USAGE)


def _code_of(arguments: Sequence[str]) -> int:
    locale = shell_locale(arguments)
    command = typer.main.get_command(build_app())
    localise(command, locale)
    try:
        code = command.main(list(arguments), prog_name="daeri", standalone_mode=False) or ExitCode.SUCCEEDED
    except typer.TyperException as error:
        tell(message("cli.error.usage", locale, problem=error.format_message().rstrip(".")))
        return error.exit_code
    except DaeriError as error:
        tell(error_text(error, locale))
        _trace()
        return exit_code_of_error(error)
    except Exception as error:
        return _code_of_fault(error, locale)
    if code == ExitCode.CANCELLED:  # Ctrl-C before there was a run; a cancelled run says so itself
        tell(message("cli.error.cancelled", locale))
    return code


def _code_of_fault(error: Exception, locale: Locale) -> int:
    """The exit code for an error that no part of Daeri raised on purpose; one sentence is said about it."""
    if fault_of_stdout() is not None:  # `main` says so
        return ExitCode.FAILED
    if isinstance(error, FileNotFoundError) and not _has_directory():
        tell(message("cli.error.no_directory", locale))
        return ExitCode.USAGE
    tell(message("cli.error.unexpected", locale, kind=type(error).__name__, detail=str(error) or "-"))
    _trace()
    return ExitCode.FAILED


def _has_directory() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def _trace() -> None:
    if os.environ.get("DAERI_DEBUG", "").lower() in ("1", "true", "yes", "on"):
        traceback.print_exc()
