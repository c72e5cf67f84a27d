from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Script, Shell

GOAL = "한글 goal \N{GRINNING FACE}"


@pytest.mark.parametrize("encoding", ["ascii", "cp949"])
def test_json_keeps_every_letter_whatever_the_encoding_of_stdout(project: Shell, script: Script, encoding: str) -> None:
    model = script(GOAL)

    done = project("run", GOAL, "--model", model, "--json", PYTHONIOENCODING=encoding)
    events = project("run", GOAL, "--model", model, "--events", PYTHONIOENCODING=encoding)
    exported = project("runs", "export", done.json["run_id"], PYTHONIOENCODING=encoding)

    assert done.json["answer"] == GOAL
    assert json.loads(events.out.splitlines()[0])["data"]["goal"] == GOAL
    assert exported.json["run"]["goal"] == GOAL


def test_json_is_readable_where_stdout_is_utf_8(project: Shell, script: Script) -> None:
    assert GOAL in project("run", GOAL, "--model", script("hi"), "--events").out


@pytest.mark.parametrize(
    ("command", "code", "out", "complaint"),
    [
        ("$DAERI run x --model MODEL >&-", 2, "", "Standard output is closed"),
        ("$DAERI run x --model MODEL 2>&-", 0, "hi\n", ""),
        ("$DAERI run - --model MODEL <&-", 2, "", "the goal is missing"),
        ("$DAERI tools call price.find --args - <&-", 2, "", "--args"),
        ("$DAERI run x --model MODEL >&- 2>&- <&-", 2, "", ""),
        ("$DAERI run x --model MODEL >/dev/full", 1, "", "could not be written to standard output: No space left"),
        ("$DAERI run x --model MODEL --events >/dev/full", 1, "", "could not be written to standard output"),
        ("$DAERI runs list >/dev/full", 1, "", "could not be written to standard output"),
        ("$DAERI --help >/dev/full", 1, "", "could not be written to standard output"),
        ("$DAERI run x --model MODEL 2>/dev/full", 0, "hi\n", ""),
        ("mkdir gone; cd gone; rmdir ../gone; $DAERI runs list", 2, "", "The working directory no longer exists"),
    ],
)
def test_a_stream_that_cannot_be_used_is_one_honest_line(
    project: Shell, script: Script, command: str, code: int, out: str, complaint: str
) -> None:
    done = project.line(command.replace("MODEL", script("hi")))

    assert (done.code, done.out) == (code, out)
    assert complaint in done.err
    assert "Traceback" not in done.err
    assert "should not" not in done.err
    assert not complaint or complaint in done.err.splitlines()[-1]


def test_a_database_never_takes_the_number_of_a_closed_stream(project: Shell, script: Script) -> None:
    project.line(f"$DAERI run x --model {script('hi')} 2>&- <&-")

    assert project("doctor", "--json", DAERI_MODEL="planner").json["store"]["sound"]
