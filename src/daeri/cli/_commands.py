"""The commands as they are typed. What they do is in a module per noun, loaded when the command is used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daeri.text import Locale

AsJson = Annotated[bool, typer.Option("--json", help="cli.option.json")]
Lang = Annotated[Locale | None, typer.Option("--lang", metavar="ko|en", help="cli.option.lang")]
ToolModules = Annotated[list[str] | None, typer.Option("--tools", metavar="MODULE|FILE", help="cli.option.tools")]
RunId = Annotated[str, typer.Argument(metavar="RUN", help="cli.option.run_id")]


def run(
    goal: Annotated[str | None, typer.Argument(metavar="GOAL|-", help="cli.option.goal")] = None,
    agent: Annotated[str | None, typer.Option("--agent", metavar="NAME", help="cli.option.agent")] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help="cli.option.model")] = None,
    tools: ToolModules = None,
    as_json: Annotated[bool, typer.Option("--json", help="cli.option.run_json")] = False,
    as_events: Annotated[bool, typer.Option("--events", help="cli.option.events")] = False,
    max_steps: Annotated[
        int | None, typer.Option("--max-steps", metavar="N", min=1, help="cli.option.max_steps")
    ] = None,
    lang: Lang = None,
) -> int:
    """Run an agent with a goal."""
    from ._run import Order, run_goal

    order = Order(goal=goal, agent=agent, model=model, tools=tools or [], max_steps=max_steps, lang=lang)
    return run_goal(order, as_json=as_json, as_events=as_events)


def list_runs(
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="cli.option.limit")] = 20,
    state: Annotated[str | None, typer.Option("--state", metavar="STATE", help="cli.option.state")] = None,
    as_json: AsJson = False,
    lang: Lang = None,
) -> int:
    """List the newest runs first."""
    from ._runs import print_runs

    return print_runs(limit=limit, state=state, as_json=as_json, lang=lang)


def show_run(run: RunId, as_json: AsJson = False, lang: Lang = None) -> int:
    """Show what happened in a run, turn by turn."""
    from ._runs import print_run

    return print_run(run, as_json=as_json, lang=lang)


def export_run(
    run: RunId,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="cli.option.output")] = None,
    lang: Lang = None,
) -> int:
    """Write everything on record about a run, as JSON."""
    from ._export import write_transcript

    return write_transcript(run, output, lang=lang)


def list_tools(tools: ToolModules = None, as_json: AsJson = False, lang: Lang = None) -> int:
    """List all tools of the project, of the toolkits, and of the command line."""
    from ._tools import print_tools

    return print_tools(tools or [], as_json=as_json, lang=lang)


def show_tool(
    name: Annotated[str, typer.Argument(metavar="NAME", help="cli.option.tool_name")],
    tools: ToolModules = None,
    as_json: AsJson = False,
    lang: Lang = None,
) -> int:
    """Show one tool in full."""
    from ._tools import print_tool

    return print_tool(name, tools or [], as_json=as_json, lang=lang)


def doctor(tools: ToolModules = None, as_json: AsJson = False, lang: Lang = None) -> int:
    """Check settings, model, record, tools and agents."""
    from ._doctor import print_findings

    return print_findings(tools or [], as_json=as_json, lang=lang)


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="cli.option.folder")],
    lang: Lang = None,
) -> int:
    """Write a project to start from."""
    from ._init import write_project

    return write_project(folder, lang=lang)
