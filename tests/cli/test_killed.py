"""Processes that are ended from outside: told to stop, or killed in the middle of a call."""

from __future__ import annotations

import json
import signal
from typing import IO, TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Script, Shell

DEADLY = '''
import os
import signal

@tool(name="fall", risk="high")
def fall() -> str:
    """End the process in the middle of the call."""
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"

@tool(name="linger", risk="high")
async def linger() -> str:
    """Never end."""
    print("lingering", file=sys.stderr, flush=True)
    await asyncio.Event().wait()
    return "never"
'''
PEOPLE = '[principals.kim]\nroles = ["user"]\n[principals.lee]\nroles = ["approver"]\nscopes = ["approve:*"]\n'


@pytest.fixture
def deadly(project: Shell) -> Shell:
    """A shop with tools that end badly, and people who approve them."""
    for name, more in (("shop.py", DEADLY), ("daeri.toml", PEOPLE)):
        file = project.folder / name
        file.write_text(file.read_text("utf-8") + more, "utf-8")
    return project


def audit(shell: Shell) -> list[dict[str, object]]:
    return [json.loads(line) for line in shell("audit", "tail", "--json", "-n", "100").out.splitlines()]


def kinds(shell: Shell) -> list[object]:
    return [row["kind"] for row in audit(shell)]


def until(stream: IO[str] | None, text: str) -> None:
    assert stream is not None
    assert any(text in line for line in iter(stream.readline, ""))


def waiting(shell: Shell, tool: str) -> str:
    return shell("tools", "call", tool, "--as", "kim", "--json").json["approval_id"]


def test_a_call_whose_process_was_killed_is_unknown_for_whoever_opens_next(project: Shell) -> None:
    with project.start("tools", "call", "wait_for", "--args", '{"file": "never"}') as calling:
        while "call.started" not in kinds(project):
            pass
        calling.kill()

    project("approvals", "list")
    project("approvals", "list")

    (unknown,) = [row for row in audit(project) if row["kind"] == "call.unknown"]
    (started,) = [row for row in audit(project) if row["kind"] == "call.started"]
    assert (unknown["subject"], unknown["actor"]) == (started["subject"], "system")
    assert project("audit", "verify").code == 0


def test_the_journal_of_a_run_that_was_killed_says_so_too(project: Shell, script: Script) -> None:
    model = script([("wait_for", {"file": "never"})], "done")
    with project.start("run", "wait", "--model", model, "--events") as running:
        until(running.stdout, '"call.started"')
        running.kill()

    project("approvals", "list")

    (run,) = project("runs", "list", "--json").json
    (call,) = project("runs", "show", run["run_id"], "--json").json["calls"]
    assert (call["state"], call["failure"]["kind"]) == ("unknown", "unavailable")


def test_a_call_of_a_process_that_lives_is_left_alone(project: Shell) -> None:
    with project.start("tools", "call", "wait_for", "--args", '{"file": "there"}') as calling:
        while "call.started" not in kinds(project):
            pass
        project("approvals", "list")
        (project.folder / "there").touch()
        out, _ = calling.communicate(timeout=60)

    assert (calling.returncode, out) == (0, "there\n")
    assert "call.unknown" not in kinds(project)


def test_a_request_shows_that_its_call_has_died(deadly: Shell) -> None:
    approval = waiting(deadly, "fall")
    assert deadly("approvals", "approve", approval, "--as", "lee").code == -signal.SIGKILL

    shown = deadly("approvals", "show", approval, "--json").json

    assert (shown["state"], shown["call_state"], shown["call_failure"]["kind"]) == (
        "consumed",
        "unknown",
        "unavailable",
    )
    assert "outcome unknown" in deadly("approvals", "show", approval).out
    assert "outcome unknown" in deadly("approvals", "list").out
    assert "결과 불명" in deadly("approvals", "list", "--lang", "ko").out


def test_a_request_shows_that_its_call_waits(deadly: Shell) -> None:
    waiting(deadly, "fall")

    (listed,) = deadly("approvals", "list", "--json").json

    assert (listed["state"], listed["call_state"], listed["call_failure"]) == ("pending", "waiting", None)


def test_sigterm_cancels_the_run_and_its_journal_says_so(project: Shell, script: Script) -> None:
    model = script([("wait_for", {"file": "never"})], "done")
    with project.start("run", "wait", "--model", model, "--events") as running:
        until(running.stdout, '"call.started"')
        running.terminate()
        out, _ = running.communicate(timeout=60)

    assert running.returncode == 130
    assert [json.loads(line)["type"] for line in out.splitlines()] == ["call.cancelled", "run.ended"]


def test_sigterm_cancels_a_call_also_where_ctrl_c_is_ignored(project: Shell) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as for a job in the background of a shell
    try:
        calling = project.start("tools", "call", "wait_for", "--args", '{"file": "never"}')
    finally:
        signal.signal(signal.SIGINT, before)
    with calling:
        while "call.started" not in kinds(project):
            pass
        calling.terminate()
        calling.communicate(timeout=60)

    assert calling.returncode == 130
    assert "call.cancelled" in kinds(project)


def test_sigterm_ends_an_approved_call_whose_outcome_is_unknown_then(deadly: Shell) -> None:
    approval = waiting(deadly, "linger")
    with deadly.start("approvals", "approve", approval, "--as", "lee") as approving:
        until(approving.stderr, "lingering")
        approving.terminate()
        approving.communicate(timeout=60)

    assert approving.returncode == 130
    assert deadly("approvals", "show", approval, "--json").json["call_state"] == "unknown"
