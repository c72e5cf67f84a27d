from __future__ import annotations

import json
import re
import tomllib
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Script, Shell

FILES = [
    ".env.example",
    ".gitignore",
    "agents/assistant/card.json",
    "agents/assistant/instructions.md",
    "daeri.toml",
    "documents/expenses.md",
    "documents/leave.md",
    "knowledge.toml",
    "workdays.py",
]


@pytest.mark.parametrize("lang", ["ko", "en"])
def test_a_new_project_works_at_once(daeri: Shell, script: Script, lang: str) -> None:
    made = daeri("init", "office", "--lang", lang)
    office = type(daeri)(folder=daeri.folder / "office", environment=daeri.environment)
    written = sorted(str(file.relative_to(office.folder)) for file in office.folder.rglob("*") if file.is_file())
    model = script(
        [
            ("workdays.count", {"start": "2026-12-01", "end": "2026-12-31"}),
            ("knowledge.lookup", {"key": "단가"}),
            ("documents.search", {"query": "sick leave 병가"}),
            ("files.read", {"path": "leave.md"}),
        ],
        "23",
    )

    done = office("run", "영업일", "--model", model, "--json")

    assert (made.code, written) == (0, FILES)
    assert {call["tool"]: call["state"] for call in done.json["calls"]} == {
        "workdays.count": "succeeded",
        "knowledge.lookup": "succeeded",
        "documents.search": "succeeded",
        "files.read": "succeeded",
    }
    assert done.json["calls"][0]["result"] == "23"
    assert office("runs", "list", "--json").json[0]["agent"] == "assistant"
    assert office("doctor", DAERI_MODEL=model).code == 0


@pytest.mark.parametrize(
    ("start", "end", "days"),
    [("2026-11-30", "2026-12-06", "5"), ("2026-12-05", "2026-12-06", "0"), ("2026-12-07", "2026-12-07", "1")],
)
def test_the_tool_of_a_new_project_counts_working_days(
    daeri: Shell, script: Script, start: str, end: str, days: str
) -> None:
    daeri("init", ".")

    done = daeri("run", "x", "--json", "--model", script([("workdays.count", {"start": start, "end": end})], "ok"))

    assert done.json["calls"][0]["result"] == days


def test_the_next_steps_are_printed_in_the_language_asked_for(daeri: Shell) -> None:
    english, korean = daeri("init", "a b", "--lang", "en"), daeri("init", "b", "--lang", "ko")

    assert "cd 'a b'\n" in english.out
    assert "daeri run" in english.out
    assert "다음 단계:" in korean.out


def test_existing_files_are_never_overwritten(daeri: Shell) -> None:
    (daeri.folder / "office" / "documents").mkdir(parents=True)
    (daeri.folder / "office" / "daeri.toml").write_text("mine")
    (daeri.folder / "office" / "documents" / "leave.md").write_text("mine")
    (daeri.folder / "office" / "other.txt").write_text("mine")

    done = daeri("init", "office")

    assert done.code == 2
    assert "files that would be overwritten: daeri.toml, documents/leave.md" in done.err
    assert (daeri.folder / "office" / "daeri.toml").read_text() == "mine"
    assert not (daeri.folder / "office" / "knowledge.toml").exists()


def test_a_folder_without_a_name_is_refused(daeri: Shell) -> None:
    done = daeri("init", "")

    assert (done.code, done.out) == (2, "")
    assert "the folder is missing" in done.err
    assert not list(daeri.folder.iterdir())


def test_a_file_in_the_place_of_the_folder_is_refused(daeri: Shell) -> None:
    (daeri.folder / "office").write_text("mine")

    done = daeri("init", "office")

    assert (done.code, "office is not a folder" in done.err) == (2, True)


def test_both_templates_say_the_same(daeri: Shell) -> None:
    shapes: list[object] = []
    for lang in ("ko", "en"):
        daeri("init", lang, "--lang", lang)
        folder = daeri.folder / lang
        settings = tomllib.loads((folder / "daeri.toml").read_text("utf-8"))
        card = json.loads((folder / "agents/assistant/card.json").read_text("utf-8"))
        named = re.findall(r"`([a-z]+\.?[a-z_]*)`", (folder / "agents/assistant/instructions.md").read_text("utf-8"))
        code = re.sub(r'""".*?"""|"[^"]*"', "", (folder / "workdays.py").read_text("utf-8"), flags=re.DOTALL)
        shapes.append((settings, {**card, "description": ""}, sorted(named), code))

    assert shapes[0] == shapes[1]
