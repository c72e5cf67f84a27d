"""What goes wrong at Chat Completions servers, as typed errors; and leaving early."""

from __future__ import annotations

import asyncio
import traceback
from contextlib import aclosing
from typing import TYPE_CHECKING

import anyio
import pytest

from daeri.errors import ModelError, ModelErrorKind
from daeri.models import Model, ModelRequest, ModelSettings, TextDelta, build_model

if TYPE_CHECKING:
    from tests.fake_provider.scenario import Seen
    from tests.fake_provider.server import FakeProvider
    from tests.models.conftest import Build, Turn

REQUEST = ModelRequest(instructions="", goal="Hello")
OVERFLOW = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."


@pytest.mark.parametrize(
    ("status", "code", "text", "kind", "retryable"),
    [
        (429, "rate_limit_exceeded", "slow down", "rate_limit", True),
        (429, "insufficient_quota", "pay first", "quota", False),
        (500, None, "oops", "server", True),
        (502, None, "oops", "server", True),
        (503, None, "later", "overloaded", True),
        (529, None, "later", "overloaded", True),
        (401, "invalid_api_key", "who?", "authentication", False),
        (403, None, "not you", "authentication", False),
        (404, "model_not_found", "no such model", "bad_request", False),
        (400, None, "bad schema", "bad_request", False),
        (405, None, "wrong door", "bad_request", False),
        (408, None, "too slow", "timeout", True),
        (413, None, "too large", "context_overflow", False),
        (400, "context_length_exceeded", "too long", "context_overflow", False),
        (400, None, OVERFLOW, "context_overflow", False),
        (400, None, "the request exceeds the available context size", "context_overflow", False),
    ],
)
async def test_an_http_error_gets_its_kind(
    provider: FakeProvider,
    build: Build,
    status: int,
    code: str | None,
    text: str,
    kind: ModelErrorKind,
    retryable: bool,
) -> None:
    provider.will(provider.Refusal(status=status, code=code, message=text))
    error = await _fails(await build())
    assert (error.kind, error.status, error.retryable, error.detail) == (kind, status, retryable, text)
    assert len(provider.seen) == 1, "retries are the engine's"


async def test_the_wait_that_a_provider_asks_for_is_kept(provider: FakeProvider, build: Build) -> None:
    provider.will(provider.Refusal(status=429, headers={"retry-after": "7"}))
    assert (await _fails(await build())).retry_after_s == 7.0


async def test_an_error_inside_a_stream_is_the_servers(provider: FakeProvider, build: Build) -> None:
    provider.will(provider.Refusal(status=500, message="the engine died", in_stream=True))
    error = await _fails(await build())
    assert (error.kind, error.detail) == ("server", "the engine died")


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("after", [1, 3])
async def test_a_stream_cut_in_the_middle_is_never_a_reply(
    provider: FakeProvider, build: Build, clean: bool, after: int
) -> None:
    provider.will(provider.Reply(text="Seven of them cost 168 dollars.", cut_after=after, clean_cut=clean))
    error = await _fails(await build())
    assert (error.kind, error.retryable) == ("connection", True)


async def test_nobody_listening_is_a_connection_error_with_the_address(
    provider: FakeProvider, unused_port: int
) -> None:
    url = f"http://127.0.0.1:{unused_port}/v1"
    model, _ = await build_model(ModelSettings(reference="openai-compatible:m", base_url=url), {})
    error = await _fails(model)
    await model.close()
    assert error.kind == "connection"
    assert url in error.detail


async def test_a_silent_server_times_out(provider: FakeProvider, build: Build) -> None:
    provider.will(provider.Hang())
    error = await _fails(await build(settings=ModelSettings(timeout_s=0.2)))
    assert (error.kind, error.retryable) == ("timeout", True)


async def test_a_server_that_falls_silent_in_the_middle_times_out(provider: FakeProvider, build: Build) -> None:
    provider.will(provider.Reply(text="Seven of them cost", stop_at=2))
    assert (await _fails(await build(settings=ModelSettings(timeout_s=0.2)))).kind == "timeout"


@pytest.mark.parametrize(
    "text",
    [
        "got {authorization}",
        "very-secret-0123456789 is wrong",
        "key sk-proj-abcdef123456 is wrong",
        'api_key: "abcdefgh"',
    ],
)
async def test_no_credential_gets_into_any_text_of_an_error(provider: FakeProvider, build: Build, text: str) -> None:
    key = "very-secret-0123456789"
    provider.will(provider.Refusal(status=401, message=text))
    error = await _fails(await build(settings=ModelSettings(api_key=key)))
    told = "".join(traceback.format_exception(error)) + repr(error.__context__) + repr(error.__cause__)
    assert "[redacted]" in error.detail
    assert not any(secret in told for secret in (key, "abcdef123456", "abcdefgh"))


async def test_closing_the_stream_early_hangs_up(provider: FakeProvider, build: Build) -> None:
    provider.will(provider.Reply(text="Seven of them cost", stop_at=3))
    async with aclosing((await build()).stream(REQUEST)) as events:
        first = await anext(events)
    assert isinstance(first, TextDelta)
    await _gone(provider.seen[0])


@pytest.mark.parametrize("hang", [True, False], ids=["before the first byte", "in the stream"])
async def test_cancelling_the_task_hangs_up(provider: FakeProvider, build: Build, turn: Turn, hang: bool) -> None:
    provider.will(provider.Hang() if hang else provider.Reply(text="Seven of them cost", stop_at=3))
    task = asyncio.create_task(turn(await build()))
    seen = await anyio.to_thread.run_sync(provider.next_request)
    await anyio.to_thread.run_sync(seen.reached.wait, 10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await _gone(seen)


async def test_the_next_turn_works_after_a_failed_one(provider: FakeProvider, build: Build, turn: Turn) -> None:
    model = await build()
    provider.will(provider.Reply(text="x" * 50, cut_after=2), provider.Reply(text="fine"))
    await _fails(model)
    assert (await turn(model)).text == "fine"


async def _fails(model: Model) -> ModelError:
    with pytest.raises(ModelError) as caught:
        async for _ in model.stream(REQUEST):
            pass
    return caught.value


async def _gone(seen: Seen) -> None:
    assert await anyio.to_thread.run_sync(seen.gone.wait, 10)
