"""`daeri tools call`: one call through the boundary, and its exit codes."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

PEOPLE = """
[principals.kim]
scopes = ["price:read"]
[principals.lee]
scopes = ["approve:price.change"]
roles = ["approver"]
"""
CHANGE = ("tools", "call", "price.change", "--args", '{"product": "pen", "price": 3}')


@pytest.fixture
def shop(project: Shell) -> Shell:
    """The shop, with people declared."""
    with (project.folder / "daeri.toml").open("a", encoding="utf-8") as file:
        file.write(PEOPLE)
    return project


def test_the_result_goes_to_stdout(shop: Shell) -> None:
    done = shop("tools", "call", "price.find", "--args", '{"product": "pen"}')

    assert (done.code, done.out, done.err) == (0, "$2\n", "")


def test_json_shows_the_call_with_its_decision(shop: Shell) -> None:
    done = shop("tools", "call", "price.find", "--args", "-", "--json", stdin='{"product": "pen"}')

    assert done.code == 0
    assert (done.json["state"], done.json["result"], done.json["failure"]) == ("succeeded", "$2", None)
    assert done.json["decision"]["rules"] == ["scope.held", "risk.low"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("price.find", "--args", '{"product": "ink"}'), 1, "There is no ink."),
        (("price.find", "--args", '{"product": 5}'), 2, "/product"),
        (("price.find", "--args", "[]"), 2, "arguments must be a JSON object"),
        (("price.find", "--args", '{"product"'), 2, "--args is not valid JSON"),
        (("price.change", "--args", '{"product": "pen", "price": 3}'), 4, "daeri approvals approve apr_"),
        (("pay", "--args", '{"amount": 5}'), 5, "pay:write"),
        (("price.fynd",), 5, "did you mean price.find"),
        (("send",), 7, "a person has to settle it"),
        (("price.find", "--as", "nobody"), 2, "There is no principal 'nobody'"),
    ],
)
def test_the_exit_code_says_how_it_ended(shop: Shell, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = shop("tools", "call", *arguments)

    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_the_words_of_an_exception_are_for_who_looks_for_the_fault(shop: Shell) -> None:
    _add(
        shop,
        '''
@tool(name="boom", read_only=True)
def boom() -> str:
    """Crash."""
    raise ValueError("password=hunter2")
''',
    )
    told = [shop("tools", "call", "boom"), shop("tools", "call", "boom", "--as", "kim", "--json")]
    debugged = shop("--debug", "tools", "call", "boom")
    operator = shop("tools", "call", "boom", "--json")

    assert [one.code for one in (*told, debugged, operator)] == [1, 1, 1, 1]
    assert "hunter2" not in "".join(one.out + one.err for one in told)
    assert told[0].err == "boom: failed (tool_error)\nA tool could not do its work.\n"
    assert (told[1].json["failure"]["kind"], told[1].json["failure"]["diagnostic"]) == ("tool_error", None)
    assert "Details: boom raised ValueError: password=hunter2" in debugged.err
    assert operator.json["failure"]["diagnostic"] == "boom raised ValueError: password=hunter2"


def test_what_is_wrong_with_the_arguments_is_told_to_everybody(shop: Shell) -> None:
    done = shop("tools", "call", "price.find", "--args", '{"product": 5}', "--as", "kim", "--json")

    assert "/product" in done.json["failure"]["diagnostic"]


@pytest.mark.parametrize(
    ("fallback", "result", "mark", "said"),
    [
        ('"spare"', "kept", "spare", "main could not be reached: the result is from spare, its fallback.\n"),
        (
            'StaticAnswer(value="closed")',
            "closed",
            "static answer",
            "main could not be reached: the result is the answer that was declared for that case.\n",
        ),
    ],
)
def test_a_result_that_is_not_of_the_tool_itself_is_marked(
    shop: Shell, fallback: str, result: str, mark: str, said: str
) -> None:
    _add(
        shop,
        f'''
from daeri.tools import NotSentError, Resilience, StaticAnswer

@tool(name="main", read_only=True, resilience=Resilience(attempts=1, fallback={fallback}))
def main() -> str:
    """Ask a system that is down."""
    raise NotSentError("no route")

@tool(name="spare", read_only=True)
def spare() -> str:
    """Give what was kept."""
    return "kept"
''',
    )

    text, marked = shop("tools", "call", "main"), shop("tools", "call", "main", "--json").json
    plain = shop("tools", "call", "spare", "--json").json

    assert (text.code, text.out, text.err) == (0, f"{result}\n", said)
    assert (marked["result"], marked["fallback"], plain["fallback"]) == (result, mark, None)


def test_the_call_is_made_as_the_principal_that_is_named(shop: Shell) -> None:
    denied = shop("tools", "call", "price.find", "--args", '{"product": "pen"}', "--as", "lee")

    assert (denied.code, "lee lacks the scope price:read" in denied.err) == (5, True)


def test_a_key_makes_two_calls_one(shop: Shell) -> None:
    first = shop("tools", "call", "price.find", "--args", '{"product": "pen"}', "--idempotency-key", "k", "--json")
    second = shop("tools", "call", "price.find", "--args", '{"product": "pen"}', "--idempotency-key", "k", "--json")
    other = shop("tools", "call", "price.find", "--args", '{"product": "ink"}', "--idempotency-key", "k")

    assert second.json == first.json
    assert (other.code, "'k'" in other.err) == (1, True)


def test_an_equal_call_attaches_while_the_first_one_waits(shop: Shell) -> None:
    assert shop(*CHANGE, "--json").json == shop(*CHANGE, "--json").json


def test_waiting_gets_the_result_of_what_somebody_else_approves_meanwhile(shop: Shell) -> None:
    with shop.start(*CHANGE, "--as", "kim", "--wait", "60") as asking:
        while not (listed := shop("approvals", "list", "--json").json):
            pass
        approved = shop("approvals", "approve", listed[0]["approval_id"], "--as", "lee")
        out, _ = asking.communicate(timeout=60)

    assert (approved.code, asking.returncode, out) == (0, 0, "changed\n")


def test_who_waits_in_vain_is_told_that_the_call_waits(shop: Shell) -> None:
    assert shop(*CHANGE, "--wait", "0.3").code == 4


def test_ctrl_c_cancels_the_call(shop: Shell) -> None:
    with shop.start("tools", "call", "wait_for", "--args", '{"file": "never"}') as asking:
        while "call.started" not in shop("audit", "tail", "--json", "--as", "auditor", stdin="").out:
            _declare_auditor(shop)
        asking.send_signal(signal.SIGINT)
        asking.communicate(timeout=60)

    assert asking.returncode == 130
    kinds = [json.loads(line)["kind"] for line in shop("audit", "tail", "--json", "--as", "auditor").out.splitlines()]
    assert "call.cancelled" in kinds


def _add(shop: Shell, source: str) -> None:
    with (shop.folder / "shop.py").open("a", encoding="utf-8") as file:
        file.write(source)


def _declare_auditor(shop: Shell) -> None:
    settings = shop.folder / "daeri.toml"
    if "auditor" not in settings.read_text("utf-8"):
        settings.write_text(settings.read_text("utf-8") + '[principals.auditor]\nroles = ["auditor"]\n', "utf-8")
