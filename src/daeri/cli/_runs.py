"""`daeri runs`: what is on record.

`export` writes one JSON object:

    {"format": "daeri.run", "version": 1, "run": {…}, "events": [{"seq", "type", "at", "version", "data"}],
     "calls": [{…, "result": the full one}], "approvals": [{…}], "tools": {name: definition}}

Events are as they are stored, those of other releases too. `tools` holds the definitions that were offered to the run.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from daeri.text import message

from ._opening import locale_of, open_store, read_settings, run_async
from ._options import AsJson, Lang, UsageError

if TYPE_CHECKING:
    from daeri.engine import JournalEvent, RunRow, RunState
    from daeri.settings import Settings
    from daeri.store import SqliteStore

EXPORT_VERSION = 1

RunId = Annotated[str, typer.Argument(metavar="RUN", help="cli.option.run_id")]
State = Annotated[str | None, typer.Option("--state", metavar="STATE", help="cli.option.state")]
Limit = Annotated[int, typer.Option("--limit", metavar="N", min=1, help="cli.option.limit")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="cli.option.output")]


def list_runs(limit: Limit = 20, state: State = None, as_json: AsJson = False, lang: Lang = None) -> int:
    """The newest runs first."""
    return run_async(_list(read_settings(lang), limit=limit, state=state, as_json=as_json))


def show_run(run: RunId, as_json: AsJson = False, lang: Lang = None) -> int:
    """What happened in a run, turn by turn."""
    return run_async(_show(read_settings(lang), run, as_json=as_json))


def export_run(run: RunId, output: Output = None, lang: Lang = None) -> int:
    """Everything on record about a run, as JSON."""
    return run_async(_export(read_settings(lang), run, output))


async def _list(settings: Settings, *, limit: int, state: str | None, as_json: bool) -> int:
    from ._shapes import print_json, row_object
    from ._table import print_table

    locale = locale_of(settings)
    wanted = _state(state, settings)
    async with open_store(settings) as store:
        rows = await store.runs(settings.tenant, limit=limit, state=wanted)
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
    return 0


def _state(text: str | None, settings: Settings) -> RunState | None:
    from typing import get_args

    from daeri.engine import RunState

    for state in get_args(RunState):
        if state == text:
            return state
    if text is None:
        return None
    states = ", ".join(get_args(RunState))
    raise UsageError(message("cli.error.state", locale_of(settings), state=text, states=states))


async def _show(settings: Settings, run_id: str, *, as_json: bool) -> int:
    from daeri.engine import decode_event, fold_run

    from ._shapes import print_json, run_object
    from ._timeline import timeline

    async with open_store(settings) as store:
        row = await store.run(settings.tenant, run_id)
        stored = await store.events(settings.tenant, row.run_id)
    result = fold_run(stored, row)
    if as_json:
        print_json({**run_object(result), "goal": row.goal, "agent": row.agent, "created_at": row.created_at.isoformat()})
        return 0
    events = [decode_event(row.run_id, event) for event in stored]
    print("\n".join(timeline(row, events, result, locale_of(settings))))
    return 0


async def _export(settings: Settings, run_id: str, output: Path | None) -> int:
    from ._shapes import json_text

    async with open_store(settings) as store:
        row = await store.run(settings.tenant, run_id)
        text = json_text(await _transcript(store, row))
    if output is None:
        print(text)
        return 0
    try:
        output.write_text(text + "\n", "utf-8")
    except OSError as error:
        problem = message("cli.error.write", locale_of(settings), file=output, cause=error.strerror or error)
        raise UsageError(problem) from None
    return 0


async def _transcript(store: SqliteStore, row: RunRow) -> dict[str, Any]:
    events = await store.events(row.tenant, row.run_id)
    return {
        "format": "daeri.run",
        "version": EXPORT_VERSION,
        "run": asdict(row),
        "events": [asdict(event) for event in events],
        "calls": await _calls(store, row),
        "approvals": [asdict(approval) for approval in await store.approvals_of(row.tenant, row.run_id)],
        "tools": await _definitions(store, events),
    }


async def _calls(store: SqliteStore, row: RunRow) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []
    for call in await store.calls_of(row.tenant, row.run_id):
        has_result = call.result_digest is not None
        result = await store.result_of(row.tenant, call.record.call_id) if has_result else None
        outcome = {"state": call.state, "failure": call.failure and asdict(call.failure), "elapsed_ms": call.elapsed_ms}
        calls.append({**asdict(call.record), **outcome, "ended_at": call.ended_at, "result": result})
    return calls


async def _definitions(store: SqliteStore, events: list[JournalEvent] | Any) -> dict[str, Any]:
    from daeri.errors import NotFoundError

    offered: dict[str, Any] = {}
    for event in events:
        if event.type == "run.started" and isinstance(event.data.get("tools"), dict):
            offered |= event.data["tools"]
    definitions: dict[str, Any] = {}
    for name, definition_hash in offered.items():
        try:
            definitions[name] = await store.definition(str(definition_hash))
        except NotFoundError:
            continue  # recorded by a release that did not keep definitions
    return definitions
