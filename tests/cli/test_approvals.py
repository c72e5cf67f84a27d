"""`daeri approvals`: what whoever decides sees, who may decide, and that the call runs."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Script, Shell

SETTINGS = """
[tools]
modules = ["shop.py"]
[cli]
scopes = ["price:read"]
[principals.kim]
scopes = ["price:read"]
roles = ["user"]
[principals.lee]
scopes = ["approve:*"]
roles = ["approver"]
[principals.park]
scopes = ["approve:price.change"]
roles = ["approver"]
[principals.choi]
scopes = ["approve:pay"]
roles = ["approver"]
"""


@pytest.fixture
def shop(project: Shell) -> Shell:
    """The shop, with people declared."""
    (project.folder / "daeri.toml").write_text(SETTINGS, "utf-8")
    return project


@pytest.fixture
def approval(shop: Shell) -> str:
    """A request that kim made."""
    asked = shop("tools", "call", "price.change", "--args", '{"product": "pen", "price": 3}', "--as", "kim", "--json")
    return str(asked.json["approval_id"])


def test_people_who_have_nothing_to_do_with_a_request_do_not_see_it(shop: Shell, approval: str) -> None:
    for who, code, found in (("kim", 0, 1), ("lee", 0, 1), ("park", 0, 1), ("choi", 2, 0)):
        assert shop("approvals", "show", approval, "--as", who).code == code
        assert len(shop("approvals", "list", "--as", who, "--json").json) == found

    assert shop("approvals", "list", "--as", "choi").out == "Nothing waits for approval.\n"


def test_who_may_not_even_look_is_refused_on_record_when_they_decide(shop: Shell, approval: str) -> None:
    done = shop("approvals", "approve", approval, "--as", "choi", "--json")

    assert (done.code, done.out, _changed(shop)) == (5, "", False)
    assert '"kind": "approval.refused"' in shop("audit", "tail", "--json").out.replace('":"', '": "')


def test_what_a_tool_crashed_with_is_not_shown_to_who_approves(shop: Shell) -> None:
    (shop.folder / "own.py").write_text(
        "from daeri import tool\n\n@tool(risk='high')\ndef own() -> str:\n"
        '    """Own."""\n    raise ValueError("password=hunter2")\n',
        "utf-8",
    )
    for shown in ((), ("--json",)):
        asked = shop("tools", "call", "own", "--as", "kim", "--tools", "own.py", "--json").json
        done = shop("approvals", "approve", asked["approval_id"], "--as", "lee", "--tools", "own.py", *shown)

        assert (done.code, "tool_error" in done.out + done.err, "hunter2" in done.out + done.err) == (1, True, False)


def _changed(shop: Shell) -> bool:
    return (shop.folder / "changed").exists()


def test_approving_runs_the_call_and_prints_its_result(shop: Shell, approval: str) -> None:
    done = shop("approvals", "approve", approval, "--as", "lee", "--reason", "fine")

    assert (done.code, done.out) == (0, "changed\n")
    assert f"{approval} is approved; the call of price.change was carried out." in done.err
    assert _changed(shop)


def test_approving_as_json_gives_request_and_call(shop: Shell, approval: str) -> None:
    done = shop("approvals", "approve", approval[:9], "--as", "lee", "--reason", "fine", "--json").json

    assert (done["approval"]["state"], done["call"]["state"], done["call"]["result"]) == (
        "consumed",
        "succeeded",
        "changed",
    )
    (vote,) = done["approval"]["votes"]
    assert (vote["approver"], vote["verdict"], vote["reason"]) == ("lee", "approve", "fine")


def test_show_has_all_that_whoever_decides_needs(shop: Shell, approval: str) -> None:
    shown = shop("approvals", "show", approval).out
    as_json = shop("approvals", "show", approval, "--json").json

    for line in (
        "Asked by: kim",
        "On behalf of: kim",
        "Tool: price.change",
        '  "price": 3,',
        "Risk: high",
        "Rules: risk.high",
        "Why it waits: a tool of risk high needs the approval of one person",
        "What will happen: The price changes for everybody.",
        "Approvals: 0/1",
    ):
        assert line in shown.splitlines()
    assert as_json["arguments"] == {"product": "pen", "price": 3}
    assert as_json["via"].startswith("os:")
    assert "무슨" not in shown
    assert "요청자: kim" in shop("approvals", "show", approval, "--lang", "ko").out


def test_the_list_shows_what_waits(shop: Shell, approval: str) -> None:
    lines = shop("approvals", "list").out.splitlines()

    assert lines[1].split()[:6] == [approval, "pending", "price.change", "high", "kim", "0/1"]
    assert shop("approvals", "list", "--state", "rejected", "--json").json == []
    assert shop("approvals", "list", "--state", "rejected").out == "Nothing waits for approval.\n"
    assert shop("approvals", "list", "--state", "nosuch").code == 2


@pytest.mark.parametrize(
    ("who", "why"),
    [
        (["--as", "kim"], "nobody decides about a request that they made"),
        ([], "nobody decides about a request that they made"),
        (["--as", "choi"], "you lack a scope for it"),
    ],
)
def test_who_may_not_decide_is_refused_with_the_reason(shop: Shell, approval: str, who: list[str], why: str) -> None:
    done = shop("approvals", "approve", approval, *who)

    assert (done.code, why in done.err, _changed(shop)) == (5, True, False)


def test_what_the_person_at_the_machine_asked_another_principal_of_it_can_approve(shop: Shell) -> None:
    asked = shop("tools", "call", "price.change", "--args", '{"product": "pen", "price": 3}', "--json").json

    assert shop("approvals", "approve", asked["approval_id"]).code == 5
    assert shop("approvals", "approve", asked["approval_id"], "--as", "park").code == 0


def test_rejecting_needs_a_reason_and_ends_the_call(shop: Shell, approval: str) -> None:
    assert shop("approvals", "reject", approval, "--as", "lee").code == 5
    rejected = shop("approvals", "reject", approval, "--as", "lee", "--reason", "too cheap", "--json")
    again = shop("approvals", "approve", approval, "--as", "lee")

    assert (rejected.code, rejected.json["state"], rejected.json["votes"][0]["reason"]) == (0, "rejected", "too cheap")
    assert (again.code, _changed(shop)) == (5, False)


def test_the_requester_takes_a_request_back(shop: Shell, approval: str) -> None:
    assert shop("approvals", "withdraw", approval, "--as", "lee").code == 5
    done = shop("approvals", "withdraw", approval, "--as", "kim")

    assert (done.code, done.out) == (0, f"{approval} is withdrawn.\n")


def test_a_changed_tool_makes_the_approval_void(shop: Shell, approval: str) -> None:
    source = (shop.folder / "shop.py").read_text("utf-8")
    (shop.folder / "shop.py").write_text(source.replace("Change a price.", "Change a price for good."), "utf-8")

    done = shop("approvals", "approve", approval, "--as", "lee")

    assert (done.code, "the definition of price.change has changed" in done.err, _changed(shop)) == (5, True, False)


def test_a_process_that_does_not_know_the_tool_decides_nothing(shop: Shell) -> None:
    (shop.folder / "own.py").write_text(
        'from daeri import tool\n\n@tool(risk="high")\ndef own() -> str:\n    """Own."""\n    return "done"\n', "utf-8"
    )
    asked = shop("tools", "call", "own", "--as", "kim", "--tools", "own.py", "--json").json

    without = shop("approvals", "approve", asked["approval_id"], "--as", "lee")
    state = shop("approvals", "show", asked["approval_id"], "--json").json["state"]
    with_it = shop("approvals", "approve", asked["approval_id"], "--as", "lee", "--tools", "own.py")

    assert (without.code, "--tools" in without.err, state) == (2, True, "pending")
    assert (with_it.code, with_it.out) == (0, "done\n")


def test_a_request_that_is_not_there_is_wrong_usage(shop: Shell) -> None:
    done = shop("approvals", "show", "apr_nosuch")

    assert (done.code, done.err.startswith("There is no request for approval 'apr_nosuch'")) == (2, True)


def test_what_nobody_decided_in_time_has_expired(shop: Shell) -> None:
    call = ("tools", "call", "price.change", "--args", '{"product": "pen", "price": 3}', "--as", "kim", "--json")
    asked = shop(*call, DAERI_APPROVALS_TTL_S="0.001").json

    refused = shop("approvals", "approve", asked["approval_id"], "--as", "lee")
    state = shop("approvals", "list", "--json").json[0]["state"]

    assert (refused.code, state) == (5, "expired")


def test_the_run_that_waits_shows_decision_and_outcome_in_its_journal(shop: Shell, script: Script) -> None:
    model = script([("price.change", {"product": "pen", "price": 3})], "Done.")
    run = shop("run", "--model", model, "--as", "kim", "--json", "Change the price")
    (approval,) = run.json["approvals"]

    approved = shop("approvals", "approve", approval, "--as", "lee", "--reason", "fine")
    shown = shop("runs", "show", run.json["run_id"])

    assert (run.code, approved.code, approved.out) == (4, 0, "changed\n")
    assert f"lee approved {approval}: fine" in shown.out
    assert "succeeded" in shown.out


def test_webhooks_need_a_secret(shop: Shell) -> None:
    done = shop("approvals", "list", DAERI_WEBHOOKS_URL="https://example.com/hook")

    assert (done.code, "webhooks.secret" in done.err) == (2, True)


def test_a_command_delivers_what_it_has_to_tell_before_it_ends(shop: Shell) -> None:
    got: list[tuple[str, bytes]] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            got.append((str(self.headers["Daeri-Signature"]), body))
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Hook) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        call = ("tools", "call", "price.change", "--args", '{"product": "pen", "price": 3}', "--as", "kim")
        url = f"http://127.0.0.1:{server.server_port}/"
        done = shop(*call, DAERI_WEBHOOKS_URL=url, DAERI_WEBHOOKS_SECRET="s")
        server.shutdown()
        thread.join()

    assert (done.code, [json.loads(body)["kind"] for _, body in got]) == (4, ["approval.requested"])
    assert got[0][0].startswith("v1=")


def test_a_receiver_that_is_not_there_holds_no_command_up(shop: Shell) -> None:
    call = ("tools", "call", "price.change", "--args", '{"product": "pen", "price": 3}', "--as", "kim")

    assert shop(*call, DAERI_WEBHOOKS_URL="http://127.0.0.1:9/", DAERI_WEBHOOKS_SECRET="s").code == 4
