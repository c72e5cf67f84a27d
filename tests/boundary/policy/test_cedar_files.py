"""Policy files that can't be used, and loading them again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from daeri.boundary.cedar import CedarPolicy
from daeri.errors import DefinitionError

if TYPE_CHECKING:
    from tests.boundary.policy.conftest import AskFor, LoadCedar, MakeTool

GOOD = '@id("good")\nforbid(principal, action, resource) when { context.args.amount > 1 };\n'


@pytest.mark.parametrize(
    ("text", "line", "cause"),
    [
        (f"{GOOD}\nforbid(principal, action\n, resource;\n", 5, "unexpected token `;`"),
        (f"// why; not\n\n{GOOD}\n\nforbid(principal, action, resource)\nwhen {{ true and false }};", 8, "`and`"),
        (
            f"{GOOD}forbid(principal, action, resource)\nwhen {{ context.args.amount > 1 }}",
            4,
            "unexpected end of input",
        ),
        (
            f'{GOOD}@id("x")\nforbid(principal, action, resource) when {{ context.args.ammount > 1 }};',
            3,
            "`args.ammount`",
        ),
        (f'{GOOD}\nforbid(principal, action == Daeri::Action::"paid", resource);', 4, "paid"),
        (f"{GOOD}forbid(principal, action, resource) when {{ context.args.to > 1 }};", 3, "String"),
        (f'{GOOD}@id("good") forbid(principal, action, resource);', 3, '@id("good") is that of all.cedar:1 too'),
        (f"{GOOD}permit(principal, action, resource);", 3, "a permit adds nothing"),
        (f"{GOOD}forbid(principal == ?principal, action, resource);", 3, "is a template"),
        (f'{GOOD}@require_approval("many") forbid(principal, action, resource);', 3, "is no number of people"),
        (f'{GOOD}@require_approval("0") forbid(principal, action, resource);', 3, "is no number of people"),
        (f'{GOOD}@mode("log-only") forbid(principal, action, resource);', 3, '@mode("log-only") is no mode'),
        (f"{GOOD};", 3, "unexpected token `;`"),
    ],
)
def test_a_policy_that_can_not_be_used_stops_the_start_with_file_line_and_cause(
    text: str, line: int, cause: str, cedar: LoadCedar, tmp_path: Path
) -> None:
    with pytest.raises(DefinitionError) as caught:
        cedar(text)

    assert caught.value.subject == f"{tmp_path / 'all.cedar'}:{line}"
    assert cause in caught.value.problem


def test_a_file_that_is_not_text_is_named(cedar: LoadCedar, tmp_path: Path) -> None:
    (tmp_path / "b.cedar").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(DefinitionError, match=r"b\.cedar: can't be read"):
        cedar(GOOD)


def test_semicolons_in_strings_and_comments_end_no_policy(cedar: LoadCedar, question: AskFor) -> None:
    policy = cedar(
        '// one; two\n@id("a;b") @reason("say \\"no;\\" // please")\n'
        'forbid(principal, action, resource) // here; there\nwhen { context.args.to == "x;//y" };'
    )

    decided = policy.decide(question(arguments={"to": "x;//y", "amount": 1}))

    assert decided.rules == ("cedar.a;b",)
    assert decided.reasons == ("policy 'a;b' denies it: say \"no;\" // please",)


def test_a_policy_without_an_id_is_called_by_its_place(cedar: LoadCedar, question: AskFor) -> None:
    policy = cedar({"a.cedar": GOOD, "b.cedar": "\n\nforbid(principal, action, resource);"})

    assert policy.decide(question()).rules == ("cedar.good", "cedar.b.cedar:3")


def test_a_folder_without_policies_forbids_nothing(tmp_path: Path, question: AskFor, make_tool: MakeTool) -> None:
    (tmp_path / "notes.txt").write_text("forbid everything")

    policy = CedarPolicy(tmp_path, lambda: [make_tool()])

    assert (policy.rules, policy.decide(question()).verdict) == ((), "allow")


def test_reloading_brings_new_policies_and_new_tools_into_force(
    tmp_path: Path, question: AskFor, make_tool: MakeTool
) -> None:
    tools = [make_tool()]
    policy = CedarPolicy(tmp_path, lambda: tools)
    (tmp_path / "all.cedar").write_text('@id("shut") forbid(principal, action, resource);')
    tools.append(make_tool("new"))

    policy.reload()

    assert policy.decide(question()).rules == ("cedar.shut",)
    assert policy.decide(question(make_tool("new"))).rules == ("cedar.shut",)


def test_a_reload_that_fails_keeps_the_policies_in_force_and_says_so(
    cedar: LoadCedar, tmp_path: Path, question: AskFor
) -> None:
    policy = cedar(GOOD)
    (tmp_path / "all.cedar").write_text("forbid(principal, action, resource")

    with pytest.raises(DefinitionError, match="The policies that were in force stay in force"):
        policy.reload()

    assert policy.decide(question()).rules == ("cedar.good",)
