from __future__ import annotations

from typing import TYPE_CHECKING

from daeri.engine import Agent, Limits, RunStarted
from daeri.identity import Principal
from daeri.tools import ToolContext, tool

if TYPE_CHECKING:
    from tests.engine.conftest import Lab

KIM = Principal(tenant="acme", subject="kim", scopes=frozenset({"mail:read", "files:*"}), roles=frozenset({"admin"}))

SEEN: list[Principal] = []


@tool(name="mail.read", read_only=True, scopes=["mail:read"])
def read_mail(context: ToolContext) -> str:
    """Read the mail."""
    SEEN.append(context.principal)
    return "one letter"


@tool(name="mail.send", scopes=["mail:send"])
def send_mail() -> str:
    """Send a letter."""
    raise AssertionError("nobody here has the scope")


@tool(name="files.list", read_only=True, scopes=["files:list"])
def list_files() -> list[str]:
    """List files."""
    return ["a.txt"]


TOOLS = (read_mail, send_mail, list_files)


async def test_an_agent_is_offered_only_the_tools_of_its_allow_list(lab: Lab) -> None:
    model = lab.Model(lab.says("Hello!"))
    result = await lab.run(model, *TOOLS, agent=Agent(name="clerk", tools=("mail.*",)))
    assert [spec.name for spec in model.requests[0].tools] == ["mail.read", "mail.send"]
    [started] = [event.body for event in await lab.journal(result.run_id) if isinstance(event.body, RunStarted)]
    assert list(started.tools) == ["mail.read", "mail.send"]


async def test_a_tool_outside_the_allow_list_does_not_exist_for_the_agent(lab: Lab) -> None:
    model = lab.Model(lab.calls(lab.call("files.list")), lab.says("No files."))
    result = await lab.run(model, *TOOLS, agent=Agent(name="clerk", tools=("mail.read",)))
    [call] = result.calls
    assert (call.state, call.failure and call.failure.kind) == ("denied", "unknown_tool")
    assert (
        model.requests[1].blocks[0].answers[0].content.startswith("ERROR unknown_tool: there is no tool 'files.list'. ")
    )


async def test_a_disabled_tool_is_not_offered(lab: Lab) -> None:
    engine = await lab.engine(*TOOLS)
    lab.engines[-1][2].disable("mail.read")
    model = lab.Model(lab.says("Hello!"))
    await lab.result(await engine.start("Hi.", agent=Agent(name="clerk"), model=model, principal=KIM))
    assert [spec.name for spec in model.requests[0].tools] == ["files.list", "mail.send"]


async def test_the_agent_acts_for_its_caller_with_the_rights_of_the_caller(lab: Lab) -> None:
    SEEN.clear()
    await lab.run(lab.Model(lab.calls(lab.call("mail.read")), lab.says("One.")), *TOOLS, principal=KIM)
    [acting] = SEEN
    assert (acting.subject, acting.kind, acting.tenant) == ("agent:clerk", "agent", "acme")
    assert (acting.scopes, acting.roles, acting.on_behalf_of) == (KIM.scopes, frozenset(), KIM)


async def test_an_agent_gets_no_scope_that_its_caller_lacks(lab: Lab) -> None:
    agent = Agent(name="clerk", scopes=frozenset({"*"}))
    model = lab.Model(lab.calls(lab.call("mail.send"), lab.call("files.list")), lab.says("a.txt"))
    result = await lab.run(model, *TOOLS, agent=agent, principal=KIM)
    assert [(call.tool, call.state) for call in result.calls] == [("mail.send", "denied"), ("files.list", "succeeded")]


async def test_an_agent_uses_no_scope_that_its_own_grants_leave_out(lab: Lab) -> None:
    agent = Agent(name="clerk", scopes=frozenset({"mail:*"}))
    model = lab.Model(lab.calls(lab.call("mail.read"), lab.call("files.list")), lab.says("One."))
    result = await lab.run(model, *TOOLS, agent=agent, principal=KIM)
    assert [(call.tool, call.state) for call in result.calls] == [("mail.read", "succeeded"), ("files.list", "denied")]


async def test_a_tool_whose_scope_is_missing_is_still_offered_so_that_it_can_be_named(lab: Lab) -> None:
    model = lab.Model(lab.says("Hello!"))
    await lab.run(model, *TOOLS, principal=KIM)
    assert "mail.send" in [spec.name for spec in model.requests[0].tools]


async def test_the_limits_of_the_agent_hold_unless_others_are_given(lab: Lab) -> None:
    agent = Agent(name="clerk", limits=Limits(max_steps=1, max_output_tokens=77))
    model = lab.Model(lab.calls(lab.call("files.list")))
    result = await lab.run(model, *TOOLS, agent=agent)
    assert (result.reason, result.steps, model.requests[0].max_output_tokens) == ("max_steps", 1, 77)
    model = lab.Model(lab.calls(lab.call("files.list")), lab.says("a.txt"))
    result = await lab.run(model, *TOOLS, agent=agent, limits=Limits(max_steps=2))
    assert (result.status, model.requests[0].max_output_tokens) == ("succeeded", None)


async def test_the_journal_begins_with_everything_needed_to_understand_the_run(lab: Lab) -> None:
    agent = Agent(name="clerk", instructions="Be brief.", limits=Limits(max_steps=3))
    result = await lab.run(lab.Model(lab.says("Hello!")), read_mail, goal="안녕", agent=agent, principal=KIM)
    first, *_ = await lab.stored(result.run_id)
    assert first.type == "run.started"
    assert {key: first.data[key] for key in ("goal", "agent", "instructions", "model", "model_choice", "locale")} == {
        "goal": "안녕",
        "agent": "clerk",
        "instructions": "Be brief.",
        "model": "fake",
        "model_choice": "configured",
        "locale": "ko",
    }
    [started] = [event.body for event in await lab.journal(result.run_id) if isinstance(event.body, RunStarted)]
    assert started.limits["max_steps"] == 3
    assert started.principal["on_behalf_of"] == {
        "tenant": "acme",
        "subject": "kim",
        "kind": "user",
        "scopes": ["files:*", "mail:read"],
        "roles": ["admin"],
    }
    assert started.tools["mail.read"].startswith("sha256:")
