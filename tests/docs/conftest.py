"""Pages as they are run: every block of a page in turn, in one folder of its own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

LIMIT_S = 120
ELLIPSIS = "..."


def blocks_of(page: Path) -> list[tuple[str, str, str]]:
    """Language, title and text of each fenced block."""
    found: list[tuple[str, str, str]] = []
    for token in MarkdownIt().parse(page.read_text("utf-8")):
        if token.type == "fence":
            language = token.info.split(" ", 1)[0]
            title = re.search(r'title="([^"]+)"', token.info)
            found.append((language, title[1] if title else "", token.content))
    return found


def commands_of(console: str) -> list[tuple[str, list[str]]]:
    """Each command of a console block with the output that the page promises."""
    commands: list[tuple[str, list[str]]] = []
    for line in console.splitlines():
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif line.startswith("> ") and commands and not commands[-1][1]:
            commands[-1] = (f"{commands[-1][0]}\n{line[2:]}", [])
        else:
            commands[-1][1].append(line)
    return commands


def shows(output: str, promised: list[str]) -> bool:
    """Whether the output is what the page promises; `...` stands for anything, in a line or for lines."""
    wanted = "\n".join(line.rstrip() for line in promised).strip()
    pattern = ".*".join(re.escape(part) for part in wanted.split(ELLIPSIS))
    shown = "\n".join(line.rstrip() for line in output.splitlines()).strip()
    return re.fullmatch(pattern, shown, re.DOTALL) is not None


class PageRunner:
    """Runs the blocks of one page."""

    def __init__(self, folder: Path, replace: Mapping[str, str]) -> None:
        self._folder = folder
        self._replace = replace
        self._environment = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder / "home"),
            "LANG": "C.UTF-8",
            "PYTHONUTF8": "1",
        }

    def run(self, page: Path) -> None:
        for language, title, text in blocks_of(page):
            for old, new in self._replace.items():
                text = text.replace(old, new)
            if title:
                file = self._folder / title
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, "utf-8")
            elif language == "python":
                self._check([sys.executable, "-c", text], text, [])
            elif language == "console":
                for command, promised in commands_of(text):
                    self._check(["bash", "-c", command], command, promised)

    def _check(self, arguments: list[str], shown_as: str, promised: list[str]) -> None:
        done = subprocess.run(
            arguments, cwd=self._folder, env=self._environment, capture_output=True, text=True, timeout=LIMIT_S
        )
        wanted_exit = 0
        if promised and (stated := re.fullmatch(r"\(exit (\d+)\)", promised[-1])):
            wanted_exit = int(stated[1])
            promised = promised[:-1]
        said = f"{shown_as}\n--- exit {done.returncode}, stdout:\n{done.stdout}\n--- stderr:\n{done.stderr}"
        assert done.returncode == wanted_exit, said
        if promised:
            assert shows(done.stdout + done.stderr, promised) or shows(done.stderr + done.stdout, promised), (
                f"{said}\n--- promised:\n" + "\n".join(promised)
            )


@pytest.fixture
def run_page(tmp_path: Path) -> Callable[..., None]:
    """Run a page's blocks in a fresh folder, with texts replaced as given."""

    def run(page: Path, replace: Mapping[str, str] | None = None) -> None:
        PageRunner(tmp_path, replace or {}).run(page)

    return run
