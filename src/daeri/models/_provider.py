"""Models behind OpenAI's Chat Completions format: OpenAI itself, and whatever else speaks it."""

from __future__ import annotations

import ipaddress
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from openai import AsyncOpenAI, DefaultAsyncHttpxClient, Timeout
from pydantic_ai.direct import model_request_stream
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIChatModelSettings
from pydantic_ai.profiles import merge_profile
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

from ._calls import ids_in
from ._errors import PROVIDER_ERRORS, model_error
from ._messages import delta, history, names_of, reply_of, tool_definitions, written_arguments
from ._names import ToolNames
from ._port import ModelEvent, ModelReply, ModelRequest
from ._usage import cost_of, estimate_usage, reported_usage

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

    from ._settings import ModelSettings

_CONNECT_S = 10.0
# The name under which the library knows any server that is not OpenAI's. Price lists must not know it: a local model
# with a famous name costs nothing of what the list says.
_COMPATIBLE = "compatible"
_NO_KEY = "not-needed"
# A stream that ends without saying why was cut, and half an answer must not pass for a whole one.
_PROFILE = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)


class ProviderModel:
    """A model behind an API. Each instance has one client of its own."""

    def __init__(self, *, name: str, model: OpenAIChatModel, settings: ModelSettings, secrets: tuple[str, ...]) -> None:
        self._name = name
        self._model = model
        self._settings = settings
        self._secrets = secrets

    @property
    def name(self) -> str:
        """As it is chosen in settings."""
        return self._name

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        """One turn over the API; see `Model.stream`."""
        names = names_of(request)
        try:
            async with model_request_stream(
                self._model,
                history(request, names),
                model_settings=self._request_settings(request),
                model_request_parameters=ModelRequestParameters(function_tools=tool_definitions(request, names)),
            ) as stream:
                async for event in stream:
                    if (shown := delta(event)) is not None:
                        yield shown
                response = stream.get()
        except PROVIDER_ERRORS as error:
            failure = model_error(error, self._name, endpoint=str(self._model.client.base_url), secrets=self._secrets)
        else:
            yield self._reply(response, request, names)
            return
        # Raised out here so that no traceback drags the provider's own error along, which may hold secrets.
        raise failure

    async def close(self) -> None:
        """Close the client and its connections."""
        await self._model.client.close()

    def _reply(self, response: ModelResponse, request: ModelRequest, names: ToolNames) -> ModelReply:
        usage = reported_usage(response)
        if usage is None:
            texts = [response.thinking or "", response.text or "", *map(written_arguments, response.tool_calls)]
            usage = estimate_usage(request, "".join(texts))
        cost = cost_of(response, usage, self._settings.prices, self._model.model_name)
        return reply_of(response, names, ids_in(request), usage=usage, cost=cost)

    def _request_settings(self, request: ModelRequest) -> OpenAIChatModelSettings:
        settings = OpenAIChatModelSettings(
            # Some servers send the sum so far with every chunk. This has the library keep the last one instead of
            # adding them up; the body takes its non-standard option out of the request again.
            openai_continuous_usage_stats=True,
            extra_body={"stream_options": {"include_usage": True}},
        )
        limits = [limit for limit in (request.max_output_tokens, self._settings.max_output_tokens) if limit is not None]
        if limits:
            settings["max_tokens"] = min(limits)
        if self._settings.temperature is not None:
            settings["temperature"] = self._settings.temperature
        profile = self._model.profile
        if request.tools and profile.get("thinking_enabled_by_default") and not profile.get("thinking_always_enabled"):
            # From GPT-5.6 on, Chat Completions refuses tools unless reasoning is switched off in so many words.
            settings["openai_reasoning_effort"] = "none"
        return settings


def openai_model(name: str, settings: ModelSettings, *, api_key: str, base_url: str) -> ProviderModel:
    """A model of OpenAI's own API."""
    client = _client(settings, api_key=api_key, base_url=base_url)
    model = OpenAIChatModel(name, provider=OpenAIProvider(openai_client=client), profile=_PROFILE)
    return ProviderModel(name=f"openai:{name}", model=model, settings=settings, secrets=(api_key,))


def compatible_model(name: str, settings: ModelSettings, *, base_url: str) -> ProviderModel:
    """A model of any other server that speaks Chat Completions. It never gets OpenAI's key or account names."""
    key = (settings.api_key or "").strip()
    client = _client(settings, api_key=key or _NO_KEY, base_url=base_url)
    # Left open, the client takes these from the environment of an OpenAI account.
    client.organization = None
    client.project = None
    # `max_tokens` is the name that servers of every age know.
    profile = merge_profile(_PROFILE, OpenAIModelProfile(openai_chat_supports_max_completion_tokens=False))
    provider = OpenAICompatibleProvider(_COMPATIBLE, openai_client=client)
    model = OpenAIChatModel(name, provider=provider, profile=profile)
    secrets = (key,) if key else ()
    return ProviderModel(name=f"openai-compatible:{name}", model=model, settings=settings, secrets=secrets)


def _client(settings: ModelSettings, *, api_key: str, base_url: str) -> AsyncOpenAI:
    timeout = Timeout(settings.timeout_s, connect=min(_CONNECT_S, settings.timeout_s))
    return AsyncOpenAI(
        api_key=api_key,
        base_url=base_url,
        # Retries are the engine's: each is an event, with its cost.
        max_retries=0,
        timeout=timeout,
        # What is meant for this machine must not go to the proxy of the environment.
        http_client=DefaultAsyncHttpxClient(trust_env=False) if _is_loopback(base_url) else None,
    )


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
