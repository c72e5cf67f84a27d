from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.cli.conftest import Script, Shell


def test_a_sound_project_is_fine(project: Shell, script: Script) -> None:
    model = script("hi")
    project("run", "hi", "--model", model)

    done = project("doctor", "--json", DAERI_MODEL=model, DAERI_MODEL_API_KEY="sk-hidden")

    report = done.json
    assert (done.code, report["ok"], report["problems"]) == (0, True, [])
    values = report["settings"]["values"]
    assert report["settings"]["project"] == str(project.folder)
    assert values["cli.scopes"] == {"value": ["price:read"], "origin": "file", "env": "DAERI_CLI_SCOPES"}
    assert values["model.reference"]["origin"] == "environment"
    assert report["model"]["model"] == model
    assert report["store"]["rows"]["runs"] == 1
    assert "price.find" in report["tools"]
    assert report["agents"] == {"default": "default", "names": ["default"]}
    assert [note for note in report["notes"] if "pay:write" in note["problem"]]
    assert "sk-hidden" not in done.out


def test_the_report_speaks_both_languages(project: Shell, script: Script) -> None:
    model = script("hi")

    english, korean = project("doctor", DAERI_MODEL=model), project("doctor", "--lang", "ko", DAERI_MODEL=model)

    assert english.out.splitlines()[-1] == "All is well."
    assert korean.out.splitlines()[-1] == "문제가 없습니다."
    assert "  cli.scopes = ['price:read'] (daeri.toml)" in english.out.splitlines()


def test_a_wrong_setting_is_a_problem(project: Shell) -> None:
    done = project("doctor", "--json", DAERI_LIMITS_MAX_STEPS="0")

    assert (done.code, done.json["ok"]) == (2, False)
    assert "limits.max_steps (DAERI_LIMITS_MAX_STEPS) = '0'" in done.json["problems"][0]["problem"]


def test_a_model_without_its_key_is_a_problem(project: Shell) -> None:
    done = project("doctor", "--json", DAERI_MODEL="openai:gpt-x")

    assert done.code == 2
    assert [problem["subject"] for problem in done.json["problems"]] == ["model"]
    assert "OPENAI_API_KEY" in done.json["problems"][0]["problem"]


def test_a_server_that_does_not_answer_is_a_problem(project: Shell) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        done = project("doctor", DAERI_MODEL="openai-compatible:x", DAERI_MODEL_BASE_URL=url)

    assert done.code == 2
    assert f"Nothing answers at {url}." in done.out


@pytest.mark.parametrize(
    ("file", "content", "subject"),
    [
        ("shop.py", "import nothing_of_this_name\n", "tools"),
        ("agents/clerk/card.json", "{", "agents"),
        ("daeri.toml", '[agents]\ndefault = "nobody"\n', "agents"),
    ],
)
def test_what_cannot_be_loaded_is_a_problem_and_the_rest_is_still_looked_at(
    project: Shell, script: Script, file: str, content: str, subject: str
) -> None:
    (project.folder / file).parent.mkdir(parents=True, exist_ok=True)
    (project.folder / file).write_text(content)

    done = project("doctor", "--json", DAERI_MODEL=script("hi"))

    assert done.code == 2
    assert subject in {problem["subject"] for problem in done.json["problems"]}
    assert done.json["store"]["sound"]


def test_a_damaged_record_is_a_problem(project: Shell, script: Script) -> None:
    model = script("hi")
    home = project.folder.parent / "home"
    home.mkdir()
    (home / "daeri.db").write_bytes(b"not a database, but long enough to be taken for one" * 100)

    done = project("doctor", "--json", DAERI_MODEL=model)

    assert done.code == 2
    assert "store" in {problem["subject"] for problem in done.json["problems"]}


def test_a_tool_without_an_output_contract_is_noted(project: Shell, script: Script) -> None:
    (project.folder / "shop.py").write_text(
        'from daeri import tool\n\n@tool(name="loose")\ndef loose():\n    """Give anything."""\n'
    )

    done = project("doctor", "--json", DAERI_MODEL=script("hi"))

    assert done.code == 0
    assert [note["problem"] for note in done.json["notes"] if "loose declares no output" in note["problem"]]
