"""`daeri runs export`: everything on record about a run, as one JSON object.

    {"format": "daeri.run", "version": 1, "run": {…}, "events": [{"seq", "type", "at", "version", "data"}],
     "calls": [{…, "result": the full one}], "approvals": [{…}], "tools": {name: definition}}

Events are as they are stored, those of other releases too. `tools` holds the definitions that were offered to the run.
That a run was exported, by whom, is itself on the audit record before anything is given out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from daeri.boundary import AuditEvent, StoredApproval, principal_json
from daeri.engine import JournalEvent, RunRow, RunStarted
from daeri.errors import NotFoundError
from daeri.identity import Principal
from daeri.settings import Settings
from daeri.store import SqliteStore
from daeri.text import Locale, message

from ._exit import ExitCode, UsageError
from ._opening import acting_principal, locale_of, open_store, read_settings
from ._shapes import print_json

EXPORT_VERSION = 1


def write_transcript(run_id: str, output: Path | None, *, lang: Locale | None) -> int:
    """Write the transcript to a file or to stdout.

    Raises:
        UsageError: the file can't be written.
        NotFoundError: no such run.
    """
    settings = read_settings(lang)
    transcript = asyncio.run(_transcript(settings, run_id))
    if output is None:
        print_json(transcript)
        return ExitCode.SUCCEEDED
    try:
        with output.open("w", encoding="utf-8") as file:
            print_json(transcript, to=file)
    except OSError as error:
        problem = message("cli.error.write", locale_of(settings), file=output, cause=error.strerror or error)
        raise UsageError(problem) from None
    return ExitCode.SUCCEEDED


async def _transcript(settings: Settings, run_id: str) -> dict[str, Any]:
    async with open_store(settings) as store:
        row = await store.run(settings.tenant, run_id)
        events = await store.events(row.tenant, row.run_id)
        transcript = {
            "format": "daeri.run",
            "version": EXPORT_VERSION,
            "run": asdict(row),
            "events": [asdict(event) for event in events],
            "calls": await _calls(store, row),
            "approvals": [_approval(stored) for stored in await store.approvals_of(row.tenant, row.run_id)],
            "tools": await _definitions(store, events),
        }
        await store.commit([_exported(row, acting_principal(settings, None), events=len(events))])
        return transcript


def _exported(row: RunRow, principal: Principal, *, events: int) -> AuditEvent:
    return AuditEvent(
        tenant=row.tenant,
        kind="audit.exported",
        actor=principal.subject,
        at=datetime.now(UTC),
        subject=row.run_id,
        data={"what": "run", "events": events, "principal": principal_json(principal)},
        run_id=row.run_id,
    )


async def _calls(store: SqliteStore, row: RunRow) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []
    for call in await store.calls_of(row.tenant, row.run_id):
        has_result = call.result_digest is not None
        result = await store.result_of(row.tenant, call.record.call_id) if has_result else None
        outcome = {"state": call.state, "failure": call.failure and asdict(call.failure), "elapsed_ms": call.elapsed_ms}
        calls.append({**asdict(call.record), **outcome, "ended_at": call.ended_at, "result": result})
    return calls


def _approval(stored: StoredApproval) -> dict[str, Any]:
    fields = asdict(stored)
    return {**fields.pop("record"), **fields}


async def _definitions(store: SqliteStore, events: Sequence[JournalEvent]) -> dict[str, Any]:
    definitions: dict[str, Any] = {}
    for event in events:
        offered = event.data.get("tools") if event.type == RunStarted.type else None
        for name, definition_hash in offered.items() if isinstance(offered, Mapping) else ():
            with suppress(NotFoundError):  # recorded by a release that did not keep definitions
                definitions[name] = await store.definition(str(definition_hash))
    return definitions
