from __future__ import annotations

import dataclasses
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from platformdirs import user_data_path
from pydantic import ValidationError

from daeri.engine import Limits
from daeri.settings import Origin, Settings, load_settings, settings_table

Load = Callable[..., Settings]


def test_the_strongest_source_wins_setting_by_setting(load: Load) -> None:
    settings = load(
        "[limits]\nmax_steps = 1\nmax_tokens = 1\nmax_seconds = 1\ncontext_tokens = 1\n"
        '[model]\nreference = "planner"\n',
        "DAERI_LIMITS_MAX_STEPS=2\nDAERI_LIMITS_MAX_TOKENS=2\nDAERI_LIMITS_MAX_SECONDS=2\n",
        {"DAERI_LIMITS_MAX_STEPS": "3", "DAERI_LIMITS_MAX_TOKENS": "3"},
        {"limits.max_steps": 4, "lang": None},
    )

    limits = settings.limits
    assert (limits.max_steps, limits.max_tokens, limits.max_seconds, limits.context_tokens) == (4, 3, 2, 1)
    assert settings.model.reference == "planner"


@pytest.mark.parametrize(
    ("name", "origin"),
    [
        ("limits.max_steps", "override"),
        ("lang", "environment"),
        ("model.api_key", "env_file"),
        ("agents.default", "file"),
        ("tenant", "default"),
    ],
)
def test_each_setting_says_where_it_came_from(load: Load, name: str, origin: Origin) -> None:
    settings = load(
        '[agents]\ndefault = "clerk"\n',
        "DAERI_MODEL_API_KEY=sk-1\nDAERI_LANG=en\n",
        {"DAERI_LANG": "ko"},
        {"limits.max_steps": 4},
    )

    assert settings.origin_of(name) == origin


def test_the_project_is_the_nearest_folder_above_that_holds_a_settings_file(load: Load, tmp_path: Path) -> None:
    load('tenant = "outer"\n')
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)

    settings = load_settings(inner, {})

    assert (settings.project, settings.tenant, settings.home) == (tmp_path, "outer", tmp_path / ".daeri")


def test_outside_a_project_data_lives_with_the_user(load: Load) -> None:
    settings = load(None)

    assert settings.project is None
    assert settings.home == user_data_path("daeri", appauthor=False)
    assert settings.agents.folder == settings.home / "agents"


def test_the_process_environment_is_only_seen_when_no_other_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAERI_TENANT", "acme")

    assert load_settings(tmp_path, {}).tenant == "local"
    assert load_settings(tmp_path).tenant == "acme"
    assert Settings().tenant == "local"


def test_paths_are_relative_to_the_project_wherever_they_were_set(load: Load, tmp_path: Path) -> None:
    for folder in ("docs", "team", "shared"):
        (tmp_path / folder).mkdir()
    (tmp_path / "pay.py").touch()
    (tmp_path / "prices.toml").touch()

    settings = load(
        '[tools]\nmodules = ["pay.py", "company.tools"]\n[toolkits]\nknowledge_files = ["prices.toml"]\n'
        '[agents]\nfolder = "team"\n',
        environ={"DAERI_TOOLKITS_FILE_ROOTS": f"docs, {tmp_path}/shared", "DAERI_HOME": "data"},
    )

    assert settings.tools.modules == ("pay.py", "company.tools")
    assert settings.toolkits.knowledge_files == (tmp_path / "prices.toml",)
    assert settings.toolkits.file_roots == (tmp_path / "docs", tmp_path / "shared")
    assert (settings.agents.folder, settings.home) == (tmp_path / "team", tmp_path / "data")


def test_lists_and_tables_fit_in_the_environment(load: Load) -> None:
    settings = load(
        environ={
            "DAERI_CLI_SCOPES": '["a:read", "b:*"]',
            "DAERI_TOOLS_DISABLED": "pay, mail.send",
            "DAERI_MODEL_PRICES": '{"own/model-1.5": [0.1, 2]}',
        }
    )

    assert settings.cli.scopes == ("a:read", "b:*")
    assert settings.tools.disabled == ("pay", "mail.send")
    assert settings.model.prices == {"own/model-1.5": (Decimal("0.1"), Decimal(2))}


def test_an_empty_environment_variable_counts_as_unset(load: Load) -> None:
    settings = load('[model]\nreference = "planner"\n', environ={"DAERI_MODEL": "", "DAERI_LANG": " "})

    assert (settings.model.reference, settings.lang) == ("planner", None)


def test_keys_that_other_programs_name_are_found_in_the_env_file_too(load: Load) -> None:
    settings = load(None, "OPENAI_API_KEY=from-file\nOTHER=from-file\n", {"OPENAI_API_KEY": "from-shell"})

    assert settings.environment == {"OPENAI_API_KEY": "from-shell", "OTHER": "from-file"}


def test_settings_cannot_be_changed(load: Load) -> None:
    settings = load()

    with pytest.raises(ValidationError):
        settings.tenant = "other"
    with pytest.raises(ValidationError):
        settings.limits.max_steps = 1_000


def test_the_limits_of_a_run_carry_every_field_of_the_engine(load: Load) -> None:
    expected = Limits(
        max_steps=3,
        max_seconds=4.5,
        max_tokens=5,
        max_cost=Decimal("0.6"),
        max_context_blocks=7,
        context_tokens=8,
        max_tool_output_chars=9,
        max_output_tokens=10,
    )
    room = {"max_output_tokens": "model"}

    settings = load(
        overrides={f"{room.get(name, 'limits')}.{name}": value for name, value in dataclasses.asdict(expected).items()}
    )

    assert settings.run_limits() == expected


def test_without_settings_the_limits_are_those_of_the_engine() -> None:
    assert Settings().run_limits() == Limits()


def test_each_setting_has_one_environment_name_and_a_description() -> None:
    table = settings_table()

    assert len({row.env for row in table}) == len({row.name for row in table}) == len(table)
    assert all(row.env.startswith("DAERI_") and row.description for row in table)
    assert {row.name: row.env for row in table}["model.reference"] == "DAERI_MODEL"
    assert {row.name: row.env for row in table}["limits.max_steps"] == "DAERI_LIMITS_MAX_STEPS"
