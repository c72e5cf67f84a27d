"""The attacks of the corpus that are made with the real command, in a project of its own."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.boundary.attacks.conftest import Case

_TOOLS = '''
from daeri import tool

def ran(*what: object) -> str:
    with open("ran.txt", "a", encoding="utf-8") as file:
        print(*what, file=file)
    return "done"

@tool(risk="high", scopes=["pay:write"], consequences="The money leaves the account.")
def pay(to: str, amount: int) -> str:
    """Pay somebody."""
    return ran("pay", to, amount)

@tool(scopes=["notes:write"])
def note(text: str) -> str:
    """Write a note."""
    return ran("note", text)
'''
_SETTINGS = """
[tools]
modules = ["shop.py"]
[principals.kim]
scopes = ["pay:*", "notes:*"]
roles = ["user", "approver"]
[principals.lee]
scopes = ["approve:*"]
roles = ["approver"]
"""


@dataclass(frozen=True, kw_only=True)
class Terminal:
    """A project, and whoever sits before it."""

    folder: Path
    saved: dict[str, str] = field(default_factory=lambda: {"zeros": "0" * 20_000})
    told: list[str] = field(default_factory=list[str])

    @property
    def database(self) -> Path:
        return self.folder / ".daeri" / "daeri.db"

    def perform(self, step: Mapping[str, Any]) -> Mapping[str, Any]:
        if "run" in step:
            return self._run(step)
        if "edit" in step:
            file = self.folder / step["edit"]
            text = file.read_text("utf-8")
            assert step["old"] in text
            file.write_text(text.replace(step["old"], step["new"]), "utf-8")
        else:
            with closing(sqlite3.connect(self.database)) as connection, connection:
                assert connection.execute(step["tamper"]).rowcount > 0
        return {}

    def _run(self, step: Mapping[str, Any]) -> Mapping[str, Any]:
        arguments: list[str] = step["run"]
        for name, value in self.saved.items():
            arguments = [argument.replace(f"{{{name}}}", value) for argument in arguments]
        environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "DAERI_HOME": str(self.database.parent)}
        done = subprocess.run(
            [sys.executable, "-m", "daeri", *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        if "save" in step:
            self.saved[step["save"]] = json.loads(done.stdout)["approval_id"]
        self.told.append(done.stdout + done.stderr)
        return {"exit": done.returncode, "says": done.stdout + done.stderr, "lines": done.stdout.count("\n")}

    def ran(self) -> list[str]:
        file = self.folder / "ran.txt"
        return file.read_text("utf-8").splitlines() if file.exists() else []

    def audit(self) -> list[str]:
        if not self.database.exists():
            return []
        with closing(sqlite3.connect(self.database)) as connection:
            rows = connection.execute("SELECT kind, actor, subject, data FROM audit ORDER BY seq").fetchall()
        return [
            f"{kind} by {'os' if actor.startswith('os:') else actor}: {subject} {data}"
            for kind, actor, subject, data in rows
        ]


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    (tmp_path / "daeri.toml").write_text(_SETTINGS, "utf-8")
    (tmp_path / "shop.py").write_text(_TOOLS, "utf-8")
    return Terminal(folder=tmp_path)


def test_the_attack_at_the_command_line_ends_as_it_must(command_line_case: Case, terminal: Terminal) -> None:
    case = command_line_case
    for number, step in enumerate(case.steps, 1):
        seen = terminal.perform(step)
        for name, value in {**step.get("gives", {}), **(case.must if number == len(case.steps) else {})}.items():
            found = seen[name]
            assert value in found if name == "says" else value == found, f"step {number}: {name}\n{seen}"

    assert terminal.ran() == case.ran
    lines = terminal.audit()
    left = iter(lines)
    for promised in case.audit:
        head, _, detail = promised.partition(": ")
        found = any(line.startswith(f"{head}: ") and detail in line for line in left)
        assert found, "\n".join([f"no {promised!r} in its place:", *lines])
    assert not [text for text in case.not_in_answers if text in "".join(terminal.told)]
