"""Which model is chosen, and why."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from daeri.errors import SettingsError
from daeri.models import (
    DEFAULT_OPENAI_MODEL,
    LOCAL_SERVERS,
    LocalServer,
    ModelReference,
    ModelSettings,
    build_model,
    choose_model,
    parse_model,
)

if TYPE_CHECKING:
    from tests.fake_provider.server import FakeProvider
    from tests.models.conftest import Turn


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("openai:gpt-5", ModelReference(kind="openai", name="gpt-5")),
        ("openai-compatible:qwen3:8b", ModelReference(kind="openai-compatible", name="qwen3:8b")),
        ("script:a/b.jsonl", ModelReference(kind="script", name="a/b.jsonl")),
        (" planner ", ModelReference(kind="planner")),
        ("auto-local", ModelReference(kind="auto-local")),
    ],
)
def test_a_reference_is_read_and_written_back(text: str, reference: ModelReference) -> None:
    assert parse_model(text) == reference
    assert str(reference) == text.strip()


@pytest.mark.parametrize(
    "text", ["", "gpt-5", "openai", "openai:", "script:", "planner:x", "auto-local:ollama", "Openai:x"]
)
def test_a_bad_reference_names_the_setting_the_value_and_the_fix(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse_model(text)
    assert (caught.value.setting, caught.value.value) == ("model.reference", text)
    assert caught.value.fix


async def test_a_configured_model_goes_before_keys_in_the_environment() -> None:
    choice = await choose_model(ModelSettings(reference="planner"), {"OPENAI_API_KEY": "sk-1"})
    assert (choice.reference.kind, choice.why) == ("planner", "configured")


@pytest.mark.parametrize(
    ("settings", "environment"),
    [(ModelSettings(), {"OPENAI_API_KEY": "sk-1"}), (ModelSettings(api_key="sk-1"), {})],
    ids=["in the environment", "in the settings"],
)
async def test_a_key_without_a_model_chooses_openai(settings: ModelSettings, environment: dict[str, str]) -> None:
    choice = await choose_model(settings, environment)
    assert (str(choice.reference), choice.why) == (f"openai:{DEFAULT_OPENAI_MODEL}", "key")
    assert choice.base_url == "https://api.openai.com/v1"
    assert choice.reason("en") == f"Model: openai:{DEFAULT_OPENAI_MODEL} (an API key is set, no model is configured)"


async def test_nothing_at_all_chooses_the_planner_and_says_what_it_is() -> None:
    choice = await choose_model(ModelSettings(), {})
    assert (choice.reference.kind, choice.why) == ("planner", "planner")
    assert "not a language model" in choice.reason("en")
    assert "언어 모델이 아님" in choice.reason("ko")


async def test_the_planner_is_built_without_a_provider() -> None:
    model, _ = await build_model(ModelSettings(), {})
    assert model.name == "planner"
    await model.close()


@pytest.mark.parametrize(
    ("settings", "setting", "problem"),
    [
        (ModelSettings(reference="openai:gpt-5"), "model.reference", "needs an API key"),
        (
            ModelSettings(reference="openai:gpt-5", api_key="k" * 9, base_url="http://x/v1"),
            "model.reference",
            "`model.base_url` is set",
        ),
        (ModelSettings(reference="openai-compatible:m"), "model.reference", "needs the base URL"),
        (ModelSettings(reference="openai-compatible:m", base_url="localhost:8000"), "model.base_url", "not the URL"),
        (
            ModelSettings(reference="openai-compatible:m", base_url="http://u:pw@x/v1"),
            "model.base_url",
            "holds a password",
        ),
        (ModelSettings(base_url="http://x/v1"), "model.reference", "is missing"),
        (ModelSettings(reference="openai:m", api_key="sk-단가"), "model.api_key", "no key has"),
        (
            ModelSettings(reference="openai-compatible:m", base_url="http://x", api_key="a\nb"),
            "model.api_key",
            "no key has",
        ),
    ],
)
async def test_what_a_model_lacks_stops_the_start(settings: ModelSettings, setting: str, problem: str) -> None:
    with pytest.raises(SettingsError) as caught:
        await build_model(settings, {})
    assert caught.value.setting == setting
    assert problem in caught.value.problem
    assert settings.api_key is None or settings.api_key not in str(caught.value)


def test_a_key_is_not_shown_by_its_settings() -> None:
    assert "sk-secret" not in repr(ModelSettings(api_key="sk-secret"))


async def test_auto_local_takes_the_first_server_that_lists_a_model(
    provider: FakeProvider, turn: Turn, unused_port: int
) -> None:
    provider.models = ["nomic-embed-text", "qwen3:8b"]
    provider.will(provider.Reply(text="local"))
    servers = [LocalServer(name="Nobody", port=unused_port), LocalServer(name="Fake", port=provider.port)]
    settings = ModelSettings(reference="auto-local", api_key="meant-for-another")
    model, choice = await build_model(settings, {}, local_servers=servers)
    assert (str(choice.reference), choice.why) == ("openai-compatible:qwen3:8b", "local")
    assert choice.reason("en") == f"Model: openai-compatible:qwen3:8b, found in Fake at {provider.base_url}"
    assert (await turn(model)).text == "local"
    await model.close()
    assert "meant-for-another" not in str(provider.seen[-1].headers)


@pytest.mark.parametrize("models", [[], None], ids=["no model", "no model server"])
async def test_auto_local_without_a_model_says_where_it_looked(
    provider: FakeProvider, unused_port: int, models: list[str] | None
) -> None:
    provider.models = models
    servers = [LocalServer(name="Nobody", port=unused_port), LocalServer(name="Other", port=provider.port)]
    with pytest.raises(SettingsError, match=rf"Nobody \({unused_port}\), Other \({provider.port}\)"):
        await choose_model(ModelSettings(reference="auto-local"), {}, local_servers=servers)


def test_auto_local_asks_nobody_but_this_machine() -> None:
    assert {server.base_url for server in LOCAL_SERVERS} == {
        f"http://127.0.0.1:{port}/v1" for port in (11434, 8000, 8080, 1234)
    }


async def test_a_script_is_built_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "turns.jsonl").write_text('{"text": "hi"}', "utf-8")
    model, choice = await build_model(ModelSettings(reference=f"script:{tmp_path / 'turns.jsonl'}"), {})
    assert model.name == str(choice.reference)
    assert choice.why == "configured"
