"""A fake provider on a loopback port, and models that talk to it through the real client."""

from __future__ import annotations

import importlib
import socket
import sys
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pydantic_ai.models
import pytest

from daeri.models import Model, ModelEvent, ModelReply, ModelRequest, ModelSettings, build_model

if TYPE_CHECKING:
    from tests.fake_provider.server import FakeProvider

pydantic_ai.models.ALLOW_MODEL_REQUESTS = False

KEY = "sk-test-0123456789abcdef"
SETTINGS = ModelSettings(api_key=KEY, timeout_s=5)
REQUEST = ModelRequest(instructions="Be terse.", goal="Hello")


class Build(Protocol):
    """Builds a model of the fake provider and closes it after the test."""

    async def __call__(self, reference: str = ..., settings: ModelSettings = ...) -> Model: ...


class Turn(Protocol):
    """Takes one turn; asserts that the reply is the last event and the only one of its kind."""

    async def __call__(self, model: Model, request: ModelRequest = ...) -> ModelReply: ...


@pytest.fixture(scope="session")
def running_provider() -> Iterator[FakeProvider]:
    tests = str(Path(__file__).resolve().parents[1])
    sys.path.insert(0, tests)
    server = importlib.import_module("fake_provider.server")
    sys.path.remove(tests)
    with server.FakeProvider().in_thread() as provider:
        yield provider


@pytest.fixture
def provider(running_provider: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> FakeProvider:
    """The fake with nothing planned. Only with this fixture may a test send requests at all."""
    monkeypatch.setattr(pydantic_ai.models, "ALLOW_MODEL_REQUESTS", True)
    running_provider.reset()
    return running_provider


@pytest.fixture
async def build(provider: FakeProvider) -> AsyncGenerator[Build]:
    models: list[Model] = []

    async def model(
        reference: str = "openai-compatible:fake-model",
        settings: ModelSettings = SETTINGS,
    ) -> Model:
        ours = reference.startswith("openai:")
        settings = replace(settings, reference=reference, base_url=None if ours else provider.base_url)
        environment = {"OPENAI_BASE_URL": provider.base_url} if ours else {}
        built, _ = await build_model(settings, environment)
        models.append(built)
        return built

    yield model
    for built in models:
        await built.close()


@pytest.fixture
def turn() -> Turn:
    async def take(model: Model, request: ModelRequest = REQUEST) -> ModelReply:
        events: list[ModelEvent] = [event async for event in model.stream(request)]
        replies = [event for event in events if isinstance(event, ModelReply)]
        assert replies == events[-1:]
        return replies[0]

    return take


@pytest.fixture
def unused_port() -> int:
    """A loopback port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
