"""Which model answers, and why that one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from daeri.errors import SettingsError
from daeri.text import Locale, message

from ._local import LOCAL_SERVERS, LocalServer, find_local_model
from ._port import Model
from ._settings import ModelReference, ModelSettings, parse_model

DEFAULT_OPENAI_MODEL = "gpt-5.4-mini"
"""Taken when only a key is there: the newest small family that thinks and takes tools over Chat Completions."""

OPENAI_URL = "https://api.openai.com/v1"

ChoiceReason = Literal["configured", "key", "local", "planner"]
"""Why this model: it was set; there is a key of OpenAI's; `auto-local` found it; nothing else was there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelChoice:
    """The model that answers and why."""

    reference: ModelReference
    why: ChoiceReason
    base_url: str | None = None
    values: Mapping[str, str] = field(default_factory=dict[str, str])

    def reason(self, locale: Locale) -> str:
        """The choice and its reason as one line for people."""
        asked_for_planner = self.why == "configured" and self.reference.kind == "planner"
        why = "asked_planner" if asked_for_planner else self.why
        return message(f"model.chosen.{why}", locale, model=self.reference, **self.values)


async def choose_model(
    settings: ModelSettings,
    environment: Mapping[str, str] | None = None,
    *,
    local_servers: Sequence[LocalServer] = LOCAL_SERVERS,
) -> ModelChoice:
    """The configured model; without one OpenAI's if there is a key (`OPENAI_API_KEY`, or set), else the planner.

    Raises:
        SettingsError: the reference can't be read, lacks what it needs, or `auto-local` finds no server.
    """
    env = os.environ if environment is None else environment
    if settings.reference is None:
        return _default_choice(settings, env)
    reference = parse_model(settings.reference)
    match reference.kind:
        case "auto-local":
            return await _local_choice(local_servers)
        case "openai":
            base_url = _openai_url(settings, env)
        case "openai-compatible":
            base_url = _compatible_url(settings)
        case "planner" | "script":
            base_url = None
    return ModelChoice(reference=reference, why="configured", base_url=base_url)


def _default_choice(settings: ModelSettings, environment: Mapping[str, str]) -> ModelChoice:
    if settings.base_url:
        fix = "Name the model of that server: `openai-compatible:NAME`."
        raise SettingsError("model.reference", None, "is missing, although `model.base_url` is set", fix)
    if _openai_key(settings, environment):
        reference = ModelReference(kind="openai", name=DEFAULT_OPENAI_MODEL)
        return ModelChoice(reference=reference, why="key", base_url=_openai_url(settings, environment))
    return ModelChoice(reference=ModelReference(kind="planner"), why="planner")


async def _local_choice(servers: Sequence[LocalServer]) -> ModelChoice:
    found = await find_local_model(servers)
    if found is None:
        looked = ", ".join(f"{server.name} ({server.port})" for server in servers)
        fix = "Start one with a model loaded, or set `openai-compatible:NAME` and its base URL."
        raise SettingsError("model.reference", "auto-local", f"finds no model on this machine; asked {looked}", fix)
    return ModelChoice(
        reference=ModelReference(kind="openai-compatible", name=found.model),
        why="local",
        base_url=found.server.base_url,
        values={"server": found.server.name, "url": found.server.base_url},
    )


def _openai_url(settings: ModelSettings, environment: Mapping[str, str]) -> str:
    if settings.base_url:
        fix = "Use `openai-compatible:NAME` for another server, or take `model.base_url` away."
        raise SettingsError("model.reference", settings.reference, "is OpenAI's, but `model.base_url` is set", fix)
    if not _openai_key(settings, environment):
        fix = "Set OPENAI_API_KEY, or use `openai-compatible:NAME` with a server of your own."
        raise SettingsError("model.reference", settings.reference, "needs an API key", fix)
    return environment.get("OPENAI_BASE_URL") or OPENAI_URL


def _compatible_url(settings: ModelSettings) -> str:
    url = settings.base_url
    if not url:
        fix = "Set `model.base_url` (DAERI_MODEL_BASE_URL), for example http://127.0.0.1:8000/v1."
        raise SettingsError("model.reference", settings.reference, "needs the base URL of its server", fix)
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        fix = "Write it as http://HOST:PORT/v1 or https://HOST/v1."
        raise SettingsError("model.base_url", url, "is not the URL of a server", fix)
    if urlsplit(url).password:
        # It would end up in stored messages and error texts.
        fix = "Give it as `model.api_key` (DAERI_MODEL_API_KEY) instead."
        raise SettingsError("model.base_url", "[redacted]", "holds a password", fix)
    return url


def _openai_key(settings: ModelSettings, environment: Mapping[str, str]) -> str:
    return (settings.api_key or environment.get("OPENAI_API_KEY", "")).strip()


def _check_key(key: str) -> None:
    if not (key.isascii() and key.isprintable()):
        raise SettingsError("model.api_key", "[redacted]", "holds characters that no key has", "Copy the key again.")


async def build_model(
    settings: ModelSettings,
    environment: Mapping[str, str] | None = None,
    *,
    local_servers: Sequence[LocalServer] = LOCAL_SERVERS,
) -> tuple[Model, ModelChoice]:
    """The model that `choose_model` chooses, ready to take turns; the provider library is loaded only if it is needed.

    Raises:
        SettingsError: as `choose_model`, or the file of a script can't be read.
    """
    env = os.environ if environment is None else environment
    choice = await choose_model(settings, env, local_servers=local_servers)
    return _build(choice, settings, env), choice


def _build(choice: ModelChoice, settings: ModelSettings, environment: Mapping[str, str]) -> Model:
    name = choice.reference.name
    match choice.reference.kind:
        case "planner":
            from ._planner import EmbeddedPlanner

            return EmbeddedPlanner()
        case "script":
            from ._script import ScriptModel

            return ScriptModel.load(Path(name))
        case "openai":
            from ._provider import openai_model

            key = _openai_key(settings, environment)
            _check_key(key)
            return openai_model(name, settings, api_key=key, base_url=choice.base_url or OPENAI_URL)
        case "openai-compatible" | "auto-local":
            from ._provider import compatible_model

            if choice.why == "local":
                # The key was meant for another server than the one that happens to listen here.
                settings = replace(settings, api_key=None)
            _check_key(settings.api_key or "")
            return compatible_model(name, settings, base_url=choice.base_url or "")
