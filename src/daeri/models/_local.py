"""Looking for an OpenAI-compatible server on this machine: only when asked to, and only on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from daeri.text import scrub_text

if TYPE_CHECKING:
    from httpx2 import AsyncClient

_LIMIT_S = 2.0


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalServer:
    """A server that people run models with, and the port it listens on unless told otherwise."""

    name: str
    port: int

    @property
    def base_url(self) -> str:
        """Its OpenAI-compatible API."""
        return f"http://127.0.0.1:{self.port}/v1"


LOCAL_SERVERS = (
    LocalServer(name="Ollama", port=11434),
    LocalServer(name="vLLM", port=8000),
    LocalServer(name="llama.cpp", port=8080),
    LocalServer(name="LM Studio", port=1234),
)
"""In the order in which they are preferred."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalModel:
    """A model that a local server offers."""

    server: LocalServer
    model: str


async def find_local_model(servers: Sequence[LocalServer] = LOCAL_SERVERS) -> LocalModel | None:
    """The first model of the first server that lists one within two seconds in all."""
    from httpx2 import AsyncClient

    # Neither a proxy nor a redirect may carry the question off this machine.
    async with AsyncClient(trust_env=False, follow_redirects=False, timeout=_LIMIT_S) as client:
        models = await asyncio.gather(*(_first_model(client, server) for server in servers))
    found = ((server, model) for server, model in zip(servers, models, strict=True) if model)
    return next((LocalModel(server=server, model=model) for server, model in found), None)


async def _first_model(client: AsyncClient, server: LocalServer) -> str | None:
    from httpx2 import HTTPError

    try:
        async with asyncio.timeout(_LIMIT_S):
            response = await client.get(f"{server.base_url}/models")
        body: object = response.json() if response.is_success else None
    except (HTTPError, TimeoutError, ValueError):
        # Nobody there, or somebody who speaks otherwise.
        return None
    return next((name for name in _model_names(body) if "embed" not in name.lower()), None)


def _model_names(body: object) -> list[str]:
    rows = cast("Mapping[str, object]", body).get("data") if isinstance(body, Mapping) else None
    if not isinstance(rows, list):
        return []
    names = [
        cast("Mapping[str, object]", row).get("id") for row in cast("list[object]", rows) if isinstance(row, Mapping)
    ]
    return [scrub_text(name) for name in names if isinstance(name, str) and name]
