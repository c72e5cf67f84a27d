"""Daeri as a whole: built from settings, running agents, closed without leftovers."""

from __future__ import annotations

import asyncio
import getpass
import os
import pwd
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from daeri.engine import Agent, Limits
from daeri.errors import DefinitionError, NotFoundError, SettingsError, StoreError
from daeri.identity import Principal
from daeri.runtime import Daeri, local_principal
from daeri.settings import load_settings
from daeri.tools import tool

if TYPE_CHECKING:
    from tests.runtime.conftest import LoadProject, OpenProject, WriteAgent, WriteScript

MODULE = '''
from daeri import tool

@tool
def double(number: int) -> int:
    """Double a number."""
    return number * 2
'''


@tool
def triple(number: int) -> int:
    """Triple a number."""
    return number * 3


def _call(name: str, **arguments: object) -> dict[str, object]:
    return {"calls": [{"name": name, "arguments": arguments}]}


async def test_a_goal_is_answered_with_the_tools_really_run(
    open_project: OpenProject, write_script: WriteScript
) -> None:
    script = write_script(_call("triple", number=14), {"text": "42입니다."})

    async with open_project(tools=[triple]) as daeri:
        result = await daeri.ask("14의 세 배는?", model=script)

        (call,) = await daeri.store.calls_of("local", result.run_id)
        assert (result.status, result.answer) == ("succeeded", "42입니다.")
        assert (call.record.tool, call.state, await daeri.store.result_of("local", call.record.call_id)) == (
            "triple",
            "succeeded",
            42,
        )


async def test_tools_come_from_the_settings_the_opener_and_python(tmp_path: Path, open_project: OpenProject) -> None:
    (tmp_path / "own.py").write_text(MODULE, "utf-8")
    (tmp_path / "more.py").write_text(MODULE.replace("double", "quadruple"), "utf-8")

    async with open_project('[tools]\nmodules = ["own.py"]', tools=[triple], tool_modules=["more.py"]) as daeri:
        names = {tool.name for tool in daeri.registry.tools()}

    assert {"double", "quadruple", "triple", "calculator"} <= names


async def test_a_file_named_twice_is_one_source(tmp_path: Path, open_project: OpenProject) -> None:
    file = tmp_path / "own.py"
    file.write_text(MODULE, "utf-8")

    async with open_project('[tools]\nmodules = ["own.py"]', tool_modules=["own.py", "./own.py", str(file)]) as daeri:
        assert daeri.registry.get("double").source == "own.py"


async def test_a_tool_of_a_project_has_the_same_definition_wherever_the_project_lies(
    tmp_path: Path,
) -> None:
    hashes: list[str] = []
    for place in ("here", "there"):
        project = tmp_path / place
        project.mkdir()
        (project / "own.py").write_text(MODULE, "utf-8")
        (project / "daeri.toml").write_text('[tools]\nmodules = ["own.py"]', "utf-8")
        async with Daeri.open(load_settings(start=project, environ={})) as daeri:
            hashes.append(daeri.registry.get("double").definition_hash)

    assert hashes[0] == hashes[1]


async def test_two_tools_of_one_name_stop_the_start(tmp_path: Path, open_project: OpenProject) -> None:
    (tmp_path / "own.py").write_text(MODULE.replace("double", "triple"), "utf-8")

    with pytest.raises(DefinitionError, match=r"both 'own.py' and 'given' have a tool of this name"):
        async with open_project(tools=[triple], tool_modules=["own.py"]):
            pass


async def test_a_tool_named_like_a_built_in_one_stops_the_start(open_project: OpenProject) -> None:
    @tool(name="calculator")
    def mine() -> str:
        """Calculate."""
        return ""

    with pytest.raises(DefinitionError, match="calculator"):
        async with open_project(tools=[mine]):
            pass


async def test_a_disabled_tool_is_known_but_not_visible(open_project: OpenProject) -> None:
    async with open_project('[tools]\ndisabled = ["triple"]', tools=[triple]) as daeri:
        assert not daeri.registry.get("triple").enabled
        assert "triple" not in [tool.name for tool in daeri.boundary.visible_tools(daeri.principal)]


async def test_disabling_a_tool_that_does_not_exist_stops_the_start_with_setting_value_and_fix(
    open_project: OpenProject,
) -> None:
    with pytest.raises(SettingsError) as caught:
        async with open_project('[tools]\ndisabled = ["tripel"]', tools=[triple]):
            pass

    assert (caught.value.setting, caught.value.value) == ("tools.disabled", "tripel")
    assert "triple" in caught.value.fix


async def test_an_agent_of_the_project_runs_with_its_own_tools_only(
    open_project: OpenProject, write_agent: WriteAgent, write_script: WriteScript
) -> None:
    write_agent("narrow", {"name": "narrow", "metadata": {"tools": ["calculator"]}})
    script = write_script(_call("triple", number=1), {"text": "안 됩니다."})

    async with open_project(tools=[triple]) as daeri:
        result = await daeri.ask("세 배", agent="narrow", model=script)
        (call,) = await daeri.store.calls_of("local", result.run_id)

    assert (call.record.agent, call.state, call.failure and call.failure.kind) == ("narrow", "denied", "unknown_tool")


async def test_an_agent_acts_for_the_person_with_the_rights_of_both(
    open_project: OpenProject, write_agent: WriteAgent, write_script: WriteScript
) -> None:
    @tool(scopes=["pay:send"])
    def pay() -> str:
        """Pay."""
        return "paid"

    write_agent("reader", {"name": "reader", "metadata": {"scopes": ["pay:read"]}})
    script = write_script(_call("pay"), {"text": "안 됩니다."})

    async with open_project('[cli]\nscopes = ["pay:*"]', tools=[pay]) as daeri:
        result = await daeri.ask("보내 줘", agent="reader", model=script)
        (call,) = await daeri.store.calls_of("local", result.run_id)

    assert (call.record.subject, call.state) == ("agent:reader", "denied")
    assert call.failure is not None
    assert "pay:send" in call.failure.diagnostic


async def test_an_agent_can_be_given_as_it_is(open_project: OpenProject, write_script: WriteScript) -> None:
    agent = Agent(name="adhoc", limits=Limits(max_steps=1))

    async with open_project() as daeri:
        result = await daeri.ask("안녕", agent=agent, model=write_script({"text": "네."}))
        assert (await daeri.store.run("local", result.run_id)).agent == "adhoc"


async def test_what_an_agent_asked_for_that_is_known_no_more_does_not_run(
    open_project: OpenProject, write_script: WriteScript
) -> None:
    ran: list[int] = []

    @tool(risk="high")
    def wipe(number: int) -> str:
        """Wipe a disk."""
        ran.append(number)
        return "wiped"

    model = write_script(_call("wipe", number=1), {"text": "Done."})
    boss = Principal(
        tenant="local", subject="user:boss", roles=frozenset({"approver"}), scopes=frozenset({"approve:*"})
    )

    async def asked(daeri: Daeri) -> str:
        agent = Agent(name="cleaner", tools=("wipe",))
        (approval,) = (await daeri.ask("wipe", agent=agent, model=model)).approvals
        await daeri.boundary.approvals.approve(approval, boss)
        return approval

    async with open_project(tools=[wipe]) as daeri:
        here = await daeri.boundary.approvals.execute("local", await asked(daeri))
        left = await asked(daeri)
    async with open_project(tools=[wipe]) as daeri:
        elsewhere = await daeri.boundary.approvals.execute("local", left)
        state = (await daeri.boundary.approvals.show(boss, left)).state

    assert (here.state, elsewhere.state, state, ran) == ("succeeded", "denied", "void", [1])


async def test_an_unknown_agent_is_not_found_and_the_others_are_named(open_project: OpenProject) -> None:
    async with open_project() as daeri:
        with pytest.raises(NotFoundError, match=r"no agent 'nosuch'. There are: default."):
            await daeri.ask("안녕", agent="nosuch")


async def test_a_default_agent_that_does_not_exist_stops_the_start(open_project: OpenProject) -> None:
    with pytest.raises(SettingsError) as caught:
        async with open_project('[agents]\ndefault = "nosuch"'):
            pass

    assert (caught.value.setting, caught.value.value) == ("agents.default", "nosuch")


async def test_the_configured_default_agent_runs_when_none_is_named(
    open_project: OpenProject, write_agent: WriteAgent
) -> None:
    write_agent("helper", {"name": "helper"})

    async with open_project('[agents]\ndefault = "helper"') as daeri:
        assert daeri.agent().name == "helper"


async def test_an_agent_of_the_project_may_take_the_place_of_the_built_in_one(
    open_project: OpenProject, write_agent: WriteAgent
) -> None:
    write_agent("default", {"name": "default", "description": "ours"})

    async with open_project() as daeri:
        assert daeri.agent().description == "ours"


async def test_a_model_that_can_not_be_read_is_a_settings_error_and_no_run_is_on_record(
    open_project: OpenProject,
) -> None:
    async with open_project() as daeri:
        with pytest.raises(SettingsError):
            await daeri.ask("안녕", model="nosuch:model")
        assert (await daeri.store.counts())["runs"] == 0


@pytest.mark.parametrize(
    ("card", "named", "answer"), [(True, False, "card"), (False, False, "toml"), (True, True, "named")]
)
async def test_the_model_named_goes_before_the_agents_and_the_agents_before_the_configured_one(
    tmp_path: Path, open_project: OpenProject, write_agent: WriteAgent, card: bool, named: bool, answer: str
) -> None:
    for name in ("card", "toml", "named"):
        (tmp_path / f"{name}.jsonl").write_text(f'{{"text": "{name}"}}', "utf-8")
    reference = {name: f"script:{tmp_path / name}.jsonl" for name in ("card", "toml", "named")}
    write_agent("x", {"name": "x", "model": reference["card"] if card else None})

    async with open_project(f'[model]\nreference = "{reference["toml"]}"') as daeri:
        result = await daeri.ask("안녕", agent="x", model=reference["named"] if named else None)

    assert result.answer == answer


async def test_a_run_can_be_cut_to_fewer_steps(open_project: OpenProject, write_script: WriteScript) -> None:
    script = write_script(_call("triple", number=1), {"text": "3"})

    async with open_project(tools=[triple]) as daeri:
        result = await daeri.ask("세 배", model=script, max_steps=1)

    assert (result.status, result.steps) == ("failed", 1)


async def test_no_steps_at_all_are_refused(open_project: OpenProject, write_script: WriteScript) -> None:
    async with open_project() as daeri:
        with pytest.raises(SettingsError, match="max_steps"):
            await daeri.ask("안녕", model=write_script({"text": "네."}), max_steps=0)


async def test_another_principal_than_the_local_one_is_who_the_record_names(
    open_project: OpenProject, write_script: WriteScript
) -> None:
    lee = Principal(tenant="acme", subject="user:lee")

    async with open_project() as daeri:
        result = await daeri.ask("안녕", model=write_script({"text": "네."}), principal=lee)

        assert (await daeri.store.run("acme", result.run_id)).subject == "user:lee"
        with pytest.raises(NotFoundError):
            await daeri.store.run("local", result.run_id)


def test_the_local_principal_is_the_user_of_the_operating_system_with_what_the_settings_grant(
    load_project: LoadProject,
) -> None:
    settings = load_project('tenant = "acme"\n[cli]\nscopes = ["pay:*"]\nroles = ["approver"]')

    assert local_principal(settings) == Principal(
        tenant="acme",
        subject=f"os:{pwd.getpwuid(os.getuid()).pw_name}",
        scopes=frozenset({"pay:*"}),
        roles=frozenset({"approver"}),
    )


def test_nobody_becomes_somebody_else_by_an_environment_variable(
    load_project: LoadProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = local_principal(load_project())
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "the-director")
    assert getpass.getuser() == "the-director"

    assert local_principal(load_project()) == before


def test_a_user_without_a_name_is_its_number(load_project: LoadProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 3_999_999)

    assert local_principal(load_project()).subject == "os:3999999"


async def test_two_can_be_open_on_one_home_at_once(open_project: OpenProject, write_script: WriteScript) -> None:
    script = write_script(_call("triple", number=2), {"text": "6"})

    async with open_project(tools=[triple]) as first, open_project(tools=[triple]) as second:
        results = await asyncio.gather(*(daeri.ask("세 배", model=script) for daeri in (first, second, first, second)))

        assert [result.status for result in results] == ["succeeded"] * 4
        assert (await first.store.counts())["runs"] == (await second.store.counts())["runs"] == 4


async def test_a_home_that_can_not_be_used_stops_the_start(tmp_path: Path, open_project: OpenProject) -> None:
    (tmp_path / ".daeri").mkdir()
    (tmp_path / ".daeri" / "daeri.db").write_text(
        "not a database, but long enough to be looked at as one" * 30, "utf-8"
    )

    with pytest.raises(StoreError):
        async with open_project():
            pass


async def test_the_definitions_of_all_tools_are_on_record(open_project: OpenProject) -> None:
    async with open_project(tools=[triple]) as daeri:
        for one in daeri.registry.tools():
            assert (await daeri.store.definition(one.definition_hash))["name"] == one.name


async def test_nothing_is_left_running_when_it_is_closed(open_project: OpenProject, write_script: WriteScript) -> None:
    tasks, threads = asyncio.all_tasks(), set(threading.enumerate())
    script = write_script(_call("triple", number=2), {"text": "6"})

    async with open_project(tools=[triple]) as daeri:
        await daeri.ask("세 배", model=script)

    assert asyncio.all_tasks() == tasks
    # the event loop keeps its own threads, for the whole process
    left = [thread for thread in threading.enumerate() if not thread.name.startswith("asyncio_")]
    for thread in left:
        if thread not in threads:
            thread.join(10)
            assert not thread.is_alive(), thread.name


async def test_closing_cancels_what_runs_and_its_journal_says_so(
    open_project: OpenProject, write_script: WriteScript
) -> None:
    entered = asyncio.Event()

    @tool
    async def hang() -> str:
        """Hang."""
        entered.set()
        await asyncio.Event().wait()
        return "never"

    async with open_project(tools=[hang]) as daeri:
        run = await daeri.start("기다려", model=write_script(_call("hang"), {"text": "never"}))
        await entered.wait()

    async with open_project(tools=[hang]) as daeri:
        (call,) = await daeri.store.calls_of("local", run.run_id)
        assert (call.state, (await daeri.store.run("local", run.run_id)).state) == ("unknown", "cancelled")


def test_importing_it_does_not_load_a_provider() -> None:
    code = "import sys, daeri.runtime; print({'pydantic_ai', 'openai', 'sqlalchemy'} & sys.modules.keys())"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert (done.stdout.strip(), done.returncode) == ("set()", 0)
