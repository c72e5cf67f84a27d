"""The fake itself: plain answers, and as a command."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from openai import AsyncOpenAI

from daeri.models import ModelSettings, build_model

if TYPE_CHECKING:
    from tests.fake_provider.server import FakeProvider
    from tests.models.conftest import Build, Turn

SERVE = Path(__file__).resolve().parents[1] / "fake_provider" / "serve.py"


async def test_a_plain_answer_reports_what_a_stream_reports(provider: FakeProvider, build: Build, turn: Turn) -> None:
    reply = provider.Reply(
        text="Hi", usage=provider.Usage(input_tokens=7, output_tokens=5, cached_tokens=3, reasoning_tokens=2)
    )
    provider.will(reply, reply)
    streamed = await turn(await build())
    async with AsyncOpenAI(base_url=provider.base_url, api_key="none") as client:
        plain = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hello"}])
    assert plain.usage is not None
    assert (plain.usage.prompt_tokens, plain.usage.completion_tokens) == (7, 5)
    assert (streamed.usage.input_tokens, streamed.usage.output_tokens) == (7, 5)
    assert plain.choices[0].message.content == streamed.text


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The base URL that the command prints."""
    script = tmp_path / "turns.jsonl"
    script.write_text('{"calls": [{"name": "look", "arguments": {"key": "단가"}}]}\n{"text": "24"}\n', "utf-8")
    command = [sys.executable, str(SERVE), "--port", "0", "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
        process.terminate()


# `provider` lets requests through, nothing more: the answers come from the command.
@pytest.mark.usefixtures("provider")
async def test_the_command_serves_the_lines_of_a_script(served: str, turn: Turn) -> None:
    model, _ = await build_model(ModelSettings(reference="openai-compatible:m", base_url=served), {})
    first = await turn(model)
    second = await turn(model)
    await model.close()
    assert [(call.name, call.arguments) for call in first.calls] == [("look", '{"key": "단가"}')]
    assert second.text == "24"
