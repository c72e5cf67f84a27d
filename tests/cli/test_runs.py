from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Script, Shell


@pytest.fixture
def recorded(project: Shell, script: Script) -> dict[str, Any]:
    """A run on record, as `run --json` has shown it."""
    model = script([("price.find", {"product": "pen"})], [("price.find", {"product": "car"})], "A pen costs $2.")
    return project("run", "What is a pen?", "--model", model, "--json").json


def test_the_list_shows_the_newest_run_first(project: Shell, script: Script) -> None:
    model = script("hi")
    for goal in ("first", "second", "third"):
        project("run", goal, "--model", model)

    assert [run["goal"] for run in project("runs", "list", "--json").json] == ["third", "second", "first"]
    assert [run["goal"] for run in project("runs", "list", "--json", "--limit", "1").json] == ["third"]
    assert project("runs", "list", "--json", "--state", "failed").json == []
    lines = project("runs", "list").out.splitlines()
    assert lines[0].split() == ["Run", "State", "Agent", "Started", "Goal"]
    assert [line.split()[-1] for line in lines[1:]] == ["third", "second", "first"]


def test_an_empty_list_says_so(project: Shell) -> None:
    assert project("runs", "list").out == "No runs yet.\n"
    assert project("runs", "list", "--lang", "ko").out == "아직 실행이 없습니다.\n"
    assert project("runs", "list", "--json").json == []


def test_a_state_that_does_not_exist_is_refused(project: Shell) -> None:
    done = project("runs", "list", "--state", "happy")

    assert done.code == 2
    assert "there is no state 'happy'; there are: queued, running" in done.err


def test_show_is_a_timeline_of_what_happened(project: Shell, recorded: dict[str, Any]) -> None:
    done = project("runs", "show", recorded["run_id"][:8])

    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[:4] == [
        f"Run: {recorded['run_id']}",
        "Goal: What is a pen?",
        "Agent: default",
        f"Model: {recorded['model']}",
    ]
    found, failed = (next(i for i, line in enumerate(lines) if f'price.find("{it}")' in line) for it in ("pen", "car"))
    assert "→ allow → $2" in lines[found]
    assert lines[found + 1 : found + 3] == [
        '    arguments: {"product": "pen"}',
        "    decision: risk low, rules scope.held, risk.low",
    ]
    assert "failed (tool_error): There is no car." in lines[failed]
    assert [line[:11] for line in lines if line.startswith("[")] == ["[1] model ·", "[2] model ·", "[3] model ·"]
    assert found < failed
    assert lines[-1].endswith(recorded["run_id"])
    assert "    A pen costs $2." in lines[failed:]


def test_show_as_json_is_what_run_has_shown(project: Shell, recorded: dict[str, Any]) -> None:
    shown = project("runs", "show", recorded["run_id"], "--json").json

    del recorded["model_reason"]
    assert {key: shown[key] for key in recorded} == recorded


def test_export_holds_the_raw_events_the_full_results_and_the_definitions(
    project: Shell, recorded: dict[str, Any]
) -> None:
    transcript = project("runs", "export", recorded["run_id"]).json

    assert (transcript["format"], transcript["version"]) == ("daeri.run", 1)
    assert transcript["run"]["run_id"] == recorded["run_id"]
    assert transcript["events"][0]["type"] == "run.started"
    assert [event["seq"] for event in transcript["events"]] == list(range(1, len(transcript["events"]) + 1))
    assert [(call["state"], call["result"]) for call in transcript["calls"]] == [("succeeded", "$2"), ("failed", None)]
    assert transcript["calls"][1]["failure"]["kind"] == "tool_error"
    assert transcript["approvals"] == []
    assert transcript["tools"]["price.find"]["scopes"] == ["price:read"]


def test_export_writes_to_a_file(project: Shell, recorded: dict[str, Any]) -> None:
    done = project("runs", "export", recorded["run_id"], "-o", "run.json")

    assert (done.code, done.out) == (0, "")
    written = json.loads((project.folder / "run.json").read_text("utf-8"))
    assert written == project("runs", "export", recorded["run_id"]).json


def test_an_export_is_on_the_audit_record_with_who_took_it(project: Shell, recorded: dict[str, Any]) -> None:
    exported = project("runs", "export", recorded["run_id"][:12]).json

    last = json.loads(project("audit", "tail", "-n", "1", "--json").out)
    assert (last["kind"], last["subject"], last["run_id"]) == ("audit.exported", *[recorded["run_id"]] * 2)
    assert last["actor"].startswith("os:")
    assert last["data"]["principal"]["subject"] == last["actor"]
    assert last["data"]["events"] == len(exported["events"])


def test_export_shows_the_approval_that_a_run_waits_for(project: Shell, script: Script) -> None:
    model = script([("price.change", {"product": "pen", "price": 3})])
    waiting = project("run", "raise it", "--model", model, "--json").json

    (approval,) = project("runs", "export", waiting["run_id"]).json["approvals"]

    assert approval["approval_id"] == waiting["approvals"][0]
    assert approval["arguments"] == {"product": "pen", "price": 3}
    assert approval["consequences"] == "The price changes for everybody."


def test_the_record_can_be_read_when_the_tools_cannot_be_loaded(project: Shell, recorded: dict[str, Any]) -> None:
    (project.folder / "shop.py").write_text("import nothing_of_this_name\n")

    assert project("runs", "show", recorded["run_id"]).code == 0
    assert project("runs", "export", recorded["run_id"]).code == 0


@pytest.mark.parametrize("command", ["show", "export"])
def test_a_run_that_is_not_there_is_said_in_both_languages(project: Shell, command: str) -> None:
    english, korean = project("runs", command, "feed"), project("runs", command, "feed", "--lang", "ko")

    assert (english.code, english.err) == (2, "There is no run 'feed'. `daeri runs list` shows all.\n")
    assert korean.err.startswith("실행 'feed'")


def test_a_file_that_cannot_be_written_is_said(project: Shell, recorded: dict[str, Any]) -> None:
    done = project("runs", "export", recorded["run_id"], "-o", "gone/run.json")

    assert done.code == 2
    assert "gone/run.json can't be written: No such file or directory" in done.err


def test_what_ran_beside_a_call_that_waits_is_shown_with_its_result(project: Shell, script: Script) -> None:
    model = script([("price.find", {"product": "pen"}), ("price.change", {"product": "pen", "price": 3})])
    run = project("run", "x", "--model", model, "--json").json

    shown = project("runs", "show", run["run_id"], "--json").json["calls"]
    assert [(call["tool"], call["state"], call["result"]) for call in shown] == [
        ("price.find", "succeeded", "$2"),
        ("price.change", "waiting", None),
    ]
