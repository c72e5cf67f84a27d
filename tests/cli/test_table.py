from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Script, Shell


def _in_terminal(shell: Shell, width: int, *arguments: str) -> list[str]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "daeri", *arguments], cwd=shell.folder, env=dict(shell.environment), stdout=theirs
    )
    os.close(theirs)
    pieces: list[bytes] = []
    try:
        while piece := os.read(ours, 4096):
            pieces.append(piece)
    except OSError:  # the other side has closed the terminal
        pass
    os.close(ours)
    assert process.wait(60) == 0
    return b"".join(pieces).decode().splitlines()


def test_in_80_columns_ids_are_whole_and_only_the_last_column_gives_way(project: Shell, script: Script) -> None:
    goal = "한글과 words " * 20
    run_id = project("run", goal, "--model", script("hi"), "--json").json["run_id"]

    head, row = _in_terminal(project, 80, "runs", "list")

    assert head.split() == ["Run", "State", "Agent", "Started", "Goal"]
    assert row.split()[:3] == [run_id, "succeeded", "default"]
    assert row.endswith("…")
    assert len(row) + sum("가" <= letter <= "힣" for letter in row) <= 80


@pytest.mark.parametrize("width", [80, 40])
def test_names_of_tools_are_whole_however_narrow_the_terminal_is(project: Shell, width: int) -> None:
    tools = {tool["name"] for tool in project("tools", "list", "--json").json}

    lines = _in_terminal(project, width, "tools", "list")

    assert tools <= {line.split()[0] for line in lines}
