"""`daeri runs list` and `daeri runs show`: what is on record."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import get_args

from daeri.engine import CallSummary, RunResult, RunState, decode_event, fold_run
from daeri.settings import Settings
from daeri.store import SqliteStore
from daeri.text import Locale, cut_middle, message

from ._exit import ExitCode, UsageError
from ._opening import locale_of, open_store, read_settings
from ._shapes import json_text, print_json, row_object, run_object
from ._table import print_table
from ._timeline import timeline

_SHOWN_CHARS = 4_000


def print_runs(*, limit: int, state: str | None, as_json: bool, lang: Locale | None) -> int:
    """Print the newest runs.

    Raises:
        UsageError: there is no such state.
    """
    settings = read_settings(lang)
    return asyncio.run(_list(settings, limit=limit, state=_state(state, locale_of(settings)), as_json=as_json))


def print_run(run_id: str, *, as_json: bool, lang: Locale | None) -> int:
    """Print one run.

    Raises:
        NotFoundError: no such run, or more than one.
    """
    return asyncio.run(_show(read_settings(lang), run_id, as_json=as_json))


async def _list(settings: Settings, *, limit: int, state: RunState | None, as_json: bool) -> int:
    locale = locale_of(settings)
    async with open_store(settings) as store:
        rows = await store.runs(settings.tenant, limit=limit, state=state)
    if as_json:
        print_json([row_object(row) for row in rows])
    elif not rows:
        print(message("cli.runs.none", locale))
    else:
        names = ("run", "state", "agent", "started", "goal")
        print_table(
            [message(f"cli.column.{name}", locale) for name in names],
            [
                [row.run_id, row.state, row.agent, f"{row.created_at.astimezone():%Y-%m-%d %H:%M:%S}", row.goal]
                for row in rows
            ],
        )
    return ExitCode.SUCCEEDED


def _state(text: str | None, locale: Locale) -> RunState | None:
    for state in get_args(RunState):
        if state == text:
            return state
    if text is None:
        return None
    states = ", ".join(get_args(RunState))
    raise UsageError(message("cli.error.state", locale, state=text, states=states))


async def _with_results(store: SqliteStore, tenant: str, result: RunResult) -> RunResult:
    """The run with results also of calls that no model was shown yet, because their turn waits or broke off."""
    calls: list[CallSummary] = []
    for call in result.calls:
        if call.state == "succeeded" and not call.shown and call.repeats is None:
            value = await store.result_of(tenant, call.call_id)
            text = value if isinstance(value, str) else json_text(value, indent=None)
            call = replace(call, shown=cut_middle(text, _SHOWN_CHARS).text)
        calls.append(call)
    return replace(result, calls=tuple(calls))


async def _show(settings: Settings, run_id: str, *, as_json: bool) -> int:
    async with open_store(settings) as store:
        row = await store.run(settings.tenant, run_id)
        stored = await store.events(settings.tenant, row.run_id)
        result = await _with_results(store, settings.tenant, fold_run(stored, row))
    if as_json:
        print_json(
            {**run_object(result), "goal": row.goal, "agent": row.agent, "created_at": row.created_at.isoformat()}
        )
        return ExitCode.SUCCEEDED
    events = [decode_event(row.run_id, event) for event in stored]
    print("\n".join(timeline(row, events, result, locale_of(settings))))
    return ExitCode.SUCCEEDED
