"""Policies from settings and files, in an opened Daeri: what they decide, what stops the start, what is on record."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from daeri.boundary import CallOutcome, CallRequest
from daeri.errors import DefinitionError, NotFoundError, SettingsError
from daeri.identity import Principal
from daeri.runtime import Daeri, local_principal, principal_named
from daeri.text import digest
from daeri.tools import tool

if TYPE_CHECKING:
    from tests.runtime.conftest import LoadProject, OpenProject

KIM = Principal(tenant="local", subject="kim")


@tool(name="pay", risk="high", tags=["money"])
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@tool(name="look", read_only=True)
def look() -> str:
    """Look."""
    return "seen"


@tool(name="list")
def list_rows(limit: int = 500) -> int:
    """List."""
    return limit


async def _call(daeri: Daeri, name: str, call_id: str, **arguments: int) -> CallOutcome:
    request = CallRequest(principal=KIM, tool=name, arguments=arguments, call_id=call_id, origin="api")
    return await daeri.boundary.call(request)


async def _audited(daeri: Daeri, kind: str) -> list[Any]:
    rows = await daeri.store.last_audit("local", 1000)
    return [json.loads(row.data) for row in rows if row.kind == kind]


def _write_policy(folder: Path, text: str) -> None:
    (folder / "policies").mkdir(exist_ok=True)
    (folder / "policies" / "all.cedar").write_text(text, "utf-8")


async def test_rules_loosenings_and_limits_of_the_settings_hold_at_the_door(open_project: OpenProject) -> None:
    toml = (
        '[[policy.rules]]\nname = "frozen"\ntool = "look"\ndeny = true\n'
        '[[policy.limits]]\nper = ["tool"]\ncalls_per_minute = 1\ntag = "money"\n'
        '[policy.loosen."pay"]\nrisk = "medium"\nreason = "small amounts"\n'
    )
    async with open_project(toml, tools=[pay, look]) as daeri:
        outcomes = [
            await _call(daeri, "look", "c1"),
            await _call(daeri, "pay", "c2", amount=1),
            await _call(daeri, "pay", "c3", amount=1),
        ]

    assert [(one.state, one.decision and one.decision.rules[0]) for one in outcomes] == [
        ("denied", "settings.frozen"),
        ("succeeded", "scope.held"),
        ("denied", "limit.rate"),
    ]


async def test_cedar_files_of_the_project_hold_at_the_door(open_project: OpenProject, tmp_path: Path) -> None:
    _write_policy(tmp_path, '@id("closed") forbid(principal, action == Daeri::Action::"look", resource);')
    async with open_project(tools=[pay, look]) as daeri:
        outcome = await _call(daeri, "look", "c1")

    assert outcome.decision is not None
    assert (outcome.state, outcome.decision.rules[0]) == ("denied", "cedar.closed")


async def test_a_cap_holds_for_what_the_tool_would_assume_too(open_project: OpenProject, tmp_path: Path) -> None:
    when = "when { context.args has limit && context.args.limit > 100 }"
    _write_policy(tmp_path, f'@id("cap") forbid(principal, action == Daeri::Action::"list", resource) {when};')
    async with open_project(tools=[list_rows]) as daeri:
        left_out = await _call(daeri, "list", "c1")
        given = await _call(daeri, "list", "c2", limit=100)
        recorded = await _audited(daeri, "call.denied")

    assert (left_out.state, left_out.decision and left_out.decision.rules[0]) == ("denied", "cedar.cap")
    assert (given.state, given.value) == ("succeeded", 100)
    assert [call["arguments_digest"] for call in recorded] == [digest({"limit": 500})]


async def test_a_faulty_policy_stops_the_start_and_that_is_on_record(open_project: OpenProject, tmp_path: Path) -> None:
    _write_policy(tmp_path, "\nforbid(principal, action, resource")

    with pytest.raises(DefinitionError, match=r"all\.cedar:2: unexpected end of input"):
        async with open_project(tools=[pay, look]):
            pass

    _write_policy(tmp_path, "forbid(principal, action, resource);")
    async with open_project(tools=[pay, look]) as daeri:
        refused = await _audited(daeri, "policy.refused")
        loaded = await _audited(daeri, "policy.loaded")
    assert refused == [{"place": f"{tmp_path}/policies/all.cedar:2", "problem": "unexpected end of input"}]
    assert len(loaded) == 1


@pytest.mark.parametrize("name", ["team/cap.cedar", "a/b/cap.cedar", "cap.CEDAR", "cap.Cedar"])
@pytest.mark.parametrize("beside", [True, False])
async def test_a_policy_where_nobody_looks_stops_the_start_by_its_name(
    name: str, beside: bool, open_project: OpenProject, tmp_path: Path
) -> None:
    file = tmp_path / "policies" / name
    file.parent.mkdir(parents=True)
    file.write_text("forbid(principal, action, resource);", "utf-8")
    if beside:
        _write_policy(tmp_path, "")

    with pytest.raises(DefinitionError, match=f"{re.escape(name)}: it would not be read"):
        async with open_project(tools=[pay, look]):
            pass


async def test_other_files_beside_policies_do_not_matter(open_project: OpenProject, tmp_path: Path) -> None:
    for name in ("README.md", "old/cap.cedar.txt", "cedar"):
        (tmp_path / "policies" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "policies" / name).write_text("forbid", "utf-8")

    async with open_project(tools=[pay, look]) as daeri:
        assert daeri.policies.cedar is None


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ('[[policy.rules]]\ntool = "loook"\ndeny = true', r"`policy\.rules\.1\.tool` = 'loook'.* mean look"),
        ('[[policy.rules]]\ntool = "mail.*"\ndeny = true', r"`policy\.rules\.1\.tool` = 'mail\.\*'"),
        ('[[policy.rules]]\ntag = "mony"\ndeny = true', r"`policy\.rules\.1\.tag` = 'mony'.* money"),
        ('[[policy.limits]]\nper = []\nconcurrent = 1\ntool = "x"', r"`policy\.limits\.1\.tool` = 'x'"),
        (
            '[[policy.rules]]\ntool = "look"\ntag = "money"\ndeny = true',
            r"`policy\.rules\.1\.tag` = 'money': no tool that 'look' names has this tag.* pay\.",
        ),
        (
            '[[policy.limits]]\nper = []\nconcurrent = 1\ntool = "look"\ntag = "money"',
            r"`policy\.limits\.1\.tag` = 'money'",
        ),
        (
            '[[policy.rules]]\ntenant = "globx"\ndeny = true\n[principals.kim]\ntenant = "globex"',
            r"`policy\.rules\.1\.tenant` = 'globx': there is no tenant.* globex, local\.",
        ),
        ('[policy.loosen."pya"]\nrisk = "low"\nreason = "r"', r"`policy\.loosen\.pya` = 'pya'.* mean pay"),
    ],
)
async def test_a_rule_about_a_tool_that_is_not_there_stops_the_start(
    toml: str, message: str, open_project: OpenProject
) -> None:
    with pytest.raises(SettingsError, match=message):
        async with open_project(toml, tools=[pay, look]):
            pass


async def test_a_rule_may_be_about_the_tenant_of_any_principal(open_project: OpenProject) -> None:
    toml = "".join(f'[[policy.rules]]\ntenant = "{tenant}"\ndeny = true\n' for tenant in ("local", "globex"))
    async with open_project(f'{toml}[principals.kim]\ntenant = "globex"', tools=[pay, look]) as daeri:
        assert len(daeri.policies.rules.rules) == 2


async def test_what_is_loosened_is_audited_once_for_every_change_of_it(open_project: OpenProject) -> None:
    low = '[policy.loosen."pay"]\nrisk = "low"\nreason = "tests"\n'
    medium = low.replace("low", "medium")
    events: list[Any] = []
    for toml in (low, low, medium, medium, "", "", low):
        async with open_project(toml, tools=[pay, look]) as daeri:
            events = await _audited(daeri, "setting.loosened")

    assert [event.get("pay", {}).get("risk") for event in events] == ["low", "medium", None, "low"]
    assert events[0] == {"pay": {"risk": "low", "reason": "tests"}}


async def test_policies_in_force_are_audited_once_for_every_change_of_them(
    open_project: OpenProject, tmp_path: Path
) -> None:
    rule = '[[policy.rules]]\ntool = "pay"\napprovals = 2\n'
    counts: list[int] = []
    events: list[Any] = []
    for toml, policy in (("", ""), (rule, ""), (rule, "forbid(principal, action, resource);"), (rule, "// none")):
        _write_policy(tmp_path, policy)
        for _ in range(2):
            async with open_project(toml, tools=[pay, look]) as daeri:
                events = await _audited(daeri, "policy.loaded")
            counts.append(len(events))

    assert counts == [0, 0, 1, 1, 2, 2, 3, 3]
    assert events[0] == {"rules": [{"tool": "pay", "approvals": 2}]}
    assert list(events[1]["cedar"]) == ["all.cedar"]


async def test_a_reload_takes_new_policies_or_keeps_the_old_and_both_are_audited(
    open_project: OpenProject, tmp_path: Path
) -> None:
    async with open_project(tools=[pay, look]) as daeri:
        before = await _call(daeri, "look", "c1")
        _write_policy(tmp_path, "forbid(principal, action, resource);")
        await daeri.policies.load(daeri.store, tenant="local", actor="os:ops")
        after = await _call(daeri, "look", "c2")
        _write_policy(tmp_path, "forbid(principal")
        with pytest.raises(DefinitionError, match="stay in force"):
            await daeri.policies.load(daeri.store, tenant="local", actor="os:ops")
        kept = await _call(daeri, "look", "c3")
        refused = await _audited(daeri, "policy.refused")
        loaded = await _audited(daeri, "policy.loaded")

    assert [one.state for one in (before, after, kept)] == ["succeeded", "denied", "denied"]
    assert refused == [{"place": f"{tmp_path}/policies/all.cedar:1", "problem": "unexpected end of input"}]
    assert len(loaded) == 1


async def test_policy_files_without_cedar_stop_the_start_with_what_to_install(
    open_project: OpenProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_policy(tmp_path, "forbid(principal, action, resource);")
    for name in [name for name in sys.modules if name.split(".")[0] == "cedarpy" or "boundary.cedar" in name]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cedarpy", None)

    with pytest.raises(SettingsError, match=r"Install daeri\[cedar\]"):
        async with open_project(tools=[pay, look]):
            pass


def test_without_policy_files_cedar_is_not_loaded(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys\nfrom daeri import Daeri\n"
        "async def main():\n    async with Daeri.open():\n        print('cedarpy' in sys.modules)\nasyncio.run(main())"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"DAERI_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout.strip() == "False"


def test_a_declared_principal_has_what_is_declared_and_says_who_acts_as_it(load_project: LoadProject) -> None:
    settings = load_project(
        'tenant = "acme"\n[principals.kim]\nscopes = ["pay:*"]\nroles = ["approver"]\n'
        '[principals.lee]\ntenant = "globex"'
    )
    via = local_principal(settings).subject

    assert principal_named(settings, "kim") == Principal(
        tenant="acme", subject="kim", scopes=frozenset({"pay:*"}), roles=frozenset({"approver"}), via=via
    )
    assert principal_named(settings, "lee").tenant == "globex"


def test_a_principal_that_is_not_declared_is_answered_with_those_that_are(load_project: LoadProject) -> None:
    with pytest.raises(NotFoundError, match=r"no principal 'lee'\. There are: kim, park\."):
        principal_named(load_project("[principals.park]\n[principals.kim]"), "lee")
    with pytest.raises(NotFoundError, match=r"Declare it in daeri\.toml: \[principals\.lee\]"):
        principal_named(load_project(), "lee")


async def test_who_acts_as_somebody_is_on_record_with_the_call(
    open_project: OpenProject, load_project: LoadProject
) -> None:
    toml = "[principals.kim]\n"
    async with open_project(toml, tools=[pay, look]) as daeri:
        kim = principal_named(daeri.settings, "kim").acting_as("clerk")
        await daeri.boundary.call(CallRequest(principal=kim, tool="look", arguments={}, call_id="c1", origin="cli"))
        (started,) = await _audited(daeri, "call.started")

    assert started["principal"]["on_behalf_of"]["via"] == daeri.principal.subject
