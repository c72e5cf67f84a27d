from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from daeri.errors import SettingsError
from daeri.settings import CallLimitSettings, LoosenSettings, PrincipalSettings, RuleSettings, Settings, load_settings

Load = Callable[..., Settings]
Refuse = Callable[..., SettingsError]

RULE = "[[policy.rules]]\n"
LIMIT = "[[policy.limits]]\n"


def test_rules_limits_loosenings_and_principals_are_tables_of_the_file(load: Load) -> None:
    settings = load(
        f'{RULE}name = "month-end"\ntag = "money"\nrisk = "critical"\nreason = "closing"\n'
        f'{RULE}tool = "mail.*"\ntenant = "acme"\napprovals = 2\n'
        f'{LIMIT}per = ["principal", "tool"]\ncalls_per_minute = 30\nconcurrent = 2\n'
        '[policy.loosen."files.read"]\nrisk = "low"\nreason = "only public files"\n'
        '[principals.kim]\nscopes = ["pay:*"]\nroles = ["user", "approver"]\n'
        '[principals."lee@globex"]\ntenant = "globex"\n'
    )

    assert settings.policy.rules == (
        RuleSettings(name="month-end", tag="money", risk="critical", reason="closing"),
        RuleSettings(tool="mail.*", tenant="acme", approvals=2),
    )
    assert settings.policy.limits == (CallLimitSettings(per=("principal", "tool"), calls_per_minute=30, concurrent=2),)
    assert settings.policy.loosen == {"files.read": LoosenSettings(risk="low", reason="only public files")}
    assert settings.principals == {
        "kim": PrincipalSettings(scopes=("pay:*",), roles=("user", "approver")),
        "lee@globex": PrincipalSettings(tenant="globex"),
    }


def test_rules_fit_in_the_environment_as_json(load: Load) -> None:
    settings = load(environ={"DAERI_POLICY_RULES": '[{"tool": "pay", "deny": true}]'})

    assert settings.policy.rules == (RuleSettings(tool="pay", deny=True),)


@pytest.mark.parametrize(
    ("toml", "setting", "problem"),
    [
        (f'{RULE}tool = "a"\ndeny = true\n{RULE}deny = true', "policy.rules.2", "says neither tool, tag nor tenant"),
        (f'{RULE}tool = "a"', "policy.rules.1", "says neither risk, approvals nor deny"),
        (f'{RULE}tool = "a"\nrisk = "huge"', "policy.rules.1.risk", "not one of the choices"),
        (f'{RULE}tool = "a"\napprovals = 0', "policy.rules.1.approvals", "outside its range"),
        (f'{RULE}tool = "a"\ndenny = true', "policy.rules.1.denny", "there is no such setting"),
        (f'{LIMIT}per = ["tool"]', "policy.limits.1", "says neither calls_per_minute nor concurrent"),
        (f"{LIMIT}concurrent = 1", "policy.limits.1.per", "not given"),
        (f'{LIMIT}per = ["day"]\nconcurrent = 1', "policy.limits.1.per.1", "not one of the choices"),
        (f"{LIMIT}per = []\nconcurrent = 1\nburst = 3", "policy.limits.1", "has a burst without calls_per_minute"),
        (f'{LIMIT}per = []\ncalls_per_minute = "x"', "policy.limits.1.calls_per_minute", "not a number"),
        ('[policy.loosen."pay"]\nrisk = "low"', "policy.loosen.pay.reason", "not given"),
        ('[policy.loosen."pay"]\nrisk = "low"\nreason = "  "', "policy.loosen.pay.reason", "empty"),
        (
            '[policy.loosen."pay.*"]\nrisk = "low"\nreason = "all"',
            "policy.loosen (DAERI_POLICY_LOOSEN)",
            "names more than one tool",
        ),
        (
            f'{RULE}name = "a"\ntool = "x"\ndeny = true\n{RULE}name = "a"\ntool = "y"\ndeny = true',
            "policy.rules (DAERI_POLICY_RULES)",
            "two of them have the same name",
        ),
        ('[principals.kim]\nroles = ["boss"]', "principals.kim.roles.1", "not one of the choices"),
        ('[principals.kim]\nscope = ["a"]', "principals.kim.scope", "there is no such setting"),
        ('[principals.kim]\ntenant = "a/b"', "principals.kim.tenant", "holds characters that are not allowed"),
    ],
)
def test_a_wrong_entry_is_named_by_its_place_counted_from_one(
    toml: str, setting: str, problem: str, refuse: Refuse
) -> None:
    error = refuse(toml)

    assert (error.setting, error.problem) == (setting, problem)


def test_the_folder_of_policies_is_in_the_project_and_nowhere_else(load: Load, tmp_path: Path) -> None:
    inside = load()
    (tmp_path / "daeri.toml").unlink()
    outside = load_settings(tmp_path, {"DAERI_HOME": str(tmp_path / "home")})

    assert inside.policy.folder == tmp_path / "policies"
    assert outside.policy.folder == tmp_path / "home" / "policies"


def test_a_folder_of_policies_that_is_named_must_be_there(refuse: Refuse) -> None:
    assert refuse('[policy]\nfolder = "rules"').problem == "there is no such folder"
