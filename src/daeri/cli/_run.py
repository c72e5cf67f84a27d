"""`daeri run`: run an agent with a goal and show what it does.

The answer goes to stdout, all else to stderr. `--json` prints one object instead (`_shapes` shows it), `--events` one
event per line as it happens: `{"run_id", "seq", "type", "at", "data"}`, without `seq` when it is live only.
The exit code says how the run ended (`_exit`). Ctrl-C cancels the run, a second one ends the process at once.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from daeri.text import Locale, message

from ._exit import ExitCode, exit_code_of
from ._language import shell_locale
from ._opening import locale_of, open_daeri, read_settings, run_async
from ._options import Lang, ToolModules, UsageError

if TYPE_CHECKING:
    from daeri.engine import Run, RunResult
    from daeri.settings import Settings

    from ._progress import Progress

_SHOW_CURSOR = "\x1b[?25h"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Order:
    """What the command line asks for."""

    goal: str
    agent: str | None
    model: str | None
    tools: list[str]
    max_steps: int | None
    lang: Locale | None
    output: Literal["text", "json", "events"]


def run(
    goal: Annotated[str | None, typer.Argument(metavar="[GOAL|-]", help="cli.option.goal")] = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="cli.option.agent")] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help="cli.option.model")] = None,
    tools: ToolModules = None,
    as_json: Annotated[bool, typer.Option("--json", help="cli.option.run_json")] = False,
    as_events: Annotated[bool, typer.Option("--events", help="cli.option.events")] = False,
    max_steps: Annotated[int | None, typer.Option("--max-steps", metavar="N", min=1, help="cli.option.max_steps")] = None,
    lang: Lang = None,
) -> int:
    """Run an agent with a goal."""
    if as_json and as_events:
        raise UsageError(message("cli.error.json_or_events", shell_locale()))
    order = _Order(
        goal=_read_goal(goal),
        agent=agent,
        model=model,
        tools=tools or [],
        max_steps=max_steps,
        lang=lang,
        output="json" if as_json else "events" if as_events else "text",
    )
    code = run_async(_carry_out(read_settings(lang), order))
    if code == ExitCode.CANCELLED:
        # A tool in a thread can't be stopped; whoever pressed Ctrl-C does not wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _read_goal(goal: str | None) -> str:
    if goal == "-":
        goal = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    if goal is None or not goal.strip():
        raise UsageError(message("cli.error.no_goal", shell_locale()))
    return goal.strip()


async def _carry_out(settings: Settings, order: _Order) -> int:
    from ._progress import open_progress

    locale = locale_of(settings)
    async with open_daeri(settings, order.tools) as daeri:
        run = await daeri.start(
            order.goal, agent=order.agent, model=order.model, locale=order.lang, max_steps=order.max_steps
        )
        progress = open_progress(locale)
        try:
            if run.model_choice is not None:
                progress.note(run.model_choice.reason(locale))
            result = await _follow(run, progress, as_events=order.output == "events")
        finally:
            progress.close()
            await run.stop()
    _report(run, result, order, progress, locale)
    return exit_code_of(result)


async def _follow(run: Run, progress: Progress, *, as_events: bool) -> RunResult:
    """Show the run until it ends or waits; the first Ctrl-C cancels it."""
    from daeri.engine import encode_event

    from ._shapes import print_json

    async def show() -> None:
        async for event in run.events():
            if as_events:
                print_json(encode_event(event), indent=None)
            progress.follow(event)

    showing = asyncio.create_task(show())
    loop = asyncio.get_running_loop()
    with _interrupts(lambda: loop.call_soon_threadsafe(showing.cancel)):
        try:
            await showing
        except asyncio.CancelledError:
            return await run.cancel()
    return await run.result()


@contextmanager
def _interrupts(cancel: Callable[[], object]) -> Generator[None]:
    """The first Ctrl-C calls `cancel`, the second ends the process."""
    seen = 0

    def interrupted(number: int, frame: FrameType | None) -> None:
        nonlocal seen
        seen += 1
        if seen == 1:
            cancel()
            return
        if sys.stderr.isatty():
            os.write(sys.stderr.fileno(), _SHOW_CURSOR.encode())
        os._exit(ExitCode.CANCELLED)

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _report(run: Run, result: RunResult, order: _Order, progress: Progress, locale: Locale) -> None:
    from ._lines import printable, summary_line
    from ._shapes import print_json, run_object

    for line in _closing_lines(result, locale):
        progress.note(line)
    progress.note(summary_line(result, locale))
    if order.output == "json":
        reason = run.model_choice.reason(locale) if run.model_choice else None
        print_json({**run_object(result), "model_reason": reason})
    elif order.output == "text" and result.answer:
        print(printable(result.answer), flush=True)


def _closing_lines(result: RunResult, locale: Locale) -> list[str]:
    """What the person has to know beyond the answer."""
    lines = [message("cli.outcome.approval", locale, approval=approval) for approval in result.approvals]
    lines += [message("cli.outcome.unknown", locale, call=call) for call in result.unknown_calls]
    if result.status == "cancelled":
        lines.append(message("cli.outcome.cancelled", locale))
    if result.detail:
        lines.append(message("cli.outcome.detail", locale, detail=result.detail))
    return lines
