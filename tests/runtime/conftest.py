"""A project folder, and Daeri opened in it; nothing of the real environment is seen."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from daeri.runtime import Daeri
from daeri.settings import Settings, load_settings

LoadProject = Callable[..., Settings]
OpenProject = Callable[..., AbstractAsyncContextManager[Daeri]]
WriteAgent = Callable[..., Path]
WriteScript = Callable[..., str]


@pytest.fixture
def load_project(tmp_path: Path) -> LoadProject:
    """Settings of the project folder with this `daeri.toml`."""

    def load(toml: str = "", environ: Mapping[str, str] | None = None) -> Settings:
        (tmp_path / "daeri.toml").write_text(toml, "utf-8")
        return load_settings(start=tmp_path, environ=environ or {})

    return load


@pytest.fixture
def open_project(load_project: LoadProject) -> OpenProject:
    """Daeri in the project folder."""

    def opened(toml: str = "", **given: Any) -> AbstractAsyncContextManager[Daeri]:
        return Daeri.open(load_project(toml), **given)

    return opened


@pytest.fixture
def write_agent(tmp_path: Path) -> WriteAgent:
    """An agent's folder below `agents`; gives the card."""

    def write(name: str, card: Mapping[str, object] | str, instructions: str | bytes | None = None) -> Path:
        folder = tmp_path / "agents" / name
        folder.mkdir(parents=True)
        file = folder / "card.json"
        file.write_text(card if isinstance(card, str) else json.dumps(card, ensure_ascii=False), "utf-8")
        if isinstance(instructions, str):
            (folder / "instructions.md").write_text(instructions, "utf-8")
        elif instructions is not None:
            (folder / "instructions.md").write_bytes(instructions)
        return file

    return write


@pytest.fixture
def write_script(tmp_path: Path) -> WriteScript:
    """A script of model turns; gives its reference as a model."""

    def write(*turns: Mapping[str, object]) -> str:
        file = tmp_path / "turns.jsonl"
        file.write_text("\n".join(json.dumps(turn, ensure_ascii=False) for turn in turns), "utf-8")
        return f"script:{file}"

    return write
