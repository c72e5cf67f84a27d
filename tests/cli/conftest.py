"""The command `daeri` as people run it: a process of its own, in a project of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

TOOLS = '''
import asyncio
import sys
from pathlib import Path

from daeri import ToolError, tool

@tool(name="price.find", scopes=["price:read"], read_only=True)
def find(product: str) -> str:
    """Find a price."""
    if product != "pen":
        raise ToolError(f"There is no {product}.")
    return "$2"

@tool(name="price.change", scopes=["price:read"], risk="high", consequences="The price changes for everybody.")
def change(product: str, price: int) -> str:
    """Change a price."""
    Path("changed").touch()
    return "changed"

@tool(name="pay", scopes=["pay:write"])
def pay(amount: int) -> str:
    """Pay."""
    Path("paid").touch()
    return "paid"

@tool(name="send", timeout_s=0.05)
async def send() -> str:
    """Send, and never hear of it again."""
    await asyncio.Event().wait()
    return "sent"

@tool(name="wait_for", read_only=True)
async def wait_for(file: str) -> str:
    """Wait until there is a file."""
    while not Path(file).exists():
        await asyncio.sleep(0.01)
    return "there"

@tool(name="hold", read_only=True)
async def hold() -> str:
    """Go on when stopped."""
    while True:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            print("holding on", file=sys.stderr, flush=True)
'''

SETTINGS = """
[tools]
modules = ["shop.py"]
[cli]
scopes = ["price:read"]
"""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True, kw_only=True)
class Shell:
    """Runs `daeri` in a folder; nothing of the real environment is seen but the path."""

    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])

    def __call__(self, *arguments: str, stdin: str | bytes = "", **environment: str) -> Outcome:
        done = subprocess.run(
            [sys.executable, "-m", "daeri", *arguments],
            cwd=self.folder,
            env={**self.environment, **environment},
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Outcome(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode(errors="replace"))

    def line(self, command: str) -> Outcome:
        """Run a line of the shell, in which `daeri` is `$DAERI`."""
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.folder,
            env={**self.environment, "DAERI": f"{sys.executable} -m daeri"},
            capture_output=True,
            timeout=120,
            check=False,
        )
        return Outcome(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode(errors="replace"))

    def start(self, *arguments: str, stderr: int = subprocess.PIPE) -> subprocess.Popen[str]:
        """Begin a command and leave it running."""
        return subprocess.Popen(
            [sys.executable, "-m", "daeri", *arguments],
            cwd=self.folder,
            env=dict(self.environment),
            stdout=subprocess.PIPE,
            stderr=stderr,
            encoding="utf-8",
        )


@pytest.fixture
def daeri(tmp_path: Path) -> Shell:
    """The command in an empty folder that is no project."""
    folder = tmp_path / "folder"
    folder.mkdir()
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "DAERI_HOME": str(tmp_path / "home")}
    return Shell(folder=folder, environment=environment)


@pytest.fixture
def project(daeri: Shell) -> Shell:
    """The command in a project with the tools of a shop."""
    (daeri.folder / "daeri.toml").write_text(SETTINGS, "utf-8")
    (daeri.folder / "shop.py").write_text(TOOLS, "utf-8")
    return daeri


Script = Callable[..., str]


@pytest.fixture
def script(daeri: Shell) -> Script:
    """A model that replays turns: a text, or calls as `(tool, arguments)`."""

    def written(*turns: str | list[tuple[str, dict[str, object]]]) -> str:
        lines: list[str] = []
        for turn in turns:
            calls = [] if isinstance(turn, str) else [{"name": name, "arguments": values} for name, values in turn]
            lines.append(json.dumps({"text": turn} if isinstance(turn, str) else {"calls": calls}))
        file = daeri.folder / "turns.jsonl"
        file.write_text("\n".join(lines), "utf-8")
        return f"script:{file}"

    return written
