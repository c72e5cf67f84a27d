"""`daeri doctor`: is everything there that a run needs, and what to do where it is not.

`--json` prints `{"ok", "problems": [{"subject", "problem"}], "notes": [{"subject", "problem"}], "settings", "model",
"store", "tools", "agents"}`. Exit code 0 without problems, else 2; notes are for information.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from daeri.errors import DaeriError, SettingsError
from daeri.identity import missing_scopes
from daeri.models import ModelSettings, build_model, parse_model
from daeri.runtime import DATABASE, load_agents, present
from daeri.settings import Settings, settings_table
from daeri.text import Locale, message
from daeri.tools import allows

from ._error_text import error_text
from ._exit import ExitCode
from ._language import shell_locale
from ._opening import locale_of, open_daeri, open_store, read_settings
from ._shapes import print_json

_REACH_S = 3.0
_ORPHANS = 20


class _Findings:
    """What the check found, as it is printed and as JSON."""

    def __init__(self, locale: Locale) -> None:
        self.locale: Locale = locale
        self.parts: dict[str, Any] = {}
        self.problems: list[dict[str, str]] = []
        self.notes: list[dict[str, str]] = []

    def problem(self, subject: str, error: DaeriError | str) -> None:
        text = error if isinstance(error, str) else error_text(error, self.locale)
        if all(known["problem"] != text for known in self.problems):
            self.problems.append({"subject": subject, "problem": text})

    def note(self, subject: str, key: str, **values: object) -> None:
        self.notes.append({"subject": subject, "problem": message(f"cli.doctor.{key}", self.locale, **values)})


def print_findings(tool_modules: list[str], *, as_json: bool, lang: Locale | None) -> int:
    """Check settings, model, record, tools and agents, and print what was found."""
    try:
        settings = read_settings(lang)
    except SettingsError as error:
        findings = _Findings(shell_locale())
        findings.problem("settings", error)
    else:
        findings = _Findings(locale_of(settings))
        asyncio.run(_examine(settings, tool_modules, findings))
    if as_json:
        ok = not findings.problems
        print_json({"ok": ok, "problems": findings.problems, "notes": findings.notes, **findings.parts})
    else:
        print("\n".join(_report(findings)))
    return ExitCode.USAGE if findings.problems else ExitCode.SUCCEEDED


async def _examine(settings: Settings, tool_modules: list[str], findings: _Findings) -> None:
    _examine_settings(settings, findings)
    examinations = {
        "model": _examine_model,
        "store": _examine_store,
        "agents": _examine_agents,
        "tools": partial(_examine_tools, tool_modules=tool_modules),
    }
    for subject, examine in examinations.items():
        try:
            await examine(settings, findings)
        except DaeriError as error:
            findings.problem(subject, error)


def _examine_settings(settings: Settings, findings: _Findings) -> None:
    shown = settings.model_dump(mode="json")  # secrets come out masked
    values: dict[str, Any] = {}
    for row in settings_table():
        value: Any = shown
        for part in row.name.split("."):
            value = value[part]
        values[row.name] = {"value": value, "origin": settings.origin_of(row.name), "env": row.env}
    findings.parts["settings"] = {
        "project": None if settings.project is None else str(settings.project),
        "env_file": None if settings.sources.env_file is None else str(settings.sources.env_file),
        "values": values,
    }
    if settings.project is None:
        findings.note("settings", "no_project")
    if settings.origin_of("model.api_key") == "file":
        findings.note("settings", "key_in_file")


async def _examine_model(settings: Settings, findings: _Findings) -> None:
    own = settings.model
    key = own.api_key.get_secret_value() if own.api_key else None
    wanted = ModelSettings(reference=own.reference, base_url=own.base_url, api_key=key)
    model, choice = await build_model(wanted, settings.environment)
    await model.close()
    findings.parts["model"] = {
        "model": str(choice.reference),
        "reason": choice.reason(findings.locale),
        "base_url": choice.base_url,
    }
    # Only servers of one's own are knocked at; a provider on the internet would see a request that nobody asked for.
    if choice.base_url and choice.reference.kind == "openai-compatible" and not await _is_there(choice.base_url):
        findings.problem("model", message("cli.doctor.unreachable", findings.locale, url=choice.base_url))


async def _is_there(url: str) -> bool:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        async with asyncio.timeout(_REACH_S):
            _, writer = await asyncio.open_connection(parts.hostname, port)
    except OSError:  # a time-out is one too
        return False
    writer.close()
    return True


async def _examine_store(settings: Settings, findings: _Findings) -> None:
    async with present(settings.home) as presence, open_store(settings) as store:
        wrong = list(await store.check())
        for run in await store.runs(settings.tenant, limit=_ORPHANS, state="running") if presence.alone else ():
            findings.note("store", "orphan", run=run.run_id)
        findings.parts["store"] = {
            "path": str(settings.home / DATABASE),
            "sound": not wrong,
            "rows": dict(await store.counts()),
        }
    for cause in wrong:
        findings.problem("store", message("cli.doctor.store", findings.locale, cause=cause))


async def _examine_tools(settings: Settings, findings: _Findings, *, tool_modules: list[str]) -> None:
    async with open_daeri(settings, tool_modules) as daeri:
        tools = daeri.registry.tools()
        held = daeri.principal.scopes
        agents = daeri.agents
    findings.parts["tools"] = [tool.name for tool in tools]
    for tool in tools:
        if tool.output_schema is None:
            findings.note("tools", "no_contract", tool=tool.name)
        if missing := missing_scopes(tool.scopes, held):
            findings.note("tools", "no_scope", tool=tool.name, scopes=", ".join(missing))
    for agent in agents.values():
        for pattern in agent.tools:
            if not any(allows([pattern], tool.name) for tool in tools):
                text = message("cli.doctor.agent_tools", findings.locale, agent=agent.name, pattern=pattern)
                findings.problem("agents", text)


async def _examine_agents(settings: Settings, findings: _Findings) -> None:
    agents = load_agents(settings.agents.folder, settings.run_limits())
    findings.parts["agents"] = {"default": settings.agents.default, "names": sorted({"default", *agents})}
    for agent in agents.values():
        try:
            parse_model(agent.model or "planner")
        except SettingsError as error:
            problem = error_text(error, findings.locale)
            findings.problem(
                "agents", message("cli.doctor.agent_model", findings.locale, agent=agent.name, problem=problem)
            )
    if settings.agents.default not in ("default", *agents):
        folder = settings.agents.folder
        text = message("cli.doctor.no_agent", findings.locale, agent=settings.agents.default, folder=folder)
        findings.problem("agents", text)


def _report(findings: _Findings) -> list[str]:
    parts, locale = findings.parts, findings.locale

    def say(key: str, **values: object) -> str:
        return message(f"cli.doctor.{key}", locale, **values)

    lines: list[str] = []
    if settings := parts.get("settings"):
        lines.append(say("project", project=settings["project"] or "-"))
        for name, row in settings["values"].items():
            if row["origin"] != "default":
                origin = message(f"cli.origin.{row['origin']}", locale)
                lines.append(f"  {name} = {row['value']} ({origin})")
    if model := parts.get("model"):
        lines.append(model["reason"])
    if store := parts.get("store"):
        lines.append(say("record", path=store["path"], runs=store["rows"]["runs"], events=store["rows"]["events"]))
    if "tools" in parts:
        lines.append(say("tools", names=", ".join(parts["tools"])))
    if "agents" in parts:
        lines.append(say("agents", names=", ".join(parts["agents"]["names"]), default=parts["agents"]["default"]))
    lines += [say("note_line", subject=note["subject"], text=note["problem"]) for note in findings.notes]
    lines += [say("problem_line", subject=found["subject"], text=found["problem"]) for found in findings.problems]
    return [*lines, say("unsound", count=len(findings.problems)) if findings.problems else say("sound")]
