from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from daeri.errors import SettingsError
from daeri.settings import MASK, Settings

Load = Callable[..., Settings]
Refuse = Callable[..., SettingsError]


def test_an_unknown_name_is_refused_with_the_closest_one(refuse: Refuse) -> None:
    error = refuse("[limits]\nmax_stepz = 3\n")

    assert str(error) == "setting `limits.max_stepz` = 3: there is no such setting. Did you mean `limits.max_steps`?"


def test_an_unknown_name_like_no_other_is_refused(refuse: Refuse) -> None:
    error = refuse("[weather]\nsunny = true\n")

    assert (error.setting, error.problem) == ("weather", "there is no such setting")


@pytest.mark.parametrize("source", ["environ", "env_file"])
def test_an_unknown_environment_name_is_refused(refuse: Refuse, source: str) -> None:
    error = refuse(**{source: {"DAERI_HOMR": "/data"} if source == "environ" else "DAERI_HOMR=/data\n"})

    assert (error.setting, error.value, error.fix) == ("DAERI_HOMR", "/data", "Did you mean `DAERI_HOME`?")


def test_an_unknown_override_is_refused(refuse: Refuse) -> None:
    assert refuse(overrides={"limits.steps": 3}).setting == "limits.steps"


@pytest.mark.parametrize(
    ("toml", "setting", "value", "fix"),
    [
        ('[limits]\nmax_steps = "many"', "limits.max_steps (DAERI_LIMITS_MAX_STEPS)", "many", "Write a whole number."),
        ("[limits]\nmax_steps = 0", "limits.max_steps (DAERI_LIMITS_MAX_STEPS)", 0, "Its value must be 1 or more."),
        ("[limits]\nmax_cost = -1", "limits.max_cost (DAERI_LIMITS_MAX_COST)", -1, "Its value must be more than 0."),
        ('[model]\ntimeout_s = "soon"', "model.timeout_s (DAERI_MODEL_TIMEOUT_S)", "soon", "Write a number."),
        ("[model]\ntemperature = 3", "model.temperature (DAERI_MODEL_TEMPERATURE)", 3, "Its value must be 2 or less."),
        ('lang = "fr"', "lang (DAERI_LANG)", "fr", "Write one of: ko, en."),
        ('debug = "perhaps"', "debug (DAERI_DEBUG)", "perhaps", "Write true or false."),
        ("[agents]\ndefault = 3", "agents.default (DAERI_AGENTS_DEFAULT)", 3, 'Write a text in quotes, such as "abc".'),
        (
            '[tools]\ndisabled = "pay"',
            "tools.disabled (DAERI_TOOLS_DISABLED)",
            "pay",
            'Write a list, such as ["a", "b"]; in the environment: a,b.',
        ),
        (
            "[model]\nprices = {gpt = 3}",
            "model.prices (DAERI_MODEL_PRICES)",
            3,
            "Write US dollars per million tokens, input and output: [0.5, 1.5].",
        ),
        ('model = "openai:x"', "model", "openai:x", "Write it as a table: [model]."),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_the_value_and_the_fix(
    refuse: Refuse, toml: str, setting: str, value: object, fix: str
) -> None:
    error = refuse(toml)

    assert (error.setting, error.value, error.fix) == (setting, value, fix)


def test_a_wrong_tenant_is_refused(refuse: Refuse) -> None:
    assert refuse('tenant = "a b"').problem == "holds characters that are not allowed"


def test_a_table_in_the_environment_that_is_not_json_is_refused(refuse: Refuse) -> None:
    error = refuse(environ={"DAERI_MODEL_PRICES": "{gpt"})

    assert (error.value, error.problem) == ("{gpt", "not valid JSON")


def test_a_wrong_value_is_described_in_the_language_of_the_person(refuse: Refuse) -> None:
    toml = "[limits]\nmax_steps = 0\n"

    assert refuse(toml, overrides={"lang": "ko"}).problem == "허용 범위를 벗어났습니다"
    assert refuse(toml, environ={"LANG": "ko_KR.UTF-8"}).fix == "허용되는 값: 1 이상."
    assert refuse(toml, environ={"DAERI_LANG": "ko", "LANG": "en_US.UTF-8"}).fix == "허용되는 값: 1 이상."


def test_more_than_one_wrong_setting_is_counted(refuse: Refuse) -> None:
    error = refuse('lang = "fr"\nmaxsteps = 3\n[limits]\nmax_steps = 0\nmax_tokens = 0\n')

    assert error.setting == "maxsteps"
    assert error.fix.endswith("3 more settings are wrong.")


@pytest.mark.parametrize("text", ["a = ", "a = 1\na = 2", "a = \n", "[limits\n"])
def test_a_settings_file_that_is_not_toml_is_refused_with_its_line(refuse: Refuse, tmp_path: Path, text: str) -> None:
    error = refuse(text)

    line = 2 if text == "a = 1\na = 2" else 1
    assert (error.setting, error.value) == ("daeri.toml", f"{tmp_path / 'daeri.toml'}:{line}")
    assert error.problem.startswith("not valid TOML: ")


@pytest.mark.parametrize("name", ["daeri.toml", ".env"])
def test_a_file_that_is_not_utf8_is_refused(load: Load, refuse: Refuse, tmp_path: Path, name: str) -> None:
    load()
    (tmp_path / name).write_bytes("# 설정".encode("cp949"))

    error = refuse(None)

    assert (error.setting, error.problem) == (name, "can't be read: UTF-8")


@pytest.mark.parametrize(
    ("toml", "problem"),
    [
        ('[tools]\nmodules = ["gone.py"]', "there is no such file"),
        ('[tools]\nmodules = ["folder.py"]', "is a folder, not a file"),
        ('[toolkits]\nfile_roots = ["gone"]', "there is no such folder"),
        ('[toolkits]\ndocument_folders = ["daeri.toml"]', "is a file, not a folder"),
        ('[toolkits]\nknowledge_files = ["gone.toml"]', "there is no such file"),
        ('[agents]\nfolder = "gone"', "there is no such folder"),
        ('home = "daeri.toml"', "is a file, not a folder"),
    ],
)
def test_a_file_that_is_not_there_is_refused(refuse: Refuse, tmp_path: Path, toml: str, problem: str) -> None:
    (tmp_path / "folder.py").mkdir()

    error = refuse(toml)

    assert error.problem == problem
    assert str(tmp_path) in str(error.value)


@pytest.mark.parametrize("address", ["localhost:11434/v1", "ftp://host/v1"])
def test_an_address_without_http_is_refused(refuse: Refuse, address: str) -> None:
    assert refuse(overrides={"model.base_url": address}).value == address


def test_secrets_are_shown_nowhere(load: Load, refuse: Refuse) -> None:
    errors = [
        refuse('[model]\napi_key = ["sk-hidden"]\n'),
        refuse('[model]\napi_keys = "sk-hidden"\n'),
        refuse('[credentials]\nx = "sk-hidden"\n'),
        refuse('[[model]]\napi_key = "sk-hidden"\n'),
        refuse(overrides={"model.base_url": "https://me:sk-hidden@host/v1"}),
        refuse(environ={"DAERI_MODEL_APIKEY": "sk-hidden"}),
    ]
    settings = load("", "DAERI_MODEL_API_KEY=sk-hidden\n")

    assert settings.model.api_key is not None
    assert settings.model.api_key.get_secret_value() == "sk-hidden"
    texts = [repr(settings), str(settings), repr(settings.sources), *map(str, errors), *(repr(e.value) for e in errors)]
    assert not [text for text in texts if "sk-hidden" in text]
    assert all(MASK in str(error) for error in errors)
    assert all(error.__cause__ is None and error.__suppress_context__ for error in errors)
