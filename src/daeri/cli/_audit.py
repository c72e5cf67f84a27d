"""`daeri audit`: reading, checking and signing the audit record.

`verify --json` prints `{"whole", "rows", "head", "checkpoints", "kept_outside", "signed",
"faults": [{"kind", "seq", "detail"}]}`.
`tail --json` prints a line per event: `{"seq", "at", "tenant", "kind", "actor", "subject", "run_id", "data", "hash"}`.
`checkpoint --json` prints the checkpoint as it is kept, or null for an empty record.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from daeri.boundary import AuditEvent, principal_json
from daeri.identity import Principal
from daeri.runtime import DATABASE, AuditKeeper, local_principal, principal_named, verify_audit
from daeri.settings import Settings
from daeri.store import CHAIN, AuditReport, AuditRow, SqliteStore
from daeri.text import Locale, message

from ._exit import ExitCode
from ._lines import one_line
from ._opening import locale_of, open_store, read_settings
from ._shapes import json_text, print_json

READERS = frozenset({"auditor", "admin"})
"""Roles that may read the audit record."""

_LOOK_S = 0.5
_WIDE = 400
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def verify_record(
    *, key: Path | None, checkpoints: Path | None, as_json: bool, as_name: str | None, lang: Locale | None
) -> int:
    """Check the audit record and say what is wrong with it."""

    async def verify(settings: Settings, store: SqliteStore | None, _: Principal) -> int:
        report = await verify_audit(store, settings.home, key_file=key, checkpoints_file=checkpoints)
        if as_json:
            print_json({"whole": not report.faults, **asdict(report)})
        elif store is None:
            said = [message("audit.no_record", locale_of(settings), path=settings.home / DATABASE)]
            print("\n".join([*said, *(_verdict(report, locale_of(settings)) if report.faults else ())]))
        else:
            print("\n".join(_verdict(report, locale_of(settings))))
        return ExitCode.FAILED if report.faults else ExitCode.SUCCEEDED

    settings = read_settings(lang)
    principal = _principal(settings, as_name)
    if principal.roles & READERS and not (settings.home / DATABASE).exists():
        return asyncio.run(verify(settings, None, principal))
    return _as_reader("verify", verify, as_name, lang)


def tail_record(*, count: int, follow: bool, as_json: bool, as_name: str | None, lang: Locale | None) -> int:
    """Print the newest audit events, and the new ones as they come."""

    async def tail(_: Settings, store: SqliteStore, principal: Principal) -> int:
        version = await store.data_version()
        rows = await store.last_audit(principal.tenant, count)
        _print_rows(rows, as_json=as_json)
        last = rows[-1].seq if rows else 0
        while follow:
            seen, version = version, await store.data_version()
            rows = () if seen == version else await store.audit_after(principal.tenant, last)
            while rows:
                _print_rows(rows, as_json=as_json)
                last = rows[-1].seq
                rows = await store.audit_after(principal.tenant, last)
            await asyncio.sleep(_LOOK_S)
        return ExitCode.SUCCEEDED

    with suppress(BrokenPipeError):  # nobody reads any more
        return _as_reader("tail", tail, as_name, lang)
    return ExitCode.SUCCEEDED


def sign_record(*, as_json: bool, as_name: str | None, lang: Locale | None) -> int:
    """Sign the audit record as it is."""

    async def sign(settings: Settings, store: SqliteStore, principal: Principal) -> int:
        locale = locale_of(settings)
        keeper = AuditKeeper(store, settings.home, tenant=principal.tenant, actor=principal.subject, via=principal.via)
        checkpoint = await keeper.checkpoint()
        if as_json:
            print(checkpoint.as_line() if checkpoint else "null")
        elif checkpoint is None:
            print(message("audit.nothing", locale))
        else:
            print(message("audit.made", locale, seq=checkpoint.seq, key_id=checkpoint.key_id, hash=checkpoint.hash))
        return ExitCode.SUCCEEDED

    return _as_reader("checkpoint", sign, as_name, lang)


def _as_reader(
    what: str,
    do: Callable[[Settings, SqliteStore, Principal], Coroutine[None, None, int]],
    as_name: str | None,
    lang: Locale | None,
) -> int:
    """Do it if the person may read the audit record; else put the attempt into it."""
    settings = read_settings(lang)

    async def opened() -> int:
        principal = _principal(settings, as_name)
        async with open_store(settings) as store:
            if principal.roles & READERS:
                return await do(settings, store, principal)
            await store.commit([_refusal(principal, what)])
            return _refused(principal, locale_of(settings))

    return asyncio.run(opened())


def _principal(settings: Settings, as_name: str | None) -> Principal:
    return principal_named(settings, as_name) if as_name else local_principal(settings)


def _refusal(principal: Principal, what: str) -> AuditEvent:
    return AuditEvent(
        tenant=principal.tenant,
        kind="audit.refused",
        actor=principal.subject,
        at=datetime.now(UTC),
        subject=CHAIN,
        data={"asked_for": what, "principal": principal_json(principal), "needs": sorted(READERS)},
    )


def _refused(principal: Principal, locale: Locale) -> int:
    roles = ", ".join(sorted(principal.roles)) or message("audit.no_roles", locale)
    print(message("audit.refused", locale, subject=principal.subject, roles=roles), file=sys.stderr)
    return ExitCode.DENIED


def _verdict(report: AuditReport, locale: Locale) -> Sequence[str]:
    if report.faults:
        faults = [message(f"audit.fault.{fault.kind}", locale, seq=fault.seq) for fault in report.faults]
        return [*faults, message("audit.broken", locale, rows=report.rows)]
    lines = [message("audit.whole", locale, rows=report.rows)]
    if report.signed:
        lines.append(_signed(report, locale))
    if unsigned := report.rows - report.signed:
        lines.append(message("audit.unsigned", locale, unsigned=unsigned, signed=report.signed))
    return lines


def _signed(report: AuditReport, locale: Locale) -> str:
    return message(
        "audit.signed",
        locale,
        checkpoints=report.checkpoints,
        kept_outside=report.kept_outside,
        signed=report.signed,
    )


def _print_rows(rows: Sequence[AuditRow], *, as_json: bool) -> None:
    for row in rows:
        print(_as_json(row) if as_json else _as_line(row))
    print(end="", flush=True)


def _as_json(row: AuditRow) -> str:
    return json_text(
        {
            "seq": row.seq,
            "at": _moment(row).isoformat(),
            "tenant": row.tenant,
            "kind": row.kind,
            "actor": row.actor,
            "subject": row.subject,
            "run_id": row.run_id,
            "data": json.loads(row.data),
            "hash": row.hash,
        },
        indent=None,
    )


def _as_line(row: AuditRow) -> str:
    moment = f"{_moment(row).astimezone():%Y-%m-%d %H:%M:%S}"
    return f"{row.seq:>6}  {moment}  {row.kind:<18} {one_line(f'{row.actor}  {row.subject}  {row.data}', _WIDE)}"


def _moment(row: AuditRow) -> datetime:
    return _EPOCH + timedelta(microseconds=row.at)
