"""The commands as they are typed. What they do is in a module per noun, loaded when the command is used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from daeri.text import Locale

AsJson = Annotated[bool, typer.Option("--json", help="cli.option.json")]
Lang = Annotated[Locale | None, typer.Option("--lang", metavar="ko|en", help="cli.option.lang")]
ToolModules = Annotated[list[str] | None, typer.Option("--tools", metavar="MODULE|FILE", help="cli.option.tools")]
ActAs = Annotated[str | None, typer.Option("--as", metavar="NAME", help="cli.option.as")]
ApprovalId = Annotated[str, typer.Argument(metavar="APPROVAL", help="approvals.option.approval_id")]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="approvals.option.reason")]
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
    as_name: ActAs = None,
    lang: Lang = None,
) -> int:
    """Run an agent with a goal."""
    from ._run import Order, run_goal

    order = Order(
        goal=goal, agent=agent, model=model, tools=tools or [], max_steps=max_steps, as_name=as_name, lang=lang
    )
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


def call_tool(
    name: Annotated[str, typer.Argument(metavar="TOOL", help="cli.option.tool_name")],
    args: Annotated[str, typer.Option("--args", metavar="JSON|-", help="cli.option.args")] = "{}",
    as_name: ActAs = None,
    idempotency_key: Annotated[
        str | None, typer.Option("--idempotency-key", metavar="KEY", help="approvals.option.idempotency_key")
    ] = None,
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", min=0, help="approvals.option.wait")] = 0.0,
    tools: ToolModules = None,
    as_json: AsJson = False,
    lang: Lang = None,
) -> int:
    """Send one call through the boundary."""
    from ._call import CallOrder
    from ._call import call_tool as call

    order = CallOrder(
        tool=name,
        args=args,
        tools=tools or [],
        as_name=as_name,
        idempotency_key=idempotency_key,
        wait_s=wait,
        lang=lang,
    )
    return call(order, as_json=as_json)


def list_approvals(
    state: Annotated[str | None, typer.Option("--state", metavar="STATE", help="approvals.option.state")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="cli.option.limit")] = 20,
    tools: ToolModules = None,
    as_json: AsJson = False,
    as_name: ActAs = None,
    lang: Lang = None,
) -> int:
    """List the newest requests for approval first."""
    from ._approvals import print_approvals

    return print_approvals(tools or [], state=state, limit=limit, as_json=as_json, as_name=as_name, lang=lang)


def show_approval(
    approval: ApprovalId, tools: ToolModules = None, as_json: AsJson = False, as_name: ActAs = None, lang: Lang = None
) -> int:
    """Show everything that whoever decides has to know."""
    from ._approvals import print_approval

    return print_approval(approval, tools or [], as_json=as_json, as_name=as_name, lang=lang)


def approve(
    approval: ApprovalId,
    reason: Reason = "",
    tools: ToolModules = None,
    as_json: AsJson = False,
    as_name: ActAs = None,
    lang: Lang = None,
) -> int:
    """Approve a call and carry it out."""
    from ._approvals import approve_call

    return approve_call(approval, tools or [], reason=reason, as_json=as_json, as_name=as_name, lang=lang)


def reject(
    approval: ApprovalId,
    reason: Reason = "",
    tools: ToolModules = None,
    as_json: AsJson = False,
    as_name: ActAs = None,
    lang: Lang = None,
) -> int:
    """Reject a call, with the reason."""
    from ._approvals import close_approval

    return close_approval("reject", approval, tools or [], reason=reason, as_json=as_json, as_name=as_name, lang=lang)


def withdraw(
    approval: ApprovalId,
    reason: Reason = "",
    tools: ToolModules = None,
    as_json: AsJson = False,
    as_name: ActAs = None,
    lang: Lang = None,
) -> int:
    """Take a request back."""
    from ._approvals import close_approval

    return close_approval("withdraw", approval, tools or [], reason=reason, as_json=as_json, as_name=as_name, lang=lang)


def verify_audit(
    key: Annotated[Path | None, typer.Option("--key", metavar="FILE", help="audit.option.key")] = None,
    checkpoints: Annotated[
        Path | None, typer.Option("--checkpoints", metavar="FILE", help="audit.option.checkpoints")
    ] = None,
    as_json: AsJson = False,
    as_name: ActAs = None,
    lang: Lang = None,
) -> int:
    """Check the audit record."""
    from ._audit import verify_record

    return verify_record(key=key, checkpoints=checkpoints, as_json=as_json, as_name=as_name, lang=lang)


def tail_audit(
    count: Annotated[int, typer.Option("-n", metavar="N", min=0, help="audit.option.count")] = 20,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="audit.option.follow")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="audit.option.json_lines")] = False,
    as_name: ActAs = None,
    lang: Lang = None,
) -> int:
    """Show the newest audit events."""
    from ._audit import tail_record

    return tail_record(count=count, follow=follow, as_json=as_json, as_name=as_name, lang=lang)


def sign_audit(as_json: AsJson = False, as_name: ActAs = None, lang: Lang = None) -> int:
    """Sign the audit record as it is."""
    from ._audit import sign_record

    return sign_record(as_json=as_json, as_name=as_name, lang=lang)


def check_policy(
    tools: ToolModules = None,
    schema: Annotated[bool, typer.Option("--schema", help="cli.option.schema")] = False,
    as_json: AsJson = False,
    lang: Lang = None,
) -> int:
    """Check policies, rules and limits, and list them."""
    from ._policy import check_policies

    return check_policies(tools or [], schema=schema, as_json=as_json, lang=lang)


def explain_policy(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="cli.option.tool_name")],
    as_name: Annotated[str | None, typer.Option("--as", metavar="NAME", help="cli.option.as")] = None,
    args: Annotated[str, typer.Option("--args", metavar="JSON", help="cli.option.args")] = "{}",
    tools: ToolModules = None,
    as_json: AsJson = False,
    lang: Lang = None,
) -> int:
    """Say what policy decides about a call."""
    from ._explain import explain_call

    return explain_call(tool, args, tools or [], as_name=as_name, as_json=as_json, lang=lang)


def doctor(tools: ToolModules = None, as_json: AsJson = False, lang: Lang = None) -> int:
    """Check settings, model, record, tools and agents."""
    from ._doctor import print_findings

    return print_findings(tools or [], as_json=as_json, lang=lang)


def init(
    folder: Annotated[str, typer.Argument(metavar="DIR", help="cli.option.folder")],
    lang: Lang = None,
) -> int:
    """Write a project to start from."""
    from ._init import write_project

    return write_project(folder, lang=lang)
