"""`daeri run`: run an agent with a goal and show what it does.

The answer goes to stdout, all else to stderr. `--json` prints one object instead (`_shapes` shows it), `--events` one
event per line as it happens: `{"run_id", "seq", "type", "at", "data"}`, without `seq` when it is live only.
The exit code says how the run ended (`_exit`). Ctrl-C cancels the run, a second one ends the process at once; so does
SIGTERM.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Literal, NoReturn, TextIO

from daeri.engine import Run, RunResult, encode_event
from daeri.settings import Settings
from daeri.text import Locale, message

from ._exit import ExitCode, UsageError, exit_code_of
from ._language import shell_locale
from ._lines import printable, summary_line
from ._opening import acting_principal, locale_of, open_daeri, read_settings
from ._progress import Progress, open_progress
from ._shapes import print_json, run_object
from ._signals import stopped_like_ctrl_c

_SHOW_CURSOR = b"\x1b[?25h"

Output = Literal["text", "json", "events"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Order:
    """What the command line asks for."""

    goal: str | None
    """`-` stands for standard input."""
    agent: str | None
    model: str | None
    tools: list[str]
    max_steps: int | None
    as_name: str | None
    lang: Locale | None


def run_goal(order: Order, *, as_json: bool, as_events: bool) -> int:
    """Run an agent and show what it does; gives the exit code.

    Raises:
        UsageError: there is no goal, or two outputs are asked for.
    """
    if as_json and as_events:
        raise UsageError(message("cli.error.json_or_events", shell_locale()))
    goal = _read_goal(order.goal)
    _refuse_empty("--agent", order.agent)
    _refuse_empty("--model", order.model)
    output: Output = "json" if as_json else "events" if as_events else "text"
    settings = read_settings(order.lang)
    with stopped_like_ctrl_c():
        code = asyncio.run(_carry_out(settings, order, goal, output))
    return code


def _refuse_empty(option: str, value: str | None) -> None:
    if value is not None and not value.strip():
        raise UsageError(message("cli.error.empty_option", shell_locale(), option=option))


def _read_goal(goal: str | None) -> str:
    if goal == "-":
        goal = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
    if goal is None or not goal.strip():
        raise UsageError(message("cli.error.no_goal", shell_locale()))
    return goal.strip()


async def _carry_out(settings: Settings, order: Order, goal: str, output: Output) -> int:
    locale = locale_of(settings)
    principal = acting_principal(settings, order.as_name)
    stdout = sys.stdout  # what tools print goes elsewhere below
    events_to = stdout if output == "events" else None
    async with open_daeri(settings, order.tools) as daeri:
        run = await daeri.start(
            goal,
            agent=order.agent,
            model=order.model,
            principal=principal,
            locale=order.lang,
            max_steps=order.max_steps,
        )
        async with run:
            progress = open_progress(locale)
            try:
                if run.model_choice is not None:
                    progress.note(run.model_choice.reason(locale))
                result = await _follow(run, progress, events_to)
            finally:
                progress.close()
            if result.status == "cancelled":
                # The journal says so. A tool that can't be stopped would keep everything below from being closed,
                # and whoever pressed Ctrl-C does not wait for it.
                with redirect_stdout(stdout):
                    code = _close(run, result, progress, output, locale)
                _leave(code)
    return _close(run, result, progress, output, locale)


def _close(run: Run, result: RunResult, progress: Progress, output: Output, locale: Locale) -> int:
    """Say how the run ended."""
    for line in [*_closing_lines(result, locale), summary_line(result, locale)]:
        progress.note(line)
    _print_result(run, result, output, locale)
    return exit_code_of(result)


def _leave(code: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    os._exit(code)


async def _follow(run: Run, progress: Progress, events_to: TextIO | None) -> RunResult:
    """Show the run until it ended or waits; the first Ctrl-C stops it, and its last events are shown too."""
    loop = asyncio.get_running_loop()
    stopping: set[asyncio.Task[None]] = set()

    def stop() -> None:
        stopping.add(loop.create_task(run.stop()))

    with _interrupts(lambda: loop.call_soon_threadsafe(stop)):
        async for event in run.events():
            if events_to is not None:
                print_json(encode_event(event), indent=None, to=events_to)
            progress.follow(event)
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
            os.write(sys.stderr.fileno(), _SHOW_CURSOR)
        os._exit(ExitCode.CANCELLED)

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _print_result(run: Run, result: RunResult, output: Output, locale: Locale) -> None:
    if output == "json":
        reason = run.model_choice.reason(locale) if run.model_choice else None
        print_json({**run_object(result), "model_reason": reason})
    elif output == "text" and result.answer:
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
