from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from daeri import __version__
from daeri.cli._language import shell_locale

if TYPE_CHECKING:
    from tests.cli.conftest import Shell

COMMANDS = [
    ["run"],
    ["runs"],
    ["runs", "list"],
    ["runs", "show"],
    ["runs", "export"],
    ["tools"],
    ["tools", "list"],
    ["tools", "show"],
    ["doctor"],
    ["init"],
]


def test_the_version_is_that_of_the_package(daeri: Shell) -> None:
    assert daeri("--version").out == f"daeri {__version__}\n"


def test_the_installed_command_is_the_module(daeri: Shell) -> None:
    command = f"{sys.prefix}/bin/daeri"

    done = subprocess.run([command, "--version"], env=dict(daeri.environment), capture_output=True, check=True)

    assert done.stdout.decode() == f"daeri {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_each_command_explains_itself_in_both_languages(daeri: Shell, command: list[str]) -> None:
    english, korean = daeri(*command, "--help"), daeri(*command, "--help", LANG="ko_KR.UTF-8")

    assert (english.code, korean.code) == (0, 0)
    assert english.out.startswith(f"Usage: daeri {' '.join(command)}")
    assert korean.out.startswith(f"사용법: daeri {' '.join(command)}")
    assert "Show this help." in english.out
    assert "이 도움말을 보여 줍니다." in korean.out
    assert "cli." not in english.out + korean.out


def test_without_a_command_the_help_is_shown(daeri: Shell) -> None:
    done = daeri()

    assert done.code == 2
    assert "Commands:" in done.out
    assert all(f"\n  {command[0]} " in done.out for command in COMMANDS)


@pytest.mark.parametrize("question", ["--help", "--version"])
def test_help_and_version_load_nothing_heavy(daeri: Shell, question: str) -> None:
    heavy = "pydantic_settings pydantic_ai openai sqlalchemy alembic aiosqlite rich numpy bm25s jsonschema_rs"
    code = (
        f"import sys; sys.argv = ['daeri', {question!r}]\n"
        "from daeri.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        f"print('LOADED', [name for name in {heavy.split()} if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8")

    assert done.stdout.endswith("LOADED []\n")


@pytest.mark.parametrize(
    ("arguments", "environment", "locale"),
    [
        ([], {}, "en"),
        ([], {"LANG": "ko_KR.UTF-8"}, "ko"),
        ([], {"LANG": "ko_KR.UTF-8", "LC_ALL": "C"}, "en"),
        ([], {"LANG": "en_US.UTF-8", "DAERI_LANG": "ko"}, "ko"),
        (["run", "--lang", "ko"], {}, "ko"),
        (["--lang=en", "run"], {"DAERI_LANG": "ko"}, "en"),
        (["run", "--lang", "fr"], {"DAERI_LANG": "ko"}, "ko"),
        (["run", "--lang"], {}, "en"),
    ],
)
def test_the_language_is_that_of_the_option_else_of_the_shell(
    arguments: list[str], environment: dict[str, str], locale: str
) -> None:
    assert shell_locale(arguments, environment) == locale
