from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

POLICY = """
@id("cap") @reason("above 100")
forbid(principal, action == Daeri::Action::"pay", resource) when { context.args.amount > 100 };
@id("two") @require_approval("2")
forbid(principal, action == Daeri::Action::"send", resource);
"""
SETTINGS = """
[principals.kim]
scopes = ["pay:write"]
[[policy.rules]]
name = "no-finding"
tool = "price.find"
deny = true
[[policy.limits]]
name = "slow"
per = ["principal"]
calls_per_minute = 5
tool = "pay"
[policy.loosen."price.change"]
risk = "medium"
reason = "reviewed daily"
"""


@pytest.fixture
def governed(project: Shell) -> Shell:
    """The project with policies of all sorts."""
    file = project.folder / "daeri.toml"
    file.write_text(file.read_text("utf-8") + SETTINGS, "utf-8")
    (project.folder / "policies").mkdir()
    (project.folder / "policies" / "shop.cedar").write_text(POLICY, "utf-8")
    return project


def test_check_lists_every_rule_with_its_effect_and_place(governed: Shell) -> None:
    done = governed("policy", "check")

    assert done.code == 0
    rows = {line.split()[0]: line for line in done.out.splitlines()}
    assert {"built_in.scope", "built_in.risk", "setting.loosened", "settings.no-finding", "limit.slow"} <= rows.keys()
    assert "denies" in rows["cedar.cap"]
    assert "shop.cedar:2" in rows["cedar.cap"]
    assert "needs 2 approval(s)" in rows["cedar.two"]
    assert "5 calls a minute" in rows["limit.slow"]


def test_check_as_json_holds_the_same(governed: Shell) -> None:
    found = governed("policy", "check", "--json").json

    assert [rule["name"] for rule in found["rules"]] == ["no-finding"]
    assert found["loosened"] == [{"tool": "price.change", "risk": "medium", "reason": "reviewed daily"}]
    assert [(rule["name"], rule["place"], rule["approvals"]) for rule in found["cedar"]] == [
        ("cap", "shop.cedar:2", 0),
        ("two", "shop.cedar:4", 2),
    ]


def test_check_prints_the_schema_that_policies_are_written_against(governed: Shell) -> None:
    schema = governed("policy", "check", "--schema").out

    assert 'action "pay" in [Action::"*"]' in schema
    assert "amount: __cedar::Long" in schema


def test_check_of_a_faulty_policy_ends_with_2_and_its_place(governed: Shell) -> None:
    (governed.folder / "policies" / "wrong.cedar").write_text("\n\nforbid(principal, action);", "utf-8")

    done = governed("policy", "check")

    assert done.code == 2
    assert "policies/wrong.cedar:3" in done.err
    assert "Traceback" not in done.err


def test_a_schema_without_policies_is_answered_with_what_is_missing(project: Shell) -> None:
    done = project("policy", "check", "--schema")

    assert (done.code, done.out) == (2, "")
    assert "there are no Cedar policies in" in done.err


def test_explain_names_the_policy_that_denies_and_where_it_stands(governed: Shell) -> None:
    found = governed("policy", "explain", "pay", "--as", "kim", "--args", '{"amount": 500}', "--json").json

    assert found["principal"]["subject"] == "kim"
    assert found["decision"]["verdict"] == "deny"
    assert found["decision"]["rules"] == ["cedar.cap", "scope.held", "risk.low"]
    assert found["layers"]["built_in"]["verdict"] == "allow"
    assert found["limits"] == ["slow"]
    assert found["changes"] == ["Change the call or the policy 'cap' (shop.cedar:2), so that it does not apply."]


def test_explain_names_the_scope_that_is_missing_and_what_would_be_then(governed: Shell) -> None:
    done = governed("policy", "explain", "pay", "--args", '{"amount": 5}')

    assert done.code == 0
    assert ": deny (risk low)" in done.out.splitlines()[0]
    assert "Grant the scope 'pay:write' to os:" in done.out
    assert "Then it is: allow." in done.out


def test_explain_says_how_many_must_approve(governed: Shell) -> None:
    assert "Approvals that let it through: 2" in governed("policy", "explain", "send").out
    assert "승인자 2명" in governed("policy", "explain", "send", "--lang", "ko").out


def test_explain_names_a_rule_of_the_settings_and_a_loosened_tool(governed: Shell) -> None:
    denied = governed("policy", "explain", "price.find", "--args", '{"product": "pen"}').out
    loosened = governed("policy", "explain", "price.change", "--args", '{"product": "pen", "price": 1}', "--json").json

    assert "Change the rule 'no-finding'" in denied
    assert loosened["decision"]["rules"] == ["scope.held", "setting.loosened", "risk.medium"]


def test_explain_judges_the_arguments_that_the_door_would(project: Shell) -> None:
    code = (project.folder / "shop.py").read_text("utf-8")
    added = '@tool(name="list")\ndef rows(limit: int = 500) -> int:\n    """List."""\n    return limit\n'
    (project.folder / "shop.py").write_text(code + added, "utf-8")
    cap = 'forbid(principal, action == Daeri::Action::"list", resource)'
    (project.folder / "policies").mkdir()
    (project.folder / "policies" / "cap.cedar").write_text(
        f'@id("cap") {cap} when {{ context.args has limit && context.args.limit > 100 }};', "utf-8"
    )

    for arguments in ("{}", '{"limit": null}', '{"limit": 101}'):
        explained = project("policy", "explain", "list", "--args", arguments, "--json").json
        assert explained["decision"]["rules"][0] == "cedar.cap"
        assert project("tools", "call", "list", "--args", arguments, "--json").json["state"] == "denied"


def test_explain_says_that_a_tool_is_disabled(governed: Shell) -> None:
    found = governed("policy", "explain", "send", "--json", DAERI_TOOLS_DISABLED="send").json

    assert (found["decision"]["verdict"], found["decision"]["rules"][0]) == ("deny", "tool.unknown")
    assert found["changes"][0] == "Enable it: take 'send' out of tools.disabled."


def test_explaining_runs_and_records_no_call(governed: Shell) -> None:
    governed("policy", "explain", "pay", "--as", "kim", "--args", '{"amount": 5}')

    assert not (governed.folder / "paid").exists()
    assert "0 runs" in governed("doctor").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["payy"], "There is no tool 'payy'. Did you mean pay"),
        (["pay", "--as", "lee"], "There is no principal 'lee'. There are: kim."),
        (["pay", "--args", "{"], "--args is not JSON"),
        (["pay", "--args", "[]"], "--args is not a JSON object"),
        (["pay", "--args", '{"amount": "x"}'], "the arguments don't fit"),
    ],
)
def test_what_can_not_be_explained_ends_with_2_and_the_cause(arguments: list[str], said: str, governed: Shell) -> None:
    done = governed("policy", "explain", *arguments)

    assert (done.code, done.out) == (2, "")
    assert said in done.err
